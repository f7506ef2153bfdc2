"""The steps of affine quantizations, and which rules would have given a device's answer."""

from __future__ import annotations

import json
import shlex

import pytest
from command import run

from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.affine import RULES
from softfloat_ref.testing import affine  # noqa: F401  (its view enters the table)
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.views import view_of
from softfloat_ref.units import AffineQuantizeUnit, make_unit


def ok(*args: str) -> str:
    done = run(*args)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_tie_and_the_zero_point() -> None:
    assert ok("explain", "quantize", "--fmt", "qint8", "40200000", "3f800000", "05", "--got", "07").splitlines() == [
        "value       40200000 = 2.5 (0x1.4p+1)",
        "scale       3f800000 = 1.0 (0x1p+0)",
        "zero point  5",
        "affine rule exact",
        "quotient    2.5 (0x1.4p+1)",
        "sum         7.5 (0x1.ep+2), zero point added inside the rounding",
        "kept        111 in units of 2^0",
        "discarded   1 (exactly half: a tie)",
        "rounding    rne (to nearest, ties to even): rounded away from zero",
        "rounded     8",
        "clamp       none: within -128 to 127",
        "result      08 = 8",
        "restored    40400000 = 3.0 (0x1.8p+1)",
        "error       +0.5 steps",
        "got         07 = 7",
        "            matches rule = torch-fake",
        "            matches rule = onnxruntime",
        "            matches order = outside",
        "            matches rounding = rtz",
        "            matches rounding = rdn",
        "            matches rounding = rto",
        "            matches rounding = rhz",
    ]


@pytest.mark.parametrize(
    ("args", "lines"),
    [
        (
            "qint8 40200000 3f800000 05 --profile torch-fake",
            ["rounded     2", "sum         7, zero point added outside"],
        ),
        ("qint8 44800000 3f800000 05", ["clamp       above the largest integer, 127", "result      7f = 127"]),
        ("quint8 c4800000 3f800000 05", ["clamp       below the smallest integer, 0", "result      00 = 0"]),
        (
            "qint8 7fc00000 3f800000 05 --profile torch-fake",
            ["special     NaN: nan = smallest", "result      80 = -128"],
        ),
        ("qint8_sym ff800000 3f800000", ["zero point  0, the middle", "special     infinity: inf = saturate"]),
        ("qint8 7f000000 00800000 05 --profile torch-fake", ["product     inf", "clamp       the product overflows"]),
        ("qint8 00000001 3f800000 05 --flush-inputs on", ["flushed to zero", "result      05 = 5"]),
        ("qint8 3fc00000 3c70f0f1 05 --profile torch", ["reciprocal  68.0", "rounded to FP32, with the product"]),
        ("qint8 3f00 3f800000 05 --out bf16 --round rup", ["value       3f00 = 0.5", "result      06 = 6"]),
        ("qint8 3f000000 3f800000 05 --round sr --sr-bits 4 --random-bits 8", ["r = 8): rounded", "result      06"]),
    ],
)
def test_rules_and_specials(args: str, lines: list[str]) -> None:
    shown = ok("explain", "quantize", "--fmt", *args.split())
    for line in lines:
        assert line in shown


def test_dequantize() -> None:
    shown = ok("explain", "dequantize", "--fmt", "qint8", "81", "3c70f0f1", "05", "--got", "bff88888")
    assert "steps       -132: integer - zero point" in shown
    words = ("explain", "dequantize", "--fmt", "qint8_sym", "81", "3c70f0f1")
    assert "result      bfef0f0f" in ok(*words)
    assert "matches rounding = rdn" in ok(*words, "--got", "bfef0f10")
    assert "no other rule" in ok(*words, "--got", "0")
    assert ok(*words, "--got", "bfef0f0f").endswith("agrees\n")


def test_json() -> None:
    words = ("explain", "quantize", "--fmt", "qint8", "40200000", "3f800000", "05", "--json")
    found = json.loads(ok(*words, "--got", "07"))
    assert found["bits"] == "08"
    assert found["steps"]["rounded"] == "8"
    assert {"order": "outside"} in found["got"]
    assert "got" not in json.loads(ok(*words))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("quantize --fmt qint8 40200000 3f800000", "takes 3 codes, value, scale, zero_point, not 2"),
        ("quantize --fmt qint8_sym 40200000 3f800000 05", "takes 2 codes, value, scale, not 3"),
        ("quantize --fmt qint8 40200000 3f800000 105", "zero_point: '105' may be decimal or hexadecimal, of 8 bits"),
        ("quantize --fmt qint8 40200000 3f800000 05 --got 100", "integer has 8 bits"),
        ("quantize --fmt qint8 40200000 00000000 05", "a scale must be a positive finite number"),
        ("quantize --fmt qint8 40200000 3f800000 05 --got-flags 01", "--got-flags is for operations"),
        ("quantize --fmt qint8 40200000 3f800000 05 --round sr --sr-bits 4", "none were given"),
        ("quantize --fmt mxfp8 1 2", "quantize takes 32 codes, values (32), not 2"),
        ("dot --fmt fp16 1 2 3 4", "dot takes 3 codes, a, b, c, not 4"),
    ],
)
def test_errors(args: str, message: str) -> None:
    done = run("explain", *args.split())
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.full(keep=5)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("fmt", ["qint8", "quint4", "qint6_sym_narrow", "quint8_sym"])
def test_the_steps_lead_to_the_answer(fmt: str, rule: str) -> None:
    """What is rounded, with the zero point, clamped, is the result, whatever the case."""
    unit = make_unit("quantize", fmt, profile=rule, policy={"rounding": "rna"})
    vectors = VectorSet(unit, 150, seed=3)
    compared = 0
    for inputs in vectors.inputs():
        if (line := vectors.line(inputs)) is None:
            continue
        rows = dict(affine_steps(unit, inputs))
        if "rounded" not in rows:
            continue
        total = rows["sum"].partition(",")[0] if unit.rule.order == "outside" else rows["rounded"]  # type: ignore[attr-defined]
        low, high = unit.affine.lowest, unit.affine.highest  # type: ignore[attr-defined]
        assert rows["result"] == f"{line[-1]:0{unit.results[0].digits}x} = {min(max(int(total), low), high)}"
        compared += 1
    assert compared > 50


def affine_steps(unit: object, inputs: tuple[int, ...]) -> list[tuple[str, str]]:
    from softfloat_ref.explanation.steps import steps

    return steps(unit, inputs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fmt", "options"),
    [
        ("qint8", {}),
        ("quint8_sym", {"out": "bf16", "profile": "torch"}),
        ("qint4_narrow", {"profile": "exact,order=outside,rounding=rtz", "policy": "ieee"}),
        ("qint8", {"policy": {"rounding": "sr", "sr_bits": 4, "flush_inputs": True}}),
    ],
)
def test_the_view_names_a_command_that_shows_the_case(fmt: str, options: dict[str, object]) -> None:
    unit = make_unit("quantize", fmt, **options)
    view = view_of(unit)
    vectors = VectorSet.make("quantize", fmt, 40, **options)  # type: ignore[arg-type]
    for line in filter(None, map(vectors.line, vectors.inputs())):
        inputs, right = line[:-1], line[-1]
        command = view.command(inputs, Answer((right,)))
        words = shlex.split(command)
        assert words[:3] == ["softfloat-ref", "explain", "quantize"]
        shown = ok(*words[1:])
        assert f"result      {right:0{unit.results[0].digits}x} =" in shown
        assert shown.endswith("agrees\n")


def test_a_mismatch_names_the_rules() -> None:
    unit = AffineQuantizeUnit.make("qint8")
    view = view_of(unit)
    inputs, got = (0x40200000, 0x3F800000, 5), Answer((7,))
    assert {"order": "outside"} in view.changes(inputs, got, True)
    assert view.changes(inputs, Answer((0x55,)), True) == []
    assert list(view.lines(inputs, unit.answer(inputs), got))[-2:] == ["  expected 08 = 8", "  got      07 = 7"]
    assert view.answer_text(0x155, None) == "155, which does not fit 8 bits"
