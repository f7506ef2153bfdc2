"""The events of coverage are those of the steps by which a unit computes its answer: operands, exact result, place."""

from __future__ import annotations

import random

import pytest

from softfloat_ref.base.errors import Undefined
from softfloat_ref.coverage.operation.setting import OperationEvents, OperationSetting
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.policies import POLICIES, get_policy
from softfloat_ref.oracle.rounding_steps import place, read
from softfloat_ref.oracle.steps import Plan, Traced
from softfloat_ref.units import OperationUnit

OPS = ("add", "sub", "mul", "div", "fma", "sqrt", "convert", "i_to_f")
CASES = 60


def unit_of(op: str, policy: str, rounding: str) -> OperationUnit:
    if op == "i_to_f":
        return OperationUnit.make("convert", "i32", "fp16", get_policy(policy).replace(rounding=rounding))
    out = "fp8_e5m2" if op == "convert" else None
    return OperationUnit.make(op, "fp16", out, get_policy(policy).replace(rounding=rounding))


def lines_of(unit: OperationUnit) -> list[tuple[int, ...]]:
    """Directed cases, then random ones."""
    rng = random.Random(unit.name)
    drawn = [tuple(rng.getrandbits(f.width) for f in unit.inputs) for _ in range(CASES)]
    return [*list(VectorSet(unit, CASES).inputs()), *drawn]


def events_of(where: OperationSetting, line: tuple[int, ...]) -> OperationEvents | None:
    try:
        return where.events(line)
    except Undefined:
        return None


@pytest.mark.full
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("op", OPS)
def test_the_place_and_the_operands_are_those_of_the_steps(op: str, policy: str) -> None:
    placed = 0
    for rounding in ("rne", "rup"):
        unit = unit_of(op, policy, rounding)
        where = OperationSetting(unit.signature, unit.policy)
        for line in lines_of(unit):
            if (e := events_of(where, line)) is None:
                continue
            run = Traced(Plan((), record_all=True))
            outputs = tuple(unit.computed(run, line))
            assert outputs[0] == e.result
            operands, p = run.all(read), run.last(place)
            assert not operands or [x.value for x in operands] == list(e.operands)
            if p is not None and e.place is not None:
                placed += 1
                mine = (e.place.code, e.place.kept, e.place.guard, e.place.sticky)
                assert (p.code, p.kept, p.guard, p.sticky) == mine, (unit.name, line)
    assert placed > CASES // 2
