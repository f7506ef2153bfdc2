"""Progress of long work on stderr, with the time left; nothing where stderr is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

_EVERY: Final = 0.2  # seconds between two redrawings


class Progress(Protocol):
    """A bar."""

    def advance(self, label: str, done: int) -> None:
        """So much more is done, of what the label says."""

    def clear(self) -> None:
        """Take the bar off the screen, for lines that stay; the next advance draws it again."""


@contextmanager
def progress(total: int) -> Iterator[Progress]:
    """A bar for so much work, in a `with` block: rich's, where that is installed."""
    bar = _choose(total)
    try:
        yield bar
    finally:
        bar.clear()


def _choose(total: int) -> Progress:
    if sys.stderr is None or not sys.stderr.isatty():
        return _Silent()
    try:
        return _Rich(total)
    except ImportError:
        return _Plain(total)


class _Silent:
    def advance(self, label: str, done: int) -> None:
        """Show nothing."""

    def clear(self) -> None:
        """There is nothing to clear."""


class _Plain:
    """One line, written over and over."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0
        self._begin = self._drawn = time.monotonic()

    def advance(self, label: str, done: int) -> None:
        self._done += done
        now = time.monotonic()
        if now - self._drawn >= _EVERY:
            self._drawn = now
            left = (now - self._begin) * (self._total / self._done - 1)
            part = 100 * self._done // self._total
            sys.stderr.write(f"\r\x1b[K{part:3} %  {duration(left)} left  {label}")
            sys.stderr.flush()

    def clear(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


class _Rich:
    """rich's bar."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (TaskProgressColumn(), BarColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        # stdout is not rich's: it may be a file
        self._bar: Any = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
        self._task = self._bar.add_task("", total=total)
        self._shown = False

    def advance(self, label: str, done: int) -> None:
        if not self._shown:
            self._bar.start()
            self._shown = True
        self._bar.update(self._task, advance=done, description=label)

    def clear(self) -> None:
        if self._shown:
            self._bar.stop()
            self._shown = False


def duration(seconds: float) -> str:
    """Seconds as h:mm:ss, or m:ss."""
    whole = int(seconds)
    minutes = f"{whole // 60 % 60:02}" if whole >= 3600 else f"{whole // 60}"
    hours = f"{whole // 3600}:" if whole >= 3600 else ""
    return f"{hours}{minutes}:{whole % 60:02}"
