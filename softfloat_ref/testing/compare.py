"""Comparing a device's answers with the oracle's: which answers count as equal, and the kind of a mismatch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.encodings import kind_of
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.rtl.tolerance import CompareNan, same_code
from softfloat_ref.units import Field
from softfloat_ref.units.unit import split

NO_NAN: Final = "no NaN"
FLAGS_ONLY: Final = "flags only"


class Answer(NamedTuple):
    """A device's answer: the codes of its results, and flags if it gave any."""

    codes: tuple[int, ...]
    flags: int | None = None

    @property
    def result(self) -> int:
        """The only result, or the first."""
        return self.codes[0]


class ComparisonRule(NamedTuple):
    """How answers are compared. fmt: format of the result. flags: whether to compare flags, if the device gives any."""

    fmt: Format
    nan: CompareNan = CompareNan.EXACT
    flags: bool = True


def code_texts(fields: Sequence[Field], codes: Sequence[int]) -> list[str]:
    """The codes of some fields in hexadecimal, each with its field's digits."""
    return [f"{x:0{f.digits}x}" for f, own in split(fields, codes) for x in own]


def agrees(expected: tuple[int, int], got: Answer, rule: ComparisonRule) -> bool:
    """Whether an answer is right under the rule."""
    same_flags = not rule.flags or got.flags in (None, expected[1])
    return same_flags and same_result(expected[0], got.result, rule)


def same_result(expected: int, got: int, rule: ComparisonRule) -> bool:
    """Whether the results agree, with NaNs compared by the rule."""
    return same_code(expected, got, rule.fmt, rule.nan)


def classify(expected: tuple[int, int], got: Answer, rule: ComparisonRule) -> str:
    """The kind of a mismatch, for counting."""
    if same_result(expected[0], got.result, rule):
        return FLAGS_ONLY
    if got.result >> rule.fmt.width:
        return "result too wide"
    if rule.fmt.is_integer and rule.fmt.width == 1:  # a comparison
        return "false for true" if expected[0] else "true for false"
    if kind := kind_of(rule.fmt, got.result):
        return f"{kind}, which is not canonical"
    right, wrong = (decoder(rule.fmt)(code) for code in (expected[0], got.result))
    return _kind(right, wrong, expected[0], got.result, rule.fmt)


def _kind(right: Value, wrong: Value, expected: int, got: int, fmt: Format) -> str:
    if right.is_nan or wrong.is_nan:
        if right.is_nan and wrong.is_nan:
            return "another NaN"
        return NO_NAN if right.is_nan else "NaN"
    if expected ^ got == fmt.sign_bit and fmt.sign_bit:
        return "sign of zero" if right.is_zero else "sign"
    if right.is_inf or wrong.is_inf:
        return "no infinity" if right.is_inf else "infinity"
    if right.sign == wrong.sign and abs((expected & fmt.magnitude_mask) - (got & fmt.magnitude_mask)) == 1:
        return "off by one ulp"
    if right.is_zero or wrong.is_zero:
        return "no zero" if right.is_zero else "zero"
    return "another value"
