"""Dot products of a library: an accumulator's tree as C statements around core_dot.h, whose rules are constants."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.export.library.blocks import LibraryBlock, designated, inline
from softfloat_ref.export.library.constants import LibraryFormat, format_constants
from softfloat_ref.export.library.dot_trees import DotSetting, TreeWriter, ieee
from softfloat_ref.export.library.functions import Function
from softfloat_ref.oracle.accumulate.dots import DEFAULT_BLOCK
from softfloat_ref.oracle.accumulate.model import Accumulator
from softfloat_ref.oracle.accumulate.trees import (
    RESULT,
)
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy

_MAX_STEP: Final = 512


@dataclass(frozen=True)
class DotUnit:
    """An accumulator on operands of one format, or one block format."""

    accumulator: Accumulator
    operand: LibraryFormat | LibraryBlock
    out: LibraryFormat
    prefix: str

    @cached_property
    def name(self) -> str:
        return f"{self.prefix}{self.operand.name}_dot_{c_name(self.accumulator)}_{self.out.name}"

    @property
    def block(self) -> LibraryBlock | None:
        return self.operand if isinstance(self.operand, LibraryBlock) else None

    @property
    def fmt(self) -> Format:
        return self.operand.block.element if isinstance(self.operand, LibraryBlock) else self.operand.fmt

    @cached_property
    def step(self) -> int:
        """How many products a step takes. Raises Error if that is not a constant."""
        block = self.block.size if self.block else DEFAULT_BLOCK
        size = self.accumulator.step_for((self.fmt, self.fmt), self.out.fmt, block, 0)
        if not 0 < size <= _MAX_STEP:
            raise Error(f"{self.accumulator.name}: a library has units of 1 to {_MAX_STEP} products in a step, not all")
        return size

    def function(self) -> Function:
        p, block = self.prefix, self.block
        kind = f"{p}{self.out.type}"
        operand = self.operand.element_type if isinstance(self.operand, LibraryBlock) else self.operand.type
        operand = operand if block and block.is_integer else f"{p}{operand}"
        mask = (1 << self.fmt.width) - 1
        member = "" if block and block.is_integer else ".v"
        codes = [f"core_operand_term((uint32_t){x}[i]{member} & {mask:#x}, {self.name}_operand)" for x in "ab"]
        scale, arguments = f"{self.name}_scale", [f"const {operand} *{x}" for x in "ab"]
        lines = [
            f"uint64_t code = {self._code('c.v', self.out)};",
            "uint32_t flags = 0;",
            f"{kind} z;",
            "for (size_t i = 0; i < n;) {",
            f"    core_term p[{self.step}];",
            f"    for (int k = 0; k < {self.step}; k++, i++) {{",
        ]
        if block:
            arguments = [x for a in "ab" for x in (f"const {p}{block.scale.type} *{a}_scales", f"const {operand} *{a}")]
            factors = [f"core_scale_term({a}_scales[i / {block.size}].v, {scale})" for a in "ab"]
            lines += [f"        core_term scale = {self._fixed()};"]
            lines += [f"        if (i < n) scale = core_scales({', '.join(factors)});"]
        else:
            lines += [f"        const core_term scale = {self._fixed()};"]
        limit = self.accumulator.product_limit
        limits = "0, 0" if limit == "" else f"1, {limit}"
        lines += [
            f"        p[k] = i < n ? core_product_term({codes[0]},",
            f"                                       {codes[1]}, scale, {limits}) : core_no_term;",
        ]
        lines += ["    }", f"    code = {self.name}_step(p, code, &flags);", "}"]
        if self.accumulator.flags:
            lines += ["CORE_RAISE(flags);"]
        else:
            lines += ["(void)flags;"]
        lines += [f"z.v = (uint{self.out.storage}_t)code;", "return z;"]
        return Function(kind, self.name, ", ".join(["size_t n", *arguments, f"{kind} c"]), lines)

    def _code(self, value: str, own: LibraryFormat) -> str:
        return value if own.fmt.width == own.storage else f"{value} & {(1 << own.fmt.width) - 1:#x}"

    def _fixed(self) -> str:
        e = self.accumulator.product_exponent
        return f"{{1, {e}, {e}, 0, 0, 0, 0}}"

    def source(self) -> str:
        """The constants, and the function of one step."""
        own = DotSetting(self.name, self.accumulator, self.fmt, self.block, self.out, self.step)
        tree = TreeWriter(own)
        lines = tree.statements()
        head = f"static uint64_t {self.name}_step(const core_term *p, uint64_t code, uint32_t *flags)"
        wide, a = self.accumulator.operand_format, self.accumulator
        policy = Policy(flush_inputs=a.flush_inputs != "off")
        constants = (
            self.block.element_constants(False)
            if self.block and self.block.is_integer
            else inline(format_constants(self.fmt, ieee(policy)))
        )
        operand = {
            "a": constants,
            "twos_complement": int(bool(self.block and self.block.is_integer)),
            "positive_zeros": int(a.flush_inputs == "positive"),
            "wide": int(wide is not None),
            "wide_emin": wide.emin if wide else 0,
        }
        parts = [f"static const core_operand_rule {self.name}_operand = {designated(operand)};"]
        if self.block:
            parts += [f"static const core_format {self.name}_scale = {self.block.scale_constants()};"]
        parts += tree.constants
        return "\n\n".join([*parts, "\n".join([head, "{", *(f"    {x}" for x in lines), "}"])])


def c_name(a: Accumulator) -> str:
    """The name of an accumulator in those of functions and files."""
    return re.sub(r"\W", "_", a.name)


def dot_units(
    accumulators: Sequence[Accumulator],
    formats: Sequence[LibraryFormat],
    blocks: Sequence[LibraryBlock],
    prefix: str,
) -> Iterator[DotUnit]:
    """The units of a library: each accumulator on each operand that it multiplies, with each result that it gives.

    Raises Error for one that has none of them, or that a library cannot have."""
    for a in accumulators:
        short = [x for x in formats if x.fmt.width <= 32 and not x.long]
        outs = [x for x in short if _gives(a, x.fmt)]
        operands: list[LibraryFormat | LibraryBlock] = [x for x in short if _multiplies(a, x.fmt)]
        operands += [x for x in blocks if a.scales != "none" and _multiplies(a, x.block.element)]
        if not outs or not operands:
            results = " or ".join(x.replace(RESULT, "any") for x in a.results)
            raise Error(
                f"accumulator {a.name} multiplies {', '.join(a.formats.split()) or 'any format'} and gives {results}; "
                "name these in --fmt, too"
            )
        for out in outs:
            for operand in operands:
                yield DotUnit(a, operand, out, prefix)


def _multiplies(a: Accumulator, fmt: Format) -> bool:
    return not a.operand_formats or fmt.name in a.operand_formats


def _gives(a: Accumulator, out: Format) -> bool:
    try:
        return a.result_format(out) == out
    except Error:
        return False
