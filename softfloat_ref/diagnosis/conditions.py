"""Common properties of a device's mismatches: properties of results and operands that most other cases lack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Inputs, Output
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, NAN, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.literals import shortest

FEWEST: Final = 3  # the fewest mismatches for which a common property is not chance
_MOST_CONJOINED: Final = 3  # conditions in a conjunction
Holds = Callable[[Inputs, Output], bool]


class CaseCondition(NamedTuple):
    """A property of a case, by its operands and the expected answer. text: for example "the result is negative".

    fitted: whether it was fitted to the mismatches, as a range or a conjunction: few of them are then no evidence.
    fine: whether a reader would rather see another one, if that is as good.
    """

    text: str
    holds: Holds
    fitted: bool = False
    fine: bool = False

    def both(self, other: CaseCondition) -> CaseCondition:
        """The conjunction of this and another condition."""
        return CaseCondition(f"{self.text} and {other.text}", lambda i, e: self.holds(i, e) and other.holds(i, e), True)


class Common(NamedTuple):
    """A property that all mismatches have, and the number of right cases that have it too."""

    condition: CaseCondition
    right: int


class Feature(NamedTuple):
    """A property with several possible values; None if a case does not have the property."""

    of: Callable[[Inputs, Output], int | str | None]
    text: Callable[[Any], str]
    ordered: bool = False  # whether a range of values is a property
    fine: bool = False  # as for a condition
    widest: int | None = None  # range that is a property


def conditions(features: Iterable[Feature], cases: Sequence[AnsweredCase]) -> list[CaseCondition]:
    """The conditions that all mismatches fulfil."""
    wrong = [c for c in cases if not c.agrees]
    if len(wrong) < FEWEST:
        return []
    return [x for feature in features for x in _shared(feature, wrong)]


def common(cases: Sequence[AnsweredCase], candidates: Sequence[CaseCondition]) -> Common | None:
    """The conjunction of conditions that the fewest right cases fulfil; None if it excludes too few."""
    right = [c for c in cases if c.agrees]
    conjunction: CaseCondition | None = None
    left, start = right, len(right)
    for _ in range(_MOST_CONJOINED):
        tried = [(x, [c for c in left if x.holds(c.inputs, c.expected)]) for x in candidates if not x.fine]
        best, remain = min(tried, key=lambda t: len(t[1]), default=(None, left))
        if best is None or 2 * len(remain) >= len(left):
            break
        conjunction, left = conjunction.both(best) if conjunction else best, remain
    return Common(conjunction, len(left)) if conjunction and 4 * len(left) <= start else None


def _shared(feature: Feature, wrong: Sequence[AnsweredCase]) -> Iterator[CaseCondition]:
    values: set[int | str | None] = set()
    for c in wrong:
        values.add(feature.of(c.inputs, c.expected))
        if None in values or (len(values) > 1 and not feature.ordered):
            return
    if len(values) == 1:
        (value,) = values
        yield CaseCondition(feature.text((value, value)), lambda i, e: feature.of(i, e) == value, fine=feature.fine)
    elif feature.ordered:
        low: Any = min(values)  # type: ignore[type-var]
        high: Any = max(values)  # type: ignore[type-var]
        if feature.widest is not None and high - low > feature.widest:
            return
        yield CaseCondition(feature.text((low, high)), partial(_within, feature, low, high), True, feature.fine)


def _within(feature: Feature, low: Any, high: Any, inputs: Inputs, expected: Output) -> bool:
    x: Any = feature.of(inputs, expected)
    return x is not None and bool(low <= x <= high)


def of_code(fmt: Format, name: str, code: Callable[[Inputs, Output], int]) -> Iterator[Feature]:
    """Kind, sign and binade of a code."""
    decode = decoder(fmt)

    def value(i: Inputs, e: Output) -> Value:
        return decode(code(i, e))

    yield Feature(lambda i, e: kind(code(i, e), fmt), lambda v: f"{name} is {v[0]}")
    yield Feature(lambda i, e: value(i, e).sign, lambda v: f"{name} is {'negative' if v[0] else 'positive'}")
    if not fmt.is_integer:
        yield Feature(lambda i, e: binade(value(i, e)), lambda v: between(name, *v), ordered=True)


def of_magnitude(fmt: Format, name: str, code: Callable[[Inputs, Output], int]) -> Feature:
    """The magnitude of a finite number, within a binade."""
    decode, mask = decoder(fmt), fmt.magnitude_mask

    def of(i: Inputs, e: Output) -> int | None:
        x = code(i, e)
        return x & mask if decode(x).kind == FINITE else None

    def text(values: tuple[int, int]) -> str:
        low, high = (shortest(decode(x)) for x in values)
        return f"the magnitude of {name} is {low}" + (f" to {high}" if high != low else "")

    return Feature(of, text, ordered=True, fine=True, widest=1 << fmt.mantissa_bits)


def between(name: str, low: int, high: int) -> str:
    """A range of binades."""
    return f"the magnitude of {name} is at least 2^{low} and below 2^{high + 1}"


def kind(code: int, fmt: Format) -> str:
    """The kind of number that a code stands for, in words."""
    x = decoder(fmt)(code)
    if x.kind == NAN:
        return "a signalling NaN" if x.signaling else "a NaN"
    if x.kind != FINITE:
        return "infinity"
    if x.is_zero:
        return "zero"
    if fmt.is_integer or fmt.twos_complement or code & fmt.magnitude_mask >= fmt.min_normal_code:
        return "a normal number"
    return "subnormal"


def binade(x: Value) -> int | None:
    """The exponent of a finite number's leading bit."""
    return exact.top(x) if x.kind == FINITE and x.significand else None
