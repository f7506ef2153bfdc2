"""Scale rules: each an exact rounding of a block's largest magnitude to a power of two. Integers only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from softfloat_ref.errors import unknown
from softfloat_ref.formats import Format

# (floor(log2 amax), element format) to the scale's exponent, before it is clamped.
ScaleRule = Callable[[int, Format], int]


def floor_rule(amax_exponent: int, element: Format) -> int:
    """floor(log2 amax) - emax of the element (OCP MX 1.0, 6.3)."""
    return amax_exponent - element.emax


SCALE_RULES: Final[dict[str, ScaleRule]] = {"floor": floor_rule}


def get_scale_rule(name: str) -> ScaleRule:
    """The scale rule of that name. Raises Error."""
    if not isinstance(name, str) or name not in SCALE_RULES:
        raise unknown("scale rule", str(name), SCALE_RULES)
    return SCALE_RULES[name]
