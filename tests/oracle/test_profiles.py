"""Block profiles: the scalar oracle against a definition in rationals, peers' rules, properties, the page."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import volume
from hypothesis import given
from hypothesis import strategies as st
from profile_definition import NAMES, amaxes, cases, check, defined, line, power, shuffled

from softfloat_ref import blocks
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import BLOCK_FORMATS, FP32, BlockFormat, define_block_format, get_block_format
from softfloat_ref.oracle.blocks.profile import CHOICES
from softfloat_ref.oracle.blocks.profiles import PROFILES, define_profile, get_profile
from softfloat_ref.oracle.blocks.quantize import QuantizedBlock, is_for, quantize_block, resolve
from softfloat_ref.oracle.blocks.scale_rules import SCALE_RULES
from softfloat_ref.oracle.blocks.scales import scale_of
from softfloat_ref.oracle.codec import decode, encode, to_value

MX = [b for b in BLOCK_FORMATS.values() if b.name.startswith("mx")]


# -- the scalar oracle is the definition -----------------------------------------------------------------------------


def variants() -> list[str]:
    """ocp with every choice of every field."""
    stochastic = [f"rounding={r}" for r in CHOICES["rounding"] if r.startswith("sr")]
    every = [f"{field}={choice}" for field, choices in CHOICES.items() for choice in choices]
    return [f"ocp,{v}" for v in every if v not in stochastic] + ["ocp,flush=block,flush_below=-100"]


@pytest.mark.full(keep=3)
@pytest.mark.parametrize("name", NAMES)
def test_named_profiles_are_their_definition(name: str) -> None:
    rng = np.random.default_rng(1)
    for profile in PROFILES.values():
        for scale in (Fraction(1), Fraction(float(np.float32(0.3))), power(-140)):
            if scale != 1 and profile.tensor_scale == "none":
                continue
            d = defined(name, profile, scale)
            for block in cases(d, rng, 20, profile.arithmetic == "exact"):
                check(d, block)


@pytest.mark.full(keep=4)
@pytest.mark.parametrize("name", NAMES)
def test_choices_are_their_definition(name: str) -> None:
    rng = np.random.default_rng(2)
    drawn = [shuffled(rng) for _ in range(volume.cases(15, 40))]
    for profile in [*map(get_profile, variants()), *drawn]:
        d = defined(name, profile)
        for block in cases(d, rng, 5, profile.arithmetic == "exact"):
            check(d, block)


@pytest.mark.full(keep=15)
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("rule", SCALE_RULES)
@pytest.mark.parametrize("fmt", MX, ids=lambda b: b.name)
def test_scales_in_every_binade(fmt: BlockFormat, rule: str) -> None:
    """Every threshold of every rule in every FP32 binade, by the scalar oracle and by arrays."""
    profile = get_profile(f"ocp,flush=never,scale_rule={rule}")
    d = defined(fmt, profile)
    binades = range(-149, 128) if volume.FULL else [*range(-149, -120), *range(-120, 110, 4), *range(110, 128)]
    points = sorted({p for e in binades for p in amaxes(d, e) if 0 < p < power(128)})
    wanted = [d.scale(p) for p in points]
    assert [scale_of(to_value(p, 0), d.fmt, profile) for p in points] == wanted
    single = BlockFormat("one", fmt.element, fmt.scale, 1)
    x = np.array([float(p) for p in points], np.float32)
    assert x.astype(np.float64).tolist() == [float(p) for p in points]
    for values in (x, x.astype(np.float64)):  # by the compiled loops, and by numpy
        assert blocks.encode(values, single, profile=profile).scales.tolist() == wanted
    assert len(points) > (len(binades) - 24) * 8


@pytest.mark.full(keep=3)
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    "profile", [p for p, x in PROFILES.items() if x.scale_rule in ("rne", "amax") and x.scale_search == "none"]
)
@pytest.mark.parametrize("scale", ["ue4m3", "ue5m3", "fp8_e4m3", "binary8p3ue", "binary8p1uf", "fp8_e5m2"])
def test_scales_with_a_significand(scale: str, profile: str) -> None:
    """Every scale, every midpoint between two of them, and their neighbours in FP32, both ends included."""
    fmt = get_block_format(f"fp4_e2m1@{scale}/1")
    d = defined(fmt, profile)
    unit = d.largest if d.profile.scale_rule == "rne" else 1
    values = line(fmt.scale, False).values
    middles = [(a + b) / 2 for a, b in itertools.pairwise(values)]
    points = [p * unit * (1 + k * power(-22)) for p in [*values, *middles, values[-1] * 4] for k in (-1, 0, 1)]
    x = np.array([float(p) for p in points if 0 < p < power(127)], np.float32)
    wanted = [d.scale(Fraction(float(v))) for v in x]
    for values in (x, x.astype(np.float64)):  # by the compiled loops, and by numpy
        assert blocks.encode(values, fmt, profile=d.profile, tensor_scale=1.0).scales.tolist() == wanted
    assert blocks.encode(x[:100], fmt, profile=d.profile, tensor_scale=1.0).scales.tolist() == wanted[:100]


def test_scale_formats_wider_than_a_byte() -> None:
    """FP32 scales: the quotient rounded to nearest, by comparison with both neighbours."""
    fmt = get_block_format("fp8_e4m3@fp32/axis")
    rng = np.random.default_rng(5)
    for amax in np.ldexp(rng.random(300), rng.integers(-100, 100, 300)).astype(np.float32):
        code = quantize_block([to_value(float(amax), 0)], fmt).scale
        around = [decode(c, FP32).as_fraction() for c in (code - 1, code, code + 1)]
        errors = [abs(v - Fraction(float(amax)) / 448) for v in around]
        assert errors[1] < min(errors[0], errors[2]) or (errors[1] == min(errors[::2]) and code % 2 == 0)


# -- what peers do differently ---------------------------------------------------------------------------------------


def one(x: float, fmt: str, profile: str, *more: float) -> QuantizedBlock:
    return quantize_block([to_value(v, 0) for v in (x, *more)], fmt, profile)


def test_rules_differ() -> None:
    """E4M3: 448, 449 and 500 under floor, ceil, even and rceil; below 384 MLX's former rule is one lower."""
    table = {
        448.0: "7f 80 7f 7f",
        449.0: "7f 80 7f 80",
        500.0: "7f 80 80 80",
        512.0: "80 80 80 80",
        256.0: "7f 7f 7f 7f",
    }
    for amax, row in table.items():
        rules = ("floor", "ceil", "even", "rceil")
        assert " ".join(f"{one(amax, 'mxfp8', f'ocp,scale_rule={r}').scale:02x}" for r in rules) == row
    for profile, scale in {"ocp": 0x7F, "nvidia": 0x80, "mlx": 0x80, "amd-even": 0x80, "torchao-floor": 0x7F}.items():
        assert one(500.0, "mxfp8", profile).scale == scale
    assert [one(x, "mxfp8", "ocp,scale_rule=nearest").scale for x in (300, 317, 634, 633)] == [
        0x7E,
        0x80 - 1,
        0x80,
        0x7F,
    ]


def test_special_blocks_of_named_profiles() -> None:
    nan, inf = float("nan"), float("inf")
    assert one(inf, "mxfp8", "torchao-floor", 1.0)[:2] == (0xFF, (0x7F, 0x7F))
    assert one(inf, "mxfp8", "torchao-floor,inf=binade", 1.0)[:2] == (0xF7, (0x7E, 0x00))
    assert one(inf, "mxfp8", "nvidia", 1.0)[:2] == (0xFE, (0x7E, 0x00))
    assert one(nan, "mxfp8", "nvidia", inf)[:2] == (0xFF, (0x7F, 0x7F))
    assert one(-inf, "mxfp4", "microxcaling", 1.0)[:2] == (0xFF, (0, 0))
    assert one(nan, "mxfp4", "p3109", 6.0).scale == one(6.0, "mxfp4", "p3109").scale
    assert one(inf, "nvfp4", "nvfp4-torchao", 1.0)[:2] == (0x7E, (7, 0))
    assert one(1e300, "mxfp8", "microxcaling").scale == 0xFF  # a scale beyond 2^127
    for profile in ("msfp",):
        with pytest.raises(Error, match="holds a NaN or Inf"):
            one(nan, "msfp12", profile)


def test_zero_blocks() -> None:
    assert one(0.0, "mxfp8", "ocp", -0.0)[:2] == (0x00, (0x00, 0x80))
    assert one(0.0, "mxfp8", "ocp,zero_block=one").scale == 0x7F
    assert [one(0.0, "nvfp4", p).scale for p in ("nvfp4", "nvfp4-torchao", "ocp")] == [0x00, 0x08, 0x01]


def test_signs_of_zero() -> None:
    """microxcaling loses the sign of a -0 that is given, but not of what underflows; torchao keeps both."""
    values = (448.0, -0.0, -1e-9)
    assert one(*values[:1], "mxfp8", "torchao-floor", *values[1:]).codes == (0x7E, 0x80, 0x80)
    assert one(*values[:1], "mxfp8", "microxcaling", *values[1:]).codes == (0x7E, 0x00, 0x80)
    assert one(*values[:1], "mxfp8", "ocp,negative_zero=drop", *values[1:]).codes == (0x7E, 0x00, 0x00)


def test_int8_is_symmetric_or_full() -> None:
    assert one(-1.999, "mxint8", "ocp").codes == (0x81,)
    assert one(-1.999, "mxint8", "ocp,integers=full").codes == (0x80,)
    assert one(1.999, "mxint8", "ocp,integers=full").codes == (0x7F,)


def test_scale_bytes_at_the_ends() -> None:
    """Byte 00 is 2^-127, an FP32 subnormal, and byte FF NaN; the divisor is the decoded scale."""
    for fmt in MX:
        element = next(c for c in range(256) if decode(c, fmt.element).as_fraction() == 1)
        assert dequantize_to_fp32(0x00, [element], fmt) == [1 << 22]
        assert dequantize_to_fp32(0xFF, [element, 0], fmt) == [0x7FC00000] * 2
    assert one(2.0**-127, "mxfp8", "torchao-floor")[:2] == (0x00, (0x38,))  # torchao 0.18.0 has 0x30
    fp16 = np.full(32, 2.0**-24, np.float16)
    assert blocks.encode(fp16, "mxfp8").decode().tolist() == [2.0**-24] * 32


def test_the_largest_fp32() -> None:
    """Under rceil its own element dequantizes within FP32; rounded up under ceil it is Inf, or saturates."""
    top = float(np.float32(3.4028234663852886e38))
    for rule, back in {"floor": 0x7F600000, "rceil": 0x7F800000, "ceil": 0x7F800000, "even": 0x7F800000}.items():
        block = one(top, "mxfp8", f"ocp,scale_rule={rule}")
        assert dequantize_to_fp32(block.scale, block.codes, "mxfp8") == [back]
        saturated = dequantize_to_fp32(block.scale, block.codes, "mxfp8", "ocp,dequantize_overflow=saturate")
        assert saturated == [min(back, 0x7F7FFFFF)]
        q = blocks.encode(np.array([top] * 2), "mxfp8", profile=f"ocp,scale_rule={rule},dequantize_overflow=saturate")
        assert q.decode().view(np.uint32).tolist() == saturated * 2


def test_the_decoded_scale_divides() -> None:
    """NVFP4: amax 6.5 asks for 1.0833 and gets 1.125; 2.82 / 1.125 is past the tie at 2.5, 2.82 / 1.0833 not below."""
    block = one(6.5, "nvfp4", "nvfp4", 2.8, -0.27)
    assert decode(block.scale, "ue4m3").as_fraction() == Fraction(9, 8)
    assert [float(decode(c, "fp4_e2m1")) for c in block.codes] == [6.0, 2.0, -0.0]
    assert 2.8 / (6.5 / 6) > 2.5 > 2.8 / 1.125
    assert -0.27 / 1.125 > -0.25


def test_nvfp4_scale_floors() -> None:
    """A block far below the tensor's largest: no scale, the smallest subnormal, or the smallest normal."""
    x = np.zeros(32, np.float32)
    x[0], x[16:] = 2688.0, 2.0**-9
    for profile, scale, value in (
        ("nvfp4", 0x00, 0.0),
        ("nvfp4,scale_low=smallest", 0x01, 2.0**-9),
        ("nvfp4-torchao", 0x08, 0.0),
    ):
        q = blocks.encode(x, "nvfp4", profile=profile)
        assert (q.tensor_scale, q.scales[1]) == (1.0, scale)
        assert q.decode()[16] == value


# -- properties ------------------------------------------------------------------------------------------------------

MAGNITUDES = st.builds(lambda m, e: Fraction(m) * power(e), st.integers(1, 1 << 30), st.integers(-180, 120))


@given(MAGNITUDES, MAGNITUDES, st.sampled_from(sorted(SCALE_RULES)), st.sampled_from(NAMES), st.booleans())
def test_rules_are_monotone(a: Fraction, b: Fraction, rule: str, name: str, close: bool) -> None:
    b = a * (1 + power(-24)) if close else b
    fmt, profile = resolve(get_block_format(name), f"ocp,scale_rule={rule}")
    low, high = (decode(scale_of(to_value(x, 0), fmt, profile), fmt.scale).as_fraction() for x in sorted((a, b)))
    assert low <= high


# quantize(dequantize(q)): "codes": all the same; "values": another scale may hold the same values.
# rceil and ceil: the largest element may round down to where a smaller scale does. nearest saturates instead, and
# rounds up to less than the largest: "codes", but for E2M1, which has so few that 4 * sqrt(2) goes to 6.
IDEMPOTENT = {"floor": "codes", "even": "codes", "ceil": "values", "rceil": "values", "nearest": "codes"}
EXCEPT = {("nearest", "mxfp4_e2m1"): "nothing", ("rceil", "mxint8"): "codes"}


@pytest.mark.parametrize("rule", IDEMPOTENT)
@pytest.mark.parametrize("fmt", MX, ids=lambda b: b.name)
def test_quantizing_again(fmt: BlockFormat, rule: str) -> None:
    """Away from the ends of FP32, where a product overflows or loses bits."""
    rng = np.random.default_rng(12)
    x = (rng.standard_normal((4000, 32)) * 2.0 ** rng.integers(-90, 110, (4000, 1))).astype(np.float32)
    first = blocks.encode(x, fmt, profile=f"ocp,flush=never,scale_rule={rule}")
    again = blocks.encode(first.decode(), fmt, profile=first.profile)
    kept = EXCEPT.get((rule, fmt.name), IDEMPOTENT[rule])
    same_values = (again.decode() == first.decode()).all()
    assert (again.scales <= first.scales).all()
    assert (again.scales == first.scales).all() == (again.codes == first.codes).all() == (kept == "codes")
    assert same_values == (kept != "nothing")


@pytest.mark.parametrize("profile", ["nvfp4", "nvfp4-torchao", "nvfp4,scale_low=smallest"])
def test_quantizing_nvfp4_again(profile: str) -> None:
    """The same codes and tensor scale where no block's scale is subnormal."""
    rng = np.random.default_rng(13)
    x = (rng.standard_normal((400, 32)) * np.exp2(rng.integers(-5, 1, (400, 1)))).astype(np.float32)
    first = blocks.encode(x, "nvfp4", profile=profile)
    again = blocks.encode(first.decode(), "nvfp4", profile=profile)
    assert first.scales.min() > 8
    assert again.tensor_scale == first.tensor_scale
    assert (again.scales == first.scales).all()
    assert (again.codes == first.codes).all()


# -- the page is the registry ----------------------------------------------------------------------------------------


def table_rows() -> dict[str, list[str]]:
    """The rows of the tables of docs/blocks.md, by the first cell."""
    page = (Path(__file__).parents[2] / "docs" / "blocks.md").read_text()
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| `")]
    return {first.strip("`"): rest for first, *rest in rows}


def test_the_page_has_every_profile() -> None:
    rows, ocp = table_rows(), PROFILES["ocp"]
    fields = [f for f in (*CHOICES, "flush_below") if f != "scale_rule"]
    for name, p in PROFILES.items():
        differs = [f"`{f}={getattr(p, f)}`" for f in fields if getattr(p, f) != getattr(ocp, f)]
        formats = "any" if p.formats == "*" else p.formats.replace("|", ", ").replace("*", "\\*")
        assert rows[name] == [formats, p.scale_rule, ", ".join(differs) or "nothing", p.source, p.checked]


def test_the_page_has_every_choice() -> None:
    rows = table_rows()
    for field, choices in CHOICES.items():
        assert rows[field][0] == ", ".join(choices)
    assert set(SCALE_RULES) | set(CHOICES) | set(PROFILES) == set(rows)


# -- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["ocp,", "ocp,x=y", "ocp,nan", "ocp,nan=", "ocp,like=nvidia", "ocp,name=x", "ocp,nan=block,nan=element", "x.toml",
     "ocp,flush_below=--5", "ocp,flush_below=²", "ocp,formats=",
     "ocp,flush_below=1e3", "ocp,flush_below=100000", "", ",", "OCP,nan=x"],
)  # fmt: skip
def test_bad_profiles(name: str) -> None:
    with pytest.raises(Error):
        get_profile(name)


@pytest.mark.parametrize(
    "name",
    ["fp4_e2m1@e8m0/0", "fp4_e2m1@e8m0/4097", "fp4_e2m1@e8m0/-1", "fp4_e2m1@e8m0/１６", "fp4_e2m1@e8m0", "@e8m0/32",
     "i8@e8m0/32", "fp4_e2m1@u8/32", "mxfp8@e8m0/32", "flexfp_e0m3", "flexfp_e99m999", "fp4_e2m1@e8m0/rows",
     "fp4_e2m1@e8m0/128x129", "fp4_e2m1@e8m0/1x16", "fp4_e2m1@e8m0/16x0", "fp4_e2m1@e8m0/x16", "fp4_e2m1@e8m0/2x2x2"],
)  # fmt: skip
def test_bad_block_formats(name: str) -> None:
    with pytest.raises(Error):
        get_block_format(name)


@pytest.mark.parametrize("size", [0, -1, 4097, True, 1.0, "16", "", None, [16]])
def test_bad_sizes(size: Any) -> None:
    with pytest.raises(Error, match="a block has 1 to 4096 elements"):
        define_block_format({"element": "fp4_e2m1", "scale": "e8m0", "size": size}, "bad")


@pytest.mark.parametrize("name", [*NAMES, "fp8_e4m3@fp32/axis", "fp8_e4m3@fp32/TENSOR", "fp8_e4m3@fp32/128X128"])
def test_definitions_come_back(name: str) -> None:
    fmt = get_block_format(name)
    assert define_block_format(fmt.to_dict()) == fmt
    for profile in PROFILES.values():
        assert define_profile({**profile.to_dict()}) == profile


def test_profiles_say_for_which_formats_they_are() -> None:
    """Each is for one named format at least, and refused for others, by one rule."""
    formats = [*map(get_block_format, (*NAMES, "fp8_e4m3@fp32/128x128", "fp4_e2m1@ue5m3/16"))]
    for name, profile in PROFILES.items():
        fitting = [fmt for fmt in formats if is_for(profile, fmt)]
        assert fitting, name
        for fmt in formats:
            if fmt not in fitting:
                with pytest.raises(Error, match=f"profile {name} is for .*{name},formats=\\* is for any"):
                    resolve(fmt, name)
                assert resolve(fmt, f"{name},formats=*")
    names = {fmt.name for fmt in formats if is_for(PROFILES["quark-mx"], fmt)}
    assert names == {"mxfp4_e2m1", "mxfp6_e2m3", "mxfp6_e3m2"}
    assert is_for(PROFILES["deepseek-fp8"], get_block_format("fp8_e4m3@fp32/128x128"))
    assert not is_for(PROFILES["deepseek-fp8"], get_block_format("mxfp4"))
    assert define_profile({"like": "deepseek-fp8"}).formats == "fp8_*@fp32"


def test_a_scale_without_nan_is_refused_where_it_needs_one() -> None:
    for profile in ("ocp", "ocp,nan=element,inf=element,scale_high=nan", "p3109"):
        with pytest.raises(Error, match="has no NaN"):
            quantize_block([to_value(1.0, 0)], "fp4_e2m1@s0e4m3finite/16", profile)


@pytest.mark.parametrize("scale", ["fp32", "fp16", "fp8_e5m2", "ue4m3"])
def test_values_of_infinities_zeros_and_signs_are_products(scale: str) -> None:
    """Numpy's product in double precision, which has all bits of these."""
    fmt = get_block_format(f"fp8_e5m2@{scale}/4")
    element, of_scale = fmt.element, fmt.scale
    scales = [0, 1, of_scale.max_code, encode(1, of_scale).bits, of_scale.canonical_nan]
    scales += [of_scale.inf_code] if of_scale.infinity else []
    scales += [code | of_scale.sign_bit for code in scales] if of_scale.signed else []
    codes = [0x00, 0x80, 0x01, 0x3C, 0xBC, 0x7B, 0x7C, 0xFC, 0x7F]
    for s, code in itertools.product(scales, codes):
        with np.errstate(all="ignore"):
            product = np.float32(np.float64(float(decode(s, of_scale))) * np.float64(float(decode(code, element))))
        value = dequantize_to_fp32(s, [code], fmt)[0]
        assert (value & 0x7FFFFFFF > 0x7F800000) == np.isnan(product), (hex(s), hex(code))
        assert np.isnan(product) or value == int(product.view(np.uint32)), (hex(s), hex(code))
        words = np.dtype(f"u{max(of_scale.width // 8, 1)}")
        array = blocks.BlockArray(np.array([[code]], np.uint8), np.array([[s]], words), fmt, 1)
        assert int(array.decode().view(np.uint32)[0, 0]) == value, (hex(s), hex(code))
