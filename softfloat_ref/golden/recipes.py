"""Recipes: named vector sets, one TOML file each, shipped with the package or written by the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from softfloat_ref.errors import Error, unknown
from softfloat_ref.formats import read_toml
from softfloat_ref.golden.dots import DOT, DotSet
from softfloat_ref.golden.kinds import AnySet, at_level
from softfloat_ref.golden.mixed import from_recipe
from softfloat_ref.golden.sets import VectorSet

# In a wheel beside this file; in a checkout at the top.
_PLACES: Final = (Path(__file__).parent / "recipes", Path(__file__).parents[2] / "vectors" / "recipes")
_SUITE_PLACES: Final = (_PLACES[0] / "suites", _PLACES[1].with_name("suites"))
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "count": (int,),
    "level": (int, str),
    "seed": (int,),
    "fmt": (str, list),
    "policy": (str, dict),
    "k": (int,),
    "acc": (str, dict),
    "steps": (bool,),
    "extrapolate": (bool,),
}
KEYS: Final = {"description", "op", "fmt", "out", "count", "level", "seed", "policy", "profile", "source"}
DOT_KEYS: Final = {"description", "op", "fmt", "out", "count", "level", "seed", "k", "acc", "steps", "extrapolate"}
DEFAULT_COUNT: Final = 10_000


def recipe_files() -> dict[str, Path]:
    """The shipped recipes by name."""
    return _files(_PLACES)


def suite_files() -> dict[str, Path]:
    """The shipped suites by name."""
    return _files(_SUITE_PLACES)


def _files(places: Iterable[Path]) -> dict[str, Path]:
    for place in places:
        if place.is_dir():
            return {p.stem: p for p in sorted(place.glob("*.toml"))}
    return {}


def load_recipe(name: str) -> AnySet:
    """The set of a shipped recipe, or of a TOML file. Raises Error."""
    if name.endswith(".toml"):
        return _read(Path(name))
    files = recipe_files()
    if name not in files:
        raise unknown("recipe", name, [*files, *suite_files()], " (or FILE.toml, or give --op and --fmt)")
    return _read(files[name])


def _read(path: Path) -> AnySet:
    table: dict[str, Any] = read_toml(str(path))
    try:
        return set_of(table)
    except Error as e:
        raise Error(f"{path}: {e}") from None


def set_of(table: Mapping[str, Any]) -> AnySet:
    """The set of a recipe's table. Raises Error."""
    if "part" in table:
        return from_recipe(table)
    keys = DOT_KEYS if table.get("op") == DOT else KEYS
    for key in table:
        if key not in keys:
            raise Error(f"unknown key {key!r}; keys: {', '.join(sorted(keys))}")
    missing = [k for k in ("op", "fmt") if k not in table]
    if missing:
        raise Error(f"{', '.join(missing)} missing")
    rest = dict(table)
    _check_types(rest)
    op, fmt, count, level = rest.pop("op"), rest.pop("fmt"), rest.pop("count", None), rest.pop("level", None)
    first = DEFAULT_COUNT if count is None else count
    made = DotSet.make(fmt, first, **rest) if op == DOT else VectorSet.make(op, fmt, first, **rest)
    return made if level is None else at_level(made, str(level), count)


def _check_types(table: dict[str, Any]) -> None:
    for key, value in table.items():
        kinds = _TYPES.get(key, (str,))
        if type(value) not in kinds:
            raise Error(f"{key} = {value!r} is no {' or '.join(k.__name__ for k in kinds)}")
    if isinstance(table["fmt"], list) and not all(isinstance(f, str) for f in table["fmt"]):
        raise Error("fmt is a list of names")
