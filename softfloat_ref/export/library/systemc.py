"""The header of a library for SystemC models: values that signals, traces and words of any width take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from softfloat_ref.export.library.constants import LibraryFormat

_START: Final = """\
// SPDX-License-Identifier: 0BSD
// Values for SystemC models, around the functions of {header}; C++11. SystemC is not included: a value is made of, and
// becomes, any word with to_uint64() and a constructor of an integer, such as sc_uint, sc_biguint, sc_bv and sc_lv;
// sc_signal, sc_fifo and sc_trace take it as it is. Operators use the library's state; functions with a rounding leave
// it as it was, and give the flags of the one operation.
#ifndef {p}softfloat_systemc_h
#define {p}softfloat_systemc_h 1

#include <cstdint>
#include <ostream>
#include <string>
#include "{header}"

namespace {p}softfloat_systemc {{

/// A result and its flags.
template <class Value> struct answer {{
    Value value;
    unsigned flags;
}};

/// The state of the library while an operation is called.
class scope {{
public:
    explicit scope(unsigned rounding, unsigned tininess)
        : mode_({p}softfloat_roundingMode), tininess_({p}softfloat_detectTininess), flags_({p}softfloat_exceptionFlags)
    {{
        {p}softfloat_roundingMode = static_cast<std::uint_fast8_t>(rounding);
        {p}softfloat_detectTininess = static_cast<std::uint_fast8_t>(tininess);
        {p}softfloat_exceptionFlags = 0;
    }}
    ~scope()
    {{
        {p}softfloat_roundingMode = mode_;
        {p}softfloat_detectTininess = tininess_;
        {p}softfloat_exceptionFlags = flags_;
    }}
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;
    template <class Value> answer<Value> of(Value value) const {{ return {{value, {p}softfloat_exceptionFlags}}; }}

private:
    std::uint_fast8_t mode_, tininess_, flags_;
}};

"""
_CLASS: Final = """\
/// {format}
class {name} {{
public:
    enum {{ width = {width} }};
    using code_type = {code};
    {name}() : value_() {{}}
    explicit {name}({type} value) : value_(value) {{}}
{conversions}\
    static {name} from_bits(std::uint64_t code)
    {{
        {name} x;
        x.value_.v = static_cast<code_type>(code{mask});
        return x;
    }}
    template <class Word> static {name} from_word(const Word &word) {{ return from_bits(word.to_uint64()); }}
    template <class Word> Word to_word() const {{ return Word(static_cast<std::uint64_t>(value_.v)); }}
    code_type bits() const {{ return value_.v; }}
    {type} value() const {{ return value_; }}

    friend {name} operator+({name} a, {name} b) {{ return {name}({c}_add(a.value_, b.value_)); }}
    friend {name} operator-({name} a, {name} b) {{ return {name}({c}_sub(a.value_, b.value_)); }}
    friend {name} operator*({name} a, {name} b) {{ return {name}({c}_mul(a.value_, b.value_)); }}
    friend {name} operator/({name} a, {name} b) {{ return {name}({c}_div(a.value_, b.value_)); }}
{functions}
    /// Of codes, as signals compare: -0 is not +0, and a NaN is itself.
    friend bool operator==(const {name} &a, const {name} &b) {{ return a.value_.v == b.value_.v; }}
    friend bool operator!=(const {name} &a, const {name} &b) {{ return a.value_.v != b.value_.v; }}
    friend std::ostream &operator<<(std::ostream &stream, const {name} &x)
    {{
        static const char digits[] = "0123456789abcdef";
        const std::uint64_t code = x.value_.v;
        for (int k = (width + 3) / 4 - 1; k >= 0; k--) stream << digits[code >> 4 * k & 15];
        return stream;
    }}
    template <class File> friend void sc_trace(File *file, const {name} &x, const std::string &name)
    {{
        sc_trace(file, x.value_.v, name, static_cast<int>(width));
    }}

private:
    {type} value_;
}};

"""
_FUNCTION: Final = """\
    friend answer<{name}> {op}({operands}, unsigned rounding, unsigned tininess = {p}softfloat_tininess_afterRounding)
    {{
        const scope now(rounding, tininess);
        return now.of({name}({c}_{op}({values})));
    }}
"""
_OPERATIONS: Final = {"add": "ab", "sub": "ab", "mul": "ab", "mulAdd": "abc", "div": "ab", "sqrt": "a"}
_END: Final = """\
}} // namespace {p}softfloat_systemc
#endif
"""


def systemc_header(formats: Sequence[LibraryFormat], prefix: str, header: str) -> str:
    """The text. header: of C. Formats whose codes are several integers have no class."""
    formats = [x for x in formats if not x.in_struct]
    lines = [_START.format(header=header, p=prefix), *(f"class {x.name};\n" for x in formats), "\n"]
    lines += [_class(x, formats, prefix) for x in formats]
    for own in formats:
        for other in (x for x in formats if x != own):
            call = f"{prefix}{other.name}_to_{own.name}(x.value())"
            lines.append(f"inline {own.name}::{own.name}({other.name} x) : value_({call}) {{}}\n")
    return "".join([*lines, _END.format(p=prefix)])


def _class(own: LibraryFormat, formats: Sequence[LibraryFormat], prefix: str) -> str:
    functions = [
        _FUNCTION.format(
            name=own.name,
            op=op,
            c=f"{prefix}{own.name}",
            p=prefix,
            operands=", ".join(f"{own.name} {x}" for x in operands),
            values=", ".join(f"{x}.value_" for x in operands),
        )
        for op, operands in _OPERATIONS.items()
    ]
    width = own.fmt.width
    return _CLASS.format(
        format=own.fmt.name,
        name=own.name,
        width=width,
        code=f"std::uint{own.storage}_t",
        type=f"{prefix}{own.type}",
        c=f"{prefix}{own.name}",
        conversions="".join(f"    explicit {own.name}({x.name} x);\n" for x in formats if x != own),
        mask="" if width == own.storage else f" & {(1 << width) - 1:#x}",
        functions="".join(functions),
    )
