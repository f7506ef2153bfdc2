"""Units that add up a dot product of integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.numbers import settle
from softfloat_ref.oracle.accumulate import parse_operand_formats
from softfloat_ref.oracle.blocks.formats import BlockFormat, any_format
from softfloat_ref.oracle.formats import Format, define_format, get_format
from softfloat_ref.oracle.integer_dots import IntegerAccumulator, IntegerSetting, accumulated, parse_accumulator
from softfloat_ref.oracle.steps import Do
from softfloat_ref.units.unit import FLAGS, Field, SteppedUnit, file_name, operand, result

if TYPE_CHECKING:
    from softfloat_ref.units.unit import Rows

DEFAULT_K: Final = 4
MAX_K: Final = 4096
_ONE_BIT: Final = get_format("u1")


@dataclass(frozen=True)
class IntegerDotUnit(SteppedUnit):
    """A dot product of k integers: elements of a and b, and c in; c plus the products, and flags out.

    accumulator: whether sums wrap or saturate, and after how many products, as text. steps: also the running sum after
    every step. clear: the accumulator is the circuit's own register. An input clears it first; c is what it holds,
    the result of the line before.
    """

    kind: ClassVar[str] = "integer_dot"
    op: ClassVar[str] = "integer_dot"

    a: Format
    b: Format
    c: Format
    k: int = DEFAULT_K
    accumulator: str = "wrap"
    steps: bool = False
    clear: bool = False

    def __post_init__(self) -> None:
        settle(self, "k", 1, MAX_K)
        for letter, fmt in (("a", self.a), ("b", self.b), ("c", self.c)):
            if not fmt.is_integer:
                raise Error(f"{letter} must have an integer format, for example i8 or u32, not {fmt.name}")
        if self.sums.step > self.k:
            raise Error(f"a step of {self.sums.step} products is longer than the vectors, which have {self.k} elements")

    @staticmethod
    def make(
        fmt: Any,
        out: str | Format | None = None,
        acc: str | None = None,
        k: int | None = None,
        steps: bool = False,
        clear: bool = False,
    ) -> IntegerDotUnit:
        """A dot product from names. fmt: of both vectors, or `a=..,b=..,c=..`; out: of c and the result [i32]; acc:
        [wrap]. Raises Error."""
        names = parse_operand_formats(fmt)
        a, b = map(_scalar, names[:2])
        accumulators = [_scalar(x) for x in (names[2], out) if x is not None]
        if len(set(accumulators)) > 1:
            raise Error(f"c and the result have one format, not {accumulators[0].name} and {accumulators[1].name}")
        accumulator = parse_accumulator(acc or "wrap").text
        c = accumulators[0] if accumulators else get_format("i32")
        return IntegerDotUnit(a, b, c, DEFAULT_K if k is None else k, accumulator, steps, clear)

    @cached_property
    def sums(self) -> IntegerAccumulator:
        """How sums are made."""
        return parse_accumulator(self.accumulator)

    @cached_property
    def setting(self) -> IntegerSetting:
        """Everything except the values."""
        return IntegerSetting(self.a, self.b, self.c, self.sums)

    @cached_property
    def name(self) -> str:
        formats = "_".join(dict.fromkeys((self.a.name, self.b.name)))
        return file_name(self.op, formats, "to", self.c.name, self.accumulator, *(["clear"] if self.clear else []))

    @property
    def label(self) -> str:
        formats = " x ".join(dict.fromkeys((self.a.name, self.b.name)))
        return f"{self.op} {formats} to {self.c.name} {self.accumulator}"

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        clear = [operand("clear", _ONE_BIT)] if self.clear else []
        steps = [result("steps", self.c, self.step_count)] if self.steps else []
        vectors = operand("a", self.a, self.k), operand("b", self.b, self.k)
        return (*vectors, *clear, operand("c", self.c), *steps, result("result", self.c), FLAGS)

    @property
    def held(self) -> frozenset[str]:
        return frozenset({"c"} if self.clear else ())

    @cached_property
    def step_count(self) -> int:
        """How many steps there are."""
        return -(-self.k // (self.sums.step or self.k))

    def sides(self, inputs: Sequence[int]) -> tuple[Sequence[int], Sequence[int], int, int]:
        """a, b, c, and whether the accumulator is cleared."""
        k = self.k
        return inputs[:k], inputs[k : 2 * k], inputs[-1], inputs[2 * k] if self.clear else 0

    def computed(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        running, flags = accumulated(self.setting, *self.sides(inputs), do=do)
        return *(running if self.steps else ()), running[-1], flags

    def answers(self, inputs: Rows) -> Rows | None:
        """By arrays, where every sum fits 63 bits."""
        from softfloat_ref.arrays.integer_dots import integer_dots

        return integer_dots(self.setting, *self.sides(inputs.T), self.steps)  # type: ignore[arg-type]

    def properties(self) -> dict[str, str]:
        return {
            "op": self.op,
            "fmt": self.a.name,
            "fmt_b": self.b.name,
            "fmt_c": self.c.name,
            "out": self.c.name,
            "overflow": self.accumulator,
            "width": str(self.c.width),
        }

    def to_dict(self) -> dict[str, Any]:
        formats = {letter: getattr(self, letter).to_dict() for letter in "abc"}
        return {
            "formats": formats,
            "k": self.k,
            "accumulator": self.accumulator,
            "steps": self.steps,
            "clear": self.clear,
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> IntegerDotUnit:
        a, b, c = (define_format(table["formats"][letter]) for letter in "abc")
        more = table["steps"] is True, table["clear"] is True
        return IntegerDotUnit(a, b, c, table["k"], str(table["accumulator"]), *more)


def _scalar(fmt: str | Format | BlockFormat | None) -> Format:
    own = any_format(fmt or "i32")
    if isinstance(own, BlockFormat):
        raise Error(f"integer_dot adds integers, for example i8, not blocks of {own.name}")
    return own
