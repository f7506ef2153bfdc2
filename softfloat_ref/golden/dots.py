"""Vector sets of dot products: operands, scales and addend in, what the accumulator makes of them out."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from softfloat_ref.accumulate import Accumulator, define_accumulator, get_accumulator, parse_operand_formats
from softfloat_ref.accumulate.dots import Operand, Setting, accumulate, products, run, setting
from softfloat_ref.accumulate.evaluate import Stage
from softfloat_ref.block_formats import BlockFormat, any_format, define_block_format
from softfloat_ref.codec import decoder
from softfloat_ref.coverage.directed import LEVELS, RANDOM, directed
from softfloat_ref.coverage.protocol import Coverage
from softfloat_ref.errors import Error, unknown
from softfloat_ref.formats import Format, define_format, get_format
from softfloat_ref.golden.dot_cases import Case, Operands, crossed, random_case
from softfloat_ref.golden.sets import FLAG_BITS, Field, Line
from softfloat_ref.policies import POLICIES, Policy
from softfloat_ref.sources import Philox

DOT: Final = "dot"
DOT_GENERATOR: Final = "dot-2"
CROSSED: Final = "crossed"  # the tag of cases that cross special values, scales and places
DEFAULT_K: Final = 16
MAX_K: Final = 4096
AnyFormat = Format | BlockFormat


@dataclass(frozen=True)
class DotSet:
    """A request for dot products of k elements, complete: the same set gives the same bytes anywhere.

    steps: whether each line also holds the running result after every step of the accumulator, for a bench that
    compares stage by stage.
    """

    a: AnyFormat
    b: AnyFormat
    c: Format
    out: Format
    accumulator: Accumulator
    k: int
    count: int
    seed: int = 0
    steps: bool = False
    extrapolate: bool = False
    level: str = ""
    description: str = dataclasses.field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.level and self.level not in LEVELS:
            raise unknown("level", self.level, LEVELS)
        for name, low, high in (("count", 1, None), ("k", 1, MAX_K), ("seed", 0, None)):
            value = getattr(self, name)
            if type(value) is not int or value < low or (high is not None and value > high):
                raise Error(f"{name} = {value!r}: an integer from {low}" + (f" to {high}" if high else ""))
        Philox(self.seed)
        for x in (self.a, self.b):
            if isinstance(x, BlockFormat) and (x.size < 1 or self.k % x.size):
                whole = f"a multiple of {x.size}" if x.size > 0 else "a block size: ELEMENT@SCALE/SIZE"
                raise Error(f"{self.k} elements are no whole blocks of {x.name}; choose {whole}")
        if not self.c.exponent_bits or not self.c.signed:
            raise Error(f"c is of a signed float format, as fp32, not {self.c.name}")
        self.setting  # noqa: B018  (refuses what does not fit)

    @staticmethod
    def make(
        fmt: Any,
        count: int,
        *,
        acc: str | Accumulator | Mapping[str, Any] = "",
        k: int | None = None,
        out: str | Format | None = None,
        seed: int = 0,
        steps: bool = False,
        extrapolate: bool = False,
        level: str = "",
        description: str = "",
    ) -> DotSet:
        """A set from names. fmt: of both operands, or `a=..,b=..,c=..`; acc: mx-fp32 for blocks, else fp32-sequential;
        k: one block, or 16 elements, where nothing is said."""
        names = parse_operand_formats(fmt)
        a, b = (_plain(any_format(x)) for x in names[:2] if x is not None)
        blocks = [x for x in (a, b) if isinstance(x, BlockFormat)]
        found = get_format(out or "fp32")
        unit = get_accumulator(acc or ("mx-fp32" if blocks else "fp32-sequential"))
        size = k or max((x.size for x in blocks if x.size > 0), default=DEFAULT_K)
        c = found if names[2] is None else get_format(names[2])  # type: ignore[arg-type]
        return DotSet(a, b, c, found, unit, size, count, seed, steps, extrapolate, level, description)

    @cached_property
    def setting(self) -> Setting:
        """Everything but the values."""
        a, b = (self._operand(x, (0,) * self.k, (0,) * self._blocks(x)) for x in (self.a, self.b))
        return setting(a, b, self.accumulator, self.out, self.c, extrapolate=self.extrapolate)

    def _blocks(self, x: AnyFormat) -> int:
        return self.k // x.size if isinstance(x, BlockFormat) else 0

    @staticmethod
    def _operand(fmt: AnyFormat, codes: tuple[int, ...], scales: tuple[int, ...]) -> Operand:
        if isinstance(fmt, BlockFormat):
            return Operand(fmt.element, codes, fmt.scale, scales, fmt.size)
        return Operand(fmt, codes)

    @cached_property
    def name(self) -> str:
        """A name for the files: formats and accumulator."""
        formats = "_".join(dict.fromkeys((self.a.name, self.b.name)))
        return re.sub(r"[^a-z0-9]+", "_", f"dot_{formats}_{self.accumulator.name}".lower()).strip("_")

    @property
    def policy(self) -> Policy:
        """Of the comparison: there is no rounding to choose here."""
        return POLICIES["ieee"]

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Per operand its scales (if any) and elements; c; the running results (if wanted); result and flags."""
        fields: list[Field] = []
        for letter, x in (("a", self.a), ("b", self.b)):
            element = x
            if isinstance(x, BlockFormat):
                fields.append(Field(f"{letter}_scale", "operand", x.scale.width, self._blocks(x), x.scale.name))
                element = x.element
            assert isinstance(element, Format)
            fields.append(Field(letter, "operand", element.width, self.k, element.name))
        fields.append(Field("c", "operand", self.c.width, format=self.c.name))
        if self.steps:
            result = self.setting.result
            fields.append(Field("steps", "result", result.width, self.step_count, result.name))
        fields.append(Field("result", "result", self.out.width, format=self.out.name))
        return (*fields, Field("flags", "flags", FLAG_BITS))

    @cached_property
    def step_count(self) -> int:
        """How many steps the accumulator takes."""
        s = self.setting
        return -(-self.k // self.accumulator.step_for(s.formats, s.result, s.block, self.k))

    # -- cases ---------------------------------------------------------------------------------------------------

    @cached_property
    def operands(self) -> Operands:
        """What its cases are made of."""
        scales = [(x.scale, self._blocks(x)) if isinstance(x, BlockFormat) else (None, 0) for x in (self.a, self.b)]
        s = self.setting
        return Operands(*s.formats, s.c, self.k, scales[0][0], scales[1][0], scales[0][1], scales[1][1])

    @property
    def coverage(self) -> Coverage:
        """The models that say what this set's cases cover."""
        from softfloat_ref.coverage.modelled import dot_products

        return dot_products(self.a, self.b, self.c, self.out, self.accumulator, self.k, self.extrapolate)

    def directed(self) -> tuple[tuple[str, Line], ...]:
        """The cases that are made for a bin each: the bin, and the inputs."""
        level = LEVELS[self.level or "1"]
        return directed(self.coverage, level.each, min(level.directed, self.count if self.level else self.count // 2))

    @cached_property
    def _crossed(self) -> int:
        """How many cases cross special values, scales and places: at most half of those that are left."""
        most = (self.count - len(self.directed())) // 2
        return sum(1 for _ in itertools.islice(crossed(self.operands), most))

    def tag_runs(self) -> Iterator[tuple[str, int]]:
        """Why the cases are there: tag and number of cases, in the order of `inputs`."""
        made = self.directed()
        yield from ((name, len(list(run))) for name, run in itertools.groupby(name for name, _ in made))
        for tag, count in ((CROSSED, self._crossed), (RANDOM, self.count - len(made) - self._crossed)):
            if count:
                yield tag, count

    def inputs(self) -> Iterator[Line]:
        """Directed cases, crossed ones, then random ones."""
        made = self.directed()
        yield from (case for _, case in made)
        yield from map(self.inputs_of, itertools.islice(crossed(self.operands), self._crossed))
        source = Philox(self.seed)
        for i in range(self.count - len(made) - self._crossed):
            yield self.inputs_of(self._with_addend(random_case(self.operands, source, i), i))

    def _with_addend(self, case: Case, turn: int) -> Case:
        """c: as drawn; zero; what cancels the products, or misses that by one; what has their size."""
        if turn % 4 == 0:
            return case
        if turn % 4 == 1:
            return dataclasses.replace(case, c=0)
        code = run(self.setting, *self._sides(case), 0).bits
        value, fmt = decoder(self.out)(code), self.c
        if self.out != fmt or not value.is_finite or value.is_zero:
            return case
        if turn % 4 == 2:
            near = (code & fmt.magnitude_mask) + (turn >> 2) % 3 - 1
            return dataclasses.replace(case, c=min(max(near, 0), fmt.max_code) | (code & fmt.sign_bit ^ fmt.sign_bit))
        binades = ((turn >> 2) % 60 - 30) << fmt.mantissa_bits
        near = min(max((code & fmt.magnitude_mask) + binades, 0), fmt.max_code)
        return dataclasses.replace(case, c=near ^ (case.c & 0xFF & fmt.max_code) | case.c & fmt.sign_bit)

    def inputs_of(self, case: Case) -> Line:
        """A case as the inputs of a line."""
        return (*case.a_scales, *case.a, *case.b_scales, *case.b, case.c)

    def _sides(self, case: Case) -> tuple[Operand, Operand]:
        return self._operand(self.a, case.a, case.a_scales), self._operand(self.b, case.b, case.b_scales)

    def _case(self, inputs: Sequence[int]) -> Case:
        sizes = (self._blocks(self.a), self.k, self._blocks(self.b), self.k)
        parts, start = [], 0
        for size in sizes:
            parts.append(tuple(inputs[start : start + size]))
            start += size
        return Case(parts[1], parts[3], inputs[start], parts[0], parts[2])

    def sides(self, inputs: Sequence[int]) -> tuple[Operand, Operand, int]:
        """A line's inputs as the two vectors and c."""
        case = self._case(inputs)
        return *self._sides(case), case.c

    def line(self, inputs: Sequence[int]) -> Line | None:
        """The inputs with what must come out."""
        a, b, c = self.sides(inputs)
        stages: list[Stage] | None = [] if self.steps else None
        bits, flags = accumulate(self.setting, products(self.setting, a, b), c, stages)
        return (*inputs, *self._running(stages or []), bits, flags)

    def _running(self, stages: list[Stage]) -> list[int]:
        """The running result after each step: the last code that each step's stages have."""
        found: dict[int, int] = {}
        for stage in stages:
            if "step" in stage and "code" in stage:
                found[stage["step"]] = stage["code"]
        return [found[i] for i in range(self.step_count)] if self.steps else []

    # -- as stored in a manifest ---------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The full definition: formats and accumulator by their fields, not their names."""
        return {
            "op": DOT,
            "formats": {letter: stored(getattr(self, letter)) for letter in "abc"},
            "out": self.out.to_dict(),
            "accumulator": self.accumulator.to_dict(),
            "k": self.k,
            "steps": self.steps,
            "extrapolate": self.extrapolate,
            "count": self.count,
            "level": self.level,
            "seed": self.seed,
            "generator": DOT_GENERATOR,
            "layout": "lane i of a and b is element i; lane j of a_scale and b_scale is the scale of block j",
        }

    @staticmethod
    def from_dict(table: Mapping[str, Any]) -> DotSet:
        """The set a manifest stores. Raises Error for one that this version cannot make."""
        if table["generator"] != DOT_GENERATOR:
            raise Error(f"cases of generator {table['generator']!r}; this version has {DOT_GENERATOR!r}")
        formats = table["formats"]
        c = restored(formats["c"])
        if not isinstance(c, Format):
            raise Error("c is of a scalar format")
        return DotSet(
            restored(formats["a"]),
            restored(formats["b"]),
            c,
            define_format(table["out"]),
            define_accumulator(table["accumulator"]),
            table["k"],
            table["count"],
            table["seed"],
            table["steps"] is True,
            table["extrapolate"] is True,
            str(table["level"]),
        )


def _plain(fmt: AnyFormat) -> AnyFormat:
    """The format without its profile: how values become blocks does not matter here."""
    return dataclasses.replace(fmt, profile="ocp") if isinstance(fmt, BlockFormat) else fmt


def stored(fmt: AnyFormat) -> dict[str, Any]:
    """A format as a manifest stores it."""
    return _plain(fmt).to_dict()


def restored(table: Mapping[str, Any]) -> AnyFormat:
    """The format that a manifest stores. Raises Error."""
    return define_block_format(table) if "element" in table else define_format(table)
