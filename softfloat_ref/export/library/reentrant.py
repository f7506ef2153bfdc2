"""The functions of a library with the state as their last argument: f32_add_r(a, b, &state)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Final

from softfloat_ref.export.library.functions import Function

NOTE: Final = """\
/* With a state of their own, so that threads and interrupts share none: the functions whose names end in _r. */"""
STATE_TYPE: Final = """
typedef struct {{
    uint_fast8_t roundingMode, detectTininess, exceptionFlags;{precision}
}} {p}softfloat_state;
/* The state that a program starts with. */
extern const {p}softfloat_state {p}softfloat_initialState;
"""
PRECISION: Final = "\n    uint_fast8_t roundingPrecision; /* of extFloat80_t */"
_STATE_SOURCE: Final = """\
{licence}
#include "core_library.h"

/* What the functions read and write. */
#define {p}softfloat_roundingMode (state->roundingMode)
#define {p}softfloat_detectTininess (state->detectTininess)
#define {p}softfloat_exceptionFlags (state->exceptionFlags)
#define {p}extF80_roundingPrecision (state->roundingPrecision)
"""


def reentrant_functions(functions: Iterable[Function], prefix: str) -> Iterator[Function]:
    """Those of functions that read or write the state; functions through pointers have none."""
    for function in functions:
        if not function.name.endswith("_isSignalingNaN") and "*" not in function.arguments:
            arguments = f"{function.arguments}, {prefix}softfloat_state *state"
            yield dataclasses.replace(function, name=f"{function.name}_r", arguments=arguments)


def reentrant_source(functions: Iterable[Function], licence: str, prefix: str) -> str:
    """The source file."""
    start = _STATE_SOURCE.format(licence=licence, p=prefix)
    return "\n\n".join([start.rstrip(), *(f.definition for f in functions)]) + "\n"
