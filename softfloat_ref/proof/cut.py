"""Equal products of reference and circuit replaced by one variable, of which little is known.

Solvers compare what is made of a product far faster than products. That the operands are equal is proved before; what
is then proved of any value of the variable holds for the product. A counterexample may be one of the variable's only,
so it is tried on the real terms; more facts about products rule such ones out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from softfloat_ref.proof.solver import solve
from softfloat_ref.symbolic.terms import Term, and_, const, eq, extract, in_order, make, not_, or_, var, zext

_OPERANDS_LIMIT_S: Final = 20.0  # to prove operands equal
LEVELS: Final = (0, 1)  # of facts


@dataclass(frozen=True)
class Product:
    """A variable for a product of two terms, which are not constants."""

    value: Term
    x: Term
    y: Term

    def facts(self, level: int) -> Iterator[Term]:
        """What is known of it. Level 1: what the leading ones of an operand say, too."""
        x, y, p = self.x, self.y, self.value
        width = p.width
        none = or_(eq(x, const(0, x.width)), eq(y, const(0, y.width)))
        yield eq(none, eq(p, const(0, width)))
        largest = ((1 << x.width) - 1) * ((1 << y.width) - 1)
        yield _at_most(p, const(largest, width))
        both = and_(extract(x, x.width - 1, x.width - 1), extract(y, y.width - 1, y.width - 1))
        yield _implies(both, _at_most(const(1 << width - 2, width), p))
        if level:
            yield from self._by_leading_one(x, y)
            yield from self._by_leading_one(y, x)

    def _by_leading_one(self, x: Term, y: Term) -> Iterator[Term]:
        """2^i y <= p where x has bit i; p <= 2^i y where x is at most 2^i."""
        width = self.value.width
        for i in range(x.width):
            shifted = make("shl", width, zext(y, width), const(i, width))
            yield _implies(extract(x, i, i), _at_most(shifted, self.value))
            yield _implies(_at_most(x, const(1 << i, x.width)), _at_most(self.value, shifted))


def shared_products(
    reference: Sequence[Term], design: Sequence[Term], assumed: Sequence[Term]
) -> tuple[dict[Term, Term], list[Product]]:
    """The products of reference and circuit that are equal under assumptions, with what replaces them; none if there
    is none."""
    ours = _products(reference)
    found: list[Product] = []
    by: dict[Term, Term] = {}
    for theirs in _products(design):
        x, y = (_bare(a) for a in theirs.args)
        same = [m for m in ours if m not in by and _same_operands(m, x, y, assumed)]
        if same:
            found.append(Product(var(f"product {len(found)}", x.width + y.width), x, y))
            by |= {m: _resized(found[-1].value, m.width) for m in (*same, theirs)}
    return by, found


def _products(roots: Sequence[Term]) -> list[Term]:
    """Products of two terms; factors of powers of two and other constants are no difficulty."""
    return [t for t in in_order(roots) if t.op == "mul" and not any(a.is_const for a in t.args)]


def _bare(a: Term) -> Term:
    """A term without zeros above it."""
    if a.op == "zext":
        return _bare(a.args[0])
    if a.op == "concat" and a.args[0].is_const and a.args[0].value == 0:
        return _bare(a.args[1])
    return a


def _same_operands(product: Term, x: Term, y: Term, assumed: Sequence[Term]) -> bool:
    """Whether a product is of these operands, in either order, proved."""
    a, b = (_bare(t) for t in product.args)
    for u, v in ((a, b), (b, a)):
        differ = or_(not_(_equal(u, x)), not_(_equal(v, y)))
        if solve([*assumed, differ], _OPERANDS_LIMIT_S).result == "unsat":
            return True
    return False


def _equal(a: Term, b: Term) -> Term:
    width = max(a.width, b.width)
    return eq(zext(a, width), zext(b, width))


def _resized(p: Term, width: int) -> Term:
    return zext(p, width) if width >= p.width else extract(p, width - 1, 0)


def _at_most(a: Term, b: Term) -> Term:
    return not_(make("ult", 1, b, a))


def _implies(a: Term, b: Term) -> Term:
    return or_(not_(a), b)
