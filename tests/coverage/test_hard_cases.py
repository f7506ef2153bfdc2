"""The hardest results of functions of wide operands: found by a search, and hit by the cases given for them."""

from __future__ import annotations

import pytest

from softfloat_ref.coverage.operation.hard_cases import KINDS, HardCases
from softfloat_ref.coverage.operation.setting import OperationSetting
from softfloat_ref.oracle.operations import signature
from softfloat_ref.oracle.policies import Policy

MODEL = HardCases()


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(("op", "out", "least"), [("exp", "fp32", 17), ("tanh", "bf16", 16)])
def test_they_are_found_and_hit(op: str, out: str, least: int) -> None:
    where = OperationSetting(signature(op, "fp32", out), Policy())
    bins = MODEL.bins(where)
    assert len(bins) == len(KINDS)
    for (kind,), name in bins.items():
        bits = int(name.rpartition(".")[2].removesuffix("bits"))
        assert bits >= least
        lines = list(MODEL.cases(where, (kind,)))
        assert len(lines) == 4
        for line in lines:
            assert list(MODEL.hits(where.events(line))) == [(kind,)]
            x = where.exactly(line)  # the bits themselves: the guard bit, then so many of the other kind
            tail = f"{x.significand:b}"[where.out.precision :]
            assert tail.startswith(f"{kind >> 1}" + f"{kind & 1}" * bits)


def test_ordinary_results_are_not_hard() -> None:
    where = OperationSetting(signature("exp", "fp32"), Policy())
    hits = [list(MODEL.hits(where.events((0x3F800000 + i,)))) for i in range(200)]
    assert not any(hits)


@pytest.mark.parametrize(
    ("op", "fmt", "policy"),
    [("exp", "bf16", Policy()), ("exp", "fp64", Policy()), ("sin", "fp32", Policy()), ("add", "fp32", Policy())],
)
def test_where_there_is_no_search(op: str, fmt: str, policy: Policy) -> None:
    assert not MODEL.applies(OperationSetting(signature(op, fmt), policy))
