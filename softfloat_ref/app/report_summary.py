"""Which format? What a report says of all matrices together: bits, megabytes, SQNR and the worst, by format; and the
same numbers by kind of layer and depth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from softfloat_ref.app.report_rows import ModelReport
from softfloat_ref.app.report_tally import MAX_KINDS, MEGA, FormatSummary, KindGroup, Tally, by_kind, largest, tallies
from softfloat_ref.app.report_words import counted_plural, level_of, listed, megabytes, short
from softfloat_ref.base.errors import counted
from softfloat_ref.nn.model_errors import ModelErrorRow
from softfloat_ref.nn.model_files.comparison import size_of
from softfloat_ref.nn.tensor_kinds import TensorKind, kind_of


class ReportSummary:
    """What a report says as a whole. subject: what is counted: matrices, or the vectors of a model without any."""

    def __init__(self, report: ModelReport) -> None:
        self.report = report
        self.kinds: dict[int, TensorKind] = {id(x.tensor): kind_of(x.tensor.name, x.tensor.shape) for x in report.rows}
        self.matrices = [x for x in report.rows if self.kind(x).matrix]
        self.vectors = [x for x in report.rows if not self.kind(x).matrix]
        self.subject = "matrix" if self.matrices else "vector"
        self.counted = self.matrices or self.vectors
        self.tensors = list({id(x.tensor): x.tensor for x in self.counted}.values())
        self.formats = self.of(self.counted)

    def kind(self, x: ModelErrorRow) -> TensorKind:
        return self.kinds[id(x.tensor)]

    def of(self, rows: Iterable[ModelErrorRow]) -> list[FormatSummary]:
        """Some tensors in each format, in the report's order."""
        measures = {x.measure.fmt.name: x.measure for x in self.report.rows}
        return [FormatSummary(i, measures[f], t) for i, (f, t) in enumerate(self.tallies(rows).items())]

    @property
    def plural(self) -> str:
        return "matrices" if self.matrices else "vectors"

    @property
    def stored(self) -> tuple[float, float, str]:
        """Bits per value and megabytes of what is counted, as the file has it, and the names of its formats."""
        values, size = size_of(self.tensors)
        names = dict.fromkeys(t.fmt for t in self.tensors)
        return 8 * size / max(1, values), size / MEGA, ", ".join(names)

    @cached_property
    def groups(self) -> list[KindGroup[ModelErrorRow]]:
        """The rows of matrices by kind and depth."""
        return by_kind((self.kind(x), x) for x in self.matrices)

    @property
    def largest_groups(self) -> list[KindGroup[ModelErrorRow]]:
        """The kinds with the most values, as many as a table has."""
        return largest(self.groups, MAX_KINDS, lambda x: x.tensor.size)

    def tallies(self, rows: Iterable[ModelErrorRow]) -> dict[str, Tally]:
        """Some rows by format."""
        return tallies(rows, self.report.formats)

    def by_tensor(self, rows: Iterable[ModelErrorRow]) -> dict[int, list[ModelErrorRow]]:
        """The rows of each tensor, in the order of the formats."""
        by_tensor: dict[int, list[ModelErrorRow]] = {}
        for x in rows:
            by_tensor.setdefault(id(x.tensor), []).append(x)
        return by_tensor

    def worst_first(self, name: str) -> list[ModelErrorRow]:
        """The rows of a format, the lowest SQNR first; those without one last."""
        return sorted((x for x in self.counted if x.measure.fmt.name == name), key=self.sort_key)

    @staticmethod
    def sort_key(x: ModelErrorRow) -> tuple[bool, float]:
        """Orders rows by their SQNR, those without one last."""
        sqnr = x.measured.errors.sqnr
        return math.isnan(sqnr), sqnr

    # -- in a sentence -------------------------------------------------------------------------------------------------

    @cached_property
    def complete(self) -> list[FormatSummary]:
        """The formats that take every tensor that any takes, and make no NaN or Inf of finite values, unless all do:
        only these can be compared by their SQNR, which leaves such values out."""
        most = max((x.tally.errors.values for x in self.formats), default=0)
        taking = [x for x in self.formats if x.tally.errors.values == most and not math.isnan(x.tally.errors.sqnr)]
        return [x for x in taking if not x.tally.errors.lost] or taking

    @cached_property
    def smallest(self) -> FormatSummary | None:
        return min(self.complete, key=lambda x: (x.tally.bits, -x.tally.errors.sqnr), default=None)

    @cached_property
    def best(self) -> FormatSummary | None:
        """The one with the highest SQNR in its worst tensor: that of all together is mostly that of large values."""
        return max(self.complete, key=lambda x: (x.tally.low, x.tally.errors.sqnr, -x.tally.bits), default=None)

    def sentence(self) -> str:
        """In a sentence: which format has the fewest bits, which is best at worst, and what both cost."""
        return "".join(named(x) if isinstance(x, FormatSummary) else x for x in self.sentence_parts())

    def sentence_parts(self) -> list[str | FormatSummary]:
        """The sentence in parts, formats by themselves."""
        small, best = self.smallest, self.best
        if not small or not best:
            return [f"The {self.plural} have no values to compare formats by: zeros, NaN or Inf."]
        bits, size, _ = self.stored
        first = self._cost(small, f" (stored: {bits:.4g} bits, {megabytes(size)} MB)", self._extent())
        if len(self.complete) == 1:
            return [small, f" takes {first}."]
        if small is best:
            return [small, f" has both the fewest bits and the highest SQNR{self._at_worst()}: {first}."]
        return ["Fewest bits: ", small, f", {first}; highest SQNR{self._at_worst()}: ", best, f", {self._cost(best)}."]

    def _at_worst(self) -> str:
        return f" in the worst {self.subject}" if len(self.tensors) > 1 else ""

    def _extent(self) -> str:
        count = len(self.tensors)
        return f" over {count} {self.plural}" if count > 1 else f" on {short(self.tensors[0].name)}"

    def _cost(self, x: FormatSummary, stored: str = "", extent: str = "") -> str:
        """Bits, size and accuracy of a format, in words."""
        size = f"{x.tally.bits_per_value:.4g} bits per value, {megabytes(x.tally.megabytes)} MB{stored}"
        worst = x.tally.worst if len(self.tensors) > 1 else None
        low = f", at worst {level_of(x.tally.low)} in {short(worst.tensor.name)}" if worst else ""
        return f"{size}, {level_of(x.tally.errors.sqnr)}{extent}{low}"

    def to_dict(self) -> dict[str, Any]:
        """As a file has it; numbers that are not finite as text."""
        bits, size, _ = self.stored
        return {
            "sentence": self.sentence(),
            "counted": self.plural,
            "tensors": len(self.tensors),
            "stored_bits_per_value": bits,
            "stored_megabytes": size,
            "formats": [
                {
                    "format": x.name,
                    "scale": x.scale,
                    "bits_per_value": _number(x.tally.bits_per_value),
                    "megabytes": x.tally.megabytes,
                    "sqnr_db": _number(x.tally.errors.sqnr),
                    "worst_sqnr_db": _number(x.tally.low),
                    "worst_tensor": x.tally.worst.tensor.name if x.tally.worst else None,
                    "refused": len(x.tally.refused),
                }
                for x in self.formats
            ],
            "notes": list(self.remarks()),
        }

    def outclassed(self) -> Iterator[tuple[FormatSummary, FormatSummary]]:
        """Formats that need no fewer bits than another and are no more accurate, each with that other one."""
        for x in self.complete:
            better = [y for y in self.complete if y is not x and _beats(y.tally, x.tally)]
            if better:
                yield x, max(better, key=lambda y: (y.tally.errors.sqnr, -y.tally.bits))

    def remarks(self) -> Iterator[str]:
        """What a reader of the numbers has to know."""
        outclassed: dict[str, list[str]] = {}
        for x, better in self.outclassed():
            outclassed.setdefault(named(better), []).append(named(x))
        overall = f", overall and{self._at_worst()}" if len(self.tensors) > 1 else ""
        for name, others in outclassed.items():
            yield f"{name} is at least as accurate as {listed(others)}{overall}, and no larger"
        for x in self.formats:
            if refused := x.tally.refused:
                first = refused[0]
                yield (
                    f"{x.name} refuses {counted_plural(len(refused), self.subject, self.plural)}, which its numbers "
                    f"leave out: {short(first.tensor.name)} ({first.problem})"
                )
        lost: dict[int, list[str]] = {}
        for x in self.formats:
            lost.setdefault(x.tally.errors.lost, []).append(x.name)
        for count, names in lost.items():
            if count:
                become = "becomes" if count == 1 else "become"
                left_out = "this format" if len(names) == 1 else "these formats"
                without = "" if names[0] in {x.name for x in self.complete} else f"; the sentence leaves out {left_out}"
                text = f"{counted(count, 'finite value')} {become} NaN or Inf, which the SQNR leaves out{without}"
                yield f"in {listed(names)}, {text}"
        if special := self._specials():
            tensor, count = special[0]
            more = f", and {len(special) - 1} more tensors" if len(special) > 1 else ""
            are = "is" if count == 1 else "are"
            yield f"{counted(count, 'value')} of {short(tensor)} {are} NaN or Inf, which the SQNR leaves out{more}"

    def _specials(self) -> list[tuple[str, int]]:
        """The tensors with NaN or Inf, and how many."""
        counts = {x.tensor.name: n for x in self.report.rows if (n := x.measured.errors.specials)}
        return list(counts.items())


def _number(x: float) -> float | str:
    return float(f"{x:.4f}") if math.isfinite(x) else str(x)


def _beats(x: Tally, y: Tally) -> bool:
    of_x, of_y = ((-t.bits, t.errors.sqnr, t.low) for t in (x, y))
    return of_x != of_y and all(a >= b for a, b in zip(of_x, of_y, strict=True))


def named(x: FormatSummary) -> str:
    """A format's name, and that it has no scale where that is so."""
    return x.name if x.scaled else f"{x.name} (unscaled)"
