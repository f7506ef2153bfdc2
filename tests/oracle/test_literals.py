"""Values as text are read back as they were; what a command does not use is refused."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command import ok, refused, run

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import decode, encode
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import CATALOGUE, get_format
from softfloat_ref.oracle.literals import parse_number, writer
from softfloat_ref.oracle.printed import read_number


@pytest.mark.parametrize(
    "name", ["i64", "u64", "i128", "i256", "fp128", "fp64", "s1e8m60", "fp32", "s1e14m56", "s1e4m3"]
)
def test_values_are_read_back(name: str) -> None:
    fmt = get_format(name)
    text, source = writer(fmt.mantissa_bits + 1), random.Random(name)
    edges = [1 << (fmt.width - 1), (1 << fmt.width) - 2, (1 << (fmt.width - 1)) - 2, 1]
    for code in (*edges, *(source.getrandbits(fmt.width) for _ in range(500))):
        x = decode(code, fmt)
        if x.is_finite:
            back = decode(encode(parse_number(text(x)), fmt).bits, fmt)
            assert (back.sign, back.as_fraction()) == (x.sign, x.as_fraction())


def test_integers_and_wide_formats_have_all_their_digits(tmp_path: Path) -> None:
    """Both were written as the nearest float64."""
    codes = ("fffffffffffffffe", "8000000000000000")
    assert ok("decode", "--fmt", "u64", "--as", "value", *codes).split() == [
        "18446744073709551614.0",
        "9223372036854775808.0",
    ]
    number = "0x1.0000000000000000000000000001p+0"
    assert ok("quantize", "--fmt", "fp128", "--as", "value", number).strip() == number
    ok("quantize", "--fmt", "u64", "18446744073709551614", "-o", "u.csv", cwd=tmp_path)
    assert ok("quantize", "--fmt", "u64", "-i", "u.csv", "--as", "hex", cwd=tmp_path).strip() == codes[0]


def test_codes_of_nvfp4_come_with_the_tensor_scale() -> None:
    lines = ok("quantize", "--fmt", "nvfp4", "100", "200", "--as", "hex").splitlines()
    table = ok("quantize", "--fmt", "nvfp4", "100", "200")
    assert lines[0].removeprefix("tensor scale: ") in table.splitlines()[0]
    assert len(lines) == 2


STOCHASTIC = "quantize --fmt fp8_e4m3 1 --round sr --sr-bits 8 --random-bits ff"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (f"{STOCHASTIC} --random-source philox:seed=3", "leave --random-source out"),
        ("quantize --fmt fp8_e4m3 1 --sr-bits 3", "--sr-bits is for stochastic roundings; rne takes no bits"),
        ("quantize --fmt mxfp8 1 --seed 3", "--seed is for stochastic roundings; rne takes no bits"),
        ("eval neg --fmt fp16 1 --seed 3", "--seed is for stochastic roundings; rne takes no bits"),
        ("explain --fmt fp16 1 --seed 3", "--seed is for stochastic roundings; rne takes no bits"),
        (
            "quantize --fmt fp16 1 --round sr --sr-bits 3 --random-bits 1 --seed 3",
            "--random-bits gives the random bits",
        ),
        ("quantize --fmt fp8 1", "unknown format 'fp8'; did you mean fp8_e5m2, fp8_e4m3, fp8_e3m4?"),
        ("vectors generate --op fma --fmt fp16 -n 20 -o v --sr-bits 3", "--sr-bits is for stochastic roundings"),
        ("vectors generate --op fma --fmt fp16 -n 20 -o v --profile ocp", "--profile is for quantize and dequantize"),
        ("vectors generate --op fma --fmt fp16 -n 20 -o v --layout dense", "--layout is for matmul, not for"),
        ("quantize --fmt qint8 1 2 --axis 0", "--axis is for .npy input"),
        ("formats show qint8", "'qint8' is an affine format"),
        ("check mul --fmt fp16 --dut nothing --json no/x.json", "no such folder:"),
        ("quantize --fmt fp16 1 --policy p.toml", "p.toml: unknown policy field 'roundin'"),
        ("dot --fmt fp16 3c00 3c00 --acc p.toml", "p.toml: unknown accumulator field 'stp'"),
    ],
)
def test_what_is_not_used_is_refused(command: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('[policies.a]\nroundin = "rne"\n[accumulators.a]\nstp = 3\n')
    assert message in refused(*command.split(), cwd=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["p.toml"]


def test_arrays_of_operands_that_mean_nothing(tmp_path: Path) -> None:
    """C for c was no c."""
    one = np.array([[0x3C00]], np.uint16)
    np.savez(tmp_path / "c.npz", a=one, b=one, C=np.array([0x3F800000], np.uint32))
    assert "unknown array 'C'" in refused("dot", "--fmt", "fp16", "-i", "c.npz", cwd=tmp_path)
    np.savez(tmp_path / "none.npz", a=one[:0], b=one[:0])
    assert "no operands" in refused("dot", "--fmt", "fp16", "-i", "none.npz", cwd=tmp_path)


@pytest.mark.parametrize("op", ["add", "matmul --m 2 --n 2 --k 2"])
def test_a_suites_folder_takes_no_set(op: str, tmp_path: Path) -> None:
    """`vectors verify` would not look at it."""
    (tmp_path / "suite.json").write_text("{}")
    command = f"vectors generate --op {op} --fmt fp16 -n 1 -o ."
    assert "already holds a suite" in refused(*command.split(), cwd=tmp_path)
    assert "holds a suite; give the folder of one of its sets" in refused("vectors", "diff", ".", ".", cwd=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["suite.json"]


@pytest.mark.parametrize(
    ("args", "lines"),
    [
        ("s0e4m3 -0.1", ["overflow   below zero, and the format has no sign; overflow = sat-none: NaN, or 0"]),
        ("u8 -3", ["overflow   below zero, and the format has no sign; integers = riscv"]),
        ("e8m0 -3 --overflow sat-finite", ["sign       dropped: the format is unsigned"]),
        ("fp16 3e-8 --flush-outputs on", ["flushed    to zero: flush_outputs = on, flush_rule = after"]),
    ],
)
def test_explanations_of_signs_and_flushes(args: str, lines: list[str]) -> None:
    done = run("explain", "--fmt", *args.split())
    assert all(line in done.stdout for line in lines)
    assert "largest" not in done.stdout


@pytest.mark.parametrize(("fmt", "step"), [("fp16", 23), ("bf16", 17)])
def test_printed_digits_stand_for_the_value_that_was_printed(fmt: str, step: int) -> None:
    """The shortest digits that numpy, and the nine that C, print of each value, whose last one is rounded."""
    wide, exact = CATALOGUE[fmt], 0
    for code in range(1, wide.inf_code, step):
        value = decode(code, wide)
        for text in (f"{float(value):.9g}", f"{-float(value):.5g}"):
            number = read_number(text, printed_from=wide)
            assert isinstance(number, Value)
            assert encode(number, wide).bits & wide.magnitude_mask == code
            exact += parse_number(text) == value.as_fraction()
    assert 0 < exact < wide.inf_code // step


def test_what_was_not_printed_from_a_format() -> None:
    for text in ("65520", "-1e9"):
        with pytest.raises(Error, match="is beyond fp16"):
            read_number(text, "line 3", CATALOGUE["fp16"])
    assert read_number("-inf", printed_from=CATALOGUE["fp16"]) == parse_number("-inf")
    assert read_number("1/3") == Fraction(1, 3)
