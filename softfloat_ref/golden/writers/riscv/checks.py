"""Why a set has no test in RISC-V assembly, in one line."""

from __future__ import annotations

import dataclasses
from typing import Final

from softfloat_ref.golden.writers.riscv.forms import FRM, Form, scalar_forms, spelling, vector_forms
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import POLICIES, Overflow, Policy, Specials, rounding_name
from softfloat_ref.units import MixedUnit, OperationUnit

REGISTER: Final = 64  # bits of a register of RV64 with D
_RISCV: Final = POLICIES["riscv"]
_FIELDS: Final = ("flush_inputs", "flush_outputs", "tininess", "integers", "bare_widening")


def forms(unit: OperationUnit) -> list[Form]:
    """The instructions that compute a unit's operation, scalar ones first."""
    return [*scalar_forms(unit), *vector_forms(unit)]


def refusal(unit: OperationUnit | MixedUnit) -> str:
    """Why no test can be written for a unit; '' if one can."""
    if len(unit.parts) > 1:
        return _mixed_refusal(unit)
    part: OperationUnit = unit.parts[0]  # type: ignore[assignment]
    if part.intermediate:
        return "instructions do not output the unrounded intermediate; omit --intermediate"
    return _operation_refusal(part, forms(part))


def _mixed_refusal(unit: OperationUnit | MixedUnit) -> str:
    for part in unit.parts:
        if why := _operation_refusal(part, scalar_forms(part)):  # type: ignore[arg-type]
            return f"part {part.name}: {why}"
    field = unit.inputs[-1]
    if field.padding != "box" or field.width != REGISTER or unit.results[0].width != REGISTER:
        return f'operands lie in registers of {REGISTER} bits; use padding = "box" and width = {REGISTER}'
    return ""


def _operation_refusal(unit: OperationUnit, instructions: list[Form]) -> str:
    if instructions:
        return _policy_refusal(unit.policy, unit.out)
    rounding = rounding_name(unit.policy.rounding)
    source = ", ".join(dict.fromkeys(f.name for f in unit.formats))
    what = f"{unit.op} of {source} to {unit.out.name}"
    quiet = tuple(map(_quiet, unit.formats))
    if unit.signature.operation.is_conversion and forms(dataclasses.replace(unit, formats=quiet)):
        return (
            f"no instruction computes {what}: Zvfofp8min raises no flags for NaNs of E5M2, so its operand is "
            'a format like = "fp8_e5m2" with signaling = false'
        )
    if any(forms(_under(unit, overflow=rule)) for rule in (Overflow.SAT_NONE, Overflow.SAT_FINITE)):
        return f"no instruction computes {what} with overflow = {unit.policy.overflow_for(unit.out)}"
    if rounding not in FRM and forms(_under(unit, rounding="rne")):
        return f"no instruction computes {what} in rounding {rounding}; frm has {', '.join(FRM)}"
    return f"no instruction of the table computes {what}"


def _quiet(fmt: Format) -> Format:
    return dataclasses.replace(fmt, signaling=False) if spelling(fmt) == "fp8_e5m2" else fmt


def _under(unit: OperationUnit, **fields: object) -> OperationUnit:
    return OperationUnit(unit.op, unit.formats, unit.out, unit.policy.replace(**fields))


def _policy_refusal(policy: Policy, out: Format) -> str:
    """The first choice in which a policy differs from RISC-V's."""
    for name in _FIELDS:
        if getattr(policy, name) != getattr(_RISCV, name):
            return f"RISC-V has {name} = {_shown(getattr(_RISCV, name))}, not {_shown(getattr(policy, name))}"
    if policy.specials == Specials.P3109:
        return "RISC-V has the special cases of IEEE 754, not those of P3109"
    rule, own = policy.nan_rule, _RISCV.nan_rule
    if rule.propagate != "no" or rule.fma_quiet:
        return f"RISC-V's NaNs are canonical, and fma of zero, Inf and NaN is invalid; not nan = {policy.nan}"
    if out.has_nan and out.exponent_bits and rule.code(out) != own.code(_named(out)):
        return f"RISC-V's NaN of {out.name} is {own.code(_named(out)):x}, not {rule.code(out):x}"
    return ""


def _named(out: Format) -> Format:
    """The format by the name that RISC-V's rule knows."""
    from softfloat_ref.oracle.formats import get_format

    return get_format(spelling(out).split()[0])


def _shown(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
