"""Products by trees of adders are recognized, and nothing else is taken for one: small ones are compared everywhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from random import Random

import pytest

from softfloat_ref.proof.carry_save import added_products
from softfloat_ref.symbolic.build import and_, concat, eq, extract, ite, make, not_, or_, substitute, zext
from softfloat_ref.symbolic.terms import FALSE, Term, const, evaluator, subterms, var

pytestmark = pytest.mark.extra("bitwuzla")
Adder = Callable[[Term, Term, Term], tuple[Term, Term]]


def xor(*bits: Term) -> Term:
    return reduce(lambda a, b: make("xor", 1, a, b), bits)


ADDERS: dict[str, Adder] = {
    "two half adders": lambda x, y, z: (xor(x, y, z), or_(and_(x, y), and_(z, xor(x, y)))),
    "majority": lambda x, y, z: (xor(z, x, y), or_(and_(x, y), and_(x, z), and_(y, z))),
    "multiplexer": lambda x, y, z: (xor(y, z, x), ite(xor(x, y), z, x)),
    "nands": lambda x, y, z: (xor(x, y, z), not_(and_(not_(and_(x, y)), not_(and_(z, or_(x, y)))))),
}


def bits_of(t: Term) -> list[Term]:
    return [extract(t, k, k) for k in range(t.width)]


def word(bits: Sequence[Term]) -> Term:
    return reduce(concat, reversed(bits))


def ripple(x: Sequence[Term], y: Sequence[Term]) -> list[Term]:
    sums, carry = [], FALSE
    for a, b in zip(x, y, strict=True):
        total, carry = ADDERS["two half adders"](a, b, carry)
        sums.append(total)
    return sums


def prefix(x: Sequence[Term], y: Sequence[Term]) -> list[Term]:
    """Brent and Kung's carries would do as well; these are Sklansky's."""
    spans = [(and_(a, b), xor(a, b)) for a, b in zip(x, y, strict=True)]
    halves = [p for _, p in spans]
    step = 1
    while step < len(spans):
        for i in range(len(spans)):
            if i & step:
                (g, p), (below, q) = spans[i], spans[(i | step - 1) - step]
                spans[i] = or_(g, and_(p, below)), and_(p, q)
        step *= 2
    return [xor(h, g) for h, (g, _) in zip(halves, [(FALSE, FALSE), *spans], strict=False)]


def plus(x: Sequence[Term], y: Sequence[Term]) -> list[Term]:
    return bits_of(make("add", len(x), word(x), word(y)))


LAST = {"ripple": ripple, "prefix": prefix, "plus": plus}


def columns_of(x: Sequence[Term], y: Sequence[Term]) -> dict[int, list[Term]]:
    columns: dict[int, list[Term]] = defaultdict(list)
    for (i, a), (j, b) in product(enumerate(x), enumerate(y)):
        columns[i + j].append(and_(a, b))
    return columns


def tree(x: Sequence[Term], y: Sequence[Term], adder: Adder, last: str, most: int = 2) -> list[Term]:
    """The product: full and half adders until columns have two bits; `most` goes down as Dadda's heights do."""
    columns, width = columns_of(x, y), len(x) + len(y)
    heights = [2, 3, 4, 6, 9, 13, 19, 28]
    for height in reversed([h for h in heights if h < max(map(len, columns.values())) and h >= most]):
        for k in range(width):
            while len(columns[k]) > height:
                count = 3 if len(columns[k]) > height + 1 else 2
                taken = [columns[k].pop(0) for _ in range(count)]
                total, carry = adder(*taken) if count == 3 else (xor(*taken), and_(*taken))
                columns[k].append(total)
                columns[k + 1].append(carry)
    rows = [[(*columns[k], FALSE, FALSE)[r] for k in range(width)] for r in range(2)]
    return LAST[last](*rows)


def array(x: Sequence[Term], y: Sequence[Term], last: str) -> list[Term]:
    """Row by row, each added at once."""
    width = len(x) + len(y)
    rows = [[FALSE] * j + [and_(a, b) for a in x] + [FALSE] * (len(y) - j) for j, b in enumerate(y)]
    return reduce(LAST[last], (row[:width] for row in rows))


def found(columns: Sequence[Term], x: Term, y: Term) -> dict[Term, Term]:
    width = x.width + y.width
    return added_products([make("mul", width, zext(x, width), zext(y, width))], [word(columns)])


def is_product(columns: Sequence[Term], x: Term, y: Term) -> bool:
    """Whether all bits were recognized as those of one multiplication."""
    (read,) = substitute([word(columns)], found(columns, x, y))
    return read.op == "mul" and "and" not in {t.op for t in subterms([read])}


A, B = var("a", 8), var("b", 7)


@pytest.mark.parametrize("last", LAST)
@pytest.mark.parametrize("adder", ADDERS)
def test_trees(adder: str, last: str) -> None:
    assert is_product(tree(bits_of(A), bits_of(B), ADDERS[adder], last), A, B)


@pytest.mark.parametrize("last", ["ripple", "prefix"])
def test_arrays(last: str) -> None:
    assert is_product(array(bits_of(A), bits_of(B), last), A, B)


@pytest.mark.parametrize("last", LAST)
def test_leading_ones_that_are_left_out(last: str) -> None:
    x, y = (concat(const(1, 1), v) for v in (A, B))
    assert is_product(tree(bits_of(x), bits_of(y), ADDERS["majority"], last), x, y)


def test_operands_that_are_zero_for_some_inputs() -> None:
    """As of a circuit that takes subnormal numbers for zeros."""
    exponents = [var(f"exponent {name}", 5) for name in "ab"]
    normal = [not_(eq(e, const(0, 5))) for e in exponents]
    x, y = (concat(n, v) for n, v in zip(normal, (A, B), strict=True))
    own = [[*(and_(n, t) for t in bits_of(v)), n] for n, v in zip(normal, (A, B), strict=True)]
    by = found(columns := tree(*own, ADDERS["nands"], "prefix"), x, y)
    assert substitute([word(columns)], by)[0].op == "mul"
    assert len(by) >= len(columns)


@pytest.mark.parametrize("last", LAST)
@pytest.mark.parametrize("seed", range(12))
def test_a_fault_is_no_product(seed: int, last: str) -> None:
    """A term is wrong for some inputs, often for a single one: bits that it changes are not taken for a product's."""
    words, x, y = Random(seed), var("a", 5), var("b", 4)
    product_word = word(tree(bits_of(x), bits_of(y), words.choice(list(ADDERS.values())), last))
    term = words.choice([t for t in subterms([product_word]) if t.op in ("and", "or", "xor", "add")])
    masks = [words.choice([(1 << v.width) - 1, words.getrandbits(v.width)]) for v in (x, y)]
    seen = [
        eq(make("and", v.width, v, const(m, v.width)), const(words.getrandbits(4) & m, v.width))
        for v, m in zip((x, y), masks, strict=True)
    ]
    (wrong,) = substitute([product_word], {term: make("xor", term.width, term, zext(and_(*seen), term.width))})
    by = added_products([make("mul", 9, zext(x, 9), zext(y, 9))], [wrong])
    run = evaluator([*by, *by.values()])
    for a, b in product(range(32), range(16)):
        values = run({"a": a, "b": b})
        assert values[: len(by)] == values[len(by) :]
    assert substitute([wrong], by)[0] is not substitute([product_word], found(bits_of(product_word), x, y))[0]


def test_no_product_of_other_operands() -> None:
    """The reference's operands are others than those that the circuit multiplies."""
    columns = tree(bits_of(A), bits_of(B), ADDERS["majority"], "ripple")
    assert not found(columns, A, var("c", 7))


def test_squares_are_left_alone() -> None:
    """Bits of a square are in a column twice."""
    columns = tree(bits_of(A), bits_of(A), ADDERS["majority"], "ripple")
    assert not found(columns, A, A)
