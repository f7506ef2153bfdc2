"""What a comparison of two models says as a whole: what differs, by how much, and what both take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from softfloat_ref.app.report_rows import percent
from softfloat_ref.app.report_tally import MAX_KINDS, MEGA, KindGroup, by_kind, largest
from softfloat_ref.app.report_words import counted_plural, level_of, megabytes, short
from softfloat_ref.arrays.error_counts import Errors
from softfloat_ref.base.errors import counted
from softfloat_ref.nn.model_files import ModelTensor
from softfloat_ref.nn.model_files.comparison import Difference, size_of
from softfloat_ref.nn.tensor_kinds import TensorKind, kind_of


@dataclass(frozen=True)
class DifferenceTally:
    """Some tensors of two models together."""

    rows: Sequence[Difference]

    @cached_property
    def compared(self) -> list[Difference]:
        return [x for x in self.rows if not x.problem]

    @cached_property
    def errors(self) -> Errors:
        return sum((x.errors for x in self.compared), start=Errors())

    @cached_property
    def worst(self) -> Difference | None:
        """The first with the lowest SQNR; None without any."""
        known = [x for x in self.compared if not math.isnan(x.errors.sqnr)]
        return min(known, key=lambda x: x.errors.sqnr, default=None)

    @property
    def low(self) -> float:
        """The lowest SQNR."""
        return self.worst.errors.sqnr if self.worst else math.nan

    @property
    def differing(self) -> list[Difference]:
        return [x for x in self.compared if not x.same]

    @property
    def by_codes(self) -> bool:
        """Whether all that differ can be compared code by code, as those of two producers can."""
        return all(x.codes is not None for x in self.differing)

    @property
    def values(self) -> Share:
        """Values that differ."""
        return Share(sum(x.values for x in self.compared), sum(x.tensor.size for x in self.compared))

    @property
    def codes(self) -> Share:
        """Codes that differ, of tensors whose codes mean the same elements."""
        rows = [x for x in self.compared if x.codes is not None]
        return Share(sum(x.codes or 0 for x in rows), sum(x.tensor.size for x in rows))

    @property
    def scales(self) -> Share:
        """Scales of blocks that differ, of tensors with the same blocks."""
        return Share(sum(x.scales or 0 for x in self.compared), sum(x.blocks for x in self.compared))


class Share(NamedTuple):
    """How many differ, and of how many."""

    number: int
    total: int

    @property
    def percent(self) -> float:
        """NaN where nothing can be compared."""
        return 100 * self.number / self.total if self.total else math.nan

    def __str__(self) -> str:
        return percent(self.number, self.total) if self.total else "-"


class Models(NamedTuple):
    """The tensors of a model and of the other one; what to call them."""

    name: str
    tensors: Sequence[ModelTensor]
    other_name: str
    others: Sequence[ModelTensor]

    def only(self) -> Iterator[tuple[str, list[str]]]:
        """The names of a model, and of the tensors that only it has."""
        mine, theirs = {t.name for t in self.tensors}, {t.name for t in self.others}
        for name, listed, other in ((self.name, self.tensors, theirs), (self.other_name, self.others, mine)):
            if missing := [t.name for t in listed if t.name not in other]:
                yield name, missing

    def sizes(self) -> Iterator[tuple[str, int, float, float]]:
        """The name of each model, its values, bits for each, and megabytes."""
        for name, listed in ((self.name, self.tensors), (self.other_name, self.others)):
            values, size = size_of(listed)
            yield name, values, 8 * size / max(1, values), size / MEGA


class AgainstSummary:
    """A comparison of two models. rows: the tensors of both, in the order of the file."""

    def __init__(self, models: Models, rows: Sequence[Difference]) -> None:
        self.models, self.rows = models, rows
        self._kinds = {id(x): kind_of(x.tensor.name, x.tensor.shape) for x in rows}
        self.matrices = DifferenceTally([x for x in rows if self.kind(x).matrix])
        self.vectors = DifferenceTally([x for x in rows if not self.kind(x).matrix])

    def kind(self, x: Difference) -> TensorKind:
        return self._kinds[id(x)]

    @property
    def counted(self) -> DifferenceTally:
        """The matrices, or the vectors of a model without any that can be compared."""
        return self.matrices if self.matrices.compared else self.vectors

    @cached_property
    def groups(self) -> list[KindGroup[Difference]]:
        """The matrices by kind and depth."""
        return by_kind((self.kind(x), x) for x in self.matrices.rows)

    @property
    def largest_groups(self) -> list[KindGroup[Difference]]:
        """The kinds with the most values, as many as a table has."""
        return largest(self.groups, MAX_KINDS, lambda x: x.tensor.size)

    @staticmethod
    def worst_first(rows: Iterable[Difference]) -> list[Difference]:
        """The lowest SQNR first; those that could not be compared before all others."""
        return sorted(rows, key=lambda x: (not x.problem, math.isnan(x.errors.sqnr), x.errors.sqnr))

    # -- in words ------------------------------------------------------------------------------------------------------

    def sentence(self) -> str:
        """In a sentence: whether the models differ, by how much, and what both take."""
        tally, (mine, other) = self.counted, self.models.sizes()
        count = len(tally.compared)
        what = counted_plural(count, "matrix", "matrices") if tally is self.matrices else counted(count, "vector")
        sizes = f"{mine[2]:.4g} bits per value, {megabytes(mine[3])} MB"
        sizes += f", against {other[2]:.4g} bits, {megabytes(other[3])} MB"
        if not count:
            return f"No tensor of {mine[0]} can be compared with {other[0]}: {sizes}."
        names = f"{mine[0]} and {other[0]}"
        if not tally.differing:
            return f"The same values in {what} of {names}, code for code and scale for scale: {sizes}."
        level = level_of(tally.errors.sqnr)
        worst = (
            f", at worst {level_of(tally.low)} in {short(tally.worst.tensor.name)}" if tally.worst and count > 1 else ""
        )
        if not tally.by_codes:
            return f"{mine[0]} keeps {level} over {what} of {other[0]}{worst}: {sizes}."
        differ = "differs" if count == 1 else "differ"
        parts = [f"{x} of the {word}" for word, x in (("codes", tally.codes), ("scales", tally.scales)) if x.total]
        return (
            f"{len(tally.differing)} of {what} {differ} between {names}: {' and '.join(parts)}, {tally.values} of the "
            f"values, {level}{worst}; {sizes}."
        )

    def remarks(self) -> Iterator[str]:
        """What has to be known of the numbers."""
        parts = [x for x in self.rows if x.parts]
        if parts:
            first = parts[0]
            words = " and ".join(x.replace("_", " ") for x in first.parts)
            more = f", and those of {len(parts) - 1} more tensors" if len(parts) > 1 else ""
            yield f"the {words} of {short(first.tensor.name)} differs{more}: equal scales need not mean equal values"
        problems = [x for x in self.rows if x.problem]
        if problems:
            more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
            yield f"not compared: {short(problems[0].tensor.name)} ({problems[0].problem}){more}"
        for name, missing in self.models.only():
            yield f"only in {name}: {short(missing[0])}" + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
