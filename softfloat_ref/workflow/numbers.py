"""`encode`, `decode` and `evaluate` of numbers and of arrays: numbers need no numpy, and arrays import it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, overload

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle import codec, operations
from softfloat_ref.oracle.codec import Encoded
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format, warn_of_spelling
from softfloat_ref.oracle.policies import Policy

FormatName = str | Format | Any  # also BlockFormat, AffineFormat, and the types of numpy, ml_dtypes and torch


def is_array(x: Any) -> bool:
    """Whether it is an array: a list or tuple, an array of numpy or torch, or codes with their format."""
    if isinstance(x, (int, float, Value)):
        return False
    if isinstance(x, (list, tuple)):
        return True
    numpy = sys.modules.get("numpy")
    return hasattr(x, "__array__") and not (numpy is not None and isinstance(x, numpy.generic))


@overload
def encode(
    x: float | Fraction | Value, fmt: FormatName, policy: Policy | str | None = None, random_bits: int | None = None
) -> Encoded: ...


@overload
def encode(
    x: Any, fmt: FormatName, policy: Policy | str | None = None, random_bits: Any = None, **options: Any
) -> Any: ...


def encode(x: Any, fmt: FormatName, policy: Policy | str | None = None, random_bits: Any = None, **options: Any) -> Any:
    """Round a number, taken as exact, to a format: its code and flags. Round an array: its codes with the format.

    x: int, float, Fraction, gmpy2 mpq, Decimal, numpy scalar or Value; or an array or lists of numbers, and then the
    result is a ScalarArray, or with a block or affine format a BlockArray or AffineArray. random_bits: for stochastic
    rounding, an integer of policy.sr_bits bits; of an array, one for each element, or a source. options, of arrays:
    seed and key instead of random_bits; axis, profile and tensor_scale of blocks; axis, profile, scale and zero_point
    of affine formats; out, an earlier result, whose arrays are overwritten. Raises Error for anything else, for missing
    or unneeded random bits, and for a NaN if the policy makes that an error.
    """
    warn_of_spelling(fmt)
    if is_array(x):
        from softfloat_ref.arrays import kinds

        return kinds.encode(x, fmt, policy, random_bits, **options)
    _refuse(options)
    return codec.encode(x, fmt, policy, random_bits)


@overload
def decode(bits: int, fmt: str | Format) -> Value: ...


@overload
def decode(bits: Any, fmt: FormatName = None) -> Any: ...


def decode(bits: Any, fmt: FormatName = None) -> Any:
    """The exact value of a code; of an array of codes, their values as an array of floats. An array of codes with their
    format, as `encode` gives it, needs no `fmt`. Raises Error if something is not a code of the format."""
    if hasattr(bits, "decode") and hasattr(bits, "codes"):
        if fmt is not None:
            raise Error(f"{type(bits).__name__} has its own format; leave fmt out")
        return bits.decode()
    warn_of_spelling(fmt)
    if is_array(bits):
        from softfloat_ref.arrays import convert

        return convert.decode(bits, fmt)
    return codec.decode(bits, fmt)


@overload
def evaluate(
    op: str,
    operands: Sequence[int],
    fmt: FormatName,
    to: str | Format | None = None,
    policy: Policy | str | None = None,
    random_bits: int | None = None,
) -> Encoded: ...


@overload
def evaluate(
    op: str,
    operands: Sequence[Any],
    fmt: FormatName = None,
    to: str | Format | None = None,
    policy: Policy | str | None = None,
    random_bits: Any = None,
    *,
    flags: Literal["none", "any", "each"] = "none",
    **options: Any,
) -> Any: ...


def evaluate(
    op: str,
    operands: Sequence[Any],
    fmt: FormatName = None,
    to: str | Format | None = None,
    policy: Policy | str | None = None,
    random_bits: Any = None,
    *,
    flags: Literal["none", "any", "each"] | None = None,
    **options: Any,
) -> Any:
    """The result of an operation on codes: its code in the output format, and the flags. On arrays of codes, which
    broadcast: codes, and flags if they are asked for.

    fmt: one format for all operands, or one per operand; ScalarArrays have their own, and then the result is one, too.
    to: the result's format (default: the operands' format). flags, of arrays: "any" also returns the union of all
    flags, "each" an array of flag bytes. options, of arrays: seed and key instead of random_bits; out, the buffer for
    the codes. Raises Error for codes or formats that do not fit, and for a wrong number of operands.
    """
    if not isinstance(operands, list | tuple) or not any(map(is_array, operands)):
        _refuse({**options, **({} if flags is None else {"flags": flags})})
        if fmt is None:
            raise Error("give the format of the operands")
        return operations.evaluate(op, operands, fmt, to, policy, random_bits)
    from softfloat_ref.arrays import operations as array_operations
    from softfloat_ref.arrays.scalar_array import ScalarArray

    own = [isinstance(x, ScalarArray) for x in operands]
    formats = _formats(operands, own, fmt)
    codes = [x.codes if held else x for x, held in zip(operands, own, strict=True)]
    how: dict[str, Any] = {"flags": flags or "none", **options}
    answer: Any = array_operations.evaluate(op, codes, formats, to, policy, random_bits, **how)
    if not any(own):
        return answer
    result = operations.signature(op, formats, to).out
    return ScalarArray(answer, result) if flags in (None, "none") else (ScalarArray(answer[0], result), answer[1])


def _formats(operands: Sequence[Any], own: Sequence[bool], fmt: FormatName) -> Any:
    """The format of each operand: that of a ScalarArray, or the one given. Raises Error."""
    for x, held in zip(operands, own, strict=True):
        if not held and hasattr(x, "codes") and hasattr(x, "fmt"):
            raise Error(f"evaluate takes scalar formats, not a {type(x).__name__}; matmul and units take blocks")
    if not any(own):
        if fmt is None:
            raise Error("give the format of the operands")
        return fmt
    if all(own) and fmt is not None:
        raise Error("ScalarArrays have their own formats; leave fmt out")
    if not all(own) and (fmt is None or not isinstance(fmt, str | Format) or "=" in str(fmt)):
        raise Error("give one format, of the operands that are not ScalarArrays")
    return [x.fmt if held else fmt for x, held in zip(operands, own, strict=True)]


def _refuse(options: dict[str, Any]) -> None:
    """Raise Error for an option of arrays."""
    for name in (name for name, value in options.items() if value is not None):
        raise Error(f"{name} is for arrays; leave it out for a number")
