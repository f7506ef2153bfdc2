"""Faults of some lanes of a result only: of subnormal elements of a block, of those in a binade, of some lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from softfloat_ref.diagnosis.conditions import CaseCondition, Feature, between, binade, common, conditions, of_code
from softfloat_ref.diagnosis.defects import Faulty
from softfloat_ref.diagnosis.findings import WHERE
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Comparator, Hypothesis, Inputs, Model, Output
from softfloat_ref.diagnosis.lane_defects import lane_places
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.rounding_steps import Destination, rounded
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import Unit

_PROBES: Final = 16  # mismatches whose wrong lanes a hypothesis must explain
_EVIDENCE: Final = 8  # mismatches that a hypothesis with a condition must explain
_MOST: Final = 8  # hypotheses that are restricted
_SEEN: Final = 20  # mismatches, and as many other cases, in whose lanes conditions are looked for
_BEST: Final = 4  # restricted hypotheses


class Lanes(NamedTuple):
    """The lanes of a unit's result: where they begin in an answer, how many they are, and their format."""

    first: int
    number: int
    fmt: Format

    @staticmethod
    def of(unit: Unit) -> Lanes | None:
        """None for a unit without lanes of numbers."""
        first, count = lane_places(unit)
        fmt = unit.result_formats[first] if count > 1 else None
        return None if fmt is None else Lanes(first, count, fmt)

    def cases(self, c: AnsweredCase, output: Output) -> Iterator[AnsweredCase]:
        """The lanes of a case in which an output is not the expected one, where the device's is one of them, as cases.

        Their inputs are the lane's number and the smaller magnitude of the two codes.
        """
        for k in range(self.number):
            expected, other = c.expected[self.first + k], output[self.first + k]
            if expected != other:
                lower = min(expected, other, key=lambda x: x & self.fmt.magnitude_mask)
                got = c.got[self.first + k]
                if got in (expected, other):
                    yield AnsweredCase((k, lower), (expected,), (got,))

    def features(self) -> Iterator[Feature]:
        """What such cases may have in common."""
        fmt, noun = self.fmt, "the element"
        if fmt.has_normals and not fmt.is_integer and fmt.min_normal_code > 1:
            yield Feature(
                lambda i, _: i[1] & fmt.magnitude_mask < fmt.min_normal_code or None,
                lambda _: f"{noun} is below the smallest normal number",
            )
        yield from of_code(fmt, noun, lambda _, e: e[0])
        if not fmt.is_integer:
            decode = decoder(fmt)
            yield Feature(
                lambda i, _: binade(decode(i[1])), lambda v: between(f"{noun} before rounding", *v), ordered=True
            )
        yield Feature(lambda i, _: i[0], lambda v: _lanes_text(*v), ordered=True)


def _lanes_text(low: int, high: int) -> str:
    return f"the lane is {low}" if low == high else f"the lane is {low} to {high}"


def restricted_to_lanes(
    hypotheses: Iterable[Hypothesis],
    lanes: Lanes,
    right: Model,
    cases: Sequence[AnsweredCase],
    comparator: Comparator,
) -> list[Hypothesis]:
    """Hypotheses that explain nearly every wrong lane, restricted to lanes that these are and other ones are not.

    cases: mismatches first. right: the model of the other lanes.
    """
    wrong = [c for c in cases if not c.agrees]
    some_cases = [*wrong[:_SEEN], *[c for c in cases if c.agrees][:_SEEN]]
    some = (h for h in hypotheses if h.also is None and _may_be(h, lanes, wrong[:_PROBES], comparator))
    restricted: dict[str, tuple[int, int, Hypothesis]] = {}
    for h in islice(some, _MOST):
        seen = [x for c in some_cases for x in lanes.cases(c, _compared(h, c, comparator))]
        known = conditions(lanes.features(), seen)
        narrow = common(seen, known)
        broken = [x for x in seen if x.agrees]
        for n, x in enumerate([*known, *([narrow.condition] if narrow else [])] if broken else []):
            held = sum(x.holds(y.inputs, y.expected) for y in broken)
            only = _only_in(h, x, lanes, right)
            restricted.setdefault(only.name, (held + len(broken) - len(seen), n, only))
    return [h for *_, h in sorted(restricted.values(), key=lambda t: t[:2])[:_BEST]]


def _compared(h: Hypothesis, c: AnsweredCase, comparator: Comparator) -> Output:
    """What a hypothesis gives for a case; the expected answer if it gives none."""
    output = h.model(c.inputs)
    return c.expected if output is None else comparator(output)


def _may_be(h: Hypothesis, lanes: Lanes, wrong: Sequence[AnsweredCase], comparator: Comparator) -> bool:
    """Whether a hypothesis gives the device's code in every wrong lane of some mismatches."""
    at = slice(lanes.first, lanes.first + lanes.number)
    for c in wrong:
        places = zip(c.expected[at], c.got[at], _compared(h, c, comparator)[at], strict=True)
        if any(x != y != z for x, y, z in places):
            return False
    return bool(wrong)


def _only_in(h: Hypothesis, x: CaseCondition, lanes: Lanes, right: Model) -> Hypothesis:
    """A hypothesis in lanes that fulfil a condition."""

    def holds(lane: int, expected: int, other: int) -> bool:
        lower = min(expected, other, key=lambda code: code & lanes.fmt.magnitude_mask)
        return x.holds((lane, lower), (expected,))

    def restricted(inputs: Inputs) -> Output | None:
        expected, other = right(inputs), h.model(inputs)
        if expected is None or other is None:
            return expected
        codes = list(expected)
        for k in range(lanes.first, lanes.first + lanes.number):
            if codes[k] != other[k] and holds(k - lanes.first, codes[k], other[k]):
                codes[k] = other[k]
        return tuple(codes)

    model: Model = restricted
    if isinstance(h.model, Faulty) and h.model.unit.has_flags and all(c.step is rounded for c in h.model.changes):
        model = Faulty(h.model.unit, tuple(_change_where(holds, c) for c in h.model.changes))
    where = f"where {x.text}"
    name, text = f"{h.name}{WHERE}{x.text}", f"{h.description}, but only {where}"
    return Hypothesis(name, text, model, size=h.size + 2, evidence=_EVIDENCE)


def _change_where(holds: Callable[[int, int, int], bool], c: Change) -> Change:
    """A change of the rounding where a lane, the right code and the wrong one fulfil a condition."""

    def chosen(here: Traced, right: Function, x: Value, r: int, to: Destination) -> tuple[int, int]:
        good, wrong = right(x, r, to), c.wrong(here, right, x, r, to)
        lane = next((part for part in here.path if isinstance(part, int)), 0)
        return wrong if holds(lane, good[0], wrong[0]) else good  # type: ignore[no-any-return]

    return c._replace(wrong=chosen, placed=True)
