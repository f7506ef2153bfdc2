"""The simplest operands that still show a mismatch, found by querying the device; and how simple operands are: few
significant bits, exponents near zero, zeros and ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Comparator, Inputs, Model, Output, expected_model
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encode
from softfloat_ref.oracle.exact import FINITE
from softfloat_ref.oracle.formats import Format
from softfloat_ref.units import Unit

# From questions to the compared parts of the answers.
Ask = Callable[[Sequence[tuple[int, ...]]], Sequence[Output]]
ROUNDS: Final = 30
QUESTIONS: Final = 400  # per round
_PAIRED_OPERANDS: Final = 3  # up to this many operands, pairs are moved together
_SPECIAL: Final = 6  # cost of an infinity or NaN; a payload adds its bits


def simplest(cases: Sequence[AnsweredCase], unit: Unit) -> AnsweredCase | None:
    """The simplest of the mismatches."""
    formats = unit.input_formats
    wrong = [c for c in cases if not c.agrees]
    return min(wrong, key=lambda c: (cost(c.inputs, formats), c.inputs), default=None)


def shrink(
    case: AnsweredCase,
    unit: Unit,
    comparator: Comparator,
    ask: Ask,
    explained: Model | None,
    askable: Callable[[Inputs], bool],
) -> AnsweredCase:
    """The simplest mismatch reached by simplifying one step by step.

    explained: where given, the device must go on doing what this says, so that no other defect takes its place.
    askable: whether a question has an answer at all.
    """
    formats, expected = unit.input_formats, expected_model(unit)
    for _ in range(ROUNDS):
        questions = [x for x in _simpler(case.inputs, formats) if askable(x)]
        if not questions:
            break
        simpler = _failing(questions, ask(questions), expected, comparator, explained, case)
        if simpler is None:
            break
        case = simpler
    return case


def _simpler(inputs: tuple[int, ...], formats: Sequence[Format | None]) -> list[tuple[int, ...]]:
    """Simpler cases, the simplest first."""
    now = cost(inputs, formats)
    tried = {x: cost(x, formats) for x in _changed(inputs, formats)}
    return sorted((x for x, c in tried.items() if c < now), key=lambda x: (tried[x], x))[:QUESTIONS]


def _changed(inputs: tuple[int, ...], formats: Sequence[Format | None]) -> Iterator[tuple[int, ...]]:
    yield from _zeroed(inputs)
    for i, (code, fmt) in enumerate(zip(inputs, formats, strict=True)):
        for other in simpler_codes(code, fmt):
            yield (*inputs[:i], other, *inputs[i + 1 :])
    if len(inputs) <= _PAIRED_OPERANDS:
        yield from moved_together(inputs, formats)


def _zeroed(inputs: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Many operands set to zero at once: halves, quarters, ..."""
    size = len(inputs) // 2
    while size >= 2:
        for start in range(0, len(inputs), size):
            end = min(start + size, len(inputs))
            yield (*inputs[:start], *(0,) * (end - start), *inputs[end:])
        size //= 2


def _failing(
    questions: Sequence[tuple[int, ...]],
    answers: Sequence[Output],
    expected: Model,
    comparator: Comparator,
    explained: Model | None,
    case: AnsweredCase,
) -> AnsweredCase | None:
    """The first question that the device gets wrong in the same way."""
    for inputs, got in zip(questions, answers, strict=True):
        wanted = expected(inputs)
        if wanted is None:
            continue
        failing = comparator.case(inputs, wanted, got)
        if failing.agrees or not _alike(failing, case):
            continue
        output = explained(inputs) if explained is not None else None
        if explained is None or (output is not None and comparator(output) == got):
            return failing
    return None


def _alike(other: AnsweredCase, case: AnsweredCase) -> bool:
    """Whether the same part of the answer is wrong: the result, or only the flags."""
    return (other.expected[0] == other.got[0]) == (case.expected[0] == case.got[0])


# -- how simple codes are --------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 16)
def code_cost(code: int, fmt: Format | None) -> int:
    """The cost of an operand's code."""
    if fmt is None:
        return code.bit_count()
    x = decoder(fmt)(code)
    if x.kind != FINITE:
        return _SPECIAL + 2 * x.significand.bit_count() + x.sign
    if not x.significand:
        return x.sign
    odd = x.significand // (x.significand & -x.significand)
    return 2 + 4 * (odd.bit_length() - 1) + odd.bit_count() + abs(exact.top(x)) + x.sign


def cost(inputs: Sequence[int], formats: Sequence[Format | None]) -> int:
    """The cost of a case: the sum over its operands."""
    return sum(code_cost(x, f) for x, f in zip(inputs, formats, strict=True))


@lru_cache(maxsize=1 << 14)
def simpler_codes(code: int, fmt: Format | None) -> tuple[int, ...]:
    """Cheaper codes to try in place of one."""
    if fmt is None:
        tried = {0, code & (code - 1), code >> 1}
        return tuple(x for x in sorted(tried) if code_cost(x, None) < code_cost(code, None))
    if fmt.explicit_bit:
        simpler = (fmt.stored(x) for x in simpler_codes(fmt.unstored(code), fmt.hidden))
        return tuple(x for x in simpler if code_cost(x, fmt) < code_cost(code, fmt))
    tried = {0, _one(fmt)}
    if fmt.signed and not fmt.twos_complement:
        tried.add(code & ~fmt.sign_bit)
    m = fmt.mantissa_bits
    fraction = code & ((1 << m) - 1)
    high, low = code - fraction, fraction
    while low:
        low &= low - 1
        tried.add(high | low)
    if fraction:
        tried |= {high | 1 << m - 1, high | 1}
    if fmt.exponent_bits:
        tried |= set(_moved(code, fmt))
    return tuple(x for x in sorted(tried) if x >= 0 and code_cost(x, fmt) < code_cost(code, fmt))


def _one(fmt: Format) -> int:
    return encode(1, fmt, "ieee").bits if not fmt.twos_complement else 1


def _moved(code: int, fmt: Format) -> Iterator[int]:
    """Codes with the exponent closer to zero: at zero, halfway, by one."""
    field = (code & fmt.magnitude_mask) >> fmt.mantissa_bits
    rest = code & ~(fmt.magnitude_mask >> fmt.mantissa_bits << fmt.mantissa_bits)
    off = field - fmt.bias
    step = 1 if off > 0 else -1
    for moved in (off, off // 2, step):
        near = field - moved
        if field and 0 < near < 1 << fmt.exponent_bits:
            yield rest | near << fmt.mantissa_bits


def moved_together(inputs: Sequence[int], formats: Sequence[Format | None]) -> Iterator[tuple[int, ...]]:
    """Pairs of operands moved by the same number of binades, in the same and in opposite directions."""
    for i, j in itertools.combinations(range(len(inputs)), 2):
        for step, sign in itertools.product((1, -1, 4, -4, 16, -16), (1, -1)):
            moved = {i: _up(inputs[i], formats[i], step), j: _up(inputs[j], formats[j], sign * step)}
            if None not in moved.values():
                yield tuple(moved.get(k, x) or 0 for k, x in enumerate(inputs))


def _up(code: int, fmt: Format | None, step: int) -> int | None:
    """A normal number moved by some binades; None if it is not one, or would not be."""
    if fmt is None or not fmt.exponent_bits:
        return None
    if fmt.explicit_bit:
        moved = _up(fmt.unstored(code), fmt.hidden, step)
        return None if moved is None else fmt.stored(moved)
    field = (code & fmt.magnitude_mask) >> fmt.mantissa_bits
    ends = (1 << fmt.exponent_bits) - 1
    return code + (step << fmt.mantissa_bits) if field and 0 < field + step < ends else None
