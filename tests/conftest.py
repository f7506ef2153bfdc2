"""Hypothesis: no deadlines, since machines are shared; in CI the same examples every time. Circuits are built once, and
results that take long to find are found once. The files that take longest come first."""

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

from softfloat_ref.base import kept

pytest_plugins = ["benches"]  # its fixtures serve several files

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

# Files that take longest, the longest first: the last one to be started then ends soon.
LONGEST = (
    "app/test_docs.py",
    "rtl/test_testbench.py",
    "golden/test_vector_sets.py",
    "rtl/test_protocols.py",
    "diagnosis/test_several_faults.py",
    "arrays/test_array_operations.py",
    "coverage/test_operation_models.py",
    "rtl/test_example_circuits.py",
    "base/test_executors.py",
    "testing/test_cocotb.py",
    "campaigns/test_faults.py",
    "arrays/test_compiled_conversions.py",
    "coverage/test_block_and_dot_models.py",
    "rtl/test_wave.py",
    "diagnosis/test_diagnosis.py",
    "diagnosis/test_identify.py",
    "golden/test_large_sets.py",
)

OBJECTS = pytest.StashKey[str]()
BYTECODE = pytest.StashKey[str]()
KEPT = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Signals as a terminal has them. All workers of this run share the objects of circuits that any has built, results
    that took any of them long, and their bytecode where none is to stand beside the sources."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # in a script's background; the tests send it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # under nohup
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    script = Path(__file__).parent / "support" / "objcache.sh"
    folder = tempfile.gettempdir()
    if not hasattr(config, "workerinput"):
        config.stash[KEPT] = os.environ[kept.VARIABLE] = tempfile.mkdtemp(prefix="kept-", dir=folder)
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", "") and "PYTHONPYCACHEPREFIX" not in os.environ:
        config.stash[BYTECODE] = os.environ["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp(prefix="bytecode-", dir=folder)
    if "OBJCACHE" in os.environ or " " in f"{script}{folder}":  # one's own ccache; make has no quotes
        return
    config.stash[OBJECTS] = tempfile.mkdtemp(prefix="objects-", dir=folder)
    os.environ["OBJCACHE"] = f"sh {script} {config.stash[OBJECTS]}"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked extra("package") are skipped where it is not installed. The files that take longest come first."""
    places = {Path(__file__).parent / name: i for i, name in enumerate(LONGEST)}
    assert all(path.exists() for path in places)
    items.sort(key=lambda item: places.get(item.path, len(places)))
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
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No results are kept on disk, and none is taken from there."""
    monkeypatch.setenv(kept.VARIABLE, "off")


@pytest.fixture(autouse=True)
def nothing_planted_is_kept(request: pytest.FixtureRequest) -> None:
    """Nothing is kept by a test that changes the library or its environment."""
    if "monkeypatch" in request.fixturenames:
        request.getfixturevalue("nothing_kept")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small arrays by compiled loops too."""
    from softfloat_ref.arrays.kernels import dispatch

    monkeypatch.setattr(dispatch, "use_compiled", lambda size, weight=1: size > 0)


def pytest_unconfigure(config: pytest.Config) -> None:
    for key, variable in ((OBJECTS, "OBJCACHE"), (BYTECODE, "PYTHONPYCACHEPREFIX"), (KEPT, kept.VARIABLE)):
        if folder := config.stash.get(key, None):
            shutil.rmtree(folder, ignore_errors=True)
            os.environ.pop(variable, None)
