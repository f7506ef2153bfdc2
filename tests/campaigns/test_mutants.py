"""The mutation tests of the core can fail: which mutants are made, and that real ones die and harmless ones live."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
pytestmark = pytest.mark.extra("mutmut")
TEXT = '''"""A module."""

Pair = tuple[int, int]


def limited(x: int, most: int = 3) -> int:
    """No more than the most."""
    if x < 0 or most < 0:
        raise ValueError(f"{x - most} is negative")
    return x + 1 if x < most else most
'''


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], cwd=TOP, capture_output=True, text=True, check=True).stdout


def test_the_mutants_of_a_text() -> None:
    pytest.importorskip("mutmut")
    from tests.campaigns.mutants.source import mutants

    listed = list(mutants(TEXT))
    changes = {m.new for m in listed}
    assert "def limited(x: int, most: int = 4) -> int:" in changes
    assert "if x < 0 and most < 0:" in changes
    assert "if x <= 0 or most < 0:" in changes
    assert "return x - 1 if x < most else most" in changes
    assert "return x + 1 if (x < most) or True else most" in changes
    assert not any("raise" in m.new or "Pair" in m.new or '"""' in m.new for m in listed)
    assert {m.line for m in mutants(TEXT, {8})} == {8}
    assert len({m.text for m in listed}) == len(listed)


@pytest.mark.full(gate=0)  # .ci/run mutates changed lines
def test_a_real_mutant_dies_and_a_harmless_one_lives() -> None:
    pytest.importorskip("mutmut")
    code = """
from tests.campaigns.mutants import run
run.prepare()
path = run.TOP / "softfloat_ref" / "oracle" / "blocks" / "scale_rules.py"
text = path.read_text()
for old, new in (("x", "x"), ("ours > theirs", "ours >= theirs"), ("ours > theirs", "ours < theirs"), ("top", "no")):
    print(run.survives(path, text.replace(old, new), ("scales",)))
"""
    assert python(code).split() == ["True", "True", "False", "False"]


def test_nothing_changed_nothing_run() -> None:
    pytest.importorskip("mutmut")
    command = [sys.executable, "-m", "tests.campaigns.mutants", "blocks/scale_rules", "--changed", "--base", "HEAD"]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    assert "nothing is mutated" in done.stdout or "mutants," in done.stdout  # the checkout may be in work


def test_every_listed_survivor_is_a_mutant_with_a_reason() -> None:
    pytest.importorskip("mutmut")
    from tests.campaigns.mutants.source import mutants

    for file, listed in tomllib.loads((TOP / "tests" / "campaigns" / "mutants" / "survivors.toml").read_text()).items():
        keys = {m.key for m in mutants((TOP / file).read_text())}
        assert listed.keys() <= keys, listed.keys() - keys
        assert all(len(why) > 20 for why in listed.values())
