"""What commands print: tables, and the progress of long work with the time left."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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


@contextmanager
def running(words: str) -> Iterator[None]:
    """A line on stderr with what is done, and for how long; none if stderr is not a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    begin, ended = time.monotonic(), threading.Event()

    def show() -> None:
        while not ended.wait(_REDRAW_S):
            sys.stderr.write(f"\r\x1b[K{words}  {duration(time.monotonic() - begin)}")
            sys.stderr.flush()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def duration(seconds: float) -> str:
    """Seconds as h:mm:ss, or m:ss."""
    whole = int(seconds)
    minutes = f"{whole // 60 % 60:02}" if whole >= 3600 else f"{whole // 60}"
    hours = f"{whole // 3600}:" if whole >= 3600 else ""
    return f"{hours}{minutes}:{whole % 60:02}"
