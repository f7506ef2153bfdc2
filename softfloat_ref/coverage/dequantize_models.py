"""BD: dequantization: every code, classes crossed, what comes out, lanes. By enumeration where codes are bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import Final, NamedTuple

from softfloat_ref.block_formats import FP32, BlockFormat, dequantize_to_fp32, resolve
from softfloat_ref.codec import decoder, encode
from softfloat_ref.coverage.block_events import ONE, Line
from softfloat_ref.coverage.classes import class_of, members
from softfloat_ref.coverage.memo import remembered
from softfloat_ref.coverage.model import Bin
from softfloat_ref.formats import Format
from softfloat_ref.profiles import Profile

_TENSOR_SCALES: Final = (ONE, FP32.min_code, FP32.min_normal_code, FP32.max_code, ONE + 1, encode(3, FP32).bits)
_ALL: Final = 16  # bits of scale and element together, up to which every pair is looked at


class DequantizeSetting:
    """Dequantization of a block format under a profile. Made by `dequantize_setting`."""

    def __init__(self, fmt: BlockFormat, profile: Profile) -> None:
        self.fmt, self.profile = resolve(fmt, profile)
        self.pairs = self._pairs()
        self.memo: dict[str, object] = {}

    @property
    def two_levels(self) -> bool:
        """Whether a line has a tensor scale."""
        return self.profile.tensor_scale != "none"

    @property
    def whole(self) -> bool:
        """Whether `pairs` shows all that can come out."""
        return self.fmt.scale.width + self.fmt.element.width <= _ALL and not self.two_levels

    def value(self, scale: int, code: int, tensor_scale: int = ONE) -> int:
        """The FP32 code of one element."""
        return dequantize_to_fp32(scale, (code,), self.fmt, self.profile, decoder(FP32)(tensor_scale))[0]

    def line(self, scale: int, codes: Line, tensor_scale: int = ONE) -> Line:
        """The inputs of a line."""
        return (scale, *codes, *((tensor_scale,) if self.two_levels else ()))

    def _pairs(self) -> dict[str, list[tuple[int, int, int]]]:
        """What comes out, with some of the (scale, element, tensor scale) that give it."""
        found: dict[str, list[tuple[int, int, int]]] = {}
        tensor = _TENSOR_SCALES if self.two_levels else (ONE,)
        scales, codes = (_codes(f, self.fmt) for f in (self.fmt.scale, self.fmt.element))
        for scale, code, second in product(scales, codes, tensor):
            kept = found.setdefault(kind_of(self.value(scale, code, second)), [])
            if len(kept) < 4:
                kept.append((scale, code, second))
        return found


def _codes(fmt: Format, block: BlockFormat) -> Iterable[int]:
    if block.scale.width + block.element.width <= _ALL:
        return range(1 << fmt.width)
    return sorted({code for codes in members(fmt).values() for code in codes[:4]})


def kind_of(code: int) -> str:
    """The class of an FP32 result, signed; one name for every NaN."""
    found = class_of(FP32, code)
    return "nan" if found.endswith("nan") else found


class DequantizeEvents(NamedTuple):
    """A block to be dequantized, and where."""

    where: DequantizeSetting
    line: Line


class Dequantize:
    """BD: the one model of dequantization."""

    id = "BD"
    title = "scale and element codes, their classes crossed, kinds of results, lanes"

    def bins(self, where: DequantizeSetting) -> tuple[Bin, ...]:
        """The bins, in a fixed order."""

        def make() -> tuple[Bin, ...]:
            return tuple(Bin(f"BD/{name}", why) for name, why in self._names(where))

        return remembered(where.memo, self.id, make)

    def _names(self, where: DequantizeSetting) -> Iterator[tuple[str, str]]:
        scale, element = where.fmt.scale, where.fmt.element
        for name, fmt in (("scale", scale), ("code", element)):
            yield from ((f"{name}.{code:02x}", "") for code in range(1 << fmt.width if fmt.width <= 8 else 0))
        yield from ((f"{x}*{y}", "") for x, y in product(members(scale), members(element)))
        for kind in dict.fromkeys([*map(kind_of, _every_kind()), *where.pairs]):
            if where.whole or kind in where.pairs:
                yield f"gives.{kind}", "" if kind in where.pairs else "no pair of a scale and an element gives it"
        for i in range(where.fmt.size):
            yield f"alone{i}", ""
        if where.two_levels:
            yield from ((f"tensor.{name}", "") for name in members(FP32) if "neg" not in name and "nan" not in name)

    def hits(self, e: DequantizeEvents) -> Iterable[str]:
        """The names of the bins a block hits."""
        known = remembered(e.where.memo, "BD.known", lambda: {b.id for b in self.bins(e.where)})
        return (name for name in self._facts(e.line, e.where) if name in known)

    def _facts(self, line: Line, where: DequantizeSetting) -> Iterator[str]:
        scale, element = where.fmt.scale, where.fmt.element
        codes = line[1 : 1 + where.fmt.size]
        second = line[1 + where.fmt.size] if where.two_levels else ONE
        yield f"BD/scale.{line[0]:02x}"
        above = class_of(scale, line[0])
        for code in set(codes):
            yield f"BD/code.{code:02x}"
            yield f"BD/{above}*{class_of(element, code)}"
            yield f"BD/gives.{kind_of(where.value(line[0], code, second))}"
        counts = [i for i, code in enumerate(codes) if not decoder(element)(code).is_zero]
        if len(counts) == 1:
            yield f"BD/alone{counts[0]}"
        if where.two_levels:
            yield f"BD/tensor.{class_of(FP32, second)}"

    def cases(self, where: DequantizeSetting, name: str) -> Iterator[Line]:
        """Blocks made so."""
        kind, _, rest = name[3:].partition(".")
        size, scale, element = where.fmt.size, where.fmt.scale, where.fmt.element
        one, plain = _ordinary(scale), _ordinary(element)
        if kind == "gives":
            for above, code, second in where.pairs[rest]:
                yield where.line(above, (code,) * size, second)
        elif kind == "tensor":
            for second in members(FP32)[rest]:
                yield where.line(one, (plain,) * size, second)
        elif kind.startswith("alone"):
            lane = int(kind[5:])
            yield where.line(one, (*[0] * lane, plain, *[0] * (size - 1 - lane)))
        elif kind == "scale":
            yield where.line(int(rest, 16), tuple((i + int(rest, 16)) % (1 << element.width) for i in range(size)))
        elif kind == "code":
            yield where.line(one, tuple((i + int(rest, 16)) % (1 << element.width) for i in range(size)))
        else:
            left, _, right = name[3:].partition("*")
            codes = members(element)[right]
            yield where.line(members(scale)[left][0], tuple(codes[i % len(codes)] for i in range(size)))


def _ordinary(fmt: Format) -> int:
    """A code of about one."""
    return next(codes[0] for name, codes in members(fmt).items() if name.endswith(("one", "norm", "max")))


def _every_kind() -> Iterator[int]:
    return (codes[0] for codes in members(FP32).values())


@lru_cache(maxsize=64)
def dequantize_setting(fmt: BlockFormat, profile: Profile) -> DequantizeSetting:
    """The setting of a dequantization."""
    return DequantizeSetting(fmt, profile)
