"""Coverage of units by their fields alone: every bin has a case that hits it, undefined answers have none."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from softfloat_ref.base.errors import Undefined
from softfloat_ref.coverage.by_fields import by_fields
from softfloat_ref.coverage.engine.directed import stream
from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.coverage.engine.measure import count, report
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import evaluate
from softfloat_ref.units import Field

I8, I16, FP16 = map(get_format, ("i8", "i16", "fp16"))


def requantizer() -> Coverage:
    """saturate((x * multiplier) >> shift) to i8; no shift of 7."""

    def answer(inputs: Sequence[int]) -> tuple[int, ...]:
        x, multiplier, shift = inputs
        if shift == 7:
            raise Undefined("there is no such shift")
        signed = [code - ((code >> 15) << 16) for code in (x, multiplier)]
        return (min(max(signed[0] * signed[1] >> shift, -128), 127) & 0xFF,)

    operands = (Field("x", "operand", 16, fmt=I16), Field("multiplier", "operand", 16, fmt=I16))
    return by_fields((*operands, Field("shift", "control", 3), Field("result", "result", 8, fmt=I8)), answer)


def sums() -> Coverage:
    """Four additions side by side, with random words that they do not look at, and the flags of all."""

    def answer(inputs: Sequence[int]) -> tuple[int, ...]:
        sums = [evaluate("add", (inputs[i], inputs[4 + i]), FP16) for i in range(4)]
        return (*(int(x.bits) for x in sums), int(sums[0].flags | sums[1].flags | sums[2].flags | sums[3].flags))

    inputs = Field("a", "operand", 16, 4, FP16), Field("b", "operand", 16, 4, FP16), Field("r", "random", 5, 4)
    return by_fields((*inputs, Field("sums", "result", 16, 4, FP16), Field("flags", "flags", 5)), answer)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("make", [requantizer, sums])
def test_every_bin_is_hit_by_its_own_cases(make) -> None:  # type: ignore[no-untyped-def]
    coverage = make()
    directed = list(stream(coverage, 2))
    assert len({case for _, case in directed}) == len(directed)
    assert all(tag in coverage.hits(case) for tag, case in directed)
    measured = report(coverage, "set", "every case", count(coverage, (case for _, case in directed)), {})
    assert (measured.empty, measured.totals["unreachable"]) == ([], 0)
    assert measured.totals["hit"] == sum(map(len, coverage.names().values()))
    assert list(itertools.islice(stream(make(), 2), 200)) == directed[:200]


def test_classes_lanes_pairs_and_results() -> None:
    names = requantizer().names()
    assert {"x.min", "x.zero", "multiplier.minus-one", "shift.0", "shift.6"} <= bare(names["IN"])
    assert {"x.negative*multiplier.zero", "multiplier.positive*shift.3"} <= bare(names["PAIRS"])
    assert {"result.min", "result.max", "result.zero", "result.negative"} <= bare(names["OUT"])
    names = sums().names()
    assert {"a.first.snan", "a.last.pos.maxsub", "b.first.neg.inf"} <= bare(names["IN"])
    assert {"a.first.neg.inf*a.last.pos.inf", "a.last.qnan*b.last.pos.sub"} <= bare(names["PAIRS"])
    assert {"sums.first.qnan", "sums.last.neg.zero", "flags.none", "flags.bit0", "flags.bit2", "flags.bit4"} <= bare(
        names["OUT"]
    )
    assert not any("snan" in name or "bit3" in name for name in names["OUT"])  # no sum gives or raises these


def bare(names: Sequence[str]) -> set[str]:
    return {name.partition("/")[2] for name in names}


def test_what_has_no_defined_answer_has_no_bin() -> None:
    coverage = requantizer()
    assert not any("shift.7" in name for listed in coverage.names().values() for name in listed)
    assert coverage.hits((1, 1, 7)) == set()
