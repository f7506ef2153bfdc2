"""BD: dequantization: every code, classes crossed, results, lanes. By enumeration for codes of one byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import Final, NamedTuple

from softfloat_ref.base.search import find_first
from softfloat_ref.coverage.classes import class_of, members
from softfloat_ref.coverage.engine.framework import BaseSetting, Bins, Cell, Coverage, Line, Model, cross, grouped
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import FP32
from softfloat_ref.oracle.blocks.quantize import resolve
from softfloat_ref.oracle.blocks.tensor_scales import FP32_ONE
from softfloat_ref.oracle.codec import decoder, encode
from softfloat_ref.oracle.formats import Format
from softfloat_ref.units import DequantizeUnit

_TENSOR_SCALES: Final = (
    FP32_ONE,
    FP32.min_code,
    FP32.min_normal_code,
    FP32.max_code,
    FP32_ONE + 1,
    encode(3, FP32).bits,
)
_PAIR_BITS: Final = 16  # bits of scale and element together, up to which every pair is looked at


class DequantizeSetting(BaseSetting):
    """A block dequantizer, and what is derived from it once."""

    def __init__(self, unit: DequantizeUnit) -> None:
        super().__init__()
        self.two_levels = unit.two_levels
        self.fmt, self.profile = resolve(unit.block, unit.profile)
        self.element, self.scale, self.size = self.fmt.element, self.fmt.scale, self.fmt.size
        self.all_pairs = self.scale.width + self.element.width <= _PAIR_BITS
        self.whole = self.all_pairs and not self.two_levels  # whether `pairs` shows all that can come out
        self.pairs = self._pairs()

    def events(self, line: Line) -> DequantizeEvents:
        return DequantizeEvents(self, line)

    def value(self, scale: int, code: int, tensor_scale: int = FP32_ONE) -> int:
        """The FP32 code of one element."""
        return dequantize_to_fp32(scale, (code,), self.fmt, self.profile, decoder(FP32)(tensor_scale))[0]

    def line(self, scale: int, codes: Line, tensor_scale: int = FP32_ONE) -> Line:
        """The inputs of a line."""
        return (scale, *codes, *((tensor_scale,) if self.two_levels else ()))

    def codes_from(self, code: int) -> Line:
        """A block of consecutive codes."""
        return tuple((i + code) % (1 << self.element.width) for i in range(self.size))

    def _pairs(self) -> dict[str, list[tuple[int, int, int]]]:
        """The classes of results, with some of the (scale, element, tensor scale) that give them."""
        tensor = _TENSOR_SCALES if self.two_levels else (FP32_ONE,)
        of_each = product(self._codes(self.scale), self._codes(self.element), tensor)
        return grouped(of_each, lambda x: [result_class(self.value(*x))], 4)

    def _codes(self, fmt: Format) -> Iterable[int]:
        if self.all_pairs:
            return range(1 << fmt.width)
        return sorted({code for codes in members(fmt).values() for code in codes[:4]})


def result_class(code: int) -> str:
    """The class of an FP32 result, signed; one name for every NaN."""
    name = class_of(FP32, code)
    return "nan" if name.endswith("nan") else name


class DequantizeEvents(NamedTuple):
    """A block to be dequantized, in its setting."""

    where: DequantizeSetting
    line: Line


class DequantizeModel(Model[DequantizeSetting, DequantizeEvents]):
    """BD: the model of dequantization."""

    id = "BD"
    title = "scale and element codes, their classes crossed, kinds of results, lanes"

    def bins(self, where: DequantizeSetting) -> Bins:
        scale, element = where.scale, where.element
        results = dict.fromkeys([*(result_class(codes[0]) for codes in members(FP32).values()), *where.pairs])
        numbers = [name for name in members(FP32) if "neg" not in name and "nan" not in name]
        return (
            cross("{field}.{code:02x}", field=["scale"], code=_bytes(scale))
            | cross("{field}.{code:02x}", field=["code"], code=_bytes(element))
            | cross("{scale}*{element}", kind=["pair"], scale=list(members(scale)), element=list(members(element)))
            | cross("{kind}.{r}", kind=["gives"], r=[r for r in results if where.whole or r in where.pairs])
            | cross("{kind}{lane}", kind=["alone"], lane=range(where.size))
            | cross("{kind}.{value}", kind=["tensor"], value=numbers if where.two_levels else ())
        )

    def never(self, where: DequantizeSetting, cell: Cell) -> str:
        possible = cell[0] != "gives" or cell[1] in where.pairs
        return "" if possible else "no pair of a scale and an element gives it"

    def hits(self, e: DequantizeEvents) -> Iterable[Cell]:
        line, where = e.line, e.where
        codes = line[1 : 1 + where.size]
        second = line[1 + where.size] if where.two_levels else FP32_ONE
        yield "scale", line[0]
        above = class_of(where.scale, line[0])
        for code in set(codes):
            yield "code", code
            yield "pair", above, class_of(where.element, code)
            yield "gives", result_class(where.value(line[0], code, second))
        counts = [i for i, code in enumerate(codes) if not decoder(where.element)(code).is_zero]
        if len(counts) == 1:
            yield "alone", counts[0]
        if where.two_levels:
            yield "tensor", class_of(FP32, second)

    def cases(self, where: DequantizeSetting, cell: Cell) -> Iterator[Line]:
        size, one, plain = where.size, _ordinary(where.scale), _ordinary(where.element)
        match cell:
            case "gives", kind:
                for above, code, second in where.pairs[kind]:
                    yield where.line(above, (code,) * size, second)
            case "tensor", kind:
                for second in members(FP32)[kind]:
                    yield where.line(one, (plain,) * size, second)
            case "alone", lane:
                yield where.line(one, (*[0] * lane, plain, *[0] * (size - 1 - lane)))
            case "scale", code:
                yield where.line(code, where.codes_from(code))
            case "code", code:
                yield where.line(one, where.codes_from(code))
            case _, left, right:
                codes = members(where.element)[right]
                yield where.line(members(where.scale)[left][0], tuple(codes[i % len(codes)] for i in range(size)))


def _bytes(fmt: Format) -> range:
    return range(1 << fmt.width if fmt.width <= 8 else 0)


def _ordinary(fmt: Format) -> int:
    """A code of about one."""
    return find_first(codes[0] for name, codes in members(fmt).items() if name.endswith(("one", "norm", "max")))


@lru_cache(maxsize=64)
def dequantization(unit: DequantizeUnit) -> Coverage:
    """The coverage of dequantizing blocks to FP32."""
    return Coverage(DequantizeSetting(unit), [DequantizeModel()])
