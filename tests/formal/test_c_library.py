"""Functions of exported C libraries are proved from clang's code, and what is wrong in one is found."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

import pytest
from click.testing import CliRunner

from formal import c_library
from formal.c_functions import CFunction, compiled, library_of, run
from formal.c_library import command, prove_all, shown
from softfloat_ref.proof.engine import Tactics, Verdict
from softfloat_ref.proof.prove import Proof, prove
from softfloat_ref.units import OperationUnit

needs_clang = pytest.mark.skipif(not shutil.which("clang"), reason="needs clang")

PROVED = [
    ("fp4_e2m1", "add", {}),
    ("fp4_e2m1", "sub", {"rounding": "rdn"}),
    ("fp4_e2m1", "fma", {"rounding": "rup"}),
    ("fp6_e3m2", "div", {"rounding": "rna", "tininess": "before"}),
    ("fp6_e2m3", "sqrt", {"rounding": "rto"}),
    ("fp8_e5m2", "mul", {"rounding": "rtz", "tininess": "before"}),
    ("fp8_e4m3", "convert", {}),
    ("bf16", "convert", {"tininess": "before"}),
]
# A constant of each step: file, text, another one, the operation and format in which it matters.
PLANTED = {
    "tie": ("core_round.h", "sig + (half - 1)", "sig + half", "add", "fp8_e5m2"),
    "exponent of a sum": ("core_arithmetic.h", "e + 1, sum", "e + 2, sum", "add", "fp4_e2m1"),
    "exponent of a product": ("core_arithmetic.h", "- f.bias + 1 - (I)up", "- f.bias - (I)up", "mul", "fp4_e2m1"),
    "place of a quotient": ("core_divide.h", "TOP - f.mantissa - 3;", "TOP - f.mantissa - 4;", "div", "fp8_e5m2"),
    "table of roots": ("core_wide.h", "{\n    128, 129", "{\n    120, 129", "sqrt", "fp8_e5m2"),
    "flag of a tiny result": ("core_round.h", "(inexact & tiny) << 1", "(inexact & tiny) << 2", "mul", "fp8_e4m3"),
    "first subnormal exponent": ("core_round.h", "& (LESS(e, 0)", "& (LESS(e, 1)", "mul", "fp8_e5m2"),
    "flag of a pole": ("core_divide.h", "(pole & (inf ^ 1)) << 3", "(pole & (inf ^ 1)) << 4", "div", "fp8_e5m2"),
    "largest number": ("core_library.h", "(0x7e), UINT64_C(0x0)", "(0x7d), UINT64_C(0x0)", "convert", "fp8_e4m3"),
}  # fmt: skip


def unit_of(fmt: str, op: str, **policy: str) -> OperationUnit:
    return OperationUnit.make(op, "fp32", fmt, policy) if op == "convert" else OperationUnit.make(op, fmt, None, policy)


def proof_of(unit: OperationUnit, file: str = "", text: str = "", other: str = "") -> Proof:
    """Of a library in which a text is another one."""
    files = library_of(unit)
    if file:
        assert files[file].count(text) == 1
        files[file] = files[file].replace(text, other)
    return prove(CFunction(unit, compiled(unit, files)), "auto", Tactics(60.0))


@needs_clang
@pytest.mark.full
@pytest.mark.extra("bitwuzla")
@pytest.mark.parametrize(("fmt", "op", "policy"), PROVED)
def test_functions_are_proved(fmt: str, op: str, policy: dict[str, str]) -> None:
    assert proof_of(unit_of(fmt, op, **policy)).verdict == "proved"


@needs_clang
@pytest.mark.full
@pytest.mark.extra("bitwuzla")
@pytest.mark.parametrize("name", PLANTED)
def test_a_wrong_constant_is_found(name: str) -> None:
    file, text, other, op, fmt = PLANTED[name]
    unit = unit_of(fmt, op)
    counterexample = proof_of(unit, file, text, other).counterexample
    assert counterexample is not None
    assert counterexample.expected == unit.answer(counterexample.inputs) != counterexample.got
    assert run(compiled(unit), counterexample.inputs) == counterexample.expected
    code, flags = counterexample.expected
    assert f"expected {code:#x}, flags {flags:#04x}" in shown(unit, counterexample)


@needs_clang
@pytest.mark.full
@pytest.mark.extra("bitwuzla")
def test_what_is_undefined_in_c_is_found() -> None:
    """A shift by more bits than there are, the result of which the processor's may be by chance."""
    limit = "d = d > CORE_BITS - 1 ? CORE_BITS - 1 : d;"
    counterexample = proof_of(unit_of("fp8_e5m2", "fma"), "core_round.h", limit, "").counterexample
    assert counterexample is not None
    assert counterexample.said == "what it does is undefined in C"


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdicts", "code", "row", "summary"),
    [
        (("proved", "proved"), 0, "fp4_e2m1        add             1.5        1.5", "2 proved"),
        (("undecided", "proved"), 3, "fp4_e2m1        add       undecided        1.5", "1 proved, 1 undecided"),
        (("proved", "counterexample"), 1, "fp4_e2m1        add             1.5      WRONG", "1 proved, 1 WRONG"),
    ],
)
def test_table(
    verdicts: Sequence[Verdict],
    code: int,
    row: str,
    summary: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    results = iter(verdicts)
    monkeypatch.setattr(c_library, "compiler", lambda: "clang")
    monkeypatch.setattr(c_library, "decide", lambda task: c_library._Result(next(results), 1.5))
    assert prove_all([("fp4_e2m1", "add")], ["rne", "rdn"], "after", 1.0, jobs=1) == code
    _, columns, *lines = capsys.readouterr().out.splitlines()
    assert columns.split() == ["rne", "rdn"]
    assert lines == [row, summary]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fp8"], "unknown format 'fp8'"),
        (["fp8_e4m3", "ad"], "unknown operation 'ad'; did you mean add?"),
        (["fp8_e4m3", "add", "--rounding", "rnx"], "unknown rounding 'rnx'"),
        (["fp32", "convert"], "from fp32 to another format"),
        (["fp64", "add"], "only results of up to 32 bits are proved"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 2
    assert message in done.output
