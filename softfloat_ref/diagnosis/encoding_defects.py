"""Defects of operands whose format stores the integer bit of its significand: how that bit is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from softfloat_ref.diagnosis.defects import defective, replaced
from softfloat_ref.diagnosis.hypotheses import Hypothesis
from softfloat_ref.oracle.codec import Decoder
from softfloat_ref.oracle.encodings import PSEUDO_DENORMAL, flipped, kind_of
from softfloat_ref.oracle.exact import NAN, Value, zero
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.rounding_steps import read
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import OperationUnit

Read = Callable[[int], Value]  # the right reading of a code
Reading = Callable[[Read, int, Format, str], Value]  # from that, a code, its format and the kind of its encoding


def _ignored(right: Read, code: int, fmt: Format, kind: str) -> Value:
    return right(flipped(fmt, code))


def _low(right: Read, code: int, fmt: Format, kind: str) -> Value:
    x = right(code)
    return x._replace(exponent=x.exponent - 1) if kind == PSEUDO_DENORMAL else x


def _zeroed(right: Read, code: int, fmt: Format, kind: str) -> Value:
    return zero(int(code & fmt.sign_bit != 0)) if kind == PSEUDO_DENORMAL else right(code)


def _unsupported(right: Read, code: int, fmt: Format, kind: str) -> Value:
    return Value(NAN, 0, 0, -1, 0, True) if kind == PSEUDO_DENORMAL else right(code)


def _quiet(right: Read, code: int, fmt: Format, kind: str) -> Value:
    x = right(code)
    return x._replace(signaling=False) if x.kind == NAN and x.exponent < 0 else x


# Defects of encodings that are not canonical.
ENCODING_DEFECTS: Final[tuple[tuple[str, str, Reading], ...]] = (
    ("integer bit ignored", "ignores the integer bit of operands, and has it from the exponent field", _ignored),
    ("pseudo-denormals with exponent 0", "gives pseudo-denormals the exponent 0 in place of 1", _low),
    ("pseudo-denormals as zeros", "takes pseudo-denormals for zeros", _zeroed),
    ("pseudo-denormals invalid", "takes pseudo-denormals for operands that are not supported", _unsupported),
    ("unnormals quiet", "gives the NaN of unnormals and their like without raising invalid", _quiet),
)


def encoding_defects(unit: OperationUnit) -> Iterator[Hypothesis]:
    """Those of operands in formats that store their integer bit."""
    if any(f.explicit_bit for f in unit.formats):
        for name, text, change in ENCODING_DEFECTS:
            yield defective(unit, name, text, _reading(change))


def _reading(change: Reading) -> Change:
    def wrong(here: Traced, right: Function, code: int, decode: Decoder, fmt: Format) -> Value:
        kind = kind_of(fmt, code)
        if not kind:
            return right(code, decode, fmt)  # type: ignore[no-any-return]
        return change(lambda x: right(x, decode, fmt), code, fmt, kind)

    return replaced(read, wrong)
