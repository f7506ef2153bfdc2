"""Numbers and tables for JSON: infinite numbers and NaN, which JSON lacks, are written as "inf", "-inf" and "nan"."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Final

_NOT_FINITE: Final = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def to_json(value: Any) -> Any:
    """What JSON has: numpy's numbers become Python's."""
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(v) for v in value]
    if hasattr(value, "tolist"):
        return to_json(value.tolist())
    if isinstance(value, float) and not isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return str(value) if isinstance(value, Path) else value


def from_json(value: Any) -> Any:
    """What `to_json` was given, of numbers, text, lists and tables."""
    if isinstance(value, dict):
        return {k: from_json(v) for k, v in value.items()}
    if isinstance(value, list):
        return [from_json(v) for v in value]
    return _NOT_FINITE.get(value, value) if isinstance(value, str) else value


def is_number(value: object) -> bool:
    """Whether this is a number that fits a double: no integer of thousands of digits, no truth value."""
    return isinstance(value, float) or (type(value) is int and abs(value) < 1 << 1023)
