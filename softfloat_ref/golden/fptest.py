"""The words of IBM's floating-point test suite (.fptest), by its syntax.txt (2005): operations, roundings, formats,
exceptions and numbers. A significand's fraction has whole hexadecimal digits, its last bit the lowest of them."""

from __future__ import annotations

import re
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.policies import Policy

OPERATIONS: Final = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "*+": "fma",
    "V": "sqrt",
    "%": "rem",
    "rfi": "round_to_integral",
    "cff": "convert",
    "~": "neg",
    "A": "abs",
    "@": "copysign",
    "<C": "minimum_number",
    ">C": "maximum_number",
    "<A": "minimum_magnitude_number",
    ">A": "maximum_magnitude_number",
    "Nu": "next_up",
    "Nd": "next_down",
}
ROUNDINGS: Final = {"=0": "rne", "=^": "rna", "0": "rtz", ">": "rup", "<": "rdn"}
FORMATS: Final = {"b16": "fp16", "b32": "fp32", "b64": "fp64", "b128": "fp128"}
EXCEPTIONS: Final = {
    "x": Flags.INEXACT,
    "u": Flags.UNDERFLOW,
    "o": Flags.OVERFLOW,
    "z": Flags.DIVIDE_BY_ZERO,
    "i": Flags.INVALID,
}
_NUMBER: Final = re.compile(r"([+-])([01])\.([0-9a-fA-F]+)P([+-]?\d{1,7})", re.ASCII)


def format_name(fmt: Format) -> str | None:
    """IBM's name of a format; None if it has none."""
    return next((key for key, name in FORMATS.items() if get_format(name) == fmt), None)


def number_text(code: int, fmt: Format) -> str:
    """A code as a number of an .fptest file."""
    if fmt.is_nan(code):
        return "Q" if code & fmt.quiet_bit else "S"
    sign, magnitude = "-" if code & fmt.sign_bit else "+", code & fmt.magnitude_mask
    if magnitude == fmt.inf_code:
        return f"{sign}Inf"
    if not magnitude:
        return f"{sign}Zero"
    exponent, fraction = magnitude >> fmt.mantissa_bits, magnitude & ((1 << fmt.mantissa_bits) - 1)
    digits = -(-fmt.mantissa_bits // 4)
    return f"{sign}{min(exponent, 1)}.{fraction:0{digits}X}P{max(exponent, 1) - fmt.bias}"


def number_code(word: str, fmt: Format, policy: Policy) -> int:
    """The code of a number of an .fptest file; Q is the NaN that the policy generates. Raises Error."""
    if word == "Q":
        return policy.nan_rule.code(fmt)
    if word == "S":
        return fmt.inf_code | 1
    sign, rest = fmt.sign_bit if word[0] == "-" else 0, word[1:]
    if word[0] in "+-" and rest in ("Inf", "Zero"):
        return sign | (fmt.inf_code if rest == "Inf" else 0)
    match = _NUMBER.fullmatch(word)
    if match is None or len(match[3]) != -(-fmt.mantissa_bits // 4):
        raise Error(f"{word[:60]!r} is not a number of {fmt.name}, such as +1.{'0' * -(-fmt.mantissa_bits // 4)}P0")
    fraction, exponent = int(match[3], 16), int(match[4])
    biased = exponent + fmt.bias if match[2] == "1" else 0
    if fraction >> fmt.mantissa_bits or not (
        fmt.emin <= exponent <= fmt.emax if match[2] == "1" else exponent == fmt.emin
    ):
        raise Error(f"{word[:60]!r} is not a number of {fmt.name}")
    return sign | biased << fmt.mantissa_bits | fraction
