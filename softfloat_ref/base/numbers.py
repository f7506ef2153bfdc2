"""Numbers that a user gives: integers of Python or numpy in a range, and time limits."""

from __future__ import annotations

import math
import operator
from typing import Any

from softfloat_ref.base.errors import Error


def integer(value: Any, name: str, least: int | None = None, most: int | None = None) -> int:
    """The value as a plain integer. Raises Error for other numbers, for a bool, and for one out of the range."""
    whole = hasattr(value, "__index__") and "bool" not in type(value).__name__
    number = operator.index(value) if whole else None
    if number is None or (least is not None and number < least) or (most is not None and number > most):
        raise Error(f"{name} = {value!r}: an integer{_range(least, most)}")
    return number


def _range(least: int | None, most: int | None) -> str:
    if most is not None:
        return f" from {least} to {most}"
    return "" if least is None else f" of {least} or more"


def seconds(value: Any, name: str) -> float:
    """A time limit. Raises Error for what is not a number above 0."""
    try:
        limit = float(value)
    except (TypeError, ValueError):
        limit = math.nan
    if not 0 < limit < math.inf or isinstance(value, (bool, str)):
        raise Error(f"{name} = {value!r}: a number of seconds above 0")
    return limit


def settle(self: Any, name: str, least: int | None = None, most: int | None = None) -> None:
    """Make a field of a frozen dataclass a plain integer. Raises Error as `integer`."""
    object.__setattr__(self, name, integer(getattr(self, name), name, least, most))
