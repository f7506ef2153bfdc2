"""Faults of devices in the 80-bit extended format: how the stored integer bit is read, policies that are of this format
only, and a sample of the others, whose roundings know nothing of that bit."""

from __future__ import annotations

import pytest
from diagnosing import defect, diagnosis, names

from softfloat_ref.diagnosis import range_defects
from softfloat_ref.diagnosis.checked import space_of
from softfloat_ref.diagnosis.defects import defective
from softfloat_ref.diagnosis.encoding_defects import ENCODING_DEFECTS
from softfloat_ref.diagnosis.roundings import rounding
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.operations import evaluator
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.units import OperationUnit

ADD = VectorSet.make("add", "extf80", 900, policy="x87")
LESS = VectorSet.make("lt", "extf80", 900, policy="softfloat-8086")


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("name", [row[0] for row in ENCODING_DEFECTS])
def test_readings_of_the_integer_bit(name: str) -> None:
    d = diagnosis(ADD, defect(ADD, name))
    assert d.complete
    assert name in names(d)


def test_readings_of_the_integer_bit_in_comparisons() -> None:
    d = diagnosis(LESS, defect(LESS, "integer bit ignored"))
    assert d.complete
    assert "integer bit ignored" in names(d)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("op", "base", "fields", "named"),
    [
        ("mul", "x87", {"rounding_precision": 64}, "rounding_precision = 64"),
        ("add", "x87", {"unnormals": "value"}, "unnormals = value"),
        ("div", "x87", {"rounding_precision": 32}, "rounding_precision = 32"),
        ("sub", "ieee", {"nan": "propagate-larger,negative"}, "x87"),
        ("sqrt", "ieee", {"unnormals": "value", "nan": "propagate-larger,negative"}, "softfloat-8086"),
    ],
)
def test_policies(op: str, base: str, fields: dict[str, object], named: str) -> None:
    vectors = VectorSet.make(op, "extf80", 700, policy=base)
    unit = vectors.unit
    assert isinstance(unit, OperationUnit)
    run, width = evaluator(unit.signature, unit.policy.replace(**fields)), len(unit.formats)
    d = diagnosis(vectors, lambda inputs: run(inputs[:width], 0))
    assert d.complete
    assert any(named in name for name in names(d)), names(d)


# An exponent of more bits wraps in no product: it has one bit more at most.
ROWS = [row for row in range_defects._ROWS if not row.name.startswith("exponent of ")]


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_ends_of_the_range(row: range_defects._Row) -> None:
    """The defects that are only tried where codes at the ends are wrong, which are counted without the integer bit."""
    vectors = VectorSet.make("mul", "extf80", 2500, policy="x87")
    d = diagnosis(vectors, defective(vectors.unit, row.name, row.text, *rounding(row.wrong)).model)
    assert d.complete
    assert row.name in names(d)


CANONICAL = [
    ("add", None, {}),
    ("mul", None, {"rounding": "rup"}),
    ("div", None, {}),
    ("fma", None, {}),
    ("convert", "fp64", {}),
]


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(("op", "out", "fields"), CANONICAL, ids=lambda x: str(x))
def test_defects_are_those_of_the_format_that_hides_the_bit(op: str, out: str | None, fields: dict[str, str]) -> None:
    """Every defect of the same name, but for those of single wires: the same results, of canonical operands."""
    policy = get_policy(None, **fields)
    explicit = VectorSet.make(op, "extf80", 160, out=out, policy=policy)
    hidden = VectorSet.make(op, "s1e15m63", 160, out=out, policy=policy)
    both = []
    for vectors in (explicit, hidden):
        space = space_of(vectors)
        both.append({h.name: h.model for h in space.defects(space.base)})
    unit = explicit.unit
    assert isinstance(unit, OperationUnit)
    shared = [name for name in both[0] if name in both[1] and "bit " not in name and "bits " not in name]
    assert len(shared) > 60
    fmt, result, differing = unit.formats[0], unit.out, {}
    for case in list(hidden.inputs())[::4]:
        stored = tuple(map(fmt.stored, case))
        for name in shared:
            right, got = both[1][name](case), both[0][name](stored)
            if got != (None if right is None else (result.stored(right[0]), *right[1:])):
                differing.setdefault(name, (case, right, got))
    assert differing == {}
