"""Tables as TOML: the few kinds of values that recipes have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from softfloat_ref.errors import Error


def to_toml(table: Mapping[str, Any]) -> str:
    """A table of plain values, of tables, and of lists of tables, one level deep; tables further in stand inline."""
    lines = [f"{_key(k)} = {_value(v)}" for k, v in table.items() if not _is_section(v)]
    for name, section in table.items():
        if isinstance(section, Mapping):
            lines += ["", f"[{_key(name)}]", *(f"{_key(k)} = {_value(v)}" for k, v in section.items())]
        elif _is_section(section):
            for part in section:
                lines += ["", f"[[{_key(name)}]]", *(f"{_key(k)} = {_value(v)}" for k, v in part.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_section(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and all(isinstance(x, Mapping) for x in value))


def _key(key: str) -> str:
    return (
        key
        if key.replace("_", "").replace("-", "").isalnum() and key.isascii()
        else json.dumps(key, ensure_ascii=False)
    )


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    raise Error(f"{value!r} has no place in TOML")
