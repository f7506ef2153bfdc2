"""Some tensors of a report together, by format: sums of errors, bits, and the one with the lowest SQNR."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Generic, NamedTuple, TypeVar

from softfloat_ref.arrays.error_counts import Errors
from softfloat_ref.arrays.errors import ErrorMeasure
from softfloat_ref.nn.model_errors import ModelErrorRow
from softfloat_ref.nn.tensor_kinds import TensorKind
from softfloat_ref.oracle.blocks.formats import AXIS, TENSOR, BlockFormat
from softfloat_ref.oracle.formats import Format

MEGA: Final = 1e6
MAX_KINDS: Final = 40  # of a table; a model whose names say little has as many as tensors

Depth = tuple[int, ...]
T = TypeVar("T")


@dataclass(frozen=True)
class Tally:
    """Some tensors in a format: their errors together, and the one with the lowest SQNR. bits: of all of them, stored
    in the format. refused: rows without numbers."""

    rows: list[ModelErrorRow] = field(default_factory=list)

    @cached_property
    def refused(self) -> list[ModelErrorRow]:
        return [x for x in self.rows if x.problem]

    @cached_property
    def errors(self) -> Errors:
        return sum((x.measured.errors for x in self.rows if not x.problem), start=Errors())

    @cached_property
    def bits(self) -> int:
        return sum(x.measure.stored_bits(x.tensor.shape) for x in self.rows if not x.problem)

    @cached_property
    def bits_per_value(self) -> float:
        return self.bits / self.errors.values if self.errors.values else math.nan

    @property
    def megabytes(self) -> float:
        return self.bits / 8 / MEGA

    @cached_property
    def worst(self) -> ModelErrorRow | None:
        """The first with the lowest SQNR; None where all values are zeros, or none is finite."""
        known = [x for x in self.rows if not math.isnan(x.measured.errors.sqnr)]
        return min(known, key=lambda x: x.measured.errors.sqnr, default=None)

    @property
    def low(self) -> float:
        """The lowest SQNR."""
        return self.worst.measured.errors.sqnr if self.worst else math.nan

    @property
    def high(self) -> float:
        """The highest SQNR."""
        known = (x.measured.errors.sqnr for x in self.rows if not x.problem)
        return max((x for x in known if not math.isnan(x)), default=math.nan)


class FormatSummary(NamedTuple):
    """A format over all matrices. number: its place in the report, which is its colour's."""

    number: int
    measure: ErrorMeasure
    tally: Tally

    @property
    def name(self) -> str:
        return self.measure.fmt.name

    @property
    def scale(self) -> str:
        """What shares a scale factor; "none" for a scalar format."""
        return scale_of(self.measure)

    @property
    def scaled(self) -> bool:
        return not isinstance(self.measure.fmt, Format)


def scale_of(measure: ErrorMeasure) -> str:
    """The scale factors of a format, in words."""
    fmt = measure.fmt
    if isinstance(fmt, Format):
        return "none"
    if not isinstance(fmt, BlockFormat):
        return "fp32 per tensor" if measure.axis is None else "fp32 per channel"
    size = {AXIS: "row" if measure.axis is None else "axis", TENSOR: "tensor"}.get(fmt.size, fmt.size_name)
    return f"{fmt.scale.name} per {size}" + ", fp32 per tensor" * bool(measure.profile.two_levels)


class KindGroup(NamedTuple, Generic[T]):
    """What there is of a kind of tensor, by depth; of a kind outside the layers, the only depth is ()."""

    stack: str
    kind: str
    layers: dict[Depth, list[T]]

    @property
    def label(self) -> str:
        return f"{self.stack}: {self.kind}" if self.stack else self.kind

    @property
    def items(self) -> list[T]:
        return [x for of in self.layers.values() for x in of]


def by_kind(items: Iterable[tuple[TensorKind, T]]) -> list[KindGroup[T]]:
    """Items grouped by part of the model, kind, and depth, in their order. A model with layers in one part only has no
    parts."""
    listed = list(items)
    named = len({kind.stack for kind, _ in listed if kind.depth}) > 1
    groups: dict[tuple[str, str, bool], dict[Depth, list[T]]] = {}
    for kind, x in listed:
        key = (kind.stack if named else "", kind.kind, bool(kind.depth))
        groups.setdefault(key, {}).setdefault(kind.depth, []).append(x)
    return [KindGroup(stack, kind, of) for (stack, kind, _), of in groups.items()]


def largest(groups: Sequence[KindGroup[T]], most: int, size: Callable[[T], int]) -> list[KindGroup[T]]:
    """The groups with the most values, in their order."""
    by_size = sorted(groups, key=lambda g: -sum(map(size, g.items)))[:most]
    numbers = {id(g) for g in by_size}
    return [g for g in groups if id(g) in numbers]


def tallies(rows: Iterable[ModelErrorRow], formats: Sequence[str]) -> dict[str, Tally]:
    """Rows by format, in the order of the formats."""
    by_format = {f: Tally() for f in formats}
    for x in rows:
        by_format[x.measure.fmt.name].rows.append(x)
    return by_format
