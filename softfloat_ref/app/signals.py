"""Signals that end a process end this one through its `finally` clauses, so that nothing half-written stays."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

_ENDING: Final = ("SIGINT", "SIGTERM", "SIGHUP")
_PATIENCE_S: Final = 1.0
_AGAIN_S: Final = 0.1
_DEEPEST: Final = 100

_before: dict[int, Any] = {}  # handlers, while there are others
_hooks: list[Callable[[sys.UnraisableHookArgs], Any]] = []  # likewise


class Stopped(BaseException):
    """A signal asked the process to end."""


def on_signals() -> None:
    """From here on a signal raises Stopped in the main thread.

    One that whoever started us ignores (nohup, a job in a script's background) stays ignored. A second Ctrl-C right
    after the first does not cut the cleaning short. Raised while C code calls back (a destructor, LLVM asking its
    cache), the exception is dropped there: so it is raised again until somebody handles it.
    """
    if threading.current_thread() is not threading.main_thread():  # whoever is may have his own
        return
    stopped_at = -_PATIENCE_S

    def stop(number: int, _: FrameType | None) -> None:
        nonlocal stopped_at
        now = time.monotonic()
        if now - stopped_at >= _PATIENCE_S:
            stopped_at = now
            _raise_again(number)
            raise Stopped(number)

    for name in _ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            _handle(number, stop)
    _hooks.append(sys.unraisablehook)
    sys.unraisablehook = _show


def _handle(number: int, handler: Any) -> None:
    _before.setdefault(number, signal.signal(number, handler) or signal.SIG_DFL)


def _raise_again(number: int) -> None:
    """From now on, until it is handled."""

    def again(*_: object) -> None:
        if not _is_ending():
            raise Stopped(number)

    if hasattr(signal, "setitimer"):
        _handle(signal.SIGALRM, again)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S, _AGAIN_S)


def _is_ending() -> bool:
    """Whether the clauses that handle a Stopped are being executed."""
    handled = sys.exc_info()[1]
    for _ in range(_DEEPEST):
        if handled is None or isinstance(handled, Stopped):
            break
        handled = handled.__cause__ or handled.__context__
    return handled is not None


def _show(dropped: sys.UnraisableHookArgs) -> None:
    """Python tells of an exception that is dropped, in a traceback; not of a Stopped."""
    if dropped.exc_type is not Stopped and _hooks:
        _hooks[-1](dropped)


def end_of_signals(stopped: bool = False) -> None:
    """Handlers are what they were before. stopped: signals are ignored, while the process ends by one, whose exit code
    another would change."""
    if hasattr(signal, "setitimer") and signal.SIGALRM in _before:
        signal.setitimer(signal.ITIMER_REAL, 0)
    while _before:
        number, handler = _before.popitem()
        signal.signal(number, signal.SIG_IGN if stopped else handler)
    if _hooks:
        sys.unraisablehook = _hooks.pop()
