"""A draft: its lines, the ports that have no line yet, and its text, which says of each line what it was read from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.tables import toml_key, toml_string, toml_value
from softfloat_ref.rtl.draft.design import Signal, SourceModule
from softfloat_ref.rtl.draft.names import core
from softfloat_ref.rtl.draft.protocols import PROTOCOLS, Protocol
from softfloat_ref.rtl.draft.target import Target
from softfloat_ref.rtl.module_ports import Expression

_WIDTH: Final = 120
_ORDER: Final = ("", "parameters", "handshake", "tag", "inputs", "outputs")


@dataclass(frozen=True)
class Line:
    """A line of a port map, or without `text` a comment of its own. why: what it was read from; for a guess, why it was
    guessed. port: the port that it is about, if it is about one; held: whether this is an input of unknown meaning;
    shown: what a list of guesses has instead of the text; enable: the setting by which it is a clock enable instead."""

    text: str
    why: str = ""
    guess: bool = False
    port: str = ""
    held: bool = False
    shown: str = ""
    enable: str = ""


@dataclass(frozen=True)
class Guess:
    """A line of a draft that the source does not say. table: of the port map, "" for its head; text: the line, as in
    TOML, or in words; why: what it was guessed from; port: its port, if it is about one; held: whether this is an input
    of which nothing is known, held at a constant; enable: the setting by which it is a clock enable instead."""

    table: str
    text: str
    why: str
    port: str = ""
    held: bool = False
    enable: str = ""

    def __str__(self) -> str:
        of_port = "" if self.text.startswith(f"{self.port}: ") else self.table.partition(".")[2]
        return f"{of_port}{'.' * bool(of_port)}{self.text}: {self.why}"


@dataclass
class Draft:
    """A port map in the making. target: the vectors that it is for, if they are known; protocols: conventions of names
    for the handshake; settings: what the user says of the port map; sums: which of three operands a sum takes, such
    as "bc", if it is known. tables: its lines by table, of which the first has
    no name; left: the ports without a line, by name; carried: the fields that have a port;
    ignored: those that the module does not have, and why; not_compared: the outputs of which nothing is known."""

    design: SourceModule
    target: Target | None = None
    protocols: Sequence[Protocol] = PROTOCOLS
    settings: Mapping[str, Any] = field(default_factory=dict)
    sums: str = ""
    tables: dict[str, list[Line]] = field(default_factory=dict)
    left: dict[str, Signal] = field(default_factory=dict)
    carried: set[str] = field(default_factory=set)
    ignored: dict[str, str] = field(default_factory=dict)
    not_compared: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = {signal.name: signal for signal in self.design.signals}
        if isinstance(ignored := self.settings.get("ignore"), list):
            self.ignored = {str(name): "as given" for name in ignored}
        for key, value in self.settings.items():
            if key == "ignore":
                continue
            table, entries = (key, value) if key in _ORDER and isinstance(value, Mapping) else ("", {key: value})
            self.tables.setdefault(table, []).extend(
                Line(f"{toml_key(name)} = {toml_value(entry)}", "as given") for name, entry in entries.items()
            )
        ports = {side: self.settings.get(side, ()) for side in ("inputs", "outputs")}
        others = {key: value for key, value in self.settings.items() if key not in ports}
        for name in (*_names(others), *ports["inputs"], *ports["outputs"]):
            self.left.pop(name.partition("[")[0], None)
        self.carried = {name.partition("[")[0] for key in ("inputs", "outputs", "ignore") for name in self._fields(key)}

    def _fields(self, table: str) -> Iterator[str]:
        """The fields that a table of the settings names."""
        values = self.settings.get(table, {})
        for value in values.values() if isinstance(values, Mapping) else [values]:
            yield from value if isinstance(value, (Mapping, list)) else [str(value)]

    def add(self, table: str, text: str, why: str = "", guess: bool = False, port: str = "", shown: str = "") -> None:
        """Add a line to a table, unless the user says otherwise."""
        self._add(table, Line(text, why, guess, port, shown=shown))

    def _add(self, table: str, line: Line) -> None:
        key, where = line.text.partition(" = ")[0], self.settings.get(table, {}) if table else self.settings
        if not line.text or key not in where:
            self.tables.setdefault(table, []).append(line)

    def add_ignored(self) -> None:
        """Add the line of what the module does not have."""
        if self.ignored:
            names, reasons = ", ".join(map(toml_string, self.ignored)), dict.fromkeys(self.ignored.values())
            line = Line(f"ignore = [{names}]", "; ".join(reasons), {*reasons} != {"as given"})
            self.tables.setdefault("", []).append(line)

    def ask(self, signal: Signal, what: str, of: str = "") -> None:
        """Raise Error for an input that the user must set, in a draft for vectors. of: what it encodes."""
        if self.target is None:
            return
        width = f", width = {signal.width}" if signal.width > 1 else ""
        kinds = dict.fromkeys(own.get(of, "-") for own in self.target.controls)
        value = f"value = N{width}"
        if len(kinds) > 1:
            codes = ", ".join(f"{toml_key(kind)} = N" for kind in kinds)
            value = f"of = {toml_string(of)}{width}, codes = {{ {codes} }}"
        raise Error(f"port {signal.name} {what}: give --set 'inputs.{signal.name}={{ {value} }}'")

    def take(self, *signals: Signal) -> None:
        """Count these ports among those that have a line."""
        for signal in signals:
            del self.left[signal.name]

    def use(
        self,
        table: str,
        signal: Signal,
        value: str,
        why: str = "",
        guess: bool = False,
        held: bool = False,
        enable: str = "",
    ) -> None:
        """Add the line of a port, which is then no longer left."""
        self.take(signal)
        self._add(table, Line(f"{toml_key(signal.name)} = {value}", why, guess, signal.name, held, enable=enable))

    def ports(self, direction: str, fits: Callable[[Signal], bool] = lambda _: True) -> list[Signal]:
        """The ports left of a direction that fit."""
        return [s for s in self.left.values() if s.direction == direction and fits(s)]

    def bits(self, direction: str, words: Collection[str]) -> list[Signal]:
        """The ports left of one bit that have one of these words in their names."""
        return self.ports(direction, lambda s: s.width == 1 and bool(set(core(s.name)) & set(words)))

    def has(self, name: str) -> bool:
        """Whether the vectors have a field, as far as that is known."""
        return self.target is None or name in self.target.fields

    @property
    def lanes(self) -> int:
        """Number of vectors in an operation."""
        lanes = self.settings.get("lanes", 1)
        return lanes if type(lanes) is int and lanes > 0 else 1

    @property
    def guesses(self) -> tuple[Guess, ...]:
        """The lines that were guessed, in the order of the port map."""
        return tuple(
            Guess(table, line.shown or line.text, line.why, line.port, line.held, line.enable)
            for table in sorted(self.tables, key=_place)
            for line in self.tables[table]
            if line.guess
        )


def _names(value: Any) -> Iterator[str]:
    """The texts in a table, some of which are ports."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _names(inner)
    elif isinstance(value, str):
        yield value


def _place(table: str) -> tuple[int, bool]:
    return _ORDER.index(table.partition(".")[0]), "." in table


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
    for name in sorted(tables, key=_place):
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
