"""Bits that are known of terms, beside all values of those that are not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from softfloat_ref.symbolic.known import known_bits
from softfloat_ref.symbolic.terms import Term, evaluator

WIDTH = 3
A, B, C = Term("var", WIDTH, (), "a"), Term("var", WIDTH, (), "b"), Term("var", 1, (), "c")
TERMS = {
    **{op: Term(op, WIDTH, (A,), None) for op in ("not", "neg")},
    **{
        op: Term(op, WIDTH, (A, B), None)
        for op in ("and", "or", "xor", "add", "sub", "mul", "udiv", "urem", "shl", "lshr", "ashr")
    },
    **{op: Term(op, 1, (A, B), None) for op in ("eq", "ult", "slt")},
    "ite": Term("ite", WIDTH, (C, A, B), None),
    "concat": Term("concat", 2 * WIDTH, (A, B), None),
    "extract": Term("extract", 2, (A,), (2, 1)),
    **{op: Term(op, WIDTH + 2, (A,), None) for op in ("zext", "sext")},
}


def pairs(width: int) -> Iterator[tuple[int, int]]:
    return ((value & known, known) for known in range(1 << width) for value in range(1 << width) if not value & ~known)


@pytest.mark.full(keep=12)
@pytest.mark.parametrize("op", TERMS)
def test_known_bits_are_the_same_whatever_is_unknown(op: str) -> None:
    term = TERMS[op]
    run, exact = evaluator([term]), known_bits([term])
    names = {str(v.value): v.width for v in term.args}
    count = 0
    for known_inputs in product(*(list(pairs(width)) for width in names.values())):
        (shown,) = exact(dict(zip(names, known_inputs, strict=True)))
        codes = set()
        for values in product(*(range(1 << width) for width in names.values())):
            if all(value & known == at for value, (at, known) in zip(values, known_inputs, strict=True)):
                codes |= set(run(dict(zip(names, values, strict=True))))
        value, known = shown
        assert not value & ~known
        assert {code & known for code in codes} == {value}
        count += known.bit_count()
        if all(known == (1 << width) - 1 for (_, known), width in zip(known_inputs, names.values(), strict=True)):
            assert shown[1] == (1 << term.width) - 1
    assert count
