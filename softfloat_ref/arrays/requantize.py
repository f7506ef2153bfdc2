"""Requantization of arrays: the oracle's computation, with each of its steps done for whole arrays of int64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays import convert
from softfloat_ref.arrays.block_layout import check_axis
from softfloat_ref.arrays.kernels.dispatch import use_compiled
from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.oracle import requantization_steps as steps
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.requantization import RequantizeRule, get_rule
from softfloat_ref.oracle.requantization_steps import Operands, Scaled, Shifts
from softfloat_ref.oracle.rounding import round_shift
from softfloat_ref.oracle.steps import PLAIN, Do, Function

_SAFE: Final = 62  # bits of magnitudes, with which every step fits int64
_EXACT: Final = 53  # bits that float64 holds
_PARTS: Final = 30  # significand bits of scales, at least

Integers = NDArray[np.int64]


def requantize(
    accumulators: ArrayLike,
    multiplier: ArrayLike,
    shift: ArrayLike | None = None,
    zero_point: ArrayLike = 0,
    *,
    to: str | Format = "i8",
    fmt: str | Format = "i32",
    rule: str | RequantizeRule = "single",
    axis: int | None = None,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
) -> Any:
    """Accumulators times a scale, plus a zero point, as integers of a format, by a rule.

    multiplier: with `shift`, an integer; of a rule with a float scale, the scale, without a shift. Each of the
    parameters is one number, or one for each index of `axis`, the channels; without `axis` they broadcast. to: the
    format of the result, fmt: of the accumulators. low, high: an activation's range. Raises Error for numbers that do
    not fit, and where the rule has no result.
    """
    chosen, source, out = get_rule(rule), get_format(fmt), get_format(to)
    if chosen.has_shift == (shift is None):
        need = "needs a multiplier and a shift" if chosen.has_shift else "takes a scale, without a shift"
        raise Error(f"requantization rule {chosen.name} {need}")
    sums = _integers(accumulators, source, "accumulators")
    shape = _channels(sums, axis)
    least, most = -out.sign_bit, out.max_code
    multipliers = _integers if chosen.has_shift else _scales
    numbers = [
        multipliers(_spread(multiplier, shape), chosen.multiplier_format, "multiplier"),
        _integers(_spread(0 if shift is None else shift, shape), chosen.shift_format, "shift"),
        *(_integers(_spread(x, shape), out, name) for name, x in (("zero_point", zero_point),
          ("low", least if low is None else low), ("high", most if high is None else high))),
    ]  # fmt: skip
    try:
        operands = np.broadcast_arrays(sums, *numbers)
    except ValueError:
        raise Error(f"the parameters cannot be broadcast to the accumulators, of shape {sums.shape}") from None
    if operands[0].shape != sums.shape:
        raise Error(f"the parameters have shape {operands[0].shape}, the accumulators {sums.shape}")
    flat = [x.reshape(-1) for x in operands]
    try:
        compiled = computed(Operands(*cast(Any, flat)), chosen, source)
        values = np.array(
            list(map(_one(chosen, source), *(x.tolist() for x in flat))) if compiled is None else compiled
        )
    except Undefined as e:
        raise Error(f"no result is defined: {e}") from None
    return values.astype(_dtype(out)).reshape(sums.shape)


def _one(rule: RequantizeRule, fmt: Format) -> Callable[..., int]:
    """The oracle's answer to one case of numbers."""

    def one(*numbers: int) -> int:
        x = Operands(*numbers)
        steps.defined(x, rule)
        return steps.requantized(PLAIN, x, rule, fmt)

    return one


def _dtype(fmt: Format) -> np.dtype[Any]:
    """The smallest type of numpy that holds the integers of a format."""
    unsigned = convert.code_dtype(fmt)
    return np.dtype(f"i{unsigned.itemsize}") if fmt.signed else unsigned


def _channels(sums: Integers, axis: int | None) -> tuple[int, ...] | None:
    """The shape of one number for each channel; None without channels."""
    if axis is None:
        return None
    at = check_axis(sums, axis)
    return tuple(n if i == at else 1 for i, n in enumerate(sums.shape))


def _spread(x: ArrayLike, shape: tuple[int, ...] | None) -> NDArray[Any]:
    array = np.asarray(x)
    if shape is None or array.ndim == 0:
        return array
    if array.ndim != 1 or array.size != max(shape):
        raise Error(f"give one parameter for each of the {max(shape)} channels, not an array of shape {array.shape}")
    return array.reshape(shape)


def _integers(x: ArrayLike, fmt: Format, name: str) -> Integers:
    """Integers of a format. Raises Error."""
    array = np.asarray(x)
    if array.size and array.dtype.kind not in "iu":
        raise Error(f"{name} must be integers, not {array.dtype}")
    if array.size and not (-fmt.sign_bit <= int(array.min()) and int(array.max()) <= fmt.max_code):
        raise Error(f"{name} must fit {fmt.name}; there are {array.min()} to {array.max()}")
    if fmt.width == 64 and not fmt.signed:
        raise Error(f"arrays of {name} have at most 63 bits")
    return array.astype(np.int64)


def _scales(x: ArrayLike, fmt: Format, name: str) -> NDArray[Any]:
    """The codes of scales, rounded to their format."""
    return np.asarray(convert.encode(np.asarray(x), fmt)).astype(np.int64)


# -- the computation ---------------------------------------------------------------------------------------------------


def evaluate(unit: Any, rows: NDArray[np.uint64]) -> NDArray[np.uint64] | None:
    """The codes of a unit's results for rows of codes; None if a case has no result, or not all fit int64."""
    numbers = {name: np.full(len(rows), x, np.int64) for name, x in unit.fixed_numbers.items()}
    for k, f in enumerate(unit.inputs):
        if f.width > _SAFE + 1:
            return None
        numbers[f.name] = _signed(rows[:, k].astype(np.int64), f.fmt)
    try:
        result = computed(unit.of_numbers(numbers), unit.rule, unit.accumulator)
    except Undefined:
        return None
    mask = np.uint64((1 << unit.out.width) - 1)
    return None if result is None else (result.astype(np.uint64) & mask)[:, np.newaxis]


def _signed(codes: Integers, fmt: Format) -> Integers:
    return steps.operand_value(codes, fmt) if fmt.is_integer else codes  # type: ignore[arg-type, return-value]


def computed(x: Operands, rule: RequantizeRule, accumulator: Format) -> Integers | None:
    """The results for arrays of numbers; None if not all steps fit int64. Raises Undefined if a case has no result."""
    if not _fits(x, rule, accumulator):
        return None
    _check(x, rule)
    try:
        return cast(Integers, steps.requantized(_IN_ARRAYS, x, rule, accumulator))
    except OverflowError:
        return None


def _fits(x: Operands, rule: RequantizeRule, accumulator: Format) -> bool:
    """Whether products and register fit int64; shifts are looked at when they are done."""
    if rule.order == "inside" and rule.arithmetic == "exact":
        return False
    fmt, width = rule.multiplier_format, rule.register(accumulator)
    if fmt.is_integer:
        bits = max(accumulator.width, width if rule.left != "together" else 0) + fmt.width - rule.reduced - 2
        most = int(np.max(x.shift, initial=0))
        return bits <= _SAFE and most <= _SAFE and width <= _SAFE and _left_fits(rule, accumulator)
    small = fmt.precision <= 24 and fmt.exponent_bits <= 8
    return small and accumulator.width <= (32 if rule.arithmetic == "exact" else _EXACT)


def _left_fits(rule: RequantizeRule, accumulator: Format) -> bool:
    """Whether every accumulator can be shifted to the left by every shift."""
    return rule.left == "together" or accumulator.width + max(rule.most_shift, -rule.least_shift) <= _SAFE + 1


def _check(x: Operands, rule: RequantizeRule) -> None:
    """`defined`, of all cases."""
    undefined = np.asarray(x.low > x.high)
    if rule.has_shift:
        undefined |= np.asarray((x.shift < rule.least_shift) | (x.shift > rule.most_shift))
        if rule.negative == "undefined":
            undefined |= np.asarray(x.multiplier < 0)
        if rule.range == "shift":
            power = np.left_shift(1, np.maximum(x.shift, 1) - 1)
            undefined |= (x.accumulator < -power) | (x.accumulator >= power)
    if undefined.any():
        at = int(np.argmax(undefined))
        steps.defined(Operands(*(int(part[at]) for part in x)), rule)  # type: ignore[index]


def _rounded(x: Integers, bits: Any, mode: int) -> Integers:
    """x / 2^bits, rounded. Raises OverflowError for a shift to the left that does not fit."""
    by = np.broadcast_to(np.asarray(bits, np.int64), x.shape)
    if (by < 0).any():
        room = np.where(by < 0, _SAFE + by, _SAFE)
        if ((room < 0) & (x != 0)).any() or (np.abs(x) >> np.clip(room, 0, _SAFE) != 0).any():
            raise OverflowError
    x = np.where(by > _SAFE + 1, np.sign(x), x)  # less than half of an integer, as before
    by, out = np.where(x == 0, 0, np.minimum(by, _SAFE + 1)), np.empty(x.shape, np.int64)
    if use_compiled(x.size):
        from softfloat_ref.arrays.kernels.shifts import round_shifts

        round_shifts(np.ascontiguousarray(x), by, mode, out)
    else:
        out[:] = [round_shift(n, b, mode) for n, b in zip(x.tolist(), by.tolist(), strict=True)]
    return out


def _last(x: Integers, bits: Any, added: int, mode: int) -> Integers:
    return _rounded(x, bits, mode)  # nothing is added inside


def _fitted(x: Integers, width: int, how: str) -> Integers:
    """`fitted`, of all."""
    least, most = -1 << (width - 1), (1 << (width - 1)) - 1
    if how == "exact":
        return x
    if how == "saturated":
        return np.clip(x, least, most)
    if how == "undefined" and ((x < least) | (x > most)).any():
        raise Undefined(f"a result that does not fit {width} bits")
    return ((x - least) & ((1 << width) - 1)) + least


def _early(product: Integers, bits: Any, width: int) -> Integers:
    if np.min(bits, initial=1) < 1:
        raise OverflowError
    x = _fitted(product >> np.minimum(bits - 1, 63), width, "wrapped")
    if (x == (1 << (width - 1)) - 1).any():
        raise Undefined("one more than the largest number of the register")
    return x


def _shifts(shift: Integers, rule: RequantizeRule) -> Shifts:
    """What shifts say, found once for each."""
    distinct, inverse = np.unique(shift, return_inverse=True)
    table = np.array([steps.shifts(int(x), rule) for x in distinct], np.int64).reshape(-1, 3)
    return Shifts(*(cast(Any, table[:, k][inverse.reshape(-1)]) for k in range(3)))


def _scaled(n: Integers, scale: Integers, added: Any, rule: RequantizeRule) -> Scaled:
    """The accumulators times scales of at most 24 bits; in float64, whose products of these are exact."""
    fmt = rule.multiplier_format
    values = convert.decode_float64(scale.astype(np.uint64), fmt)
    if not (np.isfinite(values) & (values > 0)).all():
        raise Undefined("a scale must be a positive finite number")
    if rule.arithmetic == "exact":
        parts, exponent = np.frexp(values)
        return Scaled(cast(Any, n * (parts * 2.0**_PARTS).astype(np.int64)), cast(Any, _PARTS - exponent))
    in_steps = convert.through_fp32 if rule.arithmetic == "fp32" else np.asarray
    product = in_steps(in_steps(n.astype(np.float64)) * values)
    if rule.order == "inside":
        product = in_steps(product + added)
    if np.isinf(product).any():
        raise OverflowError
    parts, exponent = np.frexp(product)
    return Scaled(cast(Any, (parts * 2.0**_EXACT).astype(np.int64)), cast(Any, _EXACT - exponent))


_FORMS: Final[dict[Function, Function]] = {
    steps.shifts: _shifts,
    steps.reduced: lambda m, bits, width: np.minimum((m + (1 << (bits - 1))) >> bits, (1 << (width - 1 - bits)) - 1),
    steps.shifted_left: lambda x, by, width, how: _fitted(x << by, width, how),
    steps.multiplied: lambda x, m: x * m,
    steps.first_rounded: _rounded,
    steps.high_part: _fitted,
    steps.last_rounded: _last,
    steps.early_register: _early,
    steps.in_register: _fitted,
    steps.with_zero_point: lambda x, z, width, how: _fitted(x + z, width, how),
    steps.held: lambda x, low, high: np.minimum(np.maximum(x, low), high),
    steps.scaled: _scaled,
}


def _in_arrays(step: Function, /, *args: Any) -> Any:
    """A run whose steps are done for arrays."""
    return _FORMS[step](*args)


_IN_ARRAYS: Final = cast(Do, _in_arrays)
