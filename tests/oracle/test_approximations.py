"""Approximations: definitions, results by hand, arrays, fits within their bound, files, commands, defects."""

from __future__ import annotations

import dataclasses
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import ok, refused

from softfloat_ref.arrays import fitting
from softfloat_ref.arrays.approximations import compute, evaluate
from softfloat_ref.arrays.fitting import approximate
from softfloat_ref.arrays.goals import Goal, goal_of, measure
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import verify
from softfloat_ref.oracle import operations
from softfloat_ref.oracle.approximation import Approximation, define_approximation, to_text
from softfloat_ref.oracle.approximation_steps import approximated, polynomial, segment
from softfloat_ref.oracle.codec import decode, encode
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.steps import PLAIN
from softfloat_ref.rtl.approximation_module import memh_text, module_text
from softfloat_ref.units import ApproximationUnit, make_unit, restored, stored

PART: dict[str, Any] = {
    "first": 0x3E80,
    "after": 0x4000,
    "small": "operand",
    "large": "3f80",
    "exponents": [-10],
    "rows": [[-3, 1010], [470, 420], [780, -100], [900, 3]],
}
ODD: dict[str, Any] = {
    "function": "tanh",
    "fmt": "bf16",
    "out": "bf16",
    "symmetry": "odd",
    "address": "value",
    "unit": 9,
    "shift": 8,
    "widths": [12, 11],
    "cuts": [8],
    "positive": PART | {"first": 0x3E00},
}
BY_CODE = ODD | {
    "symmetry": "none",
    "address": "code",
    "unit": 0,
    "shift": 7,
    "rounding": "rtz",
    "positive": PART | {"rows": PART["rows"][:3], "exponents": [-10, -9, -12], "small": "half"},
    "negative": PART | {"first": 0, "after": 0x80, "small": "0", "large": "ff80", "rows": [[-1024, 5]]},
}
WIDE = ODD | {
    "fmt": "fp32",
    "unit": 20,
    "shift": 19,
    "cuts": [19],
    "positive": PART | {"first": 0x3E800000, "after": 0x40000000},
}
DEFINITIONS = {
    "odd": ODD,
    "even": ODD | {"symmetry": "even", "out": "fp16", "positive": ODD["positive"] | {"large": "3c00"}},
    "complement": ODD | {"symmetry": "complement", "positive": ODD["positive"] | {"small": "3f00"}},
    "complement of a tiny operand": ODD | {"symmetry": "complement", "rounding": "rtz"},
    "by code": BY_CODE,
    "wide": WIDE,
}


def defined(**changes: Any) -> Approximation:
    return define_approximation(ODD | changes, "t")


def by_fractions(a: Approximation, code: int) -> int:
    """The result of an odd approximation by value, with every step in rationals."""
    x = decode(code, a.fmt)
    if x.is_nan:
        return a.out.canonical_nan
    size = code & a.fmt.magnitude_mask
    if size >= a.positive.after:
        return encode(1, a.out).bits | (code & a.fmt.sign_bit)
    if size < a.positive.first:
        return encode(x, a.out, a.policy).bits
    steps = int(abs(x.as_fraction()) * 2**a.unit)
    row, d = divmod(steps, 2**a.shift)
    c = a.positive.rows[row - int(decode(a.positive.first, a.fmt).as_fraction() * 2**a.unit) // 2**a.shift]
    total = c[0] + Fraction(c[1] * d, 2 ** a.cuts[0]).__floor__()
    return encode(-Fraction(total, 1024) if x.sign else Fraction(total, 1024), a.out, a.policy).bits


def test_every_result_by_rationals() -> None:
    a = defined()
    for code in [*range(0x3D00, 0x4100), *range(0xBE00, 0xC010), 0, 1, 0x7F80, 0xFF80, 0x7FC0, 0x7F81, 0x7F7F]:
        if code not in (0x8000,):
            assert approximated(PLAIN, a, code) == by_fractions(a, code), hex(code)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_arrays(name: str) -> None:
    a = define_approximation(DEFINITIONS[name], "t")
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 1 << a.fmt.width, 1500)
    near = rng.integers(a.positive.first * 15 // 16, a.positive.after * 17 // 16, 1500)
    codes = np.concatenate(
        [codes, near, near | a.fmt.sign_bit, [0, a.fmt.sign_bit, a.fmt.inf_code, a.fmt.canonical_nan]]
    )
    expected = [approximated(PLAIN, a, int(c)) for c in codes]
    assert compute(a, codes).tolist() == expected
    assert evaluate(a, codes.reshape(2, -1)).tolist() == np.reshape(expected, (2, -1)).tolist()


@pytest.mark.parametrize("name", DEFINITIONS)
def test_definitions_survive_files_and_manifests(name: str, tmp_path: Path) -> None:
    a = define_approximation(DEFINITIONS[name], "t")
    assert define_approximation(tomllib.loads(to_text(a))["approximations"]["t"], "t") == a
    assert restored(stored(ApproximationUnit(a))) == ApproximationUnit(a)
    path = tmp_path / "t.toml"
    path.write_text(to_text(a))
    unit = make_unit(str(path))
    assert unit == ApproximationUnit(a)
    vectors = VectorSet.make(str(path), None, 300)
    generate(vectors, tmp_path / "v")
    assert verify(tmp_path / "v").passed
    report = vectors.coverage
    assert report is not None
    assert {"SEG", "EDGE", "ROUND"} == set(report.titles)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"shift": 99}, "shift = 99; it must be from 0 to 52"),
        ({"cuts": []}, "cuts must have one number fewer than widths"),
        ({"widths": [4, 4]}, "a coefficient does not fit 4 bits"),
        ({"symmetry": "od"}, "did you mean odd"),
        ({"symmetry": "none"}, "needs a part `negative`"),
        ({"negative": PART}, "gives the part `negative`"),
        ({"rounding": "sr"}, "stochastic rounding has no random bits here"),
        ({"shift": 7}, "4 rows, but 8 segments"),
        ({"positive": PART | {"large": "xyz"}}, "'xyz' is neither"),
        ({"positive": PART | {"after": 0x7FFF}}, "first <= after <="),
        ({"fmt": "fp64"}, "at most 32 bits"),
        ({"out": "s1e12m19"}, "float64 does not hold every value"),
        ({"positive": ODD["positive"] | {"exponents": [972]}}, "it must be from -1074 to 971"),
        ({"widths": [40, 40], "cuts": [0], "shift": 14}, "a sum or product has more than 53 bits"),
        ({"symmetry": "complement", "positive": PART | {"large": "7f80"}}, "7f80 has no complement"),
        ({"nan": "12345"}, "neither"),
        *(({"symmetry": s, "fmt": "s0e8m7"}, "needs a fmt with a sign") for s in ("odd", "even", "complement")),
        ({"out": "s0e8m7"}, "symmetry = odd needs an out with a sign"),
    ],
)
def test_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(Error) as e:
        defined(**changes)
    assert says in str(e.value)
    assert "\n" not in str(e.value)


# -- the search ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "fmt", "degree", "kappa"),
    [
        ("tanh", "fp8_e4m3", 1, 0),
        ("sigmoid", "fp8_e5m2", 1, 1),
        ("exp", "fp8_e4m3", 1, 1),
        ("cosh", "binary8p4se", 2, 1),
    ],
)
def test_bounds_hold_for_every_operand(function: str, fmt: str, degree: int, kappa: int) -> None:
    """Kappa counted here, from the values of the format in their order."""
    f = get_format(fmt)
    a = approximate(Goal(function, f, f, degree, kappa))
    values = sorted({decode(c, f).as_fraction() for c in range(1 << f.width) if decode(c, f).is_finite})
    most = 0
    for code in range(1 << f.width):
        codes = operations.evaluate(function, (code,), f).bits, approximated(PLAIN, a, code)
        right, got = (decode(c, f) for c in codes)
        if not right.is_finite:
            assert got[:2] == right[:2] or (got.is_nan and right.is_nan)
            continue
        most = max(most, abs(values.index(right.as_fraction()) - values.index(got.as_fraction())))
    assert most == measure(a, goal_of(a)).kappa
    assert most <= kappa
    assert a.degree == degree


def test_measured_ulp_and_a_wrong_table() -> None:
    fmt = get_format("fp8_e4m3")
    goal = Goal("tanh", fmt, fmt, 0, ulp=1.0)
    a = approximate(goal)
    found = measure(a, goal)
    assert found.ulp <= 1.0
    assert not found.wrong.size
    rows = ((a.positive.rows[0][0] * 2,), *a.positive.rows[1:])
    wrong = dataclasses.replace(a, widths=(12,), positive=dataclasses.replace(a.positive, rows=rows))
    assert measure(wrong, goal).wrong.size
    assert (measure(wrong, goal).kappa or 0) > 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("tanh --fmt fp32 --kappa 1", "at most 16 bits"),
        ("tanh --fmt bf16", "give a bound"),
        ("tanh --fmt bf16 --kappa 1 --ulp 1", "one of them"),
        ("hypot --fmt bf16 --kappa 1", "not a function of one operand"),
        ("tanh --fmt fp8_e4m3 --kappa 1 --degree 7", "--degree': 7 is not in the range"),
        ("tanh --fmt fp8_e4m3 --kappa 1 --segments x", "use code or value"),
        ("tanh --fmt fp8_e4m3 --kappa 0 --flush-inputs on", "leave --flush-inputs out"),
        ("rsqrt --fmt fp8_e5m2 --kappa 0 --ulp x", "give a number"),
        ("nothing.toml", "No such file"),
        ("tanh --fmt bf16 --kappa 1 --name a.b", "a name has"),
        ("tanh --fmt bf16 --kappa 1 --seed 1", "--seed is for"),
        ("tanh --fmt bf16 --kappa 1 --plot x.txt", "unknown kind of picture"),
    ],
)
def test_the_command_refuses(words: str, says: str, tmp_path: Path) -> None:
    said = refused("approximate", *words.split(), cwd=tmp_path)
    assert says in said
    assert len(said.strip().splitlines()) == 1


def test_the_command_writes_what_others_take(tmp_path: Path) -> None:
    said = ok("approximate", "tanh", "--fmt", "fp8_e4m3", "--degree", "0", "--kappa", "0", "-o", "o", cwd=tmp_path)
    assert "kappa      0 on all 256 operands" in said
    assert sorted(p.name for p in (tmp_path / "o").iterdir()) == [f"tanh_fp8_e4m3.{x}" for x in ("memh", "sv", "toml")]
    file = "o/tanh_fp8_e4m3.toml"
    assert ok("approximate", file, cwd=tmp_path).splitlines() == said.splitlines()[:-1]
    right = operations.evaluate("tanh", (0x35,), "fp8_e4m3").bits
    assert ok("eval", file, "35", cwd=tmp_path).strip() == f"{right:02x}"
    assert "leave" in refused("eval", file, "35", "--round", "rtz", cwd=tmp_path)
    assert "takes fp8_e4m3, not bf16" in refused("check", file, "--fmt", "bf16", "--dut", "true", cwd=tmp_path)
    assert "leave --round out" in refused("check", file, "--round", "rup", "--dut", "true", cwd=tmp_path)


def test_the_table_file_and_the_module() -> None:
    a = define_approximation(BY_CODE, "t")
    lines = memh_text(a).splitlines()
    assert lines[0].startswith(
        "// t: 4 words of 25 bits, from the lowest: c0: 12 bits, c1: 11 bits, exponent less -12: 2"
    )
    assert int(lines[1], 16) == (2 << 23) | (1010 << 12) | (-3 & 0xFFF)
    assert all(f"25'h{int(x, 16):x};" in module_text(a) for x in lines[1:])
    with pytest.raises(Error, match="it has rne, rna and rtz"):
        module_text(dataclasses.replace(a, rounding="rup"))


def test_explained_by_its_table(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(to_text(define_approximation(BY_CODE, "t")))
    a, said = define_approximation(BY_CODE, "t"), ok("explain", "t.toml", "3f0c", cwd=tmp_path)
    rows = dict(line.split(maxsplit=1) for line in said.splitlines())
    assert rows["result"].startswith(f"{approximated(PLAIN, a, 0x3F0C):04x} = ")
    part = a.positive
    row, d = segment(0x3F0C, part, a)
    assert rows["segment"] == f"{row} of {len(part.rows)}, d = {d}"
    assert rows["polynomial"].split()[0] == str(polynomial(part.rows[row], d, a.cuts))
    assert "no flags" in refused("explain", "t.toml", "3f0c", "--got", "3f0c", "--got-flags", "01", cwd=tmp_path)
    assert "explain needs --fmt" in refused("explain", "0.3")


def test_nothing_that_misses_the_bound_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every operand is compared, those outside the table too."""
    wrong = fitting.Ends(0x20, 0x30, "operand", "38")
    monkeypatch.setattr(fitting._Side, "ends", lambda _: wrong)
    fmt = get_format("fp8_e4m3")
    with pytest.raises(Error, match="no table of degree 1"):
        approximate(Goal("tanh", fmt, fmt, 1, 0))


def test_bins_of_operands() -> None:
    coverage = VectorSet(ApproximationUnit(defined()), 1).coverage
    assert coverage is not None
    assert "SEG/pos.1.first" in coverage.hits((0x3F00,))
    assert "SEG/neg.0.last" in coverage.hits((0xBEFF,))
    assert not any(x.startswith("SEG") for x in coverage.hits((0x3F01,)))
    assert {"EDGE/pos.first"} == {x for x in coverage.hits((0x3E00,)) if x.startswith("EDGE")}
    assert coverage.hits((0x7F81,)) == {"EDGE/nan"}
    assert {"EDGE/neg.after"} == coverage.hits((0xC000,))
    assert all(next(coverage.cases(b.id), None) for listed in coverage.bins().values() for b in listed)
