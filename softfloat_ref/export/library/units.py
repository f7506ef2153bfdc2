"""Units of a library besides its functions of values: their header, and their sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_text
from softfloat_ref.export.library.blocks import IEEE, LibraryBlock
from softfloat_ref.export.library.constants import CORE, LibraryFormat, format_constants
from softfloat_ref.export.library.dots import DotUnit, c_name
from softfloat_ref.export.library.functions import Function
from softfloat_ref.export.library.sources import LICENCE
from softfloat_ref.export.plan import wrap_line
from softfloat_ref.oracle.accumulate.model import Accumulator
from softfloat_ref.oracle.blocks.formats import FP32

_BLOCK_FILES: Final = ("core_block.h", "core_block_fast.h", "core_block_random.h", "core_block_loops.h")
_DOT_FILES: Final = ("core_dot.h",)
_MIXED_FILES: Final = ("core_mixed.h",)
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
 * each rounding, which are raised, too; or NULL, which is faster, and none are. A function with a tensor's scale
 * returns whether that is positive and finite; if not, it does nothing. Arrays may not overlap. */
"""
_DOTS: Final = """\
/* Dot products: the products of n codes of a and b, and c, in the order and with the roundings of a unit of hardware or
 * of a definition; the products that the last step lacks are +0. Scales: one for each block of a, and of b. */
"""
_MIXED: Final = """\
/* Mixed formats: a and b of the first, c and the result, rounded once, of the second. */
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
    dots: Sequence[DotUnit]
    mixed: Sequence[Function]
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
        lines = [_HEADER.format(licence=LICENCE, p=self.prefix), self._types(), "\n"]
        lines += [_BLOCKS] if self.blocks else []
        for block in self.blocks:
            lines += [f"\n/* {block.block.name}, profile {block.profile.name} */\n"]
            lines += [_declarations(self._functions(block))]
        lines += ["\n" + _DOTS] if self.dots else []
        for accumulator, units in self._dots_by_accumulator():
            lines += [f"\n/* {accumulator.name}: {accumulator.source} */\n"]
            lines += [_declarations([x.function() for x in units])]
        lines += ["\n" + _MIXED + _declarations(self.mixed)] if self.mixed else []
        return {self.header_name: "".join([*lines, _HEADER_END])}

    def inside(self) -> dict[str, str]:
        """The headers of the sources."""
        f32 = format_constants(FP32, IEEE)
        kinds = ((self.blocks, _BLOCK_FILES), (self.dots, _DOT_FILES), (self.mixed, _MIXED_FILES))
        files = [file for some, names in kinds if some for file in names]
        own = {"core_units.h": _INTERNALS.format(licence=LICENCE, p=self.prefix, f32=f32)}
        return {file: read_text(CORE / file, limits.SOURCE) for file in files} | own

    def sources(self) -> dict[str, str]:
        texts = {f"{x.name}.c": x.source(self._functions(x), LICENCE) for x in self.blocks}
        for accumulator, units in self._dots_by_accumulator():
            start = f'{LICENCE}\n#include "core_units.h"\n#include "core_dot.h"'
            parts = [text for x in units for text in (x.source(), x.function().definition)]
            texts[f"dot_{c_name(accumulator)}.c"] = "\n\n".join([start, *parts]) + "\n"
        if self.mixed:
            start = f'{LICENCE}\n#include "core_units.h"\n#include "core_mixed.h"'
            texts["softfloat_mixed.c"] = "\n\n".join([start, *(f.definition for f in self.mixed)]) + "\n"
        return texts

    def __bool__(self) -> bool:
        return bool(self.blocks or self.dots or self.mixed)

    def _dots_by_accumulator(self) -> list[tuple[Accumulator, list[DotUnit]]]:
        units: dict[str, list[DotUnit]] = {}
        for x in self.dots:
            units.setdefault(c_name(x.accumulator), []).append(x)
        return [(group[0].accumulator, group) for group in units.values()]

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
