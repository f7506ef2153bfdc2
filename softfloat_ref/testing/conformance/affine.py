"""The suite of affine quantizers: a value, a scale and a zero point to an integer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.affine import FP32, AffineFormat, Rule
from softfloat_ref.oracle.codec import decoder, encode
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Overflow, Policy, rounding_name
from softfloat_ref.testing import strategies
from softfloat_ref.testing.affine import AffineQuantizeView
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.conformance.operation import NEAREST, SYMMETRIC, exact_code, fraction_text
from softfloat_ref.testing.conformance.suite import ConformanceSuite, Properties, Trial, model_code, unit_lines
from softfloat_ref.units import AffineQuantizeUnit
from softfloat_ref.units.affine import integer as signed_integer
from softfloat_ref.units.affine import parameters

PARTS_OF_STEP: Final = 8  # of a step between two integers, at which values are drawn
STEPS_BEYOND: Final = 4  # steps beyond the ends
SCALE_BINADES: Final = 8  # of the scales, on each side of one
LOST_IN_FP32: Final = Fraction(1, 32)  # of a step, at most, by steps in FP32
_SATURATE: Final = Policy(overflow=Overflow.SAT_FINITE)


class AffineCase(NamedTuple):
    """One question to a model, in codes. zero_point: absent for symmetric formats."""

    value: int
    scale: int
    zero_point: int | None

    @property
    def inputs(self) -> tuple[int, ...]:
        return tuple(x for x in self if x is not None)


@dataclass(frozen=True)
class AffineSetup:
    """The quantizer that the model implements."""

    unit: AffineQuantizeUnit

    @property
    def fmt(self) -> AffineFormat:
        return self.unit.affine

    @property
    def rounding(self) -> str:
        return rounding_name(self.unit.policy.rounding)

    @property
    def exact(self) -> bool:
        """Whether the quotient is not rounded by itself."""
        return self.unit.rule.arithmetic == "exact"


class AffineTrial(Trial[AffineSetup, AffineCase, int]):
    """Queries the model of a quantizer."""

    def integer(self, case: AffineCase) -> int:
        __tracebackhide__ = True
        return signed_integer(self.ask(case)[0], self.setup.fmt)

    def misfit(self, code: int) -> str:
        return f"a code of {self.setup.fmt.bits} bits" if code >> self.setup.fmt.bits else ""

    def value(self, case: AffineCase) -> Fraction | None:
        """The value of a case; None for NaN and Inf."""
        unit = self.setup.unit
        x = decoder(unit.values, unit.policy.flush_inputs)(case.value)
        return x.as_fraction() if x.is_finite else None

    def zero_point(self, case: AffineCase) -> int:
        return parameters(case.inputs[1:], self.setup.fmt).zero_point

    def place(self, case: AffineCase) -> Fraction | None:
        """value / scale + zero point: the integer before rounding and clamping."""
        x = self.value(case)
        return None if x is None else x / scale_number(case) + self.zero_point(case)

    def at(self, case: AffineCase, value: Fraction) -> AffineCase | None:
        """The case with another value; None if the value's format does not have it, or it is flushed."""
        code = exact_code(value, self.setup.unit.values)
        moved = None if code is None else case._replace(value=code)
        return moved if moved and self.value(moved) == value else None

    def case_lines(self, case: AffineCase, code: int) -> list[str]:
        unit = self.setup.unit
        name = f"{unit.affine.name} from {unit.values.name}, rule {unit.rule.name}, {self.setup.rounding}"
        return unit_lines(name, AffineQuantizeView(unit), case.inputs, Answer((code,)))


def scale_number(case: AffineCase) -> Fraction:
    """The scale as a number."""
    return decoder(FP32)(case.scale).as_fraction()


# -- cases -----------------------------------------------------------------------------------------------------------


def _scales() -> SearchStrategy[int]:
    """Powers of two, few significand bits, and any."""
    some = st.one_of(st.just(0), st.sampled_from([1 << 22, 3 << 21, 1]), st.integers(0, (1 << 23) - 1))
    return st.builds(lambda e, m: FP32.bias + e << 23 | m, st.integers(-SCALE_BINADES, SCALE_BINADES), some)


def _zero_points(fmt: AffineFormat) -> SearchStrategy[int | None]:
    """Codes of zero points; none for symmetric formats."""
    if fmt.symmetric:
        return st.none()
    ends = st.sampled_from([fmt.highest, fmt.lowest])
    return st.one_of(st.integers(max(fmt.lowest, 0), min(fmt.highest, PARTS_OF_STEP)), ends, _integers(fmt)).map(
        lambda z: z % (1 << fmt.bits)
    )


def _integers(fmt: AffineFormat) -> SearchStrategy[int]:
    return st.integers(fmt.lowest, fmt.highest)


def _cases(setup: AffineSetup) -> SearchStrategy[AffineCase]:
    """Values at integers, at ties, between them and beyond the ends, and their neighbours."""
    values, fmt = setup.unit.values, setup.fmt
    low, high = PARTS_OF_STEP * (fmt.lowest - STEPS_BEYOND), PARTS_OF_STEP * (fmt.highest + STEPS_BEYOND)
    eighths = st.one_of(
        st.integers(low, high),
        st.integers(low // PARTS_OF_STEP, high // PARTS_OF_STEP).map(lambda n: PARTS_OF_STEP * n + 4),
    )

    def case(scale: int, zero_point: int | None, place: int, by: int) -> AffineCase:
        zero = AffineCase(0, scale, zero_point)
        z = parameters(zero.inputs[1:], fmt).zero_point
        code = encode(
            Fraction(place, PARTS_OF_STEP) * scale_number(zero) - z * scale_number(zero), values, _SATURATE
        ).bits
        magnitude = min(max((code & values.magnitude_mask) + by, 0), values.max_code)
        return zero._replace(value=magnitude | code & values.sign_bit)

    return st.builds(case, _scales(), _zero_points(fmt), eighths, st.sampled_from([0, 0, 1, -1]))


def _any(setup: AffineSetup) -> SearchStrategy[AffineCase]:
    """Those, and any value."""
    odd = st.builds(AffineCase, strategies.bits(setup.unit.values), _scales(), _zero_points(setup.fmt))
    return st.one_of(_cases(setup), odd)


_prop: Final = Properties[AffineSetup](_cases)

# -- reasons ---------------------------------------------------------------------------------------------------------


def _exact_or_nearest(setup: AffineSetup) -> str:
    if setup.exact or setup.rounding in NEAREST:
        return ""
    return f"a quotient in FP32 may be just beside an integer, which {setup.rounding} shows"


def _exact(setup: AffineSetup) -> str:
    if not setup.exact:
        return "a quotient in FP32 does not move by whole steps"
    return "rto depends on the integer's parity" if setup.rounding == "rto" else ""


def _symmetric(setup: AffineSetup) -> str:
    """Rounding before a zero point that is added outside, or is 0, is symmetric where the rounding is; of others, where
    the rounding asks for the parity alone."""
    if not setup.fmt.symmetric:
        return f"the zero point of {setup.fmt.name} may have any value"
    if setup.rounding not in SYMMETRIC:
        return f"{setup.rounding} rounds toward one side"
    added = setup.fmt.middle and setup.unit.rule.order == "inside"
    even = setup.exact and setup.rounding in ("rne", "rto")
    return "the middle is added before the rounding" if added and not even else ""


# -- properties ------------------------------------------------------------------------------------------------------


@_prop(_any)
def oracle(t: AffineTrial, case: AffineCase) -> None:
    """The integer is the oracle's."""
    right = t.setup.unit.line(case.inputs)
    if right is not None:
        code = right[-1]
        t.require(t.integer(case) == signed_integer(code, t.setup.fmt), "the oracle's integer")


@_prop(_any)
def in_range(t: AffineTrial, case: AffineCase) -> None:
    """Every result lies within the range of the integers; a narrow format does not have the lowest integer."""
    if t.setup.unit.line(case.inputs) is not None:
        fmt = t.setup.fmt
        t.require(fmt.lowest <= t.integer(case) <= fmt.highest, f"an integer from {fmt.lowest} to {fmt.highest}")


@_prop()
def saturating(t: AffineTrial, case: AffineCase) -> None:
    """A value beyond the range gives the end of the range on its side."""
    fmt, place = t.setup.fmt, t.place(case)
    if place is not None and not fmt.lowest - 1 < place < fmt.highest + 1:
        end = fmt.lowest if place < fmt.lowest else fmt.highest
        t.require(t.integer(case) == end, str(end))


@_prop(lambda s: st.tuples(_cases(s), _cases(s)))
def monotonic(t: AffineTrial, drawn: tuple[AffineCase, AffineCase]) -> None:
    """A larger value does not give a smaller integer, under the same scale and zero point."""
    one, two = drawn[0], drawn[0]._replace(value=drawn[1].value)
    x, y = t.value(one), t.value(two)
    if x is None or y is None:
        return
    if x > y:
        one, two = two, one
    t.require(t.integer(one) <= t.integer(two), "integers in the values' order")


@_prop()
def zero(t: AffineTrial, case: AffineCase) -> None:
    """Zero of either sign becomes the zero point."""
    for code in (0, t.setup.unit.values.sign_bit):
        z = t.zero_point(case)
        t.require(t.integer(case._replace(value=code)) == z, f"the zero point, {z}")


@_prop(lambda s: st.tuples(_cases(s), _integers(s.fmt)), _exact_or_nearest)
def on_the_grid(t: AffineTrial, drawn: tuple[AffineCase, int]) -> None:
    """(q - zero point) * scale, where the value's format has it, becomes q."""
    case, q = drawn
    exact = t.at(case, (q - t.zero_point(case)) * scale_number(case))
    if exact is not None:
        t.require(t.integer(exact) == q, str(q))


@_prop(when=_exact)
def shift(t: AffineTrial, case: AffineCase) -> None:
    """A value one scale larger gives an integer one larger, but for ties, and where rtz changes sides."""
    fmt, place, x = t.setup.fmt, t.place(case), t.value(case)
    if place is None or x is None or not fmt.lowest <= place <= fmt.highest - 1:
        return
    rounded = place if t.setup.unit.rule.order == "inside" else place - t.zero_point(case)
    tie = t.setup.rounding in NEAREST and rounded.denominator == 2
    crossed = t.setup.rounding == "rtz" and -1 < rounded < 0
    moved = None if tie or crossed else t.at(case, x + scale_number(case))
    if moved is not None:
        t.require(t.integer(case) + 1 == t.integer(moved), "an integer one larger for the second")


@_prop(when=_symmetric)
def odd(t: AffineTrial, case: AffineCase) -> None:
    """Opposite values give integers opposite about the middle, but at the ends."""
    fmt, place = t.setup.fmt, t.place(case)
    reach = min(fmt.highest - fmt.middle, fmt.middle - fmt.lowest)
    if place is None or abs(place - fmt.middle) > reach:
        return
    opposite = case._replace(value=case.value ^ t.setup.unit.values.sign_bit)
    one, two = t.integer(case) - fmt.middle, t.integer(opposite) - fmt.middle
    t.require(one == -two, "opposite distances from the middle")


@_prop()
def error(t: AffineTrial, case: AffineCase) -> None:
    """Within the range, the error is at most half a step under roundings to nearest, and less than a step under others
    (by 1/32 more where steps of the rule are in FP32)."""
    fmt, place = t.setup.fmt, t.place(case)
    if place is None or not fmt.lowest <= place <= fmt.highest:
        return
    nearest, lost = t.setup.rounding in NEAREST, Fraction(0) if t.setup.exact else LOST_IN_FP32
    off, limit = abs(t.integer(case) - place), (Fraction(1, 2) if nearest else Fraction(1)) + lost
    t.require(
        off <= limit if nearest else off < limit,
        f"an integer {'at most' if nearest else 'less than'} {limit} from {fraction_text(place)}",
    )


class AffineConformance(ConformanceSuite[AffineSetup, AffineCase, int]):
    """The suite of an affine quantizer: model(self, value, scale, zero_point), codes, returns the integer's code.

    fmt: the affine format; the model of a symmetric one gets no zero point. source: the values' format. rule, policy:
    as for `affine.quantize`; roundings take no random bits here.
    """

    fmt: ClassVar[str | AffineFormat] = ""
    source: ClassVar[str | Format] = "fp32"
    rule: ClassVar[str | Rule] = "exact"
    policy: ClassVar[Policy | str | Mapping[str, Any] | None] = None
    properties = _prop.table
    trial = AffineTrial

    def setup(self) -> AffineSetup:
        self.required("fmt")
        unit = AffineQuantizeUnit.make(self.fmt, self.source, self.policy, self.rule)
        if unit.policy.random_count:
            raise Error(f"{type(self).__name__}: stochastic roundings are tested on conversions (ConvertConformance)")
        return AffineSetup(unit)

    def answer(self, case: AffineCase) -> int:
        return model_code(self.model(*case.inputs), "the integer")
