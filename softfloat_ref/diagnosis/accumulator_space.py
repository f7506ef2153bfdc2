"""Accumulators as a space: the named ones, and those with one change of the tree or of a field."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.defects import Faulty
from softfloat_ref.diagnosis.dot_defects import dot_defects, dot_suggested_by, product_defects
from softfloat_ref.diagnosis.hypotheses import Case, Hypothesis, Model
from softfloat_ref.diagnosis.remembered import Products, dot_model
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.oracle.accumulate import ACCUMULATORS, Accumulator
from softfloat_ref.oracle.accumulate.trees import Round, walk
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.units import DotUnit, MatmulUnit

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
_BEYOND: Final = frozenset({"rne", "rna"})  # these overflow to Inf under every rule of the accumulator
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
                found = point.replace(**fields)
            except Error:
                continue
            if found != point:
                self.labels.setdefault(found, f"{self.text(point)}, {label}")
                yield found

    def text(self, point: Accumulator) -> str:
        named = ACCUMULATORS.get(point.name) == point
        if named or point == self.base:
            return f"accumulator {point.name}"
        return self.labels.get(point, f"accumulator {point.tree}")

    def model_of(self, made: DotUnit) -> Model:
        return dot_model(made, self.products)

    def key(self, point: Accumulator) -> Hashable:
        """Its fields except the names, with the step as it follows from the formats and the length."""
        try:
            made: DotUnit = self.made(point)
        except Error:
            return point
        s = made.setting
        step = min(point.step_for(s.formats, s.result, s.block, made.k), made.k)
        own = point.c if s.c != s.result else ""
        modes = {x.choice(s.result.name).rounding for x in walk(point.root) if isinstance(x, Round)}
        overflow = "" if modes <= _BEYOND else point.overflow
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

    def says(self, point: Accumulator) -> str:
        return f"accumulates like {self.text(point)}"

    def size(self, point: Accumulator) -> int:
        return 2 * self.text(point).count(", ") + 2 * int(point != self.base)

    def suggested(self, point: Accumulator, cases: Sequence[Case]) -> Iterator[Hypothesis]:
        return dot_suggested_by(self.made(point), cases)

    def defects_of(self, made: DotUnit) -> Iterator[Hypothesis]:
        return dot_defects(made, self.products)


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

    def says(self, point: Accumulator) -> str:
        return self.dots.says(point)

    def size(self, point: Accumulator) -> int:
        return self.dots.size(point)

    def made(self, point: Accumulator) -> MatmulUnit:
        return replace(self.unit, dot=self.dots.made(point))  # type: ignore[no-any-return]

    def model_of(self, made: MatmulUnit) -> Model:
        return Faulty(made)

    def defects_of(self, made: MatmulUnit) -> Iterator[Hypothesis]:
        for h in product_defects(made.dot):
            if isinstance(h.model, Faulty):
                yield h._replace(model=replace(h.model, unit=made))


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
