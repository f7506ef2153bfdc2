"""What the compiled loop of functions needs beside a function's segments, as integers computed by the scalar oracle."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels import opcodes as oc
from softfloat_ref.arrays.kernels import segments as sg
from softfloat_ref.arrays.kernels.op_plans import Table, class_of, field_rows, is_plain, representatives, signed_word
from softfloat_ref.base.errors import Undefined
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encoder, target
from softfloat_ref.oracle.flags import INVALID
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import Signature, context, evaluator
from softfloat_ref.oracle.operations.table import Loop
from softfloat_ref.oracle.policies import Policy

_MAX_OPERAND_BITS: Final = 53  # of a significand, so that binary64 holds a place within a segment
_MAX_PREFIX_BITS: Final = 42  # of the prefix that a rounding needs: more would often leave the answer to the oracle
_MAX_BITS: Final = 62


class FunctionPlan(NamedTuple):
    """The arguments of kernels/functions.evaluate that precede the operand."""

    numbers: Table
    fields: Table
    layouts: Table
    table: Table
    targets: Table
    starts: Table
    binades: Table
    whole: Table
    parts: NDArray[np.float64]


@lru_cache(maxsize=64)
def function_plan(sig: Signature, policy: Policy) -> FunctionPlan | None:
    """The plan of a function, or None if the compiled loop does not support its formats."""
    if sig.operation.loop is not Loop.SEGMENTS or not (_operand_fits(sig.formats[0]) and _result_fits(sig, policy)):
        return None
    known_rows = field_rows(sig.formats[0], policy.flush_inputs and sig.operation.flushes)
    if known_rows is None:
        return None
    rows, layout = known_rows
    known = sg.segments(sig.operation)
    numbers, binades = _numbers(sig, policy), known.binades
    if numbers[oc.OUTSIDE_FLAGS] == oc.UNKNOWN:
        binades = np.where(binades == sg.OUTSIDE, sg.ASK, binades)
    targets = np.array([[signed_word(x) for x in target(sig.out, policy)]], np.int64)
    layouts = np.array([[0, *layout]], np.int64)
    starts = _starts(rows, layout, binades)
    whole, parts = _whole(known.whole), np.vstack([known.parts, np.zeros(sg.DEGREE + 1)])
    return FunctionPlan(numbers, rows, layouts, _table(sig, policy), targets, starts, binades, whole, parts)


def _whole(rows: Table) -> Table:
    """Of each segment, and of the last one, which decides nothing, columns PLAN_*."""
    rows = np.vstack([rows, (0, 0, 0, sg.UNBOUNDED, sg.UNBOUNDED)])
    whole = np.empty((len(rows), 4), np.int64)
    whole[:, oc.PLAN_LOW] = rows[:, sg.BASE] - rows[:, sg.BELOW]
    whole[:, oc.PLAN_SPAN] = rows[:, sg.BELOW] + rows[:, sg.ABOVE] - 1
    whole[:, oc.PLAN_MULTIPLE], whole[:, oc.PLAN_UNIT] = rows[:, sg.MULTIPLE], rows[:, sg.UNIT]
    return whole


def _starts(rows: Table, layout: tuple[int, int, int], binades: Table) -> Table:
    """Where the segments of a field's numbers are, if the field alone tells: rows START_*."""
    mask = layout[1]
    starts = np.zeros((3, len(rows)), np.int64)
    starts[oc.START_FIRST] = sg.ASK
    for column, (base, factor, exponent, kind) in enumerate(rows.tolist()):
        if kind >= oc.FIRST_SPECIAL or not base or (mask and (base, factor) != (mask + 1, 1)):
            continue
        size = base.bit_length()
        first, steps, flip = binades[kind & 1, exponent + size - 1 - sg.LEAST].tolist()
        if first > sg.ASK:
            starts[:, column] = first, base << sg.WIDTH - size, sg.LEFT + steps | flip << 6
    return starts


def _operand_fits(fmt: Format) -> bool:
    if fmt.width > 64 or (fmt.precision if fmt.exponent_bits else fmt.width) > _MAX_OPERAND_BITS:
        return False
    decode = decoder(fmt)
    tops = [exact.top(x) for x in map(decode, (max(fmt.min_code, 1 - int(fmt.gap)), fmt.max_code)) if x.significand]
    return min(tops) >= sg.LEAST and max(tops) + int(fmt.twos_complement) < sg.LEAST + sg.BINADES


def _result_fits(sig: Signature, policy: Policy) -> bool:
    """Whether the loop's integers hold the prefix, and whether results beyond 2^FAR, or below 2^-FAR, are beyond the
    format, also for its random bits."""
    out, bits = sig.out, context(sig, policy).bits
    t = target(out, policy)
    if out.width > _MAX_BITS or bits > _MAX_PREFIX_BITS or (out.gap and bits + out.precision > _MAX_BITS):
        return False
    return t.emax < sg.FAR and t.emin - t.mantissa_bits - policy.random_count - 1 > -sg.FAR


def _numbers(sig: Signature, policy: Policy) -> Table:
    numbers = np.zeros(oc.NUMBERS, np.int64)
    numbers[oc.BITS], numbers[oc.PLAIN] = context(sig, policy).bits, is_plain(target(sig.out, policy))
    try:
        code, flags = encoder(sig.out, policy)(exact.GENERATED, 0)
        numbers[oc.OUTSIDE_CODE], numbers[oc.OUTSIDE_FLAGS] = signed_word(code), flags | INVALID
    except Undefined:
        numbers[oc.OUTSIDE_FLAGS] = oc.UNKNOWN
    return numbers


def _table(sig: Signature, policy: Policy) -> Table:
    """The action for each class of operands: the oracle's result, if all that represent the class have it."""
    fmt = sig.formats[0]
    flush = policy.flush_inputs and sig.operation.flushes
    run, decode = evaluator(sig, policy), decoder(fmt, flush)
    table = np.zeros((oc.CLASSES, 3), np.int64)
    for kind, codes in enumerate(representatives(fmt, flush)):
        if oc.FINITE_CLASS <= kind < oc.FIRST_SPECIAL:
            table[kind] = oc.COMPUTE, 0, 0
            continue
        answers = set()
        for code in codes:
            assert class_of(decode(code)) == kind
            try:
                answers.add(run((code,), 0))
            except Undefined:
                answers.add((0, oc.UNKNOWN))
        keeps_payload = kind >= oc.QUIET_CLASS and policy.nan_rule.propagate != "no"
        if len(answers) == 1 and not keeps_payload and not policy.random_count:
            (answer,) = answers
            table[kind] = oc.CONSTANT, signed_word(answer[0]), answer[1]
    return table
