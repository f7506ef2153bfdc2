"""Quotients that a circuit builds a bit at a time, found in it: from the highest bit, with a remainder that stays below
the divisor.

As for products (built.py), what each step leaves has a value for each input; a term of the circuit that has it is
compared with the step, made of the remainder before, which is a variable once it was found too. The circuit may
divide other numbers than the reference: both of its operands times the same power of two give the same quotient.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, NamedTuple

from softfloat_ref.proof.built import QUESTION_S, Places, Samples, is_same
from softfloat_ref.proof.cut import at_most, implies, resized, shifted
from softfloat_ref.proof.solver import solve
from softfloat_ref.symbolic.build import and_, bare, concat, eq, extract, ite, make, not_, or_, substitute, zext
from softfloat_ref.symbolic.terms import Term, const, evaluator, subterms, var

_REMAINDER_BITS: Final = 3  # bits that a circuit's remainder may have above the divisor's


@dataclass(frozen=True)
class Quotient:
    """Terms of variables that stand for the quotient of x 2^up by y, and for what remains. left: a variable for the
    reference's remainder, which is this one divided by a power of two."""

    value: Term
    rest: Term
    left: Term
    x: Term
    y: Term
    up: int

    def facts(self, level: int) -> Iterator[Term]:
        """What is known of it, about normalised operands. Level 1: also of quotients without a remainder."""
        q, x, y, up = self.value, self.x, self.y, self.up
        yield make("ult", 1, self.rest, y)
        yield eq(eq(self.rest, const(0, y.width)), eq(self.left, const(0, self.left.width)))
        large_x, large_y, one = (1 << x.width) - 1, (1 << y.width) - 1, const(1 << up, q.width)
        yield at_most(self.left, const(large_y - 1, self.left.width))
        below = const((large_y - 1 << up) // large_y, q.width)  # (y - 1) / y grows with y
        yield implies(make("ult", 1, q, one), at_most(q, below))
        tops = and_(*(extract(t, t.width - 1, t.width - 1) for t in (x, y)))
        least, most = ((1 << x.width - 1 + up) // large_y, (large_x << up) // (1 << y.width - 1))
        yield implies(tops, and_(at_most(const(least, q.width), q), at_most(q, const(most, q.width))))
        if up >= y.width - 1:  # the largest quotient is exact
            yield implies(and_(tops, eq(q, const(most, q.width))), eq(self.rest, const(0, y.width)))
        if level:
            width = max(x.width, y.width)
            yield eq(make("ult", 1, zext(x, width), zext(y, width)), make("ult", 1, q, one))
            # A quotient without a remainder has no more significant bits than x.
            ends = eq(self.rest, const(0, y.width))
            for high in range(x.width, q.width):
                low = extract(q, high - x.width, 0)
                yield implies(and_(ends, extract(q, high, high)), eq(low, const(0, low.width)))


class _Operands(NamedTuple):
    """What the circuit divides in place of a quotient's operands: x 2^up by y."""

    x: Term
    y: Term
    up: int


def built_quotients(
    ours: Sequence[Term], places: Places, assumed: Sequence[Term], samples: Samples
) -> tuple[dict[Term, Term], list[Quotient]]:
    """The quotients of the reference that the circuit builds under assumptions, with what replaces them and their
    remainders, and the circuit's terms; none if there is none.

    samples: values of the variables, for which the assumptions hold; places: the circuit's terms by their values then.
    """
    by: dict[Term, Term] = {}
    quotients: list[Quotient] = []
    for term in quotients_in(ours):
        name, best = f"{len(quotients)}", None
        for operands in _operands(term, places, assumed, samples):
            steps = _Steps(operands, name, places, assumed, samples)
            best = max(best or steps, steps, key=lambda s: s.count)
            if best.count * 2 > best.up:  # most remainders are in the circuit
                break
        if best and best.count:
            left = var(f"remainder {name}", term.width)
            quotients.append(Quotient(best.quotient, best.rest, left, best.x, best.y, best.up))
            by |= {**best.by, term: resized(best.quotient, term.width), make("urem", term.width, *term.args): left}
    return by, quotients


def quotients_in(roots: Sequence[Term]) -> list[Term]:
    """Quotients by what is no constant."""
    return [t for t in subterms(roots) if t.op == "udiv" and not t.args[1].is_const]


# -- operands --------------------------------------------------------------------------------------------------------


def _operands(quotient: Term, places: Places, assumed: Sequence[Term], samples: Samples) -> Iterator[_Operands]:
    """Operands in the circuit: those of the quotient, times the same power of two; large ones, which are normalised,
    first. Each divisor is there once."""
    n, d = (bare(t) for t in quotient.args)
    numbers = list(map(evaluator([n, d]), samples))
    divisors = []
    for values, (y, *_) in places.items():
        moves = [b.bit_length() - v[1].bit_length() for b, v in zip(values, numbers, strict=True)]
        if all(z >= 0 and v[1] << z == b for b, v, z in zip(values, numbers, moves, strict=True)):
            divisors.append((sum(moves), y, tuple(v[0] << z for v, z in zip(numbers, moves, strict=True))))
    for _, y, moved in sorted(divisors, key=lambda x: -x[0]):
        if way := next((w for w in _dividends(moved, y.width, places) if _times_same(n, d, *w, y, assumed)), None):
            yield _as_wide(bare(way[0]), bare(y), way[1])


def _dividends(moved: Sequence[int], width: int, places: Places) -> list[tuple[Term, int]]:
    """Terms that are a number, divided by a power of two: those first that have the width's highest bit, always."""
    dividends = []
    for up in reversed(range(_zeros(moved) + 1)):
        numbers = tuple(m >> up for m in moved)
        dividends += [(any(x >> width - 1 != 1 for x in numbers), t, up) for t in places.get(numbers, ())]
    return [(t, up) for _, t, up in sorted(dividends, key=lambda w: w[0])]


def _as_wide(x: Term, y: Term, up: int) -> _Operands:
    """The operands with x as wide as y, as far as `up` allows: facts about normalised operands then hold of it."""
    more = min(max(y.width - x.width, 0), up)
    return _Operands(concat(x, const(0, more)) if more else x, y, up - more)


def _zeros(numbers: Sequence[int]) -> int:
    """How many low bits are zero in all of them."""
    joined = reduce(int.__or__, numbers)
    return (joined & -joined).bit_length() - 1 if joined else 0


def _times_same(n: Term, d: Term, x: Term, up: int, y: Term, assumed: Sequence[Term]) -> bool:
    """Whether x 2^up and y always are n and d times the same power of two."""
    width = max(max(n.width, d.width) + y.width, x.width + up)
    wide = [zext(t, width) for t in (n, d, y)]
    big_x = make("shl", width, zext(x, width), const(up, width))
    ways = [and_(eq(shifted(wide[0], z), big_x), eq(shifted(wide[1], z), wide[2])) for z in range(y.width)]
    return solve([*assumed, not_(or_(*ways))], QUESTION_S).result == "unsat"


# -- steps -----------------------------------------------------------------------------------------------------------


class _Steps:
    """The division, step by step. quotient, rest: of variables where the circuit has the bit or the remainder; count:
    of the remainders that it has."""

    def __init__(
        self, operands: _Operands, name: str, places: Places, assumed: Sequence[Term], samples: Samples
    ) -> None:
        self.x, self.y, self.up = operands
        self.name, self.places, self.assumed = name, places, assumed
        self.known: list[Term] = []  # of the remainder before
        self.rests: dict[Term, Term] = {}  # terms of the circuit, and what replaces them
        self.bits: dict[Term, Term] = {}
        self.names: dict[Term, Term] = {}  # of bits that the circuit has: their variables
        self.count = 0
        self.numbers = list(map(evaluator([self.x, self.y]), samples))
        left = self._left()
        self.rest = self.quotient = const(0, self.y.width)
        if left is None or left + self.up == 0:
            return
        if left < self.x.width:
            self.rest = resized(extract(self.x, self.x.width - 1, left), self.y.width)
        values = [x >> left for x, _ in self.numbers]
        bits = []
        for i in reversed(range(left + self.up)):  # the place of the bit in x 2^up
            low = extract(self.x, i - self.up, i - self.up) if i >= self.up else const(0, 1)
            wholes = [2 * r + (x << self.up >> i & 1) for r, (x, _) in zip(values, self.numbers, strict=True)]
            values = [w % y for w, (_, y) in zip(wholes, self.numbers, strict=True)]
            bit, self.rest = self._taken(i, concat(self.rest, low), wholes)
            bits.append(self.names.get(bit, bit))
        self.quotient = zext(reduce(concat, bits), self.x.width + self.up)

    @property
    def by(self) -> dict[Term, Term]:
        """What replaces the circuit's terms. Bits are variables here, but not in the questions about the steps: there
        they say what is known of the remainders."""
        rests = zip(self.rests, substitute(list(self.rests.values()), self.names), strict=True)
        return {**self.bits, **dict(rests)}

    def _left(self) -> int | None:
        """How many bits of x are left below those that are less than y, always; None if y may be zero."""
        for left in range(self.x.width + 1):
            if all(x >> left < y for x, y in self.numbers):
                width = max(self.x.width, self.y.width)
                above = make("lshr", width, zext(self.x, width), const(left, width))
                less = make("ult", 1, above, zext(self.y, width))
                if solve([*self.assumed, not_(less)], QUESTION_S).result == "unsat":
                    return left
        return None

    def _taken(self, i: int, whole: Term, wholes: Sequence[int]) -> tuple[Term, Term]:
        """The bit and the remainder of a step; that is a variable if the circuit has it.

        whole: the remainder before, with the next bit, of variables; wholes: for each sample.
        """
        y, differences = self.y, [w - y for w, (_, y) in zip(wholes, self.numbers, strict=True)]
        wide = y.width + _REMAINDER_BITS
        less = make("ult", 1, whole, zext(y, whole.width))
        difference = make("sub", wide, zext(whole, wide), zext(y, wide))
        if self.up - i >= y.width:  # else x 2^(up - i) = y q for an odd q, and y would be a multiple of 2^(up - i)
            self.known.append(not_(eq(whole, zext(y, whole.width))))
        bit, rest = not_(less), extract(ite(less, zext(whole, wide), difference), y.width - 1, 0)
        q, r = var(f"quotient {self.name} bit {i}", 1), var(f"remainder {self.name} at bit {i}", y.width)
        bits = self._equal([d >= 0 for d in differences], bit, bit, self.rests)
        bits |= self._equal([d < 0 for d in differences], less, less, self.rests)
        if bits:
            self.names[bit] = q
            self.bits |= zip(bits, substitute(list(bits.values()), self.names), strict=True)
        rests, by = dict[Term, Term](), {**self.rests, **bits}
        signed_remainders = [w % y for w, (_, y) in zip(wholes, self.numbers, strict=True)]
        for k in (0, 1):  # it may be moved up for the next step at once
            moved = [shifted(resized(t, y.width + k), k) for t in (rest, r)]
            rests |= self._equal([x << k for x in signed_remainders], moved[0], moved[1], by)
        unrestored = make("sub", wide, zext(r, wide), ite(bit, const(0, wide), zext(y, wide)))
        for width in range(y.width + 1, wide + 1):  # without restoring: what is below zero stays so
            codes = [d & (1 << width) - 1 for d in differences]
            rests |= self._equal(codes, extract(difference, width - 1, 0), extract(unrestored, width - 1, 0), by)
        if not rests:
            return bit, rest
        self.count += 1
        self.rests |= rests
        self.known = [make("ult", 1, r, y)]
        return bit, r

    def _equal(self, values: Sequence[int], want: Term, new: Term, by: Mapping[Term, Term]) -> dict[Term, Term]:
        """The circuit's terms that are equal to a term, with what replaces them. by: what replaces terms below them."""
        if len(set(values)) == 1:  # a constant says nothing of which step it is
            return {}
        terms = [t for t in self.places.get(tuple(map(int, values)), ()) if t not in self.rests and t not in self.bits]
        return {t: resized(new, t.width) for t in terms if is_same(t, want, by, [*self.assumed, *self.known])}
