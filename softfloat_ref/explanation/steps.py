"""A case of any unit: its fields, its steps, and the changes that give a device's answer; modules of kinds register
better ones. Of a unit made of steps: what each step gave."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import singledispatch
from typing import Any, Final, TypeVar

from softfloat_ref.explanation.scalar import Rows, code_value, describe, flag_text, value_text
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.rounding_steps import answer, read, rounded
from softfloat_ref.oracle.steps import STEPS, Path, Recorded, recording
from softfloat_ref.units import Field, SteppedUnit, Unit

Change = dict[str, str]  # the choices of a unit that are others
U = TypeVar("U", bound=Unit)
SHOWN_LANES: Final = 8
MORE_BITS: Final = 48  # of numbers without a finite form, to be shown


@singledispatch
def steps(unit: Unit, inputs: Sequence[int]) -> Rows:
    """Labelled lines from the inputs to the outputs. Raises Undefined if no result is defined."""
    return labelled_rows([*field_lines(unit.inputs, inputs), *field_lines(unit.outputs, unit.answer(inputs))])


def labelled_rows(lines: Iterable[str]) -> Rows:
    """Lines as rows: their first words are the labels."""
    return [(label, text.strip()) for label, _, text in (line.strip().partition(" ") for line in lines)]


@singledispatch
def alternatives(unit: Unit, inputs: Sequence[int], got: Sequence[int]) -> list[Change]:
    """The changes of the unit that give an answer; an empty change if the unit itself gives it."""
    return [{}] if tuple(unit.answer(inputs)) == tuple(got) else []


def matching_changes(
    unit: U,
    inputs: Sequence[int],
    got: Sequence[int],
    single: Sequence[Change],
    exclusive: Callable[[Change, Change], bool],
    gives: Callable[[U, Change, Sequence[int], Sequence[int]], bool],
) -> list[Change]:
    """No change, if the unit gives the answer; else the single changes that do; without any, pairs of these. exclusive:
    of two changes, whether they make no pair; gives: whether the changed unit gives an answer."""
    if tuple(unit.answer(inputs)) == tuple(got):
        return [{}]
    pairs = (a | b for a, b in itertools.combinations(single, 2) if not exclusive(a, b))
    levels = ([c for c in level if gives(unit, c, inputs, got)] for level in (single, pairs))
    return next(filter(None, levels), [])


def has_alternatives(unit: Unit) -> bool:
    """Whether changes of this kind of unit are tried."""
    return alternatives.dispatch(type(unit)) is not alternatives.dispatch(object)


def field_lines(fields: Sequence[Field], codes: Sequence[int]) -> Iterator[str]:
    """One line per field; for a field with many lanes, the first few nonzero ones."""
    start = 0
    for f in fields:
        own = codes[start : start + f.lanes]
        start += f.lanes
        if f.lanes == 1:
            yield f"  {f.name:8} {code_text(own[0], f)}"
            continue
        shown = [(i, x) for i, x in enumerate(own) if x]
        for i, x in shown[:SHOWN_LANES]:
            yield f"  {f'{f.name}[{i}]':8} {code_text(x, f)}"
        if not shown:
            yield f"  {f.name:8} zeros"
        if len(shown) > SHOWN_LANES:
            yield f"  {'':8} and {len(shown) - SHOWN_LANES} more that are not zero"


def number_text(code: int, fmt: Format | None) -> str:
    """A code with its value."""
    if fmt is None:
        return f"{code:x}"
    value = code_value(code, fmt) if not code >> fmt.width else f"does not fit {fmt.width} bits"
    return f"{fmt.hex(code)} = {value}"


def code_text(code: int, field: Field) -> str:
    """A code of a field with its value; for a control field, its meaning; for flags, their names."""
    shown = f"{code:0{field.digits}x}"
    if field.codes:
        return f"{shown} = {field.codes[code]}" if code < len(field.codes) else shown
    if field.role == "flags":
        return flag_text(code)
    return shown if field.fmt is None else describe(code, field.fmt)


# -- units made of steps -----------------------------------------------------------------------------------------------

# Shown as fields, or by the rounding that they make.
_HIDDEN_STEPS: Final = frozenset({read, answer, *STEPS[rounded].inside})


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
    return "" if text is None or x.function in _HIDDEN_STEPS else text(x)


@steps.register
def recorded_rows(unit: SteppedUnit, inputs: Sequence[int]) -> Rows:
    """Labelled lines: the fields, and the record between them. Raises Undefined if no result is defined."""
    run = recording()
    outputs = unit.answered(run, inputs, MORE_BITS)
    return [
        *labelled_rows(field_lines(unit.inputs, inputs)),
        *_rows(run.record),
        *labelled_rows(field_lines(unit.outputs, outputs)),
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
