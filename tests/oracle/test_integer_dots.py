"""Dot products of integers: by the definition in Python's integers, over all operands of small formats; arrays."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.formats import Format
from softfloat_ref.units import IntegerDotUnit, make_unit, restored, stored

OVERFLOW = 0x04


def value(code: int, fmt: Format) -> int:
    return code - (1 << fmt.width) if fmt.signed and code >> fmt.width - 1 else code


def expected(unit: IntegerDotUnit, line: tuple[int, ...]) -> tuple[int, int]:
    """The result and the flags, from the words of the documentation."""
    k, size = unit.k, int(unit.accumulator.partition("/")[2] or unit.k)
    n = unit.c.width
    low, high = (-(2 ** (n - 1)), 2 ** (n - 1) - 1) if unit.c.signed else (0, 2**n - 1)
    total, flags = value(line[-1], unit.c), 0
    if unit.clear and line[2 * k]:
        total = 0
    for first in range(0, k, size):
        for i in range(first, min(first + size, k)):
            total += value(line[i], unit.a) * value(line[k + i], unit.b)
        if not low <= total <= high:
            flags = OVERFLOW
            total = max(low, min(total, high)) if "saturate" in unit.accumulator else (total - low) % 2**n + low
    return total % 2**n, flags


@pytest.mark.parametrize("clear", [False, True])
@pytest.mark.parametrize("acc", ["wrap", "wrap/1", "saturate", "saturate/1"])
@pytest.mark.parametrize(
    ("a", "b", "c"), [("i2", "i2", "i3"), ("u2", "i2", "i4"), ("u2", "u2", "u3"), ("i2", "u1", "u2")]
)
def test_every_operand(a: str, b: str, c: str, acc: str, clear: bool) -> None:
    unit = IntegerDotUnit.make(f"a={a},b={b},c={c}", acc=acc, k=2, clear=clear)
    widths = [f.width for f in unit.inputs for _ in range(f.lanes)]
    lines = list(product(*(range(1 << w) for w in widths)))
    wanted = [expected(unit, line) for line in lines]
    assert [tuple(unit.answer(line)) for line in lines] == wanted
    answers = unit.answers(np.array(lines, np.uint64))
    assert answers is not None
    assert [*map(tuple, answers.tolist())] == wanted


def test_where_sums_saturate() -> None:
    """7fffffff + 2 * 255 * 127 - 2 * 255 * 128: it saturates on the way, or not."""
    case = (0xFF,) * 4 + (0x7F, 0x7F, 0x80, 0x80, 0x7FFFFFFF)
    results = {"wrap/1": 0x7FFFFE01, "saturate": 0x7FFFFE01, "saturate/4": 0x7FFFFE01, "saturate/2": 0x7FFF00FF}
    for acc, result in results.items():
        assert make_unit("integer_dot", "a=u8,b=i8", acc=acc).answer(case)[0] == result
    running = make_unit("integer_dot", "a=u8,b=i8", acc="saturate/2", steps=True).answer(case)
    assert running == (0x7FFFFFFF, 0x7FFF00FF, 0x7FFF00FF, OVERFLOW)


def test_wide_accumulators_have_no_arrays() -> None:
    unit = IntegerDotUnit.make("i8", "i64", k=2)
    line = (0x7F, 0x7F, 0x7F, 0x7F, (1 << 63) - 1)
    assert tuple(unit.answer(line)) == expected(unit, line) == ((1 << 63) - 1 + 2 * 127 * 127, OVERFLOW)
    assert unit.answers(np.array([line], np.uint64)) is None


def test_definitions() -> None:
    unit = IntegerDotUnit.make("a=u8,b=i4", "i20", "saturate/3", 7, steps=True, clear=True)
    assert restored(stored(unit)) == unit
    assert unit.name == "integer_dot_u8_i4_to_i20_saturate_3_clear"
    assert [f.name for f in unit.fields] == ["a", "b", "clear", "c", "steps", "result", "flags"]
    assert unit.step_count == 3


@pytest.mark.parametrize(
    ("fmt", "options", "message"),
    [
        ("fp16", {}, "a must have an integer format, for example i8 or u32, not fp16"),
        ("a=i8,b=i8,c=i32", {"out": "i16"}, "c and the result have one format, not i32 and i16"),
        ("mxint8", {}, "integer_dot adds integers, for example i8, not blocks of mxint8"),
        ("i8", {"acc": "exact"}, "accumulator 'exact' of integers: give wrap or saturate"),
        ("i8", {"acc": "wrap/8", "k": 4}, "a step of 8 products is longer than the vectors, which have 4 elements"),
        ("i8", {"out": "fp32"}, "c must have an integer format, for example i8 or u32, not fp32"),
    ],
)
def test_what_is_refused(fmt: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(Error, match=message):
        make_unit("integer_dot", fmt, **options)


def test_dot_says_what_adds_integers() -> None:
    with pytest.raises(Error, match="not i32; integer_dot adds integers"):
        make_unit("dot", "a=i8,b=i8,c=i32")


@pytest.mark.parametrize(
    ("fmt", "options", "label"),
    [
        ("i8", {}, "integer_dot i8 to i32 wrap"),
        ("a=i9,b=u8", {"out": "i26", "acc": "saturate"}, "integer_dot i9 x u8 to i26 saturate"),
    ],
)
def test_a_label_has_both_formats_and_the_accumulator(fmt: str, options: dict[str, str], label: str) -> None:
    assert make_unit("integer_dot", fmt, **options).label == label
