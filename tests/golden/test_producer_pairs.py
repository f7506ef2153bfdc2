"""vectors/producers/pairs.csv: each line is what the scalar oracle gives, and its two answers differ."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from types import ModuleType

import pytest

from softfloat_ref.oracle.blocks.producers import PRODUCERS
from softfloat_ref.oracle.codec import decode

VECTORS = Path(__file__).parents[2] / "vectors"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_producer_pairs", VECTORS / "make_producer_pairs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lines() -> list[list[str]]:
    head, *rows = (VECTORS / "producers" / "pairs.csv").read_text().splitlines()
    assert head == script().HEAD
    return [row.split(",") for row in rows]


def test_every_pair_is_told_apart() -> None:
    made = script()
    for fmt, first, second, fill, values, one, other in lines():
        if one == other == "none found":
            assert not values
            continue
        codes = [int(x, 16) for x in values.split()]
        block = tuple(float(decode(x, "fp32")) if not decode(x, "fp32").is_nan else float("nan") for x in codes)
        block = () if codes == [0] and fill == "zeros" else block
        assert made.answer(block, fmt, first, fill) == one
        assert made.answer(block, fmt, second, fill) == other
        assert one != other


def test_every_pair_has_two_lines() -> None:
    profiles = script().PROFILES
    wanted = [(f, a, b) for f, names in profiles.items() for a, b in itertools.combinations(names, 2)]
    for fill in ("zeros", "last"):
        assert [tuple(row[:3]) for row in lines() if row[3] == fill] == wanted
    assert {p.name for p in PRODUCERS} - {"deepseek-fp8"} <= {name for names in profiles.values() for name in names}
    same = [row for row in lines() if row[3] == "zeros" and row[5] == "none found"]
    assert [row[:3] for row in same] == [
        ["mxfp8", "nvidia", "modelopt-mxfp8"],
        ["nvfp4", "nvfp4-4over6-mae", "nvfp4-4over6-max"],
    ]


@pytest.mark.full
def test_the_file_is_what_the_script_writes() -> None:
    made = script()
    assert (VECTORS / "producers" / "pairs.csv").read_text() == "\n".join([made.HEAD, *made.rows(), ""])
