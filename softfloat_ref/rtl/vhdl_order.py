"""The order of VHDL files: each after those that declare the units of its library that it names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.files import read_text

_COMMENT: Final = re.compile(r'--[^\n]*|"(?:[^"\n]|"")*"')
_DECLARED: Final = re.compile(
    r"\b(?:entity|context|configuration|package(?!\s+body\b))\s+(\w+)\s+(?:is|of)\b", re.IGNORECASE
)
_OF: Final = re.compile(r"\b(?:architecture\s+\w+\s+of|package\s+body)\s+(\w+)\s+is\b", re.IGNORECASE)
_NAMED: Final = re.compile(r"\bwork\s*\.\s*(\w+)", re.IGNORECASE)


def vhdl_order(files: Iterable[Path]) -> list[Path]:
    """The files in an order in which they can be analysed; those in a circle stay as listed. Raises Error."""
    texts = {file: _COMMENT.sub(" ", read_text(file, limits.SOURCE, errors="replace")) for file in files}
    home = {name.lower(): file for file, text in reversed(texts.items()) for name in _DECLARED.findall(text)}
    done: dict[Path, None] = {}

    def visit(file: Path) -> Iterator[Path]:
        done[file] = None
        for pattern in (_OF, _NAMED):
            for name in pattern.findall(texts[file]):
                other = home.get(name.lower(), file)
                if other not in done:
                    yield from visit(other)
        yield file

    return [path for file in texts if file not in done for path in visit(file)]


def entities(file: Path) -> list[str]:
    """The names of the entities that a file declares. Raises Error."""
    text = _COMMENT.sub(" ", read_text(file, limits.SOURCE, errors="replace"))
    return re.findall(r"\bentity\s+(\w+)\s+is\b", text, re.IGNORECASE)
