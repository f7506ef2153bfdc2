"""`eval --serve`: one line for one line, whatever the line; the same answers as the oracle's."""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from softfloat_ref.golden.cases import cases
from softfloat_ref.oracle.operations import OPERATIONS, evaluate, evaluator, signature
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.oracle.sources import Philox

TOP = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "softfloat_ref", "eval", "--serve"]


def served(text: str | bytes) -> list[str]:
    """The answers to all lines at once."""
    data = text.encode() if isinstance(text, str) else text
    done = subprocess.run(COMMAND, input=data, capture_output=True, cwd=TOP, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode("ascii").splitlines()


class Client:
    """A device's side of the pipe: asks, and waits for the answer."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=TOP, bufsize=0)

    def ask(self, line: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line.encode() + b"\n")
        return self.process.stdout.readline().decode().rstrip("\n")

    def end(self) -> int:
        self.process.communicate()
        return self.process.returncode


@pytest.fixture
def client() -> Iterator[Client]:
    one = Client()
    yield one
    assert one.end() == 0


@pytest.mark.full
@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_where_a_compiled_function_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFTFLOAT_REF_CACHE", str(tmp_path))
    client = Client()
    client.ask("open add rup --fmt fp8_e4m3")
    client.ask("open exp --fmt fp8_e4m3")
    client.ask("open convert --fmt fp16 --out fp8_e4m3 sr --sr-bits 4 --seed 1")
    word, _, path = client.ask("library 0").partition(" ")
    assert word == "library"
    result, flags = (ctypes.c_uint64() for _ in range(2))
    a, b = (ctypes.c_uint64(x) for x in (0x2A, 0x3D))
    ctypes.CDLL(path).unit(a, b, ctypes.byref(result), ctypes.byref(flags))
    assert f"{result.value:02x} {flags.value:02x}" == client.ask("0 2a 3d") == "40 01"
    assert client.ask("library 1") == "process the C library does not have it"
    assert client.ask("library 2") == "process the random bits come from a source"
    assert client.ask("library 3").startswith("error 'library 3' begins neither")
    assert client.end() == 0


def test_a_conversation(client: Client) -> None:
    assert client.ask("open fma --fmt fp16") == "context 0 a=16 b=16 c=16 result=16"
    assert client.ask("0 3c00 4000 3c00") == "4200 00"
    assert (
        client.ask("open fma rup --fmt a=fp8_e4m3,b=fp8_e5m2,c=fp32 --out fp32") == "context 1 a=8 b=8 c=32 result=32"
    )
    assert client.ask("1 38 3c 3f800000") == "40000000 00"
    assert client.ask("\n0 7C00 0x0000\t7e00\r") == "7e00 10"
    assert client.ask("open convert --fmt fp32 --out fp8_e4m3 sr --sr-bits 4") == "context 2 a=32 random=4 result=8"
    assert client.ask("2 3f820000 f") == "39 01"
    assert client.ask("2 3f820000 0") == "38 01"
    assert client.ask("open lt --fmt fp128") == "context 3 a=128 b=128 result=1"
    assert client.ask(f"3 {'0' * 32} 1") == "1 00"
    assert client.ask("open add x87 --fmt extf80") == "context 4 a=80 b=80 result=80"
    assert client.ask("4 3fff8000000000000000 3fff4000000000000000") == "ffffc000000000000000 10"


@pytest.mark.full(keep=3)
@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("rtz", {"rounding": "rtz"}),
        ("arm", {"policy": "arm"}),
        ("riscv rup", {"policy": "riscv", "rounding": "rup"}),
        ("--policy arm --round rdn --flush-outputs on", {"policy": "arm", "rounding": "rdn", "flush_outputs": True}),
        ("--nan canonical --tininess before", {"tininess": "before"}),
    ],
)
def test_policies(words: str, fields: dict[str, object]) -> None:
    sig = signature("convert", "fp32", "fp16")
    policy = get_policy(fields.pop("policy", None), **fields)  # type: ignore[arg-type]
    listed = list(cases(sig.formats, 1, 500, sig.out))
    text = f"open convert {words} --fmt fp32 --out fp16\n" + "".join(f"0 {a:x}\n" for (a,) in listed)
    expected = ["{:04x} {:02x}".format(*evaluator(sig, policy)(case, 0)) for case in listed]
    assert served(text)[1:] == expected


def test_every_operation() -> None:
    lines, expected = [], []
    for number, (name, operation) in enumerate(OPERATIONS.items()):
        sig = signature(name, "fp16")
        lines.append(f"open {name} --fmt fp16")
        expected.append(None)
        for case in cases(sig.formats, 3, 20):
            lines.append(" ".join([str(number), *(f"{x:x}" for x in case)]))
            bits, flags = evaluate(name, case, "fp16")
            expected.append(f"{sig.out.hex(bits)} {flags:02x}")
        assert operation.arity == len(sig.formats)
    for line, want, got in zip(lines, expected, served("\n".join(lines)), strict=True):
        assert want in (None, got), line


def test_a_source_is_stepped_by_its_own_context() -> None:
    text = "open convert sr --sr-bits 8 --seed 5 --fmt fp32 --out fp8_e4m3\n" * 2
    answers = served(text + "0 3f820000\n" * 6 + "1 3f820000\n" * 3)
    words = Philox(5).bits(8, 0, 6)
    policy = get_policy(rounding="sr", sr_bits=8)
    expected = [evaluate("convert", (0x3F820000,), "fp32", "fp8_e4m3", policy, w).bits for w in words]
    assert [int(x.split()[0], 16) for x in answers[2:]] == [*expected, *expected[:3]]


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("hello", "begins neither with open nor with a context's number (contexts 0 to 0 are open)"),
        ("1 3c00 3c00", "begins neither with open"),
        ("-1 3c00 3c00", "begins neither with open"),
        ("0", "0 fields, but 2 operands are needed"),
        ("0 3c00", "1 field, but 2 operands are needed"),
        ("0 3c00 3c00 3c00", "3 fields, but 2 operands are needed"),
        ("0 3c00 13c00", "13c00 does not fit 16 bits"),
        ("0 3c00 -1", "'-1' is not a hexadecimal code"),
        ("0 3c00 1__0", "'1__0' is not a hexadecimal code"),
        ("0 3c00 " + "f" * 81, "is not a hexadecimal code"),
        ("0 3c00 \udcff", "is not a hexadecimal code"),
        ("open", "Missing argument 'OP'"),
        ("open add", "add needs --fmt"),
        ("open plus --fmt fp16", "unknown operation 'plus'"),
        ("open add --fmt fp61", "unknown format 'fp61'"),
        ("open add --fmt mxfp8", "is a block format"),
        ("open add --fmt fp16 --out", "requires an argument"),
        ("open add --fmt fp16 --round up", "unknown rounding 'up'"),
        ("open add --fmt fp16 --policy ./none.toml", "No such file"),
        ("open add up --fmt fp16", "unexpected extra argument"),
        ("open add --fmt fp16 --help", "No such option"),
        ("open add --fmt fp16 --sr-bits x", "is not a valid integer"),
        ("open add sr --fmt fp16", "needs the number of random bits"),
        ("open add sr --sr-bits 4 --random-bits 3 --fmt fp16", "each line's last operand"),
        ("open add sr --sr-bits 4 --random-source dice --fmt fp16", "dice"),
        ("open add --nan 3c00 --fmt fp16", "is not a NaN of fp16"),
        ('open add "--fmt fp16', "no closing quotation"),
        ("open add\0 --fmt fp16", "unknown operation"),
        ("open eq --fmt fp16 --out fp32", "the result of eq is u1"),
    ],
)
def test_errors_are_one_line_and_end_nothing(line: str, message: str) -> None:
    data = f"open add --fmt fp16\n{line}\n0 3c00 3c00\n".encode(errors="surrogateescape")
    opened, error, answer = served(data)
    assert opened.startswith("context 0 ")
    assert error.startswith("error ")
    assert message in error
    assert answer == "4000 00"


def test_a_case_without_a_result_is_an_error() -> None:
    answers = served("open convert --nan-missing error --fmt fp16 --out fp4_e2m1\n0 3c00\n0 7e00\n0 3c00\n")
    assert [a.split()[0] for a in answers] == ["context", "2", "error", "2"]


def test_noise_gets_a_line_for_a_line() -> None:
    draw = random.Random(7)
    words = [
        "open",
        "0",
        "1",
        "add",
        "--fmt",
        "fp16",
        "--round",
        "rup",
        "3c00",
        "'",
        '"',
        "\\",
        "=",
        "-",
        "\x00",
        "\xff",
    ]
    lines = [" ".join(draw.choices(words, k=draw.randrange(1, 8))) for _ in range(3000)]
    lines += ["".join(chr(draw.choice([*range(1, 10), *range(14, 256)])) for _ in range(30)) for _ in range(1000)]
    requests = [x for line in lines if (x := line.encode("latin-1")).strip()]
    answers = served(b"\n".join(requests))
    assert len(answers) == len(requests)


def test_an_endless_line_is_refused() -> None:
    done = subprocess.run(COMMAND, input=b"0" * 2_000_000, capture_output=True, cwd=TOP, check=False)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"more than 1048576 characters" in done.stderr


def test_the_end_of_the_input_ends_it_without_a_word() -> None:
    assert served("") == []
    assert served("\n \n") == []
    assert served("open add --fmt fp16\n0 3c00 3c00") == ["context 0 a=16 b=16 result=16", "4000 00"]


@pytest.mark.parametrize("args", [["add"], ["--fmt", "fp16"], ["--round", "rup"], ["--seed", "1"], ["add", "1", "2"]])
def test_serve_takes_nothing_else(args: list[str]) -> None:
    done = subprocess.run([*COMMAND, *args], input=b"", capture_output=True, cwd=TOP, check=False)
    assert done.returncode == 2
    assert b"--serve takes no other arguments" in done.stderr


@pytest.mark.parametrize("args", [[], ["add"], ["add", "--fmt", "fp16"]])
def test_eval_says_what_it_needs(args: list[str]) -> None:
    done = subprocess.run([*COMMAND[:-1], *args], input=b"", capture_output=True, cwd=TOP, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"softfloat-ref: eval needs OP, --fmt FORMAT and the operands' codes")
