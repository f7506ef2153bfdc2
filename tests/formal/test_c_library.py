"""Functions of exported C libraries are proved from clang's code, and what is wrong in one is found."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from formal import c_library
from formal.c_functions import run
from formal.c_library import Task, command, prove_all, shown
from formal.c_record import Proved, read_record, table, write_record
from formal.c_wrappers import c_policy, library_of
from softfloat_ref.export.library.functions import FunctionWriter
from softfloat_ref.proof.engine import Tactics, Verdict
from softfloat_ref.proof.prove import Proof, prove
from softfloat_ref.proof.question import Counterexample

needs_clang = pytest.mark.skipif(not shutil.which("clang"), reason="needs clang")

# A function of each kind, in each rounding, under policies that differ in each field of the core's formats.
PROVED = [
    Task("fp4_e2m1", "add"),
    Task("fp4_e2m1", "sub", "rdn"),
    Task("fp4_e2m1", "fma", "rup"),
    Task("fp6_e3m2", "div", "rna", "before"),
    Task("fp6_e2m3", "sqrt", "rto"),
    Task("fp8_e5m2", "mul", "rtz", "before"),
    Task("fp8_e4m3", "from_fp32"),
    Task("bf16", "from_fp32", "rne", "before"),
    Task("fp8_e4m3", "to_fp64", "rdn"),
    Task("fp8_e4m3", "lt"),
    Task("fp8_e5m2", "eq_signaling"),
    Task("fp6_e2m3", "round_to_integral", "rdn"),
    Task("fp8_e5m2", "round_to_integral_exact", "rup"),
    Task("fp8_e4m3", "to_i32", "rna"),
    Task("fp8_e5m2", "from_u64", "rup"),
    Task("fp8_e4m3", "mul", "rup", "after", "ieee,overflow=sat-none"),
    Task("fp8_e5m2", "mul", "rne", "after", "tpu-bf16"),
    Task("fp8_e5m2", "mul", "rne", "before", "ARM-VFPv2"),
    Task("fp8_e5m2", "to_i64", "rne", "after", "8086-SSE"),
    Task("fp4_e2m1", "rem"),
    Task("fp4_e2m1", "mul_n"),
    Task("fp8_e4m3", "to_fp16_n"),
]
_IN_OTHER_MODES = r"""#define CORE_FUNCTION(BITS, T, U, name, parameters, arguments, call) \
    static CORE_COLD T name##_in_other_modes parameters \
    { \
        CORE_RETURN(BITS, T, U, call, softfloat_roundingMode);"""
# A constant of each step: file, text, another one, the operation and format in which it matters.
PLANTED = {
    "tie": ("core_round.h", "sig + (half - 1) + (sig", "sig + half + (sig", Task("fp8_e5m2", "add")),
    "exponent of a sum": ("core_arithmetic.h", "e + 1, sum", "e + 2, sum", Task("fp4_e2m1", "add")),
    "exponent of a product": (
        "core_arithmetic.h", "- f.bias + 1 - (I)up", "- f.bias - (I)up", Task("fp4_e2m1", "mul"),
    ),
    "place of a quotient": (
        "core_divide.h", "TOP - f.mantissa - 3;", "TOP - f.mantissa - 4;", Task("fp8_e5m2", "div"),
    ),
    "table of roots": ("core_wide.h", "{\n    128, 129", "{\n    120, 129", Task("fp8_e5m2", "sqrt")),
    "flag of a tiny result": (
        "core_round.h", "(inexact & tiny) << 1", "(inexact & tiny) << 2", Task("fp8_e4m3", "mul"),
    ),
    "first subnormal exponent": ("core_round.h", "& (LESS(e, 0)", "& (LESS(e, 1)", Task("fp8_e5m2", "mul")),
    "flag of a pole": (
        "core_divide.h", "(pole & (inf ^ 1)) << 3", "(pole & (inf ^ 1)) << 4", Task("fp8_e5m2", "div"),
    ),
    "largest number": (
        "core_library.h", "(0x7e), UINT64_C(0x0)", "(0x7d), UINT64_C(0x0)", Task("fp8_e4m3", "from_fp32"),
    ),
    "order": ("core_convert.h", "N(order)(a, f) <= N", "N(order)(a, f) < N", Task("fp8_e4m3", "le")),
    "inexact that is not wanted": (
        "core_integers.h", "inexact & exact", "inexact & (exact | 1)", Task("fp8_e4m3", "to_i32"),
    ),
    "flags before": (
        "core_library.h", "|= (uint_fast8_t)r.flags; \\\n        CORE", "= (uint_fast8_t)r.flags; \\\n        CORE",
        Task("fp8_e4m3", "mul"),
    ),
    "rounding of the state": (
        "core_library.h", _IN_OTHER_MODES, _IN_OTHER_MODES.replace("softfloat_roundingMode", "CORE_RUP"),
        Task("fp8_e4m3", "mul", "rdn"),
    ),
    "flags of an element": (
        "core_library.h", "= (uint8_t)r.flags; \\", "= r.flags != 0; \\", Task("fp4_e2m1", "mul_n"),
    ),
    "leading zeros by a float": ("core.h", "return 158 - (", "return 157 - (", Task("fp4_e2m1", "mul_n")),
    "tininess of the state": (
        "core_library.h", "== softfloat_tininess_before", "!= softfloat_tininess_before", Task("fp8_e5m2", "mul"),
    ),
}  # fmt: skip


def proof_of(task: Task, file: str = "", text: str = "", other: str = "") -> Proof:
    """Of a library in which a text is another one."""
    return prove(task.compiled(changed(task, file, text, other)), "auto", Tactics(60.0))


def changed(task: Task, file: str = "", text: str = "", other: str = "") -> dict[str, str]:
    files = library_of(task.unit, c_policy(task.policy))
    if file:
        assert files[file].count(text) == 1
        files[file] = files[file].replace(text, other)
    return files


@needs_clang
@pytest.mark.full(gate=12)
@pytest.mark.extra("bitwuzla")
@pytest.mark.parametrize("task", PROVED, ids=str)
def test_functions_are_proved(task: Task) -> None:
    assert proof_of(task).verdict == "proved"


@needs_clang
@pytest.mark.full(gate=5)
@pytest.mark.extra("bitwuzla")
@pytest.mark.parametrize("name", PLANTED)
def test_a_wrong_constant_is_found(name: str) -> None:
    file, text, other, task = PLANTED[name]
    counterexample = proof_of(task, file, text, other).counterexample
    assert counterexample is not None
    assert counterexample.said or counterexample.expected != counterexample.got
    right, expected = task.compiled(), counterexample.expected
    assert run(right.text, right.values(counterexample.inputs, counterexample.others), len(expected)) == expected
    assert counterexample.expected[0] == task.unit.answer(counterexample.inputs)[0]
    assert f"expected {counterexample.expected[0]:#x}, flags {counterexample.expected[1]:#04x}" in shown(
        task.unit, counterexample
    )


@needs_clang
@pytest.mark.full
@pytest.mark.extra("bitwuzla")
def test_bits_above_a_code_that_count_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FunctionWriter, "_code", lambda writer, name, word=0: f"{name}.v")
    counterexample = proof_of(Task("tf32", "round_to_integral", "rne", "after", "x86-sse")).counterexample
    assert counterexample is not None
    assert any(x & 0xF for name, x in counterexample.others.items() if name.startswith("bits above"))


@needs_clang
@pytest.mark.full
@pytest.mark.extra("bitwuzla")
def test_what_is_undefined_in_c_is_found() -> None:
    """A shift by more bits than there are, the result of which the processor's may be by chance."""
    limit = "d = d > CORE_BITS - 1 ? CORE_BITS - 1 : d;"
    counterexample = proof_of(Task("fp8_e5m2", "fma"), "core_round.h", limit, "").counterexample
    assert counterexample is not None
    assert counterexample.said == "what it does is undefined in C"


# -- digests and the record --------------------------------------------------------------------------------------------


def digest(task: Task, file: str = "", text: str = "", other: str = "") -> str:
    return task.digest(changed(task, file, text, other))


@pytest.mark.parametrize("name", PLANTED)
def test_a_change_of_what_a_function_reaches_is_another_digest(name: str) -> None:
    file, text, other, task = PLANTED[name]
    assert digest(task, file, text, other) != digest(task)


@pytest.mark.parametrize(
    ("file", "text", "other"),
    [
        ("core_divide.h", "TOP - f.mantissa - 3;", "TOP - f.mantissa - 4;"),
        ("core_arithmetic.h", "- f.bias + 1 - (I)up", "- f.bias - (I)up"),
        ("core_convert.h", "N(order)(a, f) <= N", "N(order)(a, f) < N"),
        ("core.h", '#include "core_integers.h"', '#include "core_integers.h"\n#include "core_more.h"'),
        ("core_round.h", "x / 2^d, with", "x / 2^d with"),
        ("core_round.h", "typedef struct {\n    W code, flags;", "typedef   struct { W code, flags;"),
    ],
)
def test_a_change_elsewhere_is_not(file: str, text: str, other: str) -> None:
    task = Task("fp8_e5m2", "add")
    assert digest(task, file, text, other) == digest(task)


def test_digests_are_of_formats_policies_and_operations() -> None:
    tasks = [
        Task(fmt, op, "rne", "after", policy)
        for fmt in ("fp8_e5m2", "fp8_e4m3")
        for op in ("add", "sub", "to_i32")
        for policy in ("ieee", "arm", "ieee,flush_outputs=on")
    ]
    assert len({digest(task) for task in tasks}) == len(tasks)
    assert digest(Task("fp8_e5m2", "add", "rdn")) == digest(Task("fp8_e5m2", "add"))


def test_the_record_is_of_functions_that_are_there() -> None:
    rows = read_record()
    assert len({row.key for row in rows}) == len(rows) > 50
    for row in {row[:2]: row for row in rows}.values():
        assert Task(*row[:5]).unit


@needs_clang
@pytest.mark.full
@pytest.mark.extra("bitwuzla")
def test_a_question_that_was_answered_is_not_asked_again() -> None:
    task = Task("fp4_e2m1", "mul")
    first = c_library.decide(task, "auto", 60.0)
    known = Proved(*task, "", first.question, 1234.5)
    assert c_library.decide(task, "auto", 60.0, known).seconds == 1234.5
    assert c_library.decide(Task("fp4_e2m1", "mul", "rup"), "auto", 60.0, known).seconds < 1234.5
    file, text, other, _ = PLANTED["exponent of a product"]
    assert task.compiled(changed(task, file, text, other)).question[:16] != first.question


def test_what_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was proved of another text, with what was proved of it."""
    tasks = [Task("fp4_e2m1", op, rounding) for op in ("add", "mul", "lt") for rounding in ("rne", "rdn")]
    record = [Proved(*task, task.digest() if task.operation == "mul" else "other", "ab", 1.0) for task in tasks]
    asked: list[tuple[Sequence[Sequence[Task]], bool]] = []
    monkeypatch.setattr(c_library, "read_record", lambda: record)
    monkeypatch.setattr(c_library, "prove_all", lambda rows, a, b, c, d: asked.append((rows, c)) or 3)
    assert CliRunner().invoke(command, ["--renew"]).exit_code == 3
    assert asked == [([[tasks[0]], [tasks[4]]], True), ([[tasks[1]], [tasks[5]]], True)]


@needs_clang
@pytest.mark.full
@pytest.mark.extra("bitwuzla")
def test_a_sample_of_the_record_is_proved_again() -> None:
    """Of what took less than a second, each fiftieth."""
    rows = [row for row in read_record() if row.seconds < 1][::50]
    assert [proof_of(Task(*row[:5])).verdict for row in rows] == ["proved"] * len(rows)


def test_record(tmp_path: Path) -> None:
    file = tmp_path / "record.csv"
    rows = [
        Proved("fp16", "add", "rtz", "after", "ieee", "0123", "ab", 4.0),
        Proved("fp16", "mul", "rne", "after", "ieee", "4567", "ab", 0.9),
        Proved("fp16", "add", "rne", "after", "ieee", "0123", "ab", 7.5),
        Proved("fp16", "add", "rtz", "after", "ieee", "0123", "cd", 5.0),
        Proved("fp16", "add", "rne", "before", "ieee", "89ab", "ab", 9.0),
        Proved("fp16", "add", "rdn", "before", "ieee", "0123", "ab", 2.0),
    ]
    for row in rows:
        write_record(row, file)
    assert sorted(read_record(file)) == sorted([rows[1], *rows[2:]])
    assert list(table(read_record(file), lambda row: "4567" if row.operation == "mul" else "0123")) == [
        "fp16, ieee, tininess after",
        "  rne, rtz: add 7.5",
        "  rne: mul",
        "fp16, ieee, tininess before",
        "  rdn: add 2",
        "  rne, not since: add",
    ]


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdicts", "code", "row", "summary"),
    [
        (("proved", "proved"), 0, ["1.5", "1.5"], "2 proved"),
        (("undecided", "proved"), 3, ["undecided", "1.5"], "1 proved, 1 undecided"),
        (("proved", "counterexample"), 1, ["1.5", "WRONG"], "1 proved, 1 WRONG"),
    ],
)
def test_table(
    verdicts: Sequence[Verdict],
    code: int,
    row: list[str],
    summary: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    results, recorded = iter(verdicts), []
    monkeypatch.setattr(c_library, "compiler", lambda: "clang")
    monkeypatch.setattr(c_library, "decide", lambda *task: c_library._Result(next(results), 1.5, ""))
    monkeypatch.setattr(c_library, "write_record", recorded.append)
    tasks = [Task("fp4_e2m1", "add", "rne"), Task("fp4_e2m1", "add", "rdn")]
    assert prove_all([tasks], 1.0, jobs=1, record=True) == code
    _, columns, line, last = capsys.readouterr().out.splitlines()
    assert columns.split() == ["rne", "rdn"]
    assert line.split() == ["fp4_e2m1", "add", *row]
    assert last == summary
    assert [r[:3] for r in recorded] == [t[:3] for t, v in zip(tasks, verdicts, strict=True) if v == "proved"]


def test_a_counterexample_has_what_else_counts() -> None:
    counterexample = Counterexample((0x3C, 1), (0x3D, 1), (0x3C, 3), {"raised": 2, "exact": 0})
    assert shown(Task("fp8_e4m3", "add").unit, counterexample) == (
        "a = 0x3c, b = 0x01, raised = 0x2: C gives 0x3c, flags 0x03; expected 0x3d, flags 0x01"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fp8"], "unknown format 'fp8'"),
        (["fp8_e4m3", "ad"], "unknown operation 'ad'; did you mean add?"),
        (["fp8_e4m3", "add", "--rounding", "rnx"], "unknown rounding 'rnx'"),
        (["fp32", "from_fp32"], "from_fp32: a conversion is from one format to another"),
        (["fp32", "to_i16"], "unknown integer format 'i16'"),
        (["fp32", "add", "--policy", "p3109"], "fp32 has words of 128 bits here, which are not proved"),
        (["e8m0", "from_fp32"], "e8m0 has words of 128 bits here"),
        (["bf16", "from_e8m0"], "e8m0 has words of 128 bits here"),
        (["fp16", "add_n", "--rounding", "rup", "--jobs", "1"], "add_n: loops over arrays are of rne"),
        (["fp128", "add"], "only results of up to 64 bits are proved"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 2
    assert message in done.output
