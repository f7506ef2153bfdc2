"""Match names against patterns, in which * stands for any characters and ? for one."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

MAX_PATTERN: Final = 1000  # characters; fnmatch needs quadratic time for a pattern of brackets


def matches(name: str, pattern: str) -> bool:
    """Whether an fnmatch pattern matches the name; a pattern that is too long matches nothing."""
    return len(pattern) <= MAX_PATTERN and fnmatchcase(name, pattern)
