"""Symbolic integers: a term of just enough bits, with the bounds from which these follow.

A number from lo to hi has the term of an unsigned number if lo is not negative, else of a two's complement number.
Bounds hold where the number was computed, under the facts of that path (`path`): elsewhere the term is any value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from softfloat_ref.symbolic.bounds import Fact, Facts, Infeasible, Sum, Unknown, bounds
from softfloat_ref.symbolic.build import and_, concat, eq, extract, length_of, make, not_, sext, zext
from softfloat_ref.symbolic.paths import Unsupported, here
from softfloat_ref.symbolic.terms import Op, Term, const, signed

MAX_WIDTH: Final = 1 << 14
_DIRECT_POWER: Final = 63  # up to this exponent, what remains of a power of two is found by one division


# -- numbers ---------------------------------------------------------------------------------------------------------


def width_of(lo: int, hi: int) -> int:
    """The bits of a term for numbers from lo to hi."""
    if lo >= 0:
        return max(1, hi.bit_length())
    return max(hi.bit_length() if hi > 0 else 0, (-lo - 1).bit_length()) + 1


class Symbolic:
    """What is not the same for all inputs."""

    def __bool__(self) -> bool:
        raise Unsupported("a decision on a symbolic value outside the code that is read")


def number(x: Any) -> bool:
    """Whether it is an integer or truth value, symbolic or not."""
    return isinstance(x, (int, SymInt, SymBool))


def _binary(function: Callable[[Any, Any], Any]) -> Any:
    return lambda a, b: function(a, b) if number(b) else NotImplemented


def _mirrored(function: Callable[[Any, Any], Any]) -> Any:
    return lambda a, b: function(b, a) if number(b) else NotImplemented


class _Number(Symbolic):
    """The operators of integers."""

    __add__ = _binary(lambda a, b: add(a, b))
    __radd__ = _mirrored(lambda a, b: add(a, b))
    __sub__ = _binary(lambda a, b: subtract(a, b))
    __rsub__ = _mirrored(lambda a, b: subtract(a, b))
    __mul__ = _binary(lambda a, b: multiply(a, b))
    __rmul__ = _mirrored(lambda a, b: multiply(a, b))
    __and__ = _binary(lambda a, b: bit_and(a, b))
    __rand__ = _mirrored(lambda a, b: bit_and(a, b))
    __or__ = _binary(lambda a, b: bit_or(a, b))
    __ror__ = _mirrored(lambda a, b: bit_or(a, b))
    __xor__ = _binary(lambda a, b: bit_xor(a, b))
    __rxor__ = _mirrored(lambda a, b: bit_xor(a, b))
    __lshift__ = _binary(lambda a, b: shift_left(a, b))
    __rlshift__ = _mirrored(lambda a, b: shift_left(a, b))
    __rshift__ = _binary(lambda a, b: shift_right(a, b))
    __rrshift__ = _mirrored(lambda a, b: shift_right(a, b))
    __floordiv__ = _binary(lambda a, b: divide(a, b)[0])
    __rfloordiv__ = _mirrored(lambda a, b: divide(a, b)[0])
    __mod__ = _binary(lambda a, b: divide(a, b)[1])
    __rmod__ = _mirrored(lambda a, b: divide(a, b)[1])
    __divmod__ = _binary(lambda a, b: divide(a, b))
    __pow__ = _binary(lambda a, b: power(a, b))
    __lt__ = _binary(lambda a, b: less(a, b))
    __gt__ = _binary(lambda a, b: less(b, a))
    __le__ = _binary(lambda a, b: inverse(less(b, a)))
    __ge__ = _binary(lambda a, b: inverse(less(a, b)))
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Any:
        return equal(self, other) if number(other) else False

    def __ne__(self, other: object) -> Any:
        return inverse(equal(self, other)) if number(other) else True

    def __neg__(self) -> Any:
        return subtract(0, self)

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return subtract(-1, self)


@dataclass(eq=False, repr=False)
class SymInt(_Number):
    """An integer. sum: it as a sum of unknowns."""

    node: Term
    sum: Sum
    lo: int
    hi: int

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"SymInt[{self.lo}, {self.hi}]"

    def bit_length(self) -> Any:
        """The number of bits of a magnitude, found as a priority encoder finds it."""
        x = with_bounds_here(self)
        if isinstance(x, int):
            return x.bit_length()
        if x.lo < 0:
            raise Unsupported("the length of a number that may be negative")
        return number_of(length_of(x.node), x.lo.bit_length(), x.hi.bit_length())


@dataclass(eq=False, repr=False)
class SymBool(_Number):
    """A truth value. facts, other_facts: what follows where it is true, and where it is false."""

    node: Term
    facts: Facts = ()
    other_facts: Facts = ()

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "SymBool"


def free(node: Term, lo: int = 0, hi: int | None = None) -> SymInt:
    """A term as an unknown number of its own: by default an unsigned one."""
    last = (1 << node.width) - 1 if hi is None else hi
    return SymInt(node, Sum(0, {Unknown(lo, last): 1}), lo, last)


def _too_wide(width: int) -> Unsupported:
    advice = "use a format of fewer exponent bits"
    return Unsupported(f"exact results would take {width} bits, of at most {MAX_WIDTH}; {advice}")


def number_of(node: Term, lo: int, hi: int, total: Sum | None = None) -> Any:
    """A number from lo to hi, of a term that has its bits, and perhaps more above them."""
    if lo > hi:
        raise Infeasible
    if lo == hi:
        return lo
    width = width_of(lo, hi)
    if width > MAX_WIDTH:
        raise _too_wide(width)
    if node.width > width:
        node = extract(node, width - 1, 0)
    if node.is_const:
        return signed(node.value, width) if lo < 0 else node.value
    return SymInt(node, total or Sum(0, {Unknown(lo, hi): 1}), lo, hi)


def lifted(x: Any) -> Any:
    """A truth value as a number; other numbers unchanged."""
    if isinstance(x, SymBool):
        return number_of(x.node, 0, 1)
    return int(x) if isinstance(x, bool) else x


def sum_of(x: Any) -> Sum:
    """A number as a sum of unknowns."""
    return x.sum if isinstance(x, SymInt) else Sum(int(x))


def _limits(total: Sum) -> tuple[int, int]:
    """The bounds of a sum here."""
    path = here()
    laws = tuple(fact for u in total.parts for where, fact in u.laws if path.holds(where))
    return bounds(total, path.facts, laws)


def bounds_here(x: Any) -> tuple[int, int]:
    """The bounds of a number here."""
    if not isinstance(x, SymInt):
        return int(x), int(x)
    lo, hi = _limits(x.sum)
    lo, hi = max(lo, x.lo), min(hi, x.hi)
    if lo > hi:
        raise Infeasible
    return lo, hi


def with_bounds_here(x: Any) -> Any:
    """The number with the bounds that it has here."""
    if not isinstance(x, SymInt):
        return x
    lo, hi = bounds_here(x)
    return x if (lo, hi) == (x.lo, x.hi) else number_of(x.node, lo, hi, x.sum)


def bits(x: Any, width: int) -> Term:
    """A number as a term of that width: its lowest bits, or more bits of the same number."""
    x = lifted(x)
    if not isinstance(x, SymInt):
        return const(int(x), width)
    if x.node.width >= width:
        return extract(x.node, width - 1, 0)
    return sext(x.node, width) if x.lo < 0 else zext(x.node, width)


def truth(x: Any) -> Any:
    """A number as a truth value."""
    if isinstance(x, SymInt):
        return inverse(equal(x, 0))
    return x if isinstance(x, SymBool) else bool(x)


def bit(x: Any) -> Term:
    """A truth value as a term."""
    value = truth(x)
    return value.node if isinstance(value, SymBool) else const(int(value), 1)


def boolean(node: Term, facts: Facts = (), other_facts: Facts = ()) -> Any:
    """The truth value of a term, as far as it is known here."""
    if node.is_const:
        return bool(node.value)
    if node in here().known:
        return True
    if not_(node) in here().known:
        return False
    return SymBool(node, facts, other_facts)


def settled(x: Any) -> Any:
    """A truth value that was found elsewhere, as far as it is known here."""
    return boolean(x.node, x.facts, x.other_facts) if isinstance(x, SymBool) else x


def inverse(x: Any) -> Any:
    """not x."""
    if isinstance(x, SymBool):
        return boolean(not_(x.node), x.other_facts, x.facts)
    return not x


def both(a: Any, b: Any) -> Any:
    """a and b, of truth values."""
    if isinstance(a, bool) or isinstance(b, bool):
        return (b if a else False) if isinstance(a, bool) else (a if b else False)
    return boolean(and_(a.node, b.node), a.facts + b.facts)


def either(a: Any, b: Any) -> Any:
    """a or b, of truth values."""
    return inverse(both(inverse(a), inverse(b)))


# -- arithmetic ------------------------------------------------------------------------------------------------------


def _symbolic(*xs: Any) -> bool:
    return any(isinstance(x, (SymInt, SymBool)) for x in xs)


def _in_sum(op: Op, a: Any, b: Any, factor: int) -> Any:
    a, b = lifted(a), lifted(b)
    (al, ah), (bl, bh) = bounds_here(a), bounds_here(b)
    lo, hi = (al + bl, ah + bh) if factor > 0 else (al - bh, ah - bl)
    total = sum_of(a).plus(sum_of(b), factor)
    limits = _limits(total)
    lo, hi = max(lo, limits[0]), min(hi, limits[1])
    width = width_of(lo, hi)
    return number_of(make(op, width, bits(a, width), bits(b, width)), lo, hi, total)


def add(a: Any, b: Any) -> Any:
    """a + b."""
    return _in_sum("add", a, b, 1)


def subtract(a: Any, b: Any) -> Any:
    """a - b."""
    return _in_sum("sub", a, b, -1)


def multiply(a: Any, b: Any) -> Any:
    """a * b."""
    a, b = with_bounds_here(lifted(a)), with_bounds_here(lifted(b))
    if not _symbolic(a, b):
        return a * b
    ends = [x * y for x in bounds_here(a) for y in bounds_here(b)]
    lo, hi = min(ends), max(ends)
    width = width_of(lo, hi)
    total = None if _symbolic(a) and _symbolic(b) else sum_of(a).times(b) if _symbolic(a) else sum_of(b).times(a)
    return number_of(make("mul", width, bits(a, width), bits(b, width)), lo, hi, total)


def power(a: Any, b: Any, modulus: Any = None) -> Any:
    """a to a power that is no symbol; or what remains of a power of two."""
    if modulus is not None and isinstance(a, int) and a == 2:
        return _power_of_two(b, modulus)
    if modulus is not None or _symbolic(b) or b < 0:
        raise Unsupported("a symbolic power")
    product: Any = 1
    for _ in range(b):
        product = multiply(product, a)
    return product


def _power_of_two(by: Any, modulus: Any) -> Any:
    """What remains of 2^by: of the square of the power by half of it, and perhaps twice that."""
    if bounds_here(by)[1] <= _DIRECT_POWER:
        return divide(shift_left(1, by), modulus)[1]
    half = _power_of_two(shift_right(by, 1), modulus)
    return divide(shift_left(multiply(half, half), bit_and(by, 1)), modulus)[1]


def divide(a: Any, b: Any) -> tuple[Any, Any]:
    """The quotient, rounded down, and the remainder."""
    a, b = with_bounds_here(lifted(a)), with_bounds_here(lifted(b))
    if not _symbolic(a, b):
        return a // b, a % b
    if isinstance(b, int) and b > 0 and b & (b - 1) == 0:
        return shift_right(a, b.bit_length() - 1), bit_and(a, b - 1)
    (al, ah), (bl, bh) = bounds_here(a), bounds_here(b)
    if al < 0 or bl < 1:
        raise Unsupported("a division of or by a number that may be negative or zero")
    width = max(width_of(al, ah), width_of(bl, bh))
    x, y = bits(a, width), bits(b, width)
    return number_of(make("udiv", width, x, y), al // bh, ah // bl), number_of(
        make("urem", width, x, y), 0, min(ah, bh - 1)
    )


def shift_left(a: Any, by: Any) -> Any:
    """a * 2^by."""
    a, by = with_bounds_here(lifted(a)), with_bounds_here(lifted(by))
    if not _symbolic(a, by):
        return a << by
    if not _symbolic(by):
        return multiply(a, 1 << by)
    (al, ah), (sl, sh) = bounds_here(a), bounds_here(by)
    if sl < 0:
        raise Unsupported(f"a shift by {sl} to {sh} bits")
    lo, hi = min(al << sl, al << sh), max(ah << sl, ah << sh)
    if isinstance(a, SymInt) and (whole := _before_right_shift(a, by)) is not None:
        lo, hi = 0, min(hi, (1 << whole) - 1)
    width = width_of(lo, hi)
    if width > MAX_WIDTH:
        raise _too_wide(width)
    return number_of(make("shl", width, bits(a, width), by.node), lo, hi)


def _before_right_shift(a: SymInt, by: SymInt) -> int | None:
    """If a is something shifted right by the same number, the bits of that."""
    node = a.node
    while node.op in ("extract", "zext") and (node.op == "zext" or node.value[1] == 0):
        node = node.args[0]
    return node.width if node.op == "lshr" and node.args[1] is by.node else None


def shift_right(a: Any, by: Any) -> Any:
    """a / 2^by, rounded down."""
    a, by = with_bounds_here(lifted(a)), with_bounds_here(lifted(by))
    if not _symbolic(a, by):
        return a >> by
    (al, ah), (sl, sh) = bounds_here(a), bounds_here(by)
    if sl < 0:
        raise Unsupported(f"a shift by {sl} to {sh} bits")
    lo, hi = min(al >> sl, al >> sh), max(ah >> sl, ah >> sh)
    width = width_of(al, ah)
    amount = bits(by, width_of(sl, sh))
    quotient = number_of(make("ashr" if al < 0 else "lshr", width, bits(a, width), amount), lo, hi)
    if isinstance(a, SymInt) and isinstance(quotient, SymInt) and isinstance(by, int):
        cut = sum_of(a).plus(sum_of(quotient), -(1 << by))
        for unknown in a.sum.parts:
            unknown.laws += ((here().whole, Fact(cut, 0, (1 << by) - 1)),)  # the quotient has its bits here only
    return quotient


def _of_bits(op: Op, a: Any, b: Any) -> tuple[Term, Any, Any]:
    """The term of an operation on bits, wide enough, and the numbers."""
    a, b = with_bounds_here(lifted(a)), with_bounds_here(lifted(b))
    (al, ah), (bl, bh) = bounds_here(a), bounds_here(b)
    widths = [width_of(lo, hi) + (lo >= 0 and min(al, bl) < 0) for lo, hi in ((al, ah), (bl, bh))]
    width = max(widths)
    return make(op, width, bits(a, width), bits(b, width)), a, b


def bit_and(a: Any, b: Any) -> Any:
    """a & b."""
    if isinstance(a, (SymBool, bool)) and isinstance(b, (SymBool, bool)):
        return both(a, b)
    a, b = (b, a) if isinstance(a, int) else (a, b)
    if isinstance(b, int) and b > 0 and (field := _contiguous(b)) is not None:
        return _field(lifted(a), *field)
    node, a, b = _of_bits("and", a, b)
    (al, ah), (bl, bh) = bounds_here(a), bounds_here(b)
    if al < 0 and bl < 0:
        return number_of(node, -(1 << (node.width - 1)), max(ah, bh, 0))
    return number_of(node, 0, min(h for lo, h in ((al, ah), (bl, bh)) if lo >= 0))


def _contiguous(mask: int) -> tuple[int, int] | None:
    """The highest and lowest bit of a mask whose ones stand together."""
    low = (mask & -mask).bit_length() - 1
    ones = mask >> low
    return (mask.bit_length() - 1, low) if ones & (ones + 1) == 0 else None


def _field(a: Any, high: int, low: int) -> Any:
    """Some bits of a number, the others cleared."""
    a = with_bounds_here(a)
    if isinstance(a, int):
        return a & ((2 << high) - (1 << low))
    if a.lo >= 0:
        high = min(high, a.node.width - 1)
        if low == 0 and high == a.node.width - 1:
            return a
        if low > high:
            return 0
    node = extract(bits(a, max(high + 1, a.node.width)), high, low)
    top = (2 << high) - (1 << low)
    return number_of(concat(node, const(0, low)) if low else node, 0, min(top, a.hi) if a.lo >= 0 else top)


def bit_or(a: Any, b: Any) -> Any:
    """a | b."""
    if isinstance(a, (SymBool, bool)) and isinstance(b, (SymBool, bool)):
        return either(a, b)
    return _with_bits_of_either("or", a, b)


def bit_xor(a: Any, b: Any) -> Any:
    """a ^ b."""
    if isinstance(a, (SymBool, bool)) and isinstance(b, (SymBool, bool)):
        return boolean(make("xor", 1, bit(a), bit(b)))
    return _with_bits_of_either("xor", a, b)


def _with_bits_of_either(op: Op, a: Any, b: Any) -> Any:
    node, a, b = _of_bits(op, a, b)
    (al, ah), (bl, bh) = bounds_here(a), bounds_here(b)
    if al < 0 or bl < 0:
        return number_of(node, -(1 << (node.width - 1)), (1 << (node.width - 1)) - 1)
    return number_of(node, max(al, bl) if op == "or" else 0, (1 << max(ah.bit_length(), bh.bit_length())) - 1)


# -- order -----------------------------------------------------------------------------------------------------------


def _together(a: Any, b: Any) -> tuple[Term, Term, bool]:
    """Two numbers as terms of one width, and whether these have signs."""
    (al, ah), (bl, bh) = bounds_here(a), bounds_here(b)
    has_sign = al < 0 or bl < 0
    width = max(width_of(lo, hi) + (has_sign and lo >= 0) for lo, hi in ((al, ah), (bl, bh)))
    return bits(a, width), bits(b, width), has_sign


def less(a: Any, b: Any) -> Any:
    """a < b."""
    a, b = with_bounds_here(lifted(a)), with_bounds_here(lifted(b))
    if not _symbolic(a, b):
        return a < b
    difference = sum_of(a).plus(sum_of(b), -1)
    lo, hi = _limits(difference)
    lo, hi = max(lo, bounds_here(a)[0] - bounds_here(b)[1]), min(hi, bounds_here(a)[1] - bounds_here(b)[0])
    if hi < 0 or lo >= 0:
        return hi < 0
    x, y, has_sign = _together(a, b)
    facts, others = (Fact(difference, None, -1),), (Fact(difference, 0, None),)
    return boolean(make("slt" if has_sign else "ult", 1, x, y), facts, others)


def equal(a: Any, b: Any) -> Any:
    """a == b."""
    a, b = with_bounds_here(lifted(a)), with_bounds_here(lifted(b))
    if not _symbolic(a, b):
        return a == b
    difference = sum_of(a).plus(sum_of(b), -1)
    lo, hi = _limits(difference)
    if lo > 0 or hi < 0 or bounds_here(a)[0] > bounds_here(b)[1] or bounds_here(a)[1] < bounds_here(b)[0]:
        return False
    if lo == hi:
        return True
    x, y, _ = _together(a, b)
    others = (Fact(difference, 1, None),) if lo == 0 else (Fact(difference, None, -1),) if hi == 0 else ()
    return boolean(eq(x, y), (Fact(difference, 0, 0),), others)
