"""The policy of a library: one of ours, or a specialization of Berkeley SoftFloat 3e."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import (
    POLICIES,
    Integers,
    NanMissing,
    NanRule,
    Policy,
    Tininess,
    Unnormals,
    get_policy,
)
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
    core.h for NaNs of fma. extended: of a format that stores its integer bit, where that differs. stochastic, sr_bits:
    the rounding of functions with random bits, and how many there are; without any, there are no such functions."""

    name: str
    policy: Policy
    fma_order: str
    fma_generated: str
    extended: Policy | None = None
    stochastic: Rounding = Rounding.SR
    sr_bits: int = 0

    def for_format(self, fmt: Format) -> Policy:
        """The policy under which results are in a format."""
        return self.extended or self.policy if fmt.explicit_bit else self.policy

    def fma_words(self, fmt: Format) -> tuple[str, str]:
        """fma_order and fma_generated in a format. SoftFloat's extended one has no fma."""
        if fmt.explicit_bit and self.extended:
            return _fma_words(self.extended.nan_rule)
        return self.fma_order, self.fma_generated


# The folders in source/ of SoftFloat 3e. In fma, the NaN of a and b is chosen first, and then that of the two and c;
# 0 * Inf is then the generated NaN.
SPECIALIZATIONS: Final = {
    "RISCV": LibraryPolicy(
        "RISCV", POLICIES["riscv"].replace(unnormals=Unnormals.VALUE), "CORE_FMA_ABC", "CORE_ADDEND_NAN"
    ),
    "8086-SSE": LibraryPolicy(
        "8086-SSE",
        Policy(nan="propagate,negative,fma-generated", integers=Integers.X86, unnormals=Unnormals.VALUE),
        "CORE_FMA_ABC",
        "CORE_GENERATED_NAN",
        POLICIES["softfloat-8086"],
    ),
    "ARM-VFPv2": LibraryPolicy(
        "ARM-VFPv2",
        Policy(
            nan="propagate-signaling,fma-generated",
            integers=Integers.ARM,
            tininess=Tininess.BEFORE,
            unnormals=Unnormals.VALUE,
        ),
        "CORE_FMA_SIGNALING_C",
        "CORE_GENERATED_IF_QUIET",
    ),
}


def specialization(name: str) -> LibraryPolicy:
    """The policy of a specialization of SoftFloat 3e. Raises Error."""
    for own in SPECIALIZATIONS.values():
        if own.name.lower() == name.strip().lower():
            return own
    raise unknown("specialization", name, SPECIALIZATIONS)


def library_policy(table: Mapping[str, Any] | None = None) -> LibraryPolicy:
    """The policy of a table of fields. Raises Error for what a library cannot have."""
    policy = get_policy(table or {})
    rule = policy.nan_rule
    words = [f"{value}" if field == "like" else f"{field} = {value}" for field, value in (table or {}).items()]
    own = LibraryPolicy(", ".join(words) or "ieee", policy, *_fma_words(rule))
    if policy.rounding.stochastic or policy.sr_bits is not None:
        stochastic = policy.rounding if policy.rounding.stochastic else Rounding.SR
        bits = policy.replace(rounding=stochastic).random_count
        policy = policy.replace(rounding=Rounding.RNE if policy.rounding.stochastic else policy.rounding, sr_bits=None)
        own = dataclasses.replace(own, stochastic=stochastic, sr_bits=bits)
    return dataclasses.replace(own, policy=_checked(policy))


def _checked(policy: Policy) -> Policy:
    if policy.rounding not in ROUNDING_MODES:
        names = ", ".join(name_of_rounding(mode) for mode in ROUNDING_MODES)
        raise Error(f"rounding {name_of_rounding(policy.rounding)} is not in the library; it has {names}")
    if policy.nan_missing == NanMissing.ERROR:
        raise Error("nan_missing = error is not a result that a library can return; use max or zero")
    return policy


def _fma_words(rule: NanRule) -> tuple[str, str]:
    """The order in which an fma checks its operands for NaNs, and whether fma(0, Inf, NaN) is the generated one."""
    order = "CORE_FMA_BCA" if rule.first_last else "CORE_FMA_ABC"
    if rule.addend_first:
        order = "CORE_FMA_ABC" if rule.first_last else "CORE_FMA_CAB"
    return order, "CORE_GENERATED_IF_QUIET" if rule.fma_generated else "CORE_ADDEND_NAN"
