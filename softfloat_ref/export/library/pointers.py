"""SoftFloat's functions on formats of more than 64 bits through pointers: extF80M_add, f16_to_f128M."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from softfloat_ref.export.library.constants import LibraryFormat
from softfloat_ref.export.library.functions import Function


def pointer_functions(
    functions: Iterable[Function], formats: Sequence[LibraryFormat], prefix: str
) -> Iterator[Function]:
    """One for each function that takes or gives such a format."""
    names = {f"{prefix}{own.type}": own.name for own in formats if own.in_struct}
    for function in functions:
        operands = [x.rpartition(" ")[::2] for x in function.arguments.split(", ")]
        if names.keys() & {function.result, *(kind for kind, _ in operands)}:
            yield _with_pointers(function, operands, names)


def _with_pointers(function: Function, operands: Sequence[tuple[str, str]], names: dict[str, str]) -> Function:
    arguments = [f"const {kind} *{name}" if kind in names else f"{kind} {name}" for kind, name in operands]
    values = ", ".join(f"*{name}" if kind in names else name for kind, name in operands)
    call = f"{function.name}({values});"
    kinds = {function.result, *(kind for kind, _ in operands)}
    name = function.name
    for own in (names[kind] for kind in kinds if kind in names):
        name = re.sub(rf"(?<![A-Za-z0-9]){own}(?![A-Za-z0-9])", f"{own}M", name)
    if function.result not in names:
        return Function(function.result, name, ", ".join(arguments), [f"return {call}"])
    return Function("void", name, ", ".join([*arguments, f"{function.result} *z"]), [f"*z = {call}"])
