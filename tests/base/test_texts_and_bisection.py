"""Bisection over integers, texts of assignments, and tables of TOML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from softfloat_ref import Error
from softfloat_ref.base import assignments, tables
from softfloat_ref.base.search import changes, first_that


@pytest.mark.parametrize("near", [None, -9, 0, 3, 7, 8, 9, 20, 99])
@pytest.mark.parametrize("answer", [0, 1, 7, 8, 19, 20])
def test_the_first_integer(answer: int, near: int | None) -> None:
    asked: list[int] = []

    def holds(i: int) -> bool:
        asked.append(i)
        return i >= answer

    assert first_that(0, 20, holds, near) == answer
    assert all(0 <= i < 20 for i in asked)
    if near == answer:
        assert len(asked) <= 2


def test_an_empty_range_asks_nothing() -> None:
    assert first_that(5, 5, lambda i: i == 1 // 0) == 5
    assert first_that(5, 5, lambda i: i == 1 // 0, 7) == 5


def test_integers_of_any_size() -> None:
    assert first_that(0, 1 << 200, lambda i: i * i >= 1 << 300) == 1 << 150


def test_changes() -> None:
    for begin, end, wide in ((3, 30, 7), (0, 100, 1), (0, 1 << 40, 1 << 37), (5, 5, 3)):
        points = list(changes(lambda x, wide=wide: x // wide, begin, end))  # type: ignore[misc]
        assert points == [(max(begin, k * wide), k) for k in range(begin // wide, end // wide + 1)]


def test_assignments() -> None:
    assert assignments.parse(" a = 1, b-c=x=y ,", "it", ("a", "b_c")) == {"a": "1", "b_c": "x=y"}
    assert assignments.parse("a=1,2", "it", separator=None) == {"a": "1,2"}
    assert assignments.parse_named("base , a=1", "it", "a") == ("base", {"a": "1"})
    assert list(assignments.words("one,two=2")) == [("one", None), ("two", "2")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a", "it: 'a' is not KEY=VALUE; keys: alpha, beta"),
        ("=1", "it: '' is not KEY=VALUE; keys: alpha, beta"),
        ("alpa=1", "unknown key 'alpa'; did you mean alpha? (in it)"),
        ("alpha=1,alpha=1", "it: alpha is given twice; keys: alpha, beta"),
    ],
)
def test_wrong_assignments(text: str, why: str) -> None:
    with pytest.raises(Error) as e:
        assignments.parse(text, "it", ("alpha", "beta"))
    assert str(e.value) == why
    with pytest.raises(Error, match="; do so"):
        assignments.parse(text, "it", ("alpha", "beta"), usage="do so")


@dataclass(frozen=True)
class Pin:
    port: str
    width: Annotated[int, tables.Range(1, 64)] = 1


@dataclass(frozen=True)
class Unit:
    name: str
    rate: Annotated[float, tables.Range(0)] = 0.5
    kind: Literal["in", "out"] = "in"
    of: str | Mapping[str, Any] | None = None
    at: tuple[int, ...] = ()
    pair: tuple[int, float] = (1, 2.0)
    pin: Pin = field(default_factory=lambda: Pin("a"))
    pins: tuple[Pin, ...] = ()


def test_a_table_becomes_a_dataclass() -> None:
    table = {"name": "u", "rate": 3, "at": [1, 2], "pair": [3, 4], "of": {"x": 1}, "pins": [{"port": "b", "width": 9}]}
    unit = tables.from_table(Unit, {**table, "pin": {"port": "c"}}, "unit")
    assert unit == Unit("u", 3, "in", {"x": 1}, (1, 2), (3, 4), Pin("c"), (Pin("b", 9),))
    assert tables.from_table(Unit, {"at": [5]}, "unit", unit).pins == (Pin("b", 9),)
    assert tables.choices(Unit, name=("u", "v")) == {"name": ("u", "v"), "kind": ("in", "out")}
    tables.check_choices(unit, "unit", tables.choices(Unit))


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ([], "unit: expected a table, not []"),
        ({}, "unit: name missing"),
        ({"nam": "u"}, "unknown key 'nam'; did you mean name? (in unit)"),
        ({"name": 3}, "unit: name = 3 is not of type str"),
        ({"rate": True}, "unit: rate = True is not of type float"),
        ({"rate": -1}, "unit: rate = -1; it must be at least 0"),
        ({"rate": float("nan")}, "unit: rate = nan; it must be at least 0"),
        ({"rate": float("inf")}, "unit: rate = inf; it must be at least 0"),
        ({"rate": 1 << 1023}, "unit: rate has an integer that does not fit float64"),
        ({"of": 3}, "unit: of = 3 is not of type str or table"),
        ({"at": 3}, "unit: at = 3 is not of type tuple of int"),
        ({"at": [3, "x"]}, "unit: at = [3, 'x'] is not of type int"),
        ({"pair": [3]}, "unit: pair = [3] is not of type tuple of int"),
        ({"pin": {"width": 1}}, "unit: pin: port missing"),
        ({"pin": {"port": "a", "width": 65}}, "unit: pin: width = 65; it must be from 1 to 64"),
        ({"pins": [{"port": "a", "widht": 1}]}, "unknown key 'widht'; did you mean width? (in unit: pins)"),
    ],
)
def test_wrong_tables(table: Any, why: str) -> None:
    with pytest.raises(Error) as e:
        tables.from_table(Unit, table, "unit")
    assert str(e.value) == why


def test_a_choice_is_one_of_its_words() -> None:
    with pytest.raises(Error, match="unknown kind of unit 'u': 'inn'; did you mean in"):
        tables.check_choices(Unit("u", kind="inn"), "unit 'u'", tables.choices(Unit))  # type: ignore[arg-type]


def test_variants() -> None:
    kinds = {"pin": Pin, "unit": Unit}
    assert tables.variant("part", kinds, {"kind": "pin", "port": "x"}, "unit") == Pin("x")
    assert tables.variant("part", kinds, {"name": "x"}, "unit") == Unit("x")
    with pytest.raises(Error, match="unknown part 'pim'; did you mean pin"):
        tables.variant("part", kinds, "pim", "unit")


def test_definitions_in_files(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text('[pins.a]\nport = "p"\n[pins.b]\nlike = "a"\n[pins.c]\nport = 1\n')

    def define(table: object, name: str) -> Pin:
        values, like = tables.split_like(table, name)
        base = None if like is None else tables.load_definition(f"{path}:{like}", "pins", define)
        return tables.from_table(Pin, values, name, base, also=tables.LIKE)

    assert tables.load_definition(f"{path}:b", "pins", define) == Pin("p")
    with pytest.raises(Error, match=r"x\.toml: c: port = 1 is not of type str"):
        tables.load_definition(f"{path}:c", "pins", define)
    with pytest.raises(Error, match="choose one as"):
        tables.load_definition(str(path), "pins", define)
    with pytest.raises(Error, match="given in full"), tables.in_full():
        tables.load_definition(f"{path}:a", "pins", define)
    with pytest.raises(Error, match="given in full"), tables.in_full():
        define({"like": "a"}, "b")
    path.write_text('[pins.a]\nlike = "a"\n')
    with pytest.raises(Error, match="refers to itself"):
        tables.load_definition(str(path), "pins", define)
