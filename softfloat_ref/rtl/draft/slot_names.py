"""What the name of a slot says: of which operand, format or kind its bits are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from softfloat_ref.rtl.bundle import LineField
from softfloat_ref.rtl.draft import names
from softfloat_ref.rtl.draft.slots import Slot

_MIN_START: Final = 2  # letters of a word that is more than the start of a name by chance


def letter(slot: Slot) -> str:
    """The letter of an operand that a name says exactly; '' if it says none."""
    place = names.position(slot.name)
    return names.LETTERS[place[1]] if place and place[0] else ""


def has_codes(slot: Slot) -> bool:
    """Whether its values are those of an enumeration."""
    return any(leaf.codes for bits in slot.bits for leaf in bits.signal.leaves)


def is_like(slot: Slot, field: LineField) -> bool:
    """Whether a port's name has a field's, or the start of it, or its initials: acc, zp of accumulator, zero_point."""
    initials = "".join(word[0] for word in field.name.split("_"))
    own = names.core(slot.name)
    return any((len(w) > _MIN_START and field.name.startswith(w)) or (len(w) > 1 and w == initials) for w in own)


def is_operand(slot: Slot) -> bool:
    """Whether a name has a word for operands."""
    return bool(set(names.core(slot.name)) & names.OPERANDS)


def is_random(slot: Slot) -> bool:
    """Whether a name has a word for random bits."""
    return bool(set(names.core(slot.name)) & (names.RANDOM | {"rnd"}))


def has_place(slot: Slot) -> bool:
    """Whether a name says a place among operands, such as a, x or 1."""
    return names.position(slot.name) is not None


def rank(slot: Slot) -> int:
    """How likely the name of an output is that of the result: the least for the likeliest."""
    return min((names.RESULT.index(w) for w in names.words(slot.name) if w in names.RESULT), default=len(names.RESULT))


def exchanged_format(slot: Slot, own: str, others: Iterable[str]) -> str:
    """The format of another operand that a name says; '' if it says none."""
    fmt = names.format_of(slot.name)
    return fmt if fmt != own and fmt in others else ""
