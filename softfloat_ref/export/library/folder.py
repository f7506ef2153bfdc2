"""The folder of a library: its files, written all or none."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_text, write_data
from softfloat_ref.export.library.blocks import library_block
from softfloat_ref.export.library.build_files import build_files
from softfloat_ref.export.library.constants import CORE, library_format
from softfloat_ref.export.library.cpp import cpp_header
from softfloat_ref.export.library.dots import dot_units
from softfloat_ref.export.library.mixed import mixed_functions
from softfloat_ref.export.library.policies import LibraryPolicy
from softfloat_ref.export.library.self_test import SelfTest
from softfloat_ref.export.library.sources import LibrarySources
from softfloat_ref.export.library.systemc import systemc_header
from softfloat_ref.export.library.unit_tests import unit_tests
from softfloat_ref.export.library.units import LibraryUnits
from softfloat_ref.oracle.accumulate.model import Accumulator
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.formats import Format

CORE_FILES: Final = (
    "core.h",
    "core_wide.h",
    "core_round.h",
    "core_arithmetic.h",
    "core_divide.h",
    "core_convert.h",
    "core_integers.h",
)
LONG_FILES: Final = ("core_long.h", "core_value.h", "core_values.h")  # where a format needs them


_LICENCE: Final = "/* SPDX-License-Identifier: 0BSD\n"
_PROVED: Final = " * Core {} of softfloat-ref; what is proved of it: python -m tests.formal.c_library --table\n *\n"


def core_hash() -> str:
    """The beginning of SHA-256 of the core's sources, in the order of their names."""
    texts = [read_text(CORE / file, limits.SOURCE) for file in sorted(CORE_FILES)]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


def _core_text(file: str) -> str:
    """A file of the core, with the name of the proof that it stands on."""
    return read_text(CORE / file, limits.SOURCE).replace(_LICENCE, _LICENCE + _PROVED.format(core_hash()), 1)


def library_files(
    formats: Sequence[Format | BlockFormat],
    policy: LibraryPolicy,
    prefix: str = "",
    profile: str | None = None,
    accumulators: Sequence[Accumulator] = (),
    mixed: bool = False,
    tables: bool = False,
) -> dict[str, str]:
    """The texts of a library's files, by name. profile: of block formats (default: each one's own). accumulators: of
    dot products. mixed: whether there are operations whose result has a wider format. tables: for operations on two
    codes of up to 8 bits. Raises Error."""
    if not re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]{0,30})?", prefix):
        raise Error(f"--prefix {prefix}: not the beginning of an identifier; use letters, digits and underscores")
    own = [library_format(fmt, policy) for fmt in formats if not isinstance(fmt, BlockFormat)]
    blocks = [library_block(fmt, profile, policy) for fmt in formats if isinstance(fmt, BlockFormat)]
    dots = list(dot_units(accumulators, own, blocks, prefix))
    units = LibraryUnits(own, blocks, dots, list(mixed_functions(own, policy, prefix)) if mixed else [], prefix)
    if mixed and not units.mixed:
        raise Error("--mixed: no format of the library has all numbers of another one; give more formats in --fmt")
    texts = LibrarySources(own, policy, prefix, tables)
    name = f"{prefix}softfloat"
    headers = {
        f"{name}_types.h": texts.types(),
        texts.header_name: texts.header(),
        f"{name}.hpp": cpp_header(own, prefix, texts.header_name),
        f"{name}_systemc.h": systemc_header(own, prefix, texts.header_name),
    }
    inside = {file: _core_text(file) for file in CORE_FILES} | {"core_library.h": texts.internals()}
    inside |= {file: read_text(CORE / file, limits.SOURCE) for file in LONG_FILES if texts.long}
    sources = {"softfloat_state.c": texts.state()} | {f"{x.name}.c": texts.source(x) for x in own}
    sources |= {f"{x.name}_n.c": texts.array_source(x) for x in own}
    sources |= {f"{x.name}_r.c": texts.reentrant_source(x) for x in own}
    arrays = [x.name.removeprefix(prefix).removesuffix("_n") for of in texts.arrays.values() for x in of]
    included, cases = texts.header_name, {}
    if units:
        headers |= units.headers()
        inside |= units.inside()
        sources |= units.sources()
        included, cases = units.header_name, unit_tests(blocks, dots, own, prefix)
    test = {f"test_{name}.c": SelfTest(own, policy, prefix, included, arrays).text(cases)}
    build = build_files(name, list(sources), [*headers, *inside], list(headers))
    return headers | inside | sources | test | build


def write_library(folder: str | Path, files: dict[str, str]) -> None:
    """Write the files into a new or empty folder: all of them, or none. Raises Error."""
    place = Path(folder)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise Error(f"{place}: exists already; give a new or an empty folder")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}.", ignore_cleanup_errors=True) as new:
            library = Path(new) / "library"
            library.mkdir()
            for name, text in files.items():
                write_data(library / name, text)
            library.rename(place)
    except OSError as e:
        raise Error(f"{place}: cannot be written: {e.strerror or e}") from None
