"""The lines of a draft, and the ports that have no line yet."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from softfloat_ref.rtl.draft.design import Signal, SourceModule
from softfloat_ref.rtl.draft.names import core

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Line:
    """A line of a port map, or without `text` a comment of its own. why: what it was read from; for a guess, why it was
    guessed."""

    text: str
    why: str = ""
    guess: bool = False


@dataclass
class Draft:
    """A port map in the making. tables: its lines by table, of which the first has no name; left: the ports without a
    line, by name; fields: those of the vectors, if they are known."""

    design: SourceModule
    fields: Collection[str] | None = None
    tables: dict[str, list[Line]] = field(default_factory=dict)
    left: dict[str, Signal] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.left = {signal.name: signal for signal in self.design.signals}

    def add(self, table: str, text: str, why: str = "", guess: bool = False) -> None:
        """Add a line to a table."""
        self.tables.setdefault(table, []).append(Line(text, why, guess))

    def take(self, *signals: Signal) -> None:
        """These have a line."""
        for signal in signals:
            del self.left[signal.name]

    def use(self, table: str, signal: Signal, value: str, why: str = "", guess: bool = False) -> None:
        """Add the line of a port, which is then no longer left."""
        self.take(signal)
        self.add(table, f"{toml_key(signal.name)} = {value}", why, guess)

    def ports(self, direction: str, fits: Callable[[Signal], bool] = lambda _: True) -> list[Signal]:
        """The ports left of a direction that fit."""
        return [s for s in self.left.values() if s.direction == direction and fits(s)]

    def bits(self, direction: str, words: Collection[str]) -> list[Signal]:
        """The ports left of one bit that have one of these words in their names."""
        return self.ports(direction, lambda s: s.width == 1 and bool(set(core(s.name)) & set(words)))

    def has(self, name: str) -> bool:
        """Whether the vectors have a field, as far as that is known."""
        return self.fields is None or name in self.fields

    @property
    def guesses(self) -> int:
        """Number of lines that were guessed."""
        return sum(line.guess for lines in self.tables.values() for line in lines)


def toml_key(name: str) -> str:
    """A name as a key in TOML."""
    return name if _BARE.fullmatch(name) else toml_string(name)


def toml_string(text: str) -> str:
    """A text as a string in TOML."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def toml_table(**values: str) -> str:
    """An inline table."""
    return "{ " + ", ".join(f"{toml_key(name)} = {value}" for name, value in values.items()) + " }"


def toml_bits(lsb: int, width: int) -> str:
    """Bits of a port, as a string in TOML."""
    return toml_string(f"{lsb + width - 1}:{lsb}" if width > 1 else str(lsb))
