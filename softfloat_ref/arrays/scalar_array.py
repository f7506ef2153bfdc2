"""Arrays of codes of a scalar format: the codes with their format; made of codes, packed bytes, tensors and types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from softfloat_ref.arrays import convert, exchange, packing
from softfloat_ref.arrays.convert import Codes, Floats
from softfloat_ref.arrays.quantized import AxisIndex, QuantizedArray
from softfloat_ref.oracle.formats import Format, get_format


@dataclass(frozen=True, eq=False, repr=False)
class ScalarArray(QuantizedArray):
    """Codes of a scalar format with the format, in the protocol of BlockArray and AffineArray."""

    codes: Codes
    fmt: Format

    def _arrays(self) -> tuple[Codes, ...]:
        return (self.codes,)

    def _settings(self) -> dict[str, Any]:
        return {"fmt": self.fmt}

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values: float32, or float64 where float32 does not hold the format."""
        return convert.value_dtype(self.fmt)

    @property
    def T(self) -> ScalarArray:  # noqa: N802
        """The array with its axes in reverse order."""
        return replace(self, codes=self.codes.T)

    def _part(self, parts: tuple[AxisIndex, ...]) -> ScalarArray:
        return replace(self, codes=np.asarray(self.codes[parts]))

    def decode(self, out: Floats | None = None) -> Floats:
        """The values, as `arrays.decode` gives them. out: the buffer for the result."""
        return convert.decode(self.codes, self.fmt, out=out)

    def pack(self, layout: str = "dense") -> packing.Packed:
        """The bytes of the codes, each row of the last axis in whole bytes; docs/packing.md defines the layouts. Raises
        Error for a layout that does not fit the format."""
        return packing.Packed(packing.pack_rows(self.codes, self.fmt.width, layout, self.fmt.name))

    def to_torch(self) -> exchange.Tensors:
        """The elements as a torch tensor. Raises Error as `exchange.to_torch` does."""
        return exchange.Tensors(exchange.to_torch(self.codes, self.fmt))


def from_codes(codes: ArrayLike, fmt: str | Format) -> ScalarArray:
    """A ScalarArray from existing codes, checked. Raises Error for codes that do not fit the format."""
    fmt = get_format(fmt)
    return ScalarArray(convert.checked_codes(codes, fmt).astype(convert.code_dtype(fmt)), fmt)


def unpack(
    data: ArrayLike | packing.Packed, fmt: str | Format, shape: tuple[int, ...], layout: str = "dense"
) -> ScalarArray:
    """The inverse of ScalarArray.pack. data: a Packed, or bytes (of Python, or uint8 of any shape); shape: of values.
    Raises Error for a size that does not match the layout, and for bytes that are not codes."""
    fmt = get_format(fmt)
    if isinstance(data, packing.Packed):
        packing.check_parts(data, fmt.name)
        data = data.data
    return from_codes(packing.unpack_rows(data, packing.checked_shape(shape), fmt.width, layout, fmt.name), fmt)


def from_torch(tensors: exchange.Tensors | Sequence[Any] | Any, fmt: str | Format | None = None) -> ScalarArray:
    """The inverse of ScalarArray.to_torch; also of a tensor alone. fmt: the format, if it is not that of the tensor's
    type. Raises Error for types that do not match."""
    (elements,) = exchange.torch_parts(tensors, "elements")
    return from_codes(*exchange.from_torch(elements, fmt))
