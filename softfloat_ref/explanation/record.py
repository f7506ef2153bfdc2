"""A case of any unit made of steps: its inputs, what each step gave, its outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from softfloat_ref.explanation.scalar import Rows, describe, flag_text, value_text
from softfloat_ref.explanation.steps import SHOWN_LANES, field_lines, labelled, steps
from softfloat_ref.oracle.rounding_steps import answer, read, rounded
from softfloat_ref.oracle.steps import STEPS, Path, Recorded, recording
from softfloat_ref.units import SteppedUnit

MORE_BITS: Final = 48  # of numbers without a finite form, to be shown
_UNSHOWN: Final = frozenset(
    {read, answer, *STEPS[rounded].inside}
)  # shown as fields, or by the rounding that they make


def _rounded(x: Recorded) -> str:
    code, flags = x.value
    return ", ".join(filter(None, (describe(code, x.args[2].fmt), flag_text(flags) if flags else "")))


# How the values of steps are shown, by the kinds of these; those of other kinds are not.
_TEXTS: Final[dict[str, Callable[[Recorded], str]]] = {
    "value": lambda x: "none" if x.value is None else value_text(x.value),
    "value and flags": lambda x: value_text(x.value[0]),
    "term": lambda x: value_text(x.value.value),
    "scale": lambda x: value_text(x.value.value),
    "division": lambda x: value_text(x.value.divisor),
    "factor": lambda x: value_text(x.value.value),
    "decision": lambda x: "yes" if x.value else "no",
    "scale code": lambda x: "none" if x.value is None else f"{x.value:x}",
    "integer": lambda x: str(x.value),
}


def _text(x: Recorded) -> str:
    """A step's value; '' if it is not shown."""
    if x.function is rounded:
        return _rounded(x)
    text = _TEXTS.get(STEPS[x.function].kind)
    return "" if text is None or x.function in _UNSHOWN else text(x)


@steps.register
def recorded(unit: SteppedUnit, inputs: Sequence[int]) -> Rows:
    """Labelled lines: the fields, and the record between them. Raises Undefined if no result is defined."""
    run = recording()
    outputs = unit.answered(run, inputs, MORE_BITS)
    return [
        *labelled(field_lines(unit.inputs, inputs)),
        *_rows(run.record),
        *labelled(field_lines(unit.outputs, outputs)),
    ]


def _rows(record: Sequence[Recorded]) -> Iterator[tuple[str, str]]:
    """A row for each step; of lanes, a row for each of the first ones, with their steps."""
    lanes: dict[Path, list[str]] = {}
    for x in record:
        text = _text(x)
        if not text or "round" in x.path:
            continue
        if any(isinstance(part, int) for part in x.path):
            lanes.setdefault(x.path, []).append(f"{x.name} {text}")
            continue
        yield from _of_lanes(lanes)
        lanes = {}
        yield f"{x.path[0]} {x.name}" if x.path and x.function is rounded else x.name, text
    yield from _of_lanes(lanes)


def _of_lanes(lanes: dict[Path, list[Any]]) -> Iterator[tuple[str, str]]:
    for path, texts in list(lanes.items())[:SHOWN_LANES]:
        yield " ".join(map(str, path)), "; ".join(texts)
    if len(lanes) > SHOWN_LANES:
        yield "more", f"{len(lanes) - SHOWN_LANES} lanes"
