"""The command line as a user has it: a process, its output, its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command import TOP, ok, refused, run

from softfloat_ref import blocks
from softfloat_ref.golden.cases import cases
from softfloat_ref.oracle.blocks.quantize import quantize_block
from softfloat_ref.oracle.codec import to_value
from softfloat_ref.oracle.operations import evaluator, signature
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.oracle.sources import Philox


def test_the_launcher() -> None:
    done = subprocess.run(
        [sys.executable, str(TOP / "cli.py"), "quantize", "--fmt", "fp16", "-1.5"],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    assert done.stdout == "-1.5  be00  -1.5\n"


# -- eval ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ("add --fmt fp16 3c00 3c00", "4000 00"),
        ("mul --fmt fp8_e4m3 7e 7e --overflow sat-none", "7f 05"),
        ("mul --fmt fp8_e4m3 7e 7e --overflow sat-none --round rtz", "7e 05"),
        ("fma --fmt a=fp8_e4m3,b=fp8_e5m2,c=fp32 --out fp32 38 3c 3f800000", "40000000 00"),
        ("convert --fmt fp32 --out fp8_e4m3 0x43E80000", "7e 01"),
        ("convert --fmt fp32 --out i8 c3000000", "80 00"),
        ("lt --fmt fp16 7e00 0000", "0 10"),
        ("class --fmt fp16 7c00", "080 00"),
        ("scaleb --fmt fp16 3c00 fffffffe", "3400 00"),
        ("convert --fmt fp32 --out fp8_e4m3 --round sr --sr-bits 4 --random-bits f 3f820000", "39 01"),
        ("convert --fmt fp32 --out fp8_e4m3 --round sr --sr-bits 4 --random-bits 0 3f820000", "38 01"),
        ("add --fmt fp16 0001 8000 --flush-inputs on", "0000 00"),
        ("sub --fmt fp32 7f800000 7f800000 --policy x86-sse", "ffc00000 10"),
        ("div --fmt binary8p4se 40 00", "80 10"),
    ],
)
def test_eval(args: str, shown: str) -> None:
    assert ok("eval", *args.split()) == shown + "\n"


@pytest.mark.full
def test_eval_stream_is_softfloats_answer() -> None:
    """100,000 lines of fp16 fma through the pipe, results and flags, against Berkeley SoftFloat."""
    soft = pytest.importorskip("softfloatpy")
    soft.set_rounding_mode(soft.RoundingMode.NEAR_EVEN)
    soft.set_tininess_mode(soft.TininessMode.AFTER_ROUNDING)
    operands = list(cases(signature("fma", "fp16").formats, 2, 100_000))
    lines = "".join(f"{a:04X} {b:04x} 0x{c:04X}\r\n" for a, b, c in operands)
    expected = []
    for case in operands:
        arguments = [soft.Float16.from_bytes(x.to_bytes(2, "big")) for x in case]
        soft.set_exception_flags(0)
        result = soft.f16_mul_add(*arguments).to_bytes().hex().upper()
        a, b, c = case
        expected.append(f"{a:04X} {b:04X} {c:04X} {result} {int(soft.get_exception_flags()):02X}")
    assert ok("eval", "fma", "--fmt", "fp16", "-", stdin=lines).splitlines() == expected


def test_eval_stream_answers_at_once() -> None:
    """A device model may wait for an answer before it asks again."""
    with subprocess.Popen(
        [sys.executable, "-m", "softfloat_ref", "eval", "add", "--fmt", "fp16", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=TOP,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(3):
            process.stdin.write(b"3c00 3c00\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"3C00 3C00 4000 00\n"
        process.stdin.close()
        assert process.wait(20) == 0


def test_eval_stream_random_bits() -> None:
    """The last operand of a line, or a named source by line number."""
    args = ["eval", "convert", "--fmt", "fp32", "--out", "fp8_e4m3", "--round", "sr", "--sr-bits", "8"]
    assert ok(*args, "-", stdin="3f820000 ff\n3f820000 0\n") == "3F820000 FF 39 01\n3F820000 00 38 01\n"
    words = Philox(7).bits(8, 0, 2)
    shown = ok(*args, "--seed", "7", "-", stdin="3f820000\n\n3f820000\n").splitlines()
    assert [line.split()[1] for line in shown] == [f"{w:02X}" for w in words]


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        ("3c00 3c00\n3c00\n", "stdin:2: 1 field, but 2 operands are needed"),
        ("3c00 3c0g\n", "stdin:1: '3c0g' is not a hexadecimal code"),
        ("3c00 13c00\n", "stdin:1: 13c00 does not fit 16 bits"),
        ("3c00 -1\n", "stdin:1: '-1' is not a hexadecimal code"),
        ("3c00 1__0\n", "stdin:1: '1__0' is not a hexadecimal code"),
        (b"\xff\xfe\x00 3c00\n", "stdin:1"),
        ("a" * 2_000_000, "more than 1048576 characters"),
    ],
)
def test_eval_stream_bad_lines(stdin: str | bytes, message: str) -> None:
    assert message in refused("eval", "add", "--fmt", "fp16", "-", stdin=stdin)


def test_eval_stream_undefined_case() -> None:
    done = run(
        "eval", "convert", "--fmt", "fp16", "--out", "fp4_e2m1", "--nan-missing", "error", "-", stdin="3c00\n7e00\n"
    )
    assert (done.returncode, done.stdout) == (2, "3C00 2 00\n")
    assert "stdin:2: fp4_e2m1 has no NaN" in done.stderr


def test_a_closed_pipe_is_no_error() -> None:
    line = f"{sys.executable} -m softfloat_ref formats table fp16 | head -n 1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=TOP, check=False)
    assert done.stdout.startswith("0000 ")
    assert done.stderr == ""


# -- quantize --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ("--fmt fp16 -1.5", "-1.5  be00  -1.5\n"),
        (
            "--fmt fp8_e4m3 --as value 0.3 -0.3 0x1.8p-3 1/3 inf -inf nan -0 1e400",
            "0.3125 -0.3125 0.1875 0.34375 448.0 -448.0 nan -0.0 448.0\n",
        ),
        ("--fmt fp8_e4m3 --as hex -nan .5 5. +1", "7f 30 4a 38\n"),
        ("--fmt mxfp4 --as hex 0.3 1.5 -4 0x1.8p3", "80: 0 2 c 7\n"),
        ("--fmt mxfp8 0.3 -1e3", "block 0: scale 80 = 2^1\n 0.3  22  0.3125\n-1e3  fe  -896.0\n"),
        ("--fmt fp8_e4m3 --round sr --sr-bits 4 --random-bits 0,f --as hex 1.03 1.03", "38 39\n"),
        ("--fmt i8 --as value 2.5 -200", "2.0 -128.0\n"),
    ],
)
def test_quantize_values(args: str, shown: str) -> None:
    assert ok("quantize", *args.split()) == shown


def test_quantize_json() -> None:
    result = json.loads(ok("quantize", "--fmt", "mxfp8", "--as", "json", "0.3", "nan"))
    assert result == {
        "format": "mxfp8_e4m3",
        "rows": [{"codes": ["7f", "7f"], "scales": ["ff"], "values": ["nan", "nan"]}],
    }


@pytest.mark.full
def test_quantize_a_large_tensor(tmp_path: Path) -> None:
    """A million float32 values; 1,000 random blocks against the oracle."""
    x = np.random.default_rng(0).standard_normal((1024, 1024)).astype(np.float32)
    np.save(tmp_path / "weights.npy", x)
    done = run("quantize", "--fmt", "mxfp8", "-i", "weights.npy", "-o", "q.npy", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout == ""
    assert "1048576 values of float32, shape (1024, 1024): 32768 blocks, 0 NaN" in done.stderr
    q = np.load(tmp_path / "q.npy", allow_pickle=False)
    assert q.dtype == np.float32
    rng = np.random.default_rng(1)
    from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32

    for row, start in zip(rng.integers(0, 1024, 1000), rng.integers(0, 32, 1000) * 32, strict=True):
        part = slice(start, start + 32)
        block = quantize_block([to_value(float(v), 0) for v in x[row, part]], "mxfp8")
        assert q[row, part].view(np.uint32).tolist() == dequantize_to_fp32(block.scale, block.codes, "mxfp8")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_quantize_npy_of_any_shape(dtype: type, tmp_path: Path) -> None:
    x = np.linspace(-3, 3, 2 * 3 * 40).reshape(2, 40, 3).astype(dtype)
    np.save(tmp_path / "x.npy", x)
    ok("quantize", "--fmt", "mxfp4", "--axis", "1", "-i", "x.npy", "-o", "q.npz", cwd=tmp_path)
    with np.load(tmp_path / "q.npz", allow_pickle=False) as arrays:
        expected = blocks.encode(x, "mxfp4", axis=1)
        assert (arrays["codes"] == expected.codes).all()
        assert (arrays["scales"] == expected.scales).all()
        assert (arrays["values"] == expected.decode()).all()
        assert str(arrays["format"]) == "mxfp4_e2m1"
    ok("quantize", "--fmt", "fp8_e4m3", "--as", "hex", "-i", "x.npy", "-o", "codes.npy", cwd=tmp_path)
    assert np.load(tmp_path / "codes.npy").dtype == np.uint8


def test_quantize_text(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("0.3,1.5\n-448, 1000\n")
    assert (
        ok("quantize", "--fmt", "fp8_e4m3", "--as", "value", "-i", "x.csv", cwd=tmp_path)
        == "0.3125 1.5\n-448.0 448.0\n"
    )
    assert ok("quantize", "--fmt", "fp8_e4m3", "--as", "hex", "-i", "-", stdin="0.3 1.5\n") == "2a 3c\n"
    (tmp_path / "blanks.csv").write_text("\n 0.3 \t1.5\n\n-448 ,  1000 2\n  \n")
    assert (
        ok("quantize", "--fmt", "fp8_e4m3", "--as", "value", "-i", "blanks.csv", cwd=tmp_path)
        == "0.3125 1.5\n-448.0 448.0 2.0\n"
    )
    ok("quantize", "--fmt", "fp8_e4m3", "-i", "x.csv", "-o", "y.csv", cwd=tmp_path)
    assert (tmp_path / "y.csv").read_text() == "0.3125,1.5\n-448.0,448.0\n"
    ok("quantize", "--fmt", "fp8_e4m3", "-i", "x.csv", "-o", "y.npy", cwd=tmp_path)
    assert np.load(tmp_path / "y.npy").tolist() == [[0.3125, 1.5], [-448.0, 448.0]]


def test_stochastic_quantization_is_by_position(tmp_path: Path) -> None:
    x = np.full((4, 8), 1.03, np.float32)
    np.save(tmp_path / "x.npy", x)
    args = ["quantize", "--fmt", "fp8_e4m3", "--round", "sr", "--sr-bits", "12", "--seed", "5", "--as", "hex"]
    from_array = ok(*args, "-i", "x.npy", cwd=tmp_path).split()
    from_text = ok(*args, *[str(float(v)) for v in x.reshape(-1)]).split()
    assert from_array == from_text
    assert len(set(from_array)) == 2


# -- explain, decode, formats ----------------------------------------------------------------------------------------


def rows(text: str) -> dict[str, str]:
    return {line[:10].strip(): line[11:] for line in text.splitlines() if line[:10].strip()}


def test_explain_a_conversion() -> None:
    explained = rows(ok("explain", "--fmt", "fp8_e4m3", "0.3"))
    assert explained["result"] == "2a = 0.3125 (0x1.4p-2)"
    assert explained["fields"] == "0 0101 010"
    assert explained["flags"] == "01 inexact"
    assert (explained["below"][:2], explained["above"][:2]) == ("29", "2a")
    assert explained["kept"] == "1001 in units of 2^-5"
    assert explained["discarded"].endswith("(more than half)")
    assert "rounded away from zero" in explained["rule"]
    assert explained["error"] == "+0.0125 = +0.4 ulp"


@pytest.mark.parametrize(
    ("args", "row", "text"),
    [
        ("--fmt fp8_e4m3 464", "discarded", "exactly half: a tie"),
        ("--fmt fp8_e4m3 500", "overflow", "sat-finite"),
        ("--fmt fp16 1e-7", "tiny", "below the smallest normal"),
        ("--fmt fp16 0.5", "rule", "exact"),
        ("--fmt fp16 nan", "rule", "NaN: nan = canonical"),
        ("--fmt fp4_e2m1 nan", "rule", "nan_missing = max"),
        ("--fmt fp8_e4m3 inf", "rule", "infinity: overflow = sat-finite"),
        ("--fmt e8m0 0", "rule", "has no zero"),
        ("--fmt fp8_e4m3 -0", "rule", "zero keeps its sign"),
        ("--fmt dlfloat16 1e-10", "result", "0000"),
        ("--fmt fp16 0.1 --round sr --sr-bits 4 --random-bits a", "rule", "n = 4, r = a"),
        ("fma --fmt fp16 3c00 0400 8001", "fma", "0x1.ff8p-15"),
        ("add --fmt fp16 7c00 fc00", "add", "invalid operation"),
        ("lt --fmt fp16 0 3c00", "result", "1 = 1.0"),
        ("div --fmt fp16 3c00 4200", "div", "0x1.5555"),
        ("sqrt --fmt fp32 40000000", "sqrt", "..."),
        ("rsqrt --fmt e8m0 80", "result", "7e"),
        ("--fmt i8 1000", "overflow", "integers = riscv"),
        ("--fmt int8 100", "overflow", "overflow = sat-finite"),
        ("--fmt i8 127.5", "kept", "1111111 in units of 2^0"),
        ("--fmt dlfloat16 1e-10", "kept", "0 in units of the smallest normal"),
        ("--fmt dlfloat16 1e-10", "rule", "toward zero"),
        ("--fmt fp8_e4m3 1e-3000", "error", "ulp"),
        ("add --fmt fp16 1 8000 --flush-inputs on", "a", "flushed to 0.0"),
    ],
)
def test_explain_rows(args: str, row: str, text: str) -> None:
    assert text in rows(ok("explain", *args.split()))[row]


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ("--fmt fp8_e4m3 465 --got 7f", "matches overflow = sat-none"),
        ("--fmt fp8_e4m3 0.3 --got 29", "matches rounding = rtz"),
        ("--fmt fp8_e5m2 nan --got 7f", "matches nan = ones"),
        ("--fmt fp16 0x1p-15 --got 0", "matches flush_outputs = on"),
        ("add --fmt fp16 0001 0001 --got 0", "matches flush_inputs = on"),
        ("add --fmt fp16 3c00 3c00 --got 4000", "agrees"),
        ("add --fmt fp16 3c00 3c00 --got 4000 --got-flags 1", "no change of one or two policy fields"),
        ("convert --fmt fp32 --out i32 7fc00000 --got 80000000", "matches integers = x86"),
        ("div --fmt binary8p4se 40 00 --got 7f", "matches specials = ieee"),
        ("mul --fmt fp8_e4m3 fe 7e --overflow sat-none --got fe", "matches overflow = sat-finite"),
    ],
)
def test_explain_got(args: str, shown: str) -> None:
    assert shown in ok("explain", *args.split())


def test_decode() -> None:
    assert (
        ok("decode", "--fmt", "fp8_e5m2", "7c", "0x3C") == "7c = inf  [0 11111 00]\n3c = 1.0 (0x1p+0)  [0 01111 00]\n"
    )
    assert ok("decode", "--fmt", "int8", "--as", "value", "80") == "-2.0\n"
    assert json.loads(ok("decode", "--fmt", "fp4_e2m1", "--as", "json", "7"))["codes"][0]["value"] == "6.0"


def test_formats() -> None:
    listed = ok("formats", "list")
    assert all(f"{name} " in listed for name in ("fp128", "fp8_e4m3", "e8m0", "mxint8"))
    table = ok("formats", "table", "fp4_e2m1").splitlines()
    assert len(table) == 16
    assert table[7] == "7  0 11 1  6.0 (0x1.8p+2)"
    assert json.loads(ok("formats", "show", "--json", "mxfp4"))[0]["size"] == 32


def test_defined_formats_and_policies_are_taken_by_name(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        '[formats.tiny]\nlike = "fp8_e4m3"\nbias = 11\n\n[policies.chip]\nrounding = "rna"\nnan = "ones"\n'
    )
    args = ["eval", "convert", "--fmt", "fp32", "--out", "mine.toml:tiny", "--policy", "mine.toml", "41c80000"]
    assert ok(*args, cwd=tmp_path) == "7d 01\n"  # 25: a tie between 24 and 26 in units of 2


def test_vectors_command(tmp_path: Path) -> None:
    args = ["vectors", "generate", "--op", "fma", "--fmt", "fp16", "-n", "1000", "--seed", "1", "-o", "out"]
    assert run(*args, cwd=tmp_path).returncode == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["command"] == ["softfloat-ref", *args]
    assert run("vectors", "verify", "out", cwd=tmp_path).returncode == 0
    path = tmp_path / "out" / "fma_fp16_rne.tv"
    path.write_bytes(path.read_bytes()[:-1])
    done = run("vectors", "verify", "out", cwd=tmp_path)
    assert done.returncode == 1
    assert "SHA-256" in done.stdout
    assert "fp16_fma_rne" in ok("vectors", "list")


def test_vectors_in_a_pipe() -> None:
    """generate | device | verify, as TestFloat's programs."""
    args = ["--op", "mul", "--fmt", "fp16"]
    operands = ok("vectors", "generate", *args, "-n", "300", "--operands", "-o", "-")
    answers = ok("eval", "mul", "--fmt", "fp16", "-", stdin=operands)
    assert answers == ok("vectors", "generate", *args, "-n", "300", "-o", "-")
    assert run("vectors", "verify", "-", *args, stdin=answers).returncode == 0
    done = run("vectors", "verify", "-", *args, "--round", "rtz", stdin=answers)
    assert done.returncode == 1
    assert "matches rounding = rne" in done.stdout
    assert run("vectors", "verify", "-", *args, stdin="").returncode == 1  # zero vectors


def test_vectors_diff(tmp_path: Path) -> None:
    for folder, mode in (("a", "rne"), ("b", "rtz")):
        ok(
            "vectors",
            "generate",
            "--op",
            "add",
            "--fmt",
            "fp16",
            "-n",
            "200",
            "--round",
            mode,
            "-o",
            folder,
            cwd=tmp_path,
        )
    done = run("vectors", "diff", "a", "b", cwd=tmp_path)
    assert done.returncode == 1
    assert "policy.rounding: rne became rtz" in done.stdout
    assert run("vectors", "diff", "a", "a", cwd=tmp_path).returncode == 0


def test_lfsr_source() -> None:
    """A maximal 4-bit register: 1, 2, 4, 9, 3, 6, ... (taps 4 and 3), stepped once per element."""
    args = [
        "quantize",
        "--fmt",
        "fp4_e2m1",
        "--round",
        "sr",
        "--sr-bits",
        "4",
        "--as",
        "hex",
        "--random-source",
        "lfsr:width=4,taps=4.3,seed=1",
    ]
    values = ["1.25"] * 6  # half way: up where r is at least 8
    states = [1, 2, 4, 9, 3, 6]
    assert ok(*args, *values).split() == ["3" if s >= 8 else "2" for s in states]


def test_help_is_light() -> None:
    code = (
        "import sys, softfloat_ref.app.main as m\ntry: m.main(['--help'])\nexcept SystemExit: pass\n"
        "print('numpy' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=TOP, check=True)
    assert done.stderr == "False\n"
    for command in ("formats", "explain", "quantize", "decode", "eval", "vectors", "check", "dpi", "selftest"):
        assert command in done.stdout
        assert "Usage" in ok(command, "--help")


@pytest.mark.full
def test_selftest() -> None:
    assert ok("selftest").endswith("selftest passed\n")


def test_evaluator_matches_stream_on_policies() -> None:
    sig = signature("convert", ["fp32"], "fp8_e5m2")
    for name in ("riscv", "ptx", "arm"):
        policy = get_policy(name)
        listed = list(cases(sig.formats, 1, 300, sig.out))
        lines = "".join(f"{a:08x}\n" for (a,) in listed)
        shown = ok("eval", "convert", "--fmt", "fp32", "--out", "fp8_e5m2", "--policy", name, "-", stdin=lines)
        assert [tuple(int(x, 16) for x in line.split()[1:]) for line in shown.splitlines()] == [
            evaluator(sig, policy)(case, 0) for case in listed
        ]


@pytest.mark.parametrize("group", ["coverage", "formats", "p3109", "plot", "train", "vectors"])
def test_help_of_groups_is_not_cut(group: str) -> None:
    assert "..." not in ok(group, "--help").partition("Commands:")[2]


def test_the_help_of_train_names_the_options_of_a_run() -> None:
    from softfloat_ref.app import train

    shown = " ".join(ok("train", "-h").split())
    assert "`train run -h` lists the options" in shown
    assert all(any(x in shown for x in p.opts if x.startswith("--")) for p in train.run.params if p.name != "recipe")


def test_numbers_that_were_printed_from_a_format(tmp_path: Path) -> None:
    both = ("1.0039062", "1.0039063")  # FP32 has one number there, a tie between two of BF16
    assert ok("quantize", "--fmt", "bf16", "--as", "hex", *both) == "3f80 3f81\n"
    assert ok("quantize", "--fmt", "bf16", "--as", "hex", "--printed-from", "fp32", *both) == "3f80 3f80\n"
    path = tmp_path / "x.csv"
    path.write_text(",".join(both))
    assert ok("quantize", "--fmt", "bf16", "--as", "hex", "--printed-from", "fp32", "-i", str(path)) == "3f80 3f80\n"
    assert "result     3f80" in ok("explain", "--fmt", "bf16", "--printed-from", "fp32", both[1])
    assert ok("dot", "--fmt", "bf16", "--values", "--printed-from", "fp32", both[1], "1") == "3f800000 00\n"
    np.save(tmp_path / "x.npy", np.ones(3, np.float32))
    for args, message in (
        (("quantize", "--fmt", "bf16", "-i", str(tmp_path / "x.npy")), "is for numbers as text"),
        (("quantize", "--fmt", "bf16", "1e39"), "'1e39' is beyond fp32"),
        (("explain", "add", "--fmt", "bf16", "1", "1"), "add takes codes"),
        (("dot", "--fmt", "bf16", "3f80", "3f80"), "goes with --values"),
    ):
        assert message in refused(*args[:1], "--printed-from", "fp32", *args[1:])
