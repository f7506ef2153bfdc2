"""Equal products of reference and circuit replaced by one variable with the facts that a proof needs.

Solvers compare what is made of a product far faster than products. What is proved of any value of the variable holds
for the product. Where the operands of the two products are equal for some inputs only, the reference's product is, for
the others, a variable of which nothing is known: a proof then shows that it is not used there. A counterexample may be
one of the variables' only, so it is tried on the real terms; more facts about products rule such ones out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from softfloat_ref.proof.solver import solve
from softfloat_ref.symbolic.build import and_, bare, eq, extract, ite, make, not_, or_, zext
from softfloat_ref.symbolic.terms import Term, const, evaluator, subterms, var, variables

_OPERANDS_LIMIT_S: Final = 20.0  # to prove operands equal
_SAMPLED: Final = 96  # inputs
FACT_LEVELS: Final = (0, 1)  # of facts


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
        yield at_most(p, const(largest, width))
        both = and_(extract(x, x.width - 1, x.width - 1), extract(y, y.width - 1, y.width - 1))
        yield implies(both, at_most(const(1 << width - 2, width), p))
        if level:
            yield from self._by_leading_one(x, y)
            yield from self._by_leading_one(y, x)

    def _by_leading_one(self, x: Term, y: Term) -> Iterator[Term]:
        """2^i y <= p where x has bit i; p <= 2^i y where x is at most 2^i."""
        width = self.value.width
        for i in range(x.width):
            shifted = make("shl", width, zext(y, width), const(i, width))
            yield implies(extract(x, i, i), at_most(shifted, self.value))
            yield implies(at_most(x, const(1 << i, x.width)), at_most(self.value, shifted))


def shared_products(
    reference: Sequence[Term], design: Sequence[Term], assumed: Sequence[Term]
) -> tuple[dict[Term, Term], list[Product]]:
    """The products of reference and circuit that are equal under assumptions, with what replaces them; both empty
    if there are none."""
    ours = products_in(reference)
    products: list[Product] = []
    by: dict[Term, Term] = {}
    for theirs in products_in(design):
        (x, i), (y, j) = (_above_zeros(bare(a)) for a in theirs.args)
        p = Product(var(f"product {len(products)}", x.width + y.width), x, y)
        free = [(m, f"product {len(products)} of others {i}") for i, m in enumerate(ours) if m not in by]
        cut = {m: t for m, name in free if (t := _in_place(m, p, name, assumed)) is not None}
        if cut:
            products.append(p)
            by |= {**cut, theirs: shifted(resized(p.value, theirs.width), i + j)}
    return by, products


def _above_zeros(a: Term) -> tuple[Term, int]:
    """A term without zeros below it, and how many these are: of an operand that was normalized."""
    if a.op == "concat" and a.args[1].is_const and a.args[1].value == 0:
        term, more = _above_zeros(a.args[0])
        return term, a.args[1].width + more
    return a, 0


def _in_place(product: Term, p: Product, name: str, assumed: Sequence[Term]) -> Term | None:
    """What stands for a product of the reference: the variable, if its operands are the circuit's, or else one of that
    name; None if the operands are equal for few inputs only."""
    a, b = (bare(t) for t in product.args)
    orders = [and_(same_number(u, p.x), same_number(v, p.y)) for u, v in ((a, b), (b, a))]
    often, same = max(((_often(bit), bit) for bit in orders), key=lambda pair: pair[0])
    if often * 8 < _SAMPLED:
        return None
    cut = resized(p.value, product.width)
    if solve([*assumed, not_(same)], _OPERANDS_LIMIT_S).result == "unsat":
        return cut
    return ite(same, cut, var(name, product.width))


def _often(bit: Term) -> int:
    """For how many of some inputs a bit is set: random ones, a third each with ones in the upper half and in the upper
    three quarters, as narrower operands in wide registers have them."""
    run, words, count = evaluator([bit]), Random(0), 0
    free = [(str(v.value), v.width) for v in variables([bit])]
    for k in range(_SAMPLED):
        ones = [(1 << width) - (1 << (width, width // 2, width // 4)[k % 3]) for _, width in free]
        values = {name: words.getrandbits(width) | above for (name, width), above in zip(free, ones, strict=True)}
        count += run(values)[0]
    return count


def products_in(roots: Sequence[Term]) -> list[Term]:
    """Products of two terms; factors of powers of two and other constants are no difficulty."""
    return [t for t in subterms(roots) if t.op == "mul" and not any(a.is_const for a in t.args)]


def same_number(a: Term, b: Term) -> Term:
    """Whether two numbers are equal, whatever their widths."""
    width = max(a.width, b.width)
    return eq(zext(a, width), zext(b, width))


def resized(p: Term, width: int) -> Term:
    """A number in another width."""
    return zext(p, width) if width >= p.width else extract(p, width - 1, 0)


def shifted(t: Term, up: int) -> Term:
    """A number times a power of two, in its width."""
    return make("shl", t.width, t, const(up, t.width))


def at_most(a: Term, b: Term) -> Term:
    """Whether a number is at most another one."""
    return not_(make("ult", 1, b, a))


def implies(a: Term, b: Term) -> Term:
    """Whether b is set if a is."""
    return or_(not_(a), b)
