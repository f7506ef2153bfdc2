"""Rounding in steps is rounding in one call: proved for all numbers, of formats too large to try them all."""

from __future__ import annotations

from typing import Any

import pytest

from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.rounding_steps import Destination, destination, rounded
from softfloat_ref.oracle.steps import STEPS, Function
from softfloat_ref.proof.solver import solve
from softfloat_ref.symbolic.build import eq, not_, or_
from softfloat_ref.symbolic.integers import bits, free
from softfloat_ref.symbolic.reader import call
from softfloat_ref.symbolic.reading import Collection, reading
from softfloat_ref.symbolic.terms import var
from softfloat_ref.symbolic.units import SUBSTITUTES
from softfloat_ref.units import OperationUnit


def in_one_call(f: Function, *args: Any) -> Any:
    return f(*args)


def step_by_step(f: Function, *args: Any) -> Any:
    inner = STEPS[f].inner
    return f(*args) if inner is None else inner(step_by_step, *args)


setattr(in_one_call, "at", lambda *where: in_one_call)  # noqa: B010
setattr(step_by_step, "at", lambda *where: step_by_step)  # noqa: B010


def converted(do: Any, code: Any, word: Any, decode: Any, to: Destination) -> tuple[Any, Any]:
    result: tuple[Any, Any] = do(rounded, decode(code), word, to)
    return result


@pytest.mark.extra("bitwuzla")
@pytest.mark.parametrize(
    ("source", "out", "policy"),
    [
        ("fp32", "fp16", {}),
        ("fp32", "bf16", {"rounding": "rto", "flush_outputs": True}),
        ("fp16", "fp8_e4m3", {"rounding": "rup", "tininess": "before"}),
        ("fp32", "fp8_e5m2", {"rounding": "sr-c", "sr_bits": 5}),
        ("fp32", "i16", {"rounding": "rna"}),
        ("fp16", "dlfloat16", {"flush_outputs": True, "flush_rule": "before"}),
        ("fp32", "e8m0", {"overflow": "sat-none"}),
    ],
)
def test_rounding_in_steps_is_proved(source: str, out: str, policy: dict[str, Any]) -> None:
    unit = OperationUnit.make("convert", source, out, policy)
    to = destination(unit.out, unit.policy)
    code, n = free(var("a", unit.formats[0].width)), unit.policy.random_count
    word = free(var("r", n)) if n else 0
    with reading(Collection(dict(SUBSTITUTES))):
        ways = [call(converted, do, code, word, decoder(get_format(source)), to) for do in (in_one_call, step_by_step)]
    one, steps = ([bits(x, w) for x, w in zip(way, (unit.out.width, 5), strict=True)] for way in ways)
    differ = or_(*(not_(eq(a, b)) for a, b in zip(one, steps, strict=True)))
    assert solve([differ], 60).result == "unsat"
