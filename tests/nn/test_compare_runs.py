"""`train compare`: outcomes by recipe and seed, whoever trains them; means, spread, and runs that diverge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import run

from softfloat_ref.base.executors import workers
from softfloat_ref.nn import compare
from softfloat_ref.nn.training_recipe import load_recipe, read_recipe

SMALL = """
[model]
kind = "mlp"
hidden = [8]
[data]
name = "blobs"
[training]
epochs = 2
[optimizer]
rate = {rate}
[swa]
kind = "after"
count = 2
apart = 1
[formats]
weight = "fp16"
"""


def recipe_file(folder: Path, name: str, rate: float = 0.1) -> str:
    path = folder / f"{name}.toml"
    path.write_text(SMALL.format(rate=rate))
    return str(path)


def test_spread() -> None:
    assert compare.spread([1.0, 2.0, 3.0]) == (2.0, 1.0, 3)
    assert compare.spread([5.0]) == (5.0, 0.0, 1)
    assert compare.spread([]).runs == 0


@pytest.mark.full
def test_processes_change_nothing_and_finished_runs_are_kept(tmp_path: Path) -> None:
    recipe = load_recipe(recipe_file(tmp_path, "a"))
    with workers(1) as crew:
        here = compare.compare_recipes([recipe], (1, 2), crew, tmp_path / "out")
        seen: list[compare.RunOutcome] = []
        again = compare.compare_recipes([recipe], (1, 2, 3), crew, tmp_path / "out", seen.append)
    assert again[:2] == here  # seconds too: they were not done again
    assert [o.seed for o in seen] == [1, 2, 3]
    with workers(2) as crew:
        there = compare.compare_recipes([recipe], (3, 1), crew)
    assert [(o.seed, o.epochs, o.averaged) for o in there] == [
        (o.seed, o.epochs, o.averaged) for o in (again[0], again[2])
    ]
    longer = recipe.with_training(epochs=3)
    with workers(1) as crew:
        assert len(compare.compare_recipes([longer], (1,), crew, tmp_path / "out")[0].epochs) == 3  # another recipe


@pytest.mark.full
def test_diverged_runs_count_as_such(tmp_path: Path) -> None:
    bad = recipe_file(tmp_path, "bad", 1e30)
    outcome = compare.run_recipe(load_recipe(bad))
    assert outcome.diverged
    assert outcome.epochs == ()
    good = compare.run_recipe(
        read_recipe(json.loads(json.dumps({"model": {"kind": "mlp"}, "data": {"name": "blobs"}})), "good")
    )
    first, second = compare.summaries([good, outcome])
    assert (first.runs, first.diverged, first.time) == (1, (), 1.0)
    assert second.diverged[0].startswith("seed 1: ")
    table = json.dumps(compare.as_json([good, outcome]), allow_nan=False)
    assert json.loads(table)["summaries"][1]["train_loss"]["mean"] is None
    done = run("train", "compare", bad, "--seeds", "2", "--jobs", "1")
    assert done.returncode == 1
    assert done.stdout.count("diverged: seed") == 2


@pytest.mark.full
def test_table_and_json(tmp_path: Path) -> None:
    a, b = recipe_file(tmp_path, "a"), recipe_file(tmp_path, "b", 0.2)
    out = tmp_path / "runs"
    done = run("train", "compare", a, b, "--seeds", "2", "--jobs", "1", "-o", str(out))
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    assert head.split()[:2] == ["recipe", "runs"]
    assert [line.split()[:2] for line in lines] == [["a", "2"], ["b", "2"]]
    assert sorted(p.name for p in out.iterdir() if p.is_dir()) == ["a-seed1", "a-seed2", "b-seed1", "b-seed2"]
    table = json.loads(run("train", "compare", a, b, "--seeds", "2", "--json", "-o", str(out)).stdout)
    assert [s["recipe"] for s in table["summaries"]] == ["a", "b"]
    assert len(table["runs"]) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a.toml", "a.toml"], "given twice"),
        (["nowhere.toml"], "nowhere.toml"),
        (["dem"], "demo"),
    ],
)
def test_bad_input(words: list[str], message: str, tmp_path: Path) -> None:
    recipe_file(tmp_path, "a")
    done = run("train", "compare", *[str(tmp_path / w) if w.endswith(".toml") else w for w in words])
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
