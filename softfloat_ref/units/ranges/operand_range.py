"""The documented operand range of a unit: the inputs that it is defined for, in one language for vectors, checks,
coverage and proofs. Outside of it, nothing is asked of a device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Error, Undefined, unknown
from softfloat_ref.oracle.code_sets import CodeRange, CodeSet, common, united
from softfloat_ref.units.mixed import MixedUnit
from softfloat_ref.units.ranges.binding import Places, bind
from softfloat_ref.units.ranges.grammar import Joined, Range, RangeTest, Subject, parse_range
from softfloat_ref.units.ranges.nodes import TRUTH, Among, Node, alternatives, codes_of, conjuncts, tested_alone
from softfloat_ref.units.unit import Field, Unit

_ALTERNATIVES: Final = 16  # cases that `or` tells apart, at most


class LaneSets(NamedTuple):
    """Of some inputs, by their place in a case: the codes that they may have at most; and, where a test wants some
    bits, as in integers, the codes with these bits."""

    codes: Mapping[int, CodeSet]
    stepped: Mapping[int, CodeSet]


class OperandRange:
    """The range that a text says of a unit's operands. Raises Error for a text that is none, or fits no operand.

    Operands have the names of the unit's fields. Where control fields select one of several operations, the range is
    about each one's own operands, without what is said of operands that it does not have.
    """

    def __init__(self, text: str, unit: Unit) -> None:
        self.unit = unit
        self.tree = parse_range(text)
        self.text = self.tree.text()
        self.names = tuple(dict.fromkeys(subject.name for subject in _subjects(self.tree)))
        known = {f.name: f for part in unit.parts for f in _named(unit, part)}
        for subject in _subjects(self.tree):
            if subject.name not in known:
                control = any(f.name == subject.name for f in unit.inputs)
                more = "; a control field selects an operation: make a set without it" if control else ""
                raise Error(f"{unknown('operand', subject.name, known, f' (where){more}')}")
            if (fmt := known[subject.name].fmt) is not None and fmt.explicit_bit:
                raise Error(
                    f"where: {subject.name} has the format {fmt.name}, whose codes are not in order of value; "
                    "give ranges of other operands only"
                )
        self.nodes = [self._bound(part) for part in unit.parts]
        if not any(self.nodes):
            raise Error(f"where: {self.text} is of no operand of {unit.name}")

    def _bound(self, part: Unit) -> Node | None:
        fields = _named(self.unit, part)
        tree = _reduced(self.tree, {f.name for f in fields})
        return None if tree is None else bind(tree, _places(fields))

    @cached_property
    def _of_parts(self) -> dict[Unit, Node | None]:
        return dict(zip(self.unit.parts, self.nodes, strict=True))

    def holds(self, inputs: Sequence[int]) -> bool:
        """Whether a case is within the range; one of no operation is not."""
        node = self.nodes[0]
        if len(self.nodes) > 1:
            try:
                part, inputs = self.unit.selected(inputs)
            except Undefined:
                return False
            node = self._of_parts[part]
        return node is None or node.holds(inputs, TRUTH)

    def of_part(self, part: Unit) -> str:
        """What the range says of the operands of a part, with the names of its own fields; '' for nothing."""
        fields = _named(self.unit, part)
        tree = _reduced(self.tree, {f.name for f in fields})
        own = dict(zip((f.name for f in fields), (f.name for f in part.inputs), strict=True))
        return "" if tree is None else tree.text(own.__getitem__)

    @cached_property
    def lanes(self) -> Mapping[int, CodeSet]:
        """The codes that inputs may have at most, by their place in a case, from the tests that all must hold. Of a
        unit without control fields."""
        return self._lane_sets(self._conjuncts).codes

    @cached_property
    def alternatives(self) -> list[LaneSets]:
        """The same for each of the cases that `or` tells apart, unless these are many; without those that are empty."""
        node = self.nodes[0]
        ways = [] if node is None or len(self.nodes) > 1 else alternatives(node, _ALTERNATIVES)
        sets = map(self._lane_sets, ways or [self._conjuncts])
        return [x for x in sets if all(x.codes.values())]

    @cached_property
    def by_lanes(self) -> bool:
        """Whether `lanes` is all that the range says."""
        return all(tested_alone(node) and codes_of(node, 1) is not None for node in self._conjuncts)

    @property
    def _conjuncts(self) -> list[Node]:
        node = self.nodes[0]
        return [] if node is None or len(self.nodes) > 1 else conjuncts(node)

    def _lane_sets(self, nodes: Sequence[Node]) -> LaneSets:
        allowed, stepped = dict[int, CodeSet](), dict[int, CodeSet]()
        widths = [f.width for f in self.unit.inputs for _ in range(f.lanes)]
        for node in nodes:
            for i in tested_alone(node):
                codes = codes_of(node, widths[i])
                if codes is None and isinstance(node, Among):
                    stepped[i] = node.codes
                    codes = united(CodeRange(r.low, r.high) for r in node.codes)
                if codes is not None:
                    allowed[i] = common(allowed.get(i, (CodeRange(0, (1 << widths[i]) - 1),)), codes)
        return LaneSets(allowed, stepped)


@lru_cache(maxsize=64)
def operand_range(text: str, unit: Unit) -> OperandRange | None:
    """The range that a text says of a unit's operands; None for ''. Raises Error."""
    return OperandRange(text, unit) if text.strip() else None


def _named(unit: Unit, part: Unit) -> list[Field]:
    """The operands and random words of a part, with the names that the unit's fields have."""
    names = [f.name for f in part.inputs]
    if isinstance(unit, MixedUnit):
        names = [*unit.place(part), *names[len(part.inputs) - (part.random_field is not None) :]]  # type: ignore[arg-type]
    fields = zip(names, part.inputs, strict=True)
    return [Field(name, f.role, f.width, f.lanes, f.fmt) for name, f in fields if f.role != "control"]


def _places(fields: Sequence[Field]) -> Places:
    """Fields by name, with the place of the first code."""
    table, at = {}, 0
    for f in fields:
        table[f.name] = (f, at)
        at += f.lanes
    return table


def _subjects(tree: Range) -> Iterator[Subject]:
    if isinstance(tree, Joined):
        for part in tree.parts:
            yield from _subjects(part)
        return
    yield tree.subject
    if isinstance(tree.right, Subject):
        yield tree.right


def _reduced(tree: Range, names: set[str]) -> Range | None:
    """A range without tests of other operands; None if nothing remains."""
    if isinstance(tree, RangeTest):
        return tree if all(s.name in names for s in _subjects(tree)) else None
    parts = tuple(p for p in (_reduced(part, names) for part in tree.parts) if p is not None)
    if not parts:
        return None
    return parts[0] if len(parts) == 1 and tree.how != "not" else Joined(tree.how, parts)
