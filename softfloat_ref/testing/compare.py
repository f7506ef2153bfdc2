"""Comparing a device's answers with the oracle's: what counts as equal, and what kind of mismatch it is."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from softfloat_ref.codec import decoder
from softfloat_ref.errors import unknown
from softfloat_ref.exact import Value
from softfloat_ref.formats import Format


class CompareNan(StrEnum):
    """exact: the NaN's bits count; quiet: any quiet NaN will do; any: any NaN will do."""

    EXACT = "exact"
    QUIET = "quiet"
    ANY = "any"


def compare_nan(name: object) -> CompareNan:
    """The comparison of that name. Raises Error."""
    if name not in list(CompareNan):
        raise unknown("comparison of NaNs", str(name), CompareNan)
    return CompareNan(str(name))


class Answer(NamedTuple):
    """What a device said: a result and, if it gave them, flags.

    codes: of a block, all its codes; result is then the first.
    """

    result: int
    flags: int | None = None
    codes: tuple[int, ...] = ()


class Rule(NamedTuple):
    """How answers are compared. flags: whether they count, where the device gives them."""

    fmt: Format
    nan: CompareNan = CompareNan.EXACT
    flags: bool = True


def agrees(expected: tuple[int, int], got: Answer, rule: Rule) -> bool:
    """Whether an answer is right under the rule."""
    return same_result(expected[0], got.result, rule) and same_flags(expected[1], got, rule)


def same_flags(expected: int, got: Answer, rule: Rule) -> bool:
    """Whether the flags agree, or do not count."""
    return not rule.flags or got.flags is None or got.flags == expected


def same_result(expected: int, got: int, rule: Rule) -> bool:
    """Whether the results agree, NaNs as the rule says."""
    if expected == got:
        return True
    if (
        rule.nan == CompareNan.EXACT
        or not rule.fmt.is_nan(expected)
        or got >> rule.fmt.width
        or not rule.fmt.is_nan(got)
    ):
        return False
    return rule.nan == CompareNan.ANY or not decoder(rule.fmt)(got).signaling


def classify(expected: tuple[int, int], got: Answer, rule: Rule) -> str:
    """The kind of a mismatch, for counting."""
    if same_result(expected[0], got.result, rule):
        return "flags only"
    if got.result >> rule.fmt.width:
        return "result too wide"
    if rule.fmt.is_integer and rule.fmt.width == 1:  # a comparison
        return "false for true" if expected[0] else "true for false"
    right, wrong = (decoder(rule.fmt)(code) for code in (expected[0], got.result))
    return _kind(right, wrong, expected[0], got.result, rule.fmt)


def _kind(right: Value, wrong: Value, expected: int, got: int, fmt: Format) -> str:
    if right.is_nan or wrong.is_nan:
        if right.is_nan and wrong.is_nan:
            return "another NaN"
        return "no NaN" if right.is_nan else "NaN"
    if expected ^ got == fmt.sign_bit and fmt.sign_bit:
        return "sign of zero" if right.is_zero else "sign"
    if right.is_inf or wrong.is_inf:
        return "no infinity" if right.is_inf else "infinity"
    if right.sign == wrong.sign and abs((expected & fmt.magnitude_mask) - (got & fmt.magnitude_mask)) == 1:
        return "off by one ulp"
    if right.is_zero or wrong.is_zero:
        return "no zero" if right.is_zero else "zero"
    return "another value"
