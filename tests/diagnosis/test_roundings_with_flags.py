"""A device that rounds otherwise and lacks flags, or raises wrong ones: both usual choices are named, by their plain
names, and nothing of the inside of a circuit that comes to the same.

Chosen: every rounding in every operation, each with two faults of flags in turn, so that every rounding meets all of
them; two formats for each operation. Devices are right units of another policy, with flags of their answers changed.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from diagnosing import diagnosis, names

from softfloat_ref.diagnosis.findings import Diagnosis, Peeled, PeeledFault
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Inputs, Output
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.flags import Flags

COUNT = 400
SETS = [
    *(("convert", "fp32", out) for out in ("bf16", "fp8_e4m3")),
    *((op, fmt, fmt) for op in ("add", "mul", "fma") for fmt in ("fp16", "bf16")),
]
ROUNDINGS = ("rtz", "rna", "rup", "rdn", "rto", "rhz", "rnu")
FLAGS: dict[str, Callable[[int], int]] = {
    "no flags": lambda flags: 0,
    "no flags of rounding": lambda flags: flags & 0x18,
    "no inexact": lambda flags: flags & ~1,
    "no underflow": lambda flags: flags & ~2,
    "no overflow": lambda flags: flags & ~4,
    "no invalid": lambda flags: flags & ~16,
    "flag bits reversed": lambda flags: int(f"{flags:05b}"[::-1], 2),
    "overflow without inexact": lambda flags: flags & ~1 if flags & 4 else flags,
    "underflow without inexact": lambda flags: flags & ~1 if flags & 2 else flags,
}
NAMES = list(FLAGS)
TURNS = [
    (*of, rounding, NAMES[(i + j + turn) % len(NAMES)])
    for i, of in enumerate(SETS)
    for j, rounding in enumerate(ROUNDINGS)
    for turn in (0, 4)
]


def said(found: Diagnosis) -> list[set[str]]:
    """The faults that each of the best explanations names."""
    if found.several is not None:
        return [{f.hypothesis.name for f in found.several.faults}]
    return [set(name.split("; ")) for name in names(found)]


@pytest.mark.full(keep=1, gate=18)
@pytest.mark.parametrize(("op", "fmt", "out", "rounding", "flags"), TURNS)
def test_both_are_named(op: str, fmt: str, out: str, rounding: str, flags: str) -> None:
    vectors = VectorSet.make(op, fmt, COUNT, out=out)
    other = VectorSet.make(op, fmt, 1, out=out, policy={"rounding": rounding}).unit
    change, shown = FLAGS[flags], set[str]()

    def device(inputs: Inputs) -> Output:
        code, raised = other.answer(tuple(inputs))
        shown.update({flags} if change(raised) != raised else ())
        return code, change(raised)

    found = diagnosis(vectors, device)
    assert found.explained == found.examined
    assert {f"rounding = {rounding}", *shown} in said(found)


def test_a_converter_that_cuts_and_knows_invalid_only() -> None:
    """The same as a guard bit one place low without a sticky bit, but nobody would build that."""
    vectors = VectorSet.make("convert", "fp32", COUNT, out="bf16")

    def cuts(inputs: Inputs) -> Output:
        (code,) = inputs
        if code & 0x7FFFFFFF > 0x7F800000:
            return 0x7FC0, 0 if code & 0x400000 else Flags.INVALID
        return code >> 16, 0

    assert said(diagnosis(vectors, cuts)) == [{"rounding = rtz", "no flags of rounding"}]


def test_two_usual_choices_come_before_two_other_faults() -> None:
    def several(*usual: bool, where: str = "") -> Peeled:
        faults = (
            Hypothesis(f"fault{where if not i else ''}", "", lambda _: None, usual=x) for i, x in enumerate(usual)
        )
        return Peeled(tuple(PeeledFault(h, 1) for h in faults), 9)

    ranked = [
        several(True, True),
        several(True, True, where=", where it rains"),
        several(True, False),
        several(False, False),
        several(False, False, where=", where it rains"),
        several(False, False, False),
    ]
    ranks = [x.rank for x in ranked]
    assert ranks == sorted(ranks)
    assert [x.usual for x in ranked] == [True, True, *[False] * 4]
