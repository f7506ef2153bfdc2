"""Inputs, or parts of them, that a device takes from another operation: not registered as often as the others, or read
when the next operation has come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Final, NamedTuple

from softfloat_ref.diagnosis.hypotheses import Comparator, Inputs, Output, expected_model
from softfloat_ref.diagnosis.kinds.base import field_words, places
from softfloat_ref.units import Unit

_SHIFTS: Final = {1: "the next line", -1: "the line before", 2: "the line after the next", -2: "two lines before"}
_PROBES: Final = 16  # wrong answers by which nearly all inputs are excluded
_NARROW: Final = 4  # bits that are those of another line by chance
_SHARE: Final = 0.5  # of the wrong answers, that must be explained: others may have another fault
_SHARE_NARROW: Final = 0.9


class MisalignedInput(NamedTuple):
    """What is taken from which line, in words; the wrong answers that this explains, and the right ones that it would
    make wrong. inputs: those of each line, as the device takes them; None without such a line."""

    text: str
    held: Set[int]
    others: Set[int]
    inputs: Sequence[Inputs | None]


@dataclass(frozen=True)
class _Source:
    """Some bits of some codes, from another line. masks: of each code."""

    text: str
    masks: dict[int, int]
    shift: int

    def inputs(self, own: Inputs, other: Inputs) -> tuple[int, ...]:
        masks = self.masks
        return tuple(
            x & ~masks.get(i, 0) | y & masks.get(i, 0) for i, (x, y) in enumerate(zip(own, other, strict=True))
        )

    @property
    def share(self) -> float:
        """Of some wrong answers, that it must explain."""
        return _SHARE if sum(map(int.bit_count, self.masks.values())) > _NARROW else _SHARE_NARROW


def misaligned_input(
    comparator: Comparator, lines: Sequence[Inputs], expected: Sequence[Output], got: Sequence[Output]
) -> MisalignedInput | None:
    """An input that comes from another line, if that explains most wrong answers; nearly all, if it is narrow."""
    wrong = [i for i, (x, y) in enumerate(zip(expected, got, strict=True)) if x != y]
    if len(wrong) < _PROBES or len(comparator.unit.inputs) < 2:
        return None
    for source in _sources(comparator.unit):
        if not _may_be(source, comparator, lines, got, wrong):
            continue
        answers = [_answer(source, comparator, lines, i) for i in range(len(lines))]
        held = {i for i in wrong if answers[i] == got[i]}
        others = {i for i, x in enumerate(answers) if x is not None and x != expected[i] == got[i]}
        if len(held) >= source.share * len(wrong) and not _is_constant(source, comparator, lines, got, held):
            inputs = [lines[i] if i in others else _inputs(source, lines, i) for i in range(len(lines))]
            return MisalignedInput(f"{source.text} of {_SHIFTS[source.shift]}", held, others, inputs)
    return None


def _may_be(
    source: _Source, comparator: Comparator, lines: Sequence[Inputs], got: Sequence[Output], wrong: Sequence[int]
) -> bool:
    """Whether it explains some wrong answers."""
    misses, most = 0, (1 - source.share) * _PROBES
    for i in wrong[:: len(wrong) // _PROBES][:_PROBES]:
        misses += _answer(source, comparator, lines, i) != got[i]
        if misses > most:
            return False
    return True


def _is_constant(
    source: _Source, comparator: Comparator, lines: Sequence[Inputs], got: Sequence[Output], held: Set[int]
) -> bool:
    """Whether these wrong answers are as well those with the bits all 0, or all 1: another line has them by chance."""
    codes = len(lines[0])
    return any(
        all(_right_answer(comparator, source.inputs(lines[i], (bits,) * codes)) == got[i] for i in held)
        for bits in (0, -1)
    )


def _inputs(source: _Source, lines: Sequence[Inputs], i: int) -> Inputs | None:
    """The inputs of a line with the bits of another; None if there is no such line."""
    other = i + source.shift
    return source.inputs(lines[i], lines[other]) if 0 <= other < len(lines) else None


def _answer(source: _Source, comparator: Comparator, lines: Sequence[Inputs], i: int) -> Output | None:
    """The right answer to these; None if it is not defined."""
    inputs = _inputs(source, lines, i)
    return None if inputs is None else _right_answer(comparator, inputs)


def _right_answer(comparator: Comparator, inputs: Inputs) -> Output | None:
    output = expected_model(comparator.unit)(inputs)
    return None if output is None else comparator(output)


def _sources(unit: Unit) -> Iterator[_Source]:
    """Each input, and each field of a number that is one code, from each of some lines."""
    for shift in _SHIFTS:
        for at, f in places(unit.inputs):
            words = field_words(f)
            yield _Source(words, dict.fromkeys(range(at, at + f.lanes), (1 << f.width) - 1), shift)
            fmt = f.fmt
            if f.lanes > 1 or fmt is None or fmt.twos_complement or not fmt.mantissa_bits:
                continue
            fraction = (1 << fmt.mantissa_bits) - 1
            masks = {"sign": fmt.sign_bit, "exponent": fmt.magnitude_mask & ~fraction, "fraction": fraction}
            yield from (_Source(f"the {name} of {words}", {at: mask}, shift) for name, mask in masks.items() if mask)
