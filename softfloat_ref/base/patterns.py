"""Names by patterns, in which * stands for any characters and ? for one."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

MAX_PATTERN: Final = 1000  # characters; fnmatch takes the square of a pattern of brackets


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern as in fnmatch matches the name; a pattern that is too long matches no name."""
    return len(pattern) <= MAX_PATTERN and fnmatchcase(name, pattern)
