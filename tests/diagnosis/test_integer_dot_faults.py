"""Faults of dot products of integers are named; of units with an accumulator of their own, too."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from diagnosing import defect, diagnosis, names

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.hypotheses import Inputs, Output
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.units import IntegerDotUnit


@cache
def vectors(acc: str, fmt: str = "a=u8,b=i8", **options: Any) -> VectorSet:
    return VectorSet.make("integer_dot", fmt, 600, acc=acc, **options)


@pytest.mark.full(keep=6)
@pytest.mark.parametrize(
    ("name", "acc"),
    [
        ("symmetric saturation", "saturate"),
        ("a as i8", "wrap"),
        ("b as u8", "saturate"),
        ("a as i8 and b as u8", "wrap"),
        ("product 0 lost", "wrap"),
        ("product 3 lost", "saturate"),
        ("lanes of b reversed", "wrap"),
        ("lanes of b one up", "wrap"),
        ("products wrap in 15 bits", "wrap"),
        ("products saturate in 14 bits", "wrap"),
        ("accumulator of 31 bits", "wrap"),
        ("accumulator of 24 bits", "saturate"),
        ("pairs saturate in 16 bits", "wrap"),
        ("c ignored", "wrap"),
        ("products subtracted", "saturate"),
        ("no overflow", "wrap"),
        ("bit 31 is 0", "wrap"),
    ],
)
def test_it_is_named(name: str, acc: str) -> None:
    found = diagnosis(vectors(acc), defect(vectors(acc), name))
    assert found.complete
    assert name in names(found)


@pytest.mark.parametrize(
    "name", ["clear ignored", "clear inverted", "products lost by clear", "b as u8", "accumulator of 17 bits"]
)
def test_of_a_register(name: str) -> None:
    """The accumulator of these vectors is what the line before left."""
    own, held = vectors("wrap", "i8", out="i18", clear=True), [0]
    step = defect(own, name)

    def device(inputs: Inputs) -> Output:
        """It does not read c."""
        answer = step((*inputs[:-1], held[0]))
        assert answer is not None
        held[0] = answer[0]
        return answer

    found = diagnosis(own, device)
    assert found.complete
    assert name in names(found)


@pytest.mark.parametrize(
    ("acc", "device"),
    [
        ("wrap", "saturate"),
        ("saturate", "wrap"),
        ("saturate", "saturate/1"),
        ("saturate", "saturate/2"),
        ("saturate/1", "saturate"),
    ],
)
def test_other_accumulators(acc: str, device: str) -> None:
    found = diagnosis(vectors(acc), replace(vectors(acc).unit, accumulator=device).answer)  # type: ignore[type-var]
    assert found.complete
    assert names(found)[0] == f"accumulator {device}"


def test_lines_of_a_register_are_not_chosen() -> None:
    with pytest.raises(Error, match="goes on from the one before; none can be left out"):
        vectors("wrap", "i8", out="i18", clear=True, where="c = 0").cases  # noqa: B018


def test_lines_of_a_register_follow_one_another() -> None:
    """A device that keeps its accumulator gives every expected answer without reading c."""
    own = vectors("saturate", "i8", out="i18", clear=True)
    held, unit = 0, own.unit
    assert isinstance(unit, IntegerDotUnit)
    cleared = 0
    for line in own.inputs():
        assert line[-1] == held
        cleared += line[-2]
        held = unit.answer(line)[0]
    assert line[-2] == 0 or cleared
    assert next(iter(own.inputs()))[-2] == 1
