"""Tables of a recipe, `{kind = NAME, field = value, ...}`, as checked dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from softfloat_ref.errors import Error, unknown
from softfloat_ref.nn.plain import is_number

T = TypeVar("T")

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "int": (int,),
    "int | None": (int,),
    "float": (int, float),
    "tuple[int, ...]": (list, tuple),
    "tuple[float, ...]": (list, tuple),
    "tuple[tuple[int, float], ...]": (list, tuple),
}


def made(what: str, kinds: Mapping[str, type[T]], spec: Mapping[str, Any] | str | None, default: str) -> T:
    """The dataclass of a table's kind, with the table's fields; a name alone is a table of defaults, None the default.

    Raises Error for unknown kinds and fields, with the closest ones, and for values of other types.
    """
    table = {"kind": default if spec is None else spec} if spec is None or isinstance(spec, str) else dict(spec)
    kind = table.pop("kind", default)
    if kind not in kinds:
        raise unknown(what, str(kind), kinds)
    found: Any = kinds[kind]
    types = {f.name: str(f.type) for f in dataclasses.fields(found)}
    for key, value in table.items():
        if key not in types:
            raise unknown(f"field of {what} {kind!r}:", key, types)
        if isinstance(value, bool) or not isinstance(value, _TYPES[types[key]]):
            raise Error(f"{what} {kind!r}: {key} = {value!r} is no {types[key]}")
        if _is_huge(value):
            raise Error(f"{what} {kind!r}: {key} has an integer that no float64 holds")
        table[key] = _frozen(value)
    made: T = found(**table)
    return made


def _frozen(value: Any) -> Any:
    return tuple(_frozen(x) for x in value) if isinstance(value, (list, tuple)) else value


def _is_huge(value: Any) -> bool:
    """Whether an integer in here is beyond float64: floats are computed of them."""
    if isinstance(value, (list, tuple)):
        return any(map(_is_huge, value))
    return isinstance(value, int) and not isinstance(value, bool) and not is_number(value)


def refuse(what: str, *problems: tuple[str, bool]) -> None:
    """Raise Error with the first problem that is one."""
    for problem, wrong in problems:
        if wrong:
            raise Error(f"{what}: {problem}")


def numbers(values: tuple[Any, ...]) -> bool:
    """Whether all of these are numbers."""
    return all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in values)


def integers(values: tuple[Any, ...]) -> bool:
    """Whether all of these are integers."""
    return all(type(x) is int for x in values)
