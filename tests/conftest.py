"""Hypothesis: no deadlines, since machines are shared; in CI the same examples every time. Circuits are built once."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from skips import summary

pytest_plugins = ["benches"]  # its fixtures serve several files

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

os.environ["SOFTFLOAT_REF_CACHE"] = "off"  # tests plant defects; what they find must not be kept

OBJECTS = pytest.StashKey[str]()
BYTECODE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Signals as a terminal has them. All workers of this run share the objects of circuits that any has built, and
    their bytecode where none is to stand beside the sources."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # in a script's background; the tests send it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # under nohup
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    script = Path(__file__).parent / "support" / "objcache.sh"
    folder = tempfile.gettempdir()
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", "") and "PYTHONPYCACHEPREFIX" not in os.environ:
        config.stash[BYTECODE] = os.environ["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp(prefix="bytecode-", dir=folder)
    if "OBJCACHE" in os.environ or " " in f"{script}{folder}":  # one's own ccache; make has no quotes
        return
    config.stash[OBJECTS] = tempfile.mkdtemp(prefix="objects-", dir=folder)
    os.environ["OBJCACHE"] = f"sh {script} {config.stash[OBJECTS]}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked extra("package") are skipped where it is not installed."""
    for item in items:
        for package in (name for marker in item.iter_markers("extra") for name in marker.args):
            if importlib.util.find_spec(package) is None:
                item.add_marker(pytest.mark.skip(reason=f"needs {package}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was skipped for want of what, in a line."""
    skipped = terminalreporter.stats.get("skipped", [])
    if reasons := [report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple)]:
        terminalreporter.write_line(summary(reasons))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small arrays by compiled loops too."""
    from softfloat_ref.arrays.kernels import dispatch

    monkeypatch.setattr(dispatch, "use_compiled", lambda size: size > 0)


def pytest_unconfigure(config: pytest.Config) -> None:
    if folder := config.stash.get(OBJECTS, None):
        shutil.rmtree(folder, ignore_errors=True)
        del os.environ["OBJCACHE"]
    if folder := config.stash.get(BYTECODE, None):
        shutil.rmtree(folder, ignore_errors=True)
        del os.environ["PYTHONPYCACHEPREFIX"]
