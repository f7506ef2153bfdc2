"""Classes of codes against the decoder, for every code; assumptions as text."""

from __future__ import annotations

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.symbolic.classes import CLASSES, assumption, is_in, is_nan
from softfloat_ref.symbolic.terms import TRUE, evaluator, var
from softfloat_ref.units import make_unit

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


def holds(text: str, **codes: int) -> bool:
    unit = make_unit("fma", "fp16")
    return bool(evaluator([assumption(text, unit)])({"a": 0, "b": 0, "c": 0} | codes)[0])


def test_assumptions() -> None:
    assert assumption("", make_unit("add", "fp16")) is TRUE
    assert holds("a is normal and b is zero", a=0x3C00)
    assert not holds("a is normal and b is zero", a=0x3C00, b=0x3C00)
    assert holds("c is 3c00", c=0x3C00)
    assert holds("c is 0x3C00", c=0x3C00)
    assert not holds("c is 3c00", c=0x3C01)


def test_lanes() -> None:
    unit = make_unit("quantize", "mxfp4")
    run = evaluator([assumption("values is finite", unit), assumption("values[3] is finite", unit)])
    codes = {f"values_{k}": 0 for k in range(32)}
    assert run(codes) == [1, 1]
    assert run(codes | {"values_2": 0x7F800000}) == [0, 1]
    assert run(codes | {"values_3": 0x7F800000}) == [0, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a normal", "not FIELD is CLASS"),
        ("d is normal", "unknown input 'd'"),
        ("a is norml", "did you mean normal"),
        ("a is 12345", "does not fit a"),
        ("a[1] is zero", "a has 1 lanes"),
        ("a is normal or b is normal", "not FIELD is CLASS"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(Error, match=message.replace("[", r"\[")):
        assumption(text, make_unit("fma", "fp16"))


def test_a_field_without_format_takes_a_code() -> None:
    unit = make_unit("convert", "fp32", out="fp16", policy={"rounding": "sr", "sr_bits": 4})
    assert evaluator([assumption("r is a", unit)])({"r": 10}) == [1]
    with pytest.raises(Error, match="r has no format"):
        assumption("r is zero", unit)
