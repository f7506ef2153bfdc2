"""Circuits on words of 64 bits, and tidied ones, compute the same; a word has no signed operations."""

from __future__ import annotations

import pytest
from random_circuits import random_circuit, random_inputs

from softfloat_ref.export.tidy import even_shift, tidied
from softfloat_ref.export.words import on_words, words_of
from softfloat_ref.symbolic.terms import evaluator, in_order, make, var


@pytest.mark.parametrize("seed", range(40))
def test_random_circuits(seed: int) -> None:
    circuit = random_circuit(seed, "random", divided=20 if seed % 10 else 150)
    words, tidy, function = on_words(circuit), tidied(circuit).function(), circuit.function()
    assert all(t.width <= 64 and t.op not in ("ashr", "slt", "sext") for t in in_order(words.roots))
    for codes in random_inputs(circuit, seed, 20):
        expected = function(codes)
        assert tidy(codes) == expected
        assert words.function()(words_of(codes, circuit.inputs)) == words_of(expected, circuit.outputs)


@pytest.mark.parametrize("op", ["shl", "lshr", "ashr"])
@pytest.mark.parametrize(("width", "by"), [(5, 2), (5, 9), (70, 7), (3, 70)])
def test_even_shift(op: str, width: int, by: int) -> None:
    shift = make(op, width, var("a", width), var("by", by))  # type: ignore[arg-type]
    for a in (1, 1 << (width - 1), (1 << width) - 2):
        for n in (0, 1, width - 1, width, (1 << by) - 1):
            values = {"a": a, "by": n % (1 << by)}
            assert evaluator([even_shift(shift)])(values) == evaluator([shift])(values)
