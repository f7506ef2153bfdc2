"""Block profiles: named sets of choices for everything that a block format leaves open about quantization."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from softfloat_ref.base import assignments
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.tables import LIKE, check, check_choices, choices, hints, load_definition, split_like
from softfloat_ref.oracle.blocks.scale_rules import SCALE_RULES
from softfloat_ref.oracle.policies import ROUNDINGS, Overflow

MAX_FLUSH: Final = 1000


@dataclass(frozen=True)
class Profile:
    """Everything that a block format leaves open about quantization; docs/blocks.md describes the choices.

    scale_rule: how the scale follows from the largest magnitude (scale_rules.py).
    rounding: the default rounding of elements. overflow: of elements.
    flush: magnitudes below 2^flush_below become zero: each "element" by itself, before amax; the whole "block" if its
        largest is below; "never".
    nan, inf: a NaN (an Inf) makes the scale NaN ("block"); stays in its "element" without affecting the scale; or is an
        "error". inf also: makes the scale its "largest"; or counts as 2^128, as in FP32's exponent field ("binade").
    special_codes: the elements under a NaN scale are the element's "nan" (0 if it has none), or "quantized" as if there
        were no specials.
    no_finite: if specials stay in their elements and the block has no finite value: it counts as a "zero" block, or its
        scale is that "special" value (IEEE P3109).
    zero_block: the scale of a block of zeros is the "smallest", "one", or "zero".
    scale_low: a scale below the format's smallest becomes the "smallest", the "smallest-normal", or "zero".
    scale_high: a scale above the largest becomes the "largest", "nan", or follows the format's own overflow ("format").
    negative_zero: "keep" or "drop" the sign of zero elements; "drop-given" drops that of zero inputs, but not of values
        that underflow.
    integers: two's complement elements are "symmetric" (-128 is never produced), or "full".
    tail: an axis that is not a multiple of the block size ends in a short block ("pad", with zeros), is an error
        ("refuse"), or blocks continue across rows ("flatten").
    dequantize_overflow: a value beyond FP32 becomes "inf", or the largest FP32 ("saturate").
    tensor_scale: "none", or an FP32 scale for the whole tensor, computed from its "amax".
    arithmetic: "exact" (one rounding), or FP32 steps with reciprocals ("fp32-reciprocal", as in torchao's NVFP4).
    """

    name: str = "ocp"
    scale_rule: str = "floor"
    rounding: str = "rne"
    overflow: str = "sat-finite"
    flush: Literal["element", "block", "never"] = "element"
    flush_below: int = -126
    nan: Literal["block", "element", "error"] = "block"
    inf: Literal["block", "largest", "binade", "element", "error"] = "block"
    special_codes: Literal["nan", "quantized"] = "nan"
    no_finite: Literal["zero", "special"] = "zero"
    zero_block: Literal["smallest", "one", "zero"] = "smallest"
    scale_low: Literal["smallest", "smallest-normal", "zero"] = "smallest"
    scale_high: Literal["largest", "nan", "format"] = "largest"
    negative_zero: Literal["keep", "drop", "drop-given"] = "keep"
    integers: Literal["symmetric", "full"] = "symmetric"
    tail: Literal["pad", "refuse", "flatten"] = "pad"
    dequantize_overflow: Literal["inf", "saturate"] = "inf"
    tensor_scale: Literal["none", "amax"] = "none"
    arithmetic: Literal["exact", "fp32-reciprocal"] = "exact"
    source: str = dataclasses.field(default="user definition", compare=False)
    checked: str = dataclasses.field(default="not checked: a user definition", compare=False)

    def __post_init__(self) -> None:
        check_choices(self, f"block profile {self.name!r}", CHOICES)
        if type(self.flush_below) is not int or abs(self.flush_below) > MAX_FLUSH:
            raise Error(f"block profile {self.name!r}: flush_below = {self.flush_below!r} is not an exponent of two")

    @property
    def two_levels(self) -> bool:
        """Whether a tensor has a second-level scale."""
        return self.tensor_scale != "none"

    def replace(self, **fields: Any) -> Profile:
        """This profile with some fields replaced. Raises Error."""
        return dataclasses.replace(self, **fields)

    def to_dict(self) -> dict[str, Any]:
        """The full definition, as files store it and `define_profile` reads it."""
        return dataclasses.asdict(self)


CHOICES: Final = choices(Profile, scale_rule=tuple(SCALE_RULES), rounding=ROUNDINGS, overflow=tuple(map(str, Overflow)))
_FIELDS: Final = (*CHOICES, "flush_below")

OCP: Final = Profile(
    source="OCP Microscaling Formats (MX) 1.0, 6.3; Rouhani et al., arXiv 2310.10537, algorithm 1",
    checked="against its definition in rationals; there is no reference implementation",
)


def _torchao(rule: str, name: str) -> Profile:
    return OCP.replace(
        name=f"torchao-{name}",
        scale_rule=rule,
        flush="never",
        tail="refuse",
        source=f"torchao's to_mx, {rule.upper()}",
        checked="against torchao 0.18.0, except for the deviations listed in docs/blocks.md",
    )


PROFILES: Final[dict[str, Profile]] = {
    p.name: p
    for p in (
        OCP,
        OCP.replace(
            name="microxcaling",
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
            scale_rule="rceil",
            flush="never",
            inf="largest",
            source="NVIDIA cuDNN block scale quantize; PTX ISA, cvt.rp.satfinite.ue8m0x2.f32",
            checked="its scale rule against torchao's RCEIL; its special values: not checked",
        ),
        OCP.replace(
            name="amd-even",
            scale_rule="even",
            flush="never",
            source="AMD Quark, OCP MX quantization with even scale rounding",
            checked="its scale rule against torchao's EVEN; its special values: not checked",
        ),
        OCP.replace(
            name="mlx",
            scale_rule="rceil",
            flush="never",
            source="ml-explore/mlx since pull request 4353, mlx/backend/metal/kernels/fp8.h",
            checked="its scale rule against torchao's RCEIL; its special values: not checked",
        ),
        OCP.replace(
            name="nvfp4",
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
            flush="never",
            inf="error",
            nan="error",
            source="Rouhani et al., Pushing the Limits of Narrow Precision Inferencing, NeurIPS 2020",
            checked="against its definition in rationals; the paper leaves the rounding open",
        ),
        OCP.replace(
            name="dse",
            scale_rule="rceil",
            flush="never",
            source="FlexFP's dynamic shared exponent bias: the smallest bias under which the tensor does not overflow",
            checked="against its definition in rationals; the paper does not say how to choose it",
        ),
    )
}


def get_profile(profile: Profile | str) -> Profile:
    """A block profile: a name, `NAME,field=choice,...`, or FILE.toml[:NAME] (a [profiles.NAME] table). Raises Error."""
    if isinstance(profile, Profile):
        return profile
    if not isinstance(profile, str):
        raise Error(f"a block profile must be a name, not {profile!r}")
    base, changes = assignments.parse_named(profile, "block profile", _FIELDS)
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
