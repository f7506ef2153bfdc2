"""The suite of block quantization: MX, NVFP4 and their relatives."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.oracle.blocks.dequantize import dequantize_block
from softfloat_ref.oracle.blocks.formats import BlockFormat, get_block_format
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.quantize import element_policy, quantize_block, resolve
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.literals import hexadecimal, shortest
from softfloat_ref.oracle.policies import Policy, get_policy, rounding_name
from softfloat_ref.testing import strategies
from softfloat_ref.testing.conformance.operation import SYMMETRIC, exact_code
from softfloat_ref.testing.conformance.suite import ConformanceSuite, Properties, Trial, model_code
from softfloat_ref.testing.operation import policy_options

MAX_SHOWN_VALUES: Final = 8
_IDEMPOTENT_RULES: Final = frozenset(("floor", "ceil", "rceil", "even"))


class ModelBlock(NamedTuple):
    """A model's block: the scale's code and the elements' codes."""

    scale: int
    codes: tuple[int, ...]


@dataclass(frozen=True)
class BlockSetup:
    """Block format, the values' format, profile, the elements' policy, number of values."""

    fmt: BlockFormat
    source: Format
    profile: Profile
    policy: Policy
    size: int

    @property
    def rounding(self) -> str:
        return rounding_name(self.policy.rounding)

    @property
    def powers(self) -> bool:
        """Whether scales are powers of two, of an ordinary exponent."""
        return self.fmt.scale.mantissa_bits == 0 and self.profile.arithmetic == "exact"


class BlockTrial(Trial[BlockSetup, Sequence[int], ModelBlock]):
    """Queries the model for blocks."""

    def block(self, codes: Sequence[int]) -> ModelBlock:
        __tracebackhide__ = True
        return self.ask(codes)[0]

    def misfit(self, block: ModelBlock) -> str:
        element, scale = self.setup.fmt.element.width, self.setup.fmt.scale.width
        fits = not block.scale >> scale and not any(x >> element for x in block.codes)
        return "" if fits else f"codes of {element} bits, a scale of {scale}"

    def values(self, codes: Sequence[int]) -> list[Value]:
        return [decoder(self.setup.source)(x) for x in codes]

    def oracle(self, codes: Sequence[int]) -> ModelBlock:
        """The right block. Raises Undefined where the profile has none."""
        s = self.setup
        block = quantize_block(self.values(codes), s.fmt, s.profile, s.policy)
        return ModelBlock(block.scale, block.codes)

    def numbers(self, block: ModelBlock) -> list[Value]:
        """What a block stands for."""
        return dequantize_block(block.scale, block.codes, self.setup.fmt)

    def case_lines(self, codes: Sequence[int], block: ModelBlock) -> list[str]:
        s = self.setup
        used = max((i + 1 for i, x in enumerate(codes) if x), default=1)
        lines = [f"{s.fmt.name}, profile {s.profile.name}, {s.rounding}: {len(codes)} values of {s.source.name}"]
        values = self.values(codes[:used])
        lines += [
            f"  {f'{i}:':9}{s.source.hex(codes[i])} = {shortest(v)}" for i, v in enumerate(values[:MAX_SHOWN_VALUES])
        ]
        lines += [
            f"  {'':9}and {len(codes) - min(used, MAX_SHOWN_VALUES)} more"
            + ("" if used > MAX_SHOWN_VALUES else ", zeros")
        ]
        lines.append(f"  got      {_block(block, used, s.fmt)}")
        try:
            lines.append(f"  oracle   {_block(self.oracle(codes), used, s.fmt)}")
        except Undefined as e:
            lines.append(f"  oracle   {e}")
        shown = " ".join(hexadecimal(v) if v.is_finite else shortest(v) for v in values)
        options = [x for x in policy_options(s.policy, s.profile.rounding) if x.startswith("--round")]
        command = [f"softfloat-ref explain --fmt {s.fmt.name} --profile {s.profile.name}", *options, "--", shown]
        return [*lines, f"  {' '.join(command)}"]


def _block(block: ModelBlock, used: int, fmt: BlockFormat) -> str:
    codes = " ".join(fmt.element.hex(x) for x in block.codes[:used])
    return f"{fmt.scale.hex(block.scale)}: {codes}{' ...' if used < len(block.codes) else ''}"


def _blocks(setup: BlockSetup) -> SearchStrategy[list[int]]:
    refused = "error" in (setup.profile.nan, setup.profile.inf)
    return strategies.blocks(setup.fmt, setup.source, size=setup.size, finite=refused)


def _numbers(setup: BlockSetup) -> SearchStrategy[list[int]]:
    return strategies.blocks(setup.fmt, setup.source, size=setup.size, finite=True)


_prop: Final = Properties[BlockSetup](_blocks)


@_prop()
def oracle(t: BlockTrial, codes: list[int]) -> None:
    """The scale and the elements are the oracle's."""
    try:
        right = t.oracle(codes)
    except Undefined:
        return
    t.require(t.block(codes) == right, "the oracle's block")


def _powers(setup: BlockSetup) -> str:
    return "" if setup.powers else f"scales of {setup.fmt.scale.name} are not powers of two"


def _stable(setup: BlockSetup) -> str:
    rule = setup.profile.scale_rule
    return _powers(setup) or ("" if rule in _IDEMPOTENT_RULES else f"scale rule {rule} may choose another scale")


@_prop(_numbers, _stable)
def idempotent(t: BlockTrial, codes: list[int]) -> None:
    """The values of a quantized block are not changed by quantizing them again."""
    numbers = t.numbers(t.block(codes))
    again = [exact_code(x.as_fraction(), t.setup.source) if x.is_finite else None for x in numbers]
    codes_again = [x for x in again if x is not None]
    if len(codes_again) < len(again) or any(_flushed(t, x) for x in codes_again):
        return
    second = t.numbers(t.block(codes_again))
    t.require(_same(numbers, second), "the same values as of the first block")


def _flushed(t: BlockTrial, code: int) -> bool:
    x = decoder(t.setup.source)(code)
    return x.significand != 0 and abs(x.as_fraction()) < Fraction(2) ** t.setup.profile.flush_below


def _same(one: Sequence[Value], two: Sequence[Value]) -> bool:
    return all(
        x.is_finite and y.is_finite and x.as_fraction() == y.as_fraction() for x, y in zip(one, two, strict=True)
    )


def _symmetric(setup: BlockSetup) -> str:
    element = setup.fmt.element
    if not element.signed or setup.profile.integers == "full":
        return f"{element.name} does not have the opposite of every value"
    return "" if setup.rounding in SYMMETRIC else f"{setup.rounding} rounds toward one side"


@_prop(_numbers, _symmetric)
def sign_symmetry(t: BlockTrial, codes: list[int]) -> None:
    """Opposite values give the same scale and opposite elements."""
    first = t.block(codes)
    second = t.block([x ^ t.setup.source.sign_bit for x in codes])
    one, two = t.numbers(first), t.numbers(second)
    opposite = all(x.is_nan or x.as_fraction() == -y.as_fraction() for x, y in zip(one, two, strict=True))
    t.require(first.scale == second.scale and opposite, "the same scale, opposite elements")


@_prop(lambda s: st.tuples(_blocks(s), st.permutations(range(s.size))))
def permutation(t: BlockTrial, drawn: tuple[list[int], list[int]]) -> None:
    """The scale does not depend on the order of the values, and the elements follow it."""
    codes, order = drawn
    first, second = t.block(codes), t.block([codes[i] for i in order])
    moved = tuple(first.codes[i] for i in order)
    t.require((first.scale, moved) == second, "the same scale, the elements in the other order")


@_prop(lambda s: st.tuples(_numbers(s), st.sampled_from([1, -1, 2, -3, 7])), _powers)
def scaling(t: BlockTrial, drawn: tuple[list[int], int]) -> None:
    """Values times 2^k give the same elements under a scale times 2^k, where neither is at the end of its range."""
    codes, k = drawn
    moved = []
    for x in t.values(codes):
        code = exact_code(x.as_fraction() * Fraction(2) ** k, t.setup.source)
        if code is None:
            return
        moved.append(code | (t.setup.source.sign_bit if x.sign else 0))
    if any(_flushed(t, code) for code in (*codes, *moved)):
        return
    first, second = t.block(codes), t.block(moved)
    scale = t.setup.fmt.scale
    ends = {scale.min_code, scale.max_code, scale.canonical_nan, scale.min_normal_code}
    if not {first.scale, second.scale} & ends:
        t.require((first.scale + k, first.codes) == second, f"a scale code {k} larger, the same elements")


@_prop(_numbers)
def monotonic(t: BlockTrial, codes: list[int]) -> None:
    """A larger value of a block does not become a smaller one."""
    values = [x.as_fraction() for x in t.values(codes)]
    numbers = t.numbers(t.block(codes))
    if any(x.is_nan for x in numbers):
        return
    pairs = sorted(zip(values, (x.as_fraction() for x in numbers), strict=True))
    t.require(all(x <= y for (_, x), (_, y) in itertools.pairwise(pairs)), "elements in the values' order")


@_prop(lambda s: st.sampled_from([0, s.source.sign_bit]))
def zeros(t: BlockTrial, code: int) -> None:
    """A block of zeros is zero."""
    numbers = t.numbers(t.block([code] * t.setup.size))
    t.require(all(x.is_zero for x in numbers), "zeros")


def _nan_block(setup: BlockSetup) -> str:
    return "" if setup.profile.nan == "block" else f"profile {setup.profile.name} keeps a NaN in its element"


@_prop(lambda s: st.tuples(_blocks(s), st.integers(0, s.size - 1)), _nan_block)
def nan(t: BlockTrial, drawn: tuple[list[int], int]) -> None:
    """A NaN among the values makes the scale the NaN."""
    codes, at = drawn
    codes = [*codes[:at], t.setup.source.canonical_nan, *codes[at + 1 :]]
    t.require(t.setup.fmt.scale.is_nan(t.block(codes).scale), t.setup.fmt.scale.hex(t.setup.fmt.scale.canonical_nan))


class BlockQuantizeConformance(ConformanceSuite[BlockSetup, Sequence[int], ModelBlock]):
    """The suite of a block quantizer: model(self, values), a list of codes of `source`, returns (scale, codes).

    fmt: the block format. profile, policy: as for `blocks.quantize`; roundings take no random bits here. size: values a
    block (default: the format's). Of formats with a second-level scale, that is 1.
    """

    fmt: ClassVar[str | BlockFormat] = ""
    source: ClassVar[str | Format] = "fp32"
    profile: ClassVar[str | Profile | None] = None
    policy: ClassVar[Policy | str | None] = None
    size: ClassVar[int] = 0
    properties = _prop.table
    trial = BlockTrial

    def setup(self) -> BlockSetup:
        self.required("fmt")
        fmt, profile = resolve(get_block_format(self.fmt), self.profile)
        policy = element_policy(None if self.policy is None else get_policy(self.policy), profile)
        if policy.random_count:
            raise Error(f"{type(self).__name__}: stochastic roundings are tested on elements (ConvertConformance)")
        size = self.size or max(fmt.size, 0)
        if size < 1 or (fmt.size > 0 and size > fmt.size):
            raise Error(f"{type(self).__name__}: size = {size}: a block of {fmt.name} has {fmt.size_name} values")
        return BlockSetup(fmt, get_format(self.source), profile, policy, size)

    def answer(self, codes: Sequence[int]) -> ModelBlock:
        answered = self.model(list(codes))
        if not isinstance(answered, (tuple, list)) or len(answered) != 2 or len(answered[1]) != len(codes):
            raise Error(f"the model returned {answered!r}; it returns (scale, codes), a code for each value")
        elements = tuple(model_code(x, f"element {i}") for i, x in enumerate(answered[1]))
        return ModelBlock(model_code(answered[0], "the scale"), elements)
