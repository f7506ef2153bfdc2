"""What a project file (Bender.yml, .core) says of sources: entries in the order of a file list, each with its place."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.base.yaml_text import Table, Text

Kind = Literal["read", "file", "folder", "define", "list", "skipped"]
_VARIABLE: Final = re.compile(r"\$(?:(\w+)|\{(\w+)\}|\((\w+)\))")


class Entry(NamedTuple):
    """A source file, a folder of included files, a macro NAME=VALUE, a file list, what is skipped, or a project file
    that was read; paths are absolute. place: ends with a colon and a space."""

    kind: Kind
    value: str
    place: str


class At(NamedTuple):
    """A part of a project file: where it is, and the folder of its paths."""

    file: Path
    line: int = 0

    @property
    def place(self) -> str:
        """The file and the line, for the start of a message."""
        return f"{self.file}:{self.line}: " if self.line else f"{self.file}: "

    def of(self, value: object) -> At:
        """The place of a text or table."""
        return At(self.file, value.line) if isinstance(value, Text | Table) else self

    def error(self, message: str) -> Error:
        """An error there."""
        return Error(f"{self.place}{message}")

    def path(self, text: str) -> str:
        """A path of the file, absolute, with variables of the environment replaced. Raises Error."""
        return os.path.abspath(self.file.parent / expand_variables(text, self.error))

    def table(self, value: object, what: str) -> Table:
        """The value as a table; an empty one for none. Raises Error."""
        if value is None:
            return Table()
        if not isinstance(value, Table):
            raise self.of(value).error(f"{what} is not a table")
        return value

    def listed(self, value: object, what: str) -> list[Any]:
        """The value as a list; an empty one for none. Raises Error."""
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.of(value).error(f"{what} is not a list")
        return value

    def text(self, value: object, what: str) -> Text:
        """The value as a text. Raises Error."""
        if not isinstance(value, Text):
            raise self.of(value).error(f"{what} is not a text")
        return value


def expand_variables(word: str, error: Callable[[str], Error]) -> str:
    """A word with $NAME, ${NAME} and $(NAME) replaced by variables of the environment. Raises error(message)."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2] or match[3]
        if name not in os.environ:
            raise error(f"the environment variable {name} is not set")
        return os.environ[name]

    return _VARIABLE.sub(value, word)
