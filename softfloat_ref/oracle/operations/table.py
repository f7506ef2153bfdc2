"""The definition of an operation, and the table in which all operations are registered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, Literal, NamedTuple, TypedDict, Unpack

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.oracle.exact import GENERATED, NAN, Value
from softfloat_ref.oracle.flags import INVALID
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations.curve import Curve
from softfloat_ref.oracle.operations.estimate import Estimate
from softfloat_ref.oracle.operations.formula import IDENTITY, SCALED, Formula
from softfloat_ref.oracle.operations.interpolation import Interpolation
from softfloat_ref.oracle.operations.p3109 import own_name
from softfloat_ref.oracle.policies import NanRule, Policy, rounding_name

Operand = Literal["float", "integer"]
Result = Literal["float", "same", "boolean", "class"]


class Context(NamedTuple):
    """What an exact function may depend on besides its operands."""

    zero_sign: int  # sign of an exact zero sum of opposite numbers (IEEE 754 6.3)
    bits: int  # bits a quotient or root must have
    p3109: bool  # IEEE P3109's special cases
    policy: Policy
    formats: tuple[Format, ...]
    out: Format
    random_bits: int = 0


Outcome = tuple[Value, int]  # the exact result and the flags raised so far
Exact = Callable[..., tuple[Any, int]]  # (context, operands) to an Outcome, or to a code and flags


class Standing(NamedTuple):
    """Of an operation that a processor's manual specifies: how its results were checked, and where they are stated."""

    status: str
    source: str


class Loop(Enum):
    """What the compiled loop of operations (arrays/kernels) computes for an operation."""

    CONVERT = auto()
    ADD = auto()
    SUB = auto()
    MUL = auto()
    FMA = auto()
    FAA = auto()
    DIV = auto()
    RECIP = auto()
    SQRT = auto()
    INTEGRAL = auto()
    INTEGRAL_EXACT = auto()
    SCALEB = auto()
    LOGB = auto()
    SEGMENTS = auto()  # a function, by bounded polynomials
    SELECT = auto()  # one of two operands, or a truth value, by their classes and the order of their magnitudes


class Quick(Enum):
    """The functions of FP32 that float64 computes well enough for most operands (arrays/kernels/exponentials.py)."""

    EXP = auto()
    SIGMOID = auto()
    TANH = auto()


@dataclass(frozen=True, eq=False)
class Operation:
    """One row of the table: everything known about an operation. Other modules do not check its name.

    operands: the kind of each operand; integer ones may have an integer format. result: "float" (rounded to the output
    format), "same" (the operand's own format, nothing rounded), "boolean" (1 bit), "class" (10 bits, RISC-V's FCLASS
    order). flushes: whether DAZ applies. function: exact values (or, for "same" and "class", codes) to a result.

    The rest is optional and describes the operation to other packages:
    formula: the exact result for finite operands; also used to find operands for a wanted result.
    rounds: the exact result needs rounding in general, not only if the output format is narrower than the operands'.
    integral: the operand is rounded to an integer. modular: the result is an integer's lower bits. ordering: the result
    depends on the order of two operands (comparisons, minimum and maximum). commutes: a and b may be exchanged. pole: a
    zero as the last operand divides by zero, or is invalid. p3109: there are special cases that differ in IEEE P3109.
    negated: the result is the negated one of the opposite exact result: what rounds up for that rounds down here.
    family: the name of a group of operations that a device may confuse with one another, such as eq, lt and le.
    loop: the form computed by the compiled loop; without one, arrays are computed by the oracle. quick: what computes
    most results of FP32 before that.
    curve: the shape of a function that is no formula; of two operands, in the first one with the other held.
    standing: of processors' own operations. estimate: the table of an estimate, which arrays use.
    """

    name: str
    operands: tuple[Operand, ...]
    function: Exact
    result: Result = "float"
    flushes: bool = True
    nans: bool = False  # the function handles NaN operands itself
    summary: str = ""
    formula: Formula | None = None
    rounds: bool = False
    integral: bool = False
    modular: bool = False
    ordering: bool = False
    commutes: bool = False
    pole: bool = False
    p3109: bool = False
    negated: bool = False
    family: str = ""
    loop: Loop | None = None
    quick: Quick | None = None
    curve: Curve | None = None
    standing: Standing | None = None
    estimate: Estimate | Interpolation | None = None

    @property
    def arity(self) -> int:
        return len(self.operands)

    @property
    def is_conversion(self) -> bool:
        """Whether the exact result is the operand itself."""
        return self.formula == IDENTITY

    @property
    def is_arithmetic(self) -> bool:
        """Whether its results are rounded to the rounding precision: sums, products, quotients and roots are."""
        return self.formula is not None and self.formula not in (IDENTITY, SCALED)

    def rounded_as(self, policy: Policy) -> Policy:
        """The policy under which the exact result is rounded. Raises Error for a rounding without an opposite."""
        if not self.is_arithmetic and policy.rounding_precision != 80:
            policy = policy.replace(rounding_precision=80)
        if not self.negated:
            return policy
        opposite = policy.rounding.opposite
        if opposite is None:
            mode = rounding_name(policy.rounding)
            raise Error(f"{self.name} negates what is rounded; no rounding is the opposite of {mode}")
        return policy if opposite == policy.rounding else policy.replace(rounding=opposite)

    @property
    def fused(self) -> bool:
        """Whether products or more than two terms are added before the one rounding."""
        return self.formula is not None and self.formula.is_sum and self.arity > 2


LETTERS: Final = "abcdefghi"  # names of operands
OPERATIONS: Final[dict[str, Operation]] = {}


class _Fields(TypedDict, total=False):
    """The optional fields of Operation."""

    result: Result
    flushes: bool
    nans: bool
    formula: Formula
    rounds: bool
    integral: bool
    modular: bool
    ordering: bool
    commutes: bool
    pole: bool
    p3109: bool
    negated: bool
    family: str
    loop: Loop
    quick: Quick
    curve: Curve
    standing: Standing
    estimate: Estimate | Interpolation


def operation(
    name: str, arity: int, summary: str, *, operands: tuple[Operand, ...] = (), **fields: Unpack[_Fields]
) -> Callable[[Exact], Exact]:
    """Decorate an exact function to add its row to the table. With a formula or curve, `rounds` is true by
    default; a curve of one operand that is whole has the loop of functions."""
    fields.setdefault("rounds", "formula" in fields or "curve" in fields)
    curve = fields.get("curve")
    if curve and curve.whole and arity == 1:
        fields.setdefault("loop", Loop.SEGMENTS)
    all_floats: list[Operand] = ["float"] * arity

    def register(function: Exact) -> Exact:
        OPERATIONS[name] = Operation(name, operands or tuple(all_floats), function, summary=summary, **fields)
        return function

    return register


def get_operation(name: str) -> Operation:
    """The operation of that name, or of P3109's. Raises Error, listing the closest ones."""
    operation = OPERATIONS.get(own_name(name))
    if operation is None:
        raise unknown("operation", name, OPERATIONS)
    return operation


def confused_with(operation: Operation) -> list[Operation]:
    """The other operations of its family, by name."""
    family = [x for x in OPERATIONS.values() if x.family and x.family == operation.family and x.name != operation.name]
    return sorted(family, key=lambda x: x.name)


INVALID_OPERATION: Final[Outcome] = (GENERATED, INVALID)


def nan_operand(rule: NanRule, values: Sequence[Value]) -> Outcome:
    """The NaN result for NaN operands; raises invalid if one is signalling (IEEE 754 6.2)."""
    order = (*values[1:], values[0]) if rule.first_last else values
    nans = [x for x in order if x.kind == NAN]
    signaling = [x for x in nans if x.signaling]
    if any(x.exponent < 0 for x in signaling):  # not supported
        return INVALID_OPERATION
    chosen = signaling[0] if signaling and rule.propagate == "signaling" else nans[0]
    if rule.propagate == "larger":
        chosen = _larger([x for x in nans if not x.signaling] or nans)
    return chosen._replace(signaling=False), INVALID if signaling else 0


def _larger(nans: Sequence[Value]) -> Value:
    """The NaN with the larger payload, aligned at the quiet bit; of equal ones the positive one, then the first."""
    chosen = nans[0]
    for x in nans:
        room = max(x.exponent, chosen.exponent)
        own, other = x.significand << room - x.exponent, chosen.significand << room - chosen.exponent
        if own > other or (own == other and x.sign < chosen.sign):
            chosen = x
    return chosen
