"""Digests of the source text that a function of the library is made of, whatever else the core has.

A core file is a row of definitions. Those that a function reaches by the names in their texts count, with all of the
same name, for either size of words; of a file that has one of these, so do its conditions, and whatever has no name
that is understood. Types and numbers of the public header do not.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from softfloat_ref.export.library import LibraryPolicy
from softfloat_ref.units import OperationUnit

from .c_wrappers import definition, library_of

_COMMENT: Final = re.compile(r"/\*.*?\*/", re.S)
_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*")
_FILES: Final = ("core", "softfloat_state.c")
_SHOWN: Final = 16  # digits of a digest


class Definition(NamedTuple):
    """A part of a file. names: what it defines; none for what always counts."""

    file: str
    text: str
    names: frozenset[str]

    @property
    def used(self) -> set[str]:
        """The names in it."""
        return {_name(word) for word in _IDENTIFIER.findall(self.text)}


def core_digest(
    unit: OperationUnit, policy: LibraryPolicy, files: Mapping[str, str] | None = None, arrays: bool = False
) -> str:
    """Of a unit's function. files: of the library; arrays: the function is that of arrays."""
    files = files or library_of(unit, policy)
    core = [d for name in sorted(files) if name.startswith(_FILES) for d in definitions(name, files[name])]
    text = definition(unit, policy, arrays)
    texts = [text, *(d.text for d in reached(text, core))]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:_SHOWN]


def reached(root: str, core: list[Definition]) -> list[Definition]:
    """The definitions that a text reaches."""
    names = Definition("", root, frozenset()).used
    while True:
        chosen = [d for d in core if d.names & names]
        files = {d.file for d in chosen}
        chosen = [d for d in core if d.names & names or (not d.names and d.file in files)]
        more = names.union(*(_used(d) for d in chosen))
        if more == names:
            return chosen
        names = more


@lru_cache(maxsize=4096)
def _used(d: Definition) -> frozenset[str]:
    return frozenset(d.used)


def definitions(file: str, text: str) -> Iterator[Definition]:
    """Those of a file. Included files have their own."""
    lines = _COMMENT.sub("", text).replace("\\\n", " ").splitlines()
    part = ""
    for line in filter(None, (" ".join(line.split()) for line in lines)):
        if line.startswith("#"):
            if not line.startswith("#include"):
                name = re.match(r"#define (\w+)", line)
                yield Definition(file, line, frozenset([_name(name[1])] if name else []))
            continue
        part = f"{part} {line}".strip()
        if part.count("{") == part.count("}") and part[-1] in ";}":
            yield Definition(file, part, _defined(part))
            part = ""
    if part:
        yield Definition(file, part, frozenset())


def _defined(text: str) -> frozenset[str]:
    """The names that a definition defines."""
    head = re.sub(r"__attribute__\(\(.*?\)\)", "", text.split("{")[0])
    if text.startswith("enum {"):
        return frozenset(_name(word) for word in _IDENTIFIER.findall(text.removeprefix("enum")))
    if "typedef " in text:
        match = re.search(r"(?:N\((\w+)\)|(\w+));$", text)
    else:
        match = re.search(r"\bN\((\w+)\)\(", head) or re.search(r"(\w+)(?:\(|\[| =)", head)
    return frozenset([_name(next(filter(None, match.groups())))] if match else [])


def _name(word: str) -> str:
    """Without what the size of words adds."""
    return re.sub(r"_(32|64)?$", "", word.removeprefix("core_"))
