"""Products that a circuit builds of additions, found in it: one factor added bit by bit of the other.

A partial sum has a value, for each input. A term of the circuit that has this value for some inputs is compared with
the partial sum, made of the one before; that one is a variable once it was found too. So a question is about one
addition, however wide the product is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations, product
from typing import Final

from softfloat_ref.proof.cut import Product, at_most, products_in, resized, same_number, shifted
from softfloat_ref.proof.solver import solve
from softfloat_ref.symbolic.build import bare, eq, extract, ite, make, not_, substitute, zext
from softfloat_ref.symbolic.terms import Term, const, evaluator, subterms, var

QUESTION_S: Final = 20.0  # for each question
Samples = Sequence[Mapping[str, int]]
NextSum = Callable[[Term], Term]  # from a partial sum to the next one
Places = Mapping[tuple[int, ...], Sequence[Term]]  # terms by their values, for each sample


def built_products(
    ours: Sequence[Term], places: Places, assumed: Sequence[Term], samples: Samples
) -> tuple[dict[Term, Term], list[Product]]:
    """The products of the reference that the circuit builds under assumptions, with what replaces them and the
    circuit's; both empty if it builds none.

    samples: values of the variables, for which the assumptions hold; places: the circuit's terms by their values then.
    """
    by: dict[Term, Term] = {}
    products: list[Product] = []
    for term in products_in(ours):
        x, y = (bare(a) for a in term.args)
        p = var(f"product {len(products)}", x.width + y.width)
        for steps, shift in _ways(x, y, assumed, samples):
            last = _followed(steps, p.width, places, assumed, samples)
            if last:
                up = shifted(p, shift)
                by |= {term: resized(p, term.width), **{t: resized(up, t.width) for t in last}}
                products.append(Product(p, x, y))
                break
    return by, products


def by_values(roots: Sequence[Term], samples: Samples) -> Places:
    """The terms below the roots that are no constants."""
    order = subterms(roots)
    places: dict[tuple[int, ...], list[Term]] = {}
    for term, *values in zip(order, *map(evaluator(order), samples), strict=True):
        if not term.is_const:
            places.setdefault(tuple(values), []).append(term)
    return places


def _ways(x: Term, y: Term, assumed: Sequence[Term], samples: Samples) -> Iterator[tuple[list[NextSum], int]]:
    """The ways to build a product, times a power of two: a factor may have been shifted up to its leading one."""
    shifts = [sorted({0, _zeros(t, assumed, samples)}) for t in (x, y)]
    for up_x, up_y in product(*shifts):
        up = up_x + up_y
        width = x.width + y.width
        for a, b in permutations((shifted(x, up_x), shifted(y, up_y))):
            yield [_from_above(a, b, i, width) for i in reversed(range(b.width))], up
            yield [_from_below(a, b, i, width) for i in range(b.width)], up


def _zeros(t: Term, assumed: Sequence[Term], samples: Samples) -> int:
    """The zeros above the leading one, if they are always as many, or else 0."""
    run = evaluator([t])
    least, most = (f(t.width - run(values)[0].bit_length() for values in samples) for f in (min, max))
    if least != most or least in (0, t.width):
        return 0
    above = extract(t, t.width - 1, t.width - least)
    return least if solve([*assumed, not_(eq(above, const(0, least)))], QUESTION_S).result == "unsat" else 0


def _from_above(a: Term, b: Term, i: int, width: int) -> NextSum:
    """The last sum moved up by a bit, and `a` if bit i of `b` is set."""
    addend = ite(extract(b, i, i), zext(a, width), const(0, width))
    return lambda last: make("add", width, make("shl", width, last, const(1, width)), addend)


def _from_below(a: Term, b: Term, i: int, width: int) -> NextSum:
    """The last sum, and `a` in place i if bit i of `b` is set."""
    up = make("shl", width, zext(a, width), const(i, width))
    return lambda last: make("add", width, last, ite(extract(b, i, i), up, const(0, width)))


def _followed(
    steps: Sequence[NextSum], width: int, places: Places, assumed: Sequence[Term], samples: Samples
) -> list[Term]:
    """The circuit's terms that are the last sum, proved step by step; none if a step is not found or not proved."""
    sums = [const(0, width)]
    for step in steps:
        sums.append(step(sums[-1]))
    values = [tuple(run) for run in zip(*map(evaluator(sums), samples), strict=True)]
    if values[-1] not in places:
        return []
    last, by, equal, known = sums[0], dict[Term, Term](), list[Term](), list(assumed)
    for i, step in enumerate(steps):
        want = step(last)
        if want.is_const:
            last = want
            continue
        equal = [t for t in places.get(values[i + 1], ()) if is_same(t, want, by, known)]
        if not equal:
            return []
        if last.is_const:  # the first one is a factor, which later additions use
            last = want
            continue
        total = var(f"sum {i}", width)
        most = ((1 << width - len(steps)) - 1) * ((1 << i + 1) - 1)  # one factor, and i + 1 bits of the other
        known, last = [*assumed, at_most(total, const(most, width))], total
        by |= {t: resized(last, t.width) for t in equal}
    return equal


def is_same(t: Term, want: Term, by: Mapping[Term, Term], assumed: Sequence[Term]) -> bool:
    """Whether a term equals another one under assumptions. by: the variables in place of what was found before."""
    (mine,) = substitute([t], by)
    return solve([*assumed, not_(same_number(mine, want))], QUESTION_S).result == "unsat"
