"""Recipes: named vector sets, one TOML file each, shipped with the package or written by the user."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.tables import check, read_file
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.operations import get_operation
from softfloat_ref.oracle.sources import parse_source
from softfloat_ref.units import OPTIONS, MixedUnit, OperationUnit, options_of
from softfloat_ref.units.several import operations

# In a wheel beside this file; in a checkout at the top.
_RECIPE_FOLDERS: Final = (Path(__file__).parent / "recipes", Path(__file__).parents[2] / "vectors" / "recipes")
_SUITE_FOLDERS: Final = (_RECIPE_FOLDERS[0] / "suites", _RECIPE_FOLDERS[1].with_name("suites"))
_TYPES: Final[dict[str, Any]] = {
    "count": int,
    "level": int | str,
    "seed": int,
    "where": str,
    "fmt": str | tuple[str, ...],
    "policy": str | dict,
    "roundings": str | tuple[str, ...],
    **{name: row.kind or str | dict for name, row in OPTIONS.items()},
    "acc": str | dict,
}
_COMMON_KEYS: Final = {"description", "op", "fmt", "out", "count", "level", "seed", "where"}
_POLICY_KEYS: Final = ("policy", "roundings", "source")
ALL_KEYS: Final = {*_COMMON_KEYS, *_POLICY_KEYS, *OPTIONS}
_PART_KEYS: Final = {"op", "fmt", "out", "rounding", "place", "policy", "source"}
_MIXED_KEYS: Final = {
    "description", "count", "seed", "padding", "unboxed", "width", "sign_extend", "policy", "where", "part"
}  # fmt: skip
DEFAULT_COUNT: Final = 10_000


def recipe_files() -> dict[str, Path]:
    """The shipped recipes by name."""
    return _files(_RECIPE_FOLDERS)


def suite_files() -> dict[str, Path]:
    """The shipped suites by name."""
    return _files(_SUITE_FOLDERS)


def _files(places: Iterable[Path]) -> dict[str, Path]:
    for place in places:
        if place.is_dir():
            return {p.stem: p for p in sorted(place.glob("*.toml"))}
    return {}


def load_recipe(name: str) -> VectorSet:
    """The set of a shipped recipe, or of a TOML file. Raises Error."""
    if name.endswith(".toml"):
        return read_file(name, set_of)
    files = recipe_files()
    if name not in files:
        raise unknown("recipe", name, [*files, *suite_files()], " (or FILE.toml, or give --op and --fmt)")
    return read_file(files[name], set_of)


def is_recipe(name: str) -> bool:
    """Whether a name is that of a shipped recipe, or of a TOML file with the keys of one. Raises Error for a file that
    cannot be read."""
    if name.endswith(".toml"):
        return read_file(name, lambda table: bool({"op", "part"} & table.keys()))
    return name in recipe_files()


def set_of(table: Mapping[str, Any]) -> VectorSet:
    """The set of a recipe's table. Raises Error."""
    if "part" in table:
        return _mixed(table)
    keys = keys_of(table.get("op"))
    rest = check(table, "", {key: _TYPES.get(key, str) for key in sorted(keys)}, ("op", "fmt"))
    op, fmt, count, level = rest.pop("op"), rest.pop("fmt"), rest.pop("count", None), rest.pop("level", None)
    vectors = VectorSet.make(op, fmt, DEFAULT_COUNT if count is None else count, **rest)
    return vectors if level is None else vectors.at_level(str(level), count)


def only(table: Mapping[str, Any], keys: Collection[str], where: str = "") -> None:
    """Raise Error for a key of a table that is not among those."""
    for key in table:
        if key not in keys:
            raise unknown("key", key, sorted(keys), where)


def keys_of(op: object) -> set[str]:
    """The keys of a recipe for an operation. Raises Error for an unknown one."""
    taken = options_of(op) if isinstance(op, str) else frozenset({"policy"})
    return {*_COMMON_KEYS, *taken, *(_POLICY_KEYS if "policy" in taken else ())}


# -- of several operations ---------------------------------------------------------------------------------------------


def _mixed(table: Mapping[str, Any]) -> VectorSet:
    """The set of a recipe with [[part]] tables. A part's op and rounding may be lists: every one with every one."""
    only(table, _MIXED_KEYS)
    parts = table["part"]
    if not isinstance(parts, list) or not all(isinstance(p, dict) for p in parts):
        raise Error("[[part]] must be an array of tables")
    for name in ("count", "seed", "unboxed", "width"):
        if type(table.get(name, 0)) is not int:
            raise Error(f"{name} must be an integer")
    seed = int(table.get("seed", 0))
    rows = [x for part in parts for x in _expanded(part, table.get("policy", {}), seed)]
    places = [place for _, place, _ in rows]
    unit = MixedUnit(
        tuple(unit for unit, _, _ in rows),
        str(table.get("padding", "box")),
        int(table.get("width", 0)),
        tuple(places) if any(places) else (),
        tuple(_several(table["sign_extend"], "sign_extend")) if "sign_extend" in table else (),
    )
    sources = tuple(source for _, _, source in rows)
    return VectorSet(
        unit,
        int(table.get("count", DEFAULT_COUNT)),
        seed,
        sources if any(sources) else (),
        unboxed=int(table.get("unboxed", 0)),
        where=str(table.get("where", "")),
        description=str(table.get("description", "")),
    )


def _expanded(part: Mapping[str, Any], policy: object, seed: int) -> Iterator[tuple[OperationUnit, str, str]]:
    """The operations of a part, each with the places of its operands and the source of its random words."""
    only(part, _PART_KEYS, " (in [[part]])")
    for key in ("op", "fmt"):
        if key not in part:
            raise Error(f"[[part]]: {key} missing")
    rules: Any = part.get("policy", policy)
    for op in _several(part["op"]):
        get_operation(op)
        for unit in operations(op, part["fmt"], part.get("out"), rules, _several(part.get("rounding", ""))):
            random = unit.policy.random_count
            source = parse_source(part.get("source") or "philox", seed).spec() if random else ""
            yield unit, str(part.get("place", "")), source


def _several(value: Any, where: str = "[[part]]") -> list[str]:
    names: list[str] = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(v, str) for v in names):
        raise Error(f"{where}: {value!r} is neither a name nor a list of names")
    return names
