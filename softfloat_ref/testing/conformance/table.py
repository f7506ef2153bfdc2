"""The table of properties of operations, which every property's function enters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from hypothesis.strategies import SearchStrategy

from softfloat_ref.oracle.operations import Operation, get_operation
from softfloat_ref.oracle.operations.formula import Formula
from softfloat_ref.testing.conformance.operation import EVERY, OperationSetup
from softfloat_ref.testing.conformance.suite import Check, Properties, Property

Reason = Callable[[OperationSetup], str]
Of = Callable[[Operation], bool]
_PROPERTIES: Final = Properties[OperationSetup](lambda setup: setup.cases())
_OPERATIONS: Final[dict[str, Of]] = {}


# -- of which operations -------------------------------------------------------------------------------------------


def every(operation: Operation) -> bool:
    """Every operation."""
    return True


def arithmetic(operation: Operation) -> bool:
    """A rounded function of floats."""
    return operation.rounds and all(kind == "float" for kind in operation.operands)


def comparison(operation: Operation) -> bool:
    """Equal, less, less or equal."""
    return operation.family == "comparison"


def selection(operation: Operation) -> bool:
    """Minimum and maximum."""
    return operation.ordering and operation.result == "float"


def of(*formulas: Formula) -> Of:
    """Operations with one of these formulas."""
    return lambda operation: operation.formula in formulas


# -- the table -----------------------------------------------------------------------------------------------------


def prop(
    ops: Of,
    *,
    when: Iterable[Reason] = (),
    roundings: frozenset[str] = EVERY,
    cases: Callable[[OperationSetup], SearchStrategy[Any]] | None = None,
) -> Callable[[Check], Check]:
    """Enter a property, which is named after its function; the docstring is the statement. when: reasons why it may not
    apply, of which the first is reported. roundings: those for which it is true."""

    def reason(setup: OperationSetup) -> str:
        if not ops(setup.sig.operation):
            return f"does not apply to {setup.sig.operation.name}"
        if not setup.roundings & roundings:
            return f"applies to roundings {' '.join(sorted(roundings))}, not {' '.join(sorted(setup.roundings))}"
        return next((why for w in when if (why := w(setup))), "")

    def register(check: Check) -> Check:
        _OPERATIONS[check.__name__] = ops
        return _PROPERTIES(cases or (lambda setup: setup.cases(roundings)), reason)(check)

    return register


def properties(*names: str) -> dict[str, Property[OperationSetup]]:
    """The properties of these operations, by name; without names, those of every operation."""
    chosen = [get_operation(name) for name in names]
    return {k: v for k, v in _PROPERTIES.table.items() if _OPERATIONS[k] is every or any(map(_OPERATIONS[k], chosen))}


# -- reasons -----------------------------------------------------------------------------------------------------------


def signed(setup: OperationSetup) -> str:
    """Every format has a sign, apart from its magnitude."""
    odd = [f.name for f in (*setup.sig.formats, setup.out) if not f.signed or f.twos_complement]
    return f"{odd[0]} has no sign bit" if odd else ""


def floating(setup: OperationSetup) -> str:
    """Every format has an exponent."""
    fixed = [f.name for f in (*setup.sig.formats, setup.out) if f.twos_complement]
    return f"{fixed[0]} has no exponent" if fixed else ""


def alike(setup: OperationSetup) -> str:
    """Operands a and b have one format."""
    return "" if setup.sig.formats[0] == setup.sig.formats[1] else "a and b have different formats"


def one_format(setup: OperationSetup) -> str:
    """Operands and result have one format."""
    return "" if len({*setup.sig.formats, setup.out}) == 1 else "the formats differ"


def gradual(setup: OperationSetup) -> str:
    """Subnormals exist, and are not flushed."""
    flushed = any(p.flush_outputs or p.flush_inputs for p in setup.policies)
    formats = (*setup.sig.formats, setup.out)
    if flushed:
        return "subnormals are flushed"
    return "" if all(f.subnormals == "gradual" for f in formats) else "a format has no subnormals"


def with_nan(setup: OperationSetup) -> str:
    """Some operand can be a NaN."""
    return "" if any(f.has_nan for f in setup.sig.formats) else "no operand can be a NaN"
