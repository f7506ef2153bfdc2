"""The named block profiles, and profiles by name, by changed fields and from TOML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from softfloat_ref.base import assignments
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.tables import LIKE, check, hints, load_definition, split_like
from softfloat_ref.oracle.blocks.producers import PRODUCERS
from softfloat_ref.oracle.blocks.profile import FIELDS, MX, OCP, Profile


def _torchao(rule: str, name: str) -> Profile:
    return OCP.replace(
        name=f"torchao-{name}",
        scale_rule=rule,
        flush="never",
        tail="refuse",
        formats=MX,
        source=f"torchao's to_mx, {rule.upper()}",
        checked="against torchao 0.18.0, except for the deviations listed in docs/blocks.md",
    )


PROFILES: Final[dict[str, Profile]] = {
    p.name: p
    for p in (
        OCP,
        OCP.replace(
            name="microxcaling",
            formats=MX,
            rounding="rna",
            flush="never",
            scale_high="nan",
            negative_zero="drop-given",
            source="microsoft/microxcaling, mx/mx_ops.py: _quantize_mx with its default specs",
            checked="against the method restated in numpy: the package is not on PyPI",
        ),
        _torchao("floor", "floor"),
        _torchao("ceil", "ceil"),
        _torchao("even", "even"),
        _torchao("rceil", "rceil"),
        OCP.replace(
            name="nvidia",
            formats=MX,
            scale_rule="rceil",
            flush="never",
            inf="largest",
            source="NVIDIA cuDNN block scale quantize; PTX ISA, cvt.rp.satfinite.ue8m0x2.f32",
            checked="its scale rule against torchao's RCEIL; its special values: not checked",
        ),
        OCP.replace(
            name="amd-even",
            formats=MX,
            scale_rule="even",
            flush="never",
            source="AMD Quark, OCP MX quantization with even scale rounding",
            checked="its scale rule against torchao's EVEN; its special values: not checked",
        ),
        OCP.replace(
            name="mlx",
            formats=MX,
            scale_rule="rceil",
            flush="never",
            source="ml-explore/mlx since pull request 4353, mlx/backend/metal/kernels/fp8.h",
            checked="its scale rule against torchao's RCEIL; its special values: not checked",
        ),
        OCP.replace(
            name="nvfp4",
            formats="*@*e[45]m?",
            scale_rule="rne",
            flush="never",
            scale_low="zero",
            zero_block="zero",
            tensor_scale="amax",
            source="NVIDIA, Pretraining LLMs with NVFP4, arXiv 2509.25149, appendix C",
            checked="against its definition in rationals",
        ),
        OCP.replace(
            name="nvfp4-torchao",
            formats="*@*e[45]m?",
            scale_rule="rne",
            flush="never",
            inf="largest",
            scale_low="smallest-normal",
            zero_block="smallest",
            tensor_scale="amax",
            arithmetic="fp32-reciprocal",
            tail="refuse",
            source="torchao's nvfp4_quantize",
            checked="against torchao 0.18.0",
        ),
        OCP.replace(
            name="p3109",
            scale_rule="amax",
            flush="never",
            nan="element",
            inf="element",
            no_finite="special",
            zero_block="zero",
            scale_low="zero",
            scale_high="format",
            integers="full",
            source="IEEE P3109, ConvertToBlockMaxAbsFinite (5.2.3 of the draft of July 2026)",
            checked="against its definition in rationals",
        ),
        OCP.replace(
            name="msfp",
            formats="s[2-7]@e8m0",
            flush="never",
            inf="error",
            nan="error",
            source="Rouhani et al., Pushing the Limits of Narrow Precision Inferencing, NeurIPS 2020",
            checked="against its definition in rationals; the paper leaves the rounding open",
        ),
        OCP.replace(
            name="dse",
            formats=MX,
            scale_rule="rceil",
            flush="never",
            source="FlexFP's dynamic shared exponent bias: the smallest bias under which the tensor does not overflow",
            checked="against its definition in rationals; the paper does not say how to choose it",
        ),
        *PRODUCERS,
    )
}


def get_profile(profile: Profile | str) -> Profile:
    """A block profile: a name, `NAME,field=choice,...`, or FILE.toml[:NAME] (a [profiles.NAME] table). Raises Error."""
    if isinstance(profile, Profile):
        return profile
    if not isinstance(profile, str):
        raise Error(f"a block profile must be a name, not {profile!r}")
    base, changes = assignments.parse_named(profile, "block profile", FIELDS)
    if ".toml" in base:
        chosen = load_definition(base, "profiles", define_profile)
    elif base in PROFILES:
        chosen = PROFILES[base]
    else:
        raise unknown("block profile", base, PROFILES)
    return _changed(chosen, changes) if changes else chosen


def _changed(base: Profile, changes: Mapping[str, str]) -> Profile:
    table: dict[str, Any] = dict(changes)
    if re.fullmatch(r"-?[0-9]{1,6}", table.get("flush_below", "")):
        table["flush_below"] = int(table["flush_below"])
    return define_profile(table, ",".join([base.name, *map("=".join, changes.items())]), base)


def define_profile(table: object, name: str | None = None, base: Profile | None = None) -> Profile:
    """A profile from a table: the fields of Profile; other fields are those of `like` (default: ocp). Raises Error."""
    values, like = split_like(table, f"block profile {name or '?'}")
    where = f"block profile {name or str(values.get('name', '?'))!r}"
    if name is not None:
        values["name"] = name
    start = get_profile("ocp" if like is None else like) if base is None else base
    known = {**hints(Profile), "flush_below": Any}  # checked by Profile itself
    fields = check(values, where, known, word="field", also=LIKE)
    return start.replace(**{"source": f"{start.name} with fields replaced", "checked": "not checked"} | fields)
