"""Normalizations: RMS norm and layer norm.

rms_norm(x)_j = x_j / sqrt(mean(x^2) + epsilon) * gain_j; layer_norm(x)_j = (x_j - mean(x)) / sqrt(variance(x) +
epsilon) * gain_j + bias_j, with the variance over n. Both are a rational number, times the root of another, plus a
third: integer square roots give their bits and the sticky bit, and say whether a result is exact. No interval is
narrowed.

Special cases follow from the formula step by step, as IEEE 754 has its operations: an infinite x makes its own lane of
rms_norm Inf / Inf, which is invalid, and the others 0; it makes all lanes of layer_norm invalid, as x - mean is. Zeros
without an epsilon are 0 / 0. A NaN in any lane of x is the result of all; one in gain or bias that of its lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.operations.table import INVALID_OPERATION, Outcome, nan_operand
from softfloat_ref.oracle.vector_functions.table import (
    FunctionSetting,
    Lanes,
    OperandValues,
    Parameter,
    vector_function,
)

ONE = exact.finite(0, 1, 0)
_X = Parameter("x", "length")
_GAIN = Parameter("gain", "length", "affine")
_BIAS = Parameter("bias", "length", "affine")


class Root(NamedTuple):
    """A normalized number: (-1)^sign * factor * sqrt(numerator / denominator). A zero has the factor 0."""

    sign: int
    factor: int
    numerator: int
    denominator: int


@vector_function("rms_norm", "x over the root of the mean of x^2 + epsilon, times gain", _X, _GAIN, epsilon=True)
def _rms_norm(setting: FunctionSetting, operands: OperandValues) -> Lanes:
    x = operands["x"]
    if any(v.kind != FINITE for v in x):
        normal: list[Root | None] = [None if v.kind != FINITE else Root(v.sign, 0, 1, 1) for v in x]
    else:
        at = exact.aligned(x)
        normal = _normalized(at.integers, [v.sign for v in x], at.exponent, len(x), len(x), setting)
    return _scaled(setting, operands, normal)


@vector_function(
    "layer_norm",
    "x minus the mean, over the root of the variance + epsilon, times gain, plus bias",
    _X,
    _GAIN,
    _BIAS,
    epsilon=True,
    centred=True,
)
def _layer_norm(setting: FunctionSetting, operands: OperandValues) -> Lanes:
    x, n = operands["x"], len(operands["x"])
    normal: list[Root | None] = [None] * n
    if all(v.kind == FINITE for v in x):
        at = exact.aligned(x)
        total = sum(at.integers)
        centred = [n * v - total for v in at.integers]  # n times the differences
        signs = [int(v < 0) if v else setting.zero_sign for v in centred]
        normal = _normalized(centred, signs, at.exponent, n, n**3, setting)
    return _scaled(setting, operands, normal)


def _normalized(
    values: Sequence[int], signs: Sequence[int], exponent: int, times: int, share: int, setting: FunctionSetting
) -> list[Root | None]:
    """Each value over the root of (sum of squares / times + epsilon * share / times), all values being in units of
    2^exponent; None for 0 / 0."""
    p, q = setting.epsilon.numerator, setting.epsilon.denominator
    squares = sum(v * v for v in values) * q
    numerator, denominator = times * q, squares
    if exponent < 0:
        denominator += p * share << -2 * exponent
    else:
        numerator, denominator = numerator << 2 * exponent, (squares << 2 * exponent) + p * share
    if not denominator:
        return [None] * len(values)
    return [Root(sign, abs(v), numerator, denominator) for v, sign in zip(values, signs, strict=True)]


def _scaled(setting: FunctionSetting, operands: OperandValues, normal: Sequence[Root | None]) -> Lanes:
    """Normalized numbers times gain, plus bias; None for an invalid one."""
    x = operands["x"]
    gains, biases = operands.get("gain"), operands.get("bias")
    nan = nan_operand(setting.nan_rule, x) if any(v.kind == NAN for v in x) else None
    results: Lanes = []
    for i, root in enumerate(normal):
        if setting.wanted is not None and i not in setting.wanted:
            results.append(INVALID_OPERATION)
            continue
        own = [values[i] for values in (gains, biases) if values is not None]
        if any(v.kind == NAN for v in own):
            results.append(nan_operand(setting.nan_rule, own if nan is None else [*x, *own]))
            continue
        if nan is not None:
            results.append(nan)
            continue
        gain, bias = ONE if gains is None else gains[i], None if biases is None else biases[i]
        results.append(INVALID_OPERATION if root is None else _lane(setting, root, gain, bias))
    return results


def _lane(setting: FunctionSetting, root: Root, gain: Value, bias: Value | None) -> Outcome:
    sign = root.sign ^ gain.sign
    if gain.kind == INF:
        if not root.factor or (bias is not None and bias.kind == INF and bias.sign != sign):
            return INVALID_OPERATION
        return exact.inf(sign), 0
    if bias is not None and bias.kind == INF:
        return bias, 0
    if not root.factor or not gain.significand:
        product = exact.zero(sign)
        return product if bias is None else exact.add(product, bias, setting.zero_sign), 0
    part = _times(root, gain)._replace(sign=sign)
    if bias is None or not bias.significand:
        number = exact.root_of_ratio(part.factor**2 * part.numerator, part.denominator, setting.bits)
        return number._replace(sign=sign), 0
    return _sum(part, bias, setting), 0


def _times(root: Root, gain: Value) -> Root:
    """A root times a number that is not zero."""
    shift = gain.exponent
    factor = root.factor * gain.significand
    if shift >= 0:
        return root._replace(factor=factor << shift)
    return root._replace(factor=factor, denominator=root.denominator << -2 * shift)


def _sum(root: Root, bias: Value, setting: FunctionSetting) -> Value:
    """A root that is not zero, plus a number that is not zero: its leading bits and a sticky bit."""
    square, k = root.factor**2 * root.numerator, max(0, -bias.exponent)
    above = exact.finite(0, bias.significand**2, 2 * bias.exponent)  # the square of the bias
    order = exact.compare_ratio(square, root.denominator, above)
    same = root.sign == bias.sign
    if not same and not order:
        return exact.zero(setting.zero_sign)
    sign = root.sign if order >= 0 else bias.sign
    while True:  # the sum is not zero, so some k has enough bits of it
        addend = bias.significand << bias.exponent + k
        part, inexact = exact.integer_root(square << 2 * k, root.denominator)
        apart = part - addend if order > 0 else addend - part - inexact
        total = addend + part if same else apart
        if total.bit_length() >= setting.bits or not inexact:
            return Value(FINITE, sign, total, -k, inexact)
        k += max(setting.bits - total.bit_length(), k // 2)
