"""The definition of a function of vectors, and the table of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, NamedTuple

from softfloat_ref.base.errors import unknown
from softfloat_ref.oracle.exact import NAN, Value
from softfloat_ref.oracle.operations.table import Outcome, nan_operand
from softfloat_ref.oracle.policies import NanRule
from softfloat_ref.oracle.steps import step

Size = Literal["length", "depth", "length x depth", "one"]
Group = Literal["", "affine", "mask"]
OperandValues = Mapping[str, Sequence[Value]]  # the decoded operands by name; those that are left out are missing
Lanes = list[Outcome]  # exact results and the flags raised so far


class Parameter(NamedTuple):
    """An operand of a function. group: of operands that a unit may leave out together: gain and bias, a mask."""

    name: str
    size: Size
    group: Group = ""


class FunctionSetting(NamedTuple):
    """What a function may depend on besides its operands.

    bits: how many bits a result that is cut must have. zero_sign: the sign of an exact zero sum of opposite numbers.
    epsilon: what a normalization adds. visible: how many of the lanes take part; the others are masked. wanted: the
    lanes whose results are used, those of others may be anything; None: all.
    """

    bits: int
    zero_sign: int
    nan_rule: NanRule
    epsilon: Fraction
    visible: int
    wanted: frozenset[int] | None = None


LaneFunction = Callable[[FunctionSetting, OperandValues], Lanes]


@dataclass(frozen=True, eq=False)
class VectorFunction:
    """One row of the table: everything known about a function. Other modules do not check its name.

    parameters: its operands; the first, or those of group "", give the formats. epsilon: whether it takes one.
    share: whether the results lie between 0 and 1. centred: whether it subtracts the mean first.
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    function: LaneFunction
    epsilon: bool = False
    share: bool = False
    centred: bool = False

    def has(self, group: Group) -> bool:
        """Whether it has operands of a group."""
        return any(p.group == group for p in self.parameters)

    @property
    def has_depth(self) -> bool:
        """Whether it multiplies vectors of a depth of their own."""
        return any("depth" in p.size for p in self.parameters)


@step("exact results", "lanes")
def exact_lanes(row: VectorFunction, setting: FunctionSetting, operands: OperandValues) -> Lanes:
    """The exact results of all lanes, special cases included, and the flags raised before rounding."""
    return row.function(setting, operands)


VECTOR_FUNCTIONS: Final[dict[str, VectorFunction]] = {}


def vector_function(
    name: str, summary: str, *parameters: Parameter, epsilon: bool = False, share: bool = False, centred: bool = False
) -> Callable[[LaneFunction], LaneFunction]:
    """Decorate an exact function to add its row to the table."""

    def register(function: LaneFunction) -> LaneFunction:
        VECTOR_FUNCTIONS[name] = VectorFunction(name, summary, parameters, function, epsilon, share, centred)
        return function

    return register


def get_vector_function(name: str) -> VectorFunction:
    """The function of that name. Raises Error, listing the closest ones."""
    row = VECTOR_FUNCTIONS.get(name.strip().lower().replace("-", "_"))
    if row is None:
        raise unknown("function of vectors", name, VECTOR_FUNCTIONS)
    return row


def nan_among(rule: NanRule, values: Sequence[Value]) -> Outcome | None:
    """The NaN result of values that have a NaN among them; None without one."""
    return nan_operand(rule, values) if any(x.kind == NAN for x in values) else None
