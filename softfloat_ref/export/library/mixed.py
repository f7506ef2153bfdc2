"""Operations of a library whose result has a wider format: exactly widened operands, one rounding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from softfloat_ref.export.library.constants import LibraryFormat
from softfloat_ref.export.library.functions import Function, FunctionWriter
from softfloat_ref.export.library.policies import LibraryPolicy
from softfloat_ref.oracle.accumulate.terms import holds

OPERATIONS: Final = ("add", "sub", "mul", "mulAdd", "div", "sqrt")


def mixed_functions(formats: Sequence[LibraryFormat], policy: LibraryPolicy, prefix: str) -> Iterator[Function]:
    """f16_mulAdd_f32(a, b, c) and so on: c and the result are of the wider format."""
    short = [x for x in formats if not x.long]
    for own in short:
        for wide in short:
            if wide != own and wide.fmt.nan == "ieee" and wide.fmt.infinity and holds(wide.fmt, own.fmt):
                for function in FunctionWriter(wide, formats, policy, prefix).arithmetic():
                    name = function.name.removeprefix(f"{prefix}{wide.name}_")
                    if name in OPERATIONS:
                        yield _mixed(function, f"{prefix}{own.name}_{name}_{wide.name}", own, wide, prefix)


def _mixed(function: Function, name: str, own: LibraryFormat, wide: LibraryFormat, prefix: str) -> Function:
    """A function of the wider format, with a and b of the other one."""
    word, code, call = function.rounded.split(", ", 2)
    mask = f" & {(1 << own.fmt.width) - 1:#x}" if own.fmt.width != own.storage else ""
    for x in "ab":
        widened = f"(uint{word}_t)core_widened_64({x}.v{mask}, format_{own.name}, format_{wide.name})"
        call = re.sub(rf"\({x}\.v & 0x[0-9a-f]+\)|\b{x}\.v\b", widened, call, count=1)
    arguments = [x.rpartition(" ") for x in function.arguments.split(", ")]
    kinds = [kind if x == "c" else f"{prefix}{own.type}" for kind, _, x in arguments]
    joined = ", ".join(f"{kind} {x}" for kind, (*_, x) in zip(kinds, arguments, strict=True))
    return Function(function.result, name, joined, (), f"{word}, {code}, {call}")
