"""Signals that end a process end this one through its `finally` clauses, so that nothing half-written stays."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from types import FrameType
from typing import Final

_ENDING: Final = ("SIGINT", "SIGTERM", "SIGHUP")
_PATIENCE_S: Final = 1.0
_AGAIN_S: Final = 0.1
_DEEPEST: Final = 100


class Stopped(BaseException):
    """A signal asked the process to end."""


def on_signals() -> None:
    """From here on a signal raises Stopped in the main thread.

    One that whoever started us ignores (nohup, a job in a script's background) stays ignored. A second Ctrl-C right
    after the first does not cut the cleaning short. Raised while C code calls back (a destructor, LLVM asking its
    cache), the exception is dropped there: so it is raised again until somebody handles it.
    """
    stopped_at, stopped_by = -_PATIENCE_S, 0

    def stop(number: int, _: FrameType | None) -> None:
        nonlocal stopped_at, stopped_by
        now = time.monotonic()
        if now - stopped_at >= _PATIENCE_S:
            stopped_at, stopped_by = now, number
            if hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, _AGAIN_S, _AGAIN_S)
            raise Stopped(number)

    def again(*_: object) -> None:
        if not _is_ending():
            raise Stopped(stopped_by)

    with contextlib.suppress(ValueError):  # not the main thread: then whoever is may have his own
        for name in _ENDING:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, stop)
        if hasattr(signal, "SIGALRM"):
            signal.signal(signal.SIGALRM, again)
        _drop_quietly()


def _is_ending() -> bool:
    """Whether the clauses that handle a Stopped are being executed."""
    handled = sys.exc_info()[1]
    for _ in range(_DEEPEST):
        if handled is None or isinstance(handled, Stopped):
            break
        handled = handled.__cause__ or handled.__context__
    return handled is not None


def _drop_quietly() -> None:
    """Python would tell of a Stopped that is dropped, in a traceback."""
    shown = sys.unraisablehook

    def show(dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_type is not Stopped:
            shown(dropped)

    sys.unraisablehook = show


def end_of_signals() -> None:
    """While the interpreter ends: a signal would be a traceback and the exit code then."""
    with contextlib.suppress(ValueError):
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        for name in (*_ENDING, "SIGALRM"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_IGN)
