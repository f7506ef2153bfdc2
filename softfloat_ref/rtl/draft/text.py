"""The text of a draft: a port map in TOML, with a comment for each thing that was read or guessed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from softfloat_ref.rtl.draft.lines import Draft, Line, toml_key, toml_string
from softfloat_ref.rtl.module_ports import Expression

_WIDTH: Final = 120
_ORDER: Final = ("", "parameters", "handshake", "tag", "inputs", "outputs")


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
