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
    using code_type = {code};
    constexpr {name}() = default;
    explicit constexpr {name}({type} value) : value_(value) {{}}
{declared}\
    static constexpr {name} from_bits(code_type code) {{ return {name}({type}{{code}}); }}
    static constexpr {name} max() {{ return from_bits({max:#x}); }}
    static constexpr {name} lowest() {{ return from_bits({lowest:#x}); }}
    static constexpr {name} min() {{ return from_bits({min:#x}); }}
    static constexpr {name} denorm_min() {{ return from_bits(1); }}
{constants}\
    constexpr code_type bits() const {{ return value_.v; }}
    constexpr {type} value() const {{ return value_; }}
    constexpr bool is_nan() const {{ return {is_nan}; }}
    constexpr bool is_infinite() const {{ return {is_inf}; }}
    constexpr bool is_negative() const {{ return (value_.v & {sign:#x}) != 0; }}
    constexpr {name} operator-() const {{ return from_bits({negated}); }}
    constexpr friend {name} abs({name} a) {{ return {absolute}; }}
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
    {type} value_{{0}};
}};

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
    constants = []
    if fmt.infinity:
        constants.append(f"static constexpr {name} infinity() {{ return from_bits({fmt.inf_code:#x}); }}")
    if fmt.has_nan:
        constants.append(f"static constexpr {name} quiet_nan() {{ return from_bits({fmt.canonical_nan:#x}); }}")
    magnitude = f"(value_.v & {fmt.magnitude_mask:#x})"
    without_zero = fmt.nan == "negative-zero"
    return _CLASS.format(
        format=fmt.name,
        name=name,
        code=f"std::uint{own.storage}_t",
        type=f"{prefix}{own.type}",
        c=f"{prefix}{name}",
        declared="".join(f"    {line}\n" for line in declared),
        constants="".join(f"    {line}\n" for line in constants),
        max=fmt.max_code,
        lowest=fmt.max_code | fmt.sign_bit,
        min=fmt.min_normal_code,
        sign=fmt.sign_bit,
        is_nan=f"value_.v == {fmt.sign_bit:#x}"
        if without_zero
        else _above(magnitude, fmt.max_code + fmt.infinity, own),
        is_inf=f"{magnitude} == {fmt.inf_code:#x}" if fmt.infinity else "false",
        negated=f"{magnitude} == 0 ? value_.v : static_cast<code_type>(value_.v ^ {fmt.sign_bit:#x})"
        if without_zero
        else f"static_cast<code_type>(value_.v ^ {fmt.sign_bit:#x})",
        absolute=f"a.is_negative() {'&& !a.is_nan() ' if without_zero else ''}? -a : a",
    )


def _above(magnitude: str, code: int, own: LibraryFormat) -> str:
    return f"{magnitude} > {code:#x}" if own.fmt.has_nan else "false"


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
