"""Explains an affine integer: quotient, zero point, rounding and clamp; finds other rules that give an answer."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.explanation.scalar import DETERMINISTIC, Rows, describe, explain_conversion, value_text
from softfloat_ref.explanation.steps import Change, alternatives, matching_changes, steps
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.affine import (
    CHOICES,
    FP32,
    RULES,
    AffineFormat,
    Parameters,
    Rule,
    before_rounding,
    by_reciprocal,
    clamped,
    dequantize_value,
    divided_in_fp32,
    get_rule,
    reciprocal,
    times_scale,
)
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.exact import INF, NAN, Value
from softfloat_ref.oracle.literals import hexadecimal
from softfloat_ref.oracle.policies import get_policy, rounding_name
from softfloat_ref.oracle.rounding_steps import answer, read, rounded
from softfloat_ref.oracle.steps import Traced, recording
from softfloat_ref.units import AffineDequantizeUnit, AffineQuantizeUnit
from softfloat_ref.units.affine import integer, parameters

_RULE_FIELDS: Final = ("order", "arithmetic", "nan", "inf")  # fields of a rule that affect a quantization
_MORE_BITS: Final = 64  # bits of a quotient to show
_ROUNDING_LABELS: Final = ("kept", "discarded", "rule")
_SUM_ROUNDINGS: Final = {"exact": "", "fp32": ", rounded to FP32", "fp32-fma": ", rounded to FP32, with the product",
                         "fp32-division": ", rounded to FP32"}  # fmt: skip


def integer_text(code: int, fmt: AffineFormat) -> str:
    """The code of an integer, and the integer."""
    return f"{code:0{-(-fmt.bits // 4)}x} = {integer(code, fmt)}"


def _parameter_rows(qparams: Parameters, fmt: AffineFormat) -> Rows:
    middle = ", the middle" if fmt.symmetric else ""
    return [("scale", describe(qparams.scale, FP32)), ("zero point", f"{qparams.zero_point}{middle}")]


# -- quantize ----------------------------------------------------------------------------------------------------------


@steps.register
def _quantize_steps(unit: AffineQuantizeUnit, inputs: Sequence[int]) -> Rows:
    run, qparams = recording(), parameters(inputs[1:], unit.affine)
    (code,) = unit.computed(run, inputs, _MORE_BITS)
    x: Value = run.first(read, "value").value
    flushed = ", flushed to zero" if x != decoder(unit.values)(inputs[0]) else ""
    rows = [
        ("value", describe(inputs[0], unit.values) + flushed),
        *_parameter_rows(qparams, unit.affine),
        ("affine rule", rule_text(unit.rule)),
    ]
    if x.kind in (NAN, INF):
        rows.append(("special", f"NaN: nan = {unit.rule.nan}" if x.kind == NAN else f"infinity: inf = {unit.rule.inf}"))
    else:
        rows += _rounding_rows(unit, run)
    return [*rows, ("result", integer_text(code, unit.affine)), *_error_rows(unit, x, code, qparams)]


def _rounding_rows(unit: AffineQuantizeUnit, run: Traced) -> Rows:
    """The quotient, as the rule computes it, the zero point, the rounding, and the clamp."""
    rows, rounding = _rows_before_rounding(unit.rule, run), run.first(rounded)
    value, word, to = rounding.args
    if value.kind == INF:
        return [*rows, ("clamp", "the product overflows FP32: clamped to the end of the range")]
    explained = explain_conversion(value, to.fmt, to.policy, word if to.policy.random_count else None)
    rows += [("rounding" if k == "rule" else k, v) for k, v in explained.rows if k in _ROUNDING_LABELS]
    q, added, fmt = run.first(clamped).args
    rows.append(("rounded", str(q)))
    if unit.rule.order == "outside":
        rows.append(("sum", f"{q + added}, zero point added outside the rounding"))
    return [*rows, ("clamp", _clamp_text(q + added, fmt))]


def _rows_before_rounding(rule: Rule, run: Traced) -> Rows:
    """The steps up to the number to be rounded."""
    number = run.first(before_rounding)
    x, scale, _, _, bits = number.args
    product = run.last(divided_in_fp32 if rule.arithmetic == "fp32-division" else by_reciprocal)
    if rule.arithmetic == "exact":
        rows = [("quotient", _number(exact.divide(x, scale, bits)))]
    elif rule.arithmetic == "fp32-division" and product is not None:
        rows = [("quotient", f"{_number(product)}, rounded to FP32")]
    else:
        rows = [("reciprocal", f"{_number(run.first(reciprocal).value)}, 1 / scale rounded to FP32")]
    if rule.arithmetic == "fp32" and product is not None:
        rows.append(("product", f"{_number(product)}, rounded to FP32"))
    if rule.order == "inside" and (product is None or product.kind != INF):
        how = f"zero point added inside the rounding{_SUM_ROUNDINGS[rule.arithmetic]}"
        rows.append(("sum", f"{_number(number.value)}, {how}"))
    return rows


def _clamp_text(q: int, fmt: AffineFormat) -> str:
    if fmt.lowest <= q <= fmt.highest:
        return f"none: within {fmt.lowest} to {fmt.highest}"
    return (
        f"below the smallest integer, {fmt.lowest}" if q < fmt.lowest else f"above the largest integer, {fmt.highest}"
    )


def _error_rows(unit: AffineQuantizeUnit, x: Value, code: int, qparams: Parameters) -> Rows:
    """The value of the integer, and its error."""
    restored = dequantize_value(integer(code, unit.affine), qparams)
    rows = [("restored", describe(restored, FP32))]
    if not x.is_finite:
        return rows
    scale = decoder(FP32)(qparams.scale).as_fraction()
    error = integer(code, unit.affine) - qparams.zero_point - x.as_fraction() / scale
    return [*rows, ("error", f"{_steps_text(error)} steps" if error else "none")]


def _steps_text(error: Fraction) -> str:
    x = exact.from_fraction(error, _MORE_BITS)
    near = float(x)
    return hexadecimal(x) if math.isinf(near) or not near else f"{near:+.6g}"


def _number(x: Value) -> str:
    """A number; with its first decimals if it is cut."""
    near = float(x)
    return f"{near:.12g} ({hexadecimal(x)})" if x.sticky and near and not math.isinf(near) else value_text(x)


@alternatives.register
def _quantize_alternatives(unit: AffineQuantizeUnit, inputs: Sequence[int], got: Sequence[int]) -> list[Change]:
    """The unit itself; the named rules and the changes of one choice; changes of two."""
    single = [{"rule": name} for name, r in RULES.items() if r != unit.rule] + list(_single_changes(unit))
    return matching_changes(unit, inputs, got, single, _exclusive, _gives)


def _single_changes(unit: AffineQuantizeUnit) -> Iterator[Change]:
    for field in _RULE_FIELDS:
        yield from ({field: choice} for choice in CHOICES[field] if choice != getattr(unit.rule, field))
    current = rounding_name(unit.policy.rounding)
    yield from ({"rounding": mode} for mode in DETERMINISTIC if mode != current)
    yield {"flush_inputs": "off" if unit.policy.flush_inputs else "on"}


def _exclusive(first: Change, second: Change) -> bool:
    """Whether two changes are of the same field, or of a rule and one of its fields."""
    keys = {*first, *second}
    return len(keys) == 1 or ("rule" in keys and not keys & {"rounding", "flush_inputs"})


def _gives(unit: AffineQuantizeUnit, change: Change, inputs: Sequence[int], got: Sequence[int]) -> bool:
    """Whether the changed unit gives the answer."""
    with suppress(Error):
        return tuple(_changed(unit, change).answer(_without_word(unit, change, inputs))) == tuple(got)
    return False


def _changed(unit: AffineQuantizeUnit, change: Change) -> AffineQuantizeUnit:
    rule = RULES[change["rule"]] if "rule" in change else unit.rule
    policy = unit.policy
    if "rounding" in change:
        policy = policy.replace(rounding=change["rounding"], sr_bits=None)
    if "flush_inputs" in change:
        policy = policy.replace(flush_inputs=change["flush_inputs"] == "on")
    fields = {k: v for k, v in change.items() if k in _RULE_FIELDS}
    return dataclasses.replace(unit, rule=rule.replace(**fields), policy=policy)


def _without_word(unit: AffineQuantizeUnit, change: Change, inputs: Sequence[int]) -> Sequence[int]:
    return inputs[: unit.operand_width] if "rounding" in change else inputs


def rule_text(rule: Rule) -> str:
    """A rule in the notation of `get_rule`: its name, or the fields in which it differs from `exact`."""
    with suppress(Error):
        if get_rule(rule.name) == rule:
            return rule.name
    changes = (f"{k}={v}" for k in CHOICES if (v := getattr(rule, k)) != getattr(RULES["exact"], k))
    return ",".join(["exact", *changes])


# -- dequantize --------------------------------------------------------------------------------------------------------


def _recorded(unit: AffineDequantizeUnit, inputs: Sequence[int]) -> Traced:
    run = recording()
    unit.answered(run, inputs)
    return run


@steps.register
def _dequantize_steps(unit: AffineDequantizeUnit, inputs: Sequence[int]) -> Rows:
    run = _recorded(unit, inputs)
    product, (code,) = run.first(times_scale), run.first(answer).value
    explained = explain_conversion(product.value, FP32, get_policy(None), None)
    return [
        ("integer", integer_text(inputs[0], unit.affine)),
        *_parameter_rows(parameters(inputs[1:], unit.affine), unit.affine),
        ("steps", f"{product.args[0]}: integer - zero point"),
        ("product", f"{value_text(product.value)}, steps * scale"),
        *((k, v) for k, v in explained.rows if k in (*_ROUNDING_LABELS, "overflow")),
        ("result", describe(code, FP32)),
    ]


@alternatives.register
def _dequantize_alternatives(unit: AffineDequantizeUnit, inputs: Sequence[int], got: Sequence[int]) -> list[Change]:
    """The unit itself; other roundings of the product."""
    if tuple(unit.answer(inputs)) == tuple(got):
        return [{}]
    product = _recorded(unit, inputs).first(times_scale).value
    answers = ((mode, encoder(FP32, get_policy(None, rounding=mode))(product, 0)[0]) for mode in DETERMINISTIC)
    return [{"rounding": mode} for mode, code in answers if [code] == list(got)]
