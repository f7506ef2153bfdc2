"""Vector sets: what a set asks for, the fields of its lines, and the expected values, from the scalar oracle."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from softfloat_ref import exact
from softfloat_ref.block_formats import (
    FP32,
    BlockFormat,
    any_format,
    dequantize_to_fp32,
    element_policy,
    largest_magnitude,
    quantize_block,
    resolve,
    tensor_scale_of,
)
from softfloat_ref.codec import decoder
from softfloat_ref.coverage.directed import EXHAUSTIVE, LEVELS, MAX_EXHAUSTIVE_BITS, RANDOM, directed
from softfloat_ref.coverage.protocol import Coverage
from softfloat_ref.coverage.scalar import scalar
from softfloat_ref.coverage.stochastic_tininess import at_the_edge
from softfloat_ref.errors import Error, Undefined, unknown
from softfloat_ref.formats import CATALOGUE, Format, define_format, get_format
from softfloat_ref.golden import block_cases
from softfloat_ref.golden.cases import GENERATOR, random_cases
from softfloat_ref.ops import Evaluator, Signature, evaluator, get_operation, signature
from softfloat_ref.policies import POLICIES, Policy, get_policy, rounding_name
from softfloat_ref.profiles import PROFILES, Profile, define_profile, get_profile
from softfloat_ref.sources import Philox, RandomSource, parse_source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Role = Literal["control", "operand", "random", "result", "flags", "intermediate"]
Line = tuple[int, ...]
BLOCK_OPERATIONS: Final = ("quantize", "dequantize")
FLAG_BITS: Final = 5
BULK_FROM: Final = 1 << 16  # lines that are worth loading compiled code for
BLOCKS_FROM: Final = 1 << 12  # lines of blocks
ARRAY_VALUES: Final = tuple(CATALOGUE[name] for name in ("fp16", "bf16", "tf32", "fp32", "fp64"))
_CHUNK: Final = 1024
PAIRS: Final = "pairs"  # the tag of blocks that show every pair of a scale and an element
EDGE: Final = 16
SHARP: Final = 8  # one stochastic conversion in so many is made for its random bits


@dataclass(frozen=True)
class Field:
    """A field of a line: `lanes` codes of `width` bits. Lane 0 comes first in text, and lowest in a memory word.

    Of mixed sets: codes, what the numbers of a control field stand for; padding, what is above narrower formats.
    """

    name: str
    role: Role
    width: int
    lanes: int = 1
    format: str = ""
    codes: tuple[str, ...] = ()
    padding: str = ""

    @property
    def digits(self) -> int:
        """Hexadecimal digits of a lane."""
        return -(-self.width // 4)


class Vectors(Protocol):
    """What writers and verification need of a set."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def fields(self) -> tuple[Field, ...]: ...
    def inputs(self) -> Iterator[Line]: ...
    def line(self, inputs: Sequence[int]) -> Line | None: ...
    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class VectorSet:
    """A request for vectors, complete: the same set gives the same bytes anywhere.

    For an operation, formats holds one format an operand. For `quantize` and `dequantize` it holds the format of the
    values (quantize only), and block is the block format. level: directed cases as that level has them, or every case
    there is; '' for those of level 1, in at most half of the set.
    """

    op: str
    formats: tuple[Format, ...]
    out: Format
    count: int
    seed: int = 0
    policy: Policy = POLICIES["ieee"]
    block: BlockFormat | None = None
    profile: Profile = PROFILES["ocp"]
    source: str = ""
    level: str = ""
    description: str = dataclasses.field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.level and self.level not in (*LEVELS, EXHAUSTIVE):
            raise unknown("level", self.level, (*LEVELS, EXHAUSTIVE))
        if type(self.count) is not int or self.count < 1:
            raise Error(f"{self.count!r} vectors: a set has at least one")
        if type(self.seed) is not int:
            raise Error(f"seed {self.seed!r} is no integer")
        Philox(self.seed)  # refuses what is no seed
        if not isinstance(self.source, str) or not isinstance(self.description, str):
            raise Error("random source and description are texts")
        if self.block is None:
            signature(get_operation(self.op), self.formats, self.out)
        elif self.op not in BLOCK_OPERATIONS or len(self.formats) != (self.op == "quantize"):
            raise Error(f"{self.op} with a block format: quantize has one format of values, dequantize none")
        if self.source:
            parse_source(self.source)
        if self.policy.random_count:
            self._source.bits(self.policy.random_count, 0, 1)
        if self.level == EXHAUSTIVE and self.count != space(self.op, self.formats):
            raise Error(f"{self.count} vectors: exhaustive has {space(self.op, self.formats)}")

    @staticmethod
    def make(
        op: str,
        fmt: str | Format | Sequence[str | Format],
        count: int | None = None,
        *,
        level: str | int | None = None,
        out: str | Format | None = None,
        seed: int = 0,
        policy: Policy | str | Mapping[str, Any] | None = None,
        profile: str | Profile | None = None,
        source: str | None = None,
        description: str = "",
    ) -> VectorSet:
        """A set from names. `quantize` and `dequantize` take a block format; out is then the format of the values.

        level: 0, 1, 2 or exhaustive; count then replaces the level's number of cases. One of the two is needed.
        """
        op = op.strip().lower().replace("-", "_")
        block = any_format(fmt) if op in BLOCK_OPERATIONS and isinstance(fmt, str) else fmt
        choice, rules = get_profile(profile or "ocp"), get_policy(policy)
        if isinstance(block, BlockFormat):
            block, choice = resolve(block, profile)
            block = dataclasses.replace(block, profile="ocp")  # the set's own profile says it all
            chosen = None if policy is None else rules
            if isinstance(policy, Mapping) and not {"rounding", "like"} & set(policy):
                chosen = rules.replace(rounding=choice.rounding)
            rules = element_policy(chosen, choice) if op == "quantize" else POLICIES["ieee"]
        spec = "" if not rules.random_count else parse_source(source or "philox", seed).spec()
        chosen_level = "" if level is None else str(level)
        common: dict[str, Any] = {
            "count": count,
            "level": chosen_level,
            "seed": seed,
            "policy": rules,
            "source": spec,
            "profile": choice,
            "description": description,
        }
        if op in BLOCK_OPERATIONS:
            common["count"] = level_count(op, (), chosen_level, count)
            return _block_set(op, block, out, common)
        sig = signature(get_operation(op), fmt, out)
        common["count"] = level_count(op, sig.formats, chosen_level, count)
        return VectorSet(sig.operation.name, sig.formats, sig.out, **common)

    @cached_property
    def name(self) -> str:
        """A name for the files: operation, formats, rounding."""
        source = "_".join(dict.fromkeys(f.name for f in self.formats)) if self.block is None else self.block.name
        to = "" if self.out.name in (source, "u1", "u10") and self.block is None else f"_to_{self.out.name}"
        if self.block is not None:
            to = f"_from_{self.formats[0].name}" if self.op == "quantize" else f"_to_{self.out.name}"
        return re.sub(r"[^A-Za-z0-9.]", "_", f"{self.op}_{source}{to}_{rounding_name(self.policy.rounding)}")

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The fields of a line, in the order of the text."""
        n = self.policy.random_count
        if self.block is not None:
            return self._block_fields(self.block, n)
        operands = [Field("abcdefghi"[i], "operand", f.width, format=f.name) for i, f in enumerate(self.formats)]
        random = [Field("r", "random", n)] if n else []
        return (
            *operands,
            *random,
            Field("result", "result", self.out.width, format=self.out.name),
            Field("flags", "flags", FLAG_BITS),
        )

    def _block_fields(self, block: BlockFormat, n: int) -> tuple[Field, ...]:
        scale = Field("scale", "operand", block.scale.width, 1, block.scale.name)
        elements = Field("elements", "operand", block.element.width, block.size, block.element.name)
        second = [Field("tensor_scale", "operand", FP32.width, format=FP32.name)] if self._two_levels else []
        if self.op == "dequantize":
            return scale, elements, *second, Field("values", "result", self.out.width, block.size, self.out.name)
        values = Field("values", "operand", self.formats[0].width, block.size, self.formats[0].name)
        random = [Field("r", "random", n, block.size)] if n else []
        return (
            values,
            *second,
            *random,
            dataclasses.replace(scale, role="result"),
            dataclasses.replace(elements, role="result"),
        )

    @property
    def coverage(self) -> Coverage | None:
        """The models that say what this set's cases cover; None where there are none."""
        from softfloat_ref.coverage import modelled

        if self.block is not None and self.op == "dequantize":
            return modelled.dequantization(self.block, self.profile)
        if self.block is not None:
            return modelled.quantization(self.block, self.formats[0], self.profile, self.policy)
        return scalar(Signature(get_operation(self.op), self.formats, self.out), self.policy)

    def directed(self) -> tuple[tuple[str, Line], ...]:
        """The cases before the random ones: the bin each was made for, and its inputs, most without random words.

        Those that choose their random bits are left out where a unit makes these itself, as with an LFSR.
        """
        coverage = self.coverage
        if coverage is None or self.level == EXHAUSTIVE:
            return ()
        level = LEVELS[self.level or "1"]
        made = directed(coverage, level.each, min(level.directed, self.count if self.level else self.count // 2))
        if self.policy.random_count and not isinstance(self._source, Philox):
            width = sum(f.lanes for f in self.fields if f.role == "operand")
            by_position = [x for x in made if len(x[1]) == width or (self.block and not x[0].startswith("BX/"))]
            return tuple((name, case[:width]) for name, case in by_position)
        return made

    def tag_runs(self) -> Iterator[tuple[str, int]]:
        """Why the cases are there: tag and number of cases, in the order of `inputs`."""
        if self.level == EXHAUSTIVE:
            yield EXHAUSTIVE, self.count
            return
        made = self.directed()
        yield from ((name, len(list(run))) for name, run in itertools.groupby(name for name, _ in made))
        left = self.count - len(made)
        if self.block is not None and self.op == "dequantize" and left:
            pairs = min(block_cases.pairs(self.block), left)
            yield PAIRS, pairs
            left -= pairs
        if left:
            yield RANDOM, left

    def inputs(self) -> Iterator[Line]:
        """The inputs of each case: operands, then random words."""
        made = self.directed_inputs()
        yield from made
        numbered = iter(self._operands(self.count - len(made)))
        position = len(made)
        while chunk := list(itertools.islice(numbered, _CHUNK)):
            for inputs, words in zip(chunk, self._random(position, len(chunk)), strict=True):
                if words and self.sharpens and position % SHARP == 0:
                    inputs = self._sharp(inputs, words, position // SHARP)
                yield (*inputs, *words)
                position += 1

    def directed_inputs(self) -> list[Line]:
        """The directed cases, each with random words: its own, or those of its position."""
        made = [case for _, case in self.directed()]
        width = sum(f.lanes for f in self.fields if f.role in ("operand", "random"))
        words = self._random(0, len(made))
        return [case if len(case) == width else (*case, *own) for case, own in zip(made, words, strict=True)]

    @property
    def sharpens(self) -> bool:
        """Whether some of the random cases are made for their random bits."""
        return self.op in ("convert", "quantize") and self.level != EXHAUSTIVE

    def _sharp(self, inputs: Line, words: Sequence[int], turn: int) -> Line:
        if self.block is None:
            return self.sharpened(inputs, words[0], turn)
        from softfloat_ref.coverage import block_events, block_stochastic

        where = block_events.block_setting(self.block, self.formats[0], self.profile, self.policy)
        return block_stochastic.sharpened(where, inputs, words, turn)

    def sharpened(self, inputs: Line, r: int, turn: int) -> Line:
        """An operand whose discarded bits meet its own random bits: just enough to go up, just not, or nothing.

        One in sixteen of these does so just below the smallest normal number.
        """
        source, n = self.formats[0], self.policy.random_count
        if turn % EDGE == 0:
            edge = at_the_edge(source, self.out, n, r, turn // EDGE)
            if edge is not None:
                return (edge,)
        below = source.mantissa_bits - self.out.mantissa_bits - n
        if below < 0 or source.twos_complement or self.out.twos_complement:
            return inputs
        fraction = (-r, -r - 1, 0)[turn % 3] % (1 << n)
        kept = inputs[0] >> (below + n) << (below + n)
        return (kept | fraction << below,)

    def _operands(self, count: int) -> Iterator[Line]:
        """The operands of the cases that are not directed."""
        if self.level == EXHAUSTIVE:
            return itertools.product(*(range(1 << f.width) for f in self.formats))
        if self.block is None:
            return random_cases(self.formats, self.seed, count)
        if self.op == "dequantize":
            found = block_cases.code_blocks(self.block, self.seed, count)
        else:
            found = block_cases.value_blocks(self.block, self.formats[0], self.seed, count)
        return map(self._with_tensor_scale, found, itertools.count()) if self._two_levels else found

    @property
    def _two_levels(self) -> bool:
        """Whether each line has a tensor scale."""
        return self.block is not None and self.profile.tensor_scale != "none"

    def _with_tensor_scale(self, inputs: Line, turn: int) -> Line:
        """The tensor scale of a tensor whose largest magnitude is up to seven binades above this block's; or 1."""
        assert self.block is not None
        values = [decoder(self.formats[0])(x) for x in inputs] if self.op == "quantize" else []
        amax = largest_magnitude([x for x in values if x.is_finite and not x.is_zero])
        if self.op == "dequantize":
            amax = exact.finite(0, 1 + turn % 1000, turn % 40 - 20)
        amax = None if amax is None or turn % 8 == 7 else amax._replace(exponent=amax.exponent + turn % 8)
        return (*inputs, tensor_scale_of(amax, self.block, self.profile))

    def _random(self, start: int, count: int) -> Iterator[Sequence[int]]:
        """The random words of each of `count` lines from `start` on."""
        n = self.policy.random_count
        if not n:
            return itertools.repeat((), count)
        lanes = self.block.size if self.block else 1
        words = iter(self._source.bits(n, start * lanes, count * lanes))
        return zip(*[words] * lanes, strict=True)

    def random_array(self, start: int, count: int) -> NDArray[np.int64]:
        """The random words of `count` lines from `start` on, of an operation; at most 63 bits each."""
        return self._source.array(self.policy.random_count, start, count).view("i8")

    @cached_property
    def _source(self) -> RandomSource:
        return parse_source(self.source) if self.source else Philox(self.seed)

    def line(self, inputs: Sequence[int]) -> Line | None:
        """Inputs (operands, then random words) with what must come out; None where that is not defined."""
        try:
            return (*inputs, *self._expected(inputs))
        except Undefined:
            return None

    def _expected(self, inputs: Sequence[int]) -> Sequence[int]:
        if self.block is None:
            arity = len(self.formats)
            return self._run(inputs[:arity], inputs[arity] if len(inputs) > arity else 0)
        size = self.block.size
        after = size + (self.op == "dequantize")  # of the block itself
        rest = inputs[after + self._two_levels :]
        factor = decoder(FP32)(inputs[after]) if self._two_levels else exact.finite(0, 1, 0)
        if self.op == "dequantize":
            return dequantize_to_fp32(inputs[0], inputs[1:after], self.block, self.profile, factor)
        decode = decoder(self.formats[0], self.policy.flush_inputs)
        values = [decode(x) for x in inputs[:size]]
        found = quantize_block(values, self.block, self.profile, self.policy, rest or None, factor)
        return found.scale, *found.codes

    @cached_property
    def _run(self) -> Evaluator:
        return evaluator(Signature(get_operation(self.op), self.formats, self.out), self.policy)

    # -- as stored in a manifest ---------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The full definition: every format and the policy by their fields, not their names."""
        return {
            "op": self.op,
            "formats": [f.to_dict() for f in self.formats],
            "out": self.out.to_dict(),
            "count": self.count,
            "level": self.level,
            "seed": self.seed,
            "generator": GENERATOR,
            "policy": self.policy.to_dict(),
            "random_source": self.source or None,
            "block": self.block and self.block.to_dict(),
            "profile": self.profile.to_dict() if self.block else None,
        }

    @staticmethod
    def from_dict(table: Mapping[str, Any]) -> VectorSet:
        """The set a manifest stores. Raises Error for one that this version cannot make."""
        try:
            if table["generator"] != GENERATOR:
                raise Error(f"cases of generator {table['generator']!r}; this version has {GENERATOR!r}")
            block = None if table["block"] is None else _stored_block(table["block"])
            return VectorSet(
                str(table["op"]),
                tuple(define_format(f) for f in table["formats"]),
                define_format(table["out"]),
                table["count"],
                table["seed"],
                Policy(**table["policy"]),
                block,
                define_profile(table["profile"]) if table["profile"] else PROFILES["ocp"],
                str(table["random_source"] or ""),
                str(table["level"]),
            )
        except (KeyError, TypeError, AttributeError) as e:
            raise Error(f"the set's definition is incomplete or wrong: {e}") from None


def space(op: str, formats: Sequence[Format]) -> int:
    """How many cases there are of an operation's operands. Raises Error for more than 2^32, and for blocks."""
    bits = sum(f.width for f in formats)
    if op in BLOCK_OPERATIONS:
        raise Error(f"exhaustive is for scalar operations; {op} works on blocks")
    if bits > MAX_EXHAUSTIVE_BITS:
        raise Error(f"{op} has 2^{bits} cases; exhaustive is for at most 2^{MAX_EXHAUSTIVE_BITS}")
    return 1 << bits


def level_count(op: str, formats: Sequence[Format], level: str, count: int | None) -> int:
    """How many cases a level has, unless a number is given."""
    if level == EXHAUSTIVE:
        there = space(op, formats)
        if count not in (None, there):
            raise Error(f"exhaustive is all {there} cases: leave the number out")
        return there
    if count is not None:
        return count
    if level not in LEVELS:
        raise (
            Error("how many vectors? give a number, or a level")
            if not level
            else unknown("level", level, (*LEVELS, EXHAUSTIVE))
        )
    return LEVELS[level].blocks if op in BLOCK_OPERATIONS else LEVELS[level].cases


def in_bulk(vectors: VectorSet) -> bool:
    """Whether a set is large, and of an operation on codes that 64-bit integers hold: golden/bulk.py then makes it."""
    if vectors.block is not None or vectors.count < BULK_FROM or vectors.policy.random_count > 63:
        return False
    formats = (*vectors.formats, vectors.out)
    return all(f.width < 64 or (f.width == 64 and f.exponent_bits > 0) for f in formats)


def in_arrays(vectors: VectorSet) -> bool:
    """Whether a set is large, and of blocks that have no tensor scale each, of values that arrays hold:
    golden/block_lines.py then makes its lines, where it can."""
    if vectors.block is None or vectors.count < BLOCKS_FROM or vectors.policy.random_count > 63:
        return False
    held = vectors.op == "dequantize" or vectors.formats[0] in ARRAY_VALUES
    return held and vectors.profile.tensor_scale == "none"


def _stored_block(table: Mapping[str, Any]) -> BlockFormat:
    return BlockFormat(
        str(table["name"]), define_format(table["element"]), define_format(table["scale"]), table["size"]
    )


def _block_set(op: str, block: object, out: str | Format | None, common: dict[str, Any]) -> VectorSet:
    if not isinstance(block, BlockFormat):
        raise Error(f"{op} works on blocks; give a block format, as mxfp8 (scalar conversions are op convert)")
    if block.size < 1:
        raise Error(f"vectors hold one block a line; {block.name} has one scale for a whole {block.size_name}")
    values = get_format(out or "fp32")
    if op == "dequantize":
        if values != CATALOGUE["fp32"]:
            raise Error("dequantize gives fp32")
        return VectorSet(op, (), values, block=block, **{**common, "source": ""})
    if not values.exponent_bits or not values.signed or not values.has_normals:
        raise Error(f"quantize takes blocks of values of a signed float format, as fp32, not {values.name}")
    return VectorSet(op, (values,), block.element, block=block, **common)
