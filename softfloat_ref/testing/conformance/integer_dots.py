"""The suite of dot products of integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from softfloat_ref.oracle.flags import OVERFLOW
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.integer_dots import Fit, ends, integer
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.conformance.dots import DotCase
from softfloat_ref.testing.conformance.suite import ConformanceSuite, Properties, Trial, answer_of, unit_lines
from softfloat_ref.testing.integer_dot import IntegerDotView
from softfloat_ref.units import IntegerDotUnit


@dataclass(frozen=True)
class IntegerDotSetup:
    """The dot product that the model implements. flags: whether they are compared."""

    unit: IntegerDotUnit
    flags: bool


class IntegerDotTrial(Trial[IntegerDotSetup, DotCase, Answer]):
    """Queries the model of a dot product of integers."""

    def misfit(self, answer: Answer) -> str:
        width = self.setup.unit.c.width
        return f"a result of {width} bits" if answer.result >> width else ""

    def total(self, case: DotCase) -> int:
        """The exact sum."""
        unit = self.setup.unit
        pairs = zip(case.a, case.b, strict=True)
        return integer(case.c, unit.c) + sum(integer(x, unit.a) * integer(y, unit.b) for x, y in pairs)

    def case_lines(self, case: DotCase, answer: Answer) -> list[str]:
        unit = self.setup.unit
        return unit_lines(f"{unit.name}, {unit.k} products", IntegerDotView(unit), case.inputs, answer)


# -- cases -----------------------------------------------------------------------------------------------------------


def _codes(fmt: Format) -> SearchStrategy[int]:
    """Any, small ones, and the ends of the range."""
    mask = (1 << fmt.width) - 1
    low, high = ends(fmt)
    some = [x & mask for x in (low, low + 1, -1, 0, 1, high - 1, high)]
    return st.sampled_from(some) | st.integers(0, mask)


def _cases(setup: IntegerDotSetup) -> SearchStrategy[DotCase]:
    unit = setup.unit
    a, b = (st.tuples(*[_codes(f)] * unit.k) for f in (unit.a, unit.b))
    return st.builds(DotCase, a, b, _codes(unit.c))


_prop: Final = Properties[IntegerDotSetup](_cases)


def _ordered(setup: IntegerDotSetup) -> str:
    sums = setup.unit.sums
    ordered = sums.fit == Fit.SATURATE and setup.unit.step_count > 1
    return f"accumulator {sums.text} depends on the order" if ordered else ""


def _alike(setup: IntegerDotSetup) -> str:
    return "" if setup.unit.a == setup.unit.b else "a and b have different formats"


@_prop()
def oracle(t: IntegerDotTrial, case: DotCase) -> None:
    """The result is the accumulator's, and so are the flags, if there are any."""
    (answer,) = t.ask(case)
    code, flags = t.setup.unit.answer(case.inputs)
    same = answer.flags in (None, flags) or not t.setup.flags
    t.require(answer.result == code and same, "the oracle's answer")


@_prop(when=_ordered)
def sum_of_products(t: IntegerDotTrial, case: DotCase) -> None:
    """A sum that fits is exact; of others, the lower bits, or the nearest end of the range."""
    (answer,) = t.ask(case)
    unit, total = t.setup.unit, t.total(case)
    low, high = ends(unit.c)
    right = min(max(total, low), high) if unit.sums.fit == Fit.SATURATE else total
    t.require(answer.result == right % (1 << unit.c.width), f"the sum {total} in {unit.c.width} bits")


@_prop(lambda s: st.tuples(_cases(s), st.permutations(range(s.unit.k))), _ordered)
def permutation(t: IntegerDotTrial, drawn: tuple[DotCase, list[int]]) -> None:
    """Products may be added in any order, where sums are fitted once, or wrap."""
    case, order = drawn
    other = case._replace(a=tuple(case.a[i] for i in order), b=tuple(case.b[i] for i in order))
    first, second = t.ask(case, other)
    t.require(first.result == second.result, "the same result in another order")


@_prop(when=_alike)
def commutative(t: IntegerDotTrial, case: DotCase) -> None:
    """Swapping a and b changes nothing."""
    first, second = t.ask(case, case._replace(a=case.b, b=case.a))
    t.require(first == second, "the same answer for both")


@_prop()
def nothing_added(t: IntegerDotTrial, case: DotCase) -> None:
    """Products of zeros leave c as it is, and raise nothing."""
    (answer,) = t.ask(case._replace(a=(0,) * t.setup.unit.k))
    quiet = not t.setup.flags or not (answer.flags or 0) & OVERFLOW
    t.require(answer.result == case.c and quiet, "c, and no overflow")


class IntegerDotConformance(ConformanceSuite[IntegerDotSetup, DotCase, Answer]):
    """The suite of a dot product of integers: model(self, a, b, c), a and b being lists of `k` codes and c one code,
    returns the result's code, or (code, flags).

    fmt: of both vectors, or `a=FORMAT,b=FORMAT,c=FORMAT`; out: of c and the result. acc: `wrap` or `saturate`, as for
    `sf.unit("integer_dot", ...)`.
    """

    fmt: ClassVar[str] = ""
    acc: ClassVar[str] = "wrap"
    out: ClassVar[str | Format | None] = None
    k: ClassVar[int] = 4
    flags: ClassVar[bool] = True
    properties = _prop.table
    trial = IntegerDotTrial

    def setup(self) -> IntegerDotSetup:
        self.required("fmt")
        return IntegerDotSetup(IntegerDotUnit.make(self.fmt, self.out, self.acc, self.k), self.flags)

    def answer(self, case: DotCase) -> Answer:
        return answer_of(self.model(list(case.a), list(case.b), case.c))
