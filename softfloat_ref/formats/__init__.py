"""Formats by name: the catalogue, aliases, the name grammar, and definitions in TOML."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from softfloat_ref.errors import Error, unknown
from softfloat_ref.formats.catalogue import ALIASES, CATALOGUE
from softfloat_ref.formats.families import finite, fn, fnuz, ieee, integer, p3109
from softfloat_ref.formats.model import MAX_EXPONENT_BITS, Format

__all__ = [
    "ALIASES",
    "CATALOGUE",
    "GRAMMAR_HELP",
    "Format",
    "check_reference",
    "define_format",
    "get_format",
    "in_full",
    "load_format",
    "load_table",
    "p3109",
    "read_toml",
]

MAX_INTEGER_BITS: Final = 256
GRAMMAR_HELP: Final = "names also follow s1e5m2[b15][fn|fnuz|finite], i12, u12, binary8p4se, or FILE.toml[:NAME]"

_FLOAT: Final = re.compile(r"s([01])e(\d{1,3})m(\d{1,3})(?:b(-?\d{1,8}))?(fnuz|fn|finite)?", re.ASCII)
_INTEGER: Final = re.compile(r"([iu])(\d{1,3})", re.ASCII)
_P3109: Final = re.compile(r"binary(\d{1,2})p(\d{1,2})([su])([ef])", re.ASCII)
# The names of block formats, which are made in a module that needs this one: only for the error.
_BLOCK: Final = re.compile(
    r"mxfp8(_e5m2|_e4m3)?|mxfp6(_e3m2|_e2m3)?|mxfp4(_e2m1)?|mxint8|nvfp4|msfp1[1-6]|flexfp_e\d+m\d+|[^@/]+@[^@/]+/\w+",
    re.ASCII,
)
_AFFINE: Final = re.compile(r"qu?int\d{1,2}(_sym)?(_narrow)?", re.ASCII)  # likewise


def get_format(name: str | Format) -> Format:
    """The format of that name: catalogue, alias, grammar, or `FILE.toml[:NAME]`. A Format is returned as it is.

    Raises Error for an unknown name, listing the closest ones.
    """
    if isinstance(name, Format):
        return name
    if not isinstance(name, str):
        raise Error(f"a format is a name or a Format, not {type(name).__name__}")
    if ".toml" in name:
        return load_format(name)
    return _named(name)


@lru_cache(maxsize=1024)
def _named(name: str) -> Format:
    key = name.strip().lower()
    key = ALIASES.get(key, key)
    if key in CATALOGUE:
        return CATALOGUE[key]
    if match := _FLOAT.fullmatch(key):
        made = _from_grammar(key, match)
        return next((f for f in CATALOGUE.values() if dataclasses.replace(made, name=f.name) == f), made)
    if match := _INTEGER.fullmatch(key):
        width = int(match[2])
        if not 1 <= width <= MAX_INTEGER_BITS:
            raise Error(f"format {name!r}: integers have 1 to {MAX_INTEGER_BITS} bits")
        return integer(f"{match[1]}{width}", width, signed=match[1] == "i")
    if match := _P3109.fullmatch(key):
        return p3109(int(match[1]), int(match[2]), signed=match[3] == "s", extended=match[4] == "e")
    if _BLOCK.fullmatch(key):
        shown = name.strip()[:60]
        raise Error(f"{shown!r} is a block format; this takes a scalar one, as its element (formats show {shown})")
    if _AFFINE.fullmatch(key):
        raise Error(f"{name.strip()!r} is an affine format, which quantize and plot take, and affine.quantize")
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
        raise Error(f"format {key!r}: fnuz has its NaN at -0, so it needs a sign")
    return fnuz(key, e, m, bias, source=source)


def read_toml(path: str) -> dict[str, Any]:
    """The tables of a TOML file. Errors are one line."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as e:
        raise Error(f"{path}: {e.strerror or e}") from None
    except ValueError as e:  # of the syntax, the encoding, or a number of thousands of digits
        raise Error(f"{path}: not valid TOML: {e}") from None
    except RecursionError:
        raise Error(f"{path}: not valid TOML: nested too deep") from None


_loading: Final[list[str]] = []  # definitions being read, to refuse one that refers to itself
_in_full: Final[ContextVar[bool]] = ContextVar("in_full", default=False)


@contextmanager
def in_full() -> Iterator[None]:
    """Definitions read within are those that a file of ours stores, in full: one that refers to a TOML file, which may
    be anywhere, or to another definition, which may change, is refused."""
    token = _in_full.set(True)
    try:
        yield
    finally:
        _in_full.reset(token)


def check_reference(to: object) -> None:
    """Raise Error where definitions are to be in full: this one refers to another."""
    if _in_full.get():
        raise Error(f"a stored definition is given in full; this one refers to {str(to)[:60]!r}")


@contextmanager
def load_table(spec: str, kind: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The table `[kind.NAME]` of `FILE.toml[:NAME]`, and its name, for reading within the block.

    NAME may be left out where the file has just one. Raises Error.
    """
    check_reference(spec)
    path, _, name = spec.partition(".toml")
    path, name = path + ".toml", name.removeprefix(":")
    tables = read_toml(path).get(kind)
    if not isinstance(tables, dict) or not tables:
        raise Error(f"{path}: no [{kind}.NAME] table")
    if not name:
        if len(tables) > 1:
            raise Error(f"{path}: defines {', '.join(tables)}; choose one as {path}:NAME")
        name = next(iter(tables))
    if not isinstance(tables.get(name), dict):
        raise unknown(kind, name, tables, f" (in {path})")
    key = f"{kind}:{path}:{name}"
    if key in _loading:
        raise Error(f"{path}: {name} is defined by itself (like = ...)")
    _loading.append(key)
    try:
        yield tables[name], name
    except Error as e:
        raise e if str(e).startswith(path) else Error(f"{path}: {e}") from None
    finally:
        _loading.remove(key)


def load_format(spec: str) -> Format:
    """The format of `FILE.toml[:NAME]`. Raises Error."""
    with load_table(spec, "formats") as (table, name):
        return define_format(table, name)


_FIELDS: Final[dict[str, type]] = {
    f.name: {"int": int, "bool": bool}.get(str(f.type), str) for f in dataclasses.fields(Format)
}


def define_format(table: Mapping[str, Any], name: str | None = None) -> Format:
    """A format from a TOML table: the fields of this class, or `like = NAME` with the fields that differ."""
    if not isinstance(table, Mapping):
        raise Error(f"format {name or '?'}: a definition is a table, not {table!r}")
    values = dict(table)
    like = values.pop("like", None)
    where = name or str(values.get("name", "?"))
    for key, value in values.items():
        if key not in _FIELDS:
            raise Error(f"format {where!r}: unknown field {key!r}; fields: like, {', '.join(_FIELDS)}")
        expected = _FIELDS[key]
        if type(value) is not expected:
            raise Error(f"format {where!r}: {key} = {value!r} is no {expected.__name__}")
    if name is not None:
        values["name"] = name
    if like is not None:
        check_reference(like)
        return dataclasses.replace(get_format(like), **({"source": "user definition"} | values))
    missing = [k for k in ("name", "exponent_bits", "mantissa_bits", "bias") if k not in values]
    if missing:
        raise Error(f"format {where!r}: {', '.join(missing)} missing")
    return Format(**values)
