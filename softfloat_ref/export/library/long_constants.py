"""Formats of any kind, up to 128 bits, as constants of core_value.h."""

from __future__ import annotations

from collections.abc import Iterator

from softfloat_ref.export.library.constants import NAN_AT, PROPAGATE, flush_word
from softfloat_ref.export.library.policies import LibraryPolicy
from softfloat_ref.oracle.codec import encoder, target
from softfloat_ref.oracle.exact import FINITE, GENERATED, INF, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy, Specials, Unnormals


def long_constants(fmt: Format, own: LibraryPolicy) -> str:
    """The fields of core_format_128, which name themselves."""
    fields = dict(_fields(fmt, own)) | dict(_codes(fmt, own.for_format(fmt)))
    return "{\n" + "".join(f"    .{name} = {value},\n" for name, value in fields.items()) + "}"


def _fields(fmt: Format, own: LibraryPolicy) -> Iterator[tuple[str, object]]:
    policy = own.for_format(fmt).replace(rounding_precision=80)
    t, rule = target(fmt, policy), policy.nan_rule
    yield from {"width": fmt.width, "mantissa": fmt.mantissa_bits, "bias": fmt.bias}.items()
    yield from {"has_sign": int(fmt.signed), "explicit_bit": int(fmt.explicit_bit)}.items()
    yield "nan_at", f"CORE_NAN_{NAN_AT[fmt.nan] if fmt.has_nan else 'NONE'}"
    yield from {
        "infinity": int(fmt.infinity),
        "signaling": int(fmt.signaling),
        "has_zero": t.zero,
        "gap": t.gap,
    }.items()
    yield from {"low_normal": int(fmt.subnormals == "normal"), "emin": t.emin, "emax": t.emax}.items()
    yield "offset", t.code_offset >> fmt.mantissa_bits
    yield from {"drop_sign": t.drop_sign, "code_parity": t.code_parity, "negative_zero": t.negative_zero}.items()
    yield "odd_beyond", t.odd_beyond
    has_code = fmt.has_nan and rule.has_code(fmt)
    yield "propagate", f"CORE_NAN_{'GENERATED' if has_code else PROPAGATE[rule.propagate]}"
    yield from {"first_last": int(rule.first_last), "no_payload": int(rule.no_payload)}.items()
    order, generated = own.fma_words(fmt)
    yield from {"fma_order": order, "fma_generated": generated, "fma_quiet": int(rule.fma_quiet)}.items()
    yield from {
        "flush_inputs": int(policy.flush_inputs),
        "flush_outputs": f"CORE_FLUSH_{flush_word(fmt, policy)}",
    }.items()
    yield "unnormals", int(policy.unnormals == Unnormals.VALUE)
    yield "p3109", int(policy.specials == Specials.P3109 or (policy.specials == Specials.AUTO and fmt.p3109))


def _codes(fmt: Format, policy: Policy) -> Iterator[tuple[str, str]]:
    policy = policy.replace(rounding_precision=80)  # the state has another one
    hidden = fmt.hidden
    t, encode = target(fmt, policy), encoder(hidden, policy)
    yield "least", wide(t.least)
    yield "min_code", wide(t.min_code)
    yield "max_code", wide(t.max_code)
    yield "max_negative", wide(t.max_negative_code)
    yield "largest", wide(hidden.max_code)
    yield "limited_positive", wide(t.largest_positive)
    yield "limited_negative", wide(t.largest_negative)
    yield "beyond_positive", wide(t.beyond_positive)
    yield "beyond_negative", wide(t.beyond_negative)
    zero_flags = 0
    for sign, name in enumerate(("positive", "negative")):
        yield f"infinite_{name}", wide(encode(Value(INF, sign), 0)[0])
        zero, zero_flags = encoder(fmt, policy)(Value(FINITE, sign), 0)
        yield f"zero_{name}", wide(zero)
    yield "zero_flags", f"{zero_flags:d}"
    yield "nan", wide(encoder(fmt, policy)(GENERATED, 0)[0])
    base = fmt.inf_code | fmt.quiet_bit if fmt.nan == "ieee" else fmt.magnitude_mask
    yield "nan_base", wide(base)


def wide(code: int) -> str:
    """A core_wide; of a negative number, its two's complement."""
    word = (1 << 64) - 1
    return f"{{UINT64_C({code >> 64 & word:#x}), UINT64_C({code & word:#x})}}"
