"""The suite of requantizers: an accumulator, its scale and a zero point to an integer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from softfloat_ref.coverage.requantize_cases import WORDS, drawn, factor
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.requantization import RequantizeRule
from softfloat_ref.oracle.requantization_steps import Operands, operand_value, shifts
from softfloat_ref.oracle.steps import PLAIN
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.conformance.operation import NEAREST, fraction_text
from softfloat_ref.testing.conformance.suite import ConformanceSuite, Properties, Trial, model_code, unit_lines
from softfloat_ref.testing.requantize import RequantizeView
from softfloat_ref.units import RequantizeUnit

Case = tuple[int, ...]  # the codes of the fields


@dataclass(frozen=True)
class RequantizeSetup:
    """The requantizer that the model implements."""

    unit: RequantizeUnit


class RequantizeTrial(Trial[RequantizeSetup, Case, int]):
    """Queries the model of a requantizer."""

    def integer(self, case: Case) -> int:
        __tracebackhide__ = True
        return operand_value(self.ask(case)[0], self.setup.unit.out)

    def misfit(self, code: int) -> str:
        width = self.setup.unit.out.width
        return f"a code of {width} bits" if code >> width else ""

    def numbers(self, case: Case) -> Operands:
        return self.setup.unit.operands(PLAIN, case)

    def defined(self, case: Case) -> bool:
        return self.setup.unit.line(case) is not None

    def place(self, case: Case) -> Fraction:
        """The accumulator times the scale, plus the zero point, exactly."""
        x = self.numbers(case)
        return x.accumulator * self.factor(case) + x.zero_point

    def factor(self, case: Case) -> Fraction:
        """The scale."""
        x = self.numbers(case)
        return factor(self.setup.unit, x.multiplier, x.shift)

    def case_lines(self, case: Case, code: int) -> list[str]:
        unit = self.setup.unit
        return unit_lines(f"{unit.name}, rule {unit.rule.name}", RequantizeView(unit), case, Answer((code,)))


def _cases(setup: RequantizeSetup) -> SearchStrategy[Case]:
    """Cases at ties, at the ends of registers and of the range, and any."""
    return st.integers(0, (1 << 64 * WORDS) - 1).map(lambda number: drawn(setup.unit, number))


_prop: Final = Properties[RequantizeSetup](_cases)


def _unlimited(setup: RequantizeSetup) -> str:
    """Of a rule that wraps, large accumulators give any integer."""
    rule = setup.unit.rule
    wraps = "wrapped" in rule.result or (rule.left == "wrapped" and rule.most_shift > 0)
    return f"rule {rule.name} wraps" if wraps else ""


def _no_steps(setup: RequantizeSetup) -> str:
    rule = setup.unit.rule
    return f"rule {rule.name} rounds accumulators to {rule.arithmetic}" if rule.arithmetic != "exact" else ""


def _exact(setup: RequantizeSetup) -> str:
    reduced = "the multiplier is reduced" if setup.unit.rule.reduced else ""
    return _unlimited(setup) or _no_steps(setup) or reduced


@_prop()
def oracle(t: RequantizeTrial, case: Case) -> None:
    """The integer is the oracle's."""
    right = t.setup.unit.line(case)
    if right is not None:
        t.require(t.integer(case) == operand_value(right[-1], t.setup.unit.out), "the oracle's integer")


@_prop()
def in_range(t: RequantizeTrial, case: Case) -> None:
    """Every result lies within the range."""
    if t.defined(case):
        x = t.numbers(case)
        t.require(x.low <= t.integer(case) <= x.high, f"an integer from {x.low} to {x.high}")


@_prop()
def zero(t: RequantizeTrial, case: Case) -> None:
    """An accumulator of zero becomes the zero point, within the range."""
    none = (0, *case[1:])
    if t.defined(none):
        x = t.numbers(none)
        right = min(max(x.zero_point, x.low), x.high)
        t.require(t.integer(none) == right, str(right))


@_prop(lambda s: st.tuples(_cases(s), _cases(s)), _unlimited)
def monotonic(t: RequantizeTrial, drawn_cases: tuple[Case, Case]) -> None:
    """A larger accumulator does not give a smaller integer, under the same parameters, if the scale is positive."""
    one, two = drawn_cases[0], (drawn_cases[1][0], *drawn_cases[0][1:])
    if not (t.defined(one) and t.defined(two)) or t.factor(one) < 0:
        return
    if t.numbers(one).accumulator > t.numbers(two).accumulator:
        one, two = two, one
    t.require(t.integer(one) <= t.integer(two), "integers in the accumulators' order")


@_prop(when=_exact)
def error(t: RequantizeTrial, case: Case) -> None:
    """Within the range, the error is at most half an integer under roundings to nearest, and less than one under
    others; of two roundings, by the half of what the first one drops more."""
    if not t.defined(case):
        return
    place, x, rule = t.place(case), t.numbers(case), t.setup.unit.rule
    if not x.low <= place <= x.high:
        return
    nearest = rule.rounding in NEAREST and (not rule.first_bits or rule.first in NEAREST)
    limit = Fraction(1, 2) if nearest else Fraction(1)
    if rule.first_bits and (last := shifts(x.shift, rule).last):
        limit += Fraction(limit, 1 << last)
    off = abs(t.integer(case) - place)
    t.require(off <= limit, f"an integer at most {limit} from {fraction_text(place)}")


class RequantizeConformance(ConformanceSuite[RequantizeSetup, Case, int]):
    """The suite of a requantizer: model(self, accumulator, multiplier, shift, zero_point), codes, returns the integer's
    code; of a rule with a float scale, model(self, accumulator, scale, zero_point).

    fmt: the accumulators' format, out: the result's. rule, fixed, clamped: as for `sf.unit("requantize", ...)`; the
    model gets min and max too, if clamped, and no constants.
    """

    fmt: ClassVar[str | Format] = ""
    out: ClassVar[str | Format] = "i8"
    rule: ClassVar[str | RequantizeRule] = "single"
    fixed: ClassVar[str | Mapping[str, Any] | None] = None
    clamped: ClassVar[bool] = False
    properties = _prop.table
    trial = RequantizeTrial

    def setup(self) -> RequantizeSetup:
        self.required("fmt")
        return RequantizeSetup(RequantizeUnit.make(self.fmt, self.out, self.rule, self.fixed, self.clamped))

    def answer(self, case: Case) -> int:
        return model_code(self.model(*case), "the integer")
