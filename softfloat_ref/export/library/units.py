"""Units of a library besides its functions of values: their header, and their sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.export.library.blocks import IEEE, LibraryBlock
from softfloat_ref.export.library.constants import LibraryFormat, format_constants
from softfloat_ref.export.library.functions import Function
from softfloat_ref.export.library.sources import LICENCE
from softfloat_ref.export.plan import wrap_line
from softfloat_ref.oracle.blocks.formats import FP32

CORE_FILES: Final = ("core_block.h", "core_block_loops.h")
_HEADER: Final = """\
{licence}
#ifndef {p}softfloat_units_h
#define {p}softfloat_units_h 1

#include "{p}softfloat.h"

#ifdef __cplusplus
extern "C" {{
#endif

"""
_BLOCKS: Final = """\
/* Blocks: of n values, the last block may be short. One scale for each block, one code for each value; flags: those of
 * each element's rounding, or NULL; they are raised, too. A function with a tensor's scale returns whether that is
 * positive and finite; if not, it does nothing. Arrays may not overlap. */
"""
_HEADER_END: Final = """\

#ifdef __cplusplus
}
#endif
#endif
"""
_INTERNALS: Final = """\
{licence}
#ifndef CORE_UNITS_H
#define CORE_UNITS_H
#include "core_library.h"
#include "{p}softfloat_units.h"

static const core_format core_f32 = {f32};

#define CORE_RAISE(flags) ({p}softfloat_exceptionFlags |= (uint_fast8_t)(flags))
#endif
"""


@dataclass(frozen=True)
class LibraryUnits:
    """The units of a library. formats: those of its functions."""

    formats: Sequence[LibraryFormat]
    blocks: Sequence[LibraryBlock]
    prefix: str

    def __post_init__(self) -> None:
        names = [*(x.name for x in self.formats), *(x.name for x in self.blocks)]
        if twice := [name for name in names if names.count(name) > 1]:
            raise Error(f"--fmt: {twice[0]} is given twice")

    @property
    def header_name(self) -> str:
        return f"{self.prefix}softfloat_units.h"

    def headers(self) -> dict[str, str]:
        """The public header."""
        lines = [_HEADER.format(licence=LICENCE, p=self.prefix) + self._types()]
        for block in self.blocks:
            lines += [
                f"\n/* {block.block.name}, profile {block.profile.name} */\n" + _declarations(self._functions(block))
            ]
        return {self.header_name: "".join([*lines[:1], "\n", _BLOCKS, *lines[1:], _HEADER_END])}

    def internals(self) -> dict[str, str]:
        """The header of the sources."""
        f32 = format_constants(FP32, IEEE)
        return {"core_units.h": _INTERNALS.format(licence=LICENCE, p=self.prefix, f32=f32)}

    def sources(self) -> dict[str, str]:
        return {f"{x.name}.c": x.source(self._functions(x), LICENCE) for x in self.blocks}

    def _functions(self, block: LibraryBlock) -> list[Function]:
        return list(block.functions(self.formats, self.prefix))

    def _types(self) -> str:
        """Of scales and elements that are not formats of the library."""
        known = {x.type for x in self.formats}
        parts = [x for b in self.blocks for x in ([b.scale] if b.is_integer else [b.scale, b.element])]
        own = dict.fromkeys(x for x in parts if x.type not in known)
        return "".join(f"typedef struct {{ uint{x.storage}_t v; }} {self.prefix}{x.type};\n" for x in own)


def _declarations(functions: Sequence[Function]) -> str:
    return "".join("\n".join(wrap_line(f"{f.signature};", "")) + "\n" for f in functions)
