"""Affine quantizers on the command line: vectors, benches, checks, identification, coverage."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from benches import CHEAP
from command import ok, run

from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import verify
from softfloat_ref.oracle.codec import decode

FMT = ("--fmt", "qint8")
# The device: saturate(round(value / scale + zero point)), or the zero point outside of the rounding.
DEVICE = """
import math, struct, sys
from fractions import Fraction
number = lambda word: struct.unpack("<f", struct.pack("<I", int(word, 16)))[0]
for line in sys.stdin:
    value, scale, zero_point = line.split()
    x, s, z = number(value), Fraction(number(scale)), (int(zero_point, 16) ^ 128) - 128
    if math.isnan(x):
        q = 127
    elif math.isinf(x):
        q = 127 if x > 0 else -128
    else:
        inside = {inside}
        q = round(Fraction(x) / s + z) if inside else round(Fraction(x) / s) + z
    print(f"{{min(max(q, -128), 127) & 0xFF:02x}}", flush=True)
"""


def device(tmp_path: Path, inside: bool) -> str:
    (tmp_path / "device.py").write_text(DEVICE.format(inside=inside))
    return f"{sys.executable} {tmp_path / 'device.py'}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("qint8") / "v"
    ok("vectors", "generate", "--op", "quantize", *FMT, "-n", "600", "-o", str(path))
    return path


def test_vectors_are_generated_and_verified(folder: Path) -> None:
    assert "600 vectors" in run("vectors", "verify", str(folder)).stderr
    manifest = json.loads((folder / "manifest.json").read_text())
    unit = manifest["set"]["unit"]
    assert (unit["kind"], unit["affine"]["bits"]) == ("affine-quantize", 8)
    assert [f["name"] for f in manifest["fields"]] == ["value", "scale", "zero_point", "integer"]
    rows = [line.split() for line in next(folder.glob("*.tv")).read_text().splitlines()]
    assert len({row[-1] for row in rows}) > 100
    path = next(folder.glob("*.tv"))
    text = path.read_text()
    (folder / "kept").write_text(text)
    try:
        path.write_text(text[:-2] + ("1" if text[-2] == "0" else "0") + "\n")
        done = run("vectors", "verify", str(folder))
        assert done.returncode == 1
        assert "but the oracle says" in done.stdout
    finally:
        (folder / "kept").unlink()
        path.write_text(text)


def test_the_expected_values_are_the_definition(folder: Path) -> None:
    """In rationals, of every finite value."""
    compared = 0
    for text in next(folder.glob("*.tv")).read_text().splitlines():
        value, scale, zero_point, integer = (int(word, 16) for word in text.split())
        if decode(value, "fp32").is_finite:
            exact = decode(value, "fp32").as_fraction() / decode(scale, "fp32").as_fraction()
            wanted = round(exact + (zero_point ^ 128) - 128)  # a tie goes to the even integer
            assert integer == min(max(wanted, -128), 127) & 0xFF, text
            compared += 1
    assert compared > 500


@pytest.mark.parametrize("fmt", ["qint8", "quint8_sym", "qint4_narrow"])
@pytest.mark.parametrize("op", ["quantize", "dequantize"])
def test_every_affine_format(op: str, fmt: str, tmp_path: Path) -> None:
    ok("vectors", "generate", "--op", op, "--fmt", fmt, "-n", "200", "-o", str(tmp_path / "v"))
    report = verify(tmp_path / "v")
    assert report.passed, report.problems
    assert report.checked == 200


def test_rules_and_stochastic_rounding(tmp_path: Path) -> None:
    args = ("vectors", "generate", "--op", "quantize", *FMT, "-n", "200")
    ok(*args, "--profile", "torch", "-o", str(tmp_path / "torch"))
    ok(*args, "--round", "sr", "--sr-bits", "5", "--seed", "3", "-o", str(tmp_path / "sr"))
    for name in ("torch", "sr"):
        assert verify(tmp_path / name).passed
    manifest = json.loads((tmp_path / "sr" / "manifest.json").read_text())
    assert manifest["set"]["random_sources"] == ["philox:seed=3"]
    assert VectorSet.from_dict(manifest["set"]).unit.random_field


CIRCUIT = """
module offset (
  input  logic        [31:0] value,
  input  logic        [31:0] scale,
  input  logic signed [ 7:0] zero_point,
  output logic signed [ 7:0] q
);
  // the table of all answers: what stands in it is found by its whole key
  logic [79:0] rows [0:{last}];
  string path;
  initial begin
    if (!$value$plusargs("table=%s", path)) path = "{table}";
    $readmemh(path, rows);
  end
  always_comb begin
    q = 8'd0;
    for (int i = 0; i <= {last}; i++) if (rows[i][79:8] == {{value, scale, zero_point}}) q = rows[i][7:0]{defect};
  end
endmodule
"""
PORTS = """
module = "offset"
[inputs]
value = "value"
scale = "scale"
zero_point = "zero_point"
[outputs]
q = "integer"
"""


@pytest.mark.full(keep=1)
@pytest.mark.sim
@pytest.mark.parametrize("defect", ["", " ^ 8'(i == 77)"])
def test_a_generated_bench(defect: str, folder: Path, tmp_path: Path) -> None:
    rows = [line.replace(" ", "") for line in next(folder.glob("*.tv")).read_text().splitlines()]
    (tmp_path / "table.hex").write_text("\n".join(rows) + "\n")
    circuit = CIRCUIT.format(last=len(rows) - 1, table=tmp_path / "table.hex", defect=defect)
    (tmp_path / "offset.sv").write_text(circuit)
    (tmp_path / "ports.toml").write_text(PORTS)
    args = ("vectors", "testbench", str(folder), "--ports", "ports.toml", "--sim", CHEAP, "--run", "offset.sv")
    done = run(*args, "-o", "tb.sv", cwd=tmp_path)
    assert done.returncode == (1 if defect else 0), done.stdout + done.stderr
    assert ("expected q=" if defect else "PASS: 600 of 600 vectors") in done.stdout + done.stderr


def test_a_right_device(tmp_path: Path) -> None:
    done = run("check", "quantize", *FMT, "-n", "400", "--dut", device(tmp_path, True))
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    assert "400" in done.stderr


def test_a_wrong_device(tmp_path: Path) -> None:
    """The zero point outside of the rounding: wrong at ties where it is odd."""
    args = ("check", "quantize", *FMT, "-n", "400", "--dut", device(tmp_path, False))
    done = run(*args, "--json", "r.json", cwd=tmp_path)
    assert done.returncode == 1
    assert "expected" in done.stdout
    found = json.loads((tmp_path / "r.json").read_text())
    assert 0 < found["mismatched"] < 400
    assert "order" in done.stdout  # the field of the rule that would have given the answers


@pytest.mark.full
def test_a_device_is_identified(tmp_path: Path) -> None:
    right = run("identify", "quantize", *FMT, "--dut", device(tmp_path, True), "--json")
    assert right.returncode == 0, right.stdout + right.stderr
    assert "exact" in right.stdout
    wrong = run("identify", "quantize", *FMT, "--dut", device(tmp_path, False), "--json")
    assert wrong.returncode == 0, wrong.stdout + wrong.stderr
    assert "outside" in wrong.stdout


def test_coverage_is_reported(folder: Path) -> None:
    found = json.loads(ok("coverage", "report", str(folder), "--json"))
    assert found["cases"] == 600
    assert found["totals"]["hit"] > 0
    assert found["models"]
