"""What the arrays of every kind of format have in common: shape, equality, slices, transposition, how they look."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Iterator
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error

Array = NDArray[Any]
AxisIndex = int | slice  # of one axis
_CORNER_SIZE: Final = 6  # rows and columns that a notebook shows
_MAX_DECODED: Final = 1 << 20  # elements that are decoded to show some of them


class QuantizedArray(ABC):
    """Codes with their format. Two arrays are equal (`==`) if format, settings and every bit are; `numpy.asarray` gives
    the values. A part (`q[2:4]`) keeps its scales, so it cannot cut a block."""

    if TYPE_CHECKING:  # a field of the classes, or a property

        @property
        def codes(self) -> Array:
            """One unsigned code per element."""

    @abstractmethod
    def decode(self, out: Any = None) -> Array:
        """The values."""

    @abstractmethod
    def _arrays(self) -> tuple[Array, ...]:
        """What is stored: codes, scales."""

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """What else makes the array what it is; the format first."""

    def _facts(self) -> dict[str, Any]:
        """What a reader is shown, besides the shape."""
        return self._settings()

    @abstractmethod
    def _part(self, parts: tuple[AxisIndex, ...]) -> Self:
        """The part for one integer or slice per axis. Raises Error for one that cuts a block."""

    @property
    @abstractmethod
    def T(self) -> Self:  # noqa: N802  (numpy's name)
        """The array with its axes in reverse order, without copying."""

    # -- as numpy's arrays ---------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return self.codes.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values, as `decode` and `numpy.asarray` give them; `fmt` is that of the codes."""
        return np.dtype(np.float32)

    @property
    def nbytes(self) -> int:
        """The bytes of codes and scales as they are held here; `pack` gives those that a memory needs."""
        return sum(x.nbytes for x in self._arrays())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Self:
        return self._part(_parts(index, self.shape))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        same = self._settings() == other._settings()
        return same and all(_same(x, y) for x, y in zip(self._arrays(), other._arrays(), strict=True))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("the values are computed from the codes and cannot be given without a copy")
        values = self.decode()
        return values if dtype is None else values.astype(dtype, copy=False)

    # -- shown ---------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        fmt, *rest = self._facts().items()
        shown = [_text(fmt[1]), f"shape={self.shape}", *(f"{k}={_text(v)}" for k, v in rest if v is not None)]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        """A table of the settings and, of arrays of at most two axes, the values at the start."""
        facts = {**self._facts(), "shape": self.shape, "nbytes": self.nbytes}
        head = "".join(_row("th", [k], [_text(v)]) for k, v in facts.items() if v is not None)
        return f"<table><caption>{type(self).__name__}</caption>{head}</table>{self._corner()}"

    def _corner(self) -> str:
        """Values and codes at the start; nothing of other shapes, of wide formats, and of large arrays whose blocks run
        along the first axis, since all of them would be decoded."""
        if self.ndim not in (1, 2) or not self.size:
            return ""
        try:
            start = self if self.size <= _MAX_DECODED else self[:_CORNER_SIZE]
            values = np.atleast_2d(start.decode())[:_CORNER_SIZE, :_CORNER_SIZE]
        except Error:
            return ""
        codes = np.atleast_2d(start.codes)[:_CORNER_SIZE, :_CORNER_SIZE]
        digits = 2 * codes.dtype.itemsize
        rows = zip(values.tolist(), codes.tolist(), strict=True)
        cells = ([f"{v:.6g} ({c:0{digits}x})" for v, c in zip(*row, strict=True)] for row in rows)
        more = " ..." if codes.size != self.size else ""
        return f"<table><caption>values (codes){more}</caption>{''.join(_row('td', [], row) for row in cells)}</table>"


def _row(tag: str, heads: list[str], cells: list[str]) -> str:
    first = "".join(f"<{tag}>{html.escape(x)}</{tag}>" for x in heads)
    return f"<tr>{first}{''.join(f'<td>{html.escape(x)}</td>' for x in cells)}</tr>"


def _text(x: Any) -> str:
    """A setting as it is shown: by its name if it has one."""
    return str(getattr(x, "name", x))


def _same(x: Array, y: Array) -> bool:
    """Whether two arrays have the same type, shape and bits."""
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def _parts(index: Any, shape: tuple[int, ...]) -> tuple[AxisIndex, ...]:
    """An index of integers, slices and ... as one integer or slice per axis. Raises Error for any other index, and
    IndexError as numpy does."""
    indices = list(index) if isinstance(index, tuple) else [index]
    if any(isinstance(x, bool) or not isinstance(x, (int, np.integer, slice, EllipsisType)) for x in indices):
        raise Error("an index is made of integers, slices and ...; for others, index .codes or .decode()")
    dots = [i for i, x in enumerate(indices) if x is Ellipsis]
    if len(dots) > 1 or len(indices) - len(dots) > len(shape):
        raise IndexError(f"{len(indices)} indices for an array of {len(shape)} axes")
    at = dots[0] if dots else len(indices)
    rest = [slice(None)] * (len(shape) - len(indices) + len(dots))
    whole = [*indices[:at], *rest, *indices[at + 1 :]]
    return tuple(x if isinstance(x, slice) else _place(int(x), n) for x, n in zip(whole, shape, strict=True))


def _place(i: int, n: int) -> int:
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of range for an axis of {n}")
    return i % n


def axis_after(parts: tuple[AxisIndex, ...], axis: int) -> int | None:
    """The number of an axis after an index; None if an integer dropped it."""
    return None if isinstance(parts[axis], int) else sum(isinstance(x, slice) for x in parts[:axis])
