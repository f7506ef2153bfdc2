"""The operations, and `evaluate`: bits in, bits and flags out.

An operation is its special cases, in the standard's order, then one exact computation. It never rounds: it passes an
exact value to the encoder. To add one, add a row: a function with a decorator, in the module of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from softfloat_ref.base import assignments
from softfloat_ref.base.errors import Error, counted
from softfloat_ref.oracle.codec import FLAGS, Encoded, check_code, check_random, decoder, encoder, needed_bits
from softfloat_ref.oracle.exact import NAN, Value
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.operations import (  # noqa: F401  (their operations enter the table)
    arithmetic,
    estimates,
    modular,
    multiply_add,
    on_codes,
    order,
    predicates,
    projected,
    real_functions,
)
from softfloat_ref.oracle.operations.table import (
    LETTERS,
    OPERATIONS,
    Context,
    Operation,
    Outcome,
    get_operation,
    nan_operand,
)
from softfloat_ref.oracle.policies import Policy, Specials, get_policy
from softfloat_ref.oracle.rounding import RDN

__all__ = [
    "BOOLEAN",
    "CLASS",
    "OPERATIONS",
    "Context",
    "Evaluator",
    "Operation",
    "Signature",
    "context",
    "evaluate",
    "evaluator",
    "exactly",
    "format_names",
    "get_operation",
    "parse_formats",
    "signature",
    "unrounded",
    "zero_sign",
]

Evaluator = Callable[[Sequence[int], int], tuple[int, int]]
Unrounded = Callable[[Sequence[int], int], Outcome]

BOOLEAN: Final = get_format("u1")
CLASS: Final = get_format("u10")
INTEGER: Final = get_format("i32")  # of operands and results that are integers, by default


class Signature(NamedTuple):
    """An operation with its formats resolved."""

    operation: Operation
    formats: tuple[Format, ...]
    out: Format


def signature(
    op: str | Operation, fmt: str | Format | Sequence[str | Format], out: str | Format | None = None
) -> Signature:
    """Resolve an operation's formats: one for all operands (integer operands are then i32), or one per operand.

    Raises Error if they do not fit the operation.
    """
    operation = op if isinstance(op, Operation) else get_operation(op)
    if isinstance(fmt, str) and "=" in fmt:
        fmt = parse_formats(fmt, operation.arity, operation.name)
    if isinstance(fmt, (str, Format)):
        one = get_format(fmt)
        formats = tuple(one if kind == "float" or one.is_integer else INTEGER for kind in operation.operands)
    else:
        if not isinstance(fmt, Sequence):
            raise Error(f"give one format, or one for each operand, not {fmt!r}")
        formats = tuple(get_format(f) for f in fmt)
        if len(formats) != operation.arity:
            raise Error(f"{operation.name} takes {operation.arity} operands, but {len(formats)} formats were given")
    for f, kind in zip(formats, operation.operands, strict=True):
        if kind == "integer" and not f.is_integer:
            raise Error(f"{operation.name} needs an integer format here, for example i32, not {f.name}")
    return Signature(operation, formats, _output(operation, formats, None if out is None else get_format(out)))


def parse_formats(text: str, arity: int, name: str) -> list[Format]:
    """One format per operand: `a=fp8_e4m3,b=fp8_e5m2,c=fp32`. Raises Error."""
    return [get_format(x) for x in format_names(text, LETTERS[:arity], name)]


def format_names(text: str, operands: Sequence[str], name: str) -> list[str]:
    """The names of formats in such a text, one per operand. operands: their names. Raises Error."""
    usage = f"{name} takes {','.join(f'{x}=FORMAT' for x in operands)}, or one FORMAT"
    names = assignments.parse(text, f"format {text!r}", operands, usage=usage)
    missing = [x for x in operands if x not in names]
    if missing:
        raise Error(f"format {text!r}: no format for operand {', '.join(missing)}")
    return [names[x] for x in operands]


def _output(operation: Operation, formats: tuple[Format, ...], out: Format | None) -> Format:
    if operation.result in ("boolean", "class"):
        fixed = BOOLEAN if operation.result == "boolean" else CLASS
        if out not in (None, fixed):
            raise Error(f"the result of {operation.name} is {fixed.name}, not {out.name if out else ''}")
        return fixed
    if operation.result == "same":
        if out not in (None, formats[0]):
            raise Error(f"the result of {operation.name} has its operand's format, {formats[0].name}")
        return formats[0]
    if operation.modular:
        out = out or INTEGER
        if not out.is_integer:
            raise Error(f"the result of {operation.name} has an integer format, such as i32, not {out.name}")
    if out is not None:
        return out
    floats = {f for f, kind in zip(formats, operation.operands, strict=True) if kind == "float"}
    if len(floats) > 1:
        raise Error(
            f"{operation.name} on {', '.join(f.name for f in formats)}: the result format is ambiguous; give it"
        )
    return formats[0]


def evaluate(
    op: str,
    operands: Sequence[int],
    fmt: str | Format | Sequence[str | Format],
    to: str | Format | None = None,
    policy: Policy | str | None = None,
    random_bits: int | None = None,
) -> Encoded:
    """The result of an operation on codes: its code in the output format, and the flags.

    fmt: one format for all operands, or one per operand. to: the result's format (default: the operands' format).
    Raises Error for codes or formats that do not fit, and for a wrong number of operands.
    """
    sig = signature(op, fmt, to)
    policy = get_policy(policy)
    if not isinstance(operands, Sequence):
        raise Error(f"operands must be a sequence of codes, not {operands!r}")
    if len(operands) != sig.operation.arity:
        raise Error(f"{sig.operation.name} takes {counted(sig.operation.arity, 'operand')}, not {len(operands)}")
    codes = [check_code(x, f) for x, f in zip(operands, sig.formats, strict=True)]
    bits, flags = evaluator(sig, policy)(codes, check_random(policy, random_bits))
    return Encoded(bits, FLAGS[flags])


@lru_cache(maxsize=512)
def evaluator(sig: Signature, policy: Policy) -> Evaluator:
    """The function that evaluates checked codes: (codes, random bits) -> (code, flags as an int)."""
    operation, _, out = sig
    if operation.result in ("same", "class"):
        function, ctx = operation.function, context(sig, policy)
        return lambda codes, random_bits: function(ctx, *codes)
    if (zeros := appended_zeros(sig, policy)) is not None:
        return lambda codes, random_bits: (codes[0] << zeros, 0)
    compute = unrounded(sig, policy)
    encode = encoder(out, operation.rounded_as(policy))

    def run(codes: Sequence[int], random_bits: int) -> tuple[int, int]:
        value, flags = compute(codes, random_bits)
        bits, more = encode(value, random_bits)
        return bits, flags | more

    return run


@lru_cache(maxsize=512)
def unrounded(sig: Signature, policy: Policy, more_bits: int = 0) -> Unrounded:
    """The function that gives the exact result for checked codes, and the flags raised before rounding.

    For operations whose result is a value. more_bits: how many bits of a quotient or root to compute beyond those that
    rounding needs.
    """
    operation, formats, _ = sig
    ctx = context(sig, policy)
    ctx = ctx._replace(bits=ctx.bits + more_bits)
    decoders = tuple(decoder(f, operation.flushes and policy.flush_inputs, policy.unnormals) for f in formats)
    uses_random = policy.random_count > 0

    def compute(codes: Sequence[int], random_bits: int) -> Outcome:
        values = [decode(code) for decode, code in zip(decoders, codes, strict=True)]
        return exactly(operation, ctx._replace(random_bits=random_bits) if uses_random else ctx, values)

    return compute


def exactly(operation: Operation, ctx: Context, values: Sequence[Value]) -> Outcome:
    """The exact result for decoded operands, and the flags raised before rounding."""
    if not operation.nans and any(x[0] == NAN for x in values):
        return nan_operand(ctx.policy.nan_rule, values)
    return operation.function(ctx, *values)


def appended_zeros(sig: Signature, policy: Policy) -> int | None:
    """How many zero bits a conversion appends to a code, if it does nothing else; None for any other operation."""
    source, out = sig.formats[0], sig.out
    if not sig.operation.is_conversion or not policy.widens_bare(source):
        return None
    alike = all(
        (f.nan, f.subnormals, f.p3109, f.explicit_bit) == ("ieee", "gradual", False, False) and not f.twos_complement
        for f in (source, out)
    )
    same = (source.exponent_bits, source.bias, source.signed) == (out.exponent_bits, out.bias, out.signed)
    zeros = out.mantissa_bits - source.mantissa_bits
    return zeros if alike and same and zeros >= 0 else None


def context(sig: Signature, policy: Policy) -> Context:
    """The Context of an operation for that signature and policy."""
    p3109 = sig.out.p3109 or (sig.operation.result != "float" and sig.formats[0].p3109)
    if policy.specials != Specials.AUTO:
        p3109 = policy.specials == Specials.P3109
    return Context(
        zero_sign=zero_sign(policy) ^ sig.operation.negated,
        bits=needed_bits(sig.out, policy),
        p3109=p3109,
        policy=policy,
        formats=sig.formats,
        out=sig.out,
    )


def zero_sign(policy: Policy) -> int:
    """The sign of an exact zero sum of numbers with opposite signs (IEEE 754 6.3)."""
    return int(policy.rounding == RDN)


def __dir__() -> list[str]:
    return sorted(__all__)
