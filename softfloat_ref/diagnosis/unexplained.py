"""What is known of a device that no hypothesis explains: what its wrong answers share, and what to try next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from softfloat_ref.base.search import find_first
from softfloat_ref.diagnosis.conditions import kind
from softfloat_ref.diagnosis.hypotheses import AnsweredCase
from softfloat_ref.explanation.scalar import flag_text
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.oracle.formats import Format
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.views import view_of
from softfloat_ref.units import Unit

_FEW: Final = 8  # mismatches that say little


def facts(cases: Sequence[AnsweredCase], unit: Unit) -> tuple[str, ...]:
    """What all wrong answers of some cases share, beyond their operands."""
    count = len(unit.result_formats)
    wrong = [c for c in cases if not c.agrees]
    results = [c for c in wrong if c.expected[:count] != c.got[:count]]
    rows = [*by_class(cases, [not c.agrees for c in cases], unit, "wrong"), *_of_outputs(wrong, results, count)]
    if results and count == 1:
        rows += _of_result(results, unit, unit.result_formats[0], unit.results[0].width)
    return tuple(rows)


# Classes of codes, the rarest first: a case counts once, as one of the first that an operand of it has.
_CLASSES: Final = (
    ("a signalling NaN", "a signalling NaN"),
    ("a NaN", "a NaN"),
    ("infinity", "an infinity"),
    ("zero", "a zero"),
    ("subnormal", "a subnormal"),
    ("a normal number", "normal numbers only"),
)
_MOST_OPERANDS: Final = 8  # of more, most cases have one of each class


def by_class(cases: Sequence[AnsweredCase], wrong: Sequence[bool], unit: Unit, word: str) -> Iterator[str]:
    """In how many cases something is wrong, by the classes of operands, and of results. word: what it is."""
    operands = [(i, f) for i, f in enumerate(unit.input_formats) if f is not None and not f.is_integer]
    if 0 < len(operands) <= _MOST_OPERANDS:
        of = [{kind(c.inputs[i], f) for i, f in operands} for c in cases]
        yield from _counted("operands", of, wrong, word)
    result = unit.result_formats[0] if len(unit.result_formats) == 1 else None
    if result is not None and not result.is_integer:
        yield from _counted("results", [{kind(c.expected[0], result)} for c in cases], wrong, word)


def _counted(what: str, classes: Sequence[set[str]], wrong: Sequence[bool], word: str) -> Iterator[str]:
    """A row with the share of wrong cases in each class, if there is more than one class."""
    first = [find_first(text for name, text in _CLASSES if name in of) for of in classes]
    every, some = Counter(first), Counter(text for text, is_wrong in zip(first, wrong, strict=True) if is_wrong)
    rows = [f"{_share(some[text], every[text])} with {text}" for _, text in _CLASSES if text in every]
    if len(rows) > 1:
        yield f"{word} by {what}: {', '.join(rows)}"


def _share(n: int, of: int) -> str:
    if n in (0, of):
        return f"{'all' if n else 'none of'} {of}"
    return f"{n} of {of} ({min(max(100 * n // of, 1), 99)} %)"


def _of_outputs(wrong: Sequence[AnsweredCase], results: Sequence[AnsweredCase], count: int) -> Iterator[str]:
    """Whether results or flags are wrong, and which flags."""
    if not any(len(c.expected) > count for c in wrong):
        return
    if not results:
        yield "every result is right, only flags are wrong"
    flags = [(c.expected[count], c.got[count]) for c in wrong]
    if all(x == y for x, y in flags):
        yield "the flags are right in all of them"
        return
    for flag in Flags:
        missing, extra = sum(bool(x & ~y & flag) for x, y in flags), sum(bool(y & ~x & flag) for x, y in flags)
        words = [f"is missing in {missing}"] * bool(missing) + [f"is raised wrongly in {extra}"] * bool(extra)
        if words:
            yield f"{flag_text(flag)[3:]} {' and '.join(words)} of {len(wrong)}"


def _of_result(wrong: Sequence[AnsweredCase], unit: Unit, fmt: Format | None, width: int) -> Iterator[str]:
    """How wrong results differ from the right ones."""
    pairs = [(c.expected[0], c.got[0]) for c in wrong]
    if len({y for _, y in pairs}) == 1 and len(pairs) > 1:
        yield f"the device gives {pairs[0][1]:0{unit.results[0].digits}x} in all of them"
        return
    for at, field in enumerate(f for f in unit.inputs if f.lanes == 1):
        if len(pairs) > 1 and all(c.got[0] == c.inputs[at] for c in wrong) and field.role == "operand":
            yield f"the device gives operand {field.name} in all of them"
            return
    differ = differ_always = pairs[0][0] ^ pairs[0][1]
    for x, y in pairs:
        differ, differ_always = differ | x ^ y, differ_always & (x ^ y)
    if fmt is not None and differ == fmt.sign_bit:
        yield "only the sign of the result is wrong"
        return
    bits = [bit for bit in range(width) if differ >> bit & 1]
    if 2 * len(bits) <= width:
        yield f"only {_bits(bits)} of the result differ{'s' if len(bits) == 1 else ''}"
    if fmt is not None and fmt.signed and not fmt.twos_complement:
        mask = fmt.hidden.magnitude_mask
        yield from _of_magnitudes([(fmt.unstored(x) & mask, fmt.unstored(y) & mask) for x, y in pairs])


def _of_magnitudes(pairs: Sequence[tuple[int, int]]) -> Iterator[str]:
    low, high = sum(y < x for x, y in pairs), sum(y > x for x, y in pairs)
    if all(abs(x - y) == 1 for x, y in pairs):
        yield f"every wrong result is the next number: {low} too small in magnitude, {high} too large"
    elif low == len(pairs) or high == len(pairs):
        yield f"every wrong result is too {'small' if low else 'large'} in magnitude"


def _bits(bits: Sequence[int]) -> str:
    if len(bits) == 1:
        return f"bit {bits[0]}"
    whole = bits[-1] - bits[0] == len(bits) - 1
    return f"bits {bits[-1]} to {bits[0]}" if whole else f"bits {', '.join(map(str, reversed(bits)))}"


def attempts(wrong: int, known: Sequence[str], simplest: AnsweredCase | None, unit: Unit) -> Iterator[str]:
    """What to try next."""
    if wrong < _FEW:
        yield f"{wrong} mismatch{'es say' if wrong > 1 else ' says'} little: more vectors, or another --seed"
    if any("is the next number" in text for text in known):
        yield "if the unit may err by an ulp, --ulp 1 accepts that"
    if simplest is not None:
        count = len(unit.result_formats)
        answer = Answer(simplest.got[:count], simplest.got[count] if len(simplest.got) > count else None)
        if command := view_of(unit).command(simplest.inputs, answer):
            yield f"its steps, beside signals of the module: {command}"
