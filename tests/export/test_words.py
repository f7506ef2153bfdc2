"""Circuits on words of 64 bits, and simplified ones, compute the same; a word has no signed operations."""

from __future__ import annotations

import itertools
import random

import pytest
from random_circuits import random_circuit, random_inputs

from softfloat_ref.export.btor2 import even_shift
from softfloat_ref.export.plan import simplify
from softfloat_ref.export.words import on_words, words_of
from softfloat_ref.symbolic.build import and_, concat, eq, ite, make, not_, or_, zext
from softfloat_ref.symbolic.circuit import Circuit, CircuitPort
from softfloat_ref.symbolic.terms import const, evaluator, subterms, var


@pytest.mark.parametrize("seed", range(40))
def test_random_circuits(seed: int) -> None:
    circuit = random_circuit(seed, "random", divided=20 if seed % 10 else 150)
    words, tidy, function = on_words(circuit), simplify(circuit).function(), circuit.function()
    assert all(t.width <= 64 and t.op not in ("ashr", "slt", "sext") for t in subterms(words.roots))
    for codes in random_inputs(circuit, seed, 20):
        expected = function(codes)
        assert tidy(codes) == expected
        assert words.function()(words_of(codes, circuit.inputs)) == words_of(expected, circuit.outputs)


@pytest.mark.parametrize("width", [65, 128, 129, 162, 257, 330])
def test_products_with_constants(width: int) -> None:
    """Of which most words are zeros."""
    a, rnd = var("a", width), random.Random(width)
    factors = [1 << k for k in range(0, width, 23)] + [3 << width // 2, (1 << width) - 1, 0x5_0000_0000]
    terms = {f"by_{k}": make("mul", width, a, const(x, width)) for k, x in enumerate(factors)}
    circuit = Circuit("products", (CircuitPort("a", width),), tuple(CircuitPort(name, width) for name in terms), terms)
    words, tidy, function = on_words(circuit).function(), simplify(circuit).function(), circuit.function()
    for code in (0, 1, (1 << width) - 1, *(rnd.getrandbits(width) for _ in range(20))):
        expected = [code * x % (1 << width) for x in factors]
        assert function([code]) == tidy([code]) == expected
        assert words(words_of([code], circuit.inputs)) == words_of(expected, circuit.outputs)


@pytest.mark.parametrize("seed", range(12))
def test_random_circuits_of_many_words(seed: int) -> None:
    circuit = random_circuit(seed, "random", widest=400, divided=40)
    words, function = on_words(circuit).function(), circuit.function()
    for codes in random_inputs(circuit, seed, 10):
        assert words(words_of(codes, circuit.inputs)) == words_of(function(codes), circuit.outputs)


def test_a_condition_is_known_on_both_sides() -> None:
    c, x, y = var("c", 1), var("x", 4), var("y", 4)
    known = eq(x, const(5, 4))
    terms = {
        "bit": ite(c, concat(c, y), concat(y, c)),
        "equal": ite(known, concat(x, y), concat(y, x)),
        "chosen": zext(eq(ite(c, const(3, 4), y), const(3, 4)), 5),
        "either": zext(or_(and_(c, known), and_(c, not_(known))), 5),
    }
    ports = tuple(CircuitPort(name, t.width) for name, t in terms.items())
    circuit = Circuit("known", (CircuitPort("c", 1), CircuitPort("x", 4), CircuitPort("y", 4)), ports, terms)
    tidy = simplify(circuit)
    assert tidy.terms["either"] is zext(c, 5)
    assert c not in subterms([tidy.terms["bit"].args[1], tidy.terms["bit"].args[2]])
    assert x not in subterms([tidy.terms["equal"].args[1]])
    for codes in itertools.product(range(2), range(16), range(16)):
        assert tidy.function()(codes) == circuit.function()(codes)


@pytest.mark.parametrize("op", ["shl", "lshr", "ashr"])
@pytest.mark.parametrize(("width", "by"), [(5, 2), (5, 9), (70, 7), (3, 70)])
def test_even_shift(op: str, width: int, by: int) -> None:
    shift = make(op, width, var("a", width), var("by", by))  # type: ignore[arg-type]
    for a in (1, 1 << (width - 1), (1 << width) - 2):
        for n in (0, 1, width - 1, width, (1 << by) - 1):
            values = {"a": a, "by": n % (1 << by)}
            assert evaluator([even_shift(shift)])(values) == evaluator([shift])(values)
