"""Two definitions against each other: proved equal, or told apart by an input that the oracle answers in two ways."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command import here, run

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.proof import question as questions
from softfloat_ref.proof.engine import Tactics, decide
from softfloat_ref.proof.equal import Equality
from softfloat_ref.proof.prove import prove
from softfloat_ref.proof.question import ALL
from softfloat_ref.proof.simplest import simplest, told_by_vectors
from softfloat_ref.symbolic import units as reading
from softfloat_ref.symbolic.cases import cases
from softfloat_ref.units import OperationUnit, Unit, make_unit

pytestmark = pytest.mark.extra("bitwuzla")
HOW = Tactics(20)
NORMAL = "a is normal and b is normal"


def unit(op: str, fmt: str = "fp16", out: str | None = None, **policy: object) -> Unit:
    return OperationUnit.make(op, fmt, out, get_policy(**policy))  # type: ignore[arg-type]


def equal(*words: str) -> tuple[int, str, str]:
    done = run("prove", *words)
    return done.returncode, done.stdout, done.stderr


def answers(text: str) -> list[str]:
    """The inputs and both answers of a difference, in hexadecimal."""
    return re.findall(r"^  (?:[a-c]|first|second) +([0-9a-f]+) = .*?(?:flags ([0-9a-f]+).*)?$", text, re.MULTILINE)  # type: ignore[return-value]


def test_two_names_of_one_policy() -> None:
    code, out, _ = equal("fma", "--fmt", "fp16", "--equal", "--policy riscv")
    assert (code, out) == (0, "EQUAL: fma fp16 rne, and with --policy riscv: for all 2^48 inputs\n")


def test_terms_that_are_not_the_same() -> None:
    """A sum is never tiny and inexact; a widening conversion never rounds."""
    for first, second in (
        (unit("add"), unit("add", tininess="before")),
        (unit("convert", "bf16", "fp32"), unit("convert", "bf16", "fp32", rounding="rtz")),
    ):
        decided = decide(Equality(first, second), ALL, HOW)
        assert decided.verdict == "proved"
        assert Equality(first, second).posed(Equality(first, second).case(ALL)).wrong.args


@pytest.mark.parametrize("text", ["--tininess before", "mul --fmt fp16 --tininess before"])
def test_a_difference_is_one_for_eval(text: str) -> None:
    code, out, _ = equal("mul", "--fmt", "fp16", "--equal", text)
    assert code == 1
    (a, _), (b, _), first, second = answers(out)
    told = [run("eval", "mul", "--fmt", "fp16", *more, a, b).stdout.split() for more in ((), ("--tininess", "before"))]
    assert told == [list(first), list(second)]
    assert told[0] != told[1]
    assert f"explain mul --fmt a=fp16,b=fp16 --out fp16 {a} {b} --got {int(second[0], 16):x}" in out


def test_the_simplest_input() -> None:
    """A sum that rounds differently needs one operand that is neither 0 nor 1, with one significant bit."""
    _, out, _ = equal("add", "--fmt", "fp16", "--equal", "--round rna")
    codes = [int(code, 16) for code, _ in answers(out)[:2]]
    assert 0x3C00 in codes
    assert all(code & 0x3FF == 0 for code in codes)


def test_simple_by_the_solver_alone() -> None:
    problem = Equality(unit("add"), unit("add", rounding="rna"))
    counterexample = decide(problem, ALL, HOW).counterexample
    assert counterexample is not None
    better = simplest(problem, ALL, counterexample, 10)
    assert all(code & 0x3FF == 0 for code in better.inputs)
    assert better.expected == tuple(problem.unit.answer(better.inputs))
    assert better.got == tuple(problem.other.answer(better.inputs))


def test_finite_operands_come_first() -> None:
    """Flushed subnormals are shown rather than a NaN."""
    code, out, _ = equal("mul", "--fmt", "fp16", "--equal", "--flush-inputs on --nan 7fff")
    assert code == 1
    assert all("nan" not in line for line in out.splitlines()[1:5])


def test_an_input_that_only_one_defines() -> None:
    words = ("convert", "--fmt", "fp16", "--out", "fp6_e2m3", "--equal", "--nan-missing error")
    code, out, _ = equal(*words)
    assert code == 1
    assert "  second   no defined result\n" in out
    code, out, _ = equal(
        *words[:-2], "--nan-missing", "error", "--equal", "--nan-missing error --tininess before", "--no-flags"
    )
    assert code == 0
    assert out.endswith("2^16 inputs\n  the same inputs have no defined result\n")
    assert equal(*words, "--where", "a is finite")[0] == 0


def test_a_solver_finds_what_only_one_defines() -> None:
    first, second = (unit("convert", "fp16", "fp6_e2m3", nan_missing=x) for x in ("zero", "error"))
    decided = decide(Equality(first, second), ALL, HOW)
    assert decided.counterexample is not None
    assert (len(decided.counterexample.expected), decided.counterexample.got) == (2, ())
    assert decide(Equality(second, first), ALL, HOW).verdict == "counterexample"
    assert decide(Equality(second, second), ALL, HOW).undefined


def test_flags_apart() -> None:
    words = ("mul", "--fmt", "fp16", "--equal", "--tininess before")
    assert equal(*words, "--no-flags")[:2] == (
        0,
        "EQUAL: mul fp16 rne, and with --tininess before, without flags: for all 2^32 inputs\n",
    )


def test_two_accumulators() -> None:
    words = ("dot", "--fmt", "fp4_e2m1", "--k", "2", "--acc", "fp32-sequential", "--equal")
    code, out, _ = equal(*words, "--acc fp32-pairwise", "--limit", "0.5")
    assert code == 1
    assert "softfloat-ref dot --fmt a=fp4_e2m1" in out
    assert equal(*words, "--acc 'fp32-sequential'")[0] == 0


def test_an_approximation_and_the_function() -> None:
    file = Path(__file__).parents[2] / "docs" / "examples" / "tanh_bf16" / "tanh_bf16.toml"
    code, _, err = equal(str(file), "--equal", "tanh --fmt bf16", "--no-flags")
    assert code in (1, 2), err


def test_undecided() -> None:
    code, out, _ = equal("dot", "--fmt", "fp8_e4m3", "--k", "2", "--equal", "--acc fma-chain", "--limit", "0.001")
    assert (code, out.splitlines()[0].rpartition(":")[2]) == (3, " 0 of 1 case proved")


@pytest.mark.parametrize(("assumed", "verdict"), [("a is finite", "counterexample"), (NORMAL, "proved")])
def test_in_cases(assumed: str, verdict: str) -> None:
    """Both units have the same cases; what a solver finds in one of them is tried on the oracle."""
    first, second = unit("add", "s1e2m1b1"), unit("add", "s1e2m1b1", flush_inputs=True)
    proved = prove(Equality(first, second, assumed), "split", HOW)
    assert proved.verdict == verdict
    assert proved.split is not None


def test_cases_of_one_name_that_are_not_the_same() -> None:
    """The exponents of other formats are apart where those of the first are not."""
    problem = Equality(unit("add", "s1e3m2b3"), unit("add", "s1e2m3b1"))
    for name in ("special", "d=0", "d=-2"):
        assert decide(problem, name, HOW).verdict == "counterexample"


def test_cases_that_leave_out_an_input(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Equality(unit("add", "s1e2m1b1"), unit("add", "s1e2m1b1", tininess="before"))
    monkeypatch.setattr(questions, "cases", lambda unit: list(cases(unit))[1:])
    with pytest.raises(Error, match="leave out an input: a fault of softfloat-ref"):
        prove(problem, "split", HOW)


def test_other_names_of_inputs() -> None:
    """A dot product of one element and a multiply-add of the same formats have inputs in the same order."""
    dot = make_unit("dot", "fp4_e2m1", k=1, acc="exact", out="fp16")
    fma = OperationUnit.make("fma", [dot.inputs[0].fmt, dot.inputs[1].fmt, dot.inputs[2].fmt], "fp16")  # type: ignore[list-item]
    assert [f.name for f in dot.inputs] == ["a", "b", "c"]
    assert Equality(dot, fma, "c is finite", flags=False).hash


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add", "--fmt", "fp16", "--equal", "--fmt fp32"), "other inputs: a 16, b 16, and a 32, b 32 (bits)"),
        (("add", "--fmt", "fp16", "--equal", "--out fp32"), "other outputs: result 16, flags 5, and result 32"),
        (
            ("add", "--fmt", "fp16", "--equal", "--round sr --sr-bits 4"),
            "other inputs: a 16, b 16, and a 16, b 16, r 4",
        ),
        (("add", "--fmt", "fp16", "--equal", ""), "give options such as"),
        (("add", "--fmt", "fp16", "--equal", "--foo 1"), "--equal: No such option"),
        (("add", "--fmt", "fp16", "--equal", "mul"), "mul needs --fmt"),
        (("add", "--fmt", "fp16", "--equal", "mul --fmt fp16 --seed 1"), "random bits are an input"),
        (("add", "--fmt", "fp16", "--equal", "--round 'rtz"), "No closing quotation"),
        (("add", "--fmt", "fp16", "--equal", "--round rtz", "--ports", "x.toml"), "leave --ports out"),
        (("add", "--fmt", "fp16", "--equal", "--round rtz", "-D", "X"), "leave -D out"),
        (("add", "--fmt", "fp16", "--equal", "--round rtz", "-o", "x.json"), "leave -o out"),
        (("add", "--fmt", "fp16", "--no-flags"), "--no-flags is for --equal"),
        (("add", "--fmt", "fp16"), "or --equal"),
        (("exp", "--fmt", "fp16", "--equal", "--round rna"), "cannot be compared yet"),
        (("add", "--fmt", "extf80", "--equal", "--tininess before"), "32829 bits, of at most 16384; use a format of"),
    ],
)
def test_bad_usage(words: tuple[str, ...], message: str) -> None:
    done = here("prove", *words)
    code, err = done.returncode, done.stderr
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_a_misread_side_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Terms that are not the oracle's prove nothing."""
    wrong = reading.circuit(unit("add", rounding="rtz"))
    monkeypatch.setattr("softfloat_ref.proof.equal._read", lambda *_: wrong)
    with pytest.raises(Error, match="differ from the oracle"):
        decide(Equality(unit("add"), unit("add", tininess="before")), ALL, HOW)


def test_vectors_are_of_both_units() -> None:
    counterexample = told_by_vectors(Equality(unit("add"), unit("add", rounding="rtz")), 5)
    assert counterexample is not None
    assert counterexample.expected != counterexample.got
    assert told_by_vectors(Equality(unit("add"), unit("add", tininess="before")), 1) is None
