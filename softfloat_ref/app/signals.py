"""Signals that end the process run its `finally` clauses first, so that no half-written file stays."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

_SIGNAL_NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP")
_CLEANUP_S: Final = 1.0
_REPEAT_S: Final = 0.1
_MAX_CAUSES: Final = 100

_before: dict[int, Any] = {}  # the previous handlers, while ours are installed
_hooks: list[Callable[[sys.UnraisableHookArgs], Any]] = []  # the previous hook, likewise


class Stopped(BaseException):
    """A signal requests the process to end."""


def on_signals() -> None:
    """From here on a signal raises Stopped in the main thread.

    A signal that the parent ignores (nohup, a background job of a script) stays ignored. A second Ctrl-C right
    after the first does not interrupt the cleanup. If raised while C code calls back (a destructor, LLVM querying its
    cache), the exception is dropped there, so it is raised again until it is handled.
    """
    if threading.current_thread() is not threading.main_thread():  # the main thread may have its own handlers
        return
    stopped_at = -_CLEANUP_S

    def stop(number: int, _: FrameType | None) -> None:
        nonlocal stopped_at
        now = time.monotonic()
        if now - stopped_at >= _CLEANUP_S:
            stopped_at = now
            _raise_again(number)
            raise Stopped(number)

    for name in _SIGNAL_NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            _handle(number, stop)
    _hooks.append(sys.unraisablehook)
    sys.unraisablehook = _show


def _handle(number: int, handler: Any) -> None:
    _before.setdefault(number, signal.signal(number, handler) or signal.SIG_DFL)


def _raise_again(number: int) -> None:
    """Raise Stopped again and again until it is handled."""

    def again(*_: object) -> None:
        if not _is_ending():
            raise Stopped(number)

    if hasattr(signal, "setitimer"):
        _handle(signal.SIGALRM, again)
        signal.setitimer(signal.ITIMER_REAL, _REPEAT_S, _REPEAT_S)


def _is_ending() -> bool:
    """Whether the clauses that handle a Stopped are being executed."""
    handled = sys.exc_info()[1]
    for _ in range(_MAX_CAUSES):
        if handled is None or isinstance(handled, Stopped):
            break
        handled = handled.__cause__ or handled.__context__
    return handled is not None


def _show(dropped: sys.UnraisableHookArgs) -> None:
    """Hide the traceback that Python prints for a dropped exception, if it is Stopped."""
    if dropped.exc_type is not Stopped and _hooks:
        _hooks[-1](dropped)


def end_of_signals(stopped: bool = False) -> None:
    """Restore the handlers. stopped: ignore signals instead, while the process ends by one, whose exit code
    another signal would change."""
    if hasattr(signal, "setitimer") and signal.SIGALRM in _before:
        signal.setitimer(signal.ITIMER_REAL, 0)
    while _before:
        number, handler = _before.popitem()
        signal.signal(number, signal.SIG_IGN if stopped else handler)
    if _hooks:
        sys.unraisablehook = _hooks.pop()
