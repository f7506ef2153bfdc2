"""TOML: files and their tables, checked dataclasses from tables, and plain values as TOML.

A definition is a table `[KIND.NAME]` of a file, which a command accepts as FILE.toml[:NAME]. If a table becomes a
dataclass, its keys are the fields, and annotations give the allowed values: `Annotated[int, Range(1, 64)]` limits a
number, and an annotation may be another such dataclass or a tuple of them.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, errors_of, unknown
from softfloat_ref.base.files import read_text
from softfloat_ref.base.search import find_first
from softfloat_ref.base.trees import parse_toml

T = TypeVar("T")

_TYPE_NAMES: Final = {Mapping: "table", type(None): ""}
_UNIONS: Final = (Union, types.UnionType)


# -- files -------------------------------------------------------------------------------------------------------------


def read_toml(path: str) -> dict[str, Any]:
    """The tables of a TOML file. Raises Error."""
    return parse_toml(read_text(path, limits.TOML), path)


def read_file(path: str | Path, read: Callable[[dict[str, Any]], T]) -> T:
    """Apply a function to the tables of a file. Raises Error, which names the file."""
    tables = read_toml(str(path))
    with errors_of(path):
        return read(tables)


def with_settings(table: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """A table with other values, each given as `key=value` or `table.key=value`. A value is TOML; what is not is text.
    Raises Error."""
    whole = dict(table)
    for setting in settings:
        key, equals, text = setting.partition("=")
        *places, last = key.strip().split(".")
        if not equals or not all((*places, last)):
            raise Error(f"{setting!r}: write table.key=value, for example training.epochs=1")
        inner = whole
        for place in places:
            below = inner.get(place, {})
            if not isinstance(below, Mapping):
                raise Error(f"{setting!r}: {place} is not a table")
            inner[place] = inner = dict(below)
        inner[last] = _toml_value(text.strip())
    return whole


def _toml_value(text: str) -> Any:
    try:
        read = parse_toml(f"value = {text}", "value")
    except Error:
        return text
    return read["value"] if len(read) == 1 else text


# -- definitions -------------------------------------------------------------------------------------------------------

LIKE: Final = ("like",)  # the key of a definition that is not a field
_loading: Final[list[str]] = []  # definitions being read, to refuse one that refers to itself
_in_full: Final[ContextVar[bool]] = ContextVar("in_full", default=False)


@contextmanager
def in_full() -> Iterator[None]:
    """Require definitions read within to be complete, as in files that this package stores: a reference to a TOML file,
    which may be anywhere, or to another definition, which may change, is an error."""
    token = _in_full.set(True)
    try:
        yield
    finally:
        _in_full.reset(token)


def check_reference(to: object) -> None:
    """Raise Error if definitions must be complete, because this one refers to another."""
    if _in_full.get():
        raise Error(f"a stored definition is given in full; this one refers to {str(to)[:60]!r}")


def load_definition(spec: str, kind: str, define: Callable[[dict[str, Any], str], T]) -> T:
    """The result of a function for the table `[kind.NAME]` of `FILE.toml[:NAME]`, and its name.

    NAME may be omitted if the file has only one. Raises Error, which names the file.
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
        name = find_first(tables)
    if not isinstance(tables.get(name), dict):
        raise unknown(kind, name, tables, f" (in {path})")
    key = f"{kind}:{path}:{name}"
    if key in _loading:
        raise Error(f"{path}: {name} refers to itself (like = ...)")
    _loading.append(key)
    try:
        with errors_of(path):
            return define(tables[name], name)
    finally:
        _loading.remove(key)


def split_like(table: object, where: str) -> tuple[dict[str, Any], Any]:
    """A definition's own values, and the definition it is `like` or None. Raises Error."""
    values = dict(_table(table, where))
    if "like" in values:
        check_reference(values["like"])
    return values, values.pop("like", None)


# -- checked values ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Range:
    """In an annotation: a number from `low` to `high`; without `high`, at least `low`."""

    low: int
    high: int | None = None

    def __contains__(self, value: float) -> bool:
        return self.low <= value and isfinite(value) and (self.high is None or value <= self.high)

    def __str__(self) -> str:
        return f"at least {self.low}" if self.high is None else f"from {self.low} to {self.high}"


@cache
def hints(kind: type[Any]) -> dict[str, Any]:
    """The fields of a dataclass and their annotations."""
    annotations = get_type_hints(kind, include_extras=True)
    return {f.name: annotations[f.name] for f in dataclasses.fields(kind)}


def arguments(function: Callable[..., Any], *but: str) -> dict[str, Any]:
    """The parameters of a function, except those in `but`, and their annotations."""
    return {k: v for k, v in get_type_hints(function, include_extras=True).items() if k not in ("return", *but)}


@cache
def choices(kind: type[Any], **more: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The allowed words of each field of a dataclass that is a Literal, and of the fields in `more`."""
    known: dict[str, Any] = hints(kind)  # type: ignore[arg-type]
    words = {name: get_args(hint) for name, hint in known.items() if get_origin(hint) is Literal} | more
    return {name: tuple(words[name]) for name in known if name in words}


def check_choices(instance: Any, where: str, known: Mapping[str, Collection[str]]) -> None:
    """Raise Error if a field of a dataclass has a value that is not among the known ones."""
    for field, words in known.items():
        if getattr(instance, field) not in words:
            raise unknown(f"{field} of {where}:" if where else field, str(getattr(instance, field)), words)


def check(
    table: object,
    where: str,
    known: Mapping[str, Any],
    required: Collection[str] = (),
    word: str = "key",
    also: Collection[str] = (),
) -> dict[str, Any]:
    """The values of a table, converted to their annotations (`known`). Raises Error if the table is not one, has an
    unknown key (suggesting the closest), has a value that does not fit, or lacks a required key.

    For errors: where: what the table is; word: what its keys are; also: other keys that are valid.
    """
    values = {}
    for key, value in _table(table, where).items():
        if key not in known:
            raise unknown(word, str(key), [*also, *known], f" (in {where})" if where else "")
        values[key] = _checked(value, known[key], where, key)
    missing = [key for key in required if key not in values]
    if missing:
        raise Error(f"{_prefix(where)}{', '.join(missing)} missing")
    return values


def from_table(
    kind: type[T],
    table: object,
    where: str,
    base: T | None = None,
    word: str = "key",
    also: Collection[str] = (),
) -> T:
    """A dataclass from a table; a field that the table omits comes from `base` or has its default. Raises Error.

    where, word, also: as in `check`."""
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    unset = dataclasses.MISSING
    required = [f.name for f in fields if f.init and f.default is unset and f.default_factory is unset]
    known: dict[str, Any] = hints(kind)  # type: ignore[arg-type]
    values = check(table, where, known, () if base is not None else required, word, also)
    return kind(**values) if base is None else dataclasses.replace(base, **values)  # type: ignore[type-var]


def variant(what: str, kinds: Mapping[str, type[T]], spec: Mapping[str, Any] | str | None, default: str) -> T:
    """The dataclass for a table `{kind = NAME, field = value, ...}`. A name alone stands for a table without fields,
    None for the default. Raises Error."""
    table = {"kind": default if spec is None else spec} if spec is None or isinstance(spec, str) else dict(spec)
    kind = table.pop("kind", default)
    if not isinstance(kind, str) or kind not in kinds:
        raise unknown(what, str(kind), kinds)
    return from_table(kinds[kind], table, f"{what} {kind!r}")


def _table(table: object, where: str) -> Mapping[str, Any]:
    if not isinstance(table, Mapping):
        raise Error(f"{_prefix(where)}expected a table, not {table!r}")
    return table


def _prefix(where: str) -> str:
    return f"{where}: " if where else ""


def _checked(value: Any, hint: Any, where: str, key: str, of: str = "") -> Any:
    """A value converted to its annotation: lists to tuples, tables to dataclasses. of: its list as text, for errors."""
    excerpt = of or f"{key} = {value!r}"
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return value if isinstance(value, hint) else from_table(hint, value, f"{_prefix(where)}{key}")
    if get_origin(hint) in _UNIONS and isinstance(value, list):
        hint = next((part for part in get_args(hint) if get_origin(part) is tuple), hint)
    if get_origin(hint) is tuple and isinstance(value, (list, tuple)):
        parts = get_args(hint)
        each = [parts[0]] * len(value) if len(parts) == 2 and parts[1] is ... else list(parts)
        if len(each) == len(value):
            return tuple(_checked(v, h, where, key, excerpt) for v, h in zip(value, each, strict=True))
    if get_origin(hint) is Annotated:
        plain, *bounds = get_args(hint)
        value = _checked(value, plain, where, key, of)
        for bound in bounds:
            if isinstance(bound, Range) and value not in bound:
                raise Error(f"{_prefix(where)}{excerpt}; it must be {bound}")
        return value
    if type(value) is int and abs(value) >= limits.INTEGER:
        raise Error(f"{_prefix(where)}{key} has an integer that does not fit float64")
    if not _fits(value, hint):
        raise Error(f"{_prefix(where)}{excerpt} is not of type {_name(hint)}")
    return value


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint) or hint
    if origin in _UNIONS:
        return any(_fits(value, part) for part in get_args(hint))
    if origin is Literal:
        return type(value) in {type(word) for word in get_args(hint)}
    if isinstance(value, bool):
        return origin in (bool, Any)
    if origin is float:
        return isinstance(value, (int, float))
    return origin is Any or (origin is not tuple and isinstance(value, origin))


def _name(hint: Any) -> str:
    """The type that an annotation allows, for an error message."""
    origin, parts = get_origin(hint) or hint, get_args(hint)
    if origin in _UNIONS:
        return " or ".join(filter(None, map(_name, parts)))
    if origin is Literal:
        return "str"
    if origin is tuple:
        return f"tuple of {_name(parts[0])}"
    return _TYPE_NAMES.get(origin, getattr(origin, "__name__", str(origin)))


# -- as text -----------------------------------------------------------------------------------------------------------


def to_toml(table: Mapping[str, Any]) -> str:
    """Plain values, tables, and lists of tables one level deep as TOML; tables nested deeper are written inline."""
    lines = [f"{toml_key(k)} = {toml_value(v)}" for k, v in table.items() if not _is_section(v)]
    for name, section in table.items():
        if isinstance(section, Mapping):
            lines += ["", f"[{toml_key(name)}]", *(f"{toml_key(k)} = {toml_value(v)}" for k, v in section.items())]
        elif _is_section(section):
            for part in section:
                lines += ["", f"[[{toml_key(name)}]]", *(f"{toml_key(k)} = {toml_value(v)}" for k, v in part.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_section(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and all(isinstance(x, Mapping) for x in value))


def toml_key(key: str) -> str:
    """A name as a key in TOML."""
    plain = key.replace("_", "").replace("-", "").isalnum() and key.isascii()
    return key if plain else toml_string(key)


def toml_string(value: str) -> str:
    """A text as a string in TOML."""
    import json  # imported here because most commands do not need it

    return json.dumps(value, ensure_ascii=False)


def toml_value(value: Any) -> str:
    """A plain value in TOML. Raises Error for one that TOML lacks."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return toml_string(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(k)} = {toml_value(v)}" for k, v in value.items()) + " }"
    raise Error(f"{value!r} cannot be written as TOML")
