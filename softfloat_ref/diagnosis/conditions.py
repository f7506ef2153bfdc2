"""What a device's mismatches have in common: properties of results and operands that most other cases lack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from softfloat_ref import exact
from softfloat_ref.codec import decoder
from softfloat_ref.diagnosis.hypotheses import Case, Inputs, Output
from softfloat_ref.errors import Undefined
from softfloat_ref.exact import FINITE, NAN, Value
from softfloat_ref.formats import Format
from softfloat_ref.golden.dots import DotSet
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.ops import Signature, evaluator, get_operation
from softfloat_ref.testing import block_answers
from softfloat_ref.testing.check import Checkable

FEWEST: Final = 3  # mismatches that have something in common, and not by chance
_TOGETHER: Final = 3  # conditions of a conjunction
_LETTERS: Final = "abcdefghi"
Holds = Callable[[Inputs, Output], bool]


class Condition(NamedTuple):
    """A property of a case, by its operands and the expected answer. text: as "the result is negative"."""

    text: str
    holds: Holds

    def both(self, other: Condition) -> Condition:
        """This and another one."""
        return Condition(f"{self.text} and {other.text}", lambda i, e: self.holds(i, e) and other.holds(i, e))


class Common(NamedTuple):
    """What all mismatches have in common, and how many of the cases that the device got right have it too."""

    condition: Condition
    right: int


class _Feature(NamedTuple):
    """A property that can have several values; None: this case has none."""

    of: Callable[[Inputs, Output], int | str | None]
    says: Callable[[Any], str]
    ordered: bool = False  # whether a range of values is a property


def conditions(vectors: Checkable, cases: Sequence[Case]) -> list[Condition]:
    """The properties that all mismatches have; of scalar operations and dot products."""
    wrong = [c for c in cases if not c.agrees]
    if len(wrong) < FEWEST:
        return []
    return [x for feature in _features(vectors) for x in _shared(feature, wrong)]


def common(cases: Sequence[Case], found: Sequence[Condition]) -> Common | None:
    """The conjunction of conditions that the fewest right cases fulfil; None where that says little."""
    right = [c for c in cases if c.agrees]
    kept: Condition | None = None
    left, start = right, len(right)
    for _ in range(_TOGETHER):
        tried = [(x, [c for c in left if x.holds(c.inputs, c.expected)]) for x in found]
        best, remain = min(tried, key=lambda t: len(t[1]), default=(None, left))
        if best is None or 2 * len(remain) >= len(left):
            break
        kept, left = kept.both(best) if kept else best, remain
    return Common(kept, len(left)) if kept and 4 * len(left) <= start else None


def _shared(feature: _Feature, wrong: Sequence[Case]) -> Iterator[Condition]:
    values = {feature.of(c.inputs, c.expected) for c in wrong}
    if None in values:
        return
    if len(values) == 1:
        (value,) = values
        yield Condition(feature.says((value, value)), lambda i, e: feature.of(i, e) == value)
    elif feature.ordered:
        low, high = min(values), max(values)  # type: ignore[type-var]
        yield Condition(feature.says((low, high)), partial(_within, feature, low, high))


def _within(feature: _Feature, low: Any, high: Any, inputs: Inputs, expected: Output) -> bool:
    x: Any = feature.of(inputs, expected)
    return x is not None and bool(low <= x <= high)


def _features(vectors: Checkable) -> Iterator[_Feature]:
    if isinstance(vectors, VectorSet) and vectors.block is not None:
        return
    yield from _of_code(vectors.out, "the result", lambda i, e: e[0])
    if isinstance(vectors, DotSet):
        yield from _of_code(vectors.out, "c", lambda i, e: i[-1])
        return
    for n, fmt in enumerate(vectors.formats):
        name = f"operand {_LETTERS[n]}" if len(vectors.formats) > 1 else "the operand"
        yield from _of_code(fmt, name, lambda i, e, n=n: i[n])  # type: ignore[misc]
    yield from _before_rounding(vectors)
    if len(vectors.formats) > 1 and len(set(vectors.formats[:2])) == 1:
        mask = vectors.formats[0].magnitude_mask
        yield _Feature(lambda i, e: (i[0] & mask) == (i[1] & mask) or None, lambda _: "a and b have one magnitude")


def _before_rounding(vectors: VectorSet) -> Iterator[_Feature]:
    """The binade of the exact result, which rounding up may leave."""
    sig = Signature(get_operation(vectors.op), vectors.formats, vectors.out)
    if sig.operation.result != "float" or vectors.out.is_integer or vectors.policy.random_count:
        return
    cut, decode = evaluator(sig, vectors.policy.replace(rounding="rtz")), decoder(vectors.out)

    def exponent(inputs: Inputs, _: Output) -> int | None:
        try:
            return binade(decode(cut(tuple(inputs), 0)[0]))
        except Undefined:
            return None

    yield _Feature(exponent, lambda v: _between("the exact result", *v), ordered=True)


def _of_code(fmt: Format, name: str, code: Callable[[Inputs, Output], int]) -> Iterator[_Feature]:
    decode = decoder(fmt)

    def value(i: Inputs, e: Output) -> Value:
        return decode(code(i, e))

    yield _Feature(lambda i, e: kind(code(i, e), fmt), lambda v: f"{name} is {v[0]}")
    yield _Feature(lambda i, e: value(i, e).sign, lambda v: f"{name} is {'negative' if v[0] else 'positive'}")
    if not fmt.is_integer:
        yield _Feature(lambda i, e: binade(value(i, e)), lambda v: _between(name, *v), ordered=True)


def _between(name: str, low: int, high: int) -> str:
    """A range of binades."""
    return f"the magnitude of {name} is at least 2^{low} and below 2^{high + 1}"


def kind(code: int, fmt: Format) -> str:
    """What kind of number a code is, in words."""
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


# -- blocks: of the codes that are wrong -----------------------------------------------------------------------------


def of_codes(vectors: Checkable, cases: Sequence[Case]) -> str:
    """What the wrong codes of blocks have in common, in words; '' for other sets, and where there is nothing."""
    if not isinstance(vectors, VectorSet) or vectors.block is None:
        return ""
    formats = block_answers.formats(vectors)
    wrong = [
        (i, x) for c in cases for i, (x, y) in enumerate(zip(c.expected, c.got, strict=True)) if x != y and not c.agrees
    ]
    if len(wrong) < FEWEST:
        return ""
    scales = vectors.op == "quantize"
    places = {i for i, _ in wrong}
    if len(places) == 1:
        (place,) = places
        what = "the scale" if scales and not place else f"element {place - scales}"
        return f"only {what} is wrong"
    if scales and 0 in places:
        return ""
    said = {kind(x, f) for i, x in wrong if (f := formats[i]) is not None}
    signs = {decoder(f)(x).sign for i, x in wrong if (f := formats[i]) is not None}
    facts = [f"should be {said.pop()}"] if len(said) == 1 and said != {"a normal number"} else []
    facts += [f"should be {'negative' if signs.pop() else 'positive'}"] if len(signs) == 1 else []
    return f"the scale is right, and every wrong element {' and '.join(facts)}" if facts else ""
