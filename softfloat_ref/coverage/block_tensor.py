"""BT: the second-level scale of a tensor, against the largest magnitude of a block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from softfloat_ref import exact
from softfloat_ref.block_formats import FP32
from softfloat_ref.codec import encode
from softfloat_ref.coverage.block_events import ONE, BlockEvents, BlockSetting, Line
from softfloat_ref.coverage.block_model import BlockModel, filled, largest_element, shrunk
from softfloat_ref.coverage.model import Bin
from softfloat_ref.exact import FINITE, Value

_BELOW: Final = 24  # binades below the largest magnitude that a tensor's scale allows


class TensorScales(BlockModel):
    """BT: how far below the tensor's largest magnitude the block's is; a tensor scale of no power of two."""

    id = "BT"
    title = "the second-level scale: binades from the largest value it allows down to the block's largest"

    def applies(self, where: BlockSetting) -> bool:
        """Where there are two levels."""
        return where.two_levels

    def bins(self, where: BlockSetting) -> tuple[Bin, ...]:
        """A bin a distance, one of them negative, for powers of two and for others; a scale of one."""
        kinds = [f"BT/{kind}.{d}" for kind in ("power", "other") for d in range(-1, _BELOW + 1)]
        return tuple(Bin(name) for name in ("BT/one", *kinds))

    def hits(self, e: BlockEvents) -> Iterable[str]:
        """The distance."""
        if e.tensor_scale == ONE:
            yield "BT/one"
        if e.amax is None or e.factor.kind != FINITE or not e.factor.significand:
            return
        distance = exact.top(_allowed(e.where, e.factor)) - exact.top(e.amax)
        if -1 <= distance <= _BELOW:
            power = e.factor.significand & (e.factor.significand - 1) == 0
            yield f"BT/{'power' if power else 'other'}.{distance}"

    def cases(self, where: BlockSetting, name: str) -> Iterator[Line]:
        """A block, and tensor scales of about that distance."""
        kind, _, distance = name[3:].partition(".")
        one = where.code(exact.finite(0, 1, 0))
        for amax in (one, one + 1, one + 3 * (1 << where.values.mantissa_bits) - 1):
            block = filled(where, [amax, *shrunk(where, amax)])
            if kind == "one":
                yield (*block, ONE)
                continue
            unit = exact.top(where.decode(amax)) - exact.top(_allowed(where, exact.finite(0, 1, 0)))
            for step in (-1, 0, 1):
                significand, bits = (1, 0) if kind == "power" else (0xB504F3, 23)
                factor = exact.finite(0, significand, unit + int(distance) + step - bits)
                yield (*block, encode(factor, FP32).bits)


def _allowed(where: BlockSetting, factor: Value) -> Value:
    """The largest value under a tensor scale: that of the largest scale and the largest element."""
    scale = where.fmt.scale
    return exact.multiply(
        exact.multiply(factor, exact.finite(0, *scale.magnitude(scale.max_code))), largest_element(where)
    )
