"""Formats by name: the catalogue, aliases, the name grammar, and definitions in TOML."""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.tables import LIKE, from_table, in_full, load_definition, read_toml, split_like
from softfloat_ref.oracle.formats.catalogue import ALIASES, CATALOGUE, DEPRECATED
from softfloat_ref.oracle.formats.families import finite, fn, fnuz, ieee, integer, p3109
from softfloat_ref.oracle.formats.format import MAX_EXPONENT_BITS, Format
from softfloat_ref.oracle.formats.types import spelled

__all__ = [
    "ALIASES",
    "CATALOGUE",
    "GRAMMAR_HELP",
    "Format",
    "define_format",
    "deprecated_spelling",
    "get_format",
    "in_full",
    "load_format",
    "p3109",
    "read_toml",
    "register_other_kind",
    "spelled",
    "warn_of_spelling",
]

MAX_INTEGER_BITS: Final = 256
GRAMMAR_HELP: Final = "names also follow s1e5m2[b15][fn|fnuz|finite], i12, u12, binary8p4se, or FILE.toml[:NAME]"

_FLOAT: Final = re.compile(r"s([01])e(\d{1,3})m(\d{1,3})(?:b(-?\d{1,8}))?(fnuz|fn|finite)?", re.ASCII)
_INTEGER: Final = re.compile(r"([iu])(\d{1,3})", re.ASCII)
_P3109: Final = re.compile(r"binary(\d{1,2})p(\d{1,2})([su])([ef])", re.ASCII)
_OTHER_KINDS: Final[list[Callable[[str], str]]] = []


def get_format(name: str | Format) -> Format:
    """The format with that name: catalogue, alias, grammar, or `FILE.toml[:NAME]`; or of a type of torch, numpy or
    ml_dtypes. A Format is returned unchanged.

    Raises Error for an unknown name, listing the closest ones.
    """
    if isinstance(name, Format):
        return name
    name = spelled(name)
    if not isinstance(name, str):
        raise Error(f"a format must be a name or a Format, not {type(name).__name__}")
    if ".toml" in name:
        return load_format(name)
    return _named(name)


def deprecated_spelling(name: object) -> str:
    """What to say of the name of a format that will mean another one; '' for other names."""
    return DEPRECATED.get(name.strip().lower(), "") if isinstance(name, str) else ""


def warn_of_spelling(name: object) -> None:
    """Warn the caller's caller of a name that will mean another format."""
    if note := deprecated_spelling(name):
        warnings.warn(note, FutureWarning, stacklevel=3)


def register_other_kind(describe: Callable[[str], str]) -> None:
    """Register formats that are not scalar. describe: the error message for the name of such a format where a scalar
    format is needed; '' for other names."""
    _OTHER_KINDS.append(describe)


@lru_cache(maxsize=1024)
def _named(name: str) -> Format:
    key = name.strip().lower()
    key = ALIASES.get(key, key)
    if key in CATALOGUE:
        return CATALOGUE[key]
    if match := _FLOAT.fullmatch(key):
        fmt = _from_grammar(key, match)
        return next((f for f in CATALOGUE.values() if dataclasses.replace(fmt, name=f.name) == f), fmt)
    if match := _INTEGER.fullmatch(key):
        width = int(match[2])
        if not 1 <= width <= MAX_INTEGER_BITS:
            raise Error(f"format {name!r}: integers have 1 to {MAX_INTEGER_BITS} bits")
        return integer(f"{match[1]}{width}", width, signed=match[1] == "i")
    if match := _P3109.fullmatch(key):
        return p3109(int(match[1]), int(match[2]), signed=match[3] == "s", extended=match[4] == "e")
    for describe in _OTHER_KINDS:
        if message := describe(name.strip()[:60]):
            raise Error(message)
    raise unknown("format", name, [*CATALOGUE, *ALIASES], f" ({GRAMMAR_HELP})")


def _from_grammar(key: str, match: re.Match[str]) -> Format:
    signed, e, m = match[1] == "1", int(match[2]), int(match[3])
    bias = None if match[4] is None else int(match[4])
    if not 1 <= e <= MAX_EXPONENT_BITS:
        raise Error(f"format {key!r}: exponents have 1 to {MAX_EXPONENT_BITS} bits")
    source = "name grammar"
    match match[5]:
        case None:
            return ieee(key, e, m, bias, signed=signed, source=source)
        case "fn":
            return fn(key, e, m, bias, signed=signed, source=source)
        case "finite":
            return finite(key, e, m, bias, signed=signed, source=source)
    if not signed:
        raise Error(f"format {key!r}: fnuz encodes NaN as -0, so the format must be signed")
    return fnuz(key, e, m, bias, source=source)


def load_format(spec: str) -> Format:
    """The format of `FILE.toml[:NAME]`. Raises Error."""
    return load_definition(spec, "formats", define_format)


def define_format(table: object, name: str | None = None) -> Format:
    """A format from a TOML table: the fields of Format, or `like = NAME` and the fields that differ."""
    values, like = split_like(table, f"format {name or '?'}")
    where = f"format {name or str(values.get('name', '?'))!r}"
    if name is not None:
        values["name"] = name
    base = None if like is None else dataclasses.replace(get_format(like), source="user definition")
    return from_table(Format, values, where, base, "field", LIKE)


def __dir__() -> list[str]:
    return sorted(__all__)
