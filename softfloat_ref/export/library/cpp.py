"""The C++20 header of a library: a class of values for each format, with operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from softfloat_ref.export.library.constants import LibraryFormat

_START: Final = """\
// SPDX-License-Identifier: 0BSD
// Values with operators, around the functions of {header}; C++20.
#ifndef {p}softfloat_hpp
#define {p}softfloat_hpp 1

#include <bit>
#include <compare>
#include <cstdint>
#include "{header}"

namespace {p}softfloat {{

"""
_CLASS: Final = """\
/// {format}. Conversions from and to numbers are explicit; constants and tests of codes are constexpr.
class {name} {{
public:
{code_type}    constexpr {name}() = default;
    explicit constexpr {name}({type} value) : value_(value) {{}}
{declared}\
    static constexpr {name} from_bits(code_type code) {{ return {name}({type}{stored}); }}
{constants}\
    constexpr code_type bits() const {{ return {bits}; }}
    constexpr {type} value() const {{ return value_; }}
    constexpr bool is_nan() const {{ return {is_nan}; }}
    constexpr bool is_infinite() const {{ return {is_inf}; }}
    constexpr bool is_negative() const {{ return {is_negative}; }}
{signs}\
    friend {name} operator+({name} a, {name} b) {{ return {name}({c}_add(a.value_, b.value_)); }}
    friend {name} operator-({name} a, {name} b) {{ return {name}({c}_sub(a.value_, b.value_)); }}
    friend {name} operator*({name} a, {name} b) {{ return {name}({c}_mul(a.value_, b.value_)); }}
    friend {name} operator/({name} a, {name} b) {{ return {name}({c}_div(a.value_, b.value_)); }}
    friend {name} fma({name} a, {name} b, {name} c) {{ return {name}({c}_mulAdd(a.value_, b.value_, c.value_)); }}
    friend {name} sqrt({name} a) {{ return {name}({c}_sqrt(a.value_)); }}
    friend {name} remainder({name} a, {name} b) {{ return {name}({c}_rem(a.value_, b.value_)); }}
    {name} &operator+=({name} b) {{ return *this = *this + b; }}
    {name} &operator-=({name} b) {{ return *this = *this - b; }}
    {name} &operator*=({name} b) {{ return *this = *this * b; }}
    {name} &operator/=({name} b) {{ return *this = *this / b; }}
    friend bool operator==({name} a, {name} b) {{ return {c}_eq(a.value_, b.value_); }}
    friend std::partial_ordering operator<=>({name} a, {name} b)
    {{
        if ({c}_lt(a.value_, b.value_)) return std::partial_ordering::less;
        if ({c}_lt(b.value_, a.value_)) return std::partial_ordering::greater;
        return a == b ? std::partial_ordering::equivalent : std::partial_ordering::unordered;
    }}

private:
    {type} value_{{}};
}};

"""
_TWO_WORDS: Final = """\
    struct code_type {{
        std::uint64_t high, low;
        constexpr auto operator<=>(const code_type &) const = default;
    }};
    static constexpr bool big = std::endian::native == std::endian::big;
    static constexpr {type} stored(code_type code)
    {{
        {type} z{{}};
        {high} = static_cast<{kind}>(code.high);
        {low} = code.low;
        return z;
    }}
    constexpr code_type loaded() const {{ return {{{high_value}, {low_value}}}; }}
"""
_END: Final = """\
}} // namespace {p}softfloat
#endif
"""
_INTEGERS: Final = {"ui32": "std::uint32_t", "ui64": "std::uint64_t", "i32": "std::int32_t", "i64": "std::int64_t"}
_NATIVE: Final = {"fp32": ("float", "std::uint32_t"), "fp64": ("double", "std::uint64_t")}


def cpp_header(formats: Sequence[LibraryFormat], prefix: str, header: str) -> str:
    """The text. header: of C."""
    lines = [_START.format(header=header, p=prefix), *(f"class {x.name};\n" for x in formats), "\n"]
    lines += [_class(x, formats, prefix) for x in formats]
    lines += [text for x in formats for text in _conversions(x, formats, prefix)]
    return "".join([*lines, _END.format(p=prefix)])


def _class(own: LibraryFormat, formats: Sequence[LibraryFormat], prefix: str) -> str:
    fmt, name = own.fmt, own.name
    declared = [f"explicit {name}({x.name} a);" for x in formats if x != own]
    declared += [f"explicit {name}({kind} a) : value_({prefix}{i}_to_{name}(a)) {{}}" for i, kind in _INTEGERS.items()]
    for other in formats:
        if other.fmt.name in _NATIVE:
            kind = _NATIVE[other.fmt.name][0]
            declared += [f"explicit {name}({kind} a);", f"explicit operator {kind}() const;"]
    return _CLASS.format(
        format=fmt.name,
        name=name,
        type=f"{prefix}{own.type}",
        c=f"{prefix}{name}",
        declared="".join(f"    {line}\n" for line in declared),
        constants="".join(f"    {line}\n" for line in _constants(own)),
        signs="".join(f"    {line}\n" for line in _signs(own)),
        **_codes(own, f"{prefix}{own.type}"),
    )


def _codes(own: LibraryFormat, type_name: str) -> dict[str, str]:
    """How a class has its code, and what it is."""
    fmt = own.fmt
    texts = {"code_type": f"    using code_type = std::uint{own.storage}_t;\n", "stored": "{code}", "bits": "value_.v"}
    if own.in_struct:
        high, low = ("z.signExp", "z.signif") if fmt.explicit_bit else ("z.v[big ? 0 : 1]", "z.v[big ? 1 : 0]")
        texts["code_type"] = _TWO_WORDS.format(
            type=type_name,
            high=high,
            low=low,
            kind=f"std::uint{16 if fmt.explicit_bit else 64}_t",
            high_value=high.replace("z.", "value_."),
            low_value=low.replace("z.", "value_."),
        )
        texts |= {"stored": "(stored(code))", "bits": "loaded()"}
    magnitude = _masked("bits()", fmt.magnitude_mask, own)
    texts["is_negative"] = f"{_masked('bits()', fmt.sign_bit, own)} != {_literal(0, own)}" if fmt.signed else "false"
    texts["is_inf"] = f"{magnitude} == {_literal(fmt.inf_code, own)}" if fmt.infinity else "false"
    above = fmt.inf_code if fmt.infinity else fmt.max_code
    texts["is_nan"] = f"{magnitude} > {_literal(above, own)}" if fmt.has_nan else "false"
    if fmt.nan == "negative-zero":
        texts["is_nan"] = f"bits() == {_literal(fmt.sign_bit, own)}"
    return texts


def _constants(own: LibraryFormat) -> Iterator[str]:
    fmt = own.fmt
    lowest = fmt.max_negative_code | fmt.sign_bit if fmt.signed else 0
    codes = {"max": fmt.max_code, "lowest": lowest, "min": fmt.min_normal_code, "denorm_min": fmt.min_code}
    if fmt.infinity:
        codes["infinity"] = fmt.inf_code
    if fmt.has_nan:
        codes["quiet_nan"] = fmt.canonical_nan
    for name, code in codes.items():
        yield f"static constexpr {own.name} {name}() {{ return from_bits({_literal(code, own)}); }}"


def _signs(own: LibraryFormat) -> Iterator[str]:
    """The negated and the absolute value, of formats with a sign."""
    fmt, name = own.fmt, own.name
    if not fmt.signed:
        return
    without_zero = fmt.nan == "negative-zero"
    bits = "bits()" if not own.in_struct else "code_type{bits().high"
    negated = f"static_cast<code_type>({bits} ^ {fmt.sign_bit:#x})"
    if own.in_struct:
        negated = f"{bits} ^ {fmt.sign_bit >> 64:#x}, bits().low}}"
    zero = f"{_masked('bits()', fmt.magnitude_mask, own)} == {_literal(0, own)} ? bits() : " if without_zero else ""
    yield f"constexpr {name} operator-() const {{ return from_bits({zero}{negated}); }}"
    test = "a.is_negative() && !a.is_nan()" if without_zero else "a.is_negative()"
    yield f"constexpr friend {name} abs({name} a) {{ return {test} ? -a : a; }}"


def _literal(code: int, own: LibraryFormat) -> str:
    return f"code_type{{{code >> 64:#x}, {code & (1 << 64) - 1:#x}}}" if own.in_struct else f"{code:#x}"


def _masked(code: str, mask: int, own: LibraryFormat) -> str:
    """A code's bits of a mask, which has all or none of the low word."""
    if not own.in_struct:
        return f"({code} & {mask:#x})"
    return f"code_type{{{code}.high & {mask >> 64:#x}, {f'{code}.low' if mask & 1 else '0'}}}"


def _conversions(own: LibraryFormat, formats: Sequence[LibraryFormat], prefix: str) -> Iterator[str]:
    """The definitions that need every class."""
    name = own.name
    for other in formats:
        if other != own:
            yield f"inline {name}::{name}({other.name} a) : value_({prefix}{other.name}_to_{name}(a.value())) {{}}\n"
        if other.fmt.name not in _NATIVE:
            continue
        kind, code = _NATIVE[other.fmt.name]
        bits = f"{other.name}::from_bits(std::bit_cast<{code}>(a))"
        yield f"inline {name}::{name}({kind} a) : {name}({bits}) {{}}\n"
        source = "bits()" if other == own else f"{other.name}(*this).bits()"
        yield f"inline {name}::operator {kind}() const {{ return std::bit_cast<{kind}>({source}); }}\n"
