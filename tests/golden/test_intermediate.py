"""The unrounded intermediate: kept bits, guard and sticky by their definition in rationals, and what rounding makes of
them; benches and `check` do not see it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from command import ok, refused, run
from volume import cases

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import verify
from softfloat_ref.oracle.codec import decode
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.oracle.policies import Policy, Rounding

EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "fma": lambda a, b, c: a * b + c,
    "convert": lambda a: a,
}


def defined(value: Fraction, fmt: Format, n: int) -> tuple[int, int, int]:
    """Kept, guard and sticky of a magnitude: in units of the target's last bit there, and n + 1 bits more."""
    size, exponent = abs(value), 0
    while size >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while size < Fraction(2) ** exponent:
        exponent -= 1
    units = size / Fraction(2) ** (max(exponent, fmt.emin) - fmt.mantissa_bits)
    significand = units.numerator // units.denominator
    rest = (units - significand) * 2 ** (n + 1)
    guard = rest.numerator // rest.denominator
    return significand, guard, int(rest != guard)


def with_intermediate(vectors: VectorSet) -> VectorSet:
    return dataclasses.replace(vectors, unit=vectors.unit.with_intermediate())


SETS = [
    ("add", "fp16", None, None),
    ("sub", "fp8_e5m2", None, None),
    ("mul", ("fp8_e4m3", "fp8_e5m2"), "fp8_e4m3", None),
    ("mul", "fp32", None, {"rounding": "rtz"}),
    ("div", "bf16", None, {"like": "riscv", "rounding": "rdn"}),
    ("fma", ("fp8_e4m3", "fp8_e4m3", "fp16"), "fp16", {"rounding": "rup", "tininess": "before"}),
    ("fma", "fp16", None, {"like": "arm"}),
    ("convert", "fp32", "fp8_e4m3", None),
    ("convert", "fp64", "bf16", {"rounding": "sr", "sr_bits": 7}),
    ("convert", "fp32", "fp4_e2m1", {"rounding": "sr-c", "sr_bits": 3}),
    ("convert", "fp32", "binary8p4se", {"like": "p3109"}),
    ("convert", "i32", "fp16", None),
    ("div", "binary8p3ue", None, {"like": "p3109"}),
]


@pytest.mark.full(keep=3)
@pytest.mark.parametrize(("op", "fmt", "out", "policy"), SETS)
def test_the_definition(op: str, fmt: Any, out: str | None, policy: dict[str, Any] | None) -> None:
    plain = VectorSet.make(op, fmt, 600, out=out, seed=2, policy=policy)
    vectors, n, seen = with_intermediate(plain), plain.unit.policy.random_count, set()
    arity = len(plain.unit.formats)
    for inputs in vectors.inputs():
        line = vectors.line(inputs)
        assert line is not None
        assert line[:-4] == plain.line(inputs)
        sign, significand, guard, sticky = line[-4:]
        values = [decode(code, f) for code, f in zip(inputs, plain.unit.formats, strict=False)][:arity]
        if any(not v.is_finite for v in values) or (op == "div" and values[1].is_zero):
            assert (significand, guard, sticky) == (0, 0, 0)
            continue
        exact = EXACT[op](*(v.as_fraction() for v in values))
        if exact == 0:
            assert (significand, guard, sticky) == (0, 0, 0)
            continue
        assert sign == (exact < 0)
        assert (significand, guard, sticky) == defined(exact, plain.unit.out, n), inputs
        seen.add((significand & 1, guard, sticky))
    assert n or len(seen) >= 6  # a quotient is never a tie


@pytest.mark.full(keep=6)
@pytest.mark.parametrize("op", ["add", "mul", "fma", "sqrt", "div"])
@pytest.mark.parametrize("mode", ["rne", "rtz", "rdn", "rup", "rna", "rto"])
def test_the_result_follows_from_it(op: str, mode: str) -> None:
    fp16 = get_format("fp16")
    vectors = with_intermediate(VectorSet.make(op, "fp16", 500, seed=3, policy={"rounding": mode}))
    compared = 0
    for inputs in vectors.inputs():
        line = vectors.line(inputs)
        assert line is not None
        result, flags, sign, significand, guard, sticky = line[-6:]
        value = decode(result, "fp16")
        if not value.is_finite or not significand | guard | sticky or flags & 4:
            continue
        up = {
            "rne": guard & (sticky | significand),
            "rna": guard,
            "rtz": 0,
            "rdn": sign & (guard | sticky),
            "rup": (1 - sign) & (guard | sticky),
            "rto": (guard | sticky) & (1 - (significand & 1)),
        }[mode]
        magnitude = significand + (up & 1)
        bits = result & 0x7FFF
        unit = max(bits >> 10, 1) - fp16.bias - fp16.mantissa_bits - (magnitude == 2048)
        assert value.as_fraction() == (-1) ** sign * magnitude * Fraction(2) ** unit
        assert (flags & 1) == (guard | sticky)
        compared += 1
    assert compared > 200


@pytest.mark.full(keep=12)
@pytest.mark.parametrize("fmt", [f for f in CATALOGUE.values() if f.width <= 64], ids=lambda f: f.name)
def test_every_format_has_room_for_it(fmt: Format) -> None:
    vectors = with_intermediate(
        VectorSet.make("convert", "fp64", cases(150, 400), out=fmt, policy=Policy(nan_missing="zero"))
    )
    widths = [f.width for f in vectors.fields]
    for inputs in vectors.inputs():
        line = vectors.line(inputs)
        assert line is not None
        assert all(code >> width == 0 for code, width in zip(line, widths, strict=True))


def test_what_has_none() -> None:
    for vectors in (VectorSet.make("lt", "fp16", 5), VectorSet.make("quantize", "mxfp8", 5)):
        with pytest.raises(Error, match="has no unrounded intermediate: only operations that round have one"):
            with_intermediate(vectors)


def test_fields_and_files(tmp_path: Path) -> None:
    plain = VectorSet.make("mul", "fp16", 200, policy=Policy(Rounding.SR, sr_bits=6))
    manifest = generate(with_intermediate(plain), tmp_path)
    fields = {f["name"]: (f["role"], f["width"]) for f in manifest["fields"]}
    assert list(fields)[-4:] == ["exact_sign", "exact_kept", "exact_guard", "exact_sticky"]
    assert [fields[k] for k in list(fields)[-4:]] == [("intermediate", w) for w in (1, 11, 7, 1)]
    report = verify(tmp_path)
    assert (report.passed, report.checked) == (True, 200)
    path = tmp_path / "mul_fp16_sr_intermediate.tv"
    lines = path.read_text().splitlines()
    assert len(lines[0].split()) == 3 + 2 + 4
    path.write_text("\n".join([*lines[:-1], lines[-1][:-1] + str(1 - int(lines[-1][-1]))]) + "\n")
    assert "SHA-256" in verify(tmp_path).problems[0]


# -- who reads vectors -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("intermediate")
    args = ("vectors", "generate", "--op", "convert", "--fmt", "fp32", "--out", "fp8_e4m3", "-n", "500")
    ok(*args, "--overflow", "sat-finite", "--intermediate", "-o", "with", cwd=path)
    ok(*args, "--overflow", "sat-finite", "-o", "without", cwd=path)
    return path


def test_check_does_not_see_it(folder: Path) -> None:
    text = (folder / "without" / "convert_fp32_to_fp8_e4m3_rne.tv").read_text()
    (folder / "results").write_text("".join(" ".join(line.split()[1:]) + "\n" for line in text.splitlines()))
    for name in ("with", "without"):
        done = run("check", "--golden", name, "--results", "results", cwd=folder)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert "500" in done.stderr


def test_benches_do_not_see_it(folder: Path) -> None:
    """The same bench but for the word: no port has to carry the intermediate."""
    ports = Path(__file__).parents[2] / "docs" / "examples" / "fp32_to_fp8_e4m3" / "ports.toml"
    texts = []
    for name in ("with", "without"):
        ok("vectors", "testbench", name, "--ports", str(ports), "-o", f"{name}.sv", cwd=folder)
        texts.append((folder / f"{name}.sv").read_text())
    assert "exact_" not in texts[0]
    assert texts[0].count("\n") == texts[1].count("\n")
    ok("vectors", "vhdl", "with", "-o", "with.vhd", cwd=folder)


def test_diff_takes_it_as_expected_values(folder: Path, tmp_path: Path) -> None:
    shown = run("vectors", "diff", "with", "without", cwd=folder).stdout
    assert "lines cannot be compared" in shown
    vectors = with_intermediate(VectorSet.make("add", "fp16", 100, policy=Policy(Rounding.RTZ)))
    generate(vectors, tmp_path / "a")
    generate(with_intermediate(VectorSet.make("add", "fp16", 100, policy=Policy(Rounding.RUP))), tmp_path / "b")
    done = run("vectors", "diff", "a", "b", cwd=tmp_path)
    assert done.returncode == 1
    assert "only in" not in done.stdout
    assert "expected values: " in done.stdout


def test_readers_say_which_file_they_need(tmp_path: Path) -> None:
    generate(VectorSet.make("add", "fp16", 20), tmp_path / "v", formats=("csv",))
    ports = Path(__file__).parents[2] / "docs" / "examples" / "fp32_to_fp8_e4m3" / "ports.toml"
    assert "v: has no file of type memh; generate the vectors with --format memh" in refused(
        "vectors", "testbench", "v", "--ports", str(ports), "-o", "tb.sv", cwd=tmp_path
    )
    assert "has no file of type memh or tv" in refused("vectors", "vhdl", "v", cwd=tmp_path)
    assert "lists no text file of vectors; diff reads .tv files" in refused("vectors", "diff", "v", "v", cwd=tmp_path)


def test_on_the_command_line(tmp_path: Path) -> None:
    args = ("vectors", "generate", "--fmt", "fp16", "-n", "20", "--intermediate")
    assert "is for sets of lines in a folder" in refused(*args, "--op", "add", "-o", "-", cwd=tmp_path)
    assert "has no unrounded intermediate" in refused(*args, "--op", "lt", "-o", "v", cwd=tmp_path)
    ok(*args, "--op", "add", "-o", "v", cwd=tmp_path)
    assert read_manifest(tmp_path / "v")["set"]["unit"]["intermediate"] is True
    assert "already holds" in refused(*args[:-1], "--op", "add", "-o", "v", cwd=tmp_path)
    assert json.loads((tmp_path / "v" / "manifest.json").read_text())["name"] == "add_fp16_rne_intermediate"
