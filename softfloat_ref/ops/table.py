"""What an operation is, and the registry that every operation's row enters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from softfloat_ref.errors import unknown
from softfloat_ref.exact import GENERATED, NAN, Value
from softfloat_ref.formats import Format
from softfloat_ref.policies import NanRule, Policy
from softfloat_ref.rounding import INVALID

Operand = Literal["float", "integer"]
Result = Literal["float", "same", "boolean", "class"]


class Context(NamedTuple):
    """What an exact function may depend on besides its operands."""

    zero_sign: int  # sign of an exact zero sum of opposite numbers (IEEE 754 6.3)
    bits: int  # bits a quotient or root must have
    p3109: bool  # IEEE P3109's special cases
    policy: Policy
    formats: tuple[Format, ...]
    random_bits: int = 0


Outcome = tuple[Value, int]  # the exact result and the flags raised so far
Exact = Callable[..., tuple[Any, int]]  # (context, operands) to an Outcome, or to a code and flags


@dataclass(frozen=True)
class Operation:
    """One row of the table.

    operands: what each operand is; integer ones may have an integer format. result: "float" (rounded to the output
    format), "same" (the operand's own format, nothing rounded), "boolean" (1 bit), "class" (10 bits, RISC-V's FCLASS
    order). flushes: whether DAZ applies. function: exact values (or, for "same" and "class", codes) to a result.
    """

    name: str
    operands: tuple[Operand, ...]
    function: Exact
    result: Result = "float"
    flushes: bool = True
    nans: bool = False  # the function sees NaN operands itself
    summary: str = ""

    @property
    def arity(self) -> int:
        return len(self.operands)


OPERATIONS: Final[dict[str, Operation]] = {}


def operation(
    name: str,
    arity: int,
    summary: str,
    *,
    operands: tuple[Operand, ...] = (),
    result: Result = "float",
    flushes: bool = True,
    nans: bool = False,
) -> Callable[[Exact], Exact]:
    """Decorate an exact function: its row enters the table."""

    def register(function: Exact) -> Exact:
        all_floats: list[Operand] = ["float"] * arity
        kinds = operands or tuple(all_floats)
        OPERATIONS[name] = Operation(name, kinds, function, result, flushes, nans, summary)
        return function

    return register


def get_operation(name: str) -> Operation:
    """The operation of that name. Raises Error, listing the closest ones."""
    operation = OPERATIONS.get(name.strip().lower().replace("-", "_"))
    if operation is None:
        raise unknown("operation", name, OPERATIONS)
    return operation


INVALID_OPERATION: Final[Outcome] = (GENERATED, INVALID)


def nan_operand(rule: NanRule, values: Sequence[Value]) -> Outcome:
    """The NaN that comes of NaN operands, and invalid if one signals (IEEE 754 6.2)."""
    nans = [x for x in values if x.kind == NAN]
    signaling = [x for x in nans if x.signaling]
    chosen = signaling[0] if signaling and rule.propagate == "signaling" else nans[0]
    return chosen._replace(signaling=False), INVALID if signaling else 0
