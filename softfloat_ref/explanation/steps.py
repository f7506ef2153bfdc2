"""A case of any unit: its fields, its steps, and the changes that give a device's answer; modules of kinds register
better ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch
from typing import Final

from softfloat_ref.explanation.scalar import Rows, describe, flag_text, value_text
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import Format
from softfloat_ref.units import Field, Unit

SHOWN_LANES: Final = 8


@singledispatch
def steps(unit: Unit, inputs: Sequence[int]) -> Rows:
    """Labelled lines from the inputs to the outputs. Raises Undefined if no result is defined."""
    return labelled_rows([*field_lines(unit.inputs, inputs), *field_lines(unit.outputs, unit.answer(inputs))])


def labelled_rows(lines: Iterable[str]) -> Rows:
    """Lines as rows: their first words are the labels."""
    return [(label, text.strip()) for label, _, text in (line.strip().partition(" ") for line in lines)]


@singledispatch
def alternatives(unit: Unit, inputs: Sequence[int], got: Sequence[int]) -> list[dict[str, str]]:
    """The changes of the unit that give an answer; an empty change if the unit itself gives it."""
    return [{}] if tuple(unit.answer(inputs)) == tuple(got) else []


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
    value = value_text(decoder(fmt)(code)) if not code >> fmt.width else f"does not fit {fmt.width} bits"
    return f"{fmt.hex(code)} = {value}"


def code_text(code: int, field: Field) -> str:
    """A code of a field with its value; for a control field, its meaning; for flags, their names."""
    shown = f"{code:0{field.digits}x}"
    if field.codes:
        return f"{shown} = {field.codes[code]}" if code < len(field.codes) else shown
    if field.role == "flags":
        return flag_text(code)
    return shown if field.fmt is None else describe(code, field.fmt)
