"""The order of source files: those that declare packages before those that use them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.files import read_text
from softfloat_ref.base.systemverilog import COMMENT

_PACKAGE: Final = re.compile(r"\bpackage\s+(?:automatic\s+|static\s+)?(\w+)\s*;")
_SCOPE: Final = re.compile(r"\b(\w+)\s*::")


def packages_first(files: Iterable[Path]) -> Iterator[Path]:
    """Each file after those that declare the packages it names; cycles, and what is not text, stay as listed."""
    texts = {file: _code(file) for file in files}
    home = {name: file for file, text in reversed(texts.items()) for name in _PACKAGE.findall(text)}
    done: set[Path] = set()

    def visit(file: Path) -> Iterator[Path]:
        done.add(file)
        for name in dict.fromkeys(_SCOPE.findall(texts[file])):
            if name in home and home[name] not in done:
                yield from visit(home[name])
        yield file

    for file in texts:
        if file not in done:
            yield from visit(file)


def _code(file: Path) -> str:
    """The text of a source without comments and strings."""
    return COMMENT.sub(" ", read_text(file, limits.SOURCE, errors="replace"))
