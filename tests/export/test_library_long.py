"""Exported C libraries of formats that need long words: 80 and 128 bits, no sign, no subnormals, P3109's."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from libraries import library_texts
from library_comparison import OPERATIONS, SANITIZED, Comparison, codes

from softfloat_ref.export.library import SPECIALIZATIONS, library_files
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import signature
from softfloat_ref.oracle.policies import POLICIES

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")

WIDE_POLICIES: dict[str, dict[str, Any]] = {
    "x87": {"like": "x87"},
    "softfloat-8086": {"like": "softfloat-8086", "tininess": "before"},
    "arm": {"like": "arm", "flush_inputs": "on", "flush_outputs": "on"},
    "ptx": {"like": "ptx-fp64"},
    "flush": {"flush_outputs": "on", "overflow": "sat-finite", "nan": "propagate-larger,first-last"},
    "codes": {"nan": "propagate-signaling,addend-first,fp128=7fffffffffffffffffffffffffffffff"},
}
# What overflow, saturation, flushing and a missing zero or sign may be.
ODD_POLICIES: dict[str, dict[str, Any]] = {
    **{name: {"like": name} for name in POLICIES if "e8m0" in name or name in ("ieee", "p3109", "cuda-nosat")},
    "ml-dtypes": {"like": "ml-dtypes", "tininess": "before"},
    "dlfloat": {"like": "dlfloat"},
    "flush": {"flush_inputs": "on", "flush_outputs": "on", "flush_rule": "before", "overflow": "sat-propagate"},
    "smallest": {"e8m0": "smallest,field,even-code", "overflow": "sat-none", "nan_missing": "zero"},
}
P3109_OF_4_BITS = [f"binary4p{p}{s}{e}" for s in "su" for p in range(1, 4 + (s == "u")) for e in "ef"]


def test_all_pairs_without_sign_or_zero(tmp_path: Path) -> None:
    formats = Comparison(["binary3p1ue", "s0e3m0"], {}, tmp_path, "-O0")
    for own in formats.formats:
        formats.check_operations(own, 50, exhaustive=True)
        formats.check_conversions(own, 20)


@pytest.mark.full(gate=2)
@pytest.mark.parametrize("policy", list(WIDE_POLICIES))
def test_80_and_128_bits(policy: str, tmp_path: Path) -> None:
    options = SANITIZED if policy in ("x87", "arm") else ("-O1",)
    names = ["extf80", "fp128", "fp16", "s1e10m80"] if policy == "arm" else ["extf80", "fp128", "fp16"]
    formats = Comparison(names, WIDE_POLICIES[policy], tmp_path, *options)
    for own in formats.formats:
        formats.check_operations(own, 80)
        formats.check_conversions(own, 60)
        if own.in_struct:
            formats.check_operations(own, 10, pointers=True)


@pytest.mark.full(gate=1)
@pytest.mark.parametrize("precision", [32, 64])
def test_rounding_precision(precision: int, tmp_path: Path) -> None:
    formats = Comparison(["extf80", "fp32"], {"like": "x87", "rounding_precision": precision}, tmp_path, "-O1")
    formats.check_operations(formats.formats[0], 150)
    formats.check_conversions(formats.formats[0], 50)
    formats.check_conversions(formats.formats[1], 50)


@pytest.mark.full
def test_signaling_nans_of_80_bits(tmp_path: Path) -> None:
    """By the bits of the code, as SoftFloat sees them: the integer bit is not looked at."""
    formats = Comparison(["extf80"], {}, tmp_path, "-O0")
    cases = [*codes(get_format("extf80"), 300, formats.rng), *(0x7FFF << 64 | 1 << k | 1 for k in range(64))]
    results, flags = formats.compiled("extF80_isSignalingNaN", [cases])
    signaling = [x >> 64 & 0x7FFF == 0x7FFF and not x >> 62 & 1 and x & (1 << 62) - 1 != 0 for x in cases]
    assert [bool(x) for x in results] == signaling
    assert 50 < sum(signaling) < len(cases) / 2
    assert not flags.any()


@pytest.mark.full(gate=2)
@pytest.mark.parametrize("policy", list(ODD_POLICIES))
def test_odd_formats(policy: str, tmp_path: Path) -> None:
    names = ["dlfloat16", "e8m0", "ue5m3", "fp8_e4m3fnuz", "s0e4m3b20finite", "s1e8m55"]
    formats = Comparison(names, ODD_POLICIES[policy], tmp_path, "-O1", "-DCORE_PORTABLE")
    for own in formats.formats:
        formats.check_operations(own, 100)
        formats.check_conversions(own, 60)


@pytest.mark.full(gate=0)
def test_all_of_p3109_of_4_bits(tmp_path: Path) -> None:
    formats = Comparison(P3109_OF_4_BITS, {}, tmp_path, "-O0")
    for own in formats.formats:
        formats.check_operations(own, 200, exhaustive=True)
        formats.check_conversions(own, 30)


@pytest.mark.full(gate=2)
@pytest.mark.parametrize(
    ("formats", "policy"),
    [
        (["fp8_e5m2", "fp16"], {"rounding": "sr", "sr_bits": 3}),
        (["fp8_e4m3", "fp32", "bf16"], {"rounding": "sr-b", "sr_bits": 13, "like": "ml-dtypes"}),
        (["fp64", "fp4_e2m1", "dlfloat16"], {"rounding": "sr-c", "sr_bits": 32}),
        (["fp32", "fp6_e3m2"], {"rounding": "sr-c", "sr_bits": 64, "flush_outputs": "on"}),
        (["extf80", "binary8p1se", "e8m0", "binary6p3uf"], {"sr_bits": 1}),
        (["fp128", "binary8p3se", "s1e5m2fnuz"], {"sr_bits": 1, "rounding": "sr-c", "flush_inputs": "on"}),
        (["extf80", "fp8_e4m3"], {"sr_bits": 50, "rounding": "sr-b"}),
    ],
)
def test_stochastic_rounding(formats: list[str], policy: dict[str, Any], tmp_path: Path) -> None:
    own = Comparison(formats, policy, tmp_path, "-O0", *SANITIZED[1:])
    for a in own.formats:
        for function, op in OPERATIONS.items():
            if signature(op, a.fmt).operation.is_arithmetic:
                own.check_stochastic(f"{a.name}_{function}_sr", op, a.fmt, None, 300)
        for b in own.formats:
            if a != b:
                own.check_stochastic(f"{a.name}_to_{b.name}_sr", "convert", a.fmt, b.fmt, 300)
        for integer in ("u32", "i64"):
            name = f"{integer.replace('u', 'ui')}_to_{a.name}_sr"
            own.check_stochastic(name, "convert", get_format(integer), a.fmt, 100)


@pytest.mark.full
def test_an_ieee_format_with_the_special_cases_of_p3109(tmp_path: Path) -> None:
    formats = Comparison(["fp16", "binary8p3se"], {"specials": "p3109"}, tmp_path, "-O1")
    for own in formats.formats:
        formats.check_operations(own, 200)
        formats.check_conversions(own, 60)


@pytest.mark.full(gate=2)
@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("core_value.h", "core_wide_of(0, odd ^ 1)", "core_wide_of(0, odd)"),
        ("core_value.h", "x.e - f.emin + 1", "x.e - f.emin"),
        ("core_values.h", "TOP_128 - 115", "TOP_128 - 116"),
        ("core_values.h", "core_wide_less(other, rest)", "core_wide_less(rest, other)"),
        ("core_long.h", "rest->high, reciprocal).high >> 4", "rest->high, reciprocal).high >> 5"),
        ("core_library.h", ".emin = -16382", ".emin = -16383"),
    ],
)
def test_a_wrong_constant_is_seen(file: str, right: str, wrong: str, tmp_path: Path) -> None:
    texts = library_texts(["extf80"])
    assert right in texts[file]
    texts[file] = texts[file].replace(right, wrong, 1)
    formats = Comparison(["extf80"], {}, tmp_path, "-O1", texts=texts)
    with pytest.raises(AssertionError, match="extF80_"):
        formats.check_operations(formats.formats[0], 300)


@pytest.mark.parametrize("name", SPECIALIZATIONS)
def test_specializations_take_unnormals_for_values(name: str) -> None:
    """As SoftFloat does, whatever the specialization; of NaNs, 8086-SSE's are x87's in this format alone."""
    own = SPECIALIZATIONS[name]
    text = library_files([get_format("extf80"), get_format("fp32")], own)["core_library.h"]
    extended = text[text.index("long_extF80") : text.index("long_f32")]
    assert ".unnormals = 1" in extended
    assert (".propagate = CORE_NAN_LARGER" in extended) == (name == "8086-SSE")
    assert "CORE_NAN_LARGER" not in text[text.index("long_f32") :]
