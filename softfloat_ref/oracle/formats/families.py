"""Families of formats: functions that fill in the fields common to a family."""

from __future__ import annotations

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.formats.format import Format, Kind


def ieee(
    name: str,
    exponent_bits: int,
    mantissa_bits: int,
    bias: int | None = None,
    *,
    signed: bool = True,
    source: str = "IEEE 754-2019 3.4",
) -> Format:
    """An IEEE-style format: the top exponent is reserved for Inf and NaN. Without mantissa bits there is no NaN."""
    bias = (1 << (exponent_bits - 1)) - 1 if bias is None else bias
    return Format(name, exponent_bits, mantissa_bits, bias, signed, signaling=mantissa_bits >= 2, source=source)


def extended(name: str, exponent_bits: int, mantissa_bits: int, *, source: str) -> Format:
    """An IEEE-style format that stores the integer bit of its significand, above the mantissa bits."""
    bias = (1 << (exponent_bits - 1)) - 1
    return Format(name, exponent_bits, mantissa_bits, bias, signaling=True, explicit_bit=True, source=source)


def fn(
    name: str, exponent_bits: int, mantissa_bits: int, bias: int | None = None, *, signed: bool = True, source: str
) -> Format:
    """Finite and NaN ("fn"): no Inf; NaN only at all ones."""
    bias = (1 << (exponent_bits - 1)) - 1 if bias is None else bias
    return Format(
        name, exponent_bits, mantissa_bits, bias, signed, nan="top", infinity=False, overflow="nan", source=source
    )


def fnuz(name: str, exponent_bits: int, mantissa_bits: int, bias: int | None = None, *, source: str) -> Format:
    """Finite, NaN, unsigned zero ("fnuz"): no Inf; one NaN in place of -0; the bias is one higher."""
    bias = 1 << (exponent_bits - 1) if bias is None else bias
    return Format(
        name, exponent_bits, mantissa_bits, bias, nan="negative-zero", infinity=False, overflow="nan", source=source
    )


def finite(
    name: str, exponent_bits: int, mantissa_bits: int, bias: int | None = None, *, signed: bool = True, source: str
) -> Format:
    """Finite values only: every code is a number."""
    bias = (1 << (exponent_bits - 1)) - 1 if bias is None else bias
    return Format(
        name, exponent_bits, mantissa_bits, bias, signed, nan="none", infinity=False, overflow="max", source=source
    )


def fixed(
    name: str, width: int, fraction_bits: int, *, signed: bool = True, overflow: Kind = "max", source: str
) -> Format:
    """Two's complement with fraction bits. The bias makes the unit 2^(1 - bias - mantissa_bits) = 2^-fraction_bits."""
    mantissa_bits = width - signed
    return Format(
        name,
        0,
        mantissa_bits,
        1 - mantissa_bits + fraction_bits,
        signed,
        nan="none",
        infinity=False,
        twos_complement=True,
        overflow=overflow,
        source=source,
    )


def integer(name: str, width: int, *, signed: bool) -> Format:
    """A plain integer, for conversions."""
    return fixed(name, width, 0, signed=signed, overflow="integer", source="two's complement integer")


def p3109(k: int, p: int, *, signed: bool, extended: bool) -> Format:
    """IEEE P3109 v4.0's BinaryKpP{s,u}{e,f}: K bits, P of precision (clause 4, "Formats")."""
    name = f"binary{k}p{p}{'s' if signed else 'u'}{'e' if extended else 'f'}"
    if not 3 <= k <= 16 or not 1 <= p <= (k - 1 if signed else k):
        raise Error(f"format {name!r}: P3109 needs 3 <= K <= 16 and 1 <= P {'<' if signed else '<='} K")
    exponent_bits = k - p if signed else k - p + 1
    bias = 1 << (exponent_bits - 1)
    return Format(
        name,
        exponent_bits,
        p - 1,
        bias,
        signed,
        nan="negative-zero" if signed else "top",
        infinity=extended,
        overflow="inf" if extended else "max",
        p3109=True,
        source="IEEE P3109 v4.0",
    )
