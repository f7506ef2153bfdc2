"""Checking dot products: which accumulators would have given a device's answer, and how a mismatch is shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from softfloat_ref.accumulate import ACCUMULATORS, Accumulator
from softfloat_ref.codec import decoder
from softfloat_ref.errors import Error
from softfloat_ref.explain import value_text
from softfloat_ref.golden.dots import DotSet
from softfloat_ref.testing.compare import Answer

SHOWN_PRODUCTS: Final = 8


def changes(vectors: DotSet, inputs: Sequence[int], answer: Answer, flags: bool) -> list[dict[str, str]]:
    """The named accumulators that give the device's answer for this case."""
    found = []
    for name, unit in ACCUMULATORS.items():
        if unit == vectors.accumulator:
            continue
        try:
            other = dataclasses.replace(vectors, accumulator=unit)
        except Error:  # it has not these formats
            continue
        line = other.line(inputs)
        if line is None or line[-2] != answer.result:
            continue
        # units that raise no flags are no reason against a device that does
        if not flags or answer.flags is None or not unit.flags or line[-1] == answer.flags:
            found.append({"accumulator": name})
    return found


def operand_lines(vectors: DotSet, inputs: Sequence[int]) -> list[str]:
    """The products that are not zero, the first few of them, and c."""
    a, b, c, scales = _parts(vectors, inputs)
    formats = vectors.setting.formats
    decode_a, decode_b = decoder(formats[0]), decoder(formats[1])
    pairs = [(decode_a(x), decode_b(y)) for x, y in zip(a, b, strict=True)]
    nonzero = [k for k, (x, y) in enumerate(pairs) if not ((x.is_zero and y.is_finite) or (y.is_zero and x.is_finite))]
    lines = [f"  {name:9}{' '.join(codes)}" for name, codes in scales]
    for k in nonzero[:SHOWN_PRODUCTS]:
        x, y = (value_text(d(code)) for d, code in ((decode_a, a[k]), (decode_b, b[k])))
        lines.append(f"  {f'{k}:':9}{formats[0].hex(a[k])} * {formats[1].hex(b[k])} = {x} * {y}")
    rest = len(nonzero) - SHOWN_PRODUCTS
    if rest > 0:
        lines.append(f"  {'':9}and {rest} more products")
    return [*lines, f"  {'c':9}{vectors.c.hex(c)} = {value_text(decoder(vectors.c)(c))}"]


def trace_command(vectors: DotSet, inputs: Sequence[int]) -> str:
    """The command that shows every step of this case."""
    a, b, c, scales = _parts(vectors, inputs)
    formats = vectors.setting.formats
    unit = vectors.accumulator
    name = unit.name if ACCUMULATORS.get(unit.name) == unit else f"'{_expression(unit)}'"
    words = [
        f"softfloat-ref dot --fmt a={vectors.a.name},b={vectors.b.name},c={vectors.c.name} --out {vectors.out.name}",
        f"--acc {name}",
        *(f"--scales-{field[0]} {','.join(codes)}" for field, codes in scales),
        f"--c {vectors.c.hex(c)}",
        ",".join(formats[0].hex(x) for x in a),
        ",".join(formats[1].hex(x) for x in b),
        "--trace",
    ]
    return " ".join(words)


def _expression(unit: Accumulator) -> str:
    """The accumulator in one line, every field of it that is not the default."""
    fields = [f for f in dataclasses.fields(unit) if f.compare and f.name not in ("name", "tree")]
    more = [(f.name, getattr(unit, f.name)) for f in fields if getattr(unit, f.name) != f.default]
    return "; ".join([unit.tree, *(f"{k} = {str(v).lower() if isinstance(v, bool) else v}" for k, v in more)])


def _parts(vectors: DotSet, inputs: Sequence[int]) -> tuple[list[int], list[int], int, list[tuple[str, list[str]]]]:
    """a, b, c, and the scales in hexadecimal by their fields' names."""
    found: dict[str, list[int]] = {}
    at, scales = 0, []
    for field in vectors.fields:
        if field.role == "operand":
            found[field.name] = list(inputs[at : at + field.lanes])
            at += field.lanes
            if field.name.endswith("_scale"):
                scales.append((field.name, [f"{x:0{field.digits}x}" for x in found[field.name]]))
    return found["a"], found["b"], found["c"][0], scales
