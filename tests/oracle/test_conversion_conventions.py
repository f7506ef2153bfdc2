"""Conversions to E8M0 by the conventions of CUDA, torch, ml_dtypes, ONNX and OpenVINO; the sign of an overflow's NaN.

The bytes of ROWS were computed by these: the host code of CUDA 13.5.37's cuda_fp8.hpp, torch 2.13.0, ml_dtypes 0.6.0,
onnx 1.23.2 (to_float8e8m0), OpenVINO 2026.4.1 (a constant converted to f8e8m0). Each was compared with its policy on
327,680 float32 values (all upper halves, five lower ones): no difference, but for OpenVINO, which gives 00 for a
negative NaN.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from softfloat_ref import arrays
from softfloat_ref.oracle.codec import decoder, encode, encoder
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import POLICIES, Policy, get_policy

FP32 = get_format("fp32")
VALUES = (  # float32 codes
    0x3FC00000, 0x40400000, 0x3FA00000, 0x3FE00000, 0x3F800001, 0x00000000, 0x80000000, 0xC0000000, 0xC0400000,
    0x00000001, 0x00200000, 0x00400000, 0x00500000, 0x00600000, 0x00700000, 0x00800000, 0x00C00000,
    0x7F333333, 0x7F400000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000,
)  # fmt: skip
ROWS = {
    "cuda-nosat,rounding=rup": "80 81 80 80 80 00 00 80 81 00 00 00 01 01 01 01 02 ff ff ff ff ff ff",
    "cuda-nosat,rounding=rtz": "7f 80 7f 7f 7f 00 00 80 80 00 00 00 00 00 00 01 01 fe fe fe ff ff ff",
    "torch-e8m0": "80 81 7f 80 7f 00 00 80 81 00 00 00 01 01 01 01 02 fe ff ff ff ff ff",
    "ml-dtypes": "80 81 7f 80 7f ff ff ff ff 00 00 00 01 01 01 01 02 fe ff ff ff ff ff",
    "onnx-e8m0": "80 81 80 80 80 00 00 80 81 01 01 01 01 01 01 01 02 fe fe fe ff ff ff",
    "onnx-e8m0,rounding=rne": "80 81 7f 80 7f 00 00 80 81 00 00 00 01 01 01 01 02 fe fe fe ff ff ff",
    "openvino-e8m0": "80 80 7f 80 7f 00 00 00 00 00 00 00 00 00 01 01 02 fe fe fe fe 00 ff",
}


def policy_of(name: str) -> Policy:
    base, _, field = name.partition(",rounding=")
    return get_policy(base, rounding=field) if field else get_policy(base)


@pytest.mark.parametrize("name", ROWS)
def test_e8m0_by_convention(name: str) -> None:
    policy, wanted = policy_of(name), bytes.fromhex(ROWS[name])
    decode = decoder(FP32)
    assert bytes(encode(decode(x), "e8m0", policy).bits for x in VALUES) == wanted
    x = np.array(VALUES, np.uint32).view(np.float32)
    assert arrays.encode(x, "e8m0", policy).tobytes() == wanted


def expected(bits: int, name: str) -> int:
    """A convention by the fields of a float32."""
    sign, field, fraction = bits >> 31, bits >> 23 & 0xFF, bits & 0x7FFFFF
    if field == 0xFF:
        if name == "openvino-e8m0" and not fraction:
            return 0 if sign else 0xFE
        return 0xFF
    if name == "ml-dtypes" and (sign or not bits << 1 & 0xFFFFFFFF):
        return 0xFF
    if name == "openvino-e8m0":
        if sign:
            return 0
        if field == 0:  # multiples of 2^-149: 2^-127 is 2^22
            return int(fraction > 3 << 21)
        return min(field + (fraction > 1 << 22 or (fraction == 1 << 22 and field & 1)), 0xFE)
    if name.startswith("cuda"):
        up = name.endswith("rup")
        if field == 0:
            return int(up and fraction > 1 << 22)
        return field + (up and fraction > 0)
    if name == "onnx-e8m0":
        return min(field + (fraction > 0), 0xFE)
    code = field + (fraction > 1 << 22 or (fraction == 1 << 22 and field > 0))
    return min(code, 0xFE) if name.startswith("onnx") else code


@pytest.mark.parametrize("name", ROWS)
def test_e8m0_in_every_binade(name: str) -> None:
    """All exponents and signs, fractions at and beside ties and ends: the scalar oracle and arrays."""
    policy = policy_of(name)
    fractions = [f + d for f in (0, 1 << 21, 1 << 22, 3 << 21, 1 << 23) for d in (-1, 0, 1) if 0 <= f + d < 1 << 23]
    bits = [s << 31 | e << 23 | f for s in (0, 1) for e in range(256) for f in fractions]
    wanted = [expected(x, name) for x in bits]
    decode, encode_value = decoder(FP32), encoder(get_format("e8m0"), policy)
    assert [encode_value(decode(x), 0)[0] for x in bits] == wanted
    assert arrays.encode(np.array(bits, np.uint32).view(np.float32), "e8m0", policy).tolist() == wanted


def test_rules_of_named_policies_are_described() -> None:
    assert {name for name, p in POLICIES.items() if p.e8m0 != "auto"} == {name.split(",")[0] for name in ROWS}
    assert "e8m0" not in Policy().to_dict()
    assert get_policy(get_policy("ml-dtypes").to_dict()) == POLICIES["ml-dtypes"]


@pytest.mark.parametrize("policy", ["cuda-nosat", "ml-dtypes"])
def test_an_overflow_has_a_nan_of_its_sign(policy: str) -> None:
    """E4M3 from float32, CUDA without satfinite and ml_dtypes; FNUZ formats have one NaN, E5M2 has Inf."""
    for x, code in ((-1000.0, 0xFF), (1000.0, 0x7F), (-464.0, 0xFE), (-464.00003, 0xFF), (-float("inf"), 0xFF)):
        assert encode(x, "fp8_e4m3", policy).bits == code
        assert arrays.encode(np.array([x], np.float32), "fp8_e4m3", policy).tolist() == [code]
    assert encode(-1e9, "fp8_e5m2", policy).bits == 0xFC
    assert encode(-1e9, "fp8_e4m3fnuz", policy).bits == 0x80
    plain = get_policy(policy, nan="canonical")
    assert encode(-1000.0, "fp8_e4m3", plain).bits == 0x7F


def test_every_half_under_signed_overflow() -> None:
    """All bf16 values to 8-bit formats by arrays and by the scalar oracle, under the policies whose NaNs have signs."""
    codes = np.arange(1 << 16, dtype=np.uint32)[::7]
    x = (codes << 16).view(np.float32)
    decode = decoder(get_format("bf16"))
    for name in ("cuda-nosat", "ml-dtypes"):
        for out in ("fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e3m4", "ue4m3"):
            encode_value = encoder(get_format(out), POLICIES[name])
            wanted = [encode_value(decode(int(c)), 0)[0] for c in codes]
            assert arrays.encode(x, out, name).tolist() == wanted, (name, out)


def test_a_nan_keeps_its_sign_without_payload() -> None:
    for bits, code in ((0x7FC00000, 0x7E), (0xFFFFFFFF, 0xFE), (0x7FA00001, 0x7E)):
        assert encode(decoder(FP32)(bits), "fp8_e5m2", "ml-dtypes").bits == code


@pytest.mark.parametrize("text", ["", "x", "magnitude,,nan", "FIELDS", 3, None])
def test_bad_rules(text: object) -> None:
    with pytest.raises(ValueError, match="E8M0 rule"):
        Policy(e8m0=text)  # type: ignore[arg-type]


def test_the_table_of_the_page() -> None:
    """docs/numerics.md, "E8M0 by convention"."""
    page = (Path(__file__).parents[2] / "docs" / "numerics.md").read_text()
    section = page.split("### E8M0 by convention")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:2] == "| "]
    values = (1.5, 3, 0, -2, 2.0**-128, 2.0**-127, 1.25 * 2.0**-127, 3e38, float("inf"), -float("inf"))
    for head, *cells in rows[1:]:
        policy = policy_of(head.replace(", ", ",rounding="))
        assert [f"{encode(x, 'e8m0', policy).bits:02x}" for x in values] == cells
    assert len(rows) == len(ROWS)
