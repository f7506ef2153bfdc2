"""A block profile: a set of choices for everything that a block format leaves open about quantization."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from softfloat_ref.base.errors import Error
from softfloat_ref.base.tables import check_choices, choices
from softfloat_ref.oracle.blocks.scale_rules import SCALE_RULES
from softfloat_ref.oracle.policies import ROUNDINGS, Overflow

MAX_FLUSH: Final = 1000
ANY_FORMAT: Final = "*"
MX: Final = "*@e8m0"
NVFP4: Final = "fp4_*@*e[45]m?"  # UE4M3, FP8 E4M3, and those in their place
MAX_FORMATS: Final = 200  # characters


@dataclass(frozen=True)
class Profile:
    """Everything that a block format leaves open about quantization; docs/blocks.md describes the choices.

    scale_rule: how the scale follows from the largest magnitude (scale_rules.py).
    rounding: the default rounding of elements. overflow: of elements.
    flush: magnitudes below 2^flush_below become zero: each "element" by itself, before amax; the whole "block" if its
        largest is below; "never".
    nan, inf: a NaN (an Inf) makes the scale NaN ("block"); stays in its "element" without affecting the scale; or is an
        "error". inf also: makes the scale its "largest"; or counts as 2^128, as in FP32's exponent field ("binade").
    special_codes: the elements under a NaN scale are the element's "nan" (0 if it has none), the code that a NaN is
        "encoded" as, or "quantized" as if there were no specials.
    no_finite: if specials stay in their elements and the block has no finite value: it counts as a "zero" block, or its
        scale is that "special" value (IEEE P3109).
    zero_block: the scale of a block of zeros is the "smallest", "one", "zero", or an "eighth".
    scale_low: a scale below the format's smallest becomes the "smallest", the "smallest-normal", "zero", or, where it
        rounds to zero, an "eighth".
    scale_high: a scale above the largest becomes the "largest", "nan", or follows the format's own overflow ("format").
    negative_zero: "keep" or "drop" the sign of zero elements; "drop-given" drops that of zero inputs, but not of values
        that underflow; "set-given" gives zero inputs a negative sign.
    integers: two's complement elements are "symmetric" (-128 is never produced), or "full".
    tail: an axis that is not a multiple of the block size ends in a short block ("pad", with zeros), is an error
        ("refuse"), or blocks continue across rows ("flatten").
    dequantize_overflow: a value beyond FP32 becomes "inf", or the largest FP32 ("saturate").
    tensor_scale: "none", or an FP32 scale for the whole tensor, computed from its "amax"; "amax-256" leaves room for
        block scales that a search makes half as large again.
    scale_search: "none", or the scale of a block is the rule's or that times 3/2, under which its largest element is 4
        and not 6, whichever has the smaller error, "mse", "mae" or "max"; the rule's if they are equal.
    arithmetic: "exact" (one rounding), or FP32 steps: with reciprocals ("fp32-reciprocal", as in torchao's NVFP4);
        divided by the product of both scales ("fp32-division"); with the reciprocal of the tensor's scale in place of
        it, which divides the blocks' scales ("fp32-inverse"); with the tensor's largest magnitude in place of it, and
        reciprocals ("fp32-amax"). Of the last three, values back take both scales' product or quotient rounded to
        FP32, and the steps find the scales of rule rne; scales of other rules are exact.
    formats: those that it is for, by the names of element and scale, ELEMENT@SCALE, with * and ? as in file names, and
        | between alternatives.
    """

    name: str = "ocp"
    scale_rule: str = "floor"
    rounding: str = "rne"
    overflow: str = "sat-finite"
    flush: Literal["element", "block", "never"] = "element"
    flush_below: int = -126
    nan: Literal["block", "element", "error"] = "block"
    inf: Literal["block", "largest", "binade", "element", "error"] = "block"
    special_codes: Literal["nan", "encoded", "quantized"] = "nan"
    no_finite: Literal["zero", "special"] = "zero"
    zero_block: Literal["smallest", "one", "zero", "eighth"] = "smallest"
    scale_low: Literal["smallest", "smallest-normal", "zero", "eighth"] = "smallest"
    scale_high: Literal["largest", "nan", "format"] = "largest"
    negative_zero: Literal["keep", "drop", "drop-given", "set-given"] = "keep"
    integers: Literal["symmetric", "full"] = "symmetric"
    tail: Literal["pad", "refuse", "flatten"] = "pad"
    dequantize_overflow: Literal["inf", "saturate"] = "inf"
    tensor_scale: Literal["none", "amax", "amax-256"] = "none"
    scale_search: Literal["none", "mse", "mae", "max"] = "none"
    arithmetic: Literal["exact", "fp32-reciprocal", "fp32-division", "fp32-inverse", "fp32-amax"] = "exact"
    formats: str = dataclasses.field(default=ANY_FORMAT, compare=False)
    source: str = dataclasses.field(default="user definition", compare=False)
    checked: str = dataclasses.field(default="not checked: a user definition", compare=False)

    def __post_init__(self) -> None:
        check_choices(self, f"block profile {self.name!r}", CHOICES)
        if type(self.flush_below) is not int or abs(self.flush_below) > MAX_FLUSH:
            raise Error(f"block profile {self.name!r}: flush_below = {self.flush_below!r} is not an exponent of two")
        if not isinstance(self.formats, str) or not 0 < len(self.formats) <= MAX_FORMATS:
            raise Error(f"block profile {self.name!r}: formats = {str(self.formats)[:40]!r} is not ELEMENT@SCALE, or *")

    @property
    def two_levels(self) -> bool:
        """Whether a tensor has a second-level scale."""
        return self.tensor_scale != "none"

    @property
    def divides_in_fp32(self) -> bool:
        """Whether values are divided in FP32, by one number rounded to FP32, or multiplied by its reciprocal."""
        return self.arithmetic in ("fp32-division", "fp32-inverse", "fp32-amax")

    def is_for(self, element: str, scale: str) -> bool:
        """Whether the profile is for formats of these elements and scales."""
        return any(fnmatchcase(f"{element}@{scale}", pattern) for pattern in self.formats.split("|"))

    def replace(self, **fields: Any) -> Profile:
        """This profile with some fields replaced. Raises Error."""
        return dataclasses.replace(self, **fields)

    def to_dict(self) -> dict[str, Any]:
        """The full definition, as files store it and `define_profile` reads it."""
        return dataclasses.asdict(self)


CHOICES: Final = choices(Profile, scale_rule=tuple(SCALE_RULES), rounding=ROUNDINGS, overflow=tuple(map(str, Overflow)))
FIELDS: Final = (*CHOICES, "flush_below", "formats")

OCP: Final = Profile(
    source="OCP Microscaling Formats (MX) 1.0, 6.3; Rouhani et al., arXiv 2310.10537, algorithm 1",
    checked="against its definition in rationals; there is no reference implementation",
)
