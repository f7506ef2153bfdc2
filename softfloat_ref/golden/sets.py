"""Vector sets: a number of cases of a unit, the same on every machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.numbers import settle
from softfloat_ref.coverage.engine.directed import EXHAUSTIVE, LEVELS
from softfloat_ref.coverage.engine.framework import Coverage, PartsCoverage
from softfloat_ref.coverage.engine.within import CoverageWithin
from softfloat_ref.golden.kinds import Cases, cases_class
from softfloat_ref.golden.operands import TensorOperands, cases_of_tensors
from softfloat_ref.golden.tags import Run
from softfloat_ref.golden.within import CasesWithin
from softfloat_ref.oracle.formats import in_full
from softfloat_ref.oracle.sources import Philox, parse_source
from softfloat_ref.units import Field, Line, Unit, make_unit, restored, stored
from softfloat_ref.units.ranges.operand_range import OperandRange, operand_range


@dataclass(frozen=True)
class VectorSet:
    """A request for vectors, complete: the same set gives the same bytes anywhere.

    sources: of random words, one for each part of the unit that rounds stochastically ("" elsewhere). level: directed
    cases as that level has them, or every case there is; '' for those of level 1, in at most half of the set. unboxed:
    for mixed units, one line in N has an operand that is not boxed. where: the range of the operands; '' for all.
    operands: those of tensors, in place of directed and random ones.
    """

    unit: Unit
    count: int
    seed: int = 0
    sources: tuple[str, ...] = ()
    level: str = ""
    unboxed: int = 0
    where: str = ""
    description: str = dataclasses.field(default="", compare=False)
    operands: TensorOperands | None = None

    def __post_init__(self) -> None:
        if self.level and self.level not in (*LEVELS, EXHAUSTIVE):
            raise unknown("level", self.level, (*LEVELS, EXHAUSTIVE))
        for name, least in (("count", 1), ("seed", 0), ("unboxed", None)):
            settle(self, name, least)
        Philox(self.seed)  # refuses an invalid seed
        if not all(isinstance(x, str) for x in (*self.sources, self.where, self.description)):
            raise Error("random sources, where and description must be strings")
        if self.within is not None:
            object.__setattr__(self, "where", self.within.text)
        for source in filter(None, self.sources):
            parse_source(source)
        self.cases.check()
        if self.unit.random_field is not None and len(self.unit.parts) == 1:
            self.cases.source.bits(self.unit.random_field.width, 0, 1)
        if self.level == EXHAUSTIVE and self.count != (there := _level_count(self.unit, EXHAUSTIVE, None, self.where)):
            raise Error(f"{self.count} vectors, but exhaustive generates {there}")

    @staticmethod
    def make(
        op: str,
        fmt: Any,
        count: int | None = None,
        *,
        level: str | int | None = None,
        seed: int = 0,
        source: str | None = None,
        where: str = "",
        description: str = "",
        **options: Any,
    ) -> VectorSet:
        """A set of the unit that `units.make_unit` makes of op, fmt and options.

        level: 0, 1, 2 or exhaustive; count then replaces the level's number of cases. One of the two is needed.
        source: of the random words of a stochastic rounding. where: the range of the operands. Raises Error.
        """
        return of_unit(make_unit(op, fmt, **options), count, level, seed, source, where, description)

    @property
    def name(self) -> str:
        """A name for the files: the unit's."""
        return self.unit.name

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of a line, in the order of the text."""
        return self.unit.fields

    @property
    def source(self) -> str:
        """The source of the random words; '' for the default from the seed."""
        return self.sources[0] if self.sources else ""

    @cached_property
    def cases(self) -> Cases:
        return _cases(self.unit, self.operands)(self)

    @property
    def within(self) -> OperandRange | None:
        """The range of the operands, if there is one."""
        return operand_range(self.where, self.unit)

    @cached_property
    def coverage(self) -> Coverage | None:
        """The coverage models of the cases, of those within the range."""
        coverage = self.cases.coverage
        if self.within is None or coverage is None or isinstance(coverage, PartsCoverage):
            return coverage  # that of parts is made of theirs
        return CoverageWithin(coverage, self.within)

    @property
    def compiled(self) -> bool:
        """Whether the set is so large that its lines are generated in arrays."""
        return self.cases.chunked or self.cases.in_arrays

    def directed(self) -> tuple[tuple[str, Line], ...]:
        """The cases before the random ones: the bin each was generated for, and its inputs."""
        return self.cases.directed()

    def tag_runs(self) -> Iterator[Run]:
        """The reasons of the cases: tag and number of cases, in the order of `inputs`."""
        return self.cases.tag_runs()

    def inputs(self) -> Iterator[Line]:
        return self.cases.inputs()

    def line(self, inputs: Sequence[int]) -> Line | None:
        """The line of the inputs with the expected outputs; None if they are not defined."""
        return self.unit.line(inputs)

    def lines(self) -> Iterator[Line]:
        """The lines of the cases that have a defined result."""
        return (line for inputs in self.inputs() if (line := self.line(inputs)) is not None)

    def with_unit(self, **changes: Any) -> VectorSet:
        """The set of a unit that differs in some fields."""
        unit: Any = self.unit
        return dataclasses.replace(self, unit=dataclasses.replace(unit, **changes))

    def compared(self) -> VectorSet:
        """The set without the fields that devices do not output: the unrounded intermediate."""
        return dataclasses.replace(self, unit=self.unit.compared())

    def at_level(self, level: str, count: int | None = None) -> VectorSet:
        """The set at a level, with its number of cases or another. Raises Error."""
        cases = _level_count(self.unit, level, count, self.where)
        return dataclasses.replace(self, level=level, count=cases)

    def of_count(self, count: int) -> VectorSet:
        """The set with another number of cases, no longer exhaustive."""
        return dataclasses.replace(self, count=count, level="" if self.level == EXHAUSTIVE else self.level)

    def of_seed(self, seed: int) -> VectorSet:
        """The set with other random cases, and other random words of the keyed generator."""
        sources = tuple(f"philox:seed={seed}" if x.startswith("philox") else x for x in self.sources)
        return dataclasses.replace(self, seed=seed, sources=sources if len(sources) == 1 else self.sources)

    def of_range(self, where: str) -> VectorSet:
        """The set with another range of the operands, no longer exhaustive."""
        return dataclasses.replace(self, where=where, level="" if self.level == EXHAUSTIVE else self.level)

    def __getstate__(self) -> dict[str, Any]:
        """Its definition, for processes that generate its lines."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    # -- as stored in a manifest -----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        return {
            "unit": stored(self.unit),
            "count": self.count,
            "level": self.level,
            "seed": self.seed,
            "generator": self.cases.generator,
            "random_sources": list(self.sources),
            **({"unboxed": self.unboxed} if self.unboxed else {}),
            **({"where": self.where} if self.where else {}),
            **({"operands": self.operands.to_dict()} if self.operands else {}),
        }

    @staticmethod
    @in_full()
    def from_dict(table: Mapping[str, Any]) -> VectorSet:
        """The set a manifest stores. Raises Error for one that this version cannot make."""
        try:
            unit = restored(table["unit"])
            operands = TensorOperands.from_dict(table["operands"]) if "operands" in table else None
            if table["generator"] != (known := _cases(unit, operands).generator):
                raise Error(f"cases of generator {table['generator']!r}; this version supports {known!r}")
            sources = tuple(str(x) for x in table["random_sources"])
            count, seed, level = table["count"], table["seed"], str(table["level"])
            unboxed, where = table.get("unboxed", 0), table.get("where", "")
            return VectorSet(unit, count, seed, sources, level, unboxed, where, operands=operands)
        except (KeyError, TypeError, AttributeError) as e:
            raise Error(f"the set's definition is incomplete or wrong: {e}") from None


def _cases(unit: Unit, operands: TensorOperands | None) -> type[Cases]:
    return cases_class(unit) if operands is None else cases_of_tensors(cases_class(unit))  # type: ignore[arg-type]


def of_unit(
    unit: Unit,
    count: int | None = None,
    level: str | int | None = None,
    seed: int = 0,
    source: str | None = None,
    where: str = "",
    description: str = "",
) -> VectorSet:
    """A set of a unit's cases. Raises Error."""
    chosen = "" if level is None else str(level)
    drawn = [part.random_field is not None for part in unit.parts]
    specs = tuple(parse_source(source or "philox", seed + i).spec() if x else "" for i, x in enumerate(drawn))
    cases = _level_count(unit, chosen, count, where)
    return VectorSet(unit, cases, seed, specs if any(specs) else (), chosen, where=where, description=description)


def _level_count(unit: Unit, level: str, count: int | None, where: str) -> int:
    """The number of cases of a level, unless a number is given; of an exhaustive one, of those within a range."""
    within = operand_range(where, unit)
    if level == EXHAUSTIVE and within is not None and len(unit.parts) == 1:
        cases_class(unit).space(unit)  # refuses what is too wide
        there = _space_within(unit, where)
        if count not in (None, there):
            raise Error(f"exhaustive generates all {there} cases: omit the number")
        if not there:
            raise Error(f"where: no case is such that {within.text}")
        return there
    return cases_class(unit).level_count(unit, level, count)


@lru_cache(maxsize=16)
def _space_within(unit: Unit, where: str) -> int:
    return CasesWithin(unit, OperandRange(where, unit)).space([f.width for f in unit.inputs if f.role == "operand"])
