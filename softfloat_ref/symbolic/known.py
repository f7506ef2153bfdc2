"""Terms of which some bits are unknown: the bits that are the same whatever these are, as far as each operation shows.

A pair (value, known) has a one in `known` for each bit that is known, and zeros in `value` elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from softfloat_ref.symbolic.terms import Term, meaning, subterms

Pair = tuple[int, int]
_UNKNOWN: Final[Pair] = (0, 0)
_FROM_BELOW: Final = ("neg", "add", "sub", "mul")  # a bit depends on no higher bits


def known_bits(roots: Sequence[Term]) -> Callable[[Mapping[str, Pair]], list[Pair]]:
    """The function from what is known of the variables to what is known of the roots; of others nothing is known."""
    order = subterms(roots)

    def run(values: Mapping[str, Pair]) -> list[Pair]:
        known: dict[Term, Pair] = {}
        for t in order:
            ones = (1 << t.width) - 1
            if t.op == "const":
                known[t] = t.value, ones
            elif t.op == "var":
                known[t] = values.get(t.value, _UNKNOWN)
            else:
                known[t] = _known(t, [known[a] for a in t.args], ones)
        return [known[t] for t in roots]

    return run


def _known(t: Term, args: Sequence[Pair], ones: int) -> Pair:
    if all(known == (1 << a.width) - 1 for a, (_, known) in zip(t.args, args, strict=True)):
        return meaning(t, [value for value, _ in args]), ones
    rule = _RULES.get(t.op)
    return rule(t, args, ones) if rule else _UNKNOWN


def _not(t: Term, args: Sequence[Pair], ones: int) -> Pair:
    ((value, known),) = args
    return ~value & known, known


def _and(t: Term, args: Sequence[Pair], ones: int) -> Pair:
    (a, known_a), (b, known_b) = args
    return a & b, known_a & known_b | known_a & ~a | known_b & ~b


def _or(t: Term, args: Sequence[Pair], ones: int) -> Pair:
    (a, known_a), (b, known_b) = args
    return a | b, known_a & known_b | a | b


def _xor(t: Term, args: Sequence[Pair], ones: int) -> Pair:
    (a, known_a), (b, known_b) = args
    known = known_a & known_b
    return (a ^ b) & known, known


def _eq(t: Term, args: Sequence[Pair], ones: int) -> Pair:
    (a, known_a), (b, known_b) = args
    return (0, 1) if (a ^ b) & known_a & known_b else _UNKNOWN


def _ite(t: Term, args: Sequence[Pair], ones: int) -> Pair:
    (condition, known), (a, known_a), (b, known_b) = args
    if known:
        return args[1] if condition else args[2]
    same = known_a & known_b & ~(a ^ b)
    return a & same, same


def _concat(t: Term, args: Sequence[Pair], ones: int) -> Pair:
    (high, known_high), (low, known_low) = args
    width = t.args[1].width
    return high << width | low, known_high << width | known_low


def _extract(t: Term, args: Sequence[Pair], ones: int) -> Pair:
    ((value, known),) = args
    return value >> t.value[1] & ones, known >> t.value[1] & ones


def _extended(t: Term, args: Sequence[Pair], ones: int) -> Pair:
    ((value, known),) = args
    width = t.args[0].width
    above = ones >> width << width
    if t.op == "zext":
        return value, known | above
    sign = value >> width - 1 & 1
    return (value | (above if sign else 0), known | above) if known >> width - 1 & 1 else (value, known)


def _from_below(t: Term, args: Sequence[Pair], ones: int) -> Pair:
    unknown = 0
    for a, (_, known) in zip(t.args, args, strict=True):
        unknown |= ~known & (1 << a.width) - 1
    low = (unknown & -unknown) - 1 & ones
    return meaning(t, [value for value, _ in args]) & low, low


def _shifted(t: Term, args: Sequence[Pair], ones: int) -> Pair:
    (value, known), (by, known_by) = args
    if known_by != (1 << t.args[1].width) - 1 or by >= t.width:
        return _UNKNOWN
    if t.op == "shl":
        return value << by & ones, (known << by | (1 << by) - 1) & ones
    above = ones & ~(ones >> by)
    if t.op == "lshr":
        return value >> by, known >> by | above
    sign = value >> t.width - 1 & 1
    return (value >> by | (above if sign else 0), known >> by | above) if known >> t.width - 1 & 1 else _UNKNOWN


_RULES: Final[dict[str, Callable[[Term, Sequence[Pair], int], Pair]]] = {
    "not": _not,
    "and": _and,
    "or": _or,
    "xor": _xor,
    "eq": _eq,
    "ite": _ite,
    "concat": _concat,
    "extract": _extract,
    "zext": _extended,
    "sext": _extended,
    **dict.fromkeys(_FROM_BELOW, _from_below),
    **dict.fromkeys(("shl", "lshr", "ashr"), _shifted),
}
