"""Mismatches of dot products: which accumulators give a device's answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.explanation.scalar import value_text
from softfloat_ref.oracle.accumulate import ACCUMULATORS, Accumulator
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.testing.compare import Answer, code_texts
from softfloat_ref.testing.views import MismatchView, register
from softfloat_ref.units import DotUnit
from softfloat_ref.units.unit import split

MAX_SHOWN_PRODUCTS: Final = 8


@register(DotUnit)
class DotView(MismatchView):
    """The mismatches of a dot product."""

    unit: DotUnit

    def check(self) -> None:
        if self.unit.steps:
            raise Error("check compares results; leave the running results (steps) out")

    def changes(self, inputs: Sequence[int], answer: Answer, flags: bool) -> list[dict[str, str]]:
        """The named accumulators that give the answer."""
        matching = []
        for name, accumulator in ACCUMULATORS.items():
            if accumulator == self.unit.accumulator:
                continue
            try:
                bits, raised = dataclasses.replace(self.unit, accumulator=accumulator).answer(inputs)
            except Error:  # it does not support these formats
                continue
            # a unit without flags may still match a device that raises flags
            free = not flags or answer.flags is None or not accumulator.flags
            if bits == answer.result and (free or raised == answer.flags):
                matching.append({"accumulator": name})
        return matching

    def operand_lines(self, inputs: Sequence[int]) -> Iterator[str]:
        """The first few nonzero products, and c."""
        a, b, c, scales = self._parts(inputs)
        formats = self.unit.setting.formats
        decode_a, decode_b = decoder(formats[0]), decoder(formats[1])
        pairs = [(decode_a(x), decode_b(y)) for x, y in zip(a, b, strict=True)]
        nonzero = [
            k for k, (x, y) in enumerate(pairs) if not ((x.is_zero and y.is_finite) or (y.is_zero and x.is_finite))
        ]
        yield from (f"  {name:9}{' '.join(codes)}" for name, codes in scales)
        for k in nonzero[:MAX_SHOWN_PRODUCTS]:
            x, y = (value_text(d(code)) for d, code in ((decode_a, a[k]), (decode_b, b[k])))
            yield f"  {f'{k}:':9}{formats[0].hex(a[k])} * {formats[1].hex(b[k])} = {x} * {y}"
        if len(nonzero) > MAX_SHOWN_PRODUCTS:
            yield f"  {'':9}and {len(nonzero) - MAX_SHOWN_PRODUCTS} more products"
        yield f"  {'c':9}{self.unit.c.hex(c)} = {value_text(decoder(self.unit.c)(c))}"

    def command(self, inputs: Sequence[int], got: Answer) -> str:
        a, b, c, scales = self._parts(inputs)
        unit, formats = self.unit, self.unit.setting.formats
        accumulator = unit.accumulator
        named = ACCUMULATORS.get(accumulator.name) == accumulator
        name = accumulator.name if named else f"'{_expression(accumulator)}'"
        words = [
            f"softfloat-ref dot --fmt a={unit.a.name},b={unit.b.name},c={unit.c.name} --out {unit.out.name}",
            f"--acc {name}",
            *(f"--scales-{field[0]} {','.join(codes)}" for field, codes in scales),
            f"--c {unit.c.hex(c)}",
            ",".join(formats[0].hex(x) for x in a),
            ",".join(formats[1].hex(x) for x in b),
            "--trace",
        ]
        return " ".join(words)

    def _parts(self, inputs: Sequence[int]) -> tuple[Sequence[int], Sequence[int], int, list[tuple[str, list[str]]]]:
        """a, b, c, and the scales in hexadecimal by their fields' names."""
        codes = {f.name: own for f, own in split(self.unit.inputs, inputs)}
        scales = [(f.name, code_texts([f], codes[f.name])) for f in self.unit.inputs if f.name.endswith("_scale")]
        return codes["a"], codes["b"], codes["c"][0], scales


def _expression(unit: Accumulator) -> str:
    """The accumulator in one line, with every field that is not the default."""
    fields = [f for f in dataclasses.fields(unit) if f.compare and f.name not in ("name", "tree")]
    more = [(f.name, getattr(unit, f.name)) for f in fields if getattr(unit, f.name) != f.default]
    return "; ".join([unit.tree, *(f"{k} = {str(v).lower() if isinstance(v, bool) else v}" for k, v in more)])
