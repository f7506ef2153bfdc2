"""Readers of lines: results in every form, waveforms, operands of `eval`, requests of `serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fuzz import structures
from fuzz.reader import LINE_WORDS, Reader, in_file
from fuzz.vector_folders import SET, known
from softfloat_ref.app import evaluate, serve
from softfloat_ref.app.serve import Words, answerer
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.readers import WaveSignals
from softfloat_ref.testing.answers import executed_cases
from softfloat_ref.testing.check import check_lines, check_results
from softfloat_ref.units import OperationUnit

_SET: Final = known(SET)
FORM_WORDS: Final = (
    "0b",
    "16'h",
    "'b",
    'x"',
    "@",
    "/*",
    "*/",
    ",",
    ";",
    ":",
    "[0..9]",
    "END;",
    "->",
    "=>",
    "+0F.000",
    "S",
)


def _results(path: str, _: Path) -> None:
    results = check_results(_SET, path)
    list(executed_cases(_SET, path))
    if results.failure or results.mismatched:
        raise Error(results.failure or "mismatches")


def _waves(path: str, _: Path) -> None:
    signals = WaveSignals({"result": "q", "flags": "st[4:0]"}, "clk", "v")
    results = check_results(_SET, path, signals=signals)
    if results.failure or results.mismatched:
        raise Error(results.failure or "mismatches")


def _forms(lines: bytes) -> list[bytes]:
    """The same lines in other forms: tables, images of memories, those of other programs, other digits."""
    rows = [[int(word, 16) for word in line.split()] for line in lines.decode("ascii").splitlines()]
    words = [f"{a:04x}{b:04x}{r:04x}{flags:02x}" for a, b, r, flags in rows]
    records = [bytes([7, 0, i, 0]) + bytes.fromhex(word) for i, word in enumerate(words)]
    texts = [
        "\n".join(f"{a:016b} 0b{b:016b} 16'h{r:x} {flags:05b}" for a, b, r, flags in rows),
        "a,b,result,flags,tag\n" + "\n".join(f'{a:x},{b:x},{r:x},{flags:x},"x, y"' for a, b, r, flags in rows),
        "\n".join(f'{{"a":"{a:x}","b":{b},"result":"{r:x}","flags":"{f:x}"}}' for a, b, r, f in rows),
        "// a\n/* b */ @10 " + "\n".join(words),
        f"; c\nmemory_initialization_radix=16;\nmemory_initialization_vector=\n{', '.join(words)};",
        "WIDTH=56;\nDEPTH=12;\nADDRESS_RADIX=UNS;\nDATA_RADIX=HEX;\nCONTENT BEGIN\n"
        f"[0..0] : {words[0]};\n1 : " + " ".join(words[1:]) + "; -- d\nEND;",
        "\n".join(f":{x.hex()}{-sum(x) & 255:02x}" for x in records) + "\n:00000001FF\n",
        "Copyright of IBM Corp. 2005\nb16* =0 i +1.000P0 -1.200P3 -> -1.200P3 \n"
        "b16* =0 Q S -> # i\nb32+ =0 +Zero +Inf -> +Inf",
        "Errors found in f16_mul:\n+0F.000  -11.200\n\t=> -11.200 ....x  expected -11.200 .....\n",
    ]  # fmt: skip
    return [text.encode("ascii") for text in texts]


def _wave(lines: bytes) -> bytes:
    """A waveform with these results."""
    changes = ["$scope module tb $end $var wire 1 ! clk $end $var wire 1 v v $end $var wire 16 # q [15:0] $end"]
    changes += ["$var reg 8 $ st $end $upscope $end $enddefinitions $end #0 $dumpvars 0! 1v bx # bx $ $end"]
    for i, line in enumerate(lines.split(b"\n")[:-1]):
        result, flags = (int(word, 16) for word in line.split()[2:])
        changes.append(f"#{4 * i + 1}\nb{result:b} #\nb{flags:b} $\n#{4 * i + 2}\n1!\n#{4 * i + 4}\n0!")
    return "\n".join(changes).encode("ascii")


def _lines(path: str, _: Path) -> None:
    with open(path, encoding="utf-8", errors="replace") as stream:
        check_lines(_SET, stream)


def _operands(data: bytes, _: Path) -> None:
    unit = OperationUnit.make("fma", "fp16")
    words = Words(unit, None)
    reader, answer = answerer(unit, words, echo=True)
    if data.count(b"\n") >= 64:
        evaluate._in_bulk(unit, words, reader, data)
    for line in data.split(b"\n"):
        if line := line.strip():
            answer(line)


def _requests(data: bytes, _: Path) -> None:
    server = serve.Server()
    for line in data.split(b"\n"):
        if line := line.strip():
            answer = server.answer(line)
            assert answer.count(b"\n") == 1, answer
            assert answer.endswith(b"\n")


def readers(folder: Path) -> list[Reader]:
    """Those of lines, with examples of the folder that `vector_folders.prepare` filled."""
    lines = b"".join((folder / "scalar").joinpath(p.name).read_bytes() for p in (folder / "scalar").glob("*.tv"))
    answers = b"\n".join(b" ".join(line.split()[-2:]) for line in lines.splitlines()) + b"\n"
    fma = b"".join(b"%04x 3c00 %04X\n" % (i * 577 & 0xFFFF, i * 31 & 0xFFFF) for i in range(70))
    return [
        Reader(
            "results",
            [answers, lines, b"// log\n" + lines, *_forms(lines)[:-2]],
            in_file("x.log", _results),
            (*LINE_WORDS, *FORM_WORDS),
            structure=structures.text,
        ),
        Reader(
            "lines",
            [lines, *_forms(lines)],
            in_file("x.tv", _lines),
            (*LINE_WORDS, *FORM_WORDS),
            structure=structures.text,
        ),
        Reader(
            "waves",
            [_wave(lines)],
            in_file("x.vcd", _waves),
            (
                "$scope module x $end",
                "$var wire 16 # q $end",
                "$end",
                "$comment",
                "bx #",
                "b1 $",
                "#9",
                "1!",
                "xv",
                "r1 r",
            ),
            structure=structures.text,
        ),
        Reader("operand_lines", [fma, b"3c00 3c00 3c00\n0x1 2 3\n"], _operands, LINE_WORDS, structure=structures.text),
        Reader(
            "requests",
            [b"open fma rup --fmt fp16\n0 3c00 3c00 3c00\n", b"open add --fmt fp32 --policy riscv\n0 1 2\n"],
            _requests,
            ("open", "--fmt", "--round", "sr", "--sr-bits", "--policy", "--out", "fp16", "add", "-h", "--"),
            others=True,
            structure=structures.text,
        ),
    ]
