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
_PROBES: Final = 16  # wrong answers that are tried first; they exclude nearly all sources
_MIN_SHARE: Final = 0.5  # of the wrong answers, that a source must explain: the others may have another fault
_NARROW: Final = 4  # bits up to which another line often has the same by chance, so that more must be explained
_MIN_SHARE_NARROW: Final = 0.9


class MisalignedInput(NamedTuple):
    """An input that comes from another line. text: which one, from where. held: the numbers of the lines whose wrong
    answers it explains; others: of those whose answers are right, and would be wrong with it. inputs: what the device
    takes in each line; None at an end, where there is no such other line."""

    text: str
    held: Set[int]
    others: Set[int]
    inputs: Sequence[Inputs | None]


@dataclass(frozen=True)
class _Source:
    """Bits of inputs that come from another line. text: which; masks: the bits, by the place of the code in a line;
    shift: how many lines later the other line is."""

    text: str
    masks: dict[int, int]
    shift: int

    def mixed(self, own: Inputs, other: Inputs) -> tuple[int, ...]:
        """A line's inputs with these bits of another's."""
        masks = (self.masks.get(i, 0) for i in range(len(own)))
        return tuple(x & ~mask | y & mask for x, y, mask in zip(own, other, masks, strict=True))

    @property
    def min_share(self) -> float:
        """The share of wrong answers that it must explain."""
        return _MIN_SHARE if sum(map(int.bit_count, self.masks.values())) > _NARROW else _MIN_SHARE_NARROW


def misaligned_input(
    comparator: Comparator, lines: Sequence[Inputs], expected: Sequence[Output], got: Sequence[Output]
) -> MisalignedInput | None:
    """The first input that comes from another line, if that explains most wrong answers; nearly all, if it is narrow.

    lines: the inputs of each case; expected, got: the answers of each, right and the device's.
    """
    wrong = [i for i, (x, y) in enumerate(zip(expected, got, strict=True)) if x != y]
    if len(wrong) < _PROBES or len(comparator.unit.inputs) < 2:
        return None
    for source in _sources(comparator.unit):
        if not _explains_probes(source, comparator, lines, got, wrong):
            continue
        answers = [_answer(source, comparator, lines, i) for i in range(len(lines))]
        held = {i for i in wrong if answers[i] == got[i]}
        others = {i for i, x in enumerate(answers) if x is not None and x != expected[i] == got[i]}
        if len(held) >= source.min_share * len(wrong) and not _is_constant(source, comparator, lines, got, held):
            inputs = [lines[i] if i in others else _inputs(source, lines, i) for i in range(len(lines))]
            return MisalignedInput(f"{source.text} of {_SHIFTS[source.shift]}", held, others, inputs)
    return None


def _explains_probes(
    source: _Source, comparator: Comparator, lines: Sequence[Inputs], got: Sequence[Output], wrong: Sequence[int]
) -> bool:
    """Whether it explains enough of some wrong answers, spread over all."""
    misses, most = 0, (1 - source.min_share) * _PROBES
    for i in wrong[:: len(wrong) // _PROBES][:_PROBES]:
        misses += _answer(source, comparator, lines, i) != got[i]
        if misses > most:
            return False
    return True


def _is_constant(
    source: _Source, comparator: Comparator, lines: Sequence[Inputs], got: Sequence[Output], held: Set[int]
) -> bool:
    """Whether bits that are always 0, or always 1, explain these wrong answers as well: then they are stuck, and
    another line has them by chance."""
    codes = len(lines[0])
    return any(
        all(_right_answer(comparator, source.mixed(lines[i], (bits,) * codes)) == got[i] for i in held)
        for bits in (0, -1)
    )


def _inputs(source: _Source, lines: Sequence[Inputs], i: int) -> Inputs | None:
    """The inputs of a line with the bits of another; None if there is no such line."""
    other = i + source.shift
    return source.mixed(lines[i], lines[other]) if 0 <= other < len(lines) else None


def _answer(source: _Source, comparator: Comparator, lines: Sequence[Inputs], i: int) -> Output | None:
    """The right answer to the inputs of a line with the bits of another; None if there is none."""
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
