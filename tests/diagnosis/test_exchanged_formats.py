"""Operands of two formats of one width, each read in the other's: by every kind of unit that has two such operands."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from diagnosing import diagnosis, names

from softfloat_ref.diagnosis.defects import Faulty
from softfloat_ref.diagnosis.exchanged_formats import exchanged_formats
from softfloat_ref.diagnosis.hypotheses import Inputs, Output
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.units import make_unit

# An operation of each shape (commutative, a quotient, a difference, a comparison, multiply-add), of pairs of formats of
# one width; and dot products of each kind.
PAIRS = [
    ("mul", "a=fp16,b=bf16", "fp32", "ab"),
    ("add", "a=bf16,b=fp16", "fp32", "ab"),
    ("sub", "a=fp16,b=bf16", "fp32", "ab"),
    ("div", "a=fp8_e4m3,b=fp8_e5m2", "fp16", "ab"),
    ("lt", "a=fp16,b=bf16", None, "ab"),
    ("fma", "a=fp8_e4m3,b=fp8_e5m2,c=fp16", "fp16", "ab"),
    ("fma", "a=fp16,b=fp16,c=bf16", "fp32", "ac"),
    ("fma", "a=fp16,b=fp16,c=bf16", "fp32", "bc"),
]


@pytest.mark.full(keep=1, gate=1)
@pytest.mark.parametrize(("op", "fmt", "out", "pair"), PAIRS)
def test_formats_of_an_operation(op: str, fmt: str, out: str | None, pair: str) -> None:
    vectors = VectorSet.make(op, fmt, 200, out=out)
    unit = vectors.unit
    i, j = ("abc".index(x) for x in pair)
    formats = list(unit.formats)
    formats[i], formats[j] = formats[j], formats[i]
    other = dataclasses.replace(unit, formats=tuple(formats))
    result = diagnosis(vectors, Faulty(other))
    assert result.complete
    name = f"formats of {pair[0]} and {pair[1]} exchanged"
    assert names(result) == [name]
    assert result.best[0].hypothesis.unit == other
    assert (
        f"reads {pair[0]} as {formats[i].name} and {pair[1]} as {formats[j].name}"
        in result.best[0].hypothesis.description
    )


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(("op", "fmt", "out", "pair"), PAIRS)
def test_ports_of_an_operation(op: str, fmt: str, out: str | None, pair: str) -> None:
    """Codes go to each other's port: the same, where the operands are factors of a product or terms of a sum."""
    vectors = VectorSet.make(op, fmt, 200, out=out)
    i, j = ("abc".index(x) for x in pair)

    def device(inputs: Inputs) -> Output:
        codes = list(inputs)
        codes[i], codes[j] = codes[j], codes[i]
        return tuple(vectors.unit.answer(codes))

    result = diagnosis(vectors, device)
    assert result.complete
    kind = "formats" if op in ("mul", "add") or (op == "fma" and pair == "ab") else "ports"
    assert names(result) == [f"{kind} of {pair[0]} and {pair[1]} exchanged"]


DOTS: list[tuple[str, str, dict[str, Any]]] = [
    ("dot", "a=fp8_e4m3,b=fp8_e5m2,c=fp32", {"k": 4}),
    ("dot", "a=mxfp8_e4m3,b=mxfp8_e5m2,c=fp32", {"k": 32}),
    ("matmul", "a=fp8_e4m3,b=fp8_e5m2", {"m": 2, "n": 2, "k": 4}),
    ("integer_dot", "a=u8,b=i8", {"k": 4}),
]


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(("op", "fmt", "options"), DOTS)
def test_formats_of_a_dot_product(op: str, fmt: str, options: dict[str, Any]) -> None:
    vectors = VectorSet(make_unit(op, fmt, **options), 100)
    a, b, *rest = (x.partition("=")[2] for x in fmt.split(","))
    other = make_unit(op, ",".join([f"a={b}", f"b={a}", *(f"c={x}" for x in rest)]), **options)
    result = diagnosis(vectors, Faulty(other))
    assert result.complete
    assert "formats of a and b exchanged" in names(result)


def test_formats_of_other_widths_are_not_exchanged() -> None:
    assert [*exchanged_formats(make_unit("mul", "a=fp16,b=fp8_e5m2", out="fp32"))] == []
    assert [*exchanged_formats(make_unit("mul", "fp16"))] == []
