"""Bad input and bad usage: one clear line, exit code 2, and no file left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command import refused


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    good = np.ones((64, 64), np.float32)
    np.save(folder / "good.npy", good)
    np.save(folder / "strings.npy", np.array(["a", "b"]))
    np.save(folder / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(folder / "empty.npy", np.zeros((0, 4)))
    np.save(folder / "scalar.npy", np.array(1.0))
    np.save(folder / "complex.npy", np.ones(3, complex))
    whole = (folder / "good.npy").read_bytes()
    (folder / "cut.npy").write_bytes(whole[:500])
    (folder / "header.npy").write_bytes(whole[:30])
    (folder / "nothing.npy").write_bytes(b"")
    (folder / "huge.npy").write_bytes(whole.replace(b"(64, 64)", b"(64, 10000000000000)")[:500])
    (folder / "noise.npy").write_bytes(b"\x93NUMPY\x01\x00\x10\x00{'descr': import os}")
    (folder / "x.csv").write_text("1.0\n2.0\n\n3.0\n1.25\n0.5\n1.2.3\n")
    (folder / "hole.csv").write_text("1,2,3\n4,,6\n")
    (folder / "csv.npy").write_text("1,2\n")
    (folder / "end.csv").write_text("1, 2\n\n3, 4, \n")
    (folder / "start.csv").write_text(",1,2\n")
    (folder / "commas.csv").write_text("1\n,,\n")
    (folder / "binary.csv").write_bytes(bytes(range(128, 256)))
    (folder / "blank.csv").write_text("\n\n")
    return folder


@pytest.mark.full(keep=10)
@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("-i strings.npy", "array of <U1"),
        ("-i objects.npy", "holds Python objects, which are never unpickled"),
        ("-i csv.npy", "does not begin with the header that numpy.save writes"),
        ("-i empty.npy", "empty array"),
        ("-i scalar.npy", "0-dimensional"),
        ("-i complex.npy", "array of complex128"),
        ("-i cut.npy", "not a readable"),
        ("-i header.npy", "not a readable"),
        ("-i nothing.npy", "not a readable"),
        ("-i huge.npy", "not a readable"),
        ("-i noise.npy", "not a readable"),
        ("-i missing.npy", "No such file"),
        ("-i .", "a folder without a model's files"),
        ("-i x.csv", "x.csv:7: '1.2.3' is not a number; use 1.25, 0x1.4p0"),
        ("-i hole.csv", "hole.csv:2: column 2 is empty; write a number or nan there"),
        ("-i hole.csv -o r.csv", "hole.csv:2: column 2 is empty"),
        ("-i end.csv", "end.csv:3: column 3 is empty"),
        ("-i start.csv", "start.csv:1: column 1 is empty"),
        ("-i commas.csv", "commas.csv:2: column 1 is empty"),
        ("-i binary.csv", "neither a .npy file nor text"),
        ("-i blank.csv", "no values"),
        ("", "nothing to quantize"),
        ("1 -i x.csv", "either values or -i"),
        ("1..2", "'1..2' is not a number"),
        ("-1.5x", "'-1.5x' is not a number"),
        ("1e999999999999", "is out of range"),
        ("1/0", "is not a number"),
        ("1 -o q.txt", "unknown kind of file"),
        ("-i good.npy -o missing/q.npy", "cannot be written"),
        ("-i good.npy -o . ", "unknown kind of file"),
        ("-i good.npy --axis 2", "axis 2 is out of range"),
        ("1 --round sr", "needs the number of random bits"),
        ("1 --round sr --sr-bits 4", "none were given"),
        ("1 --round nearest", "unknown rounding"),
        ("1 --profile none", "unknown block profile"),
        ("1 --nosuch", "No such option"),
        ("1 --round sr --sr-bits 4 --random-bits zz", "not a hexadecimal word"),
        ("1 --sr-bits x", "not a valid integer"),
        ("1 2 --round sr --sr-bits 4 --random-bits f", "1 word for 2 values"),
        ("1 --nan xyz", "neither a known word"),
        ("1 --round sr --sr-bits 4 --random-source mt19937", "unknown random source"),
        ("1 --round sr --sr-bits 4 --random-source lfsr:width=8", "taps missing"),
    ],
)
def test_bad_quantize(args: str, message: str, bad: Path) -> None:
    before = sorted(bad.iterdir())
    assert message in refused("quantize", "--fmt", "mxfp8", *args.split(), cwd=bad)
    assert sorted(bad.iterdir()) == before  # no file left, finished or not


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("quantize --fmt mxfp9 1", "unknown format 'mxfp9'; did you mean mxfp8"),
        ("quantize --fmt fp8_e4m4 1", "did you mean"),
        ("quantize 1", "Missing option '--fmt'"),
        ("eval add --fmt fp16 3c00", "add takes 2 codes, a, b, not 1"),
        ("eval add --fmt fp16 3c00 13c00", "has 16 bits"),
        ("eval add --fmt mxfp8 0 0", "is a block format"),
        ("eval add --fmt a=fp16 0 0", "no format for operand b"),
        ("eval add --fmt a=fp16,b=fp32 0 0", "the result format is ambiguous"),
        ("eval sum --fmt fp16 0 0", "unknown operation"),
        ("eval add --fmt fp16 zz 0", "'zz' is not a hexadecimal code"),
        ("eval add --fmt c=fp16 0 0", "takes a=FORMAT,b=FORMAT"),
        ("decode --fmt fp8_e5m2 100", "has 8 bits"),
        ("decode --fmt fp16", "give --fmt FORMAT and CODES, or -i MODEL"),
        ("vectors generate --op quantize --fmt mxfp8 --out u8 -o x", "a signed float format"),
        ("vectors generate --op quantize --fmt mxfp8 --out e8m0 -o x", "a signed float format"),
        ("explain --fmt fp16 abc", "'abc' is not a number"),
        ("explain --fmt fp16 1 2", "is not an operation"),
        ("explain add --fmt fp16 3c00", "add takes 2 codes, a, b, not 1"),
        ("explain add --fmt mxfp8 1 2", "'mxfp8' is a block format; a scalar format is needed"),
        ("explain --fmt fp8_e4m3 465 --got-flags 01", "--got-flags needs --got"),
        ("explain --fmt fp8_e4m3 465 --got 7e --got-flags 99", "--got-flags 99: flags are at most 1f"),
        ("explain --fmt fp8_e4m3 465 --got 7e --got-flags fff", "flags are at most 1f"),
        ("explain --fmt fp8_e4m3 465 --got 7e --got-flags xy", "not a hexadecimal code"),
        (
            "vectors generate --op mul --fmt fp16 --out mxfp8 -o x",
            "'mxfp8' is a block format; a scalar format is needed",
        ),
        ("eval convert --fmt fp16 --out fp4_e2m1@e8m0/16 0", "is a block format; a scalar format is needed"),
        ("quantize --fmt fp16 1e999999999", "'1e999999999' is out of range: numbers have at most 4000 digits"),
        ("quantize --fmt fp16 1e99999999999", "times at most 10^20000"),
        ("quantize --fmt fp16 0x1p-99999999999", "times at most 2^1600000"),
        ("quantize --fmt fp16 0x", "'0x' is not a number"),
        ("quantize --fmt fp16 0xp1", "'0xp1' is not a number"),
        ("formats show fp17", "unknown format"),
        ("formats table fp32", "the limit is 16 bits"),
        ("format", "unknown command"),
        ("vectors generate -o x", "give a vector recipe"),
        ("vectors generate --op add -o x", "needs --fmt"),
        ("vectors generate nothing -o x", "unknown operation, vector recipe or suite 'nothing'"),
        ("vectors generate --op add --fmt fp16 -n 0 -o x", "0 is not in the range"),
        ("vectors generate --op add --fmt fp16 -o good.npy", "cannot be created"),
        ("vectors verify missing", "No such file"),
        ("vectors verify -", "needs --op"),
        ("vectors verify missing --op add", "only apply to -"),
        ("vectors diff missing missing", "No such file"),
        ("vectors generate --op add --fmt fp16 --operands -o x", "only works when streaming"),
        ("formats show x.toml", "No such file"),
        ("approximate tanh --fmt bf16", "give a bound: kappa or ulp, one of them"),
        ("approximate tanh --fmt bf16 --ulp 0", "ulp = 0: a bound is a positive number"),
        ("approximate tanh --fmt bf16 --ulp inf", "--ulp inf: give a number of units in the last place"),
        ("approximate tanh --fmt bf16 --ulp 1e4000", "--ulp 1e4000: give a number of units in the last place"),
        ("approximate tanh --fmt bf16 --kappa 99999999999999999999", "bf16 has values at most 65278 apart"),
        ("approximate tanh --fmt fp32 --kappa 1", "fp32: every operand is tried"),
        ("approximate tanh --fmt bf16 --kappa 1 --nan ones", "leave --nan out"),
        ("approximate tanh --fmt bf16 --kappa 1 --name ../x -o d", "approximation '../x': a name has"),
        ("approximate tanh --fmt bf16 --kappa 1 -o good.npy/d", "good.npy/d: cannot be created: good.npy is a file"),
        ("approximate mine.toml --degree 2", "measured as it is"),
        ("eval mine.toml", "eval needs OP"),
        ("eval mine.toml 0", "No such file"),
        ("explain dot --fmt fp16 3c00", "dot takes 3 codes, a, b, c, not 1"),
        ("p3109 declare -o good.npy/d", "good.npy/d: cannot be created"),
        ("p3109 format fp16 MaxOf", "unknown operation on formats 'MaxOf'; "),
        ("check softmax --fmt bf16 --exhaustive --dut cat", "exhaustive applies only to scalar operations"),
        ("eval add --fmt fp16 --policy mine.toml 0 0", "No such file"),
    ],
)
def test_bad_usage(args: str, message: str, bad: Path) -> None:
    before = sorted(bad.iterdir())
    assert message in refused(*args.split(), cwd=bad)
    assert sorted(bad.iterdir()) == before
