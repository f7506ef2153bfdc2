"""The cases of a set: for any unit, and specialized for the kinds of unit that have a module here."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from softfloat_ref.base.disk_cache import CacheKey
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.executors import Workers
from softfloat_ref.coverage.by_fields import by_fields
from softfloat_ref.coverage.engine.directed import EXHAUSTIVE, LEVELS, MAX_EXHAUSTIVE_BITS, RANDOM, directed
from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.golden.cases import GENERATOR, random_cases
from softfloat_ref.golden.tags import UNTAGGED, Run
from softfloat_ref.golden.within import CasesWithin
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.sources import Philox, RandomSource, parse_source
from softfloat_ref.units import Line, Unit
from softfloat_ref.units.handlers import Handlers
from softfloat_ref.units.ranges.operand_range import OperandRange

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Types of files for any unit's lines.
LINES: Final = ("tv", "memh", "svh", "svpkg", "c", "csv", "jsonl", "npz", "coe", "mif", "ihex")
INSTRUCTIONS: Final = (*LINES, "riscv-asm", "riscv-inc")  # and for operations that processors have
ARRAYS_FROM: Final = 1 << 12  # lines from which arrays are faster
NEAR_CARRY_EVERY: Final = 8  # one random case in N is generated from its random bits
_CHUNK: Final = 1024
_DIRECTED_A_CASE: Final = 4  # directed cases of all operands that are looked at for each one within a range


class CaseRequest(Protocol):
    """The attributes of a set that its cases need."""

    @property
    def unit(self) -> Unit: ...
    @property
    def count(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def sources(self) -> tuple[str, ...]: ...
    @property
    def source(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def unboxed(self) -> int: ...
    @property
    def where(self) -> str: ...
    @property
    def within(self) -> OperandRange | None: ...
    @property
    def operands(self) -> Any: ...


class Cases:
    """The cases of a set, in their order: directed ones, each for a bin of a coverage model; then random ones.

    generator: its name in manifests. noun: what messages count. wide: whether a line is a block or a vector; a level
    has fewer of these. near_carry: whether some random cases are generated from their random bits. file_types: types
    that can hold this kind's lines; default: the types written by default. rule: the roundings in words, if there is no
    policy. streams: the use of the keyed generator's streams.
    """

    generator: ClassVar[str] = GENERATOR
    noun: ClassVar[str] = "vectors"
    wide: ClassVar[bool] = False
    near_carry: ClassVar[bool] = False
    file_types: ClassVar[tuple[str, ...]] = LINES
    default: ClassVar[tuple[str, ...]] = ("tv", "memh")
    rule: ClassVar[str] = ""
    streams: ClassVar[dict[str, int]] = {"operands": 1}

    def __init__(self, vectors: CaseRequest) -> None:
        self.vectors = vectors
        self.unit: Any = vectors.unit
        self.directed_cases: tuple[tuple[str, Line], ...] | None = None  # the directed cases, once they are

    def check(self) -> None:
        """Raise Error for an invalid set of this kind."""
        if self.vectors.unboxed:
            raise Error("unboxed applies only to mixed sets")
        _ = self.within  # refuses a range that no case can have

    def prepare(self, workers: Workers, advance: Callable[[str, int], None]) -> None:
        """Find what the cases need and what takes long, in those workers. advance: called with a label and the number
        of cases that are prepared."""

    @cached_property
    def within(self) -> CasesWithin | None:
        """The cases within the range of the operands, if there is one."""
        return None if self.vectors.within is None else CasesWithin(self.unit, self.vectors.within)

    # -- how many --------------------------------------------------------------------------------------------------

    @classmethod
    def space(cls, unit: Unit) -> int:
        """The number of cases of a unit's operands. Raises Error for more than 2^32."""
        bits = sum(f.width * f.lanes for f in unit.inputs if f.role == "operand")
        if cls.wide:
            raise Error(
                f"exhaustive applies only to scalar operations; {unit.properties()['op']} has fields of many codes"
            )
        if bits > MAX_EXHAUSTIVE_BITS:
            op = unit.properties()["op"]
            raise Error(f"{op} has 2^{bits} cases; exhaustive is limited to 2^{MAX_EXHAUSTIVE_BITS}")
        return 1 << bits

    @classmethod
    def level_count(cls, unit: Unit, level: str, count: int | None) -> int:
        """The number of cases of a level, unless a number is given."""
        if level == EXHAUSTIVE:
            there = cls.space(unit)
            if count not in (None, there):
                raise Error(f"exhaustive generates all {there} cases: omit the number")
            return there
        if count is not None:
            return count
        if not level:
            raise Error("the number of vectors is missing: give a number or a level")
        if level not in LEVELS:
            raise unknown("level", level, (*LEVELS, EXHAUSTIVE))
        return LEVELS[level].blocks if cls.wide else LEVELS[level].cases

    # -- which -----------------------------------------------------------------------------------------------------

    @property
    def coverage(self) -> Coverage | None:
        """The coverage models of the cases; None if there are none."""
        return coverage_by_fields(self.unit)

    @property
    def origin(self) -> CacheKey | None:
        """What the directed cases follow from, if they are worth keeping on disk."""
        return None

    def directed(self) -> tuple[tuple[str, Line], ...]:
        """The cases before the random ones: the bin each was generated for, and its inputs, most without random words.

        Cases that choose their random bits are left out if the unit generates these itself, as with an LFSR.
        """
        if self.directed_cases is None:
            self.directed_cases = self._directed()
        return self.directed_cases

    def _directed(self) -> tuple[tuple[str, Line], ...]:
        vectors, coverage = self.vectors, self.coverage
        if coverage is None or vectors.level == EXHAUSTIVE:
            return ()
        level = LEVELS[vectors.level or "1"]
        most = min(level.directed, vectors.count if vectors.level else vectors.count // 2)
        if self.within is None:
            cases = directed(coverage, level.each, most, self.origin)
        else:
            every = directed(coverage, level.each, min(level.directed, _DIRECTED_A_CASE * most), self.origin)
            cases = tuple(itertools.islice(self.within.directed(coverage, every), most))
        if self.unit.random_field is None or isinstance(self.source, Philox):
            return cases
        width = self.unit.operand_width
        return tuple((name, case[:width]) for name, case in cases if not coverage.chooses_words(name))

    def first(self, count: int) -> Run:
        """The cases between the directed and the random ones, if there are `count` in all: tag and number."""
        return RANDOM, 0

    def tag_runs(self) -> Iterator[Run]:
        """The reasons of the cases: tag and number of cases, in the order of `inputs`."""
        if self.vectors.level == EXHAUSTIVE:
            yield EXHAUSTIVE, self.vectors.count
            return
        cases = self.directed()
        yield from ((name, len(list(run))) for name, run in itertools.groupby(name for name, _ in cases))
        left = self.vectors.count - len(cases)
        tag, number = self.first(left) if self.within is None else (UNTAGGED, left)
        number = min(number, left)
        yield from (run for run in ((tag, number), (RANDOM, left - number)) if run[1])

    def inputs(self) -> Iterator[Line]:
        """The inputs of each case: operands, then random words."""
        first = self.directed_inputs()
        yield from first
        numbered = iter(self.others(self.vectors.count - len(first)))
        position = len(first)
        while chunk := list(itertools.islice(numbered, _CHUNK)):
            for inputs, words in zip(chunk, self.random(position, len(chunk)), strict=True):
                if words and self.makes_near_carry_cases and position % NEAR_CARRY_EVERY == 0:
                    near = self.near_carry_case(inputs, words, position // NEAR_CARRY_EVERY)
                    inputs = near if self.within is None or self.within.holds(near) else inputs
                yield (*inputs, *words)
                position += 1

    def directed_inputs(self) -> list[Line]:
        """The directed cases, each with random words: its own, or those of its position."""
        cases = [case for _, case in self.directed()]
        words = self.random(0, len(cases))
        width = self.unit.input_width
        return [case if len(case) == width else (*case, *own) for case, own in zip(cases, words, strict=True)]

    def others(self, count: int) -> Iterator[Line]:
        """The operands of the cases that are not directed."""
        if self.vectors.level == EXHAUSTIVE:
            widths = [f.width for f in self.unit.inputs if f.role == "operand" for _ in range(f.lanes)]
            every = itertools.product(*(range(1 << width) for width in widths))
            return every if self.within is None else self.within.every(widths)
        if self.within is None:
            return self.operands(count)
        return self.within.chosen(self.operands(self.within.candidates(count)), count)

    def operands(self, count: int) -> Iterator[Line]:
        """The operands of `count` random cases."""
        fields = [f for f in self.unit.inputs if f.role == "operand"]
        formats = [f.fmt or get_format(f"u{f.width}") for f in fields for _ in range(f.lanes)]
        return random_cases(formats, self.vectors.seed, count)

    @property
    def makes_near_carry_cases(self) -> bool:
        """Whether some of the random cases are generated from their random bits."""
        return self.near_carry and self.vectors.level != EXHAUSTIVE

    def near_carry_case(self, inputs: Line, words: Sequence[int], turn: int) -> Line:
        """Operands whose discarded bits meet their own random bits."""
        return inputs

    def random(self, start: int, count: int) -> Iterator[Sequence[int]]:
        """The random words of each of `count` lines from `start` on."""
        field = self.unit.random_field
        if field is None:
            return itertools.repeat((), count)
        words = iter(self.source.bits(field.width, start * field.lanes, count * field.lanes))
        return zip(*[words] * field.lanes, strict=True)

    @property
    def source(self) -> RandomSource:
        return parse_source(self.vectors.source) if self.vectors.source else Philox(self.vectors.seed)

    # -- at once ---------------------------------------------------------------------------------------------------

    @property
    def chunked(self) -> bool:
        """Whether chunks of the cases are generated and evaluated in arrays, as in large sets (golden/bulk.py)."""
        return False

    @property
    def in_arrays(self) -> bool:
        """Whether the set is so large that its lines are evaluated in arrays, if the unit supports it."""
        return self.vectors.count >= ARRAYS_FROM and self.answers_in_arrays

    @property
    def answers_in_arrays(self) -> bool:
        """Whether the unit supports it."""
        return type(self.unit).answers is not Unit.answers

    @property
    def drawn_in_arrays(self) -> bool:
        """Whether `rows` gives the cases."""
        return False

    def rows(self, start: int, count: int) -> NDArray[np.uint64]:
        """The inputs of `count` cases from `start` on, as `inputs` gives them, a row each. Requires
        `drawn_in_arrays`."""
        raise NotImplementedError

    # -- in words --------------------------------------------------------------------------------------------------

    def conventions(self) -> list[dict[str, Any]]:
        """Rounding, overflow, NaN rule, tininess and flushes of each kind of line, in effect."""
        return [{"op": self.unit.properties()["op"], **({"rule": self.rule} if self.rule else {})}]


@lru_cache(maxsize=64)
def coverage_by_fields(unit: Unit) -> Coverage:
    """The coverage of a unit by the classes of its fields."""
    return by_fields(unit.fields, unit.answer)


_CASES: Final = Handlers(Cases)
register: Final = _CASES.register
cases_class: Final = _CASES.of
