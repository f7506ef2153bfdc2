"""What commands print: tables, and the progress of long work with the time left."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

_REDRAW_S: Final = 0.2  # seconds between two redrawings


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of cells, in columns as wide as their widest cells."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


# -- progress ----------------------------------------------------------------------------------------------------------


class Progress:
    """One line on stderr, overwritten again and again; none if stderr is not a terminal."""

    def __init__(self, total: int) -> None:
        self._shown = sys.stderr is not None and sys.stderr.isatty()
        self._total, self._done = total, 0
        self._begin = self._drawn = time.monotonic()

    def advance(self, label: str, done: int) -> None:
        """Add `done` to the work finished; the label names the current part."""
        self._done += done
        now = time.monotonic()
        if self._shown and self._done and now - self._drawn >= _REDRAW_S:
            self._drawn = now
            left = (now - self._begin) * (self._total / self._done - 1)
            part = 100 * self._done // self._total
            self._write(f"{part:3} %  {duration(left)} left  {label}")

    def clear(self) -> None:
        """Clear the line, so that other lines can be printed; the next advance draws it again."""
        if self._shown:
            self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


@contextmanager
def progress(total: int) -> Iterator[Progress]:
    """A progress line for `total` units of work, as a context manager."""
    bar = Progress(total)
    try:
        yield bar
    finally:
        bar.clear()


class Running:
    """A line on stderr that says what is done, and for how long; none if stderr is not a terminal."""

    def __init__(self, words: str) -> None:
        self._words, self._begin, self._ended = words, time.monotonic(), threading.Event()

    def now(self, words: str) -> None:
        """What is done from now on."""
        self._words = words

    def _show(self) -> None:
        while not self._ended.wait(_REDRAW_S):
            sys.stderr.write(f"\r\x1b[K{self._words}  {duration(time.monotonic() - self._begin)}")
            sys.stderr.flush()

    @contextmanager
    def shown(self) -> Iterator[Running]:
        """Show it during a block."""
        if sys.stderr is None or not sys.stderr.isatty():
            yield self
            return
        thread = threading.Thread(target=self._show, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            thread.join()
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def running(words: str) -> AbstractContextManager[Running]:
    """A line with what is done, as a context manager."""
    return Running(words).shown()


def duration(seconds: float) -> str:
    """Seconds as h:mm:ss, or m:ss."""
    whole = int(seconds)
    minutes = f"{whole // 60 % 60:02}" if whole >= 3600 else f"{whole // 60}"
    hours = f"{whole // 3600}:" if whole >= 3600 else ""
    return f"{hours}{minutes}:{whole % 60:02}"
