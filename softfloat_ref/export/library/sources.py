"""The texts of a library's header and sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from softfloat_ref.export.library.arrays import NOTE, array_functions, array_source
from softfloat_ref.export.library.constants import LibraryFormat, format_constants
from softfloat_ref.export.library.functions import Function, FunctionWriter
from softfloat_ref.export.library.long_constants import long_constants
from softfloat_ref.export.library.pointers import pointer_functions
from softfloat_ref.export.library.policies import ROUNDING_MODES, LibraryPolicy
from softfloat_ref.export.library.reentrant import NOTE as REENTRANT_NOTE
from softfloat_ref.export.library.reentrant import (
    PRECISION,
    STATE_TYPE,
    reentrant_functions,
    reentrant_source,
)
from softfloat_ref.export.library.tables import table_functions
from softfloat_ref.export.plan import wrap_line
from softfloat_ref.oracle.policies import Tininess

LICENCE: Final = "/* SPDX-License-Identifier: 0BSD */"
_TYPES: Final = """\
{licence}
#ifndef {p}softfloat_types_h
#define {p}softfloat_types_h 1

#include <stdint.h>

{types}

#endif
"""
_STRUCT_TYPES: Final = {
    "extf80": """\
/* As SoftFloat's: the order of the parts is that of the bytes of a word. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
struct {p}extFloat80M {{ uint16_t signExp; uint64_t signif; }};
#else
struct {p}extFloat80M {{ uint64_t signif; uint16_t signExp; }};
#endif
typedef struct {p}extFloat80M {p}extFloat80_t;""",
    "": "typedef struct {{ uint64_t v[2]; }} {p}{type}; /* in the order of the bytes of a word */",
}
_HEADER: Final = """\
{licence}
#ifndef {p}softfloat_h
#define {p}softfloat_h 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "{p}softfloat_types.h"

/* Floating point in C, with the functions and the semantics of Berkeley SoftFloat 3e, written by
 * softfloat-ref export --library. Policy: {policy}. */

#ifdef __cplusplus
extern "C" {{
#endif

/* The state is one for all threads unless {p}THREAD_LOCAL is defined as _Thread_local or thread_local, here and when
 * the library is compiled. */
#ifndef {p}THREAD_LOCAL
#define {p}THREAD_LOCAL
#endif

extern {p}THREAD_LOCAL uint_fast8_t {p}softfloat_detectTininess;
enum {{
    {p}softfloat_tininess_beforeRounding = 0,
    {p}softfloat_tininess_afterRounding = 1
}};

extern {p}THREAD_LOCAL uint_fast8_t {p}softfloat_roundingMode;
enum {{
    {p}softfloat_round_near_even = 0,
    {p}softfloat_round_minMag = 1,
    {p}softfloat_round_min = 2,
    {p}softfloat_round_max = 3,
    {p}softfloat_round_near_maxMag = 4,
    {p}softfloat_round_odd = 6
}};

{extended}extern {p}THREAD_LOCAL uint_fast8_t {p}softfloat_exceptionFlags;
typedef enum {{
    {p}softfloat_flag_inexact = 1,
    {p}softfloat_flag_underflow = 2,
    {p}softfloat_flag_overflow = 4,
    {p}softfloat_flag_infinite = 8,
    {p}softfloat_flag_invalid = 16
}} {p}exceptionFlag_t;

void {p}softfloat_raiseFlags(uint_fast8_t flags);

"""
_PRECISION: Final = """\
/* 32, 64 or 80: as that of float32_t, float64_t or all bits, in sums, products, quotients and roots of extFloat80_t. */
extern {p}THREAD_LOCAL uint_fast8_t {p}extF80_roundingPrecision;

"""
_HEADER_END: Final = """\

#ifdef __cplusplus
}
#endif
#endif
"""
_STATE_SOURCE: Final = """\
{licence}
#include "{header}"

{p}THREAD_LOCAL uint_fast8_t {p}softfloat_roundingMode = {mode};
{p}THREAD_LOCAL uint_fast8_t {p}softfloat_detectTininess = {tininess};
{p}THREAD_LOCAL uint_fast8_t {p}softfloat_exceptionFlags = 0;
{extended}
const {p}softfloat_state {p}softfloat_initialState = {{{mode}, {tininess}, 0{precision}}};

void {p}softfloat_raiseFlags(uint_fast8_t flags)
{{
    {p}softfloat_exceptionFlags |= flags;
}}
"""
_PRECISION_STATE: Final = "{p}THREAD_LOCAL uint_fast8_t {p}extF80_roundingPrecision = {bits};\n"
_LONG_INTERNALS: Final = """\
#include "core_long.h"
#include "core_value.h"
#include "core_values.h"

{formats}

/* Codes in two words, and how results are stored. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define CORE_HIGH 0
#else
#define CORE_HIGH 1
#endif
#define CORE_CODE_two(a, width) core_wide_of((a).v[CORE_HIGH] & (UINT64_MAX >> (128 - (width))), (a).v[1 - CORE_HIGH])
#define CORE_CODE_x87(a, width) core_wide_of((a).signExp, (a).signif)
#define CORE_SHORTER ({p}extF80_roundingPrecision == 64 ? 11 : {p}extF80_roundingPrecision == 32 ? 40 : 0)
/* As CORE_FUNCTION; all bits of the precision are the usual ones. */
#define CORE_EXTENDED(BITS, T, U, name, parameters, arguments, call) \\
    static CORE_COLD T name##_in_other_modes parameters \\
    {{ \\
        const int shorter = CORE_SHORTER; \\
        CORE_RETURN(BITS, T, U, call, {p}softfloat_roundingMode); \\
    }} \\
    T name parameters \\
    {{ \\
        const int shorter = 0; \\
        if (CORE_UNLIKELY({p}softfloat_roundingMode != CORE_RNE || CORE_SHORTER)) \\
            return name##_in_other_modes arguments; \\
        CORE_RETURN(BITS, T, U, call, CORE_RNE); \\
    }}
typedef core_result_128 core_result_two;
typedef core_result_128 core_result_x87;
#define CORE_STORE_128(U) z.v = (U)r.code.low
#define CORE_STORE_two(U) z.v[CORE_HIGH] = r.code.high, z.v[1 - CORE_HIGH] = r.code.low
#define CORE_STORE_x87(U) z.signExp = (uint16_t)r.code.high, z.signif = r.code.low
"""
_INTERNALS: Final = """\
{licence}
/* The formats of this library under its policy, and how functions read and write its state. */
#ifndef CORE_LIBRARY_H
#define CORE_LIBRARY_H
#include "core.h"
#include "{header}"

{formats}
{long}
/* A result of the core, of words of BITS bits, as the function's: T has codes of type U. call: an expression in which
 * `mode` is a core_mode. The usual rounding is a constant, so that nothing is left of the others; these are a function
 * of their own. */
#define CORE_STORE_32(U) z.v = (U)r.code
#define CORE_STORE_64(U) z.v = (U)r.code
#define CORE_BEFORE ({p}softfloat_detectTininess == {p}softfloat_tininess_beforeRounding)
#define CORE_RETURN(BITS, T, U, call, rounding) \\
    do {{ \\
        const core_mode mode = {{rounding, CORE_BEFORE}}; \\
        const core_result_##BITS r = call; \\
        T z; \\
        (void)mode; \\
        {p}softfloat_exceptionFlags |= (uint_fast8_t)r.flags; \\
        CORE_STORE_##BITS(U); \\
        return z; \\
    }} while (0)
#define CORE_FUNCTION(BITS, T, U, name, parameters, arguments, call) \\
    static CORE_COLD T name##_in_other_modes parameters \\
    {{ \\
        CORE_RETURN(BITS, T, U, call, {p}softfloat_roundingMode); \\
    }} \\
    T name parameters \\
    {{ \\
        if (CORE_UNLIKELY({p}softfloat_roundingMode != CORE_RNE)) return name##_in_other_modes arguments; \\
        CORE_RETURN(BITS, T, U, call, CORE_RNE); \\
    }}
/* As CORE_FUNCTION; in the usual rounding by a table of the codes, of `width` bits, that has codes, and flags above. */
#define CORE_TABLE(table, width, BITS, T, U, name, parameters, arguments, call) \\
    static CORE_COLD T name##_in_other_modes parameters \\
    {{ \\
        CORE_RETURN(BITS, T, U, call, {p}softfloat_roundingMode); \\
    }} \\
    T name parameters \\
    {{ \\
        const unsigned mask = (1u << (width)) - 1; \\
        unsigned entry; \\
        T z; \\
        if (CORE_UNLIKELY({p}softfloat_roundingMode != CORE_RNE || CORE_BEFORE != table##_before)) \\
            return name##_in_other_modes arguments; \\
        entry = table[(a.v & mask) << (width) | (b.v & mask)]; \\
        {p}softfloat_exceptionFlags |= (uint_fast8_t)(entry >> 8); \\
        z.v = (U)entry; \\
        return z; \\
    }}
#define CORE_TRUTH(BITS, call) \\
    do {{ \\
        const core_result_##BITS r = call; \\
        {p}softfloat_exceptionFlags |= (uint_fast8_t)r.flags; \\
        return r.code != 0; \\
    }} while (0)
#define CORE_INTEGER(T, U, call) \\
    do {{ \\
        const core_result_64 r = call; \\
        {p}softfloat_exceptionFlags |= (uint_fast8_t)r.flags; \\
        return (T)(U)r.code; \\
    }} while (0)
/* Over arrays: each value by a function; or, in the usual rounding, by a loop without branches. */
#define CORE_EACH(value) \\
    do {{ \\
        uint_fast8_t all = {p}softfloat_exceptionFlags; \\
        for (size_t i = 0; i < n; i++) {{ \\
            {p}softfloat_exceptionFlags = 0; \\
            z[i] = value; \\
            if (flags) flags[i] = (uint8_t){p}softfloat_exceptionFlags; \\
            all |= {p}softfloat_exceptionFlags; \\
        }} \\
        {p}softfloat_exceptionFlags = all; \\
    }} while (0)
#define CORE_LOOP(BITS, U, value, call, moves) \\
    do {{ \\
        uint8_t own[256], raised = 0; \\
        if ({p}softfloat_roundingMode != CORE_RNE) {{ \\
            CORE_EACH(value); \\
            return; \\
        }} \\
        const core_mode mode = {{CORE_RNE, CORE_BEFORE}}; \\
        (void)mode; \\
        while (n > 0) {{ \\
            const size_t m = n < sizeof own ? n : sizeof own; \\
            for (size_t i = 0; i < m; i++) {{ \\
                const core_result_##BITS r = call; \\
                z[i].v = (U)r.code; \\
                own[i] = (uint8_t)r.flags; \\
            }} \\
            for (size_t i = 0; i < m; i++) raised |= own[i]; \\
            if (flags) {{ \\
                memcpy(flags, own, m); \\
                flags += m; \\
            }} \\
            moves z += m; \\
            n -= m; \\
        }} \\
        {p}softfloat_exceptionFlags |= raised; \\
    }} while (0)
#endif
"""


class LibrarySources:
    """The texts of a library. formats: in the order of the header. tables: of operations on two codes of 8 bits."""

    def __init__(
        self, formats: Sequence[LibraryFormat], policy: LibraryPolicy, prefix: str, tables: bool = False
    ) -> None:
        self.tables = tables
        self.formats, self.policy, self.prefix = formats, policy, prefix
        self.header_name = f"{prefix}softfloat.h"
        self.functions = {own.name: self._functions(own) for own in formats}
        self.arrays = {own.name: list(array_functions(own, self.functions[own.name], prefix)) for own in formats}
        self.reentrant = {own.name: list(reentrant_functions(self.functions[own.name], prefix)) for own in formats}

    def _functions(self, own: LibraryFormat) -> list[Function]:
        functions = list(FunctionWriter(own, self.formats, self.policy, self.prefix).functions())
        return [*functions, *pointer_functions(functions, self.formats, self.prefix)]

    @property
    def long(self) -> bool:
        """Whether a format needs the core's long words."""
        return self.policy.sr_bits > 0 or any(own.long for own in self.formats)

    @property
    def extended(self) -> bool:
        """Whether there is a format with SoftFloat's rounding precision."""
        return any(own.fmt.explicit_bit for own in self.formats)

    def types(self) -> str:
        types = "\n".join(self._typedef(f) for f in self.formats)
        return _TYPES.format(licence=LICENCE, p=self.prefix, types=types)

    def _typedef(self, own: LibraryFormat) -> str:
        if not own.in_struct:
            return f"typedef struct {{ uint{own.storage}_t v; }} {self.prefix}{own.type};"
        text = _STRUCT_TYPES["extf80" if own.fmt.explicit_bit else ""]
        return text.format(p=self.prefix, type=own.type)

    def header(self) -> str:
        extended = _PRECISION.format(p=self.prefix) if self.extended else ""
        start = _HEADER.format(licence=LICENCE, p=self.prefix, policy=self.policy.name, extended=extended)
        return start + "\n".join(self._declarations()) + _HEADER_END

    def _declarations(self) -> Iterable[str]:
        for own in self.formats:
            yield f"\n/* {own.fmt.name} */"
            for function in self.functions[own.name]:
                yield f"{function.signature};"
        yield f"\n{NOTE}"
        for own in self.formats:
            for function in self.arrays[own.name]:
                yield from wrap_line(f"{function.signature};", "")
        precision = PRECISION if self.extended else ""
        yield f"\n{REENTRANT_NOTE}{STATE_TYPE.format(p=self.prefix, precision=precision)}"
        for own in self.formats:
            for function in self.reentrant[own.name]:
                yield from wrap_line(f"{function.signature};", "")

    def state(self) -> str:
        policy = self.policy.policy
        tininess = "before" if policy.tininess == Tininess.BEFORE else "after"
        return _STATE_SOURCE.format(
            licence=LICENCE,
            p=self.prefix,
            header=self.header_name,
            mode=ROUNDING_MODES[policy.rounding],
            tininess=f"{self.prefix}softfloat_tininess_{tininess}Rounding",
            precision=f", {policy.rounding_precision}" if self.extended else "",
            extended=_PRECISION_STATE.format(p=self.prefix, bits=policy.rounding_precision) if self.extended else "",
        )

    def internals(self) -> str:
        constants = (
            f"static const core_format format_{f.name} = {format_constants(f.fmt, self.policy)};"
            for f in self.formats
            if not f.long
        )
        return _INTERNALS.format(
            licence=LICENCE,
            p=self.prefix,
            header=self.header_name,
            formats="\n".join(constants),
            long=self._long_internals() if self.long else "",
        )

    def _long_internals(self) -> str:
        constants = (
            f"static const core_format_128 long_{f.name} = {long_constants(f.fmt, self.policy)};" for f in self.formats
        )
        return _LONG_INTERNALS.format(p=self.prefix, formats="\n".join(constants))

    def source(self, own: LibraryFormat) -> str:
        if self.tables:
            return _text(table_functions(own, self.functions[own.name], self.policy, self.prefix))
        return _text(f.definition for f in self.functions[own.name])

    def array_source(self, own: LibraryFormat) -> str:
        return array_source(own, self.arrays[own.name], LICENCE)

    def reentrant_source(self, own: LibraryFormat) -> str:
        return reentrant_source(self.reentrant[own.name], LICENCE, self.prefix)


def _text(definitions: Iterable[str]) -> str:
    return "\n\n".join([f'{LICENCE}\n#include "core_library.h"', *definitions]) + "\n"
