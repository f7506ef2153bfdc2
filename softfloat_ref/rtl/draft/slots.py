"""What can carry a field: a port, a member of one, or the sign, exponent and mantissa of a number in ports of their
own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from softfloat_ref.base.tables import toml_string
from softfloat_ref.oracle.formats import Format
from softfloat_ref.rtl.draft import names
from softfloat_ref.rtl.draft.design import Leaf, Signal
from softfloat_ref.rtl.draft.lines import toml_bits

PARTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("sign", "sgn", "s"), "sign"),
    **dict.fromkeys(("exponent", "expo", "expn", "exp", "ex", "e"), "exponent"),
    **dict.fromkeys(("mantissa", "mant", "man", "fraction", "fract", "frac"), "mantissa"),
    **dict.fromkeys(("significand", "signif", "sig", "m", "f", "mts", "trailing"), "mantissa"),
    **dict.fromkeys(("magnitude", "mag"), "magnitude"),
}
_WORD: Final = "|".join(sorted(PARTS, key=len, reverse=True))
GLUED: Final = re.compile(rf"(?P<first>{_WORD})(?P<stem>[a-z]\d?|\d+|out|in|res)|(?P<own>[a-z]\d?)(?P<last>{_WORD})")


@dataclass(frozen=True)
class Bits:
    """Bits of a port, with the name by which they are known."""

    signal: Signal
    lsb: int
    width: int
    name: str

    @property
    def place(self) -> tuple[str, int]:
        """The port and the lowest bit."""
        return self.signal.name, self.lsb


@dataclass(frozen=True)
class Slot:
    """Bits that can carry a field together, the lowest first. why: what they are, if they are not a port; guess:
    whether this is known from names only."""

    name: str
    bits: tuple[Bits, ...]
    why: str = ""
    guess: bool = False

    @property
    def width(self) -> int:
        """In bits."""
        return sum(bits.width for bits in self.bits)

    @property
    def signals(self) -> list[Signal]:
        """The ports."""
        return list({bits.signal.name: bits.signal for bits in self.bits}.values())

    def pieces(self, field: str) -> Iterator[tuple[str, Bits]]:
        """Each part of a field, and the bits that carry it."""
        lsb = 0
        for bits in self.bits:
            index = toml_bits(lsb, bits.width).strip('"')
            yield field if len(self.bits) == 1 else f"{field}[{index}]", bits
            lsb += bits.width

    def __str__(self) -> str:
        return f"{' '.join(s.name for s in self.signals)} has {self.width}"


def slots(signals: Iterable[Signal], sizes: Collection[int], formats: Collection[Format]) -> list[Slot]:
    """What can carry a field of one of the sizes: each port, or the parts of one that is no such field itself; numbers
    of one of the formats, whose parts are in ports of their own."""
    parts: list[Bits] = []
    whole: list[Slot] = []
    for signal in signals:
        one = Bits(signal, 0, signal.width, signal.name)
        if structured := structured_number(signal, formats):
            whole.append(structured)
        elif (signal.plain and not signal.array) or signal.width in sizes:
            parts.append(one)
            whole.append(Slot(signal.name, (one,)))
        else:
            kind = "elements" if signal.array else "members"
            inner = _inner(signal)
            parts += inner
            whole += [Slot(bits.name, (bits,), f"{kind} of {signal.type}") for bits in inner]
    split = numbers(parts, formats)
    used = {bits.place for slot in split for bits in slot.bits}
    return [*split, *(slot for slot in whole if slot.bits[0].place not in used)]


def _inner(signal: Signal) -> list[Bits]:
    """The elements of an array, by index, or the members of a structure, from the top."""
    if signal.array:
        return [Bits(signal, x.lsb, x.width, f"{signal.name}{x.path}") for x in elements(signal)]
    return [Bits(signal, x.lsb, x.width, x.path.lstrip(".")) for x in reversed(signal.leaves)]


# -- sign, exponent and mantissa ---------------------------------------------------------------------------------------


def numbers(parts: Sequence[Bits], formats: Collection[Format]) -> list[Slot]:
    """The numbers of a format whose sign, exponent and mantissa, or magnitude, have names of their own."""
    by_stem: dict[str, dict[str, list[Bits]]] = {}
    for bits in parts:
        for part, stem in _readings(bits.name):
            by_stem.setdefault(stem, {}).setdefault(part, []).append(bits)
    numbers_, used = list[Slot](), set[tuple[str, int]]()
    for stem, own in by_stem.items():
        for fmt in formats:
            chosen = next(filter(None, (_chosen(own, want, used) for want in _wanted(fmt))), None)
            if chosen:
                numbers_.append(Slot(stem, chosen, f"{', '.join(_names(own, chosen))} of a number", True))
                used |= {bits.place for bits in chosen}
                break
    return numbers_


def structured_number(signal: Signal, formats: Collection[Format]) -> Slot | None:
    """A structure that is a number of a format, by its members' names and widths."""
    split = [] if signal.plain else numbers(_inner(signal), formats)
    if len(split) != 1 or split[0].width != signal.width:
        return None
    if [bits.lsb for bits in split[0].bits] == sorted(bits.lsb for bits in split[0].bits):
        return Slot(signal.name, (Bits(signal, 0, signal.width, signal.name),))
    return replace(split[0], name=signal.name)


def _wanted(fmt: Format) -> Iterator[dict[str, int]]:
    """The parts of a code and their widths, the lowest first."""
    if fmt.exponent_bits:
        sign = {"sign": 1} if fmt.signed else {}
        yield {"mantissa": fmt.field_shift, "exponent": fmt.exponent_bits, **sign}
        if sign:
            yield {"magnitude": fmt.width - 1, **sign}


def _names(own: Mapping[str, list[Bits]], chosen: Sequence[Bits]) -> list[str]:
    return [part for bits in reversed(chosen) for part, all_bits in own.items() if bits in all_bits]


def _chosen(
    own: Mapping[str, list[Bits]], want: Mapping[str, int], used: Collection[tuple[str, int]]
) -> tuple[Bits, ...]:
    """The bits of each part; () if there are none for one of them."""
    fitting = {part: [x for x in own.get(part, ()) if x.place not in used] for part in want}
    chosen = [[x for x in fitting[part] if x.width == width] for part, width in want.items()]
    return tuple(x[0] for x in chosen) if all(len(x) == 1 for x in chosen) and len(chosen) > 1 else ()


def _readings(name: str) -> Iterator[tuple[str, str]]:
    """What a name may say: which part, of a number of which name."""
    words = names.core(name)
    for i, word in enumerate(words):
        before, after = words[:i], words[i + 1 :]
        if word in PARTS:
            yield PARTS[word], "_".join((*before, *after))
        for match in GLUED.finditer(word):
            if match[0] == word:
                part, stem = (match["first"], match["stem"]) if match["first"] else (match["last"], match["own"])
                yield PARTS[part], "_".join((*before, stem, *after))


def elements(signal: Signal) -> list[Leaf]:
    """The elements of an array, by index, each as one number."""
    parts: dict[str, list[Leaf]] = {}
    for leaf in signal.leaves:
        parts.setdefault("".join(leaf.path.partition("]")[:2]), []).append(leaf)
    whole = [Leaf(path, min(x.lsb for x in part), sum(x.width for x in part)) for path, part in parts.items()]
    return sorted(whole, key=lambda leaf: int(leaf.path.strip("[].") or 0))


# -- lines of ports ----------------------------------------------------------------------------------------------------


def lines(chosen: Mapping[str, Slot]) -> dict[str, str]:
    """The value of each port that carries a part of a field, by the slot of each field."""
    by_port: dict[str, list[tuple[str, Bits]]] = {}
    for field, slot in chosen.items():
        for text, bits in slot.pieces(field):
            by_port.setdefault(bits.signal.name, []).append((text, bits))
    return {name: _value(pieces) for name, pieces in by_port.items()}


def _value(pieces: list[tuple[str, Bits]]) -> str:
    signal = pieces[0][1].signal
    if len(pieces) == 1 and pieces[0][1].width == signal.width:
        return toml_string(pieces[0][0])
    return pieces_value({text: toml_bits(bits.lsb, bits.width) for text, bits in pieces}, signal.width)


def pieces_value(pieces: Mapping[str, str], width: int) -> str:
    """Fields and their bits as the value of a port."""
    top = max(int(text.strip('"').partition(":")[0]) for text in pieces.values()) if pieces else -1
    parts = [f"{name} = {text}" if name.isidentifier() else f'"{name}" = {text}' for name, text in pieces.items()]
    return "{ " + ", ".join([*parts, *([f"width = {width}"] if top + 1 < width else [])]) + " }"
