"""Operand ranges as terms: what the scalar evaluation says, and, proved, what the oracle's own operations say."""

from __future__ import annotations

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.vector_recipes import set_of
from softfloat_ref.oracle.codec import encode
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.symbolic.build import make, not_, substitute
from softfloat_ref.symbolic.classes import CLASSES, is_in, is_nan
from softfloat_ref.symbolic.ranges import range_term
from softfloat_ref.symbolic.terms import TRUE, Term, const, evaluator, var
from softfloat_ref.symbolic.units import circuit, lane_widths
from softfloat_ref.units import Unit, make_unit
from softfloat_ref.units.ranges.operand_range import OperandRange

MIXED = set_of({"count": 200, "unboxed": 4, "part": [
    {"op": "add", "fmt": "fp16", "place": "bc"}, {"op": "fma", "fmt": "fp32"}, {"op": "sqrt", "fmt": "fp16"},
]})  # fmt: skip
SETS = {
    "operation": (VectorSet.make("fma", "fp16", 400), (
        "a is normal and exponent(b) in 10..20", "not (a is nan or b is odd) and abs(a) >= abs(c)",
        "a < b or b is even",
        "exponent(a) > exponent(b) and c in -1.5..1/3", "a is integer and b != 0x3c00", "a is snan or abs(b) <= inf",
    )),
    "block": (VectorSet.make("dequantize", "mxfp4", 60), (
        "every elements is not zero and scale in 0x70..0x80", "any elements > elements[0]", "elements[31] is negative",
    )),
    "roundings": (VectorSet.make("add", "fp16", 200, roundings="rne,rtz"), ("a is normal and b is finite",)),
    "mixed": (MIXED, ("a is normal and c is zero", "b is finite or a is nan")),
}  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_terms_say_what_the_scalar_evaluation_says(name: str) -> None:
    vectors, texts = SETS[name]
    names = list(lane_widths(vectors.unit.inputs))
    for text in texts:
        run, within = evaluator([range_term(text, vectors.unit)]), OperandRange(text, vectors.unit)
        truths = set()
        for case in (*vectors.inputs(), *vectors.of_range(text).of_count(40).inputs()):
            truths.add(within.holds(case))
            assert run(dict(zip(names, case, strict=True)))[0] == within.holds(case), (text, case)
        assert truths == {False, True}, text


def test_without_a_range() -> None:
    assert range_term("", make_unit("add", "fp16")) is TRUE


def test_random_words_have_codes_only() -> None:
    unit = make_unit("convert", "fp32", out="fp16", policy={"rounding": "sr", "sr_bits": 4})
    assert evaluator([range_term("r = 0xa", unit)])({"r": 10}) == [1]
    assert evaluator([range_term("r <= 3", unit)])({"r": 4}) == [0]
    with pytest.raises(Error, match="r has no format"):
        range_term("r is zero", unit)


# -- proved ------------------------------------------------------------------------------------------------------------

# Every way of storing special codes and subnormals, and each width of the catalogue that a processor has.
PROVED = ["fp16", "bf16", "fp32", "fp64", "fp128", "fp8_e4m3", "fp8_e4m3fnuz", "e8m0", "i8", "binary8p4se"]


def differ(one: Term, other: Term) -> bool:
    """Whether any codes tell two bits apart."""
    from softfloat_ref.proof.solver import solve

    verdict = solve([make("xor", 1, one, other)], 60).result
    assert verdict in ("sat", "unsat")
    return verdict == "sat"


@pytest.mark.extra("bitwuzla")
@pytest.mark.parametrize("name", PROVED)
def test_classes_are_the_oracles_predicates(name: str) -> None:
    """The ranges of codes, and the oracle's functions read for every code."""
    fmt = get_format(name)
    unit, code = make_unit("is_nan", fmt), var("a", fmt.width)
    for known in CLASSES:
        assert not differ(range_term(f"a is {known}", unit), is_in(known, code, fmt)), known
    assert not differ(range_term("a is qnan", unit), is_nan(code, fmt, quiet=True))
    assert differ(range_term("a is positive", unit), is_in("nan", code, fmt))


@pytest.mark.extra("bitwuzla")
@pytest.mark.parametrize("name", ["fp16", "bf16", "fp32", "fp8_e4m3fnuz", "binary8p4se"])
def test_comparisons_are_the_oracles(name: str) -> None:
    """Of two operands, and of an operand with a number."""
    fmt = get_format(name)
    a = make_unit("is_nan", fmt)
    for op, sign in (("lt_quiet", "<"), ("le_quiet", "<="), ("eq", "=")):
        unit = make_unit(op, fmt)
        holds = circuit(unit).terms["result"]
        assert not differ(range_term(f"a {sign} b", unit), holds)
        opposite = {"<": "b <= a", "<=": "b < a"}
        if sign in opposite:
            ordered = f"({opposite[sign]} or a is nan or b is nan)"
            assert not differ(not_(range_term(ordered, unit)), holds)
        one = substitute([holds], {var("b", fmt.width): const(encode(1.5, fmt).bits, fmt.width)})[0]
        assert not differ(range_term(f"a {sign} 1.5", a), one)


def test_the_range_of_a_part_needs_its_control_fields() -> None:
    unit: Unit = SETS["roundings"][0].unit
    run = evaluator([range_term("a is normal", unit)])
    assert [run({"rounding": r, "a": 0x3C00, "b": 0})[0] for r in (0, 1)] == [1, 1]
