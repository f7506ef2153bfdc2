"""Questions for an unknown device: directed cases, probes where candidates are known to differ, random ones."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from softfloat_ref import exact
from softfloat_ref.codec import encoder
from softfloat_ref.diagnosis.accumulator_space import AccumulatorSpace
from softfloat_ref.diagnosis.candidates import Question
from softfloat_ref.diagnosis.identify import Examiner
from softfloat_ref.diagnosis.policy_space import PolicySpace
from softfloat_ref.diagnosis.profile_space import DequantizeSpace, ProfileSpace
from softfloat_ref.formats import Format
from softfloat_ref.golden import block_cases
from softfloat_ref.golden.dots import DotSet
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.policies import Overflow, Policy
from softfloat_ref.scales import largest
from softfloat_ref.testing.check import Checkable

SCALAR: Final = 3000  # questions to choose from, half of them directed
DOTS: Final = 600
BLOCKS: Final = 60  # random blocks beside the probes
EXHAUSTIVE_BITS: Final = 16
_SECOND: Final = (0x3F800000, 0x3F900000, 0x3DCCCCCD, 0x42F6E979)  # second-level scales: 1, 1.125, 0.1, 123.456


def examiner(vectors: Checkable, nan: Any = None) -> Examiner[Any]:
    """The examiner for an operation: the set's policy, profile or accumulator is the base; its count is not used."""
    more: dict[str, Any] = {} if nan is None else {"nan": nan}
    if isinstance(vectors, DotSet):
        space = AccumulatorSpace(vectors)

        def at_unit(point: Any) -> AccumulatorSpace:
            return AccumulatorSpace(
                dataclasses.replace(vectors, accumulator=point), labels=space.labels, products=space.products
            )

        return Examiner(space, vectors, dot_questions(vectors), at_unit, **more)
    if vectors.block is None:
        return _scalar(vectors, more)
    if vectors.op == "dequantize":
        blocks = list(block_cases.code_blocks(vectors.block, 0, BLOCKS))
        return Examiner(
            DequantizeSpace(vectors),
            vectors,
            [*blocks, *_dequantize_probes(vectors)],
            lambda p: DequantizeSpace(vectors),
            **more,
        )
    profiles = ProfileSpace(vectors)

    def at_profile(point: Any) -> ProfileSpace:
        return ProfileSpace(profiles.made(point), reference=profiles.base)

    return Examiner(profiles, vectors, block_questions(vectors), at_profile, **more)


def _scalar(vectors: VectorSet, more: dict[str, Any]) -> Examiner[Any]:
    bits = sum(f.width for f in vectors.formats) + vectors.policy.random_count
    every: Callable[[], Iterable[Question]] | None = None
    if bits <= EXHAUSTIVE_BITS:
        widths = [f.width for f in vectors.formats] + (
            [vectors.policy.random_count] if vectors.policy.random_count else []
        )
        every = lambda: itertools.product(*(range(1 << w) for w in widths))  # noqa: E731
    questions = list(
        dict.fromkeys((*_crossed(vectors), *dataclasses.replace(vectors, count=SCALAR, level="").inputs()))
    )

    def at(point: Policy) -> PolicySpace:
        return PolicySpace(dataclasses.replace(vectors, policy=point), names_first=True, reference=vectors.policy)

    return Examiner(PolicySpace(vectors, names_first=True), vectors, questions, at, every, **more)


def _crossed(vectors: VectorSet) -> Iterator[Question]:
    """A few codes of each kind for each operand, every one with every one: NaNs with a payload among them."""
    words = ((0,), (1,))[: 1 + (vectors.policy.random_count > 0)] if vectors.policy.random_count else ((),)
    for case in itertools.product(*map(_kinds, vectors.formats)):
        yield from ((*case, *word) for word in words)


def _kinds(fmt: Format) -> list[int]:
    if fmt.is_integer:
        return [0, 1, fmt.max_code]
    encode = encoder(fmt, Policy(overflow=Overflow.SAT_FINITE))
    found = [0, fmt.sign_bit, encode(exact.finite(0, 1, 0), 0)[0], 1, fmt.max_code]
    found += [fmt.inf_code, fmt.inf_code | fmt.sign_bit] if fmt.infinity else []
    if fmt.has_nan and fmt.nan == "ieee":
        quiet = fmt.canonical_nan
        found += [quiet, quiet | 1, quiet | fmt.sign_bit | 2 % (fmt.quiet_bit or 1), fmt.inf_code | 1]
    elif fmt.has_nan:
        found.append(fmt.canonical_nan)
    return list(dict.fromkeys(found))


def dot_questions(vectors: DotSet) -> list[Question]:
    """Directed cases, among them those on which the named accumulators differ; then random ones."""
    made = dataclasses.replace(vectors, count=DOTS, level="")
    return list(dict.fromkeys(made.inputs()))


# -- blocks ----------------------------------------------------------------------------------------------------------


def block_questions(vectors: VectorSet) -> list[Question]:
    """Probes of every choice of a profile, then random blocks."""
    assert vectors.block is not None
    size = vectors.block.size
    rows = [(*row[:size], *(0,) * (size - len(row))) for row in _probes(vectors)]
    random = block_cases.value_blocks(vectors.block, vectors.formats[0], 0, BLOCKS)
    tail = tuple(x for f in vectors.fields if f.name == "tensor_scale" for x in [0x3F800000])
    words = vectors.policy.random_count
    noise = tuple((0x9E37 * (i + 1)) % (1 << words) for i in range(size)) if words else ()
    plain = ((*row, *tail, *noise) for row in (*rows, *random))
    if not tail:
        return list(dict.fromkeys(plain))
    turned = [(*row, _SECOND[i % len(_SECOND)], *noise) for i, row in enumerate(rows)]
    return list(dict.fromkeys((*plain, *turned)))


def _probes(vectors: VectorSet) -> Iterator[tuple[int, ...]]:
    """Blocks of codes of the values' format, as far as they differ from zero."""
    block, fmt = vectors.block, vectors.formats[0]
    assert block is not None
    encode = encoder(fmt, Policy(overflow=Overflow.SAT_FINITE))
    element = block.element
    top = largest(element)

    def code(significand: int, exponent: int, sign: int = 0) -> int:
        return encode(exact.finite(sign, significand, exponent), 0)[0]

    sign = fmt.sign_bit
    nan, inf = fmt.canonical_nan, fmt.inf_code if fmt.infinity else fmt.max_code
    one, small = code(1, 0), code(1, fmt.emin - fmt.mantissa_bits)
    # amax about the largest element, and about powers of two
    for shift in (0, 5, -9):
        for s in range(top.significand * 16 - 16, top.significand * 16 + 48):
            yield code(s, top.exponent - 4 + shift), code(3, shift), code(5, shift, 1)
    for s in (32, 33, 35, 40, 44, 45, 46, 47, 48, 56, 60, 61, 62, 63):
        yield code(s, -2), code(5, -9), code(7, -12, 1)
    # elements at midpoints, in both directions
    unit = top.exponent - 3
    for s in range(1, 48):
        yield (
            fmt.max_code and code(top.significand, top.exponent),
            code(s, unit),
            code(s, unit, 1),
            code(2 * s + 1, unit - 1),
            code(2 * s + 1, unit - 1, 1),
        )
    low = element.emin - element.mantissa_bits
    for s in range(24):
        yield (
            code(top.significand, top.exponent),
            code(s, low - 2),
            code(s, low - 2, 1),
            code(8 * s + 1, low - 5),
            code(8 * s - 1 if s else 1, low - 5),
        )
    # specials
    for special in (nan, inf, sign | inf, nan | sign):
        yield special, one, code(3, 1)
        yield one, code(3, 1), special
        yield (special,)
        yield special, special
        yield (special,) * block.size
        yield code(top.significand, top.exponent + 3), special, small
    yield inf, nan, one
    yield (*(inf,) * (block.size - 1), nan)
    # zeros, subnormals, the ends of the range
    yield ()
    yield (sign,)
    yield (sign, 0, sign)
    yield (sign, small, sign | small)
    yield (*(sign,) * block.size,)
    for e in (fmt.emin - 1, fmt.emin, fmt.emin + 1, fmt.emin + 2, fmt.emin + 8, fmt.emin + 9, fmt.emin + 20):
        for s in (1, 3, 7, 5):
            yield code(s, e), code(1, fmt.emin - 1), code(3, fmt.emin - 2, 1), sign, 0
            yield code(s, e), code(1, e - 1), code(1, e - 2, 1), code(3, e - 5), sign
    for down in (0, 1, 2, 1 << max(fmt.mantissa_bits - 3, 0), 1 << fmt.mantissa_bits, 9 << fmt.mantissa_bits):
        yield fmt.max_code - down, sign | fmt.max_code - down, one, sign
    for e in range(-14, 14):
        yield code(1, e), sign, code(1, e - 40, 1), 0, code(63, e - 6, 1)
        yield code(127, e), code(129, e - 9, 1), code(1, e - 20, 1), sign
    yield from _scale_range(block.scale, element, code)


def _scale_range(scale: Format, element: Format, code: Callable[..., int]) -> Iterator[tuple[int, ...]]:
    """Scales at the ends of their format."""
    for end in (scale.emin - scale.mantissa_bits, scale.emin, scale.emax):
        for off in range(-4, 4):
            for s in (16, 17, 24, 25, 31):
                yield code(s, end + element.emax + off - 4), code(3, end + off), code(1, end - 20, 1)


def _dequantize_probes(vectors: VectorSet) -> Iterator[Question]:
    assert vectors.block is not None
    block = vectors.block
    tail = (0x3F800000,) if vectors.profile.tensor_scale != "none" else ()
    for scale in range(1 << block.scale.width):
        yield (
            scale,
            *(
                min(block.element.max_code - i, block.element.max_code) & ((1 << block.element.width) - 1)
                for i in range(block.size)
            ),
            *tail,
        )


def confirming(vectors: Checkable, count: int, seed: int) -> list[Question]:
    """Cases that a device must agree on once it is named: as a check has them, half directed and half random."""
    if count == 0:
        return []
    if isinstance(vectors, VectorSet) and vectors.op == "quantize" and vectors.block is not None:
        found = block_cases.value_blocks(vectors.block, vectors.formats[0], seed + 1, count)
        tail = vectors.policy.random_count, vectors.profile.tensor_scale != "none"
        return [_with_tail(x, tail, i, vectors.block.size) for i, x in enumerate(found)]
    return list(dataclasses.replace(vectors, count=count, seed=seed, level="").inputs())


def _with_tail(values: Question, tail: tuple[int, bool], turn: int, size: int) -> Question:
    n, second = tail
    words = tuple((0x9E3779B9 * (turn * size + i + 1) >> 7) % (1 << n) for i in range(size)) if n else ()
    return (*values, *((_SECOND[turn % len(_SECOND)],) if second else ()), *words)
