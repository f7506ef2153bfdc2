"""Trees of plain values, from JSON and TOML: of bounded depth, without huge integers or hidden characters."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import HIDDEN, Error, escaped
from softfloat_ref.base.files import read_bytes
from softfloat_ref.base.search import find_first

_MAX_SHOWN: Final = 60
_SPACES: Final = str.maketrans("", "", "\t\n\r")  # a text may have these, a key may not
# A text or a comment of TOML, to its end or to that of the file; dots in it separate no keys.
_QUOTED: Final = re.compile(
    r"""#[^\n]*|"{3}(?:[^\\]|\\.?)*?(?:"{3}|\Z)|'{3}.*?(?:'{3}|\Z)|"(?:[^"\\\n]|\\.?)*(?:["\n]|\Z)|'[^'\n]*(?:['\n]|\Z)""",
    re.DOTALL,
)
_KEY: Final = re.compile(r"[\w. \t-]+")


def read_json(path: str | Path, limit: int = limits.JSON) -> Any:
    """The content of a JSON file. Raises Error."""
    return parse_json(read_bytes(path, limit), str(path), limit)


def parse_json(text: str | bytes, where: str, limit: int = limits.JSON) -> Any:
    """The value of a JSON text, in UTF-8. Raises Error, also for a key that a table has twice. where: its name."""
    import json  # imported here because most commands do not need it

    if len(text) > limit:
        raise Error(f"{where}: JSON of {len(text)} bytes; the limit is {limit}")
    try:
        plain = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        value = json.loads(plain, object_pairs_hook=_table)
    except RecursionError:
        raise Error(f"{where}: not valid JSON: nested more than {limits.DEPTH} deep") from None
    except ValueError as e:  # also an integer of thousands of digits, and a bad encoding
        raise Error(f"{where}: not valid JSON: {str(e)[:80]}") from None
    _check(value, where)
    return value


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        twice = find_first(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"'{escaped(twice[:_MAX_SHOWN])}' is given twice")
    return table


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises Error. where: its name."""
    import tomllib

    # A key of n parts takes tomllib n * n steps, and as much memory.
    if any(key[0].count(".") >= limits.DEPTH for key in _KEY.finditer(_QUOTED.sub("_", text))):
        raise Error(f"{where}: not valid TOML: a key of more than {limits.DEPTH} parts")
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise Error(f"{where}: not valid TOML: nested more than {limits.DEPTH} deep") from None
    except ValueError as e:  # also a number of thousands of digits
        raise Error(f"{where}: not valid TOML: {e}") from None
    _check(tables, where)
    return tables


def _check(tree: Any, where: str) -> None:
    """Raises Error for what no reader can use: a tree nested too deep, a huge integer, hidden characters."""
    level, depth = [tree], 0
    while level:
        depth += 1
        if depth > limits.DEPTH:
            raise Error(f"{where}: nested more than {limits.DEPTH} deep")
        inner: list[Any] = []
        for value in level:
            if isinstance(value, str):
                _refuse_hidden(value.translate(_SPACES) if "\n" in value or "\t" in value else value, value, where)
            elif isinstance(value, dict):
                for key in value:
                    _refuse_hidden(key, key, where)
                inner += value.values()
            elif isinstance(value, list):
                inner += value
            elif type(value) is int and abs(value) >= limits.INTEGER:
                raise Error(f"{where}: an integer that does not fit float64")
        level = inner


def _refuse_hidden(text: str, whole: str, where: str) -> None:
    match = HIDDEN.search(text)
    if match and not "\ud800" <= match[0] <= "\udfff":  # half a character: a path that is not UTF-8
        raise Error(f"{where}: '{escaped(whole[:_MAX_SHOWN])}' has a hidden character, {escaped(match[0])}")
