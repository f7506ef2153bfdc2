"""Sets whose operands are within a range: of every kind of unit; stored, verified, bounded in time."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from command import refused, run

from softfloat_ref.base.errors import Error
from softfloat_ref.coverage.engine import page
from softfloat_ref.coverage.engine.measure import set_report
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet, of_unit
from softfloat_ref.golden.vector_recipes import set_of
from softfloat_ref.golden.verify import verify
from softfloat_ref.oracle.approximation import define_approximation
from softfloat_ref.testing.judge import Judge
from softfloat_ref.units import KINDS, ApproximationUnit, make_unit

E13 = "exponent(a) in 119..134 and exponent(b) in 119..134"
# Of every kind of unit one, with a range that most of its cases do not meet, or that its own cases depend on.
SETS: dict[str, tuple[dict[str, Any], str]] = {
    "operation": ({"op": "mul", "fmt": "fp32"}, E13),
    "quantize": ({"op": "quantize", "fmt": "mxfp4"}, "every values is normal and values[3] in 1..2"),
    "dequantize": ({"op": "dequantize", "fmt": "mxfp4"}, "every elements is not zero and scale in 0x70..0x80"),
    "dot": ({"op": "dot", "fmt": "fp8_e4m3", "k": 4}, "every a is normal and every b is normal and c is zero"),
    "integer_dot": ({"op": "integer_dot", "fmt": "a=u8,b=i8"}, "every a in 1..200 and every b is not zero and c = 0"),
    "matmul": ({"op": "matmul", "fmt": "fp8_e4m3", "k": 2, "m": 2, "n": 2}, "every a is finite and any b is zero"),
    "vector": ({"op": "softmax", "fmt": "bf16", "length": 4}, "every x in -8..8"),
    "pipeline": ({"op": "stepwise_softmax", "fmt": "bf16", "length": 4, "steps": True}, "every x in -8..8"),
    "block_operation": ({"op": "block_add", "fmt": "mxfp4"}, "a_scale <= b_scale and every a is not zero"),
    "affine_quantize": ({"op": "quantize", "fmt": "qint8"}, "value is finite and zero_point = 0"),
    "affine_dequantize": ({"op": "dequantize", "fmt": "qint8"}, "scale in 0.5..2"),
    "requantize": ({"op": "requantize", "fmt": "i32", "out": "i8"}, "accumulator >= 0 and shift in 2..9"),
    "roundings": ({"op": "add", "fmt": "fp16", "roundings": "rne,rtz"}, "abs(a) > abs(b)"),
}
MIXED = {"part": [{"op": "add", "fmt": "fp16"}, {"op": "sqrt", "fmt": "fp32"}], "where": "a is normal", "unboxed": 8}


def test_every_kind_of_unit_has_a_set() -> None:
    others = {"mixed", "approximation"}  # below
    own = {name for name, kind in KINDS.items() if kind.__module__.startswith("softfloat_ref.")}  # tests add kinds
    assert {make_unit(**options).kind for options, _ in SETS.values()} | others == own


@pytest.mark.full(keep=4)
@pytest.mark.parametrize("kind", SETS)
def test_every_kind_of_unit(kind: str, tmp_path: Path) -> None:
    options, where = SETS[kind]
    count = 6 if kind == "matmul" else 60
    vectors = of_unit(make_unit(**options), count, seed=1, where=where)
    cases = list(vectors.inputs())
    assert len(cases) == count
    assert all(vectors.within.holds(case) for case in cases)  # type: ignore[union-attr]
    assert len(set(cases)) > count // 2
    manifest = generate(vectors, tmp_path / "v")
    assert manifest["set"]["where"] == vectors.where
    report = verify(tmp_path / "v")
    assert (report.passed, report.problems) == (True, [])
    assert VectorSet.from_dict(manifest["set"]) == vectors


def test_approximations() -> None:
    table = {"fmt": "bf16", "out": "bf16", "symmetry": "odd", "address": "value", "unit": 9, "shift": 8}
    part = {"first": 0x3E00, "after": 0x4000, "small": "operand", "large": "3f80", "exponents": [-10]}
    rows = {"rows": [[-3, 1010], [470, 420], [780, -100], [900, 3]]}
    curve = {"function": "tanh", **table, "widths": [12, 11], "cuts": [8], "positive": part | rows}
    unit = ApproximationUnit(define_approximation(curve, "t"))
    vectors = of_unit(unit, 200, where="a is normal and a > 1")
    assert all(vectors.within.holds(case) for case in vectors.inputs())  # type: ignore[union-attr]


def test_mixed_sets(tmp_path: Path) -> None:
    vectors = set_of({**MIXED, "count": 80})
    assert all(vectors.within.holds(case) for case in vectors.inputs())  # type: ignore[union-attr]
    generate(vectors, tmp_path / "v")
    assert verify(tmp_path / "v").passed
    with pytest.raises(Error, match="no case is such that a is normal and a is nan"):
        set_of({**MIXED, "where": "a is normal and a is nan"})


def test_the_range_in_a_manifest_is_verified(tmp_path: Path) -> None:
    vectors = VectorSet.make("add", "fp16", 100, where="a is normal")
    generate(vectors, tmp_path / "v")
    path = tmp_path / "v" / "manifest.json"
    for other in ("a is finite", ""):
        table = json.loads(path.read_text())
        table["set"]["where"] = other
        path.write_text(json.dumps(table))
        assert not verify(tmp_path / "v").passed, other
    table["set"]["where"] = "a is norml"
    path.write_text(json.dumps(table))
    with pytest.raises(Error, match="unknown class 'norml'"):
        verify(tmp_path / "v")


def test_sets_without_a_range_are_as_before() -> None:
    assert "where" not in VectorSet.make("add", "fp16", 10).to_dict()


@pytest.mark.parametrize(
    "where",
    ["a is normal and b is normal", "abs(a) >= abs(b)", "a is zero or b is odd", "not a is nan and b in 1..0x1p3"],
)
def test_exhaustive(where: str) -> None:
    vectors = VectorSet.make("add", "fp4_e2m1", level="exhaustive", where=where)
    every = itertools.product(range(16), repeat=2)
    assert list(vectors.inputs()) == [case for case in every if vectors.within.holds(case)]  # type: ignore[union-attr]
    assert vectors.count == len(list(vectors.inputs()))


def test_every_range_of_one_operand_is_counted_at_once() -> None:
    """Not case by case: 2^32 of them."""
    vectors = VectorSet.make("sqrt", "fp32", level="exhaustive", where="a is normal and a is positive")
    assert vectors.count == 254 << 23
    with pytest.raises(Error, match=r"exhaustive tries each of 2\^32 cases"):
        VectorSet.make("add", "fp16", level="exhaustive", where="a <= b")


def test_the_ends_of_a_range_are_among_the_cases() -> None:
    vectors = VectorSet.make("mul", "fp32", 2000, where=E13)
    ends = {sign << 31 | end for sign in (0, 1) for end in (119 << 23, (135 << 23) - 1)}
    assert set(itertools.product(ends, repeat=2)) <= set(vectors.inputs())


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("a is normal and a is zero", "no case is such that"),
        ("a = b and a = 0x12345678 and b != 0x12345678", "where: no case found, of 16384 that were tried"),
        ("exponent(a) = exponent(b) and a < b and exponent(a) > 250", "of the 100 cases found, of 16384"),
    ],
)
def test_a_range_that_few_cases_meet_ends_soon(where: str, said: str) -> None:
    with pytest.raises(Error, match=said):
        list(VectorSet.make("mul", "fp32", 100, where=where).inputs())


def test_lines_that_follow_one_another_have_no_range() -> None:
    with pytest.raises(Error, match="goes on from the one before"):
        of_unit(make_unit("integer_dot", "i8", clear=True), 10, where="every a is not zero")
    with pytest.raises(Error, match="goes on from the one before"):
        Judge(of_unit(make_unit("integer_dot", "i8", clear=True), 10), where="every a is not zero")


def test_random_words_have_no_range() -> None:
    options: dict[str, Any] = {"out": "fp8_e4m3", "policy": {"rounding": "sr", "sr_bits": 8}}
    with pytest.raises(Error, match="r comes from the source of random words"):
        VectorSet.make("convert", "fp32", 10, where="r = 0x0", **options)
    vectors = VectorSet.make("convert", "fp32", 400, where="exponent(a) in 125..130", **options)  # near carries, too
    assert all(vectors.within.holds(case) for case in vectors.inputs())  # type: ignore[union-attr]


# -- coverage ----------------------------------------------------------------------------------------------------------


def test_bins_outside_are_not_empty() -> None:
    where = "a is normal and b is normal"
    small, wide = (VectorSet.make("mul", fmt, n, where=where) for fmt, n in (("fp4_e2m1", 200), ("fp16", 3000)))
    report = set_report(small)
    assert report is not None
    bins = {b.id: b for m in report.models for b in m.bins}
    assert bins["B1/pos.zero,pos.norm"].status == "unreachable"
    assert bins["B1/pos.zero,pos.norm"].why == f"no a within the range is pos.zero: {where}"
    whys = {b.why for b in bins.values()}
    assert f"none of the 256 possible cases hits it and is within {where}" in whys
    report = set_report(wide)
    assert report is not None
    bins = {b.id: b for m in report.models for b in m.bins}
    assert bins["B1/pos.norm,qnan"].status == "unreachable"
    assert bins["B1/pos.norm,qnan"].why == f"no b within the range is qnan: {where}"
    assert all(b.status in ("hit", "unreachable") for name, b in bins.items() if name.startswith("B3/"))
    assert not [name for name in report.empty if name.startswith("B1/")]


@pytest.mark.full
def test_bins_that_are_not_proved_to_be_outside() -> None:
    """Results that are subnormal, or overflow, where that takes both operands."""
    where = "exponent(a) in 14..16 and exponent(b) in 14..16"
    report = set_report(VectorSet.make("mul", "fp16", 500, where=where))
    assert report is not None
    bins = [b for m in report.models for b in m.bins if b.status == "outside"]
    assert len(bins) == report.totals["outside"] > 0
    assert all(b.why.endswith(f"cases tried is within {where}") for b in bins)
    head, *rows = list(page.text(report))[1:]
    assert head.split()[-1] == "outside"
    total = next(row for row in rows if row.startswith("total"))
    assert total.split()[-1] == str(len(bins))
    assert "outside" in page.html(report)


def test_small_operands_are_judged_by_every_case() -> None:
    """A bin is unreachable if none of the cases within hits it, and not otherwise."""
    vectors = VectorSet.make("add", "fp4_e2m1", 20, where="abs(a) >= abs(b)")
    coverage = vectors.coverage
    assert coverage is not None
    hit = set().union(*map(coverage.hits, vectors.at_level("exhaustive").inputs()))
    for listed in coverage.bins().values():
        for b in listed:
            assert bool(b.unreachable) == (b.id not in hit), b


# -- the command line --------------------------------------------------------------------------------------------------


def test_generate(tmp_path: Path) -> None:
    folder, where = str(tmp_path / "v"), "exponent(a) in 12..18 and exponent(b) in 12..18"
    mul = ("vectors", "generate", "--op", "mul", "--fmt", "fp16", "-n", "50")
    done = run(*mul, "--where", where, "-o", folder)
    assert (done.returncode, "50 vectors of mul_fp16_rne" in done.stderr) == (0, True)
    assert run("vectors", "verify", folder).returncode == 0
    assert "only apply to -" in refused("vectors", "verify", folder, "--where", where)
    other = str(tmp_path / "w")
    assert "leave --where out" in refused("vectors", "generate", "riscv-zfh", "--where", where, "-o", other)
    assert "unknown operand 'd'" in refused(*mul, "--where", "d is zero", "-o", other)


@pytest.mark.full
def test_covergroups(tmp_path: Path) -> None:
    generate(VectorSet.make("sqrt", "fp32", 50, where="exponent(a) in 119..134"), tmp_path / "v")
    done = run("coverage", "export-sv", str(tmp_path / "v"), "-o", str(tmp_path / "bins.sv"))
    assert done.returncode == 0, done.stderr
