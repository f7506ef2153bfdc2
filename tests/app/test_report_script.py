"""The script of reports and comparisons in a browser: search, sorting, measures, details, and the level that is asked
for. What it shows is compared with the numbers of the report's JSON, and with the rules of sorting, told again here."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import driven, needs_browser
from command import ok

pytestmark = [pytest.mark.full, needs_browser]
FORMATS = ["mxfp8_e4m3", "mxfp4_e2m1", "msfp12"]
KINDS = ("self_attn.q_proj", "mlp.up_proj", "mlp.down_proj")
MATRICES = ["embed_tokens.weight", *(f"layers.{i}.{kind}.weight" for i in range(16) for kind in KINDS)]
VECTORS = ["Final.bias", "lm_head.bias"]
EXACT, REFUSED = MATRICES[4], MATRICES[7]
FEW = 40  # rows that are shown at first
TEXTS = 4  # columns of text
ACTIONS = """
const byId = (id) => document.getElementById(id);
const all = (selector, from = document) => [...from.querySelectorAll(selector)];
const send = (element, name) => element.dispatchEvent(new Event(name, { bubbles: true }));
const type = (text, id = "search") => { byId(id).value = text; send(byId(id), "input"); };
const press = (key, on) => on.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const measure = (number) => { byId("measure").value = number; send(byId("measure"), "change"); };
const cells = (line) => [...line.cells].map((x) => x.textContent);
const tables = all("table.tensors");
const heads = (table) => [...table.tHead.rows[0].cells];
const sort = (column) => heads(tables[0])[column].querySelector("button").click();
const state = () => ({
  tables: tables.map((table) => all("tr[data-row]", table).filter((x) => !x.hidden).map(cells)),
  sorted: tables.map((table) => heads(table).map((x) => x.getAttribute("aria-sort"))),
  details: all("tr.details").map((x) => all("tr", x).map(cells)),
  matching: byId("matching").textContent,
});
"""


def page_of(folder: Path, *arguments: str) -> tuple[str, Any]:
    """The page of a report, and its JSON."""
    ok("report", *arguments, "-o", "r.html", "-o", "r.json", cwd=folder)
    return (folder / "r.html").read_text(), json.loads((folder / "r.json").read_text())


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any]:
    """Of 49 matrices, of which one is exact in every format and one has a NaN, which MSFP refuses; and two vectors."""
    random, folder = np.random.default_rng(3), tmp_path_factory.mktemp("script")
    tensors = {x: (2.0**-i * random.standard_t(3, (8, 32))).astype(np.float32) for i, x in enumerate(MATRICES)}
    tensors[EXACT][:] = 1
    tensors[REFUSED][0, 0] = np.nan
    np.savez(folder / "m.npz", **tensors, **{x: np.float32([1, 2, 3]) for x in VECTORS})
    return page_of(folder, "m.npz", *(word for fmt in FORMATS for word in ("--fmt", fmt)))


def numbers_of(report: tuple[str, Any]) -> dict[tuple[str, str], Any]:
    return {(x["tensor"], x["format"]): x for x in report[1]["rows"]}


SEARCHES: dict[str, Callable[[str], bool]] = {
    "MLP.up": lambda name: "mlp.up" in name,
    "layers.*.down": lambda name: "down" in name,
    "layers.1*q_proj": lambda name: name.startswith("layers.1") and "q_proj" in name,
    "attention 3": lambda name: "self_attn" in name and "3" in name,
    "embedding": lambda name: name.startswith("embed"),
    "final": lambda name: name == "Final.bias",
    "layers(": lambda name: False,
    "layersX*up": lambda name: False,
    "q.proj*weight": lambda name: False,
}


def test_search(report: tuple[str, Any]) -> None:
    """Words that all are in a name or kind, and patterns; of few tensors, all numbers; Escape; the key /."""
    script = f"""{ACTIONS} const states = [state()];
    for (const text of {json.dumps([*SEARCHES])}) {{ type(text); states.push(state()); }}
    for (const on of [document.body, byId("search")]) {{ press("Escape", on); states.push(state()); }}
    const focus = [byId("measure"), document.body].map((on) => (press("/", on), document.activeElement.id));
    return {{ states, focus }};"""
    result = driven(report[0], script)
    first, *searched, untouched, cleared = result["states"]
    assert result["focus"] == ["", "search"]
    assert first["matching"] == "51 tensors"
    assert [len(rows) for rows in first["tables"]] == [FEW, 2]
    assert cleared == first
    assert untouched == searched[-1]
    for text, state in zip(SEARCHES, searched, strict=True):
        wanted = [x for x in MATRICES + VECTORS if SEARCHES[text](x)]
        assert sorted(row[0] for table in state["tables"] for row in table) == sorted(wanted), text
        assert state["matching"] == f"{len(wanted)} of 51"
        assert len(state["details"]) == (len(wanted) if len(wanted) <= 2 else 0)


def test_all_numbers_of_a_tensor(report: tuple[str, Any]) -> None:
    """A click on its name opens them, another one closes them; a format that refuses it says why."""
    script = f"""{ACTIONS} type("layers.2.self_attn");
    const states = [state()], button = tables[0].querySelector("tr:not([hidden]) button.tensor");
    for (let i = 0; i < 2; i++) {{ button.click(); states.push([state(), button.getAttribute("aria-expanded")]); }}
    return states;"""
    opened, (closed, no), (again, yes) = driven(report[0], script)
    assert (no, yes, closed["details"], again) == ("false", "true", [], opened)
    (head, *rows), numbers = opened["details"][0], numbers_of(report)
    assert head[:2] == ["format", "SQNR, dB"]
    assert [row[0] for row in rows] == FORMATS
    for fmt, sqnr, error, *_ in rows[:2]:
        row = numbers[REFUSED, fmt]
        assert (float(sqnr), float(error)) == pytest.approx((row["sqnr_db"], row["max_error"]), rel=1e-3)
    assert rows[2][1] == f"refused: {numbers[REFUSED, 'msfp12']['problem']}"


def text_key(text: str) -> list[Any]:
    """Numbers in a text count as numbers, upper and lower case alike."""
    return [int(x) if x.isdigit() else x.lower() for x in re.split(r"(\d+)", text)]


def number_key(text: str) -> float:
    """An exact tensor is the highest; a range is its lower end; NaN: no number."""
    if text == "exact":
        return math.inf
    power = re.match(r"2\^(-?\d+)", text)
    number = re.match(r"(?:< )?([-+.e\d]+)", text)
    return 2.0 ** int(power[1]) if power else float(number[1]) if number and text != "-" else math.nan


def check_order(rows: list[list[str]], before: list[list[str]], column: int, up: bool, is_number: bool) -> None:
    """Sorted by a column; what is no number last; equal ones as they were before."""
    places = {row[0]: i for i, row in enumerate(before)}
    keys = [(number_key if is_number else text_key)(row[column]) for row in rows]
    for (a, b), (x, y) in zip(pairwise(rows), pairwise(keys), strict=True):
        if x == y or (x != x and y != y):  # NaNs
            assert places[a[0]] < places[b[0]], (column, a, b)
        else:
            assert y != y or (x < y) == up, (column, a, b)
    assert sorted(rows) == sorted(before)


def test_sorting(report: tuple[str, Any]) -> None:
    """By every column, twice, of all rows; the other table stays as it is."""
    columns = TEXTS + len(FORMATS)
    script = f"""{ACTIONS} const more = tables[0].parentElement.nextElementSibling, label = more.textContent;
    more.click();
    const states = [state()];
    for (let column = 0; column < {columns}; column++) {{
      for (const again of [0, 1]) {{ sort(column); states.push(state()); }}
    }}
    return {{ label, hidden: more.hidden, states }};"""
    result = driven(report[0], script)
    assert (result["label"], result["hidden"]) == ("Show all 49", True)
    for i, (before, state) in enumerate(pairwise(result["states"])):
        column, again = divmod(i, 2)
        check_order(state["tables"][0], before["tables"][0], column, again == 0, column >= TEXTS)
        marks = [None] * columns
        marks[column] = "descending" if again else "ascending"
        assert state["sorted"] == [marks, before["sorted"][1]]
        assert state["tables"][1] == before["tables"][1]
    last = [row for row in result["states"][2 * columns - 1]["tables"][0] if row[-1] == "refused"]
    assert [row[0] for row in last] == [REFUSED]


def test_measures(report: tuple[str, Any]) -> None:
    """Each shows its numbers; of all but the SQNR, the first click shows the highest first."""
    script = f"""{ACTIONS} tables[0].parentElement.nextElementSibling.click();
    const names = [...byId("measure").options].map((x) => x.textContent), states = [];
    for (const number of names.keys()) {{ measure(number); states.push(state()); sort({TEXTS}); states.push(state()); }}
    return {{ names, states }};"""
    result, numbers = driven(report[0], script), numbers_of(report)
    assert result["names"][:2] == ["SQNR, dB", "largest error"]
    for i, (before, after) in enumerate(zip(result["states"][::2], result["states"][1::2], strict=True)):
        assert before["sorted"][0][TEXTS:] == [None] * len(FORMATS)
        check_order(after["tables"][0], before["tables"][0], TEXTS, i == 0, True)
        keys = {0: "sqnr_db", 1: "max_error", 2: "max_relative_error"}
        for row in before["tables"][0] if i in keys else ():
            for fmt, text in zip(FORMATS, row[TEXTS:], strict=True):
                expected = numbers[row[0], fmt]
                if "problem" in expected:
                    assert text == "refused"
                elif row[0] != EXACT:
                    assert float(text) == pytest.approx(expected[keys[i]], rel=2e-3)


def test_the_level_that_every_matrix_must_keep(report: tuple[str, Any]) -> None:
    """The smallest format that keeps it, and how many matrices others lose; nothing where no level is asked for."""
    numbers, named = numbers_of(report), {x["format"]: x for x in report[1]["summary"]["formats"]}
    formats = [named[x] for x in FORMATS if x != "msfp12"]  # which refuses a matrix
    limits = [500.0, *(round(x["worst_sqnr_db"] + more, 2) for x in formats for more in (-0.5, 0.5))]
    script = f"""{ACTIONS} return {json.dumps([*map(str, limits), ""])}.map((text) => {{
      type(text, "need");
      return [byId("needed").textContent, all(".need-line").length];
    }});"""
    *states, nothing = driven(report[0], script)
    assert nothing == ["", 0]
    for limit, (text, lines) in zip(limits, states, strict=True):
        levels = {x["format"]: [numbers[name, x["format"]]["sqnr_db"] for name in MATRICES] for x in formats}
        below = {name: sum(x != "inf" and x < limit for x in own) for name, own in levels.items()}
        enough = min((x for x in formats if not below[x["format"]]), key=lambda x: x["bits_per_value"], default=None)
        answer = f"smallest: {enough['format']}, {enough['bits_per_value']:.4g} bits" if enough else "no format does"
        others = ", ".join(f"{x} {count} of {len(MATRICES)}" for x, count in below.items() if count)
        assert text == answer + f"; below: {others}" * bool(others)
        assert bool(lines) == (limit < 100)


def test_a_format_is_left_out_of_the_charts(report: tuple[str, Any]) -> None:
    script = f"""{ACTIONS} const [first, second] = all("input.show");
    const hidden = (box) => all(`.panels .${{box.dataset.series}}`).map((x) => x.style.display);
    return [0, 1, 2].map((i) => (i && first.click(), [hidden(first), hidden(second)]));"""
    states = driven(report[0], script)
    assert all(len(marks) > 10 for state in states for marks in state)
    assert [[set(marks) for marks in state] for state in states] == [[{""}, {""}], [{"none"}, {""}], [{""}, {""}]]


def test_a_comparison(tmp_path: Path) -> None:
    """Search, sorting and details of two models' differences, whose columns have no measure to choose."""
    random = np.random.default_rng(5)
    first = {x: random.standard_normal((8, 32)).astype(np.float32) for x in MATRICES[:6]}
    second = {x: w * np.float32(1 + i / 64) for i, (x, w) in enumerate(first.items())}
    np.savez(tmp_path / "a.npz", **first)
    np.savez(tmp_path / "b.npz", **second)
    page, rows = page_of(tmp_path, "a.npz", "--against", "b.npz")
    script = f"""{ACTIONS} const states = [state()];
    for (let column = 0; column < heads(tables[0]).length; column++) {{ sort(column); states.push(state()); }}
    type("up"); states.push(state());
    return {{ names: heads(tables[0]).map((x) => x.textContent), states }};"""
    result = driven(page, script)
    *states, searched = result["states"]
    fixed = next(i for i, name in enumerate(result["names"]) if name.startswith("SQNR"))
    for column, (before, state) in enumerate(pairwise(states)):
        is_number = column >= fixed
        check_order(state["tables"][0], before["tables"][0], column, not is_number or column == fixed, is_number)
    wanted = {x for x in first if "up" in x}
    assert {row[0] for row in searched["tables"][0]} == wanted
    assert searched["matching"] == f"{len(wanted)} of {len(first)}"
    assert len(searched["details"]) == len(wanted)
    assert {x["tensor"] for x in rows} == set(first)
