"""Requantizers on the command line: evaluation, vectors, benches, checks, explanation, coverage."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command import here, ok, run
from requantize_definition import once, twice, wrap

import softfloat_ref as sf
from softfloat_ref.app.verify import _options_of as options_of_changed
from softfloat_ref.base.errors import Error
from softfloat_ref.coverage.engine.measure import set_report
from softfloat_ref.golden.sets import of_unit
from softfloat_ref.golden.verify import verify
from softfloat_ref.oracle.requantization import get_rule
from softfloat_ref.units import RequantizeUnit

UNIT = ("--fmt", "i32", "--rule", "tflite")
# The device: two roundings, or one.
DEVICE = """
import sys
sys.path.insert(0, {support!r})
from requantize_definition import once, twice, wrap
for line in sys.stdin:
    x, m, s, z = (int(word, 16) for word in line.split())
    x, m, s, z = (wrap(a, bits) for a, bits in ((x, 32), (m, 32), (s, 6), (z, 8)))
    q = {function} + z
    print(f"{{min(max(q, -128), 127) & 0xFF:02x}}", flush=True)
"""


def device(tmp_path: Path, twice: bool) -> str:
    function = "twice(x, m, s, 32)" if twice else "wrap(once(x, m, s, 31), 32)"
    support = str(Path(__file__).parents[1] / "support")
    (tmp_path / "device.py").write_text(DEVICE.format(support=support, function=function))
    return f"{sys.executable} {tmp_path / 'device.py'}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("requantize") / "v"
    ok("vectors", "generate", "--op", "requantize", *UNIT, "-n", "600", "-o", str(path))
    return path


def test_a_case_is_evaluated() -> None:
    for rule, right in (("tflite", "0c"), ("tflite-single", "0b")):
        words = ("eval", "requantize", "--fmt", "i32", "--rule", rule)
        assert here(*words, "1f30", "5e63ba3c", "37", "00").stdout == f"{right}\n"
        assert here(*words, "--fixed", "multiplier=1583594044,shift=-9,zero_point=0", "1f30").stdout == f"{right}\n"
        unit = sf.unit("requantize", "i32", rule=rule, fixed={"zero_point": 0})
        assert unit.answer((7984, 1583594044, 55)) == (int(right, 16),)


def test_vectors_are_generated_and_verified(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    unit = manifest["set"]["unit"]
    assert (unit["kind"], unit["rule"]["name"], unit["rule"]["first_bits"]) == ("requantize", "tflite", 31)
    assert [f["name"] for f in manifest["fields"]] == ["accumulator", "multiplier", "shift", "zero_point", "result"]
    assert verify(folder).passed
    for text in next(folder.glob("*.tv")).read_text().splitlines():
        x, m, s, z, q = (int(word, 16) for word in text.split())
        right = twice(wrap(x, 32), wrap(m, 32), wrap(s, 6), 32) + wrap(z, 8)
        assert q == min(max(right, -128), 127) & 0xFF, text


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    "words",
    [
        ("--fmt", "i48", "--out", "i16", "--rule", "cmsis-nn-s64"),
        ("--fmt", "i32", "--out", "u4", "--rule", "onnxruntime", "--clamped"),
        ("--fmt", "i24", "--out", "i8", "--rule", "tosa-double", "--fixed", "zero_point=0,shift=40"),
    ],
)
def test_other_requantizers(words: tuple[str, ...], tmp_path: Path) -> None:
    ok("vectors", "generate", "--op", "requantize", *words, "-n", "120", "-o", str(tmp_path / "v"))
    report = verify(tmp_path / "v")
    assert report.passed, report.problems
    assert report.checked > 100


@pytest.mark.full
def test_a_right_device_and_one_that_rounds_once(tmp_path: Path) -> None:
    words = ("check", "requantize", *UNIT, "-n", "900")
    assert run(*words, "--dut", device(tmp_path, twice=True)).returncode == 0
    done = run(*words, "--dut", device(tmp_path, twice=False))
    assert done.returncode == 1
    assert "diagnosis: the device follows rule cmsis-nn-single\n" in done.stdout
    assert "softfloat-ref explain requantize --fmt i32 --out i8 --rule tflite " in done.stdout


def test_an_explanation() -> None:
    lines = here("explain", "requantize", *UNIT, "1f30", "5e63ba3c", "37", "05", "--got", "10").stdout.splitlines()
    assert "first       5887.548833757639 (0x1.6ff8c805e8p+12), rounded by rnu: 5888" in lines
    assert "then        11.5 (0x1.7p+3), rounded by rna: 12" in lines
    assert "result      11 = 17" in lines
    assert "            matches rule = tflite-single" in lines
    assert "            matches first_bits = 0" in lines


@pytest.mark.parametrize(
    ("rule", "numbers", "wanted"),
    [
        ("tflite", ("40000000", "40000000", "01", "00"), "left shift  -2147483648: 2147483648 wrapped to 32 bits"),
        ("tflite", ("80000000", "80000000", "00", "00"), "high part   2147483647: 2147483648 saturated to 32 bits"),
        ("cmsis-nn", ("80000000", "80000000", "00", "00"), "high part   -2147483648: 2147483648 wrapped to 32 bits"),
        ("tflite-int64", ("3", "40008000", "00", "00"), "reduced     16385: the multiplier without 16 low bits"),
        ("tflite", ("7fff", "7fffffff", "00", "05"), "clamp       above the largest integer, 127"),
        ("onnxruntime", ("1000001", "3f800000", "00"), "step        4b800000 = 16777216.0 (0x1p+24), rounded to fp32"),
        ("cmsis-nn-single-7", ("3", "40000000", "00", "00"), "early       3: the product and one bit below, wrapped"),
        ("cmsis-nn-single", ("40000000", "40000000", "02", "00"), "register    -2147483648: 2147483648 wrapped"),
    ],
)
def test_what_an_explanation_names(rule: str, numbers: tuple[str, ...], wanted: str) -> None:
    assert wanted in here("explain", "requantize", "--fmt", "i32", "--rule", rule, *numbers).stdout


def test_coverage_has_the_decisions() -> None:
    """Every shift of both signs, every tie, INT_MIN * INT_MIN, cases that differ by the second rounding."""
    report = set_report(of_unit(RequantizeUnit.make("i32", "i8", "tflite"), 1500, seed=1))
    assert report is not None
    bins = {b.id: b.hits for m in report.models for b in m.bins}
    assert {f"SHIFT/{by}.{sign}" for by in range(-31, 31) for sign in ("pos", "neg")} <= bins.keys()
    rounds = [f"ROUND/{w}.{s}.lsb{b}.guard1.sticky0" for w in ("first", "last") for s in ("pos", "neg") for b in (0, 1)]
    ends = [f"CLAMP/{x}" for x in ("under-low", "low", "over-low", "under-high", "high", "over-high")]
    for name in (*rounds, *ends, "ROUND/twice.pos", "ROUND/twice.neg", "REG/high.above", "REG/left.above"):
        assert bins[name] > 0, name
    assert report.totals["empty"] == 0


def test_a_definition_in_fractions_of_one_rounding() -> None:
    unit = RequantizeUnit.make("i32", "i8", "tflite-single", "zero_point=0")
    for x, m, s, q in of_unit(unit, 300, seed=2).lines():
        assert q == min(max(once(wrap(x, 32), m, wrap(s, 6), 31), -128), 127) & 0xFF


@pytest.mark.parametrize("rule", ["tflite,first=rdn", "tflite-single", "cmsis-nn", "single,order=inside"])
def test_a_device_by_another_rule_can_be_typed(rule: str) -> None:
    """Where its rule has no result, it gives exact numbers; commands name it."""
    unit = RequantizeUnit.make("i32", "i8", "tflite", "shift=-9")
    device = unit.under(get_rule(rule))
    assert device.fields == unit.fields
    assert get_rule(device.rule.name) == device.rule
    words = ("requantize", "--fmt", "i32", "--rule", "tflite", "--fixed", "shift=-9")
    typed = options_of_changed(unit, words, device)
    assert typed == (*words, "--rule", device.rule.name)
    with pytest.raises(Error, match="has other operands than rule tflite"):
        unit.under(get_rule("onnxruntime"))


@pytest.mark.parametrize(
    ("options", "label"),
    [
        ({}, "requantize i32 to i8 single"),
        ({"rule": "tflite", "out": "u8"}, "requantize i32 to u8 tflite"),
        (
            {"rule": "tflite", "fixed": "shift=-5,zero_point=0"},
            "requantize i32 to i8 tflite with shift=-5, zero_point=0",
        ),
    ],
)
def test_a_label_has_the_rule(options: dict[str, str], label: str) -> None:
    assert RequantizeUnit.make("i32", **options).label == label
