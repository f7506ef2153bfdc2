"""The suite of dot products: models of matrix units, as an accumulator adds up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Literal, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.accumulate import Accumulator
from softfloat_ref.oracle.accumulate.trees import Addends, Chain, Fuse, Pairs, Products, Round, walk
from softfloat_ref.oracle.codec import decoder, encode
from softfloat_ref.oracle.formats import Format
from softfloat_ref.rtl.tolerance import compare_nan
from softfloat_ref.testing import strategies
from softfloat_ref.testing.compare import Answer, ComparisonRule, agrees
from softfloat_ref.testing.conformance.operation import SYMMETRIC, exact_code
from softfloat_ref.testing.conformance.suite import ConformanceSuite, Properties, Trial, answer_of, unit_lines
from softfloat_ref.testing.dot import DotView
from softfloat_ref.units import DotUnit

SMALL_SUM: Final = 1 << 7  # sums of small integers stay below it: the narrowest running result has so many bits
_WHOLE_PRODUCTS: Final = ((0, None, 1),)


class DotCase(NamedTuple):
    """The operands of one dot product."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int

    @property
    def inputs(self) -> tuple[int, ...]:
        return (*self.a, *self.b, self.c)


@dataclass(frozen=True)
class DotSetup:
    """Formats, accumulator, number of products."""

    dot: DotUnit
    rule: ComparisonRule

    @property
    def formats(self) -> tuple[Format, Format]:
        return self.dot.setting.formats

    @property
    def accumulator(self) -> Accumulator:
        return self.dot.accumulator

    @property
    def step(self) -> int:
        """Products a step."""
        s = self.dot.setting
        return self.accumulator.step_for(s.formats, s.result, s.block, self.dot.k)


class DotTrial(Trial[DotSetup, DotCase, Answer]):
    """Queries the model of a dot product."""

    def misfit(self, answer: Answer) -> str:
        width = self.setup.dot.out.width
        return f"a result of {width} bits" if answer.result >> width else ""

    def case_lines(self, case: DotCase, answer: Answer) -> list[str]:
        dot = self.setup.dot
        name = f"dot of {dot.k} products, {dot.name.removeprefix('dot_')}, to {dot.out.name}"
        return unit_lines(name, DotView(dot), case.inputs, answer)


# -- cases -----------------------------------------------------------------------------------------------------------


def _cases(setup: DotSetup) -> SearchStrategy[DotCase]:
    """Few products that are not zero, their exponents near each other, some of them cancelling."""
    k, (x, y), c = setup.dot.k, setup.formats, setup.dot.c
    pairs = st.lists(st.tuples(strategies.bits(x), strategies.bits(y)), max_size=min(k, 8))

    def case(nonzero: list[tuple[int, int]], cancels: bool, at: int, addend: int) -> DotCase:
        if cancels and nonzero and x.signed:
            nonzero = [*nonzero, (nonzero[0][0] ^ x.sign_bit, nonzero[0][1])][:k]
        products = [*nonzero, *[(0, 0)] * (k - len(nonzero))]
        at %= k
        turned = products[at:] + products[:at]
        return DotCase(tuple(a for a, _ in turned), tuple(b for _, b in turned), addend)

    return st.builds(case, pairs, st.booleans(), st.integers(0, k - 1), strategies.bits(c))


def _permuted(setup: DotSetup) -> SearchStrategy[Any]:
    k, step = setup.dot.k, setup.step
    order = st.permutations(range(step)).map(
        lambda p: [start + i for start in range(0, k, step) for i in p if start + i < k]
    )
    return st.tuples(_cases(setup), order)


def _small_integers(setup: DotSetup) -> SearchStrategy[DotCase]:
    k = setup.dot.k
    numbers = [
        n for n in (0, 1, 2, 3, -1, -2, -3) if all(exact_code(Fraction(n), f) is not None for f in setup.formats)
    ]
    vectors = st.lists(st.sampled_from(numbers), max_size=min(k, SMALL_SUM // 16))

    def codes(integers: list[int], fmt: Format) -> tuple[int, ...]:
        return tuple(encode(n, fmt).bits for n in [*integers, *[0] * (k - len(integers))])

    return st.builds(
        lambda a, b, c: DotCase(codes(a, setup.formats[0]), codes(b, setup.formats[1]), encode(c, setup.dot.c).bits),
        vectors,
        vectors,
        st.integers(-8, 8),
    )


# -- properties ------------------------------------------------------------------------------------------------------

_prop: Final = Properties[DotSetup](_cases)


@_prop()
def oracle(t: DotTrial, case: DotCase) -> None:
    """The result and the flags are the accumulator's."""
    (answer,) = t.ask(case)
    right = t.setup.dot.line(case.inputs)
    t.require(right is None or agrees((right[-2], right[-1]), answer, t.setup.rule), "the oracle's answer")


def _any_order(setup: DotSetup) -> str:
    nodes = walk(setup.accumulator.root)
    fixed = any(isinstance(x, (Chain, Pairs)) for x in nodes) or any(
        isinstance(x, Products) and x.slices != _WHOLE_PRODUCTS for x in nodes
    )
    if fixed:
        return f"{setup.accumulator.name} adds the products of a step in a fixed order"
    return f"{setup.accumulator.name} takes one product a step" if setup.step == 1 else ""


@_prop(_permuted, _any_order)
def permutation(t: DotTrial, drawn: tuple[DotCase, list[int]]) -> None:
    """The order of the products of one step does not matter."""
    case, order = drawn
    other = DotCase(tuple(case.a[i] for i in order), tuple(case.b[i] for i in order), case.c)
    one, two = t.ask(case, other)
    t.require(_alike(t, one, two), "the same answer for both")


def _alike(t: DotTrial, one: Answer, two: Answer) -> bool:
    out = t.setup.dot.out
    if t.setup.accumulator.nan_rule.propagate != "no" and out.is_nan(one.result) and out.is_nan(two.result):
        return True
    return one == two


def _one_format(setup: DotSetup) -> str:
    return "" if setup.formats[0] == setup.formats[1] else "a and b have different formats"


@_prop(when=_one_format)
def commutative(t: DotTrial, case: DotCase) -> None:
    """Swapping the vectors a and b changes nothing."""
    one, two = t.ask(case, DotCase(case.b, case.a, case.c))
    t.require(_alike(t, one, two), "the same answer for both")


def _symmetric(setup: DotSetup) -> str:
    unsigned = [f.name for f in (setup.formats[0], setup.dot.out) if not f.signed or f.twos_complement]
    if unsigned:
        return f"{unsigned[0]} has no sign bit"
    for node in walk(setup.accumulator.root):
        if isinstance(node, Round) and not {to.rounding.replace("rz", "rtz") for to in node.choices} <= SYMMETRIC:
            return f"{setup.accumulator.name} rounds toward one side"
        if isinstance(node, Fuse) and "rd" in (node.align, *(p.align for p in node.parts if isinstance(p, Addends))):
            return f"{setup.accumulator.name} floors what it aligns"
    return f"{setup.accumulator.name} flushes by sign" if setup.accumulator.flush_inputs == "positive" else ""


@_prop(when=_symmetric)
def sign_symmetry(t: DotTrial, case: DotCase) -> None:
    """Opposite a and c give the opposite result."""
    fmt, c, out = t.setup.formats[0], t.setup.dot.c, t.setup.dot.out
    flipped = tuple(x ^ fmt.sign_bit if x & fmt.magnitude_mask or fmt.negative_zero else x for x in case.a)
    one, two = t.ask(case, DotCase(flipped, case.b, case.c ^ c.sign_bit))
    values = [decoder(out)(x.result) for x in (one, two)]
    if not any(v.is_nan or v.is_zero for v in values):
        t.require(one.result ^ two.result == out.sign_bit, "opposite results")
    else:
        t.require(values[0].kind == values[1].kind and values[0].is_zero == values[1].is_zero, "NaN or zero for both")


@_prop(_small_integers)
def exact_small_integers(t: DotTrial, case: DotCase) -> None:
    """A sum of small integers, which no step rounds, is exact."""
    x, y = (decoder(f) for f in t.setup.formats)
    total = decoder(t.setup.dot.c)(case.c).as_fraction()
    total += sum((x(a).as_fraction() * y(b).as_fraction() for a, b in zip(case.a, case.b, strict=True)), Fraction(0))
    if exact_code(total, t.setup.dot.out) is None:
        return
    (answer,) = t.ask(case)
    got = decoder(t.setup.dot.out)(answer.result)
    t.require(got.is_finite and got.as_fraction() == total, f"exactly {total}")


def _has_nan(setup: DotSetup) -> str:
    return "" if setup.formats[0].has_nan and setup.dot.out.has_nan else "no operand or no result can be a NaN"


@_prop(lambda s: st.tuples(_cases(s), st.integers(0, s.dot.k - 1)), _has_nan)
def nan(t: DotTrial, drawn: tuple[DotCase, int]) -> None:
    """A NaN among the operands makes the result a NaN."""
    case, at = drawn
    code = t.setup.formats[0].canonical_nan
    (answer,) = t.ask(case._replace(a=(*case.a[:at], code, *case.a[at + 1 :])))
    t.require(t.setup.dot.out.is_nan(answer.result), "a NaN")


class DotConformance(ConformanceSuite[DotSetup, DotCase, Answer]):
    """The suite of a dot product: model(self, a, b, c), a and b being lists of `k` codes and c one code, returns the
    result's code, or (code, flags).

    fmt: of both vectors, or `a=FORMAT,b=FORMAT,c=FORMAT`, scalar formats. acc: the accumulator, as for `dot`.
    """

    fmt: ClassVar[str] = ""
    acc: ClassVar[str | Accumulator | Mapping[str, Any]] = "fp32-sequential"
    out: ClassVar[str | Format] = "fp32"
    k: ClassVar[int] = 16
    compare_nan: ClassVar[Literal["exact", "quiet", "any"]] = "exact"
    flags: ClassVar[bool] = True
    properties = _prop.table
    trial = DotTrial

    def setup(self) -> DotSetup:
        self.required("fmt")
        dot = DotUnit.make(self.fmt, self.out, self.acc, self.k)
        if not (isinstance(dot.a, Format) and isinstance(dot.b, Format)):
            raise Error(f"{type(self).__name__}: fmt = {self.fmt!r}: the suite takes scalar formats, such as fp8_e4m3")
        flags = self.flags and dot.accumulator.flags
        return DotSetup(dot, ComparisonRule(dot.out, compare_nan(self.compare_nan), flags))

    def answer(self, case: DotCase) -> Answer:
        return answer_of(self.model(list(case.a), list(case.b), case.c))
