"""LLVM's conversions of integers to floats, as terms: the oracle's."""

from __future__ import annotations

from functools import cache
from typing import Final

from softfloat_ref.symbolic.build import sext, substitute, zext
from softfloat_ref.symbolic.paths import Unsupported
from softfloat_ref.symbolic.terms import Term, var
from softfloat_ref.symbolic.units import circuit
from softfloat_ref.units import OperationUnit

INTEGERS: Final = {"sitofp": "i32", "uitofp": "u32"}


@cache
def _converted(integer: str) -> Term:
    unit = OperationUnit.make("convert", integer, "fp32")
    return circuit(unit).terms["result"]


def to_float(op: str, x: Term) -> Term:
    """The code of an integer as a float, to nearest even as everywhere in LLVM. Raises Unsupported."""
    if x.width > 32:
        raise Unsupported(f"LLVM's {op} of {x.width} bits")
    wide = (sext if op == "sitofp" else zext)(x, 32)
    return substitute([_converted(INTEGERS[op])], {var("a", 32): wide})[0]
