"""Hypothesis: no deadlines, since machines are shared; in CI the same examples every time. Circuits are built once, and
results that take long to find are found once. The files that take longest come first."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from skips import summary

from softfloat_ref.base import disk_cache

pytest_plugins = ["benches"]  # its fixtures serve several files

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
os.environ.setdefault("TRITON_INTERPRET", "1")  # read when triton is imported: kernels run on the CPU

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

LEFT_OUT = pytest.StashKey[int]()
OBJECTS = pytest.StashKey[str]()
BYTECODE = pytest.StashKey[str]()
KEPT = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="Run the tests marked full, too.")
    parser.addoption("--gate", action="store_true", help="As --full, without the cases that .ci/run leaves out.")


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
        config.stash[KEPT] = os.environ[disk_cache.VARIABLE] = tempfile.mkdtemp(prefix="kept-", dir=folder)
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", "") and "PYTHONPYCACHEPREFIX" not in os.environ:
        config.stash[BYTECODE] = os.environ["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp(prefix="bytecode-", dir=folder)
    if "OBJCACHE" in os.environ or " " in f"{script}{folder}":  # one's own ccache; make has no quotes
        return
    config.stash[OBJECTS] = tempfile.mkdtemp(prefix="objects-", dir=folder)
    os.environ["OBJCACHE"] = f"sh {script} {config.stash[OBJECTS]}"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests marked full run with --full only, but for so many of their cases as the mark keeps; with --gate all do, but
    for those of which it says how many. Those marked extra("package") are skipped where it is not installed. The files
    that take longest come first."""
    if not config.getoption("full"):
        left_out = set(_left_out(items, "gate" if config.getoption("gate") else "keep"))
        items[:] = [item for item in items if item not in left_out]
        config.stash[LEFT_OUT] = len(left_out)
    places = {Path(__file__).parent / name: i for i, name in enumerate(LONGEST)}
    assert all(path.exists() for path in places)
    items.sort(key=lambda item: places.get(item.path, len(places)))
    for item in items:
        for package in (name for marker in item.iter_markers("extra") for name in marker.args):
            if importlib.util.find_spec(package) is None:
                item.add_marker(pytest.mark.skip(reason=f"needs {package}"))


def _left_out(items: list[pytest.Item], word: str) -> Iterator[pytest.Item]:
    """The cases of tests marked full that are not kept; those that are stand evenly among all. word: that of the mark
    which says how many are; with keep it is none where the mark does not say, with gate all."""
    groups: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("full"):
            groups.setdefault((item.path, item.name.partition("[")[0]), []).append(item)
    for cases in groups.values():
        marker = cases[0].get_closest_marker("full")
        kwargs = marker.kwargs if marker else {}
        count = min(kwargs.get(word, len(cases) if word == "gate" else 0), len(cases))
        kept = {i * len(cases) // count for i in range(count)}
        yield from (case for i, case in enumerate(cases) if i not in kept)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # a process of pytest-xdist's
        session.config.workeroutput["left_out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """What was skipped for want of what, and how many cases were left out."""
    skipped = terminalreporter.stats.get("skipped", [])
    if reasons := [report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple)]:
        terminalreporter.write_line(summary(reasons))
    if count := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(f"{count} cases that take long were left out: --full runs them")


@pytest.fixture
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No results are kept on disk, and none is taken from there."""
    monkeypatch.setenv(disk_cache.VARIABLE, "off")


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
    for key, variable in ((OBJECTS, "OBJCACHE"), (BYTECODE, "PYTHONPYCACHEPREFIX"), (KEPT, disk_cache.VARIABLE)):
        if folder := config.stash.get(key, None):
            shutil.rmtree(folder, ignore_errors=True)
            os.environ.pop(variable, None)
