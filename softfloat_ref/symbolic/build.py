"""Terms made of others, simplified as they are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from softfloat_ref.symbolic.terms import FALSE, TRUE, Op, Term, const, meaning, shared_term, subterms


def make(op: Op, width: int, *args: Term, value: Any = None) -> Term:
    """A term, simplified by what its arguments are."""
    if all(a.is_const for a in args):
        probe = Term(op, width, args, value)
        return const(meaning(probe, [a.value for a in args]), width)
    if args[0].width == width == 1 and op in _ONE_BIT_RULES:
        return _ONE_BIT_RULES[op](*args)
    rule = _RULES.get(op)
    return (rule(width, args, value) if rule else None) or shared_term(op, width, args, value)


def substitute(roots: Sequence[Term], by: Mapping[Term, Term]) -> list[Term]:
    """The roots with other terms in place of some of those below them."""
    new: dict[Term, Term] = {}
    for t in subterms(roots):
        if t in by:
            new[t] = by[t]
        elif t.args:
            new[t] = make(t.op, t.width, *(new[a] for a in t.args), value=t.value)
        else:
            new[t] = t
    return [new[t] for t in roots]


# -- rules -----------------------------------------------------------------------------------------------------------

_Rule = Callable[[int, tuple[Term, ...], Any], Term | None]


def _not(width: int, args: tuple[Term, ...], value: Any) -> Term | None:
    return args[0].args[0] if args[0].op == "not" else None


def _ordered(a: Term, b: Term) -> tuple[Term, Term]:
    """The arguments of an operation that commutes: a constant last, else the older term first."""
    return (b, a) if a.is_const or (not b.is_const and a.number > b.number) else (a, b)


def _and(width: int, args: tuple[Term, ...], value: Any) -> Term:
    a, b = _ordered(*args)
    if a is b or (b.is_const and b.value == (1 << width) - 1):
        return a
    if (b.is_const and b.value == 0) or _opposite(a, b):
        return const(0, width)
    return shared_term("and", width, (a, b))


def _or(width: int, args: tuple[Term, ...], value: Any) -> Term:
    a, b = _ordered(*args)
    if a is b or (b.is_const and b.value == 0):
        return a
    if (b.is_const and b.value == (1 << width) - 1) or _opposite(a, b):
        return const(-1, width)
    return shared_term("or", width, (a, b))


def _opposite(a: Term, b: Term) -> bool:
    return (a.op == "not" and a.args[0] is b) or (b.op == "not" and b.args[0] is a)


def _xor(width: int, args: tuple[Term, ...], value: Any) -> Term:
    a, b = _ordered(*args)
    if a is b:
        return const(0, width)
    if b.is_const and b.value in (0, (1 << width) - 1):
        return a if b.value == 0 else make("not", width, a)
    return shared_term("xor", width, (a, b))


def _add(width: int, args: tuple[Term, ...], value: Any) -> Term:
    a, b = _ordered(*args)
    return a if b.is_const and b.value == 0 else shared_term("add", width, (a, b))


def _sub(width: int, args: tuple[Term, ...], value: Any) -> Term | None:
    a, b = args
    if a is b:
        return const(0, width)
    if a.is_const and a.value == 0:
        return make("neg", width, b)
    if a.op == "xor" and a.args[1] is b and b.is_const and b.value == 1 << (width - 1):  # a sign bit that is extended
        return a.args[0]
    return a if b.is_const and b.value == 0 else None


def _mul(width: int, args: tuple[Term, ...], value: Any) -> Term:
    a, b = _ordered(*args)
    if b.is_const and b.value < 2:
        return a if b.value else b
    return shared_term("mul", width, (a, b))


def _udiv(width: int, args: tuple[Term, ...], value: Any) -> Term | None:
    a, b = args
    if b.is_const and b.value < 2:
        return a if b.value else const(-1, width)
    return None


def _urem(width: int, args: tuple[Term, ...], value: Any) -> Term | None:
    a, b = args
    if b.is_const and b.value == 0:
        return a
    return const(0, width) if a is b or (a.is_const and a.value == 0) or (b.is_const and b.value == 1) else None


def _eq(_: int, args: tuple[Term, ...], value: Any) -> Term:
    a, b = _ordered(*args)
    width = a.width
    if a is b or _opposite(a, b):
        return const(a is b, 1)
    if a.width == 1 and b.is_const:
        return a if b.value else make("not", 1, a)
    if a.op == "zext" and b.is_const:
        inner = a.args[0]
        return FALSE if b.value >> inner.width else make("eq", 1, inner, const(b.value, inner.width))
    if a.op == "concat" and b.is_const and any(x.is_const for x in a.args):
        high, low = a.args
        return and_(eq(high, extract(b, width - 1, low.width)), eq(low, extract(b, low.width - 1, 0)))
    return shared_term("eq", 1, (a, b))


def _ult(width: int, args: tuple[Term, ...], value: Any) -> Term | None:
    a, b = args
    if b.is_const and b.value == 1:
        return eq(a, const(0, a.width))
    (least_a, most_a), (least_b, most_b) = _range(a), _range(b)
    if a is b or least_a >= most_b:
        return FALSE
    if most_a < least_b:
        return TRUE
    inner = max(most_a, most_b).bit_length()
    return make("ult", 1, extract(a, inner - 1, 0), extract(b, inner - 1, 0)) if inner < a.width else None


def _range(t: Term) -> tuple[int, int]:
    """Bounds of an unsigned number that show at once."""
    if t.is_const:
        return t.value, t.value
    return 0, (1 << (t.args[0] if t.op == "zext" else t).width) - 1


def _slt(width: int, args: tuple[Term, ...], value: Any) -> Term | None:
    return FALSE if args[0] is args[1] else None


def _shift(op: Op, by_constant: Callable[[Term, int], Term]) -> _Rule:
    """The rule of a shift that brings in zeros. by_constant: a term shifted by fewer bits than it has."""

    def rule(width: int, args: tuple[Term, ...], value: Any) -> Term | None:
        a, by = args
        if (a.is_const and a.value == 0) or (by.is_const and by.value == 0):
            return a
        if by.op == "zext":
            return make(op, width, a, by.args[0])
        if not by.is_const:
            return None
        return by_constant(a, by.value) if by.value < width else const(0, width)

    return rule


def _up(a: Term, by: int) -> Term:
    return concat(extract(a, a.width - by - 1, 0), const(0, by))


def _down(a: Term, by: int) -> Term:
    return zext(extract(a, a.width - 1, by), a.width)


def _ite(width: int, args: tuple[Term, ...], value: Any) -> Term | None:
    c, a, b = args
    if c.is_const or a is b:
        return a if a is b or c.value else b
    if c.op == "not":
        return make("ite", width, c.args[0], b, a)
    if a.op == "ite" and a.args[0] is c:
        return make("ite", width, c, a.args[1], b)
    if b.op == "ite" and b.args[0] is c:
        return make("ite", width, c, a, b.args[2])
    return _ite_bit(c, a, b) if width == 1 else None


def _ite_bit(c: Term, a: Term, b: Term) -> Term | None:
    if a.is_const:
        return make("or", 1, c, b) if a.value else make("and", 1, make("not", 1, c), b)
    if b.is_const:
        return make("or", 1, make("not", 1, c), a) if b.value else make("and", 1, c, a)
    return None


def _extract(width: int, args: tuple[Term, ...], value: tuple[int, int]) -> Term | None:
    (a,), (high, low) = args, value
    if width == a.width:
        return a
    if a.op == "extract":
        return extract(a.args[0], high + a.value[1], low + a.value[1])
    if a.op == "sext" and high < a.args[0].width:
        return extract(a.args[0], high, low)
    if a.op == "shl" and low == 0:
        return make("shl", width, extract(a.args[0], high, 0), a.args[1])
    if a.op == "zext":
        inner = a.args[0]
        if low >= inner.width:
            return const(0, width)
        return zext(extract(inner, min(high, inner.width - 1), low), width)
    if a.op == "concat":
        below = a.args[1].width
        if high < below:
            return extract(a.args[1], high, low)
        if low >= below:
            return extract(a.args[0], high - below, low - below)
    return None


def _zext(width: int, args: tuple[Term, ...], value: Any) -> Term | None:
    a = args[0]
    if width == a.width:
        return a
    return zext(a.args[0], width) if a.op == "zext" else None


def _sext(width: int, args: tuple[Term, ...], value: Any) -> Term | None:
    a = args[0]
    if width == a.width:
        return a
    if a.op == "zext" and a.args[0].width < a.width:
        return zext(a, width)
    return make("sext", width, a.args[0]) if a.op == "sext" else None


_RULES: Final[dict[str, _Rule]] = {
    "not": _not,
    "and": _and,
    "or": _or,
    "xor": _xor,
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "udiv": _udiv,
    "urem": _urem,
    "eq": _eq,
    "ult": _ult,
    "slt": _slt,
    "shl": _shift("shl", _up),
    "lshr": _shift("lshr", _down),
    "ite": _ite,
    "extract": _extract,
    "zext": _zext,
    "sext": _sext,
}

# Arithmetic of single bits is logic.
_ONE_BIT_RULES: Final[dict[str, Callable[..., Term]]] = {
    "neg": lambda a: a,
    "add": lambda a, b: make("xor", 1, a, b),
    "sub": lambda a, b: make("xor", 1, a, b),
    "mul": lambda a, b: and_(a, b),
    "udiv": lambda a, b: or_(a, not_(b)),
    "urem": lambda a, b: and_(a, not_(b)),
    "shl": lambda a, by: and_(a, eq(by, const(0, by.width))),
    "lshr": lambda a, by: and_(a, eq(by, const(0, by.width))),
    "ashr": lambda a, by: a,
    "ult": lambda a, b: and_(not_(a), b),
    "slt": lambda a, b: and_(a, not_(b)),
}

# -- short names -----------------------------------------------------------------------------------------------


def not_(a: Term) -> Term:
    """Each bit inverted."""
    return make("not", a.width, a)


def and_(*terms: Term) -> Term:
    """Whether all of some bits are set."""
    result = TRUE
    for t in terms:
        result = make("and", 1, result, t)
    return result


def or_(*terms: Term) -> Term:
    """Whether any of some bits is set."""
    result = FALSE
    for t in terms:
        result = make("or", 1, result, t)
    return result


def eq(a: Term, b: Term) -> Term:
    """Whether two terms of one width are equal."""
    return make("eq", 1, a, b)


def ite(c: Term, a: Term, b: Term) -> Term:
    """a where the bit c is set, else b."""
    return make("ite", a.width, c, a, b)


def extract(a: Term, high: int, low: int) -> Term:
    """The bits from `high` down to `low`."""
    return make("extract", high - low + 1, a, value=(high, low))


def zext(a: Term, width: int) -> Term:
    """More bits, zeros."""
    return make("zext", width, a)


def sext(a: Term, width: int) -> Term:
    """More bits, copies of the highest one."""
    return make("sext", width, a)


def concat(high: Term, low: Term) -> Term:
    """The bits of one term above those of another."""
    return make("concat", high.width + low.width, high, low)


def adjacent(high: Term, low: Term) -> Term:
    """The bits of one term above those of another; neighbouring bits of one term are a slice of it."""
    if high.op == low.op == "extract" and high.args == low.args and high.value[1] == low.value[0] + 1:
        return extract(high.args[0], high.value[0], low.value[1])
    return concat(high, low)


def bare(a: Term) -> Term:
    """A term without zeros above it."""
    if a.op == "zext":
        return bare(a.args[0])
    if a.op == "concat" and a.args[0].is_const and a.args[0].value == 0:
        return bare(a.args[1])
    return a


def selected(items: Sequence[Term], index: Term) -> Term:
    """The item at an index, as a tree over its bits; the last one at indices beyond."""
    if len(items) == 1:
        return items[0]
    half = 1 << (index.width - 1)
    if index.width == 1:
        return ite(index, items[1], items[0])
    rest = extract(index, index.width - 2, 0)
    if len(items) <= half:
        return selected(items, rest)
    high = extract(index, index.width - 1, index.width - 1)
    return ite(high, selected(items[half:], rest), selected(items[:half], rest))


def length_of(node: Term) -> Term:
    """The length of a magnitude, halves first."""
    if node.width == 1:
        return node
    half = node.width // 2
    high, low = extract(node, node.width - 1, half), extract(node, half - 1, 0)
    width = node.width.bit_length()
    above = make("add", width, zext(length_of(high), width), const(half, width))
    return ite(eq(high, const(0, high.width)), zext(length_of(low), width), above)
