"""The campaign that runs producers' packages: which sources it needs, and that these are found."""

from __future__ import annotations

import subprocess
from pathlib import Path

from softfloat_ref.arrays.block_setting import setting
from tests.campaigns.producers.__main__ import ROWS, searched
from tests.campaigns.producers.sources import FOUR_OVER_SIX, TRANSFORMER_ENGINE


def test_every_row_is_of_a_format_and_a_profile() -> None:
    for row in {**ROWS, **searched(None)}.values():
        chosen = setting(row.fmt, row.profile, None)
        assert chosen.profile.is_for(chosen.fmt.element.name, chosen.fmt.scale.name)


def test_sources_that_are_not_there_are_named(tmp_path: Path) -> None:
    rows = searched(tmp_path)
    assert [row.version(folder) for row in rows.values() for folder in (None, tmp_path)] == [None] * 2 * len(rows)
    assert "git clone https://github.com/NVIDIA/TransformerEngine" in rows["Transformer Engine mae 256"].absent
    assert f"git checkout {FOUR_OVER_SIX.commit[:8]}" in rows["fouroversix mse"].absent


def test_the_commit_that_is_there(tmp_path: Path) -> None:
    folder = tmp_path / TRANSFORMER_ENGINE.name
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "a"]):
        folder.mkdir(exist_ok=True)
        subprocess.run(["git", *words], cwd=folder, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True).stdout
    assert searched(tmp_path)["Transformer Engine mae 256"].version(tmp_path) == head.strip()
