"""Requantization: rules against their definitions in fractions, on every input of narrow registers and at the ends of
wide ones; and results that the libraries' own code gave."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from requantize_definition import ROUNDED, NoResult, by_rule, drawn_rules, halves_up, once, saturate, tosa, twice, wrap

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.requantization import RULES, RequantizeRule, define_rule, get_rule
from softfloat_ref.oracle.rounding import Rounding, round_shift
from softfloat_ref.units import RequantizeUnit, restored, stored


@pytest.mark.parametrize("mode", ROUNDED)
def test_a_rounded_shift_is_the_definition(mode: str) -> None:
    for x, shift in itertools.product(range(-70, 71), range(-2, 9)):
        right = ROUNDED[mode](Fraction(x) / Fraction(2) ** shift)
        assert round_shift(x, shift, Rounding[mode.upper()]) == right, (x, shift)


def test_every_deterministic_rounding_is_compared() -> None:
    assert {x.name.lower() for x in Rounding if not x.stochastic} == ROUNDED.keys()


def requantized(unit: RequantizeUnit, *numbers: int) -> int | None:
    """The integer; None if it is undefined."""
    try:
        (code,) = unit.answer([x % (1 << f.width) for x, f in zip(numbers, unit.inputs, strict=True)])
    except Undefined:
        return None
    fmt = unit.out
    return code - (code >> fmt.width - 1 << fmt.width) if fmt.signed else code


# -- every input of narrow registers ---------------------------------------------------------------------------------

BITS = 5  # of the register: the doubling product has 2^-4 as its unit
NARROW: dict[str, tuple[dict[str, Any], Callable[[int, int, int], int | None]]] = {
    "tflite": ({}, lambda x, m, s: twice(x, m, s, BITS)),
    "cmsis-nn": ({}, lambda x, m, s: twice(x, m, s, BITS, wrap)),
    "tflite-single": (
        {"result": "saturated", "negative": "allowed"},
        lambda x, m, s: saturate(once(x, m, s, BITS - 1), BITS),
    ),
    "cmsis-nn-single": ({}, lambda x, m, s: wrap(once(x, m, s, BITS - 1), BITS)),
    "gemmlowp": ({"least_shift": 0, "most_shift": 3}, lambda x, m, s: twice(x, m, -s, BITS)),
    "single": ({}, lambda x, m, s: once(x, m, s, BITS - 1)),
}


def narrow(name: str, **changes: Any) -> RequantizeRule:
    """A rule as it is for registers of 5 bits."""
    rule = RULES[name]
    own = {"multiplier": "i5", "shift": "i3", "least_shift": -4, "most_shift": 3, "sum": "exact"}
    bits = {"register_bits": BITS, "first_bits": min(rule.first_bits, BITS - 1), "fraction": BITS - 1}
    return rule.replace(**own | bits | {"accumulator_bits": BITS} | changes)


@pytest.mark.parametrize("name", NARROW)
def test_every_input_of_a_narrow_register(name: str) -> None:
    changes, definition = NARROW[name]
    unit = RequantizeUnit.make("i5", "i9", narrow(name, **changes), "zero_point=0")
    numbers = range(-16, 16)
    shifts = range(changes.get("least_shift", -4), 4)
    for x, m, s in itertools.product(numbers, numbers, shifts):
        assert requantized(unit, x, m, s) == definition(x, m, s), (x, m, s)


@pytest.mark.parametrize("double", [False, True])
def test_the_rounding_of_tosa_is_its_sum(double: bool) -> None:
    """Two roundings, of which the first is left out for small shifts, are the specification's one sum."""
    rule = narrow(
        "tosa-double" if double else "tosa",
        fraction=0,
        shift="u4",
        least_shift=2,
        most_shift=10,
        result="exact",
        first_bits=5 if double else 0,
    )
    unit = RequantizeUnit.make("i5", "i9", rule, "zero_point=0")
    for x, m, s in itertools.product(range(-16, 16), range(16), range(2, 11)):
        small = -1 << s <= 2 * x < 1 << s
        assert requantized(unit, x, m, s) == (tosa(x, m, s, double, 5) if small else None), (x, m, s)


# -- wide registers --------------------------------------------------------------------------------------------------

I32 = (-1 << 31, 1 - (1 << 31), -1, 0, 1, 3 << 29, (1 << 31) - 1, (1 << 31) - 2, 1 << 30, -1 << 30, 7984, 1583594044)


def wide(seed: int, count: int) -> Iterator[tuple[int, int, int]]:
    """Ends, random lengths, and ties of few bits."""
    draw = random.Random(seed)
    yield from itertools.product(I32, I32, (-31, -9, -1, 0, 1, 30))
    for _ in range(count):
        few = (2 * draw.randrange(4) + 1) << draw.randrange(28)
        yield (
            draw.choice([draw.randint(-1 << 31, (1 << 31) - 1) >> draw.randrange(32), few, -few]),
            draw.choice([draw.randint(1 << 30, (1 << 31) - 1), (2 * draw.randrange(4) + 1) << draw.randrange(28)]),
            draw.randint(-31, 30),
        )


@pytest.mark.parametrize(
    ("name", "definition"),
    [
        ("tflite", lambda x, m, s: twice(x, m, s, 32)),
        ("cmsis-nn", lambda x, m, s: twice(x, m, s, 32, wrap)),
        ("cmsis-nn-single", lambda x, m, s: wrap(once(x, m, s, 31), 32)),
        ("single", lambda x, m, s: once(x, m, s, 31)),
    ],
)
def test_wide_registers(name: str, definition: Callable[[int, int, int], int]) -> None:
    unit = RequantizeUnit.make("i32", "i64", name, "zero_point=0")
    for x, m, s in wide(3, 1500):
        assert requantized(unit, x, m, s) == saturate(definition(x, m, s), 64), (x, m, s)


def test_two_roundings_are_not_one() -> None:
    """The first rounding makes 11.499... a tie."""
    for name, right in (("tflite", 12), ("tflite-single", 11), ("cmsis-nn", 12), ("cmsis-nn-single", 11)):
        assert requantized(RequantizeUnit.make("i32", "i8", name), 7984, 1583594044, -9, 0) == right
        assert requantized(RequantizeUnit.make("i32", "i8", name), 7984, 1583594044, -9, -5) == right - 5
    for name, right in (("tosa-double", 12), ("tosa", 11), ("gemmlowp", 12)):
        shift = 9 if name == "gemmlowp" else 40
        assert requantized(RequantizeUnit.make("i32", "i8", name), 7984, 1583594044, shift, 0) == right


# Results of the makers' own code (gcc -fwrapv): rule, accumulator, multiplier or scale, shift, result in i48 or i8.
MADE_ELSEWHERE = [
    ("tflite", 7984, 1583594044, -9, 12),
    ("tflite", 3, 1073741824, 0, 2),
    ("tflite", -3, 1073741824, 0, -1),
    ("tflite", -5, 1073741824, -1, -1),
    ("tflite", 536870913, 1073741824, 2, -1073741822),
    ("tflite", 2147483647, 2147483647, 3, -8),
    ("tflite", -2147483648, -2147483648, 0, 2147483647),
    ("tflite", -1, 1, -31, 0),
    ("cmsis-nn", 7984, 1583594044, -9, 12),
    ("cmsis-nn", 3, 1073741824, 0, 2),
    ("cmsis-nn", -3, 1073741824, 0, -1),
    ("cmsis-nn", -5, 1073741824, -1, -1),
    ("cmsis-nn", 536870913, 1073741824, 2, -1073741822),
    ("cmsis-nn", 2147483647, 2147483647, 3, -8),
    ("cmsis-nn", -2147483648, -2147483648, 0, -2147483648),
    ("cmsis-nn", -1, 1, -31, 0),
    ("cmsis-nn-single", 7984, 1583594044, -9, 11),
    ("cmsis-nn-single", 3, 1073741824, 0, 2),
    ("cmsis-nn-single", -3, 1073741824, 0, -1),
    ("cmsis-nn-single", -5, 1073741824, -1, -1),
    ("cmsis-nn-single", 536870913, 1073741824, 2, 1073741826),
    ("cmsis-nn-single", 2147483647, 2147483647, 3, -16),
    ("cmsis-nn-single", -2147483648, -2147483648, 0, -2147483648),
    ("cmsis-nn-single", -1, 1, -31, 0),
    ("cmsis-nn-single-7", 7984, 1583594044, -9, 11),
    ("cmsis-nn-single-7", 3, 1073741824, 0, 2),
    ("cmsis-nn-single-7", -3, 1073741824, 0, -1),
    ("cmsis-nn-single-7", -5, 1073741824, -1, -1),
    ("cmsis-nn-single-7", 536870913, 1073741824, 2, -1073741822),
    ("cmsis-nn-single-7", -2147483648, 1073741824, 2, 0),
    ("cmsis-nn-single-7", -1, 1, -31, 0),
    ("tflite-single", 7984, 1583594044, -9, 11),
    ("tflite-single", -3, 1073741824, 0, -1),
    ("tflite-single", -2147483648, 2147483647, 0, -2147483647),
    ("tflite-single", -5, 1073741824, -1, -1),
    ("tflite-int64", 123456789012345, 1583594044, -16, 1389165339),
    ("tflite-int64", -70368744177664, 2147483647, -16, -1073709056),
    ("tflite-int64", -3, 1073741824, 0, -1),
    ("tflite-int64", 100000, 1073774592, -7, 391),
    ("tflite-int64", 100000, 1073774591, -7, 391),
    ("gemmlowp", 7984, 1583594044, 9, 12),
    ("gemmlowp", -5, 1073741824, 1, -1),
    ("gemmlowp", -2147483648, -2147483648, 31, 1),
    ("gemmlowp", 2147483647, 2147483647, 31, 1),
    ("cmsis-nn-s64", 123456789012, 24164, -16, 1389165),
    ("cmsis-nn-s64", -3, 16384, 0, -1),
    ("cmsis-nn-s64", 1099511627776, -32768, -9, 0),
    ("cmsis-nn-s64", 17592186044416, 32767, -9, -1048576),
    ("tosa", 7984, 1583594044, 40, 11),
    ("tosa", -7984, 1583594044, 40, -11),
    ("tosa", -3, 1073741824, 31, -1),
    ("tosa", -5, 1073741824, 32, -1),
    ("tosa", 5, 1073741824, 32, 1),
    ("tosa", -2147483648, 2147483647, 62, -1),
    ("tosa-double", 7984, 1583594044, 40, 12),
    ("tosa-double", -7984, 1583594044, 40, -12),
    ("tosa-double", -3, 1073741824, 31, -1),
    ("tosa-double", -5, 1073741824, 32, -1),
    ("tosa-double", 5, 1073741824, 32, 2),
    ("tosa-double", -2147483648, 2147483647, 62, -1),
    ("tosa-16", 123456789012, 24164, 31, 1389165),
    ("tosa-16", -140737488355328, 32767, 45, -131068),
    ("tosa-16", -3, 16384, 15, -1),
    ("xnnpack-fp32", 5, 0x3F000000, 0, 2),
    ("xnnpack-fp32", -5, 0x3F000000, 0, -2),
    ("xnnpack-fp32", 7, 0x3F000000, 0, 4),
    ("xnnpack-fp32", 16777217, 0x36000000, 0, 32),
    ("xnnpack-fp32", 2147483647, 0x43480000, 0, 127),
    ("xnnpack-fp32", -2147483648, 0x3F800000, 0, -128),
    ("xnnpack-fp32", -20, 0x40CB3333, 0, -127),
    ("xnnpack-rndnu", 5, 0x3F000000, 0, 3),
    ("xnnpack-rndnu", -5, 0x3F000000, 0, -2),
    ("xnnpack-rndnu", 7, 0x3F000000, 0, 4),
    ("xnnpack-rndnu", 16777217, 0x36000000, 0, 32),
    ("xnnpack-rndnu", 2147483647, 0x43480000, 0, -128),
    ("xnnpack-rndnu", -2147483648, 0x3F800000, 0, -128),
    ("xnnpack-rndnu", -20, 0x40CB3333, 0, -127),
]


@pytest.mark.parametrize(("name", "x", "m", "s", "right"), MADE_ELSEWHERE)
def test_results_of_the_libraries(name: str, x: int, m: int, s: int, right: int) -> None:
    rule = RULES[name]
    fmt = get_format("i48" if rule.accumulator_bits == 48 else "i32")
    if rule.has_shift:
        assert requantized(RequantizeUnit.make(fmt, "i48", rule, "zero_point=0"), x, m, s) == right
    else:
        assert requantized(RequantizeUnit.make(fmt, "i8", rule), x, m, s) == right


def test_every_rule_of_a_library_has_such_a_result() -> None:
    assert {row[0] for row in MADE_ELSEWHERE} == RULES.keys() - {"single", "onnx-reference", "onnxruntime"}


# -- scales ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["onnxruntime", "onnx-reference", "xnnpack-rndnu"])
def test_scales_are_the_definition(name: str) -> None:
    """numpy's float32 and float64 products; and the exact product, rounded once, halves up."""
    np = pytest.importorskip("numpy")
    unit, draw = RequantizeUnit.make("i32", "i8", name), random.Random(4)
    for _ in range(2000):
        x = draw.randint(-1 << 31, (1 << 31) - 1) >> draw.randrange(24)
        power = 2.0 ** draw.randint(-30, -2)
        scale = np.float32(power * draw.choice([1, 1.5, 1 + draw.random()]))
        z = draw.randint(-128, 127)
        if name == "onnx-reference":
            q = int(np.rint(np.float64(x) * np.float64(scale) + z)) - z
        elif name == "onnxruntime":
            q = int(np.rint(np.float32(x) * scale))
        else:
            q = wrap(halves_up(x * Fraction(float(scale))), 32)
        right = min(max(q + z, -128), 127)
        assert requantized(unit, x, int(scale.view(np.uint32)), z) == right, (x, scale, z)


@pytest.mark.parametrize("code", [0, 0x80000000, 0xBF800000, 0x7F800000, 0x7FC00000])
def test_a_scale_is_a_positive_number(code: int) -> None:
    assert requantized(RequantizeUnit.make("i32", "i8", "onnxruntime"), 5, code, 0) is None


def test_the_largest_scales() -> None:
    unit = RequantizeUnit.make("i32", "i8", "onnxruntime")
    assert requantized(unit, (1 << 31) - 1, 0x7F7FFFFF, 3) == 127
    assert requantized(unit, -1 << 31, 0x7F7FFFFF, 3) == -128
    assert requantized(unit, 0, 0x7F7FFFFF, 3) == 3
    assert requantized(unit, 1 << 30, 1, 3) == 3


# -- any rule ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_drawn_rules_are_the_definition(seed: int) -> None:
    """Of any formats, with every field: in fractions, and where there is no result."""
    draw, results = random.Random(seed), 0
    for rule in drawn_rules(seed, 60):
        unit = RequantizeUnit.make(
            draw.choice(["i8", "u8", "i11"]), draw.choice(["i6", "u6", "i13"]), rule, clamped=True
        )
        for _ in range(60):
            numbers = [
                draw.randint(-f.fmt.sign_bit, f.fmt.max_code) >> draw.choice([0, 0, 2, 4]) for f in unit.inputs if f.fmt
            ]
            x, m, s, z, *ends = numbers
            try:
                if ends[0] > ends[1]:
                    raise NoResult
                right: int | None = by_rule(rule, rule.register(unit.accumulator), x, m, s, z, (ends[0], ends[1]))
                results += 1
            except NoResult:
                right = None
            assert requantized(unit, *numbers) == right, (rule, numbers)
    assert results > 300


# -- what has no result ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "numbers"),
    [
        ("tflite", (1, 1, 31, 0)),
        ("tflite", (1, 1, -32, 0)),
        ("tflite", ((1 << 31) - 1, (1 << 31) - 1, 0, 3)),  # the sum with the zero point overflows
        ("tflite-single", (1, -1, 0, 0)),
        ("tflite-single", (1 << 30, 1 << 30, 2, 0)),
        ("tosa", (1, 1, 1, 0)),
        ("tosa", (8, 1, 4, 0)),
        ("tosa", (-9, 1, 4, 0)),
        ("cmsis-nn-single-7", ((1 << 31) - 1, 1 << 30, 0, 0)),
    ],
)
def test_operands_without_a_result(rule: str, numbers: tuple[int, ...]) -> None:
    unit = RequantizeUnit.make("i32", "i8", rule)
    assert requantized(unit, *numbers) is None
    assert requantized(unit, 0, 0, 2, 0) == 0


# -- the zero point and the range --------------------------------------------------------------------------------------


def test_the_zero_point_inside_the_rounding() -> None:
    """It decides ties to even: 2.5 with a zero point of 5."""
    numbers = (5, 1 << 30, 0)
    for order, right in (("outside", 7), ("inside", 8)):
        unit = RequantizeUnit.make("i32", "i8", f"single,rounding=rne,order={order}")
        assert requantized(unit, *numbers, 5) == right
        assert requantized(unit, 5, 1 << 30, 3, 5) == 25


def test_halves_and_zero_points_in_onnx() -> None:
    """ONNX Runtime rounds and then adds; the reference evaluator of onnx adds first."""
    for name, right in (("onnxruntime", [1, 1, 2, 3, 3]), ("onnx-reference", [1, 2, 2, 2, 3])):
        unit = RequantizeUnit.make("i32", "u8", name)
        assert [requantized(unit, x, 0x3F000000, 1) for x in range(5)] == right


def test_an_activation_range() -> None:
    unit = RequantizeUnit.make("i32", "u8", "tflite", clamped=True)
    assert [f.name for f in unit.inputs] == ["accumulator", "multiplier", "shift", "zero_point", "min", "max"]
    for x, right in ((-50, 10), (0, 20), (100, 120), (900, 200)):
        assert requantized(unit, x, 1 << 30, 1, 20, 10, 200) == right
    assert requantized(unit, 1, 1, 0, 0, 3, 2) is None
    relu = RequantizeUnit.make("i32", "i8", "tflite", "zero_point=-20,min=-20")
    assert requantized(relu, -50, 1 << 30, 1) == -20


def test_constants() -> None:
    unit = RequantizeUnit.make("i32", "i8", "tflite", {"shift": -9, "multiplier": 1583594044, "zero_point": 0})
    assert [f.name for f in unit.inputs] == ["accumulator"]
    assert unit.fixed == "multiplier=1583594044,shift=-9,zero_point=0"
    assert requantized(unit, 7984) == 12
    assert RequantizeUnit.make("i32", "i8", "onnxruntime", "scale=0.1").fixed == "scale=0.10000000149011612"
    for same in (unit, RequantizeUnit.make("i32", "u8", "onnxruntime,rounding=rna", "scale=0.1", True)):
        assert restored(stored(same)) == same


# -- rules of users ----------------------------------------------------------------------------------------------------

TABLE = """
[requantize_rules.npu]
like = "tflite"
multiplier = "i16"
fraction = 15
first_bits = 15
register_bits = 24
left = "saturated"
"""


def test_a_rule_of_a_user(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(TABLE)
    unit = RequantizeUnit.make("i24", "i8", f"{path}:npu,rounding=rne", "zero_point=0")
    assert (unit.rule.left, unit.rule.multiplier, unit.rule.rounding) == ("saturated", "i16", "rne")
    assert requantized(unit, 1 << 22, 1 << 14, 5) == 127
    assert requantized(unit, 5, 1 << 14, -1) == 2  # 2.5 up to 3, 1.5 to even
    assert restored(stored(unit)) == unit


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("tflit", "unknown requantization rule 'tflit'; did you mean tflite"),
        ("tflite,first=rn", "unknown first"),
        ("tflite,fraction=x", "fraction = 'x' is not an integer"),
        ("tflite,fraction=99", "fraction = 99; it must be from 0 to 64"),
        ("tflite,rounding=sr", "unknown rounding"),
        ("tflite,multiplier=fp32", "left is for an integer multiplier, not fp32"),
        ("onnxruntime,reduced=3", "reduced is for an integer multiplier"),
        ("tflite,order=inside", "order = inside is for one rounding"),
        ("single,arithmetic=fp32", "arithmetic = fp32 is for a float multiplier"),
        ("single,shift=fp16", "a shift is an integer"),
        ("cmsis-nn-single-7,rounding=rne", "wrapped-early is for one rounding, rnu"),
        ("single,multiplier=u65", "at most 64 bits"),
        ("single,range=shift", "range = shift needs shifts of at least 1"),
        ("tflite,", "nothing follows the comma"),
    ],
)
def test_rules_that_are_refused(rule: str, message: str) -> None:
    with pytest.raises(Error, match=message):
        get_rule(rule)


def test_tables_that_are_refused() -> None:
    with pytest.raises(Error, match="unknown field 'roundin'"):
        define_rule({"roundin": "rne"}, "mine")
    with pytest.raises(Error, match=r"fraction = '3' is not of type int"):
        define_rule({"fraction": "3"}, "mine")
    with pytest.raises(Error, match="must be a name"):
        get_rule(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (("fp32", "i8", "single"), "an accumulator of rule single is an integer"),
        (("i33", "i8", "tflite"), "at most 32 bits, not i33"),
        (("i32", "fp16", "tflite"), "a result of rule tflite is an integer"),
        (("i32", "i8", "tflite", "shift=32"), "shift=32 does not fit i6: from -32 to 31"),
        (("i32", "i8", "tflite", "shift=a"), "shift='a' is not an integer"),
        (("i32", "i8", "tflite", "scale=1"), "unknown key 'scale'"),
        (("i32", "u8", "tflite", "zero_point=-1"), "zero_point=-1 does not fit u8"),
    ],
)
def test_units_that_are_refused(make: tuple[Any, ...], message: str) -> None:
    with pytest.raises(Error, match=message):
        RequantizeUnit.make(*make)
