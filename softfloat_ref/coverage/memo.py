"""What models lay out once for a setting, kept with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

T = TypeVar("T")


def remembered(memo: dict[str, object], key: str, make: Callable[[], T]) -> T:
    """What `make` gave when it was first asked for that key."""
    if key not in memo:
        memo[key] = make()
    return cast(T, memo[key])
