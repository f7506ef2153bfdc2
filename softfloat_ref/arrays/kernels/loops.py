"""The compiled loop of dot products: runs a program of kernels/program.py over matrices of integers.

Several columns of the result are computed side by side (lanes), so that the processor stays busy while one rounding
waits for another. A number is a significand, a separate sign (for zeros), the exponent of its unit, and a kind. Results
that the loop cannot compute (a NaN that keeps its payload, a sum with too many bits) are marked in `special` and left
to the scalar oracle.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types
from numba.extending import intrinsic, register_jitable

from softfloat_ref.arrays.kernels.jit import compiled
from softfloat_ref.arrays.kernels.program import EXACT, FUSE, NONE
from softfloat_ref.oracle import rounding
from softfloat_ref.oracle.rounding import Target

# register_jitable marks the functions without replacing them: Python and the compiled loop share one source.
for _name in (
    "cut",
    "rounds_up",
    "goes_beyond",
    "is_tiny",
    "cut_in_gap",
    "position",
    "with_sign",
    "round_pack",
    "align",
):
    register_jitable(forceinline=True)(getattr(rounding, _name))
round_pack: Any = rounding.round_pack
align: Any = rounding.align

LIMB: Final = 30  # bits per limb of a wide sum: a limb shifted by less than a limb fits 63 bits
LIMBS: Final = 100
_MASK: Final = (1 << LIMB) - 1
LANES: Final = 8
_FLAT: Final = 61  # bits of a sum that needs no limbs


# Fields of a slot.
SIG: Final = 0
NEG: Final = 1
EXP: Final = 2  # exponent of the significand's unit
ENC: Final = 3  # the encoded exponent of the number
CUT: Final = 4  # sticky
EMPTY: Final = 5  # 1 if no nonzero number contributed
SCALE: Final = 6  # the exponent of its scales
KIND: Final = 7
COLUMNS: Final = 8
A_SCALE: Final = 3  # fields of an operand
A_KIND: Final = 4
NOTHING: Final = -(1 << 40)  # the exponent of an empty term
FINITE, INF, NAN = 0, 1, 2


@intrinsic
def _leading_zeros(context: Any, x: Any) -> Any:
    """The processor's count-leading-zeros instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], context.get_constant(types.boolean, False))

    return types.int64(types.int64), generate


@compiled(forceinline=True)
def length(x: int) -> int:
    """The number of bits of a nonnegative integer."""
    return 64 - _leading_zeros(x)  # type: ignore[call-arg]


@compiled(forceinline=True)
def make_target(t: Any, i: int) -> Any:
    """The Target in row i of a table of integers, as `round_pack` takes it."""
    return Target(
        t[i, 0], t[i, 1], t[i, 2], t[i, 3], t[i, 4], t[i, 5], t[i, 6], t[i, 7], t[i, 8],
        t[i, 9], t[i, 10], t[i, 11], t[i, 12], t[i, 13], t[i, 14], t[i, 15], t[i, 16], t[i, 17],
        t[i, 18], t[i, 19], t[i, 20], t[i, 21], t[i, 22], t[i, 23], t[i, 24],
    )  # fmt: skip


@compiled(forceinline=True)
def plain_target(t: Any, i: int) -> Any:
    """As `make_target`, for a target that has `opcodes.PLAIN_TARGET`: constants, with which the compiler drops the
    rules that do not apply."""
    return Target(
        0, 0, t[i, 2], t[i, 3], t[i, 4], t[i, 5], 0, 0, t[i, 8],
        t[i, 9], 1, t[i, 11], t[i, 12], 0, 0, t[i, 15], 1, t[i, 17],
        t[i, 18], t[i, 19], t[i, 20], t[i, 21], t[i, 22], t[i, 23], 0,
    )  # fmt: skip


@compiled()
def _add_limbs(limbs: Any, significand: int, negative: int, place: int) -> None:
    """Add significand * 2^place to the limbs, which may temporarily exceed LIMB bits or be negative."""
    at, shift = place // LIMB, place % LIMB
    rest = significand
    while rest:
        part = (rest & _MASK) << shift
        low, high = part & _MASK, part >> LIMB
        if negative:
            limbs[at] -= low
            limbs[at + 1] -= high
        else:
            limbs[at] += low
            limbs[at + 1] += high
        rest >>= LIMB
        at += 1


@compiled()
def _carry(limbs: Any, count: int) -> int:
    """Normalise the limbs; returns the carry out of the highest (-1 for a negative number)."""
    carry = 0
    for i in range(count):
        total = limbs[i] + carry
        limbs[i] = total & _MASK
        carry = total >> LIMB
    return carry


@compiled()
def _exact_sum(slots: Any, inputs: Any, first: int, count: int, limbs: Any, out: int, lane: int) -> bool:
    """Write the exact sum of slots to slot `out`; False if it has too many bits."""
    low, high = -NOTHING, NOTHING
    for i in range(first, first + count):
        s = inputs[i, 0]
        if slots[SIG, s, lane]:
            low = min(low, slots[EXP, s, lane])
            high = max(high, slots[EXP, s, lane] + length(slots[SIG, s, lane]))
    slots[SIG, out, lane], slots[EXP, out, lane], slots[CUT, out, lane] = 0, 0, 0
    if low > high:
        return True
    if high - low + length(count) <= _FLAT:
        total = 0
        for i in range(first, first + count):
            s = inputs[i, 0]
            if slots[SIG, s, lane]:
                value = slots[SIG, s, lane] << (slots[EXP, s, lane] - low)
                total += -value if slots[NEG, s, lane] else value
        slots[SIG, out, lane], slots[NEG, out, lane], slots[EXP, out, lane] = abs(total), 1 if total < 0 else 0, low
        return True
    used = (high - low + length(count)) // LIMB + 3
    if used > LIMBS:
        return False
    _wide_sum(slots, inputs, first, count, limbs, out, lane, low, used)
    return True


@compiled()
def _wide_sum(
    slots: Any, inputs: Any, first: int, count: int, limbs: Any, out: int, lane: int, low: int, used: int
) -> None:
    """An exact sum in several limbs; its lowest bit has the value 2^low."""
    limbs[:used] = 0
    for i in range(first, first + count):
        s = inputs[i, 0]
        if slots[SIG, s, lane]:
            _add_limbs(limbs, slots[SIG, s, lane], slots[NEG, s, lane], slots[EXP, s, lane] - low)
    negative = _carry(limbs, used) < 0
    if negative:
        for i in range(used):
            limbs[i] = -limbs[i]
        _carry(limbs, used)
    top = used - 1
    while top >= 0 and limbs[top] == 0:
        top -= 1
    if top < 0:
        return
    significand, at = limbs[top], top
    while at > 0 and length(significand) <= LIMB:
        at -= 1
        significand = significand << LIMB | limbs[at]
    sticky = 0
    for i in range(at):
        if limbs[i]:
            sticky = 1
    slots[SIG, out, lane], slots[NEG, out, lane] = significand, 1 if negative else 0
    slots[EXP, out, lane], slots[CUT, out, lane] = low + at * LIMB, sticky


@compiled()
def _special_sum(slots: Any, inputs: Any, first: int, count: int, out: int, lane: int) -> None:
    """A sum with a NaN or Inf among its terms: NaN or Inf."""
    signs, kind = 0, INF
    for i in range(first, first + count):
        s = inputs[i, 0]
        if slots[KIND, s, lane] == NAN:
            kind = NAN
        elif slots[KIND, s, lane] == INF:
            signs |= 1 << slots[NEG, s, lane]
    for column in range(COLUMNS):
        slots[column, out, lane] = 0
    slots[NEG, out, lane] = signs >> 1 & 1
    slots[KIND, out, lane] = NAN if signs == 3 else kind


@compiled()
def _zero_sign(slots: Any, inputs: Any, first: int, count: int, lane: int) -> int:
    """The sign of a zero sum: negative only if all terms are."""
    for i in range(first, first + count):
        if slots[NEG, inputs[i, 0], lane] == 0:
            return 0
    return 1


# Rows of the workspace of a Fuse; one column per lane.
LARGEST: Final = 0
SCALES: Final = 1
EMPTIES: Final = 2
SPECIAL: Final = 3
TOTAL: Final = 4
WORK: Final = 5


@compiled()
def _survey(slots: Any, inputs: Any, op: Any, work: Any, failed: Any, lanes: int) -> None:
    """Find what a Fuse needs to know before it adds: the largest exponent M and the kinds of the terms."""
    first, count = op[2], op[3]
    for lane in range(lanes):
        work[LARGEST, lane], work[SCALES, lane], work[EMPTIES, lane] = NOTHING, NOTHING, 0
        work[SPECIAL, lane], work[TOTAL, lane] = 0, 0
    for i in range(first, first + count):
        s = inputs[i, 0]
        for lane in range(lanes):
            work[LARGEST, lane] = max(work[LARGEST, lane], slots[ENC, s, lane])  # NOTHING for an empty term
            work[EMPTIES, lane] += slots[EMPTY, s, lane]
            work[SPECIAL, lane] |= slots[KIND, s, lane]
            failed[lane] |= slots[CUT, s, lane]  # set if an inner exact sum was unexpectedly wide
    if op[6]:
        for i in range(first, first + count):
            s = inputs[i, 0]
            for lane in range(lanes):
                if slots[EMPTY, s, lane] == 0:
                    work[SCALES, lane] = max(work[SCALES, lane], slots[SCALE, s, lane])
    for lane in range(lanes):
        if op[4] != NONE and (op[5] or work[EMPTIES, lane]):
            work[LARGEST, lane] = max(work[LARGEST, lane], op[4])
        elif work[EMPTIES, lane] == count:
            work[LARGEST, lane] = 0


@compiled()
def _fuse(slots: Any, inputs: Any, op: Any, limbs: Any, work: Any, failed: Any, lanes: int) -> None:
    """One Fuse, aligned or exact; sets `failed` if the loop cannot compute it."""
    out, first, count = op[1], op[2], op[3]
    _survey(slots, inputs, op, work, failed, lanes)
    for lane in range(lanes):
        slots[CUT, out, lane], slots[KIND, out, lane], slots[SCALE, out, lane] = 0, FINITE, 0
    if op[0] == EXACT:
        for lane in range(lanes):
            if not _exact_sum(slots, inputs, first, count, limbs, out, lane):
                failed[lane] = 1
    else:
        _aligned_sum(slots, inputs, op, work, lanes)
    for lane in range(lanes):
        if slots[SIG, out, lane] == 0:
            slots[NEG, out, lane] = _zero_sign(slots, inputs, first, count, lane)
        empty = work[EMPTIES, lane] == count
        encoded = work[SCALES, lane] if op[6] else work[LARGEST, lane]
        slots[ENC, out, lane] = NOTHING if empty else encoded
        slots[EMPTY, out, lane] = 1 if empty else 0
        if work[SPECIAL, lane]:
            _special_sum(slots, inputs, first, count, out, lane)


@compiled(forceinline=True)
def _aligned_sum(slots: Any, inputs: Any, op: Any, work: Any, lanes: int) -> None:
    """The sum of terms, each aligned to its own unit, in the finest of the units."""
    out, first, count, most = op[1], op[2], op[3], op[7]
    for i in range(first, first + count):
        s, bits, down, drop = inputs[i, 0], inputs[i, 1], inputs[i, 2], inputs[i, 3]
        for lane in range(lanes):
            largest = work[LARGEST, lane]
            if slots[ENC, s, lane] >= largest - drop:
                term, _ = align(slots[NEG, s, lane], slots[SIG, s, lane], slots[EXP, s, lane], 62, largest - bits, down)
                work[TOTAL, lane] += term << (most - bits)
    for lane in range(lanes):
        total = work[TOTAL, lane]
        slots[SIG, out, lane], slots[NEG, out, lane] = abs(total), 1 if total < 0 else 0
        slots[EXP, out, lane] = work[LARGEST, lane] - most


@compiled(forceinline=True)
def _decoded(
    slots: Any, at: int, lane: int, code: int, sign_bit: int, m: int, emin: int, inf_code: int, flush: int
) -> None:
    """Decode a code into a slot. flush: 1 makes subnormals zeros, 2 also makes zeros +0."""
    magnitude = code & (sign_bit - 1)
    field = magnitude >> m
    significand = magnitude & ((1 << m) - 1)
    kind = FINITE
    if field:
        significand |= 1 << m
    elif flush:
        significand = 0
    if magnitude >= inf_code:
        significand, kind = 0, INF if magnitude == inf_code else NAN
    empty = 1 if significand == 0 and kind == FINITE else 0
    exponent = emin - m + (field - 1 if field else 0)
    slots[SIG, at, lane], slots[KIND, at, lane] = significand, kind
    slots[NEG, at, lane] = 1 if code & sign_bit and (significand or kind or flush < 2) else 0
    slots[EXP, at, lane], slots[ENC, at, lane] = exponent, NOTHING if empty else exponent + m
    slots[EMPTY, at, lane], slots[CUT, at, lane], slots[SCALE, at, lane] = empty, 0, 0


@compiled()
def _round(slots: Any, op: Any, targets: Any, fmt: Any, positive: int, nan: int, codes: Any, lanes: int) -> None:
    """One rounding, to `codes`. nan: the code for a NaN."""
    source, index = op[2], op[4]
    target = make_target(targets, index)
    m, emin, inf_code = fmt[index, 0], fmt[index, 1], fmt[index, 2]
    for lane in range(lanes):
        significand = slots[SIG, source, lane]
        if slots[KIND, source, lane]:
            code = nan
            if slots[KIND, source, lane] == INF:
                code = inf_code | (target.sign_bit if slots[NEG, source, lane] else 0)
        elif significand:
            code, _ = round_pack(
                slots[NEG, source, lane],
                significand,
                slots[EXP, source, lane],
                length(significand),
                slots[CUT, source, lane],
                0,
                target,
            )
        else:
            code = target.sign_bit if slots[NEG, source, lane] else 0
        if positive and code == target.sign_bit:
            code = 0
        codes[lane] = code
        _decoded(slots, op[1], lane, code, target.sign_bit, m, emin, inf_code, 0)


@compiled()
def _products(
    slots: Any, a: Any, b: Any, i: int, j: int, start: int, count: int, shift: int, fixed: int, lanes: int
) -> None:
    """The products of a step, for finite numbers."""
    for p in range(count):
        at = start + p
        x, negative, exponent = a[SIG, i, at], a[NEG, i, at], a[EXP, i, at] + fixed
        for lane in range(lanes):
            significand = x * b[SIG, at, j + lane]
            unit = exponent + b[EXP, at, j + lane]
            slots[SIG, p, lane] = significand
            slots[NEG, p, lane] = negative ^ b[NEG, at, j + lane]
            slots[EXP, p, lane] = unit
            slots[ENC, p, lane] = unit + shift if significand else NOTHING
            slots[EMPTY, p, lane] = 0 if significand else 1
            slots[KIND, p, lane] = FINITE


@compiled()
def _scales(slots: Any, a: Any, b: Any, i: int, j: int, start: int, count: int, fixed: int, lanes: int) -> None:
    """The exponents of the scales of a step's products."""
    for p in range(count):
        for lane in range(lanes):
            slots[SCALE, p, lane] = a[A_SCALE, i, start + p] + b[A_SCALE, start + p, j + lane] + fixed


@compiled()
def _special_products(slots: Any, a: Any, b: Any, i: int, j: int, start: int, count: int, lanes: int) -> None:
    """The products of a step that are not finite."""
    for p in range(count):
        at = start + p
        for lane in range(lanes):
            x, y = a[A_KIND, i, at], b[A_KIND, at, j + lane]
            if x | y:
                zero = (x == FINITE and a[SIG, i, at] == 0) or (y == FINITE and b[SIG, at, j + lane] == 0)
                slots[KIND, p, lane] = NAN if x == NAN or y == NAN or zero else INF
                slots[SIG, p, lane], slots[EMPTY, p, lane], slots[ENC, p, lane] = 0, 0, 0


@compiled()
def _pad(slots: Any, first: int, end: int) -> None:
    """Set slots to +0: missing products of the last step, and the constant."""
    for p in range(first, end):
        for lane in range(LANES):
            for column in range(COLUMNS):
                slots[column, p, lane] = 0
            slots[EMPTY, p, lane], slots[ENC, p, lane] = 1, NOTHING


@compiled(nogil=True)
def dot_matrix(
    a: Any, b: Any, c: Any, shift: int, code: Any, inputs: Any, targets: Any, formats: Any, setting: Any, result: Any,
    out: Any, special: Any,
) -> None:  # fmt: skip
    """out[i, j]: the code of c[i, j] + the products of a[i] and b[:, j], step by step.

    a: (5, rows, k), b: (5, k, columns): significand, negative, exponent, exponent of the scale, kind. shift: turns a
    product's unit exponent into its encoded exponent. setting: step, slots, result slot, bits by which the result is
    widened, positive zeros, flush of the running result, fixed product exponent, position of the result's sign bit, NaN
    code (negative: left to the oracle), whether scales count, whether any operand is not finite. result: mantissa bits,
    emin and Inf code of the running result's format.
    """
    step, widen = setting[0], setting[3]
    positive, flush, fixed, nan, scales, kinds = setting[4], setting[5], setting[6], setting[8], setting[9], setting[10]
    slots = np.zeros((COLUMNS, setting[1], LANES), np.int64)
    _pad(slots, 0, step + 2)
    limbs, work = np.zeros(LIMBS + 4, np.int64), np.zeros((WORK, LANES), np.int64)
    codes, failed, running = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
    sign_bit = np.int64(1) << setting[7]
    k, last = a.shape[2], code.shape[0] - 1
    for j in range(0, b.shape[2], LANES):
        lanes = min(LANES, b.shape[2] - j)
        for i in range(a.shape[1]):
            failed[:] = 0
            for lane in range(lanes):
                running[lane] = c[i, j + lane]
            for start in range(0, k, step):
                count = min(step, k - start)
                _products(slots, a, b, i, j, start, count, shift, fixed, lanes)
                if scales:
                    _scales(slots, a, b, i, j, start, count, fixed, lanes)
                if kinds:
                    _special_products(slots, a, b, i, j, start, count, lanes)
                if count < step:
                    _pad(slots, count, step)
                for lane in range(lanes):
                    _decoded(slots, step, lane, running[lane], sign_bit, result[0], result[1], result[2], flush)
                for n in range(last + 1):
                    op = code[n]
                    if op[0] == FUSE or op[0] == EXACT:
                        _fuse(slots, inputs, op, limbs, work, failed, lanes)
                    else:
                        nan_code = nan >> widen if n == last else formats[op[4], 2] | 1
                        _round(slots, op, targets, formats, positive, nan_code, codes, lanes)
                for lane in range(lanes):
                    running[lane] = codes[lane] << widen
            for lane in range(lanes):
                is_nan = running[lane] & (sign_bit - 1) > result[2]
                out[i, j + lane] = nan if is_nan else running[lane]  # `running` lacks the NaN's low bits if widened
                special[i, j + lane] = 1 if failed[lane] or (nan < 0 and is_nan) else 0
