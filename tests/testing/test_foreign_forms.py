"""Lines of other programs (.fptest, TestFloat), memory images of FPGA tools, and waveforms, as vectors and results."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import ok, refused, run

from softfloat_ref.base.errors import Error
from softfloat_ref.golden import parts
from softfloat_ref.golden.fptest import FORMATS, number_code, number_text
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.readers import WaveSignals
from softfloat_ref.golden.readers.waves import NOT_VALID
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import verify
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.testing.check import check_lines, check_results

MUL = VectorSet.make("mul", "fp32", 1)
ONE = "b32* =0 i +1.000000P-126 +1.7FFFFFP-1 -> +1.000000P-126 xu"

# -- IBM's lines ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "fmt", "out", "rounding", "line"),
    [
        ("mul", "fp32", None, "rne", ONE),
        ("mul", "fp32", None, "rne", "b32* =0 +Zero -Inf -> Q i"),
        ("mul", "fp32", None, "rna", "b32* =^ +1.000000P127 -1.000000P1 -> -Inf xo"),
        ("add", "fp32", None, "rup", "b32+ > +1.000000P0 +0.000001P-126 -> +1.000001P0 x"),
        ("add", "fp64", None, "rdn", "b64+ < +1.0000000000000P0 -1.0000000000000P0 -> -Zero"),
        ("sub", "fp16", None, "rtz", "b16- 0 +1.3FFP15 -1.000P4 -> +1.3FFP15 x"),
        ("div", "fp32", None, "rne", "b32/ =0 xz +1.000000P0 -Zero -> # z"),
        ("fma", "fp32", None, "rne", "b32*+ =0 +0.7FFFFFP-126 -1.7FFFFFP127 -Inf -> -Inf"),
        ("sqrt", "fp32", None, "rne", "b32V =0  -1.7FFFFFP127 -> Q i"),
        ("convert", "fp32", "fp64", "rne", "b32b64cff =0 i -1.7FFFFFP127 -> -1.FFFFFE0000000P127"),
        ("neg", "fp32", None, "rne", "b32~ =0 S -> S"),
        ("maximum_number", "fp32", None, "rne", "b32>C =0 Q -1.000000P0 -> -1.000000P0"),
    ],
)
def test_lines_of_ibm(op: str, fmt: str, out: str | None, rounding: str, line: str) -> None:
    """Examples of each part of the syntax: right ones agree, and with another exception or sign they do not."""
    vectors = VectorSet.make(op, fmt, 1, out=out, policy=get_policy(None, rounding=rounding))
    report = check_lines(vectors, [line], nan="any" if "S" in line else "exact")
    if "#" in line:
        assert (report.compared, sum(report.not_compared.values())) == (0, 1)
        return
    assert (report.compared, report.mismatched, report.failure) == (1, 0, "")
    assert report.form == "lines of an .fptest file"
    wrong = f"{line} z" if line.endswith(("Zero", "Inf", "S", "P127", "P0")) else f"{line}z"
    assert check_lines(vectors, [wrong]).mismatched == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("b32* =0 o +1.000000P127 +1.000000P1 -> +1.000000P-64 o", "of an exception that is trapped"),
        ("b32* =0 i S +1.000000P1 -> #", "of an exception that is trapped"),
        ("b32+ =0 +Zero +Zero -> +Zero", "of the operation add"),
        ("b32?N =0 +Zero -> 0x0", "of operations that are not operations here"),
        ("b64* =0 +Zero +Zero -> +Zero", "of b64"),
        ("b80* =0 +Zero +Zero -> +Zero", "of other formats"),
        ("b32* > +Zero +Zero -> +Zero", "with rounding rup"),
        ("d64* =0 +1E0 +1E0 -> +1E0", "of decimal floating-point formats"),
        ("d128d64cff =0 +1E0 -> +1E0", "of decimal floating-point formats"),
    ],
)
def test_lines_that_are_not_compared_are_counted(line: str, reason: str) -> None:
    report = check_lines(MUL, [ONE, line])
    assert (report.compared, report.failure) == (1, "")
    ((why, count),) = report.not_compared.items()
    assert (why.startswith(reason), count) == (True, 1)
    done = run("vectors", "verify", "-", "--op", "mul", "--fmt", "fp32", stdin=f"{ONE}\n{line}\n")
    assert f"not compared: 1 line {why}" in done.stderr
    assert not check_lines(MUL, [line]).passed
    if "trapped" not in reason:
        assert "is of" in refused("eval", "mul", "--fmt", "fp32", "-", stdin=line) or "with" in reason


def test_the_minimum_of_2008_is_another_operation() -> None:
    vectors = VectorSet.make("minimum_number", "fp32", 1)
    report = check_lines(vectors, ["b32<C =0 Q +Zero -> +Zero", "b32<C =0 S +Zero -> Q i"])
    assert report.passed
    assert (report.compared, sum(report.not_compared.values())) == (1, 1)


@pytest.mark.parametrize(
    "line",
    [
        "b32* =1 +Zero +Zero -> +Zero",
        "b32* =0 +Zero -> +Zero",
        "b32* =0 +Zero +Zero ->",
        "b32* =0 +Zero +Zero -> +Zero q",
        "b32* =0 +Zero +Zero -> +Zero x x",
        "b32* =0 +1.00000P0 +Zero -> +Zero",
        "b32* =0 +1.800000P0 +Zero -> +Zero",
        "b32* =0 +1.000000P128 +Zero -> +Zero",
        "b32* =0 +0.000001P-125 +Zero -> +Zero",
        "b32* =0 +1.000000P0 1.000000P0 -> +1.000000P0",
        "b32* =0 +1E0 +Zero -> +Zero",
    ],
)
def test_bad_lines_of_ibm_are_refused(line: str) -> None:
    report = check_lines(MUL, [ONE, line])
    assert report.failure.startswith("line 2: ")
    assert report.compared == 1


@pytest.mark.parametrize("fmt", FORMATS.values())
def test_numbers_of_ibm_there_and_back(fmt: str) -> None:
    """Every code of fp16; of wider formats those around each power of two."""
    f = get_format(fmt)
    edges = [e << f.mantissa_bits | m for e in range(0, 2 * f.bias + 2, 1 if f.width < 128 else 97) for m in (0, 1, 5)]
    codes = range(1 << 16) if f.width == 16 else [x | s for x in edges for s in (0, f.sign_bit)]
    policy = get_policy(None)
    for code in codes:
        text = number_text(code, f)
        nan = {"Q": f.canonical_nan, "S": f.inf_code | 1}.get(text)
        assert number_code(text, f, policy) == (code if nan is None else nan)


@pytest.mark.parametrize(
    ("op", "fmt", "out", "rounding"),
    [("add", "fp16", None, "rup"), ("fma", "fp64", None, "rne"), ("convert", "fp64", "fp32", "rtz")],
)
def test_written_lines_of_ibm_are_read(op: str, fmt: str, out: str | None, rounding: str, tmp_path: Path) -> None:
    vectors = VectorSet.make(op, fmt, 200, out=out, policy=get_policy(None, rounding=rounding))
    generate(vectors, tmp_path, formats=["fptest", "tv"])
    assert verify(tmp_path).passed
    assert check_results(vectors, tmp_path / f"{vectors.name}.fptest").passed
    path = tmp_path / f"{vectors.name}.fptest"
    path.write_text(path.read_text().replace("-> +", "-> -", 1))
    assert not verify(tmp_path).passed
    assert check_results(vectors, path).mismatched == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("--op add --fmt bf16", "fp16, fp32, fp64 and fp128"),
        ("--op add --fmt fp16 --round rto", "has no rounding rto; it has rne, rna, rtz, rup, rdn"),
        ("--op exp --fmt fp16", "has no operation exp"),
        ("--op min --fmt fp16", "has no operation min;"),
        ("--op quantize --fmt mxfp8", "file type fptest is not available"),
    ],
)
def test_what_ibm_has_no_lines_for(args: str, message: str, tmp_path: Path) -> None:
    command = ("vectors", "generate", *args.split(), "-n", "9", "--format", "fptest", "-o", str(tmp_path / "x"))
    assert message in refused(*command)


# -- TestFloat's mismatches -------------------------------------------------------------------------------------------

# As TestFloat 3e's writeHex and writeCase print them.
MISMATCHES = """Errors found in f32_mul, rounding near_even:
+01.000000  +7E.7FFFFF  => +00.7FFFFF ....x  expected +01.000000 ...ux
+7F.000000  +80.000000  => +80.000000 .....  expected +80.000000 .....
"""


def test_mismatches_of_testfloat() -> None:
    """The device's answers are compared, not what TestFloat expects."""
    report = check_lines(MUL, MISMATCHES.splitlines())
    assert (report.compared, report.mismatched, report.form) == (2, 1, "TestFloat's mismatches")
    (m,) = report.mismatches
    assert (m.operands, m.expected, m.got) == ((0x800000, 0x3F7FFFFF), (0x800000, 3), ((0x7FFFFF,), 1))


ZEROS = "0" * 28
OTHERS = (
    ("fma", "fp64", None, "+3FF.{0}  +3FF.{0}  -3FF.{0}\n\t=> +000.{0} .....  expected x".format(ZEROS[:13])),
    ("lt", "fp16", None, "+0F.000  +10.000  => 1 .....  expected 0 ....."),
    ("mul", "bf16", None, "+7F.00  -80.40  => -80.40 .....  expected -80.41 ....."),
    ("convert", "fp32", "i32", "+7F.400000  => 00000002 ....x  expected 00000001 ....x"),
    ("convert", "u32", "fp16", "FFFFFFFF  => +1F.000 ..o.x  expected +1F.000 ....."),
    ("add", "fp128", None, f"+3FFF.{ZEROS}  +0000.{ZEROS}\n\t=> +3FFF.{ZEROS} .....  expected"),
    ("add", "extf80", None, "+3FFF.8{0}  -0000.0{0}\n\t=> +3FFF.8{0} .....  expected x".format(ZEROS[:15])),
    ("lt", "extf80", None, "-7FFE.FFFFFFFFFFFFFFFF  +0000.0000000000000001\n\t=> 1 .....  expected 0 ....."),
)


@pytest.mark.parametrize(("op", "fmt", "out", "text"), OTHERS)
def test_mismatches_of_other_operations(op: str, fmt: str, out: str | None, text: str) -> None:
    report = check_lines(VectorSet.make(op, fmt, 1, out=out), [f"{x}\n" for x in text.split("\n")])
    assert (report.compared, report.mismatched, report.failure) == (1, 0, "")


@pytest.mark.parametrize("word", ["+1.000000", "+01.00000", "+100.000000", "+01.800000", "01.000000"])
def test_numbers_that_are_not_testfloats(word: str) -> None:
    assert check_lines(MUL, [f"{word}  +7E.7FFFFF  => +00.7FFFFF ....x"]).failure


# -- memory images ----------------------------------------------------------------------------------------------------

ADD = VectorSet.make("add", "fp16", 8, seed=1)
ROWS = [line for inputs in ADD.inputs() if (line := ADD.line(inputs)) is not None]
WORDS = [f"{r:04x}{flags:02x}" for _, _, r, flags in ROWS]
MIF = "WIDTH={w};\nDEPTH=8;\nADDRESS_RADIX={a};\nDATA_RADIX={d};\nCONTENT BEGIN\n"


def mif(width: int, address: str, data: str, word: Callable[[int], str], where: Callable[[int], str]) -> str:
    head = MIF.format(w=width, a=address, d=data)
    return head + "".join(f"{where(i)} : {word(int(x, 16))};\n" for i, x in enumerate(WORDS)) + "END;\n"


TIGHT = [r << 5 | flags for _, _, r, flags in ROWS]
IMAGES = {
    "memh": "@0\n" + "\n".join(WORDS),
    "memh, several a line": f"// a\n/* two\nlines */ @10 {' '.join(WORDS[:4])} // x\n@14\n{' '.join(WORDS[4:])}",
    "memh, fields apart": "@0\n" + "\n".join(f"{w[:4]}_{w[4:]}" for w in WORDS),
    "coe": f"; a comment\nmemory_initialization_radix = 16 ;\nmemory_initialization_vector =\n{', '.join(WORDS)};\n",
    "coe, a word a line": "MEMORY_INITIALIZATION_RADIX=16;\nMEMORY_INITIALIZATION_VECTOR=" + ",\n".join(WORDS) + ";",
    "coe, binary": "memory_initialization_radix=2;\nmemory_initialization_vector="
    + " ".join(f"{x:021b}" for x in TIGHT) + ";",
    "mif": mif(24, "HEX", "HEX", "{:06X}".format, "{:X}".format),
    "mif, binary": mif(24, "BIN", "BIN", "{:b}".format, "{:b}".format),
    "mif, unsigned": mif(24, "UNS", "UNS", str, str),
    "mif, octal, comments": "-- a\n% b ;\n c % " + mif(24, "OCT", "OCT", "{:o}".format, "{:o}".format),
    "mif, signed": mif(24, "DEC", "DEC", lambda x: str(x - (x >> 23 << 24)), str),
    "mif, one entry": MIF.format(w=24, a="HEX", d="HEX") + "0 : " + "\n".join(WORDS) + ";\nEND;",
    "mif, side by side": MIF.format(w=21, a="HEX", d="UNS")
    + "".join(f"{i}:{x};" for i, x in enumerate(TIGHT)) + "END;",
}  # fmt: skip


@pytest.mark.parametrize("name", IMAGES)
def test_images_of_results(name: str, tmp_path: Path) -> None:
    path = tmp_path / "image"
    path.write_text(IMAGES[name])
    report = check_results(ADD, path)
    assert (report.compared, report.mismatched, report.failure) == (8, 0, ""), report.kinds
    assert report.form


def test_a_range_of_addresses(tmp_path: Path) -> None:
    """All results of -0 + -0 alike."""
    vectors, path = VectorSet.make("neg", "fp16", 1), tmp_path / "x.mif"
    path.write_text("WIDTH=40;CONTENT BEGIN\n[0..3] : 3c00bc0000;\n[4..5]: bc003c0000 3c00bc0000; END;")
    report = check_lines(vectors, path.read_text().splitlines(keepends=True), count=6)
    assert report.passed
    assert report.compared == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@0\n3c0000\n@2\n3c0000\n", "address 2 follows 0"),
        ("@5 3c0000 @4 3c0000", "address 4 follows 5"),
        ("@xyz 3c0000", "'@xyz' is not an address"),
        ("memory_initialization_radix=10;\nmemory_initialization_vector=1,2;", "radix = 10; 2 and 16 can be read"),
        ("memory_initialization_radix=16;\n3c0000;", "not a line of a .coe file"),
        ("WIDTH=24;\n0:3c0000;", "'0:3c0000' is not a line of a .mif file"),
        ("CONTENT BEGIN\n0:3c0000;", "not an entry of a .mif file with WIDTH = nothing"),
        ("WIDTH=7;CONTENT BEGIN\n0:3c;END;", "a word of 7 bits is not a line of a result and flags"),
        ("WIDTH=24;CONTENT BEGIN\n0:1000000;END;", "does not fit 24 bits"),
        ("WIDTH=24;CONTENT BEGIN\n[0..ffffffffff]:0;END;", "1099511627776 addresses"),
        ("WIDTH=24;DATA_RADIX=ABC;CONTENT BEGIN\n0:0;END;", "radix abc"),
        (":03000000003C0001\n:00000001FF\n", "checksum is wrong"),
        (":03000000003C00C1\n:03000300003C00BE\n:00000001FF\n", "addresses of bytes"),
        (":03000000003C00C1\n", "no end record"),
        (":0300000900003CB8\n", "records of type 9"),
        ("@0\n3c0020\n", "a field has more bits than it should"),
    ],
)
def test_images_that_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(text)
    try:
        failure = check_results(ADD, tmp_path / "x").failure
    except Error as e:
        failure = str(e)
    assert message in failure


@pytest.mark.parametrize("name", ["coe", "mif", "ihex"])
def test_written_images(name: str, tmp_path: Path) -> None:
    """Of units with lanes too; a changed word is found where it is."""
    for vectors in (ADD, VectorSet.make("quantize", "mxfp4", 3), VectorSet.make("dot", "fp16", 3, acc="exact", k=3)):
        folder = tmp_path / vectors.name
        generate(vectors, folder, formats=[name])
        report = verify(folder)
        assert report.passed, report.problems
        path = next(p for p in folder.iterdir() if p.suffix in (".coe", ".mif", ".hex"))
        assert check_results(vectors, path).passed
        text = path.read_text()
        at = text.rindex("00", 0, -20)
        path.write_text(f"{text[:at]}01{text[at + 2 :]}")
        assert f"{path.name}:" in verify(folder).problems[1]


@pytest.mark.parametrize("name", ["mif", "ihex"])
def test_addresses_go_on_from_part_to_part(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where cases have no line, and where some lines are recomputed."""
    monkeypatch.setattr(parts, "CASES_A_PART", 4)
    vectors = VectorSet.make("convert", "fp32", 40, out="fp4_e2m1", policy=get_policy(None, nan_missing="error"))
    manifest = generate(vectors, tmp_path, formats=[name])
    assert manifest["left_out"]["count"] > 0
    assert verify(tmp_path).passed
    assert verify(tmp_path, sample=9).passed
    path = next(p for p in tmp_path.iterdir() if p.suffix in (".mif", ".hex"))
    assert check_lines(vectors, path.read_text().splitlines(keepends=True), count=manifest["count"]).passed


# -- waveforms --------------------------------------------------------------------------------------------------------


def vcd(rows: list[tuple[Any, ...]]) -> str:
    """A waveform: each row's result and flags hold before a rising edge, and others at an edge without valid."""
    lines = ["$date today $end", "$timescale 1ns $end", "$scope module tb $end", "$var wire 1 ! clk $end"]
    lines += [
        "$scope module dut $end",
        "$var wire 16 # q [15:0] $end",
        "$var reg 8 $ st [7:0] $end",
        "$var real 64 r x $end",
    ]
    lines += ["$upscope $end", '$var wire 1 " v $end', "$upscope $end", "$enddefinitions $end"]
    lines += ["#0", "$dumpvars", "0!", "bx #", "bx $", '0"', "r0 r", "$end"]
    for i, row in enumerate(rows):
        q, flags = (f"{x:b}" if isinstance(x, int) else x for x in row[2:])
        lines += [f"#{20 * i + 4}", f"b{q} #", f"b{flags} $", '1"', f"#{20 * i + 5}", "1!"]
        lines += ["b101 #", '0"', f"#{20 * i + 8}", "0!", f"#{20 * i + 15}", "1!", f"#{20 * i + 18}", "0!"]
    return "\n".join(lines) + "\n"


SIGNALS = ("--signal", "result=dut.q", "--signal", "flags=dut.st[4:0]", "--clock", "tb.clk", "--valid", "v")


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    generate(ADD, folder)
    return folder


def test_results_in_a_waveform(golden: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.vcd"
    path.write_text(vcd(ROWS))
    args = ("check", "--golden", str(golden), "--results", str(path))
    done = run(*args, *SIGNALS)
    assert (done.returncode, done.stdout) == (0, "")
    assert "read as signals of a waveform" in done.stderr
    assert "a waveform (VCD): name its signals" in refused(*args)
    wrong = [*ROWS[:3], (*ROWS[3][:2], "x01", 0), *ROWS[4:]]
    path.write_text(vcd(wrong))
    assert "1 X or Z bits" in run(*args, *SIGNALS).stderr
    path.write_text(vcd(ROWS[:-1]))
    assert "1 answers too early" in run(*args, *SIGNALS).stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("result=q flags=st[4:0] clock=clk", "it has more lines than the set has cases"),
        ("result=q flags=st[4:0]", "--signal needs --clock"),
        ("clock=clk", "--clock and --valid need --signal"),
        ("flags=st[4:0] clock=clk", "no signal for result"),
        ("result=q a=q clock=clk", "no signal for b"),
        ("result=nn clock=clk", "the waveform has no signal 'nn'"),
        ("result=q flags=st clock=clk", "has 8 bits, but flags has 5"),
        ("result=q flags=st[9:5] clock=clk", "the signal has 8 bits"),
        ("sum=q clock=clk", "the fields are a, b, result, flags"),
        ("result=q[ clock=clk", "is not the name of a signal"),
    ],
)
def test_signals_that_do_not_fit(options: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "run.vcd").write_text(vcd(ROWS))
    words = [word.partition("=") for word in options.split()]
    names = {k: v for k, _, v in words if k in ("clock", "valid")}
    try:
        signals = WaveSignals.of_options(
            tuple(f"{k}={v}" for k, _, v in words if k not in names), names.get("clock"), names.get("valid")
        )
        failure = check_results(ADD, tmp_path / "run.vcd", signals=signals).failure
    except Error as e:
        failure = str(e)
    assert message in failure


def test_which_edge_and_an_unknown_valid(tmp_path: Path) -> None:
    path, signals = tmp_path / "run.vcd", {"result": "q", "flags": "st[4:0]"}
    path.write_text(vcd(ROWS).replace('0"', 'x"'))
    report = check_results(ADD, path, signals=WaveSignals(signals, "clk", "v"))
    assert report.passed
    assert report.not_compared == {NOT_VALID: 8}
    falling = vcd(ROWS).replace("0!", "T!").replace("1!", "0!").replace("T!", "1!")
    path.write_text(falling)
    assert check_results(ADD, path, signals=WaveSignals(signals, "!clk", "v")).passed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$var wire 1 ! clk $end\n", "no signal"),
        (
            "$scope module a $end $var wire 16 ! q $end $scope module b $end $var wire 16 # q $end",
            "write more of its scope",
        ),
        ("$scope module a", "its header does not end"),
        ("$scope module a $end " * 1002, "deep"),
    ],
)
def test_broken_waveforms(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "run.vcd").write_text(text + " $enddefinitions $end #0 1!\n" * text.endswith(("$end", "\n", " ")))
    with pytest.raises(Error, match=message):
        check_results(ADD, tmp_path / "run.vcd", signals=WaveSignals({"result": "q"}, "clk"))


def test_an_fst_goes_through_fst2vcd(golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here a script that prints a VCD; the name and options are GTKWave's."""
    (tmp_path / "run.fst").write_bytes(bytes(9))
    monkeypatch.setenv("PATH", str(tmp_path))
    args = ("check", "--golden", str(golden), "--results", str(tmp_path / "run.fst"), *SIGNALS)
    assert "an FST is read by fst2vcd, which is not on the PATH" in refused(*args)
    (tmp_path / "run.vcd").write_text(vcd(ROWS))
    program = tmp_path / "fst2vcd"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = -f ] && [ "$2" = {tmp_path}/run.fst ] && exec /bin/cat {tmp_path}/run.vcd\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert ok(*args) == ""
    program.write_text("#!/bin/sh\nexit 3\n")
    assert "fst2vcd cannot read it: it ended with exit code 3" in refused(*args)
