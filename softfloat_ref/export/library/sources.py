"""The texts of a library's header and sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from softfloat_ref.export.library.arrays import NOTE, array_functions, array_source
from softfloat_ref.export.library.constants import LibraryFormat, format_constants
from softfloat_ref.export.library.functions import Function, FunctionWriter
from softfloat_ref.export.library.policies import ROUNDING_MODES, LibraryPolicy
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

extern {p}THREAD_LOCAL uint_fast8_t {p}softfloat_exceptionFlags;
typedef enum {{
    {p}softfloat_flag_inexact = 1,
    {p}softfloat_flag_underflow = 2,
    {p}softfloat_flag_overflow = 4,
    {p}softfloat_flag_infinite = 8,
    {p}softfloat_flag_invalid = 16
}} {p}exceptionFlag_t;

void {p}softfloat_raiseFlags(uint_fast8_t flags);

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

void {p}softfloat_raiseFlags(uint_fast8_t flags)
{{
    {p}softfloat_exceptionFlags |= flags;
}}
"""
_INTERNALS: Final = """\
{licence}
/* The formats of this library under its policy, and how functions read and write its state. */
#ifndef CORE_LIBRARY_H
#define CORE_LIBRARY_H
#include "core.h"
#include "{header}"

{formats}

/* A result of the core, of words of BITS bits, as the function's: T has codes of type U. call: an expression in which
 * `mode` is a core_mode. The usual rounding is a constant, so that nothing is left of the others; these are a function
 * of their own. */
#define CORE_BEFORE ({p}softfloat_detectTininess == {p}softfloat_tininess_beforeRounding)
#define CORE_RETURN(BITS, T, U, call, rounding) \\
    do {{ \\
        const core_mode mode = {{rounding, CORE_BEFORE}}; \\
        const core_result_##BITS r = call; \\
        T z; \\
        (void)mode; \\
        {p}softfloat_exceptionFlags |= (uint_fast8_t)r.flags; \\
        z.v = (U)r.code; \\
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
    """The texts of a library. formats: in the order of the header."""

    def __init__(self, formats: Sequence[LibraryFormat], policy: LibraryPolicy, prefix: str) -> None:
        self.formats, self.policy, self.prefix = formats, policy, prefix
        self.header_name = f"{prefix}softfloat.h"
        self.functions = {own.name: list(FunctionWriter(own, formats, policy, prefix).functions()) for own in formats}
        self.arrays = {own.name: list(array_functions(own, self.functions[own.name], prefix)) for own in formats}

    def types(self) -> str:
        types = "\n".join(f"typedef struct {{ uint{f.storage}_t v; }} {self.prefix}{f.type};" for f in self.formats)
        return _TYPES.format(licence=LICENCE, p=self.prefix, types=types)

    def header(self) -> str:
        start = _HEADER.format(licence=LICENCE, p=self.prefix, policy=self.policy.name)
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

    def state(self) -> str:
        policy = self.policy.policy
        tininess = "before" if policy.tininess == Tininess.BEFORE else "after"
        return _STATE_SOURCE.format(
            licence=LICENCE,
            p=self.prefix,
            header=self.header_name,
            mode=ROUNDING_MODES[policy.rounding],
            tininess=f"{self.prefix}softfloat_tininess_{tininess}Rounding",
        )

    def internals(self) -> str:
        constants = (
            f"static const core_format format_{f.name} = {format_constants(f.fmt, self.policy)};" for f in self.formats
        )
        return _INTERNALS.format(licence=LICENCE, p=self.prefix, header=self.header_name, formats="\n".join(constants))

    def source(self, own: LibraryFormat) -> str:
        return self._text(self.functions[own.name])

    def array_source(self, own: LibraryFormat) -> str:
        return array_source(own, self.arrays[own.name], LICENCE)

    def _text(self, functions: Iterable[Function]) -> str:
        return "\n\n".join([f'{LICENCE}\n#include "core_library.h"', *(f.definition for f in functions)]) + "\n"
