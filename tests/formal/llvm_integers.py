"""LLVM's operations on integers, as terms, with the poison that they may make (LLVM Language Reference Manual).

No promise that an operation carries (`nsw`: no signed overflow) is believed: the result is poison where it is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, Final, NamedTuple

from softfloat_ref.symbolic.build import and_, bare, concat, eq, extract, ite, length_of, make, not_, or_, sext, zext
from softfloat_ref.symbolic.paths import Unsupported
from softfloat_ref.symbolic.terms import FALSE, Op, Term, const

Flags = Set[str]


class Bits(NamedTuple):
    """An integer, and whether it is poison."""

    term: Term
    poison: Term = FALSE


def _sign(a: Term) -> Term:
    return extract(a, a.width - 1, a.width - 1)


def _less(a: Term, b: Term, op: Op = "ult") -> Term:
    if op == "slt" and max(_bits(a), _bits(b)) < a.width:  # neither is negative
        op = "ult"
    return make(op, 1, a, b)


# -- arithmetic ------------------------------------------------------------------------------------------------------


def _exceeds(op: Op, a: Term, b: Term, flags: Flags) -> Term:
    """Whether a result does not fit, unsigned (nuw) or with signs (nsw)."""
    exceeds, width = FALSE, a.width * 2 if op == "mul" else a.width + 1
    for flag, wider in (("nuw", zext), ("nsw", sext)):
        if flag in flags:
            exact = make(op, width, wider(a, width), wider(b, width))
            exceeds = or_(exceeds, not_(eq(exact, wider(make(op, a.width, a, b), width))))
    return exceeds


def _back(op: Op, other: Op, a: Term, by: Term) -> Term:
    """Whether a shift loses bits."""
    return not_(eq(make(other, a.width, make(op, a.width, a, by), by), a))


def _loses(op: Op, a: Term, by: Term, flags: Flags) -> Term:
    """Whether a shift goes too far, or breaks its promise."""
    loses = not_(_less(by, const(a.width, by.width)))
    for flag, back in {"nuw": "lshr", "nsw": "ashr", "exact": "shl"}.items():
        if flag in flags:
            loses = or_(loses, _back(op, back, a, by))  # type: ignore[arg-type]
    return loses


def _disjoint(op: Op, a: Term, b: Term, flags: Flags) -> Term:
    return not_(eq(make("and", a.width, a, b), const(0, a.width))) if "disjoint" in flags else FALSE


def _never(op: Op, a: Term, b: Term, flags: Flags) -> Term:
    return FALSE


_POISONS: Final[dict[str, Callable[[Op, Term, Term, Flags], Term]]] = {
    **dict.fromkeys(("add", "sub", "mul"), _exceeds),
    **dict.fromkeys(("shl", "lshr", "ashr"), _loses),
    "or": _disjoint,
    **dict.fromkeys(("and", "xor"), _never),
}
BINARY: Final = frozenset(_POISONS)
DIVISIONS: Final = frozenset(("udiv", "urem", "sdiv", "srem"))


def binary(op: Any, flags: Flags, a: Bits, b: Bits) -> Bits:
    """An operation of BINARY."""
    poison, op = or_(a.poison, b.poison), str(op)
    term = _narrow(op, a.term, b.term)
    if term is None:
        poison = or_(poison, _POISONS[op](op, a.term, b.term, flags))
        down = op == "lshr" and b.term.is_const
        term = lowered(a.term, b.term.value) if down else make(op, a.term.width, a.term, b.term)
    return Bits(term, poison)


def _narrow(op: str, a: Term, b: Term) -> Term | None:
    """A result of fewer bits than there are, with zeros above, which breaks no promise; None if it may have all."""
    if op == "shl" and b.is_const and b.value < a.width:
        op, b = "mul", const(1 << b.value, a.width)
    if op not in _NEEDED:
        return None
    a, b = (b, a) if a.is_const else (a, b)
    needed = max(_NEEDED[op](_bits(a), _bits(b)), 1)
    if needed >= a.width:
        return None
    if op == "mul" and (single := next((x for x in (a, b) if bare(x).width == 1), None)) is not None:
        return either(bare(single), b if single is a else a, const(0, a.width))
    factor = b.value if op == "mul" and b.is_const else 0
    if factor and factor & (factor - 1) == 0:
        return zext(_raised(bare(a), factor.bit_length() - 1), a.width)
    if op == "add" and b.is_const and (apart := _beside(bare(a), b.value)) is not None:
        return zext(apart, a.width)
    return zext(make(op, needed, _resized(a, needed), _resized(b, needed)), a.width)  # type: ignore[arg-type]


def _raised(a: Term, by: int) -> Term:
    """A number above zeros."""
    if a.op == "concat" and a.args[1].is_const:
        low = a.args[1]
        return concat(a.args[0], const(low.value << by, low.width + by))
    return concat(a, const(0, by)) if by else a


def lowered(a: Term, by: int) -> Term:
    """A number shifted right."""
    x = bare(a)
    if x.op == "concat" and x.args[1].is_const and x.args[1].width > by:
        low = x.args[1]
        return zext(concat(x.args[0], const(low.value >> by, low.width - by)), a.width)
    return make("lshr", a.width, a, const(by, a.width))


def _beside(a: Term, n: int) -> Term | None:
    """The sum with a constant that has no bits where the number may have some."""
    if n & ((1 << a.width) - 1) == 0 and n:
        above = n >> a.width
        return concat(const(above, above.bit_length()), a)
    if a.op == "concat" and a.args[1].is_const and not n >> a.args[1].width and not n & a.args[1].value:
        low = a.args[1]
        return concat(a.args[0], const(low.value | n, low.width))
    return None


# Bits that a result needs, of unsigned numbers of so many bits.
_NEEDED: Final[dict[str, Callable[[int, int], int]]] = {
    "add": lambda a, b: max(a, b) + 1,
    "mul": lambda a, b: a + b,
    "and": min,
    "xor": max,
}


def _bits(a: Term) -> int:
    """The bits of a number without the zeros above it."""
    return int(a.value).bit_length() if a.is_const else bare(a).width


def _resized(a: Term, width: int) -> Term:
    """A number with that many bits."""
    x = a if a.is_const else bare(a)
    return extract(x, width - 1, 0) if x.width >= width else zext(x, width)


def either(condition: Term, a: Term, b: Term) -> Term:
    """One of two numbers, with the zeros above both."""
    needed = max(_bits(a), _bits(b), 1)
    return zext(ite(condition, _resized(a, needed), _resized(b, needed)), a.width)


def division(op: str, flags: Flags, a: Bits, b: Bits) -> tuple[Bits, Term]:
    """An operation of DIVISIONS, and whether it must not be done."""
    x, y, width = a.term, b.term, a.term.width
    broken = or_(b.poison, eq(y, const(0, width)))
    if op[0] == "s":
        least = const(1 << (width - 1), width)
        broken = or_(broken, and_(eq(x, least), eq(y, const(-1, width))))
    poison = a.poison
    if "exact" in flags:
        poison = or_(poison, not_(eq(_divided(f"{op[0]}rem", x, y), const(0, width))))
    return Bits(_divided(op, x, y), poison), broken


def _divided(op: str, a: Term, b: Term) -> Term:
    """A quotient toward zero, or its remainder."""
    unsigned: Op = "udiv" if op.endswith("div") else "urem"
    if op[0] == "u":
        return make(unsigned, a.width, a, b)
    quotient = make(unsigned, a.width, _magnitude(a), _magnitude(b))
    negative = make("xor", 1, _sign(a), _sign(b)) if op == "sdiv" else _sign(a)
    return ite(negative, make("neg", a.width, quotient), quotient)


def _magnitude(a: Term) -> Term:
    return ite(_sign(a), make("neg", a.width, a), a)


# -- comparisons, casts ----------------------------------------------------------------------------------------------


_ORDERS: Final[dict[str, Callable[[Term, Term], Term]]] = {
    "eq": eq,
    "ne": lambda a, b: not_(eq(a, b)),
    "ult": _less,
    "ugt": lambda a, b: _less(b, a),
    "ule": lambda a, b: not_(_less(b, a)),
    "uge": lambda a, b: not_(_less(a, b)),
    "slt": lambda a, b: _less(a, b, "slt"),
    "sgt": lambda a, b: _less(b, a, "slt"),
    "sle": lambda a, b: not_(_less(b, a, "slt")),
    "sge": lambda a, b: not_(_less(a, b, "slt")),
}


def compared(order: str, flags: Flags, a: Bits, b: Bits) -> Bits:
    """A comparison."""
    poison = or_(a.poison, b.poison)
    if "samesign" in flags:
        poison = or_(poison, make("xor", 1, _sign(a.term), _sign(b.term)))
    return Bits(_ORDERS[order](a.term, b.term), poison)


def cast(op: str, flags: Flags, a: Bits, width: int) -> Bits:
    """zext, sext or trunc."""
    x, poison = a.term, a.poison
    if op == "trunc":
        term = extract(x, width - 1, 0)
        for flag, wider in (("nuw", zext), ("nsw", sext)):
            if flag in flags:
                poison = or_(poison, not_(eq(wider(term, x.width), x)))
        return Bits(term, poison)
    if "nneg" in flags:
        poison = or_(poison, _sign(x))
    return Bits((sext if op == "sext" else zext)(x, width), poison)


def chosen(condition: Bits, a: Bits, b: Bits) -> Bits:
    """select: the other value may be poison."""
    poison = or_(condition.poison, ite(condition.term, a.poison, b.poison))
    return Bits(either(condition.term, a.term, b.term), poison)


# -- functions of LLVM's own -----------------------------------------------------------------------------------------


def _extreme(order: str) -> Callable[..., Bits]:
    def choose(a: Bits, b: Bits) -> Bits:
        return Bits(either(_ORDERS[order](a.term, b.term), a.term, b.term), or_(a.poison, b.poison))

    return choose


def _leading_zeros(a: Bits, zero_is_poison: Bits) -> Bits:
    width = a.term.width
    length = length_of(a.term)
    poison = or_(a.poison, and_(zero_is_poison.term, eq(a.term, const(0, width))))
    return Bits(make("sub", width, const(width, width), zext(length, width)), poison)


def _absolute(a: Bits, least_is_poison: Bits) -> Bits:
    least = eq(a.term, const(1 << (a.term.width - 1), a.term.width))
    return Bits(_magnitude(a.term), or_(a.poison, and_(least_is_poison.term, least)))


def _funnel(left: bool) -> Callable[..., Bits]:
    def shift(a: Bits, b: Bits, by: Bits) -> Bits:
        width = a.term.width
        amount = make("urem", width, by.term, const(width, width))
        moved = make("shl" if left else "lshr", 2 * width, concat(a.term, b.term), amount)
        half = extract(moved, 2 * width - 1, width) if left else extract(moved, width - 1, 0)
        return Bits(half, or_(a.poison, b.poison, by.poison))

    return shift


def _to_zero(a: Bits, b: Bits) -> Bits:
    """a - b, zero if b is larger."""
    width = a.term.width
    less = _less(a.term, b.term)
    return Bits(ite(less, const(0, width), make("sub", width, a.term, b.term)), or_(a.poison, b.poison))


def _product(a: Bits, b: Bits) -> list[Bits]:
    """The product, and whether it does not fit."""
    poison = or_(a.poison, b.poison)
    narrow = _narrow("mul", a.term, b.term)
    beyond = FALSE if narrow is not None else _exceeds("mul", a.term, b.term, {"nuw"})
    return [Bits(narrow or make("mul", a.term.width, a.term, b.term), poison), Bits(beyond, poison)]


def total(a: Term, b: Term) -> Term:
    """A sum of addresses."""
    return _narrow("add", a, b) or make("add", a.width, a, b)


def multiple(a: Term, n: int) -> Term:
    """A multiple of an index by a power of two."""
    return _narrow("mul", a, const(n, a.width)) or make("mul", a.width, a, const(n, a.width))


INTRINSICS: Final[dict[str, Callable[..., Any]]] = {
    "umax": _extreme("ugt"),
    "umin": _extreme("ult"),
    "smax": _extreme("sgt"),
    "smin": _extreme("slt"),
    "ctlz": _leading_zeros,
    "abs": _absolute,
    "fshl": _funnel(True),
    "fshr": _funnel(False),
    "usub.sat": _to_zero,
    "umul.with.overflow": _product,
}


def intrinsic(name: str) -> Callable[..., Any]:
    """Raises Unsupported."""
    if name not in INTRINSICS:
        raise Unsupported(f"LLVM's {name}")
    return INTRINSICS[name]
