"""What an input may not do: take long, take memory, open other files, run anything, or end in anything but an Error."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final
from unittest.mock import patch

from softfloat_ref.base import disk_cache
from softfloat_ref.base.errors import Error

SECONDS: Final = 2.0  # of a processor, for one input
MEMORY: Final = 1 << 30  # bytes more than there are when fuzzing begins
MAX_MESSAGE: Final = 2000
_HERE: Final = tuple(
    os.path.realpath(p)
    for p in (
        *(sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), Path(__file__).parents[3] / "softfloat_ref"),
        *([sys.pycache_prefix] if sys.pycache_prefix else []),  # of modules that are imported late
    )
)
_NEVER: Final = (
    *("pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen", "os.fork"),
    *("socket.connect", "socket.bind", "ctypes.dlopen", "shutil.rmtree", "os.symlink", "os.link", "os.chmod"),
    *("os.chdir", "os.fchdir"),
)
_MAKERS: Final = ("dataclasses", "collections", "enum", "functools", "typing", "importlib._bootstrap")


class Late(BaseException):
    """An input took too long."""


class Fault(Exception):
    """An input did what it may not do."""


class _Watch:
    """The audit hook, which Python never takes off again; it looks only while `armed`."""

    armed = False
    installed = False
    folder = ""
    others = False  # whether a definition may name other .toml files
    seen: list[str] = []  # noqa: RUF012


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if not _Watch.armed:
        return
    if event == "open":
        _opened(args[0], args[1])
    elif (event in _NEVER and not _is_numba()) or (event == "exec" and not _known_code(args[0])):
        _Watch.seen.append(f"{event} {str(args)[:200]}")
    elif event in ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate"):
        _inside(args[0], event)


def _opened(path: Any, mode: Any) -> None:
    if isinstance(path, int) or path is None or _plainly_inside(os.fsdecode(path)):
        return
    reads = mode is None or not set(str(mode)) & set("wax+")
    if reads and os.path.realpath(os.fsdecode(path)).startswith((*_HERE, "/proc/", "/sys/")):
        return
    if not (reads and _Watch.others and ".toml" in os.fsdecode(path)):
        _inside(path, f"open {mode}")


def _inside(path: Any, what: str) -> None:
    if isinstance(path, int) or _plainly_inside(os.fsdecode(path)):
        return
    real = os.path.realpath(os.fsdecode(path))
    if real.startswith(_HERE) and ("__pycache__" in real or ".pyc" in real):  # Numba's cache, and bytecode
        return
    if real != _Watch.folder and not real.startswith(_Watch.folder + os.sep):
        _Watch.seen.append(f"{what} {real}")


def _plainly_inside(name: str) -> bool:
    """Whether a name needs no look at the disk: no link leads out of the folder, for none may be made, and the folder
    stays the current one."""
    return ".." not in name and (not name.startswith("/") or name.startswith(_Watch.folder + "/"))


def _is_numba() -> bool:
    """Numba reads what it compiled itself from its own cache."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not str(frame.f_globals.get("__name__")).startswith("numba."):
        frame = frame.f_back
    return frame is not None


def _known_code(code: Any) -> bool:
    """Code of an installed module that is being imported, or that the standard library makes for classes."""
    if os.path.realpath(getattr(code, "co_filename", "")).startswith(_HERE):
        return True
    frame: FrameType | None = sys._getframe(2)
    return frame is not None and str(frame.f_globals.get("__name__")).startswith(_MAKERS)


def _late(*_: Any) -> None:
    raise Late


@contextlib.contextmanager
def limits(folder: Path) -> Iterator[None]:
    """Work in a folder, with bounded memory and a clock that `call` sets; what is kept between runs is kept there."""
    if not _Watch.installed:
        sys.addaudithook(_audit)
        _Watch.installed = True
    _Watch.folder = os.path.realpath(folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGVTALRM, _late)
    with contextlib.chdir(folder), patch.dict(os.environ, {disk_cache.VARIABLE: str(Path(_Watch.folder) / "kept")}):
        try:
            with contextlib.suppress(OSError, ValueError):  # where there is no /proc
                used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
            signal.signal(signal.SIGVTALRM, before)


def call(run: Callable[[], object], others: bool = False, seconds: float = SECONDS) -> bool:
    """Run what reads an input; whether it was accepted. Raises Fault."""
    _Watch.seen.clear()
    _Watch.others = others
    try:
        accepted = _timed(run, seconds)
    except Late:  # wherever the signal came: C code sees none before it ends
        raise Fault(f"more than {seconds:g} s of a processor, in {_place()}") from None
    if _Watch.seen:
        raise Fault(f"it did this: {_Watch.seen[0]}")
    return accepted


def _timed(run: Callable[[], object], seconds: float) -> bool:
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    _Watch.armed = True
    try:
        run()
    except Error as e:
        message = str(e)
        if not message or "\n" in message or len(message) > MAX_MESSAGE:
            raise Fault(f"no one line of at most {MAX_MESSAGE} characters: {message[:200]!r}") from None
        return False
    except Exception as e:
        raise Fault(f"{type(e).__name__}: {str(e)[:200]}, in {_place()}") from None
    finally:
        _Watch.armed = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return True


def _place() -> str:
    """Where in the library an exception came from: the last two of its lines that were running."""
    frames = [f for f in traceback.extract_tb(sys.exc_info()[2]) if "/softfloat_ref/" in f.filename]
    return " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames[-2:])) or "no line of the library"
