"""The order of VHDL files: each after those that declare the units of its library that it names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_text

_COMMENT: Final = re.compile(r'--[^\n]*|"(?:[^"\n]|"")*"')
_DECLARED: Final = re.compile(
    r"\b(?:entity|context|configuration|package(?!\s+body\b))\s+(\w+)\s+(?:is|of)\b", re.IGNORECASE
)
_OF: Final = re.compile(r"\b(?:architecture\s+\w+\s+of|package\s+body)\s+(\w+)\s+is\b", re.IGNORECASE)
_NAMED: Final = re.compile(  # the second way, after `use work.all`
    r"\bwork\s*\.\s*(\w+)|\buse\s+(?!work\b)(\w+)\s*\.|:\s*entity\s+(\w+)\b(?!\s*\.)", re.IGNORECASE
)


def without_comments(text: str) -> str:
    """A text without comments and strings."""
    return _COMMENT.sub(" ", text)


def vhdl_order(files: Iterable[Path]) -> list[Path]:
    """The files in an order in which they can be analysed; those in a circle stay as listed. Raises Error."""
    texts = {file: without_comments(read_text(file, limits.SOURCE, errors="replace")) for file in files}
    home = {name.lower(): file for file, text in reversed(texts.items()) for name in _DECLARED.findall(text)}
    done: dict[Path, None] = {}

    def visit(file: Path) -> Iterator[Path]:
        done[file] = None
        for pattern in (_OF, _NAMED):
            for match in pattern.finditer(texts[file]):
                other = home.get((match[match.lastindex or 1]).lower(), file)
                if other not in done:
                    yield from visit(other)
        yield file

    return [path for file in texts if file not in done for path in visit(file)]


def entities(files: Iterable[Path]) -> list[str]:
    """The names of the entities that files declare. Raises Error for two of one name, or with two architectures, of
    which tools would take the last one that they read."""
    names: dict[str, tuple[str, Path]] = {}
    architectures: dict[str, tuple[str, Path]] = {}
    for file in files:
        text = without_comments(read_text(file, limits.SOURCE, errors="replace"))
        for name in re.findall(r"\bentity\s+(\w+)\s+is\b", text, re.IGNORECASE):
            _add(names, name, name, file, "entity")
        for architecture, name in re.findall(r"\barchitecture\s+(\w+)\s+of\s+(\w+)\s+is\b", text, re.IGNORECASE):
            _add(architectures, name, architecture, file, "architecture of")
    return [name for name, _ in names.values()]


def _add(known: dict[str, tuple[str, Path]], key: str, name: str, file: Path, what: str) -> None:
    other = known.setdefault(key.lower(), (name, file))
    if other != (name, file):
        raise Error(f"{file}: another {what} {key}, {name}, than {other[0]} in {other[1]}; give one of them")
