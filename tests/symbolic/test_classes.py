"""Classes of codes against the decoder, for every code."""

from __future__ import annotations

import pytest

from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.symbolic.classes import CLASSES, is_in, is_nan
from softfloat_ref.symbolic.terms import evaluator, var

FORMATS = [f for f in CATALOGUE.values() if f.width <= 8 or f.name in ("fp16", "bf16")]
MORE = ["binary8p4se", "binary8p1ue", "s1e4m3b7", "s0e4m3b7"]


def classes_of(code: int, fmt: Format) -> set[str]:
    """By the decoder's value."""
    value = decoder(fmt)(code)
    signless = value.kind == NAN and fmt.nan != "ieee" and fmt.nan != "top"  # one NaN, in the place of -0
    signs = {"negative" if code & fmt.sign_bit and not signless else "positive"}
    if value.kind == NAN:
        return {"nan", *signs}
    if value.kind == INF:
        return {"inf", *signs}
    assert value.kind == FINITE
    if value.significand == 0:
        return {"finite", "zero", *signs}
    top = value.significand.bit_length() - 1 + value.exponent
    small = not fmt.twos_complement and top < fmt.emin
    return {"finite", "subnormal" if small else "normal", *signs}


@pytest.mark.parametrize("fmt", [*FORMATS, *map(get_format, MORE)], ids=lambda f: f.name)
def test_classes_are_the_decoders(fmt: Format) -> None:
    code = var("a", fmt.width)
    run = evaluator([is_in(name, code, fmt) for name in CLASSES])
    quiet = evaluator([is_nan(code, fmt, quiet=True)])
    for x in range(0, 1 << fmt.width, 1 if fmt.width <= 8 else 7):
        classes = {name for name, bit in zip(CLASSES, run({"a": x}), strict=True) if bit}
        assert classes == classes_of(x, fmt), f"{x:x}"
        value = decoder(fmt)(x)
        assert quiet({"a": x}) == [value.kind == NAN and not value.signaling], f"{x:x}"
