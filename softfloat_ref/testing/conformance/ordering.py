"""Properties of comparisons, minima and maxima."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.operations import Operation
from softfloat_ref.testing import strategies
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.conformance.operation import OperationCase, OperationSetup, OperationTrial
from softfloat_ref.testing.conformance.table import alike, comparison, prop, selection


def _order(operation: Operation) -> bool:
    """Comparisons for less, or less or equal."""
    return comparison(operation) and not operation.commutes


def _with(case: OperationCase, *codes: int) -> OperationCase:
    return case._replace(operands=codes)


def _holds(answer: Answer) -> bool:
    return bool(answer.result & 1)


def _numbers(t: OperationTrial, case: OperationCase) -> bool:
    return not any(x.is_nan for x in t.operands(case))


@prop(comparison, when=(alike,))
def reflexive(t: OperationTrial, case: OperationCase) -> None:
    """A number compares with itself as equal."""
    case = _with(case, case.operands[0], case.operands[0])
    if _numbers(t, case):
        (answer,) = t.ask(case)
        wanted, _ = t.oracle(case)
        t.require(_holds(answer) == bool(wanted), f"{wanted}")


@prop(_order, when=(alike,))
def antisymmetric(t: OperationTrial, case: OperationCase) -> None:
    """Of numbers that differ, exactly one order holds; of equal ones, le both ways and lt neither."""
    if not _numbers(t, case):
        return
    a, b = t.operands(case)
    one, other = t.ask(case, _with(case, *reversed(case.operands)))
    if exact.compare(a, b):
        t.require(_holds(one) != _holds(other), "one of the two")
    else:
        t.require(_holds(one) == _holds(other) == bool(t.oracle(case)[0]), "both for le, none for lt")


def _triples(setup: OperationSetup) -> SearchStrategy[Any]:
    return st.tuples(setup.cases(), strategies.bits(setup.sig.formats[0]))


@prop(comparison, when=(alike,), cases=_triples)
def transitive(t: OperationTrial, drawn: tuple[OperationCase, int]) -> None:
    """What holds of a, b and of b, c holds of a, c."""
    case, c = drawn
    a, b = case.operands
    first, second, third = t.ask(case, _with(case, b, c), _with(case, a, c))
    t.require(_holds(third) or not (_holds(first) and _holds(second)), "the third holds, as the first two do")


@prop(_order, when=(alike, lambda s: _operands_signed(s)))
def order_reversed_by_sign(t: OperationTrial, case: OperationCase) -> None:
    """Opposite numbers have the opposite order."""
    if not _numbers(t, case):
        return
    fmt = t.setup.sig.formats[0]
    a, b = (x ^ fmt.sign_bit if x & fmt.magnitude_mask or fmt.negative_zero else x for x in case.operands)
    one, other = t.ask(case, _with(case, b, a))
    t.require(one == other, "the same answer for both")


def _operands_signed(setup: OperationSetup) -> str:
    fmt = setup.sig.formats[0]
    return "" if fmt.signed and not fmt.twos_complement else f"{fmt.name} has no sign bit"


def _nan_pairs(setup: OperationSetup) -> SearchStrategy[OperationCase]:
    fmt = setup.sig.formats[0]
    codes = st.sampled_from([c for c in (fmt.canonical_nan, fmt.inf_code + 1) if fmt.is_nan(c)])
    return st.builds(
        lambda case, code, first: _with(case, *((code, case.operands[1]) if first else (case.operands[0], code))),
        setup.cases(),
        codes,
        st.booleans(),
    )


def _has_nan(setup: OperationSetup) -> str:
    return "" if setup.sig.formats[0].has_nan else f"{setup.sig.formats[0].name} has no NaN"


@prop(comparison, when=(_has_nan,), cases=_nan_pairs)
def unordered(t: OperationTrial, case: OperationCase) -> None:
    """Nothing is equal to a NaN, below or above it; invalid as IEEE 754 5.11 says."""
    (answer,) = t.ask(case)
    _, flags = t.oracle(case)
    t.require(not _holds(answer), "0")
    t.require(answer.flags in (None, flags) or not t.setup.rule.flags, "invalid" if flags else "no flags")


# -- minimum, maximum ------------------------------------------------------------------------------------------------


def _no_flush(setup: OperationSetup) -> str:
    return "subnormals are flushed" if setup.policy.flush_inputs or setup.policy.flush_outputs else ""


@prop(selection, when=(alike, _no_flush, lambda s: _same_out(s)))
def chooses(t: OperationTrial, case: OperationCase) -> None:
    """Of two numbers one is chosen, and it is the right one."""
    if not _numbers(t, case):
        return
    (answer,) = t.ask(case)
    t.require(answer.result in case.operands, "one of the operands")
    expected, _ = t.oracle(case)
    t.require(not exact.compare(t.value(answer), decoder(t.setup.out)(expected)), t.setup.out.hex(expected))
    t.require(not answer.flags, "no flags")


def _same_out(setup: OperationSetup) -> str:
    return "" if setup.sig.formats[0] == setup.out else "the result has another format"


@prop(selection, when=(alike, _no_flush, _same_out), cases=_triples)
def associative(t: OperationTrial, drawn: tuple[OperationCase, int]) -> None:
    """The order in which three numbers are taken does not matter."""
    case, c = drawn
    (a, b), numbers = case.operands, t.operands(case)
    if any(x.is_nan for x in (*numbers, *t.operands(_with(case, c, c)))):
        return
    left, right = t.ask(case, _with(case, b, c))
    if max(left.result, right.result) >> t.setup.out.width == 0:
        first, second = t.ask(_with(case, left.result, c), _with(case, a, right.result))
        t.require(first.result == second.result, "the same for both orders")
