"""A draft: its lines, the ports that have no line yet, and its text, which says of each line what it was read from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from softfloat_ref.base.tables import toml_key, toml_string
from softfloat_ref.rtl.draft.design import Signal, SourceModule
from softfloat_ref.rtl.draft.names import core
from softfloat_ref.rtl.module_ports import Expression

_WIDTH: Final = 120
_ORDER: Final = ("", "parameters", "handshake", "tag", "inputs", "outputs")


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
        """Count these ports among those that have a line."""
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


def toml_table(**values: str) -> str:
    """An inline table."""
    return "{ " + ", ".join(f"{toml_key(name)} = {value}" for name, value in values.items()) + " }"


def toml_bits(lsb: int, width: int) -> str:
    """Bits of a port, as a string in TOML."""
    return toml_string(f"{lsb + width - 1}:{lsb}" if width > 1 else str(lsb))


# -- the text ----------------------------------------------------------------------------------------------------------


def draft_text(draft: Draft) -> str:
    """The port map."""
    first = f"# A draft, from {draft.design.source}. Check the lines marked `guess`."
    lines = ["# SPDX-License-Identifier: 0BSD", first]
    tables = {"parameters": list(_parameters(draft)), "inputs": [], **draft.tables}
    for name in sorted(tables, key=lambda name: (_ORDER.index(name.partition(".")[0]), name.count(".") > 0)):
        if tables[name] or name == "inputs":  # which a port map must have
            lines += ["", f"[{name}]"] if name else []
            lines += [text for line in tables[name] for text in _line(line)]
    return "\n".join(lines) + "\n"


def _line(line: Line) -> Iterator[str]:
    comment = f"# guess: {line.why}" if line.guess else f"# {line.why}" if line.why else ""
    whole = f"{line.text}  {comment}" if line.text and comment else line.text or comment
    if len(whole) <= _WIDTH or not line.text:
        yield whole
    else:
        yield from (comment, line.text)


def _parameters(draft: Draft) -> Iterator[Line]:
    """The parameters: those given, and the others with their defaults, as comments."""
    for name, value in draft.design.values.items():
        yield Line(f"{toml_key(name)} = {_value(value)}")
    for parameter in draft.design.parameters:
        if parameter.name not in draft.design.values and parameter.default is not None:
            yield Line(f"# {toml_key(parameter.name)} = {_value(parse_value(parameter.default))}", "the default")


def _value(value: int | str | Expression) -> str:
    if isinstance(value, Expression):
        return f"{{ expr = {toml_string(value.text)} }}"
    return toml_string(value) if isinstance(value, str) else str(value)


def parse_value(text: str) -> int | str | Expression:
    """The value of a parameter from its SystemVerilog text: an integer, a string in quotes, or an expression."""
    if text.removeprefix("-").isdecimal():
        return int(text)
    inner = text[1:-1]
    return inner if text == f'"{inner}"' and '"' not in inner else Expression(text)
