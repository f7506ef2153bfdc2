"""Vectors and results in the forms that people have: each with its right value, and one wrong bit in each is found.

FORMS are the spellings of digits by base (2, 8, 10, 16), prefix, letter case, padding, separators, and as a memory has
them; FILES are whole files. Every form goes to every command that reads lines.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from command import ok, refused, run

from softfloat_ref.app.serve import Server
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.readers import ANSWERS, LineReader
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.writers import WRITERS
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.testing.answers import AnswerReader, executed_cases
from softfloat_ref.testing.check import check_command, check_lines, check_results
from softfloat_ref.testing.judge import UNKNOWN_BITS
from softfloat_ref.units import Field, Line

VECTORS = VectorSet.make("mul", "fp16", 60, seed=1)
LINES: list[Line] = [line for inputs in VECTORS.inputs() if (line := VECTORS.line(inputs)) is not None]
FIELDS = VECTORS.unit.fields
WRONG = [line if i != 30 else (*line[:2], line[2] ^ 1, line[3]) for i, line in enumerate(LINES)]


def float_text(code: int, f: Field) -> str:
    """As TestFloat prints mismatches."""
    if f.role == "flags":
        return "".join(letter if code >> 4 - i & 1 else "." for i, letter in enumerate("vioux"))
    return f"{'-' if code >> 15 else '+'}{code >> 10 & 31:02X}.{code & 1023:03X}"


def grouped(code: int, f: Field) -> str:
    text = f"{code:0{f.digits}x}"
    return f"{text[:1]}_{text[1:]}"


SPELLINGS: dict[str, Callable[[int, Field], str]] = {
    "%h": lambda code, f: f"{code:0{f.digits}x}",
    "%H": lambda code, f: f"{code:0{f.digits}X}",
    "0x": lambda code, f: f"0x{code:0{f.digits}x}",
    "%#x": lambda code, f: f"{code:#x}" if code else "0",
    "%b": lambda code, f: f"{code:0{f.width}b}",
    "0b padded": lambda code, f: f"0b{code:0{f.width}b}",
    "'h": lambda code, f: f"{f.width}'h{code:x}",
    "'H_": lambda code, f: f"{f.width}'H{code >> 4:x}_{code & 15:x}",
    "'b": lambda code, f: f"{f.width}'b{code:b}",
    "'sb_": lambda code, f: f"{f.width}'sb{code >> 4:b}_{code & 15:04b}",
    "'o": lambda code, f: f"{f.width}'o{code:o}",
    "'d": lambda code, f: f"{f.width}'d{code}",
    "unsized 'h": lambda code, f: f"'h{code:x}",
    'VHDL x""': lambda code, f: f'x"{code:0{f.digits}X}"',
    'VHDL 16x""': lambda code, f: f'{f.width}x"{code:X}"',
    'VHDL b""': lambda code, f: f'B"{code:0{f.width}b}"',
    "grouped": grouped,
    "TestFloat": float_text,
}
FORMS = {(name, " "): spell for name, spell in SPELLINGS.items()}
FORMS |= {(name, between): SPELLINGS[name] for name in ("%h", "0x", "'h", "%b") for between in (",", " , ", "\t")}
FORMS |= {("%h", "_"): SPELLINGS["%h"], ("%h", ""): SPELLINGS["%h"], ("%b", "_"): SPELLINGS["%b"]}  # words of a memory


def written(form: tuple[str, str], lines: Iterable[Line], fields: slice = slice(None)) -> list[str]:
    spell, between = FORMS[form], form[1]
    rows = (list(zip(line, FIELDS, strict=True))[fields] for line in lines)
    return [between.join(spell(code, f) for code, f in row) for row in rows]


def answered(reader: AnswerReader, texts: Sequence[str]) -> list[tuple[int, ...]]:
    answers = [reader.answer(text, line[:2]) for text, line in zip(texts, LINES, strict=True)]
    return [(*a.codes, a.flags) for a in answers if a.flags is not None]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_each_form_in_each_command(form: tuple[str, str], tmp_path: Path) -> None:
    whole, answers = written(form, LINES), written(form, LINES, slice(2, None))
    assert check_lines(VECTORS, whole, count=len(LINES)).passed
    (tmp_path / "log").write_text("\n".join(answers) + "\n")
    assert check_results(VECTORS, tmp_path / "log").passed
    assert len(list(executed_cases(VECTORS, tmp_path / "log"))) == len(LINES)
    if form != ("%h", ""):  # alone, a word of four fields may be a result of many digits
        (tmp_path / "log").write_text("\n".join(whole[::-1]))
        assert check_results(VECTORS, tmp_path / "log").passed
        assert list(executed_cases(VECTORS, tmp_path / "log")) == [line[:2] for line in LINES[::-1]]
    assert answered(AnswerReader(VECTORS.unit), answers) == [line[2:] for line in LINES]
    server = Server()
    server.answer(b"open mul --fmt fp16")
    for text, line in zip(written(form, LINES, slice(2)), LINES, strict=True):
        assert server.answer(f"0 {text}".encode()) == b"%04x %02x\n" % line[2:]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_one_wrong_bit_is_one_mismatch(form: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "log").write_text("\n".join(written(form, WRONG, slice(2, None))))
    wrong = WRONG[30]
    for report in (check_lines(VECTORS, written(form, WRONG)), check_results(VECTORS, tmp_path / "log")):
        assert [(m.number, *m.got) for m in report.mismatches] == [(31, wrong[2:3], wrong[3])]


@pytest.mark.parametrize("form", [("0x", " "), ("%b", " "), ("'h", ","), ("%h", "_"), ("TestFloat", " ")], ids=str)
def test_the_commands(form: tuple[str, str]) -> None:
    whole = "\n".join(written(form, LINES)) + "\n"
    done = run("vectors", "verify", "-", "--op", "mul", "--fmt", "fp16", "-n", "60", stdin=whole)
    assert (done.returncode, done.stdout) == (0, "")
    operands = "\n".join(written(form, LINES, slice(2)))
    assert ok("eval", "mul", "--fmt", "fp16", "-", stdin=operands).splitlines() == written(("%H", " "), LINES)


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (written(("%h", " "), LINES), ""),
        (written(("%b", " "), LINES), "binary digits"),
        (written(("0x", ","), LINES), "hexadecimal (0x) digits, commas between fields"),
        (written(("%h", "_"), LINES), "hexadecimal digits, underscores between fields"),
    ],
)
def test_it_says_what_it_read(texts: list[str], form: str) -> None:
    assert check_lines(VECTORS, texts).form == form


# -- digits that may be of two bases ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["1111000000 00000"], "'1111000000' may be binary or hexadecimal, of 16 bits; give --base bin or --base hex"),
        (["11 00", "1111000000000000 00"], "result: '11' was read as hexadecimal, but '1111000000000000' is binary"),
        (["1111000000000000 00", "3c00 00"], "'1111000000000000' was read as binary, but '3c00' is hexadecimal"),
        (["3c00 00", "1111000000000000 00"], "'1111000000000000' may be binary or hexadecimal"),
        (["0000000000000011 00", "0000000000003c00 00"], "'0000000000000011' was read as binary"),
        (["0b11"], "'0b11' may be binary or hexadecimal"),
        (["15360 00"], "'15360' may be decimal or hexadecimal"),
        (["01011 00"], "'01011' may be binary or hexadecimal, of 16 bits; give --base bin or --base hex"),
        (["3c00 00000101"], "flags: '00000101' may be binary or hexadecimal, of 5 bits"),
        (["0x3c00 00", "1111000000000000 00"], "was read as hexadecimal .0x."),
        (["0b0011 00", "0b11 00", "11 00"], "'0b0011' was read as binary .0b., but '11' is hexadecimal"),
    ],
)
def test_digits_of_two_bases_are_refused(texts: list[str], message: str, tmp_path: Path) -> None:
    """Each time at the last of the lines."""
    (tmp_path / "log").write_text("\n".join(texts))
    with pytest.raises(Error, match=f"log:{len(texts)}: .*{message}"):
        check_results(VECTORS, tmp_path / "log")


@pytest.mark.parametrize(
    ("texts", "codes"),
    [
        (["0000000000003c00 00", "0000000000001100 00"], [0x3C00, 0x1100]),
        (["2000 00", "00001100 00"], [0x2000, 0x1100]),
        (["1111000000000000 00", "11 00"], [0xF000, 3]),
        (["0b1111000000000000 0", "0b11 1"], [0xF000, 3]),
        (["0b11 0b101"], [3]),
        (["0b11 3c"], [0xB11]),
        (["0b11 0b"], [0xB11]),
        (["3c00 00", "0b11 0b"], [0x3C00, 0xB11]),
        (["13c00 00"], [0x13C00]),
        (["3c00 00", "12345 00"], [0x3C00, 0x12345]),
    ],
)
def test_digits_whose_base_other_words_tell(texts: list[str], codes: list[int]) -> None:
    """Other words of the line, or of the column before it; what is too wide for any base is hexadecimal."""
    reader = LineReader(VECTORS.unit, ANSWERS)
    rows = [reader.row(text) for text in texts]
    assert [row.results for row in rows if row is not None] == [(code,) for code in codes]


def test_hexadecimal_digits_of_wider_words() -> None:
    """%h of 64 bits: a column that begins with ones and zeros needs the option."""
    rows = [" ".join(f"{code:016x}" for code in line) for line in LINES]
    assert check_lines(VECTORS, rows, base="hex").passed


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ("neg --fmt fp16 16'h3c00", "bc00 00"),
        ("neg --fmt fp16 0011110000000000", "bc00 00"),
        ("mul --fmt fp16 0b11 3c00", "0b11 00"),
        ("neg --fmt fp16 3c_00", "bc00 00"),
        ("neg --fmt fp16 +0F.000", "bc00 00"),
        ("neg --fmt fp16 0b11", "8b11 00"),
        ("neg --fmt fp16 15360", "write 16'd15360 or 0x15360"),
        ("neg --fmt fp16 0b111", "write 16'b111 or 0x0b111"),
        ("neg --fmt fp16 3cx0", "'3cx0' is not a hexadecimal code"),
    ],
)
def test_codes_of_the_command_line(args: str, shown: str) -> None:
    done = run("eval", *args.split())
    assert shown in (done.stderr if done.returncode else done.stdout)


def test_a_device_that_answers_in_binary_and_has_unknown_bits(tmp_path: Path) -> None:
    answers = [f"{r:016b} {flags:05b}" for *_, r, flags in LINES]
    answers[7] = "0011xx0000000000 00000"
    (tmp_path / "answers").write_text("\n".join(answers))
    (tmp_path / "device.py").write_text("import sys\nsys.stdin.read()\nprint(open(sys.argv[1]).read())\n")
    report = check_command(VECTORS, f"{sys.executable} {tmp_path / 'device.py'} {tmp_path / 'answers'}")
    assert (report.compared, dict(report.kinds), report.failure) == (60, {UNKNOWN_BITS: 1}, "")
    assert report.form == "binary digits"


BASES = {"hex": "x", "bin": "b", "oct": "o", "dec": "d"}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("command", ["lines", "results", "answers"])
def test_the_base_as_an_option(base: str, command: str, tmp_path: Path) -> None:
    """Digits without any padding, in each base."""
    rows = [" ".join(f"{code:{BASES[base]}}" for code in line) for line in LINES]
    answers = [row.split(" ", 2)[2] for row in rows]
    if command == "lines":
        assert check_lines(VECTORS, rows, base=base).passed
    elif command == "results":
        (tmp_path / "log").write_text("\n".join(answers))
        assert check_results(VECTORS, tmp_path / "log", base).passed
    else:
        assert answered(AnswerReader(VECTORS.unit, base), answers) == [line[2:] for line in LINES]


def test_the_option_of_the_commands(tmp_path: Path) -> None:
    args = ("vectors", "verify", "-", "--op", "mul", "--fmt", "fp16")
    row = " ".join(str(code) for code in LINES[40])
    assert "--base dec" in refused(*args, stdin=row) or run(*args, stdin=row).returncode == 1
    assert run(*args, "--base", "dec", stdin=row).returncode == 0
    operands = row.rsplit(" ", 2)[0]
    shown = ok("eval", "mul", "--fmt", "fp16", "--base", "dec", "-", stdin=operands)
    assert shown.split() == [f"{x:0{f.digits}X}" for x, f in zip(LINES[40], FIELDS, strict=True)]
    assert "lines on stdin" in refused("eval", "mul", "--fmt", "fp16", "--base", "bin", "0", "0")
    assert "only apply to -" in refused("vectors", "verify", str(tmp_path), "--base", "bin")


@pytest.mark.parametrize(
    ("word", "unknown"),
    [
        ("001111xx00000000", True),
        ("16'bxxxx", True),
        ("16'h3cx0", True),
        ('x"3CU0"', True),
        ("zzzz", True),
        ("0bxxxxxxxxxxxxxxxx", True),
        ("17'h1x", True),
        ("8'h3c00", False),
        ("001111xx0000000", False),
        ("16'b12", False),
        ("16'q0", False),
        ('y"3C"', False),
    ],
)
def test_unknown_digits_and_other_words(word: str, unknown: bool) -> None:
    report = check_lines(VECTORS, [f"3c00 3c00 {word} 00"])
    assert dict(report.kinds) == ({UNKNOWN_BITS: 1} if unknown else {})
    assert bool(report.failure) is not unknown


# -- whole files ------------------------------------------------------------------------------------------------------

NAMES = ("tv", "memh", "csv", "jsonl", "coe", "mif", "ihex", "fptest")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forms")
    generate(VECTORS, folder, formats=NAMES)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_our_own_files_are_results(name: str, folder: Path) -> None:
    path = folder / WRITERS[name].file_name(VECTORS)
    report = check_results(VECTORS, path)
    assert (report.compared, report.mismatched, report.failure) == (len(LINES), 0, "")
    assert check_lines(VECTORS, path.read_text().splitlines(keepends=True), count=len(LINES)).passed
    if name != "fptest":  # which does not have the bits of NaNs
        assert list(executed_cases(VECTORS, path)) == [line[:2] for line in LINES]


OTHERS = {
    "one operand": VectorSet.make("sqrt", "fp16", 40),
    "lanes": VectorSet.make("quantize", "mxfp4", 3),
    "no flags, scalar": VectorSet.make("quantize", "qint8", 40),
    "a bit": VectorSet.make("lt", "fp8_e4m3", 40),
    "random bits": VectorSet.make(
        "convert", "fp32", 20, out="bf16", policy=get_policy(None, rounding="sr", sr_bits=3), source="philox:seed=1"
    ),
    "two roundings": VectorSet.make("add", "fp16", 20, roundings="rne,rup"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_units(kind: str, tmp_path: Path) -> None:
    """Files of each type; digits in each base, with and without the operands."""
    vectors = OTHERS[kind]
    generate(vectors, tmp_path, formats=[name for name in NAMES if name != "fptest"])
    lines = list(vectors.lines())
    for path in tmp_path.iterdir():
        if path.suffix not in (".json", ".svh"):
            report = check_results(vectors, path)
            assert (report.compared, report.mismatched, report.failure) == (len(lines), 0, ""), path
    fields = [f for f in vectors.unit.fields for _ in range(f.lanes)]
    for name in ("%b", "'h", "%h"):
        rows = [[SPELLINGS[name](code, f) for code, f in zip(line, fields, strict=True)] for line in lines]
        assert check_lines(vectors, [" ".join(row) for row in rows], count=len(lines)).passed, name
        (tmp_path / "log").write_text("\n".join(" ".join(row[vectors.unit.input_width :]) for row in rows))
        assert check_results(vectors, tmp_path / "log").passed, name
