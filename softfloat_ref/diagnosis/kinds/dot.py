"""Dot and matrix products: accumulators, named or with one change of the tree or of a field; and their defects."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.answer_defects import constant_results
from softfloat_ref.diagnosis.conditions import Feature, of_code
from softfloat_ref.diagnosis.defects import Faulty
from softfloat_ref.diagnosis.dot_defects import dot_defects, dot_suggested_by, product_defects
from softfloat_ref.diagnosis.exchanged_formats import exchanged_formats
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis, Inputs, Model, Output, wrong_codes
from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, register
from softfloat_ref.diagnosis.lane_defects import lanes_suggested_by
from softfloat_ref.diagnosis.results_apart import DotProducts
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.oracle.accumulate import ACCUMULATORS, Accumulator
from softfloat_ref.oracle.accumulate.dots import accumulate, products
from softfloat_ref.oracle.accumulate.evaluate import TreeEvaluator, TreeRounding
from softfloat_ref.oracle.accumulate.terms import Term
from softfloat_ref.oracle.accumulate.trees import Node, Round, To, walk
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.units import DotUnit, MatmulUnit

_MOST_QUESTIONS: Final = 2048  # number of questions whose products are cached
_MOST_STEPS: Final = 8192  # number of cached steps of an accumulator
Memo = dict[tuple[Term, ...], tuple[list[Term], int, int]]
Products = dict[tuple[Any, ...], list[Term]]
_ROUNDINGS: Final = ("rne", "rz", "rna", "rto", "rup", "rd")
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "nan": ("canonical", "ones", "negative", "propagate", "propagate,negative,fma-quiet", "propagate-signaling"),
    "overflow": ("ieee", "inf"),
    "zero": ("ieee", "positive"),
    "flush_inputs": ("off", "on", "positive"),
    "flush_outputs": ("off", "after", "before"),
    "c": ("result", "own"),
}
_STEPS: Final = (1, 2, 4, 8, 16, 32, 64, "all")
_ROUND: Final = re.compile(r"(-> |\|)(\w+):(\w+)")
_BITS: Final = re.compile(r"F=(\d+), (rz|rd)")
_PRODUCT: Final = re.compile(r"\bp(?:\[[^\]]*\])? -> (\w+):(\w+)")
_OVERFLOWING: Final = frozenset({"rne", "rna"})  # these overflow to Inf under every rule of the accumulator
_FLOOR: Final = re.compile(r", floor=[\w:|.-]+")


@dataclass(frozen=True)
class AccumulatorSpace(Space[Accumulator]):
    """The accumulators of a dot product."""

    kind: ClassVar[str] = "accumulator"
    labels: dict[Accumulator, str] = field(default_factory=dict, compare=False, repr=False)
    products: Products = field(default_factory=dict, compare=False, repr=False)

    def named(self) -> Iterator[Accumulator]:
        yield from ACCUMULATORS.values()

    def changes(self, point: Accumulator) -> Iterator[Accumulator]:
        for label, fields in _changes(point):
            try:
                accumulator = point.replace(**fields)
            except Error:
                continue
            if accumulator != point:
                self.labels.setdefault(accumulator, f"{self.text(point)}, {label}")
                yield accumulator

    def text(self, point: Accumulator) -> str:
        named = ACCUMULATORS.get(point.name) == point
        if named or point == self.base:
            return f"accumulator {point.name}"
        return self.labels.get(point, f"accumulator {point.tree}")

    def model_of(self, unit: DotUnit) -> Model:
        return dot_model(unit, self.products)

    def key(self, point: Accumulator) -> Hashable:
        """Its fields except the names, with the step as it follows from the formats and the length."""
        try:
            unit: DotUnit = self.unit_of(point)
        except Error:
            return point
        s = unit.setting
        step = min(point.step_for(s.formats, s.result, s.block, unit.k), unit.k)
        own = point.c if s.c != s.result else ""
        modes = {x.choice(s.result.name).rounding for x in walk(point.root) if isinstance(x, Round)}
        overflow = "" if modes <= _OVERFLOWING else point.overflow
        rest = (point.nan, overflow, point.zero, point.flush_inputs, point.flush_outputs, point.flags)
        more = (point.product_limit, point.product_exponent, s.result.name)
        return self._tree(point, s.result.name), step, own, rest, more

    def _tree(self, point: Accumulator, result: str) -> str:
        """The tree's text for this running result, without the rounding modes of exact products."""
        tree = _of_format(point, result)
        for match in reversed(list(_PRODUCT.finditer(tree))):
            if self._holds_products(get_format(match[1])):
                tree = f"{tree[: match.start(2)]}any{tree[match.end(2) :]}"
        return tree

    def _holds_products(self, fmt: Format) -> bool:
        """Whether the format represents every product of two finite operands."""
        a, b = self.unit.a, self.unit.b
        if not (isinstance(a, Format) and isinstance(b, Format)):
            return False
        lowest = a.emin - a.mantissa_bits + b.emin - b.mantissa_bits
        inside = fmt.emin - fmt.mantissa_bits <= lowest and a.emax + b.emax + 1 <= fmt.emax
        return inside and a.precision + b.precision <= fmt.precision

    def description(self, point: Accumulator) -> str:
        return f"accumulates like {self.text(point)}"

    def size(self, point: Accumulator) -> int:
        return 2 * self.text(point).count(", ") + 2 * int(point != self.base)

    def suggested_of(self, unit: DotUnit, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        wrong = wrong_codes(unit, cases)
        yield from dot_suggested_by(unit, wrong)
        if not unit.steps:
            yield from constant_results(unit, wrong)

    def defects_of(self, unit: DotUnit) -> Iterator[Hypothesis]:
        yield from exchanged_formats(unit)
        yield from dot_defects(unit, self.model_of)


@dataclass(frozen=True)
class MatmulSpace(Space[Accumulator]):
    """The accumulators of a matrix product: those of its dot products."""

    kind: ClassVar[str] = "accumulator"

    @cached_property
    def dots(self) -> AccumulatorSpace:
        """The space of its dot products."""
        return AccumulatorSpace(self.unit.dot, self.source)

    @property
    def base(self) -> Accumulator:
        return self.unit.dot.accumulator  # type: ignore[no-any-return]

    def named(self) -> Iterator[Accumulator]:
        return self.dots.named()

    def changes(self, point: Accumulator) -> Iterator[Accumulator]:
        return self.dots.changes(point)

    def text(self, point: Accumulator) -> str:
        return self.dots.text(point)

    def key(self, point: Accumulator) -> Hashable:
        return self.dots.key(point)

    def description(self, point: Accumulator) -> str:
        return self.dots.description(point)

    def size(self, point: Accumulator) -> int:
        return self.dots.size(point)

    def unit_of(self, point: Accumulator) -> MatmulUnit:
        return replace(self.unit, dot=self.dots.unit_of(point))  # type: ignore[no-any-return]

    def model_of(self, unit: MatmulUnit) -> Model:
        return Faulty(unit)

    def defects_of(self, unit: MatmulUnit) -> Iterator[Hypothesis]:
        yield from exchanged_formats(unit)
        yield from _of_each(unit, product_defects(unit.dot, flags=False))

    def suggested_of(self, unit: MatmulUnit, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        yield from _of_each(unit, dot_suggested_by(unit.dot, wrong_codes(unit, cases), flags=False))
        yield from lanes_suggested_by(unit, cases)


def _of_each(unit: MatmulUnit, defects: Iterable[Hypothesis]) -> Iterator[Hypothesis]:
    """Defects of a dot product, as those of each in a matrix product."""
    return (h._replace(model=replace(h.model, unit=unit)) for h in defects if isinstance(h.model, Faulty))


@register(DotUnit)
class DiagnosedDot(DiagnosedKind):
    """A dot product."""

    tried: ClassVar[str] = "policy, profile, accumulator or listed defect"
    choices: ClassVar[type[Space[Any]]] = AccumulatorSpace
    unit: DotUnit

    def features(self) -> Iterator[Feature]:
        yield from of_code(self.unit.out, "the result", lambda i, e: e[0])
        yield from of_code(self.unit.c, "c", lambda i, e: i[-1])

    @property
    def title(self) -> str:
        unit = self.unit
        return f"dot of {unit.k} {'_'.join(dict.fromkeys((unit.a.name, unit.b.name)))} to {unit.out.name}"


@register(MatmulUnit)
class DiagnosedMatmul(DiagnosedKind):
    """A matrix product."""

    tried: ClassVar[str] = "accumulator or listed defect"
    choices: ClassVar[type[Space[Any]]] = MatmulSpace
    unit: MatmulUnit

    def apart(self) -> DotProducts:
        return DotProducts(self.unit, AccumulatorSpace(self.unit.dot))


# -- the answers of many accumulators --------------------------------------------------------------------------------


@dataclass
class RememberedTree(TreeEvaluator):
    """A tree that looks up its terms in a cache. memo: for the terms of a step, the tree's result, code and flags."""

    memo: Memo = field(default_factory=dict)

    def terms(self, node: Node) -> list[Term]:
        if node is not self.accumulator.root:
            return super().terms(node)
        key = (*self.products, self.running)
        entry = self.memo.get(key)
        if entry is None:
            before, self.flags = self.flags, 0
            entry = super().terms(node), self.code, self.flags
            self.flags = before
            if len(self.memo) >= _MOST_STEPS:
                self.memo.clear()
            self.memo[key] = entry
        result, self.code, flags = entry
        self.flags |= flags
        return result


def dot_model(unit: DotUnit, known: Products) -> Model:
    """The dot product as a model. known: cached products of questions, shared by accumulators that multiply alike."""
    setting, accumulator = unit.setting, unit.accumulator
    alike = accumulator.flush_inputs, accumulator.product_limit, accumulator.product_exponent
    memo: Memo = {}
    roundings: dict[To, TreeRounding] = {}
    make = partial(RememberedTree, memo=memo, roundings=roundings)

    def model(inputs: Inputs) -> Output | None:
        codes = tuple(inputs)
        key = (codes, *alike)
        terms = known.get(key)
        if terms is None:
            if len(known) >= _MOST_QUESTIONS:
                known.clear()
            a, b, _ = unit.sides(codes)
            terms = known[key] = [x._replace(label="") for x in products(setting, a, b)]
        return accumulate(setting, terms, codes[-1], make=make)

    return model


# -- changes of a tree -----------------------------------------------------------------------------------------------


def _of_format(point: Accumulator, result: str) -> str:
    """The tree's text with only the choices for this format of the running result."""
    alone = re.sub(rf"-> (?:[\w:]+\|)*({result}:[\w:]+)(?:\|[\w:]+)*", r"-> \1", point.tree)
    return re.sub(rf"floor=(?:[\w:.-]+\|)*{result}:(-?\d+)(?:\|[\w:.-]+)*", r"floor=\1", alone).replace(
        "-> out:", f"-> {result}:"
    )


def _changes(point: Accumulator) -> Iterator[tuple[str, dict[str, object]]]:
    """Each single change: its description, and the fields."""
    for name, choices in _CHOICES.items():
        for choice in choices:
            if choice != getattr(point, name):
                yield f"{name} = {choice}", {name: choice}
    yield f"flags = {'off' if point.flags else 'on'}", {"flags": not point.flags}
    if point.step != "":
        for step in _STEPS:
            yield f"step = {step}", {"step": step, "steps": ""}
    yield from _tree_changes(point.tree)


def _tree_changes(tree: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Each single change in a tree."""
    rounds = list(_ROUND.finditer(tree))
    for i, match in enumerate(rounds):
        for mode in _ROUNDINGS:
            if mode != match[3]:
                changed = tree[: match.start(3)] + mode + tree[match.end(3) :]
                which = "the result" if i == len(rounds) - 1 else f"rounding {i + 1}"
                yield f"{which} by {mode}", {"tree": changed}
    for match in _BITS.finditer(tree):
        for bits in range(max(int(match[1]) - 3, 0), int(match[1]) + 4):
            if bits != int(match[1]):
                yield f"F = {bits}", {"tree": f"{tree[: match.start(1)]}{bits}{tree[match.end(1) :]}"}
        other = "rd" if match[2] == "rz" else "rz"
        yield f"alignment by {other}", {"tree": tree[: match.start(2)] + other + tree[match.end(2) :]}
    end = tree.rfind(")")
    if "F=" not in tree[tree.rfind("c") : end] and tree.startswith("fuse("):
        for bits in range(21, 30):
            yield f"the last fuse with F = {bits}", {"tree": f"{tree[:end]}, F={bits}, rz{tree[end:]}"}
    for match in _FLOOR.finditer(tree):
        yield "no floor", {"tree": tree[: match.start()] + tree[match.end() :]}
        yield "floor always", {"tree": f"{tree[: match.end()]}, floor_when=always{tree[match.end() :]}"}
