"""Several operations by one text: each in formats and with operands of its own, as recipes have them."""

from __future__ import annotations

from typing import Any

import pytest

import softfloat_ref as sf
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.vector_recipes import set_of
from softfloat_ref.units import MixedUnit, OperationUnit
from softfloat_ref.units.several import operation_words, with_places

MODES = "rne,rtz"


def test_they_are_the_unit_of_a_recipe() -> None:
    recipe = {
        "padding": "zeros",
        "part": [
            {"op": ["fma", "add"], "fmt": "fp16", "rounding": ["rne", "rtz"]},
            {"op": "sub", "fmt": "fp16", "rounding": ["rne", "rtz"], "place": "bc"},
            {"op": ["eq", "min"], "fmt": "fp16"},
            {"op": "convert", "fmt": "fp16", "out": "i8", "rounding": ["rne", "rtz"]},
        ],
    }
    text = "fma,add,sub@bc,eq,min,convert:fp16:i8"
    unit = sf.unit(text, "fp16", roundings=MODES, padding="zeros")
    more = {*unit.parts} - {*set_of(recipe).unit.parts}
    assert {part.name for part in more} <= {"min_fp16_rtz"}
    assert {*set_of(recipe).unit.parts} <= {*unit.parts}
    assert sf.unit(text.split(","), "fp16", roundings=MODES.split(","), padding="zeros") == unit
    recipe_of_text = {"op": text, "fmt": "fp16", "roundings": MODES, "padding": "zeros"}
    assert set_of(recipe_of_text).unit == unit


def test_sums_of_other_operands() -> None:
    unit = sf.unit("fma,sub@bc", "fp16")
    assert isinstance(unit, MixedUnit)
    assert [unit.place(part) for part in unit.operations] == [["a", "b", "c"], ["b", "c"]]
    assert with_places("fma,sub,add@ac:bf16", {"sub": "bc"}) == "fma,sub@bc,add@ac:bf16"


def test_words() -> None:
    words = operation_words("Add, x86_fnmadd,convert:fp16:i32,sqrt:bf16")
    assert [str(word) for word in words] == ["add", sf.unit("x86_fnmadd", "fp16").op, "convert:fp16:i32", "sqrt:bf16"]
    one = sf.unit("convert:fp16:i32")
    assert isinstance(one, OperationUnit)
    assert one == sf.unit("convert", "fp16", "i32")


@pytest.mark.parametrize(
    ("op", "options", "message"),
    [
        ("add,foo", {}, "unknown operation 'foo'"),
        ("add,quantize", {}, "unknown operation 'quantize'"),
        ("add,", {}, "'' is not an operation"),
        ("add:", {}, "'add:' is not an operation"),
        ("add@bc", {}, "@bc is for one of several operations"),
        ("add@bz,mul", {}, "place = 'bz'"),
        ("add@b,mul", {}, "add has 2 operands"),
        ("add,add", {}, "same op, formats, rounding"),
        ("add,mul", {"k": 3}, "k is for dot, not for several operations"),
        ("add,mul", {"padding": "ones"}, "unknown padding 'ones'"),
        ("add", {"padding": "box"}, "padding is for several operations, not for add"),
        ("add,mul", {"fmt": None}, "add needs a format"),
        ([], {}, "an operation is a text"),
        (["add", 3], {}, "an operation is a text"),
    ],
)
def test_what_is_refused(op: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(Error, match=message):
        sf.unit(op, **{"fmt": "fp16", **options})


def test_a_set_of_them() -> None:
    vectors = sf.vectors("abs,neg", "fp8_e5m2", 40, seed=3)
    lines = [*vectors.lines()]
    assert len(lines) == 40
    assert {line[0] for line in lines} == {0, 1}
    assert all(line[-2] == (line[4] & 0x7F if line[0] == 0 else line[4] ^ 0x80) for line in lines)
