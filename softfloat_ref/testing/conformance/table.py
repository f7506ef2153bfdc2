"""The table of properties of operations, which every property's function enters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from hypothesis.strategies import SearchStrategy

from softfloat_ref.ops import OPERATIONS
from softfloat_ref.policies import rounding_name
from softfloat_ref.testing.conformance.operation import EVERY, Case, Setup, Trial
from softfloat_ref.testing.conformance.suite import Property

ARITHMETIC: Final = frozenset(("add", "sub", "mul", "div", "sqrt", "fma", "convert"))
COMPARISONS: Final = frozenset(("eq", "lt", "le", "eq_signaling", "lt_quiet", "le_quiet"))
MINMAX: Final = frozenset(("minimum", "maximum", "minimum_number", "maximum_number", "min", "max"))
ALL: Final = frozenset(OPERATIONS)

Reason = Callable[[Setup], str]
Check = Callable[[Trial, Any], None]
_TABLE: Final[list[tuple[Property[Setup], frozenset[str]]]] = []


def always(_: Setup) -> str:
    """No reason against."""
    return ""


def prop(
    ops: Iterable[str],
    *,
    when: Iterable[Reason] = (),
    roundings: frozenset[str] = EVERY,
    cases: Callable[[Setup], SearchStrategy[Any]] | None = None,
) -> Callable[[Check], Check]:
    """Enter a property: its function has its name, and the statement as docstring. when: reasons against, the first
    that is given holds. roundings: those of which it is true."""

    def register(check: Check) -> Check:
        name, statement = check.__name__, " ".join((check.__doc__ or "").split())

        found = frozenset(ops)

        def applies(setup: Setup) -> str:
            if setup.operation not in found:
                return f"{name}: not of {setup.operation}"
            if not setup.roundings & roundings:
                return f"{name}: of roundings {' '.join(sorted(roundings))}, not {' '.join(sorted(setup.roundings))}"
            return next((f"{name}: {reason}" for w in when if (reason := w(setup))), "")

        drawn = cases or (lambda setup: setup.cases(roundings))
        _TABLE.append((Property(name, statement, drawn, check, applies), found))
        return check

    return register


def properties(*ops: str) -> dict[str, Property[Setup]]:
    """The properties of operations, by name."""
    return {item.name: item for item, found in _TABLE if found & set(ops)}


# -- reasons -----------------------------------------------------------------------------------------------------------


def signed(setup: Setup) -> str:
    """Every format has a sign, apart from its magnitude."""
    odd = [f.name for f in (*setup.sig.formats, setup.out) if not f.signed or f.twos_complement]
    return f"{odd[0]} has no sign bit" if odd else ""


def floating(setup: Setup) -> str:
    """Every format has an exponent."""
    fixed = [f.name for f in (*setup.sig.formats, setup.out) if f.twos_complement]
    return f"{fixed[0]} has no exponent" if fixed else ""


def one_format(setup: Setup) -> str:
    """Operands and result have one format."""
    return "" if len({*setup.sig.formats, setup.out}) == 1 else "the formats differ"


def gradual(setup: Setup) -> str:
    """Subnormals exist, and are not flushed."""
    flushed = any(p.flush_outputs or p.flush_inputs for p in setup.policies)
    formats = (*setup.sig.formats, setup.out)
    if flushed:
        return "subnormals are flushed"
    return "" if all(f.subnormals == "gradual" for f in formats) else "a format has no subnormals"


def with_nan(setup: Setup) -> str:
    """Some operand can be a NaN."""
    return "" if any(f.has_nan for f in setup.sig.formats) else "no operand can be a NaN"


def rounding_of(case: Case) -> str:
    """The name of the case's rounding."""
    return rounding_name(case.policy.rounding)
