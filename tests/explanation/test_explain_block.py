"""`explain` on a block: what it says is what quantization does, and it names the profile a device follows."""

from __future__ import annotations

import json

import pytest
from command import ok, refused

from softfloat_ref.base.errors import Error
from softfloat_ref.explanation.block import BlockExplanation
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.blocks.profiles import PROFILES
from softfloat_ref.oracle.blocks.quantize import is_for, quantize_block, resolve
from softfloat_ref.oracle.blocks.tensor_scales import VALUE_BITS
from softfloat_ref.oracle.codec import to_value
from softfloat_ref.oracle.policies import Policy

FORMATS = ("mxfp8", "nvfp4", "mxfp4", "fp8_e4m3@fp32/128", "msfp13", "flexfp_e4m3")  # each profile is for one of them
NUMBERS = (449.0, 1.0, 0.3, -1e-9, 1e-40, -0.0)


def explained(*numbers: float, fmt: str = "mxfp8", profile: str = "ocp") -> BlockExplanation:
    block, rule = resolve(get_block_format(fmt), profile)
    return BlockExplanation(tuple(to_value(x, VALUE_BITS) for x in numbers), block, rule, Policy())


def test_scales_side_by_side() -> None:
    """PEERS' bytes for each rule, and every profile for MXFP8 has its say, but none that is for other formats."""
    for amax, floor, ceil, even, rceil in (
        (448, "7f", "80", "7f", "7f"),
        (449, "7f", "80", "7f", "80"),
        (500, "7f", "80", "80", "80"),
    ):
        scales = explained(amax).scales()
        assert set(scales) == {name for name, p in PROFILES.items() if p.is_for("fp8_e4m3", "e8m0")}
        assert {"quark-mxfp8", "ocp"} < set(scales)
        assert not {"deepseek-fp8", "nvfp4", "gguf-mxfp4"} & set(scales)
        assert [scales[f"torchao-{r}"] for r in ("floor", "ceil", "even", "rceil")] == [floor, ceil, even, rceil]
        assert (scales["ocp"], scales["nvidia"], scales["amd-even"]) == (floor, rceil, even)


def test_reasons() -> None:
    reasons = [e.why for e in explained(500.0, *NUMBERS[1:]).elements()]
    assert reasons == [
        "clamped: beyond scale x largest element",
        "exact",
        "rounded",
        "rounded to zero",
        "flushed: below 2^-126",
        "exact",
    ]
    assert {e.why for e in explained(1.0, float("nan")).elements()} == {"the scale is NaN"}
    elements = explained(1.0, float("nan"), float("inf"), profile="ocp,nan=element,inf=element").elements()
    assert [e.why for e in elements] == ["exact", "kept", "not representable in the element format"]


@pytest.mark.full(keep=3)
@pytest.mark.parametrize("name", PROFILES)
def test_names_the_profile_of_a_device(name: str) -> None:
    """A device that follows a profile is explained by that profile, seen from another."""
    fmt = next(x for x in FORMATS if is_for(PROFILES[name], get_block_format(x)))
    base = explained(*NUMBERS, fmt=fmt, profile="p3109" if name == "ocp" else "ocp")
    try:
        device = quantize_block(base.values, base.fmt, name, None, None, to_value(1, 0))
    except Error:
        pytest.skip("the profile refuses this block")
    if PROFILES[name].tensor_scale != "none":
        device = base._quantized(*((p := PROFILES[name]), Policy(rounding=p.rounding, overflow=p.overflow)))
    assert f"profile {name}" in base.alternatives(device.scale, device.codes) or "this profile" in base.alternatives(
        device.scale, device.codes
    )


def test_an_answer_nobody_gives() -> None:
    assert explained(*NUMBERS).alternatives(0x70, [1, 2, 3, 4, 5, 6]) == []


def test_command() -> None:
    block = ("explain", "--fmt", "mxfp8", "449", "1")
    assert "matches profile nvidia" in ok(*block, "--got", "80: 76 30")
    explained = json.loads(ok(*block, "--json", "--got", "80:76,30"))
    assert explained["scale"] == "7f"
    assert "profile nvidia" in explained["got"]
    assert [e["code"] for e in explained["elements"]] == ["7e", "38"]
    for bad in (["--got", "80"], ["--got", "80: 1"], ["--got", "180: 1 2"], ["--got-flags", "1"], ["--out", "fp32"]):
        refused(*block, *bad)
    refused("explain", "--fmt", "fp8_e4m3", "1", "--profile", "ocp")
    refused("explain", "--fmt", "mxfp8", *["1"] * 33)
