"""A one-line summary of a quantized array, counted piece by piece (in float64: for display only)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from softfloat_ref.oracle.affine import AffineFormat
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.scale_rules import largest
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import Format

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from softfloat_ref.arrays.block_array import BlockArray

_PIECE: Final = 1 << 18  # values at a time, since there are many temporaries


class ArraySummary:
    """Counts over any number of parts of an array."""

    def __init__(self, fmt: Format | BlockFormat | AffineFormat) -> None:
        self._fmt = fmt
        self._values = self._finite = self._flushed = self._saturated = self._beyond = 0
        self._blocks = self._nan_blocks = 0
        self._largest_error = self._squared_error = self._square = 0.0

    def add(self, array: NDArray[Any], values: NDArray[Any], quantized: BlockArray | None = None) -> None:
        """Count values, given with their quantized values and, for a block format, their blocks."""
        x, y = array.reshape(-1), values.reshape(-1)
        for start in range(0, x.size, _PIECE):
            self._add_piece(x[start : start + _PIECE], y[start : start + _PIECE])
        if quantized is not None:
            from softfloat_ref.arrays import blocks

            self._blocks += quantized.scales.size
            self._nan_blocks += int((quantized.scales == quantized.fmt.scale.canonical_nan).sum())
            self._saturated += blocks.saturated(array, quantized)

    def _add_piece(self, array: NDArray[Any], values: NDArray[Any]) -> None:
        import numpy as np

        with np.errstate(all="ignore"):
            x, y = array.astype(np.float64), values.astype(np.float64)
            self._values += x.size
            self._flushed += int(((array != 0) & (values == 0)).sum())
            finite, finite_result = np.isfinite(x), np.isfinite(y)
            if isinstance(self._fmt, Format):
                low, high = _reach(self._fmt)
                self._saturated += int((finite_result & ((x > high) | (x < low))).sum())
                self._beyond += int((finite & ~finite_result).sum())
            both = finite & finite_result
            if not both.all():
                x, y = x[both], y[both]
            error = np.abs(y - x)
            self._finite += x.size
            self._largest_error = max(self._largest_error, float(error.max(initial=0.0)))
            self._squared_error += float((error * error).sum())
            self._square += float((x * x).sum())

    def text(self, dtype: object, shape: tuple[int, ...]) -> str:
        """The summary line."""
        counts = [f"{self._blocks} blocks, {self._nan_blocks} NaN"] if isinstance(self._fmt, BlockFormat) else []
        counts += [] if isinstance(self._fmt, AffineFormat) else [f"{self._saturated} saturated"]
        counts += [f"{self._beyond} overflowed"] if self._beyond else []
        counts += [f"{self._flushed} flushed to zero"]
        what = f"{self._fmt.name}: {self._values} values of {dtype}, shape {shape}"
        return f"{what}: {', '.join(counts)}; {self._error()}"

    def _error(self) -> str:
        """Maximum and root-mean-square error over the finite values."""
        if not self._finite:
            return "no finite values"
        scale = (self._square / self._finite) ** 0.5
        rms = (self._squared_error / self._finite) ** 0.5
        relative = f" ({rms / scale:.3g} of the values' rms)" if scale else ""
        return f"error at most {self._largest_error:.4g}, rms {rms:.4g}{relative}"


def _reach(fmt: Format) -> tuple[float, float]:
    """The smallest and the largest finite value; for an unsigned format, as if it had a sign."""
    high = float(largest(fmt))
    return float(decoder(fmt)(fmt.sign_bit)) if fmt.twos_complement and fmt.signed else -high, high
