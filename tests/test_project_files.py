"""The files for people and services at the top of the checkout agree with the package and with the gate."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from pages import blocks

import softfloat_ref

TOP = Path(__file__).parents[1]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
GATE = (TOP / ".ci" / "run").read_text().splitlines()
FINDINGS = sorted((TOP / "findings").iterdir())


def test_the_gate_runs_what_contributing_says() -> None:
    commands = [line for block in blocks(TOP / "CONTRIBUTING.md", "sh") for line in block.splitlines()]
    assert len(commands) >= 3
    assert not set(commands) - set(GATE)


def test_the_citation_is_of_this_package() -> None:
    cited = dict(re.findall(r"^([\w-]+): (.*)$", (TOP / "CITATION.cff").read_text(), re.M))
    assert cited["cff-version"] == "1.2.0"
    assert cited["version"] == softfloat_ref.__version__
    assert cited["license"] == PROJECT["license"]
    assert cited["title"].strip('"').lower().endswith(PROJECT["description"].lower())
    assert cited["keywords"].strip("[]").split(", ") == PROJECT["keywords"]


def test_the_workflow_runs_the_gate_with_every_supported_python() -> None:
    text = (TOP / ".github" / "workflows" / "ci.yml").read_text()
    assert re.findall(r"^ +- run: (.*)$", text, re.M) == [".ci/run"]
    (versions,) = re.findall(r"^ +python: \[(.*)\]$", text, re.M)
    minors = [int(x) for x in re.findall(r'"3\.(\d+)"', versions)]
    assert PROJECT["requires-python"] == f">=3.{minors[0]}"
    assert minors == [*range(minors[0], minors[-1] + 1)]


def test_the_hooks_before_a_commit_are_tools_of_the_extra_dev() -> None:
    entries = re.findall(r"^ +entry: (\w+)", (TOP / ".pre-commit-config.yaml").read_text(), re.M)
    installed = {re.split(r"\W", x)[0] for x in PROJECT["optional-dependencies"]["dev"]}
    assert entries
    assert set(entries) <= installed


@pytest.mark.parametrize("script", FINDINGS, ids=lambda p: p.name)
def test_a_finding_has_its_form(script: Path) -> None:
    text = script.read_text()
    head = re.match(r"#!/usr/bin/env bash\n# SPDX-License-Identifier: 0BSD\n#\n((?:#.*\n)+)set -euo pipefail\n", text)
    assert head is not None
    for part in ("What:", "Standard:", "Seen with ", f"Run: bash findings/{script.name}\n", "Exit code: 0 "):
        assert f"# {part}" in head[1], part
    assert "work=$(mktemp -d)\ntrap 'rm -rf \"$work\"' EXIT\n" in text
