"""The policy of a library: one of ours, or a specialization of Berkeley SoftFloat 3e."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.policies import Integers, NanMissing, NanRule, Policy, Specials, Tininess, get_policy
from softfloat_ref.oracle.policies import rounding_name as name_of_rounding
from softfloat_ref.oracle.rounding import Rounding

# The numbers of softfloat_roundingMode.
ROUNDING_MODES: Final = {
    Rounding.RNE: 0,
    Rounding.RTZ: 1,
    Rounding.RDN: 2,
    Rounding.RUP: 3,
    Rounding.RNA: 4,
    Rounding.RTO: 6,
}


@dataclass(frozen=True)
class LibraryPolicy:
    """policy: its rounding and tininess are those that a program starts with. fma_order, fma_generated: the words of
    core.h for NaNs of fma."""

    name: str
    policy: Policy
    fma_order: str
    fma_generated: str


# source/8086-SSE and source/ARM-VFPv2 of SoftFloat 3e; its source/RISCV is our policy riscv. In fma, the NaN of a and b
# is chosen first, and then that of the two and c, for which 0 * Inf is the generated NaN.
_SPECIALIZATIONS: Final = {
    "8086-sse": LibraryPolicy(
        "8086-SSE",
        Policy(nan="propagate,negative,fma-generated", integers=Integers.X86),
        "CORE_FMA_ABC",
        "CORE_GENERATED_NAN",
    ),
    "arm-vfpv2": LibraryPolicy(
        "ARM-VFPv2",
        Policy(nan="propagate-signaling,fma-generated", integers=Integers.ARM, tininess=Tininess.BEFORE),
        "CORE_FMA_SIGNALING_C",
        "CORE_GENERATED_IF_QUIET",
    ),
}
SPECIALIZATIONS: Final = tuple(_SPECIALIZATIONS)


def library_policy(table: Mapping[str, Any] | None = None) -> LibraryPolicy:
    """The policy of a table of fields; `like` may also name a specialization. Raises Error for what a library cannot
    have."""
    table = dict(table or {})
    name = str(table.get("like", "ieee"))
    special = _SPECIALIZATIONS.get(name.strip().lower())
    if special is not None:
        if others := [field for field in table if field != "like"]:
            raise Error(f"{special.name} is SoftFloat's, with all its choices; leave {others[0]} out")
        return special
    policy = get_policy(table)
    rule = policy.nan_rule
    own = {"like"} & table.keys()
    label = name if own == table.keys() else ", ".join(f"{k} = {v}" for k, v in table.items() if k != "like")
    label = f"{name}, {label}" if own and own != table.keys() else label or "ieee"
    generated = "CORE_GENERATED_IF_QUIET" if rule.fma_generated else "CORE_ADDEND_NAN"
    return LibraryPolicy(label, _checked(policy), _fma_order(rule), generated)


def _checked(policy: Policy) -> Policy:
    if policy.rounding not in ROUNDING_MODES:
        names = ", ".join(name_of_rounding(mode) for mode in ROUNDING_MODES)
        raise Error(f"rounding {name_of_rounding(policy.rounding)} is not in the library; it has {names}")
    if policy.specials == Specials.P3109:
        raise Error("the special cases of P3109 are not in the library; use another policy")
    if policy.nan_missing == NanMissing.ERROR:
        raise Error("nan_missing = error is not a result that a library can return; use max or zero")
    return policy


def _fma_order(rule: NanRule) -> str:
    """The order in which an fma checks its operands for NaNs."""
    if rule.addend_first:
        return "CORE_FMA_ABC" if rule.first_last else "CORE_FMA_CAB"
    return "CORE_FMA_BCA" if rule.first_last else "CORE_FMA_ABC"
