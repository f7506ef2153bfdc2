"""Operations in steps: operands read, the exact result, rounded once. The same answers as `evaluator`, by the same
functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from softfloat_ref.oracle.codec import Decoder, decoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import Signature, appended_zeros, context, exactly
from softfloat_ref.oracle.operations.table import LETTERS, Context, Operation, Outcome
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding_steps import Destination, destination, read, rounded
from softfloat_ref.oracle.steps import Do, step

Coded = tuple[int, int]  # a code and flags


class OperationSetting(NamedTuple):
    """An operation under a policy, with everything resolved except the operands. codes: it works on codes. zeros: the
    zero bits that a conversion appends, if it does nothing else."""

    operation: Operation
    operands: tuple[tuple[str, Decoder, Format], ...]
    ctx: Context
    to: Destination
    codes: bool
    zeros: int | None


@lru_cache(maxsize=512)
def setting(sig: Signature, policy: Policy, more_bits: int = 0) -> OperationSetting:
    """The OperationSetting of an operation. more_bits: of quotients and roots, beyond those that rounding needs."""
    op, ctx = sig.operation, context(sig, policy)
    on_codes, flush = op.result in ("same", "class"), op.flushes and policy.flush_inputs
    operands = tuple((x, decoder(f, flush, policy.unnormals), f) for x, f in zip(LETTERS, sig.formats, strict=False))
    zeros = None if on_codes else appended_zeros(sig, policy)
    to = destination(sig.out, op.rounded_as(policy))
    return OperationSetting(op, operands, ctx._replace(bits=ctx.bits + more_bits), to, on_codes, zeros)


@step("on codes", "code and flags")
def on_codes(operation: Operation, ctx: Context, codes: Sequence[int]) -> tuple[int, int]:
    """The result of an operation that works on codes."""
    return operation.function(ctx, *codes)


@step("append zeros", "code")
def append_zeros(code: int, zeros: int) -> int:
    """A conversion that only makes the code longer."""
    return code << zeros


@step("random word", "word")
def random_word(r: int) -> int:
    """The random bits of a stochastic rounding."""
    return r


@step("exact", "value and flags")
def exact_result(operation: Operation, ctx: Context, values: Sequence[Value]) -> Outcome:
    """The exact result, special cases included, and the flags raised before rounding."""
    return exactly(operation, ctx, values)


def exactly_evaluated(do: Do, s: OperationSetting, inputs: Sequence[int]) -> tuple[Value, int, int]:
    """The exact result of an operation on values, the flags raised before rounding, and the random bits."""
    operation, operands, ctx, to, _, _ = s
    arity, r = len(operands), 0
    values = [do.at(name)(read, inputs[k], decode, fmt) for k, (name, decode, fmt) in enumerate(operands)]
    if to.policy.random_count:
        r = do(random_word, inputs[arity] if len(inputs) > arity else 0)
        ctx = ctx._replace(random_bits=r)
    value, flags = do(exact_result, operation, ctx, values)
    return value, flags, r


def evaluated(do: Do, s: OperationSetting, inputs: Sequence[int], known: tuple[Value, int, int] | None = None) -> Coded:
    """The code and the flags of an operation on codes, and random bits if there are more inputs than operands. known:
    what `exactly_evaluated` gives, if it is done."""
    if s.codes:
        return do(on_codes, s.operation, s.ctx, inputs[: len(s.operands)])
    if s.zeros is not None:
        return do(append_zeros, inputs[0], s.zeros), 0
    value, flags, r = exactly_evaluated(do, s, inputs) if known is None else known
    code, more = do(rounded, value, r, s.to)
    return code, flags | more
