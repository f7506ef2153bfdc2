"""What a failing bench ends with, where the fault is one of the port map: a wrong latency beside flushed results, flags
that are gathered without [sticky], in a set of one operation and of two."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from played import Device, played

from softfloat_ref.app.testbench import print_failure
from softfloat_ref.diagnosis.parts import explanation
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.testing.check import check_results
from softfloat_ref.units import Line, MixedUnit, OperationUnit

pytestmark = [pytest.mark.sim, pytest.mark.full]

FLUSH = get_policy({"flush_outputs": True})
MUL, ADD = (OperationUnit.make(op, "bf16") for op in ("mul", "add"))
BOTH = MixedUnit((MUL, ADD))
PORTS = '[inputs]\na = "a"\nb = "b"\n{}[outputs]\nresult = "result"\nflags = "flags"\n'
OP = 'op = { of = "op", codes = { mul = 0, add = 1 } }\n'


def flushing(line: Line) -> tuple[int, int]:
    """A multiplication or an addition with tiny results flushed."""
    adds = len(line) > 4 and line[0] == BOTH.parts.index(ADD)
    return OperationUnit.make("add" if adds else "mul", "bf16", policy=FLUSH).answer(line[-4:-2])


def late(by: int) -> Device:
    came = [(0, 0)] * by

    def device(line: Line) -> dict[str, str]:
        came.append(flushing(line))
        code, flags = came[-1 - by]
        return {"result": f"{code:016b}", "flags": f"{flags:05b}"}

    return device


def gathering() -> Device:
    seen = 0

    def device(line: Line) -> dict[str, str]:
        nonlocal seen
        code, flags = flushing(line)
        seen |= flags
        return {"result": f"{code:016b}", "flags": f"{seen:05b}"}

    return device


@pytest.mark.parametrize(("unit", "more"), [(MUL, ""), (BOTH, OP)])
def test_a_wrong_latency_and_flushed_results(
    unit: MixedUnit | OperationUnit, more: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors = VectorSet(unit, 1200)
    run, log = played(vectors, late(1), PORTS.format(more), tmp_path)
    print_failure(run.output.splitlines(), vectors, log)
    out = capsys.readouterr().out
    assert "diagnosis: the answers are 1 line late" in out
    assert "\n  results come 1 cycle later than the port map says: latency = 2, not 1\n" in out
    rest = out.partition("diagnosis of the shifted answers: ")[2]
    assert "flushes tiny results to zero" in rest
    assert "unexplained" not in rest
    cause = explanation(check_results(vectors, log))
    assert cause is not None
    data = json.loads(json.dumps(cause.as_dict()))
    assert data["diagnosis"]["late"] == 1
    assert "flushes tiny results to zero" in json.dumps(data["rest"])


def test_flags_that_are_gathered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vectors = VectorSet(MUL, 600)
    run, log = played(vectors, gathering(), PORTS.format(""), tmp_path)
    print_failure(run.output.splitlines(), vectors, log)
    out = capsys.readouterr().out
    assert "diagnosis: the flags accumulate: each answer has those of all operations so far" in out
    assert "say so in the port map: [sticky]" in out
    assert "diagnosis of the answers without these flags: the device flushes tiny results to zero" in out
