"""Searches that must find something."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def find_first(items: Iterable[T]) -> T:
    """The first item. Raises LookupError if there is none.

    The StopIteration of next() would end a generator with another error, and cut a map() short in silence.
    """
    for item in items:
        return item
    raise LookupError("no item is as searched for")
