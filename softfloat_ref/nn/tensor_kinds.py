"""What a tensor of a model is, from its name and shape: a matrix or a vector, its kind, part of the model and layer.

The patterns are data: tensor_kinds.toml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from softfloat_ref.base.tables import read_toml

TABLE: Final = Path(__file__).with_name("tensor_kinds.toml")
_WEIGHT: Final = re.compile(r"\.(?:weight|kernel|w|embedding|weight_packed|data)\.$")
_NUMBER: Final = re.compile(r"(?<=\.)[0-9]+(?=\.)")
_MAX_NAME: Final = 1000  # characters that are read
_MAX_DIGITS: Final = 9  # of a number of a layer
_MATRIX: Final = 2  # axes longer than 1


class TensorKind(NamedTuple):
    """kind: such as "attention query". stack: the part of the model, such as "decoder"; "" if the name does not say it.
    depth: the numbers of its layer, none outside the layers. matrix: whether it is one, not a vector (bias, norm)."""

    kind: str
    stack: str
    depth: tuple[int, ...]
    matrix: bool


class _Match(NamedTuple):
    """A row of a table whose pattern is in a name."""

    row: Mapping[str, Any]
    groups: tuple[str, ...]

    def named(self, key: str) -> str:
        return str(self.row[key]).replace("\\1", "".join(self.groups))


@lru_cache(maxsize=1)
def _tables() -> dict[str, list[tuple[re.Pattern[str], dict[str, Any]]]]:
    tables: dict[str, Any] = read_toml(str(TABLE))
    return {name: [(re.compile(row["pattern"], re.ASCII), row) for row in rows] for name, rows in tables.items()}


def _matching(table: str, text: str) -> Iterator[_Match]:
    for pattern, row in _tables()[table]:
        if match := pattern.search(text):
            yield _Match(row, tuple(x for x in match.groups() if x))


def kind_of(name: str, shape: tuple[int, ...]) -> TensorKind:
    """What a tensor of that name and shape is. A matrix has two axes or more that are longer than 1; what is called a
    bias or the weight of a norm is a vector in any shape."""
    text = _dotted(name)
    depth, before, behind = _depth(text)
    long_axes = sum(n > 1 for n in shape)
    vector = next((x for x in _matching("vectors", text) if long_axes < _MATRIX or x.row.get("any_shape")), None)
    match = vector or next(_matching("kinds", text), None)
    kind = match.named("kind") if match else _own_name(before, behind)
    if match and match.row.get("outside"):
        depth = ()
    stack = next((x.row["stack"] for x in _matching("stacks", text)), "")
    return TensorKind(f"{_context(match, text)} {kind}".lstrip(), stack, depth, vector is None and long_axes >= _MATRIX)


def what_of(name: str, shape: tuple[int, ...]) -> dict[str, Any]:
    """What a tensor is, as a row of a file has it."""
    kind = kind_of(name, shape)
    return {"kind": kind.kind, "part": kind.stack, "layer": layer_name(kind.depth), "matrix": kind.matrix}


def layer_name(depth: tuple[int, ...]) -> str:
    """A layer by its numbers; "" outside the layers."""
    return ".".join(map(str, depth))


def _dotted(name: str) -> str:
    """In lower case, the parts between dots; without the file that a name begins with where a model has several."""
    head, colon, last = name[-_MAX_NAME:].rpartition(":")
    own = head.rpartition(":")[2] if colon and last.isdecimal() else last  # TensorFlow's end with ":0"
    return f".{own.lower().replace('/', '.').strip('.')}."


def _depth(text: str) -> tuple[tuple[int, ...], str, str]:
    """The layer's numbers, and the text before and behind them."""
    for pattern, _ in _tables()["depths"]:
        match = pattern.search(text)
        if match and all(len(x) <= _MAX_DIGITS for x in match.groups()):
            return tuple(map(int, match.groups())), text[: match.start() + 1], text[match.end() - 1 :]
    return (), ".", text


def _context(match: _Match | None, text: str) -> str:
    """What a kind is a part of."""
    of = str(match.row.get("of", "")) if match else ""
    return next((x.row["name"] for x in _matching("contexts", text) if x.row["of"] == of), of)


def _own_name(before: str, behind: str) -> str:
    """What is left of a name without its layer, its other numbers and the word weight."""
    rest = _NUMBER.sub("*", _WEIGHT.sub(".", behind)).strip(".")
    return rest or before.strip(".") or "weight"
