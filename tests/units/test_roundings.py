"""Units in several roundings: one answer, that of the selected part."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ok, refused, run

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet, of_unit
from softfloat_ref.golden.verify import verify
from softfloat_ref.units import RoundingsUnit, make_unit, restored, stored

MODES = ("rne", "sr", "rtz")
QUANTIZER = RoundingsUnit.of(make_unit("quantize", "fp4_e2m1@e8m0/2", policy={"rounding": "sr", "sr_bits": 3}), MODES)
ADDER = RoundingsUnit.of(make_unit("add", "fp16"), ("rne", "rup"))


def test_answers() -> None:
    values, words = (0x3F900000, 0x40A00000), (5, 7)
    for code, part in enumerate(QUANTIZER.parts):
        own = (*values, *words) if code == 1 else values
        inputs = QUANTIZER.assembled(part, own)
        assert inputs == (code, *values, *(words if code == 1 else (0, 0)))
        assert QUANTIZER.answer(inputs) == part.answer(own)
        assert QUANTIZER.selected(inputs) == (part, own)
    assert ADDER.answer((1, 0x3C00, 1)) == make_unit("add", "fp16", policy={"rounding": "rup"}).answer((0x3C00, 1))
    assert [f.name for f in ADDER.fields] == ["rounding", "a", "b", "result", "flags"]


@pytest.mark.parametrize("inputs", [(3, 0, 0, 0, 0), (0, 0, 0, 0, 1), (2, 0, 0, 8, 0)])
def test_undefined(inputs: tuple[int, ...]) -> None:
    """A code of no rounding; random bits of a rounding that takes none."""
    with pytest.raises(Undefined):
        QUANTIZER.answer(inputs)


def test_refused() -> None:
    for op, fmt, modes, said in (
        ("add", "fp16", ("rne", "rne"), "a rounding is given twice"),
        ("add", "fp16", ("rne",), "at least two"),
        ("add", "fp16", ("rne", "sr"), "needs the number of random bits"),
        ("dequantize", "mxfp8", ("rne", "rtz"), "dequantize has no rounding"),
        ("dot", "fp16", ("rne", "rtz"), "dot has no rounding"),
    ):
        with pytest.raises(Error, match=said):
            RoundingsUnit.of(make_unit(op, fmt), modes)
    with pytest.raises(Error, match="one of them has other fields"):
        RoundingsUnit((make_unit("add", "fp16"), make_unit("add", "bf16", policy={"rounding": "rtz"})))


@pytest.mark.parametrize("unit", [QUANTIZER, ADDER], ids=lambda unit: unit.name)
def test_sets(unit: RoundingsUnit, tmp_path: Path) -> None:
    assert restored(stored(unit)) == unit
    vectors = of_unit(unit, 90)
    assert VectorSet.from_dict(vectors.to_dict()) == vectors
    generate(vectors, tmp_path / "v")
    report = verify(tmp_path / "v")
    assert report.passed, report.problems
    lines = [line.split() for line in next((tmp_path / "v").glob("*.tv")).read_text().splitlines()]
    count = len(unit.parts)
    assert [sum(line[0] == str(code) for line in lines) for code in range(count)] == [90 // count] * count


def test_commands(tmp_path: Path) -> None:
    unit = ("--fmt", "fp16", "--rounding-input", "rne,rup")
    ok("vectors", "generate", "--op", "fma", *unit, "-n", "200", "-o", "v", cwd=tmp_path)
    assert "verified, 200 vectors of fma_fp16_rne_rup" in run("vectors", "verify", "v", cwd=tmp_path).stderr
    lines = [line.split() for line in next((tmp_path / "v").glob("*.tv")).read_text().splitlines()]
    rounded = "".join(f"{line[4]} {line[5]}\n" for line in lines)
    (tmp_path / "right").write_text(rounded)
    nearest = [make_unit("fma", "fp16").answer([int(x, 16) for x in line[1:4]]) for line in lines]
    (tmp_path / "wrong").write_text("".join(f"{code:04x} {flags:02x}\n" for code, flags in nearest))
    done = run("check", "--golden", "v", "--results", "right", cwd=tmp_path)
    assert "200 compared, 0 mismatched" in done.stderr
    done = run("check", "--golden", "v", "--results", "wrong", cwd=tmp_path)
    assert done.returncode == 1
    assert "the device rounds to nearest" in done.stdout
    assert "without a mismatch: fma fp16 rne" in done.stdout


def test_commands_refuse(tmp_path: Path) -> None:
    unit = ("--op", "add", "--fmt", "fp16", "-o", "v")
    for words, said in (
        ((*unit, "--rounding-input", "rne"), "give several modes"),
        ((*unit, "--rounding-input", "rne,sr"), "needs the number of random bits"),
        ((*unit, "--rounding-input", "rne,rtz", "--sr-bits", "4"), "--sr-bits is for stochastic roundings"),
        ((*unit, "--rounding-input", "rne,rtz", "--level", "exhaustive"), "exhaustive applies only to"),
        (("fp16_fma_rne", "-o", "v", "--rounding-input", "rne,rtz"), "leave --rounding-input out, or copy it"),
    ):
        assert said in refused("vectors", "generate", *words, cwd=tmp_path)
    golden = ("check", "add", "--golden", "v", "--results", "r", "--rounding-input", "rne,rtz")
    assert "leave --rounding-input out" in refused(*golden, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
