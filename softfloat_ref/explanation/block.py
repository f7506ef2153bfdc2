"""Explains the quantization of a block: its largest magnitude, the scale under every profile, and each element;
finds the profiles that give another answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.search import find_first
from softfloat_ref.explanation.scalar import DETERMINISTIC, Rows, describe, scale_text, value_text
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import FP32, BlockFormat
from softfloat_ref.oracle.blocks.profile import CHOICES, Profile
from softfloat_ref.oracle.blocks.profiles import PROFILES
from softfloat_ref.oracle.blocks.quantize import QuantizedBlock, element_policy, is_for, quantize_block, resolve
from softfloat_ref.oracle.blocks.scale_search import error, second_scale
from softfloat_ref.oracle.blocks.scales import flush, largest_magnitude, scale_of
from softfloat_ref.oracle.blocks.tensor_scales import tensor_scale_of
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, NAN, Value
from softfloat_ref.oracle.flags import INEXACT, OVERFLOW
from softfloat_ref.oracle.literals import shortest
from softfloat_ref.oracle.policies import Policy, rounding_name
from softfloat_ref.oracle.steps import PLAIN

MAX_ALTERNATIVES: Final = 12


@dataclass(frozen=True)
class Element:
    """One element of a quantized block."""

    value: Value
    code: int
    restored: int  # FP32
    why: str


@dataclass(frozen=True)
class BlockExplanation:
    """A block of values (at most the format's size), and how it is quantized."""

    values: tuple[Value, ...]
    fmt: BlockFormat
    profile: Profile
    policy: Policy
    words: tuple[int, ...] | None = None

    @cached_property
    def tensor_scale(self) -> int:
        """The FP32 code of the second-level scale, of a tensor that consists of this block."""
        return tensor_scale_of(self.amax, self.fmt, self.profile)

    @cached_property
    def amax(self) -> Value | None:
        return largest_magnitude([x for x in flush(self.values, self.profile) if x.kind == FINITE and x.significand])

    @cached_property
    def block(self) -> QuantizedBlock:
        return self._quantized(self.profile, self.policy)

    def _quantized(self, profile: Profile, policy: Policy) -> QuantizedBlock:
        factor = decoder(FP32)(tensor_scale_of(self.amax, self.fmt, profile))
        return quantize_block(self.values, self.fmt, profile, policy, self.words, factor)

    def scales(self) -> dict[str, str]:
        """The scale under each named profile for this format: its hexadecimal code, or the reason why there is none."""
        codes = {}
        for name, profile in self._named():
            try:
                fmt, resolved = resolve(self.fmt, profile)
                codes[name] = fmt.scale.hex(self._quantized(resolved, element_policy(None, resolved)).scale)
            except Error as e:
                codes[name] = f"none: {e}"
        return codes

    def _named(self) -> Iterator[tuple[str, Profile]]:
        """The named profiles for this format."""
        return ((name, profile) for name, profile in PROFILES.items() if is_for(profile, self.fmt))

    def elements(self) -> list[Element]:
        """Each element, before and after quantization."""
        block, factor = self.block, decoder(FP32)(self.tensor_scale)
        restored = dequantize_to_fp32(block.scale, block.codes, self.fmt, self.profile, factor)
        flushed = flush(self.values, self.profile)
        special = decoder(self.fmt.scale)(block.scale).kind == NAN
        return [
            Element(x, code, back, "the scale is NaN" if special else self._why(x, y, code, flags))
            for x, y, code, back, flags in zip(self.values, flushed, block.codes, restored, block.flags, strict=True)
        ]

    def _why(self, value: Value, flushed: Value, code: int, flags: int) -> str:
        element = decoder(self.fmt.element)(code)
        if value.kind != FINITE:
            return "kept" if element.kind == value.kind else "not representable in the element format"
        if value.significand and not flushed.significand:
            return f"flushed: below 2^{self.profile.flush_below}"
        if flags & OVERFLOW:
            return "clamped: beyond scale x largest element"
        if value.significand and element.is_zero:
            return "rounded to zero"
        if code & self.fmt.element.magnitude_mask == self.fmt.element.max_code and flags & INEXACT:
            return "rounded to the largest element"
        return "rounded" if flags & INEXACT else "exact"

    # -- text ----------------------------------------------------------------------------------------------------

    def rows(self) -> Rows:
        fmt = self.fmt
        rows = [
            (
                "block",
                f"{len(self.values)} values to {fmt.name}: {fmt.element.name} elements, {fmt.scale.name} scale,"
                f" profile {self.profile.name}, {rounding_name(self.policy.rounding)}",
            ),
            ("amax", self._amax_text()),
        ]
        if self.profile.two_levels:
            rows.append(("tensor", f"scale {describe(self.tensor_scale, FP32)}, as if this block were the tensor"))
        rows.append(("scale", f"{scale_text(self.block.scale, self.fmt.scale)}  rule {self.profile.scale_rule}"))
        rows += self._search_rows()
        rows += self._profile_rows()
        return rows + self._element_rows()

    def _search_rows(self) -> Rows:
        """The two scales that a search compares, with their errors."""
        numbers = all(x.kind == FINITE for x in self.values)
        if self.profile.scale_search == "none" or self.amax is None or not numbers:
            return []
        fmt, profile, factor = self.fmt, self.profile, decoder(FP32)(self.tensor_scale)
        words = self.words or (0,) * len(self.values)
        scales = [scale_of(self.amax, fmt, profile, factor), second_scale(PLAIN, self.amax, fmt, profile, factor)]
        rows: Rows = []
        for name, code in zip(("rule", "times 3/2"), scales, strict=True):
            off = error(flush(self.values, profile), code, fmt, profile, self.policy, words, factor)
            text = f"{profile.scale_search} {shortest(off)} with {scale_text(code, fmt.scale)} ({name})"
            rows.append(("" if rows else "search", text))
        return rows

    def _amax_text(self) -> str:
        if self.amax is None:
            return "none: every finite value is zero"
        finite = ((i, exact.magnitude(x)) for i, x in enumerate(self.values) if x.kind == FINITE)
        index = find_first(i for i, x in finite if exact.compare(x, self.amax) == 0)
        text = shortest(self.amax) if self.amax.sticky else value_text(self.amax)  # a decimal number as it was given
        return f"{text}, value {index}, floor(log2) = {exact.top(self.amax)}"

    def _profile_rows(self) -> Rows:
        groups: dict[str, list[str]] = {}
        for name, code in self.scales().items():
            groups.setdefault(code, []).append(name)
        rows: Rows = []
        for code, names in groups.items():
            text = f"{'none':14}" if code.startswith("none") else f"{scale_text(int(code, 16), self.fmt.scale):14}"
            rows.append(("profiles" if not rows else "", f"{text} {', '.join(names)}"))
        return rows

    def _element_rows(self) -> Rows:
        element, decode = self.fmt.element, decoder(FP32)
        table = [("value", "code", "restored", "")]
        table += [
            (shortest(e.value), element.hex(e.code), shortest(decode(e.restored)), e.why) for e in self.elements()
        ]
        widths = [max(map(len, column)) for column in list(zip(*table, strict=True))[:3]]
        rows: Rows = []
        for *cells, why in table:
            line = "  ".join([*(cell.rjust(w) for cell, w in zip(cells, widths, strict=True)), why])
            rows.append(("" if rows else "elements", line.rstrip()))
        return rows

    def to_dict(self) -> dict[str, Any]:
        element = self.fmt.element
        return {
            "format": self.fmt.name,
            "profile": self.profile.to_dict(),
            "amax": None if self.amax is None else shortest(self.amax),
            "tensor_scale": FP32.hex(self.tensor_scale),
            "scale": self.fmt.scale.hex(self.block.scale),
            "scales": self.scales(),
            "elements": [
                {
                    "value": shortest(e.value),
                    "code": element.hex(e.code),
                    "restored": FP32.hex(e.restored),
                    "why": e.why,
                }
                for e in self.elements()
            ],
        }

    # -- another answer ------------------------------------------------------------------------------------------

    def alternatives(self, scale: int, codes: Sequence[int]) -> list[str]:
        """The profiles, then changes of one or two of this profile's fields, that give a device's answer."""
        wanted = (scale, tuple(codes))
        matching: list[str] = []
        for text, profile, policy in self._candidates():
            try:
                block = self._quantized(profile, element_policy(policy, profile))
            except Error:
                continue
            # a change of two fields is redundant if one of them suffices
            if (block.scale, block.codes) == wanted and not any(part in matching for part in text.split(", ")):
                matching.append(text)
        return matching[:MAX_ALTERNATIVES]

    def _candidates(self) -> Iterator[tuple[str, Profile, Policy | None]]:
        yield "this profile", self.profile, self.policy
        for name, profile in self._named():
            yield f"profile {name}", profile, None
        changes = [
            (field, choice)
            for field, choices in CHOICES.items()
            for choice in choices
            if field not in ("tail", "rounding", "dequantize_overflow") and choice != getattr(self.profile, field)
        ]
        changes += [("rounding", m) for m in DETERMINISTIC if m != rounding_name(self.policy.rounding)]
        for size in (1, 2):
            for chosen in itertools.combinations(changes, size):
                if len({field for field, _ in chosen}) < size:
                    continue
                fields = dict(chosen)
                policy = self.policy.replace(rounding=fields.pop("rounding", self.policy.rounding))
                yield ", ".join(f"{f} = {c}" for f, c in chosen), self.profile.replace(**fields), policy
