"""Units that add up a dot product, as an accumulator does."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.numbers import settle
from softfloat_ref.oracle.accumulate import (
    Accumulator,
    default_accumulator,
    define_accumulator,
    get_accumulator,
    parse_operand_formats,
)
from softfloat_ref.oracle.accumulate.dots import Accumulation, Operand, accumulated, check_rows, products, setting
from softfloat_ref.oracle.blocks.formats import BlockFormat, any_format, define_block_format
from softfloat_ref.oracle.formats import Format, define_format, get_format
from softfloat_ref.oracle.steps import Do
from softfloat_ref.units.unit import FLAGS, Field, SteppedUnit, operand, result

DEFAULT_K: Final = 16
MAX_K: Final = 4096
AnyFormat = Format | BlockFormat


@dataclass(frozen=True)
class DotUnit(SteppedUnit):
    """A dot product of k elements: scales (of blocks) and elements of a and b, and c in; result and flags out.

    steps: also the running result after every step of the accumulator, for a bench that compares stage by stage.
    extrapolate: the unit's model is applied to formats that the unit does not have.
    """

    kind: ClassVar[str] = "dot"
    op: ClassVar[str] = "dot"

    a: AnyFormat
    b: AnyFormat
    c: Format
    out: Format
    accumulator: Accumulator
    k: int
    steps: bool = False
    extrapolate: bool = False

    def __post_init__(self) -> None:
        settle(self, "k", 1, MAX_K)
        for x in (self.a, self.b):
            if isinstance(x, BlockFormat) and (x.size < 1 or self.k % x.size):
                whole = f"a multiple of {x.size}" if x.size > 0 else "a block size: ELEMENT@SCALE/SIZE"
                raise Error(f"{self.k} elements are not whole blocks of {x.name}; choose {whole}")
        if not self.c.exponent_bits or not self.c.signed:
            more = "; integer_dot adds integers" if self.c.is_integer else ""
            raise Error(f"c must have a signed float format, for example fp32, not {self.c.name}{more}")
        self.setting  # noqa: B018  (refuses what does not fit)

    @staticmethod
    def make(
        fmt: Any,
        out: str | Format | None = None,
        acc: str | Accumulator | Mapping[str, Any] = "",
        k: int | None = None,
        steps: bool = False,
        extrapolate: bool = False,
    ) -> DotUnit:
        """A dot product from names. fmt: of both operands, or `a=..,b=..,c=..`; acc: mx-fp32 for blocks, else
        fp32-sequential; k: one block, or 16 elements, by default. Raises Error."""
        names = parse_operand_formats(fmt)
        a, b = (without_profile(any_format(x)) for x in names[:2] if x is not None)
        blocks = [x for x in (a, b) if isinstance(x, BlockFormat)]
        for name, x in zip("ab", (a, b), strict=True):
            check_rows(x, name)
        to = get_format(out or "fp32")
        unit = get_accumulator(acc or default_accumulator(a, b))
        size = max((x.size for x in blocks if x.size > 0), default=DEFAULT_K) if k is None else k
        c = to if names[2] is None else get_format(names[2])  # type: ignore[arg-type]
        return DotUnit(a, b, c, to, unit, size, steps, extrapolate)

    @cached_property
    def setting(self) -> Accumulation:
        """Everything except the values."""
        zeros = (0,) * self.k
        a, b = (side(x, zeros, (0,) * self.blocks(x)) for x in (self.a, self.b))
        return setting(a, b, self.accumulator, self.out, self.c, extrapolate=self.extrapolate)

    def blocks(self, x: AnyFormat) -> int:
        """How many blocks an operand has; 0 without scales."""
        return self.k // x.size if isinstance(x, BlockFormat) else 0

    @cached_property
    def name(self) -> str:
        formats = "_".join(dict.fromkeys((self.a.name, self.b.name)))
        return re.sub(r"[^a-z0-9]+", "_", f"dot_{formats}_{self.accumulator.name}".lower()).strip("_")

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        steps = [result("steps", self.setting.result, self.step_count)] if self.steps else []
        sides = [f for letter, x in (("a", self.a), ("b", self.b)) for f in self.side_fields(letter, x)]
        return (*sides, operand("c", self.c), *steps, result("result", self.out), FLAGS)

    def side_fields(self, letter: str, x: AnyFormat, rows: int = 1) -> list[Field]:
        """The fields of that number of rows of an operand: its scales, if it has any, and its elements."""
        if not isinstance(x, BlockFormat):
            return [operand(letter, x, rows * self.k)]
        scales = operand(f"{letter}_scale", x.scale, rows * self.blocks(x))
        return [scales, operand(letter, x.element, rows * self.k)]

    @cached_property
    def step_count(self) -> int:
        """How many steps the accumulator takes."""
        s = self.setting
        return -(-self.k // self.accumulator.step_for(s.formats, s.result, s.block, self.k))

    def sides(self, inputs: Sequence[int]) -> tuple[Operand, Operand, int]:
        """The inputs of a case as the two vectors and c."""
        operands, start = [], 0
        for x in (self.a, self.b):
            middle = start + self.blocks(x)
            end = middle + self.k
            operands.append(side(x, tuple(inputs[middle:end]), tuple(inputs[start:middle])))
            start = end
        return operands[0], operands[1], inputs[start]

    def computed(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        a, b, c = self.sides(inputs)
        running, code, flags = accumulated(self.setting, products(self.setting, a, b, do), c, do=do)
        return (*running, code, flags) if self.steps else (code, flags)

    def to_dict(self) -> dict[str, Any]:
        return {
            "formats": {letter: stored_format(getattr(self, letter)) for letter in "abc"},
            "out": self.out.to_dict(),
            "accumulator": self.accumulator.to_dict(),
            "k": self.k,
            "steps": self.steps,
            "extrapolate": self.extrapolate,
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> DotUnit:
        formats = table["formats"]
        c = restored_format(formats["c"])
        if not isinstance(c, Format):
            raise Error("c must have a scalar format")
        return DotUnit(
            restored_format(formats["a"]),
            restored_format(formats["b"]),
            c,
            define_format(table["out"]),
            define_accumulator(table["accumulator"]),
            table["k"],
            table["steps"] is True,
            table["extrapolate"] is True,
        )


def side(fmt: AnyFormat, codes: tuple[int, ...], scales: tuple[int, ...]) -> Operand:
    """An operand of a dot product."""
    if isinstance(fmt, BlockFormat):
        return Operand(fmt.element, codes, fmt.scale, scales, fmt.size)
    return Operand(fmt, codes)


def without_profile(fmt: AnyFormat) -> AnyFormat:
    """The format without its profile, which is irrelevant here."""
    return dataclasses.replace(fmt, profile="ocp") if isinstance(fmt, BlockFormat) else fmt


def stored_format(fmt: AnyFormat) -> dict[str, Any]:
    """A format as definitions store it."""
    return without_profile(fmt).to_dict()


def restored_format(table: Mapping[str, Any]) -> AnyFormat:
    """The format that a definition stores. Raises Error."""
    return define_block_format(table) if "element" in table else define_format(table)
