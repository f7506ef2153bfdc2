"""Block quantizers and dequantizers of a library: a block format under a profile as constants of the C core."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from softfloat_ref.base.errors import Error, refuse
from softfloat_ref.export.library.constants import NAN_AT, LibraryFormat, format_constants, library_format
from softfloat_ref.export.library.functions import Function
from softfloat_ref.export.library.policies import ROUNDING_MODES, LibraryPolicy
from softfloat_ref.export.plan import wrap_line
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32, BlockFormat
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.quantize import element_policy, resolve, special_element
from softfloat_ref.oracle.blocks.scale_rules import get_scale_rule, largest
from softfloat_ref.oracle.blocks.scales import limited_scale, scale_of, scale_policy
from softfloat_ref.oracle.blocks.tensor_scales import reach
from softfloat_ref.oracle.codec import encoder, target
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Overflow, Policy, Tininess
from softfloat_ref.oracle.policies import rounding_name as name_of_rounding
from softfloat_ref.oracle.rounding import Rounding

INPUTS: Final = ("fp32", "tf32", "bf16", "fp16")  # whose numbers FP32 has
_MODES: Final = ROUNDING_MODES | {Rounding.RHZ: 7, Rounding.SR: 8, Rounding.SR_B: 9, Rounding.SR_C: 10}
_RANDOM_BITS: Final = 16  # at most, beside quotients; and beside powers of two
_MORE_RANDOM_BITS: Final = 32
_STEPS: Final = {
    "exact": "EXACT",
    "fp32-division": "PRODUCT",
    "fp32-inverse": "INVERSE",
    "fp32-reciprocal": "RECIPROCAL",
}
_FLUSH: Final = {"never": "CORE_NO_FLUSH", "element": "CORE_FLUSH_ELEMENTS", "block": "CORE_FLUSH_BLOCKS"}
_SPECIAL: Final = {"block": "NAN", "largest": "LARGEST", "binade": "BINADE", "element": "UNCHANGED"}
_ZEROS: Final = {"keep": "SIGNED", "drop": "DROP", "drop-given": "DROP_GIVEN", "set-given": "SET_GIVEN"}
_NONE: Final = 0xFFFFFFFF  # not a code
_MAX_MANTISSA: Final = 10  # of an element: its products and quotients fit words of 64 bits
_NO_PROPAGATION: Final = "CORE_NAN_GENERATED, 0, 0, CORE_FMA_ABC, CORE_ADDEND_NAN, 0, 0, CORE_FLUSH_OFF"
_ONE: Final = exact.finite(0, 1, 0)
_NEAREST: Final = Policy()
IEEE: Final = LibraryPolicy("ieee", _NEAREST, "CORE_FMA_ABC", "CORE_ADDEND_NAN")


@dataclass(frozen=True)
class LibraryBlock:
    """A block format under a profile in a library: its names in C, and its constants."""

    block: BlockFormat
    profile: Profile
    policy: LibraryPolicy  # of elements

    @cached_property
    def name(self) -> str:
        """mxfp8_e4m3; of fp4_e2m1@ue5m3/16, f4_e2m1_ue5m3_16."""
        name = re.sub(r"\W", "_", self.block.name)
        return name.replace("fp", "f", 1) if name.startswith("fp") else name

    @property
    def size(self) -> int:
        return self.block.size

    @cached_property
    def element(self) -> LibraryFormat:
        return LibraryFormat(self.block.element)

    @cached_property
    def scale(self) -> LibraryFormat:
        return LibraryFormat(self.block.scale)

    @property
    def has_tensor_scale(self) -> bool:
        return self.profile.two_levels

    @property
    def is_integer(self) -> bool:
        """Whether elements are integers of C."""
        return self.block.element.twos_complement

    @property
    def element_type(self) -> str:
        return f"int{self.element.storage}_t" if self.is_integer else self.element.type

    @cached_property
    def power(self) -> bool:
        """Whether scales are powers of two, and all there is to divide by."""
        return self.block.scale.mantissa_bits == 0

    def constants(self) -> str:
        """The fields of core_block."""
        p, fmt, scale, policy = self.profile, self.block, self.block.scale, self.policy.policy
        fields = {
            "size": fmt.size,
            "element": self.element_constants(quantizer=True),
            "twos_complement": int(self.is_integer),
            "full": int(self.is_integer and not fmt.element.symmetric),
            "mode": _mode(policy, policy.rounding),
            "random_bits": policy.random_count,
            "steps": f"CORE_STEPS_{_STEPS[p.arithmetic]}",
            "zeros": f"CORE_ZEROS_{_ZEROS[p.negative_zero]}",
            "flush": _FLUSH[p.flush],
            "flush_below": f"{_power_code(p.flush_below):#x}",
            "nan": f"CORE_SCALE_{_SPECIAL[p.nan]}",
            "infinite": f"CORE_SCALE_{_SPECIAL[p.inf]}",
            "quantized": int(p.special_codes == "quantized"),
            "special_element": f"{special_element(fmt, policy, p):#x}",
            "no_number": int(p.no_finite == "special"),
            "scale_infinite": f"{encoder(scale, _NEAREST)(exact.inf(0), 0)[0]:#x}",
            "scale": self.scale_constants(),
            "scale_nan": f"{scale.canonical_nan if scale.has_nan else _NONE:#x}",
            "scale_of_zeros": f"{scale_of(None, fmt, p):#x}",
            **(self._power_rule() if self.power else self._quotient_rule()),
        }
        return designated(fields)

    def _power_rule(self) -> dict[str, Any]:
        """The scale as a clamped exponent: asked of the oracle, and compared with it in every binade."""
        fmt, p, scale = self.block, self.profile, self.block.scale

        def code(significand: int, exponent: int) -> int:
            return scale_of(exact.finite(0, significand, exponent - 23), fmt, p)

        low, high, base = 1 << 23, 1 << 24, code(1 << 23, 0)
        while low + 1 < high:
            middle = (low + high) // 2
            low, high = (middle, high) if code(middle, 0) == base else (low, middle)
        offset, above, lowest = FP32.bias - base, code(1 << 23, 1000), code(1 << 23, -1000)
        for e in range(-149, 129):
            for significand in (x for x in (1 << 23, high - 1, high, (1 << 24) - 1) if x < 1 << 24):
                k = e + FP32.bias + (significand >= high) - offset
                if code(significand, e) != (above if k > scale.max_code else max(k, lowest)):
                    raise Error(f"{fmt.name}: scale rule {p.scale_rule} of profile {p.name} is not a clamped exponent")
        limits = {"offset": offset, "lowest": lowest, "highest": scale.max_code, "above": f"{above:#x}"}
        return {"power": 1, "up_from": f"{high:#x}", **limits, "limit": 1}

    def _quotient_rule(self) -> dict[str, Any]:
        p, fmt = self.profile, self.block
        limit = _ONE if p.scale_rule == "amax" else largest(fmt.element)
        in_steps = p.arithmetic != "exact" and (p.scale_rule == "rne" or p.arithmetic == "fp32-reciprocal")
        rounding = Rounding.RNE if in_steps else get_scale_rule(p.scale_rule)(_ONE, fmt.element, 64).rounding
        return {
            "limit": limit.significand,
            "limit_e": limit.exponent,
            "limit_code": f"{encoder(FP32, _NEAREST)(limit, 0)[0]:#x}",
            "scale_steps": f"CORE_STEPS_{_STEPS[p.arithmetic] if in_steps else 'EXACT'}",
            "scale_mode": _mode(_NEAREST, rounding),
            "scale_nan_above": int(p.scale_high == "nan"),
            "scale_tiny": f"{limited_scale(0, 0, False, fmt.scale, p):#x}",
            "scale_least": f"{limited_scale(1, 0, False, fmt.scale, p):#x}",
        }

    def scale_constants(self) -> str:
        """Of the scale as core_format: with a sign, which is 0."""
        scale, policy = self.block.scale, scale_policy(Rounding.RNE, self.profile.scale_high == "format")
        beyond, infinite = target(scale, policy).beyond_positive, encoder(scale, policy)(exact.inf(0), 0)[0]
        nan = f"{scale.canonical_nan if scale.has_nan else 0:#x}"
        return (
            f"{{{scale.width + (not scale.signed)}, {scale.mantissa_bits}, {scale.bias}, CORE_NAN_{NAN_AT[scale.nan]}, "
            f"{int(scale.infinity)}, {scale.max_code:#x}, 0, 0, {nan}, {beyond:#x}, {beyond:#x}, {infinite:#x}, "
            f"{infinite:#x}, {_NO_PROPAGATION}}}"
        )

    def element_constants(self, quantizer: bool) -> str:
        """Of elements as core_format. quantizer: with the results of overflow."""
        fmt, policy = self.block.element, self.policy
        if not self.is_integer:
            return inline(format_constants(fmt, policy if quantizer else IEEE))
        t, encode = target(fmt, policy.policy), encoder(fmt, policy.policy)
        results = [t.beyond_positive, t.beyond_negative, *(encode(exact.inf(s), 0)[0] for s in (0, 1))]
        codes = [_sign_and_magnitude(x, fmt) for x in results]
        top, nan = fmt.max_code if quantizer else (2 << fmt.mantissa_bits) - 1, encode(exact.GENERATED, 0)[0]
        return (
            f"{{{fmt.width + 1}, {fmt.mantissa_bits}, {fmt.bias}, CORE_NAN_NONE, 0, {top:#x}, 0, 0, "
            f"{_sign_and_magnitude(nan, fmt):#x}, {', '.join(f'{x:#x}' for x in codes)}, {_NO_PROPAGATION}}}"
        )

    def values_constants(self) -> str:
        """The fields of core_block_values."""
        overflow = Overflow.SAT_PROPAGATE if self.profile.dequantize_overflow == "saturate" else Overflow.SAT_NONE
        to = format_constants(FP32, dataclasses.replace(IEEE, policy=Policy(overflow=overflow)))
        fields = {
            "element": self.element_constants(quantizer=False),
            "scale": self.scale_constants(),
            "to": inline(to),
            "twos_complement": int(self.is_integer),
            "power": int(self.power),
            "steps": f"CORE_STEPS_{_STEPS[self.profile.arithmetic]}",
        }
        return designated(fields)

    # -- functions ---------------------------------------------------------------------------------------------------

    def functions(self, formats: Sequence[LibraryFormat], prefix: str) -> Iterator[Function]:
        """Of the library's formats, those whose values FP32 has are quantized; FP32 is made of blocks."""
        p, codes, scales = prefix, f"{prefix}{self.element_type}", f"{prefix}{self.scale.type}"
        codes = self.element_type if self.is_integer else codes
        inputs = [x for x in formats if x.fmt.name in INPUTS]
        if not inputs:
            raise Error(f"{self.block.name}: a library quantizes {', '.join(INPUTS)}; name one of them in --fmt, too")
        tensor = f", {p}float32_t tensor_scale" if self.has_tensor_scale else ""
        factor = "tensor_scale.v" if self.has_tensor_scale else "0x3f800000"
        kind = "bool" if self.has_tensor_scale else "void"
        check = ["if (core_block_bad_tensor_scale(tensor_scale.v)) return false;"] if self.has_tensor_scale else []
        done = ["return true;"] if self.has_tensor_scale else []
        store = f"codes[i] = ({codes})" if self.is_integer else f"codes[i].v = (uint{self.element.storage}_t)"
        random = self.policy.policy.random_count > 0
        words, loop = ("const uint32_t *random, ", "CORE_QUANTIZE_RANDOM") if random else ("", "CORE_QUANTIZE")
        for own in inputs:
            value = _value(own)
            yield Function(
                kind,
                f"{p}{own.name}_to_{self.name}",
                f"size_t n, const {p}{own.type} *x{tensor}, {scales} *scales, {codes} *codes, {words}uint8_t *flags",
                [*check, f"{loop}({self.size}, uint{self.scale.storage}_t, {value}, {factor}, {store});", *done],
            )
            if self.has_tensor_scale:
                limit = reach(self.block, self.profile)
                inverse = int(self.profile.arithmetic == "fp32-inverse")
                yield Function(
                    f"{p}float32_t",
                    f"{p}{own.name}_to_{self.name}_tensor_scale",
                    f"size_t n, const {p}{own.type} *x",
                    [
                        "uint32_t largest = 0;",
                        f"{p}float32_t z;",
                        f"for (size_t i = 0; i < n; i++) largest = core_block_largest(largest, {value});",
                        f"z.v = core_block_tensor_scale(largest, UINT64_C({limit.significand}), {limit.exponent},"
                        f" {inverse});",
                        "return z;",
                    ],
                )
        if any(own.fmt.name == "fp32" for own in formats):
            mask = (1 << self.block.element.width) - 1
            code = f"((uint32_t)codes[i] & {mask:#x})" if self.is_integer else f"((uint32_t)codes[i].v & {mask:#x})"
            yield Function(
                kind,
                f"{p}{self.name}_to_f32",
                f"size_t n, const {scales} *scales, const {codes} *codes{tensor}, {p}float32_t *z",
                [*check, f"CORE_DEQUANTIZE({self.size}, {code}, {factor});", *done],
            )

    def source(self, functions: Sequence[Function], licence: str) -> str:
        parts = [
            f'{licence}\n#define CORE_VECTOR 1\n#include "core_units.h"\n#include "core_block.h"\n'
            '#include "core_block_loops.h"',
            f"static const core_block format = {self.constants()};",
            _BLOCK_FUNCTIONS,
        ]
        if any(f.name.endswith(f"{self.name}_to_f32") for f in functions):
            parts.insert(2, f"static const core_block_values values_of = {self.values_constants()};")
        return "\n\n".join([*parts, *(f.definition for f in functions)]) + "\n"


_BLOCK_FUNCTIONS: Final = """\
static uint32_t quantize(const uint32_t *x, size_t m, uint32_t *codes, uint8_t *flags, uint32_t tensor,
                         const uint32_t *random, int fast)
{
    return core_block_quantize(x, m, codes, flags, &format, tensor, random, fast);
}"""


def library_block(block: BlockFormat, profile: Profile | str | None, policy: LibraryPolicy) -> LibraryBlock:
    """The block format under a profile, if a library can have it. Raises Error."""
    fmt, chosen = resolve(block, profile)
    own = policy.policy.replace(rounding=chosen.rounding)
    own = element_policy(
        own.replace(sr_bits=policy.sr_bits) if policy.sr_bits and own.rounding.stochastic else own, chosen
    )
    scale, element = fmt.scale, fmt.element
    room = _RANDOM_BITS if scale.mantissa_bits else _MORE_RANDOM_BITS
    where = f"block format {fmt.name} under profile {chosen.name} cannot be in a library"
    refuse(
        where,
        ("its blocks have no fixed size", fmt.size < 1),
        ("its blocks have several rows", fmt.rows > 1),
        (f"rounding {name_of_rounding(own.rounding)} is not in the library", own.rounding not in _MODES),
        (f"it has room for {room} random bits, not {own.random_count}", own.random_count > room),
        ("flush_outputs with a stochastic rounding is not in the library", own.random_count > 0 and own.flush_outputs),
        ("arithmetic fp32-amax is not in the library", chosen.arithmetic not in _STEPS),
        ("a function of C cannot refuse a NaN or Inf: add ,nan=block,inf=block to the profile",
         "error" in (chosen.nan, chosen.inf)),
        ("scale_high = format with special_codes = quantized is not in the library",
         (chosen.scale_high, chosen.special_codes) == ("format", "quantized")),
        (f"its scales {scale.name} have a sign or special cases", scale.p3109 or (scale.signed and scale != FP32)),
        (f"its elements have more than {_MAX_MANTISSA} mantissa bits", element.mantissa_bits > _MAX_MANTISSA),
        ("a power of two with a tensor's scale is not in the library",
         scale.mantissa_bits == 0 and (chosen.two_levels or (chosen.scale_rule == "rne" and chosen.divides_in_fp32))),
        (f"scale rule {chosen.scale_rule} gives powers of two; the library has it for scales without mantissa bits",
         scale.mantissa_bits > 0 and get_scale_rule(chosen.scale_rule)(_ONE, element, 64).power),
        ("its scales have no zero or no subnormals",
         scale.mantissa_bits > 0 and (not scale.zero or scale.subnormals != "gradual")),
        (f"scale rule {chosen.scale_rule} in FP32's steps with a tensor's scale is not in the library",
         chosen.two_levels and chosen.arithmetic == "fp32-inverse" and chosen.scale_rule != "rne"),
    )  # fmt: skip
    if not element.twos_complement:
        needs_long = library_format(element, policy).long
        refuse(where, ("its elements have no sign, no subnormals, or special cases", needs_long))
    return LibraryBlock(fmt, chosen, dataclasses.replace(policy, policy=own))


def _mode(policy: Policy, rounding: Rounding) -> str:
    return f"{{{_MODES[rounding]}, {int(policy.tininess == Tininess.BEFORE)}}}"


def designated(fields: dict[str, Any]) -> str:
    """An initializer with the names of its fields."""
    lines = [line for name, value in fields.items() for line in wrap_line(f".{name} = {value},", "    ")]
    return "\n".join(["{", *lines, "}"])


def inline(text: str) -> str:
    """The fields of a constant on one line."""
    return " ".join(text.split()).replace("{ ", "{").replace(", }", "}")


def _power_code(exponent: int) -> int:
    """The FP32 code of the smallest magnitude that is at least a power of two."""
    if exponent > FP32.emax:
        return FP32.inf_code
    return encoder(FP32, _NEAREST.replace(rounding=Rounding.RUP))(exact.finite(0, 1, max(exponent, -200)), 0)[0]


def _sign_and_magnitude(code: int, fmt: Format) -> int:
    """A two's complement code with its sign above its bits."""
    return 1 << fmt.width | (1 << fmt.width) - code if code & fmt.sign_bit else code


def _value(own: LibraryFormat) -> str:
    """A value of an array as an FP32 code."""
    if own.fmt == FP32:
        return "core_operand_32(x[i].v, format_f32)"
    word = "x[i].v" if own.fmt.width == own.storage else f"x[i].v & {(1 << own.fmt.width) - 1:#x}"
    return f"core_widened(core_operand_32({word}, format_{own.name}), format_{own.name}, core_f32)"
