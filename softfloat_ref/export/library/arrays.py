"""The functions of a library over arrays: loops that a compiler vectorizes for the usual rounding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from softfloat_ref.export.library.constants import LibraryFormat
from softfloat_ref.export.library.functions import Function

NOTE: Final = """\
/* Arrays: z[i] = f(a[i], ...) for i < n. flags: those of each result, or NULL; they are raised, too. Arrays may not
 * overlap, but z may be one of the operands. */"""


def array_functions(own: LibraryFormat, functions: Iterable[Function], prefix: str) -> Iterator[Function]:
    """The forms for arrays of rounded functions of values."""
    for function in functions:
        name = function.name.removeprefix(f"{prefix}{own.name}_")
        rounded = function.rounded or (name.endswith("_sr") and "*" not in function.arguments)
        if rounded and function.name != name and name != "rem":
            yield _array(function)


def _array(function: Function) -> Function:
    operands = [x.rpartition(" ") for x in function.arguments.split(", ")]
    pointers = [f"const {kind} *{name}" for kind, _, name in operands]
    arguments = ", ".join(["size_t n", *pointers, f"{function.result} *z", "uint8_t *flags"])
    values = [name for *_, name in operands]
    scalar = f"{function.name}({', '.join(f'{x}[i]' for x in values)})"
    if function.name.endswith(("_sqrt", "_sr")) or not function.rounded.startswith(("32,", "64,")):
        return Function("void", f"{function.name}_n", arguments, [f"CORE_EACH({scalar});"])
    word, code, call = function.rounded.split(", ", 2)
    for x in values:
        call = call.replace(f"{x}.v", f"{x}[i].v")
    moves = " ".join(f"{x} += m;" for x in values)
    return Function(
        "void",
        f"{function.name}_n",
        arguments,
        [f"CORE_LOOP({word}, {code}, {scalar},", f"          {call},", f"          {moves});"],
    )


def array_source(own: LibraryFormat, functions: Iterable[Function], licence: str) -> str:
    """The source file."""
    start = f'{licence}\n#define CORE_VECTOR 1\n#include "core_library.h"'
    return "\n\n".join([start, *(f.definition for f in functions)]) + "\n"
