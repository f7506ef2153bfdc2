"""SystemVerilog covergroups of the models that can be sampled from a case's fields, with the ids of their bins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from softfloat_ref.coverage.classes import class_of, coarse, members
from softfloat_ref.coverage.engine.framework import Bin, Cell, Coverage
from softfloat_ref.coverage.operation.encodings import ExplicitSetting
from softfloat_ref.coverage.operation.operands import patterns
from softfloat_ref.oracle.formats import Format
from softfloat_ref.units.unit import LETTERS

_MOST_OPERANDS: Final = 3  # operands whose classes model B1 crosses
_PLACE_MODELS: Final = {"B3": "kept bits of the result", "B29": "integral part"}


@dataclass(frozen=True)
class Package:
    """A package's text, the models it has covergroups of, and how many of their bins."""

    text: str
    models: tuple[str, ...]
    bins: int


def package(coverage: Coverage, name: str) -> Package:
    """The package `<name>_coverage` of an operation's coverage."""
    for fmt in coverage.where.stored_formats if isinstance(coverage.where, ExplicitSetting) else ():
        fmt.needs_hidden("covergroups")
    bins, formats = coverage.bins(), coverage.where.formats
    groups: dict[str, list[str]] = {}
    if 1 <= len(formats) <= _MOST_OPERANDS:
        groups["B1"] = _classes(formats, bins["B1"])
    if "B9" in bins:
        groups["B9"] = _patterns(formats, coverage.cells("B9"))
    groups |= {model: _last_place(model, coverage.cells(model)) for model in _PLACE_MODELS if model in bins}
    head = [
        "// SPDX-License-Identifier: 0BSD",
        f"// Covergroups of the coverage models of {name}; each bin is followed by its id.",
        f"package {identifier(name)}_coverage;",
    ]
    body = [f"  {line}" for lines in groups.values() for line in lines]
    text = "\n".join([*head, *body, "endpackage", ""])
    return Package(text, tuple(groups), sum(len(bins[model]) for model in groups))


def identifier(name: str) -> str:
    """An id as a SystemVerilog identifier: + and - become p and m, other special characters _."""
    return re.sub(r"[^A-Za-z0-9]", "_", name.replace("+", "p").replace("-", "m"))


def _group(model: str, arguments: Sequence[str], body: Sequence[str]) -> list[str]:
    lines = [f"covergroup {model.lower()} with function sample({', '.join(arguments)});", "  option.per_instance = 1;"]
    return [*lines, *(f"  {line}" for line in body), "endgroup"]


# -- B1 ----------------------------------------------------------------------------------------------------------------


def class_ranges(fmt: Format, coarsely: bool) -> dict[str, list[tuple[int, int]]]:
    """The codes of each class, as ranges."""
    classes: dict[str, list[tuple[int, int]]] = {name: [] for name in members(fmt, coarsely)}
    starts = _starts(fmt)
    for start, after in zip(starts, [*starts[1:], 1 << fmt.width], strict=True):
        name = class_of(fmt, start)
        ranges = classes[coarse(name) if coarsely else name]
        if ranges and ranges[-1][1] == start - 1:
            ranges[-1] = (ranges[-1][0], after - 1)
        else:
            ranges.append((start, after - 1))
    return classes


def _starts(fmt: Format) -> list[int]:
    """Codes at which the class may change."""
    one = next((code for name, codes in members(fmt).items() if name == "pos.one" for code in codes), 0)
    places = {0, fmt.min_code, one, fmt.max_code, fmt.max_negative_code, fmt.canonical_nan & fmt.magnitude_mask}
    if not fmt.twos_complement:
        places |= {fmt.min_normal_code, fmt.min_normal_code - 1}
    if fmt.infinity:
        places |= {fmt.inf_code, fmt.inf_code | (fmt.quiet_bit if fmt.signaling else 0)}
    around = {x + d for x in places for d in (0, 1)}
    signed = {x + fmt.sign_bit for x in around} | {(1 << fmt.width) - x for x in around} if fmt.signed else set()
    return sorted(x for x in around | signed if 0 <= x < 1 << fmt.width)


def _classes(formats: Sequence[Format], bins: Sequence[Bin]) -> list[str]:
    body = []
    coarsely = len(formats) > 2
    for i, f in enumerate(formats):
        body.append(f"{LETTERS[i]}: coverpoint code_{LETTERS[i]} {{")
        for name, ranges in class_ranges(f, coarsely).items():
            shown = ", ".join(_range(f, *r) for r in ranges)
            body.append(f"  bins {identifier(name)} = {{{shown}}};")
        body.append("}")
    if len(formats) > 1:
        first, count = bins[0].id, len(bins)
        body.append(f"// the bin of each crossing is named after its classes, as {first}; {count} of them")
        body.append(f"crossed: cross {', '.join(LETTERS[: len(formats)])};")
    return _group("B1", _codes(formats), body)


def _codes(formats: Sequence[Format]) -> list[str]:
    return [f"bit [{f.width - 1}:0] code_{LETTERS[i]}" for i, f in enumerate(formats)]


def _range(fmt: Format, low: int, high: int) -> str:
    return _hex(fmt.width, low) if low == high else f"[{_hex(fmt.width, low)}:{_hex(fmt.width, high)}]"


def _hex(width: int, code: int) -> str:
    return f"{width}'h{code:x}"


# -- B9 ----------------------------------------------------------------------------------------------------------------


def _patterns(formats: Sequence[Format], cells: Mapping[Cell, Bin]) -> list[str]:
    body: list[str] = []
    for i, f in enumerate(formats):
        wanted = {name: b.id for (operand, name), b in cells.items() if operand == i}
        if wanted:
            body += _pattern_point(LETTERS[i], f, wanted)
    return _group("B9", _codes(formats), body)


def _pattern_point(letter: str, fmt: Format, wanted: dict[str, str]) -> Iterator[str]:
    m, magnitude = fmt.mantissa_bits, f"code_{letter}[{fmt.width - 1 - fmt.signed}:0]"
    low, high = (_hex(fmt.width - fmt.signed, x) for x in (fmt.min_normal_code, fmt.max_code))
    yield f"{letter}: coverpoint code_{letter}[{m - 1}:0] iff ({magnitude} >= {low} && {magnitude} <= {high}) {{"
    for name, known in wanted.items():
        yield f"  bins {identifier(name)} = {{{_hex(m, patterns(m)[name])}}}; // {known}"
    yield "}"


# -- B3, B29 -----------------------------------------------------------------------------------------------------------


def _last_place(model: str, cells: Mapping[Cell, Bin]) -> list[str]:
    """One coverpoint of sign, lsb, guard and sticky; impossible bins are ignored."""
    body = [f"// of the {_PLACE_MODELS[model]}, before rounding", "place: coverpoint {sign, lsb, guard, sticky} {"]
    for cell, b in cells.items():
        kind = "ignore_bins" if b.unreachable else "bins"
        value = "".join(map(str, cell))
        name = identifier(b.id.removeprefix(f"{model}/"))
        body.append(f"  {kind} {name} = {{4'b{value}}}; // {b.id}")
    return _group(model, ["bit sign", "bit lsb", "bit guard", "bit sticky"], [*body, "}"])
