"""BT: the second-level scale of a tensor, against the largest magnitude of a block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from softfloat_ref.coverage.engine.framework import Bins, Cell, Line, cross
from softfloat_ref.coverage.quantize.setting import BlockEvents, BlockModel, BlockSetting
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32, FP32_ONE
from softfloat_ref.oracle.codec import encode
from softfloat_ref.oracle.exact import FINITE, Value

_BELOW: Final = 24  # binades below the largest magnitude that a tensor's scale allows
_ONE: Final = ("one",)


class TensorScales(BlockModel):
    """BT: the distance of the block's largest magnitude below the tensor's; other scales than powers of two."""

    id = "BT"
    title = "the second-level scale: binades from the largest value it allows down to the block's largest"

    def applies(self, where: BlockSetting) -> bool:
        return where.two_levels

    def bins(self, where: BlockSetting) -> Bins:
        """A scale of one; each distance, one of them negative, for powers of two and for others."""
        return {_ONE: "one"} | cross("{kind}.{d}", kind=("power", "other"), d=range(-1, _BELOW + 1))

    def hits(self, e: BlockEvents) -> Iterable[Cell]:
        if e.tensor_scale == FP32_ONE:
            yield _ONE
        s = e.factor.significand
        if e.amax is not None and e.factor.kind == FINITE and s:
            kind = "other" if s & (s - 1) else "power"
            yield kind, exact.top(_allowed(e.where, e.factor)) - exact.top(e.amax)

    def cases(self, where: BlockSetting, cell: Cell) -> Iterator[Line]:
        """A block, and tensor scales of about that distance."""
        for amax in (where.one, where.one + 1, where.one + 3 * (1 << where.values.mantissa_bits) - 1):
            block = where.filled([amax, *where.shrunk(amax)])
            if cell == _ONE:
                yield (*block, FP32_ONE)
                continue
            kind, distance = cell
            unit = exact.top(where.decode(amax)) - exact.top(_allowed(where, exact.finite(0, 1, 0)))
            for step in (-1, 0, 1):
                significand, bits = (1, 0) if kind == "power" else (0xB504F3, 23)
                factor = exact.finite(0, significand, unit + distance + step - bits)
                yield (*block, encode(factor, FP32).bits)


def _allowed(where: BlockSetting, factor: Value) -> Value:
    """The largest value under a tensor scale: the product of the largest scale and the largest element."""
    scale = exact.finite(0, *where.scale.magnitude(where.scale.max_code))
    return exact.multiply(exact.multiply(factor, scale), where.largest_element)
