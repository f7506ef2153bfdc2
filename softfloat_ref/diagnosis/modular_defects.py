"""Defects of conversions to an integer's lower bits: saturation, too few bits, NaN and Inf, flags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from softfloat_ref.diagnosis.defects import Faulty, answering, defective
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Inputs, Output
from softfloat_ref.diagnosis.operation_models import Values, wrong_result
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.flags import INEXACT, INVALID
from softfloat_ref.oracle.operations import Context, Evaluator, Operation, evaluator
from softfloat_ref.oracle.operations.table import Outcome
from softfloat_ref.oracle.policies import Integers
from softfloat_ref.oracle.steps import Function
from softfloat_ref.units import OperationUnit

_WIDE: Final = 64  # the width of the integers that are cut: a processor's


def modular_defects(unit: OperationUnit) -> Iterator[Hypothesis]:
    """The listed defects of a conversion of floats to an integer's lower bits."""
    decode = decoder(unit.formats[0])
    for rule in Integers:
        saturating = replace(unit, op="convert", policy=unit.policy.replace(integers=rule))
        name = f"saturates as {rule}"
        yield Hypothesis(name, f"saturates integers out of range like {rule}", Faulty(saturating))
        special = evaluator(saturating.signature, saturating.policy)

        def as_saturated(inputs: Inputs, codes: Output, run: Evaluator = special) -> Output:
            return codes if decode(inputs[0]).is_finite else run(inputs[:1], 0)

        text = f"gives NaN and Inf the integers of a conversion that saturates like {rule}"
        yield Hypothesis(f"NaN and Inf as {rule}", text, answering(unit, as_saturated))
    if unit.out.width < _WIDE:
        text = f"gives 0 for numbers that do not fit {_WIDE} bits"
        yield defective(unit, f"wraps within {_WIDE} bits", text, wrong_result(_only_within))
    yield Hypothesis(
        "inexact beside invalid",
        "raises inexact, beside invalid, for numbers out of range that have a fraction",
        answering(unit, lambda i, c: (c[0], c[1] | (INEXACT if c[1] & INVALID and _has_fraction(decode(i[0])) else 0))),
    )
    yield Hypothesis(
        "invalid for NaN and Inf only",
        "raises no invalid for numbers out of range",
        answering(unit, lambda i, c: (c[0], c[1] & ~INVALID if decode(i[0]).is_finite else c[1])),
    )


def _has_fraction(x: Value) -> bool:
    return x.kind == FINITE and x.exponent < 0 and x.significand & ((1 << -x.exponent) - 1) != 0


def _only_within(right: Function, op: Operation, ctx: Context, values: Values) -> Outcome:
    (x,), (value, flags) = values, right(op, ctx, values)
    fits = x.kind == FINITE and (x.significand == 0 or exact.top(x) < _WIDE - 1)
    return (value if fits else exact.zero(0)), flags
