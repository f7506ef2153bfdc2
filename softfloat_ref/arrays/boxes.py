"""Large arrays in boxes: parts that hold whole blocks, each of which is quantized by itself with the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final, NamedTuple

from softfloat_ref.arrays.block_layout import TileLayout, block_layout
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.affine import AffineFormat
from softfloat_ref.oracle.blocks.formats import AXIS, TENSOR, BlockFormat
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.formats import Format

SLAB: Final = 1 << 20  # values of a box: its temporaries take some tens of MiB

Span = tuple[int, int]


class ArrayView(NamedTuple):
    """An array in C order as (outer, length, inner), whose middle axis the blocks run along."""

    outer: int
    length: int
    inner: int


class Box(NamedTuple):
    """Part of a view: from and to on each of its axes."""

    outer: Span
    along: Span
    inner: Span

    @property
    def shape(self) -> tuple[int, int, int]:
        """Its shape."""
        return tuple(end - begin for begin, end in self)  # type: ignore[return-value]

    def runs(self, view: ArrayView) -> Iterator[Span]:
        """The positions in the array of its values, in order: (first, number) of each contiguous run."""
        outer, along, inner = self.shape
        whole = view.length * view.inner
        if inner < view.inner:
            for i in range(*self.outer):
                for j in range(*self.along):
                    yield i * whole + j * view.inner + self.inner[0], inner
        elif along < view.length:
            for i in range(*self.outer):
                yield i * whole + self.along[0] * view.inner, along * view.inner
        else:
            yield self.outer[0] * whole, outer * whole


class BoxPlan(NamedTuple):
    """How an array is divided. step: boxes are cut along the middle axis between that many values (0: nowhere).
    ranged: whether a box needs to know the range of the whole array. blocks: their number (0 without). cuts_inner:
    whether the inner axis may be cut. shape: for an array in one piece, its own shape."""

    view: ArrayView
    step: int
    ranged: bool = False
    blocks: int = 0
    cuts_inner: bool = True
    shape: tuple[int, ...] | None = None


def plan(
    shape: tuple[int, ...], fmt: Format | BlockFormat | AffineFormat, axis: int | None, profile: Profile | None
) -> BoxPlan:
    """The division for a format. axis: of the blocks, or of an affine format's channels; checked. profile: of a block
    format. Raises Error for an axis whose length the profile refuses."""
    size = prod(shape)
    if isinstance(fmt, Format) or (isinstance(fmt, AffineFormat) and axis is None):
        return BoxPlan(ArrayView(1, size, 1), 1, isinstance(fmt, AffineFormat))
    along = len(shape) - 1 if axis is None else axis % len(shape)
    view, uncut = ArrayView(prod(shape[:along]), shape[along], prod(shape[along + 1 :])), ArrayView(1, 1, size)
    if isinstance(fmt, AffineFormat):
        if view.outer > 1:  # a channel's range covers the outer axes too
            return BoxPlan(uncut, 0, cuts_inner=False, shape=shape)
        return BoxPlan(view, 1, cuts_inner=False)
    assert profile is not None
    layout, two_levels = block_layout(shape, along, fmt, profile), profile.two_levels
    if isinstance(layout, TileLayout):
        return BoxPlan(uncut, 0, two_levels, prod(layout.lead) * layout.count, cuts_inner=False, shape=shape)
    if fmt.size == TENSOR or (fmt.size == AXIS and view.outer == view.inner == 1):
        if profile.scale_search != "none":
            name = f"{fmt.name}: profile {profile.name}"
            raise Error(f"{name} searches scales by the errors of whole blocks, which are cut")
        return BoxPlan(ArrayView(1, size, 1), 1, True, 1)
    if layout.flat and along < len(shape) - 1:  # blocks that span rows of another axis
        return BoxPlan(uncut, 0, two_levels, layout.count, cuts_inner=False, shape=shape)
    if layout.flat:
        return BoxPlan(ArrayView(1, size, 1), layout.size, two_levels, layout.count)
    step = 0 if fmt.size == AXIS else fmt.size
    return BoxPlan(view, step, two_levels, view.outer * layout.count * view.inner)


def boxes(division: BoxPlan, slab: int = SLAB) -> Iterator[Box]:
    """Boxes of about `slab` values, in order; larger where blocks are."""
    outer, length, inner = division.view
    if length * inner <= slab:
        rows = slab // max(1, length * inner)
        for i in range(0, outer, rows):
            yield Box((i, min(i + rows, outer)), (0, length), (0, inner))
        return
    step = division.step or length
    along = max(step, slab // inner // step * step)
    across = max(1, slab // along) if division.cuts_inner and along * inner > slab else inner
    for i in range(outer):
        for j in range(0, length, along):
            for k in range(0, inner, across):
                yield Box((i, i + 1), (j, min(j + along, length)), (k, min(k + across, inner)))
