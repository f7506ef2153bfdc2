"""Defects of block scales computed by a logarithm that is rounded: near powers of two they are one off."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from softfloat_ref.diagnosis.defects import defective, replaced
from softfloat_ref.diagnosis.hypotheses import SHARE, Hypothesis
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32, BlockFormat
from softfloat_ref.oracle.blocks.fp32_steps import fp32, fp32_quotient
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.scale_rules import WantedScale, largest
from softfloat_ref.oracle.blocks.scales import wanted_scale
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.operations import evaluator, get_operation, signature
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding import Rounding, round_to_unit
from softfloat_ref.oracle.steps import Function, Traced
from softfloat_ref.units import QuantizeUnit

_FORMATS: Final = ("fp32", "bf16", "fp16")  # to which the logarithm is rounded
_ONE: Final = exact.finite(0, 1, 0)


class _Form(NamedTuple):
    """A formula for the exponent of a scale. divided: of amax / largest element, else of amax, less emax; mode: the
    rounding of the logarithm to an integer."""

    text: str
    divided: bool
    mode: Rounding


# The formula of each scale rule that computes a logarithm.
_FORMS: Final = {
    "floor": _Form("floor(log2(amax))", False, Rounding.RDN),
    "ceil": _Form("ceil(log2(amax))", False, Rounding.RUP),
    "rceil": _Form("ceil(log2(amax / largest))", True, Rounding.RUP),
    "nearest": _Form("round(log2(amax / largest))", True, Rounding.RNE),
}


def logarithm_defects(unit: QuantizeUnit) -> Iterator[Hypothesis]:
    """The scale's exponent by the formula of its rule, with the logarithm rounded to a format."""
    form = _FORMS.get(unit.profile.scale_rule)
    if form is None or unit.block.scale.mantissa_bits:
        return
    for name in _FORMATS:

        def wanted(
            here: Traced,
            right: Function,
            amax: Value,
            fmt: BlockFormat,
            profile: Profile,
            tensor_scale: Value,
            name: str = name,
        ) -> Any:
            if tensor_scale != _ONE:
                return right(amax, fmt, profile, tensor_scale)
            x = fp32_quotient(amax, largest(fmt.element)) if form.divided else fp32(amax)
            exponent = _rounded_log2(x, name, form.mode)
            if exponent is None:
                return right(amax, fmt, profile, tensor_scale)
            return WantedScale(exact.finite(0, 1, exponent if form.divided else exponent - fmt.element.emax))

        text = f"computes its scale by {form.text}, with the logarithm rounded to {name}"
        yield defective(unit, f"{form.text} in {name}", text, replaced(wanted_scale, wanted), share=SHARE)


@lru_cache(maxsize=1 << 12)
def _rounded_log2(x: Value, name: str, mode: Rounding) -> int | None:
    """The logarithm of an FP32 number, rounded to a format and then to an integer; None for zeros and infinities."""
    if x.kind != FINITE or not x.significand:
        return None
    log2 = signature(get_operation("log2"), "fp32", name)
    code, _ = evaluator(log2, Policy())((encoder(FP32, Policy())(x, 0)[0],), 0)
    y = decoder(log2.out)(code)
    size, _ = round_to_unit(y.sign, y.significand, y.exponent, y.significand.bit_length(), mode, 0, 0)
    return -size if y.sign else size
