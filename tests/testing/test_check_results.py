"""check: files of results, logs of simulations, and lines that carry their operands."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import refused, run

from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.testing.answers import executed_cases
from softfloat_ref.testing.check import check_lines, check_results


@pytest.fixture
def golden(tmp_path: Path) -> tuple[Path, list[str]]:
    folder = tmp_path / "golden"
    generate(VectorSet.make("mul", "fp16", 500), folder)
    return folder, [line.split(" ", 2)[2] for line in (folder / "mul_fp16_rne.tv").read_text().splitlines()]


def test_results_of_a_simulator(golden: tuple[Path, list[str]], tmp_path: Path) -> None:
    folder, answers = golden
    results = tmp_path / "results.txt"
    args = ["check", "--golden", str(folder), "--results", str(results)]
    results.write_text("// from the simulator\n" + "\n".join(answers) + "\n")
    assert run(*args).returncode == 0
    results.write_text("\n".join(a.split()[0] for a in answers))
    assert run(*args).returncode == 0  # without flags
    results.write_text("\n".join([*answers[:-1], "FFFF 1f"]))
    done = run(*args)
    assert done.returncode == 1
    assert "case 500: mul" in done.stdout
    for lines, message in (
        (answers[:-1], "1 answers too early"),
        ([*answers, answers[0]], "more lines than the set has cases"),
        ([], "500 answers too early"),
        (["xxxg"], "not a line of a result"),
    ):
        results.write_text("\n".join(lines))
        done = run(*args)
        assert done.returncode == 1
        assert message in done.stdout


def test_a_log_without_flags_of_one_operand(tmp_path: Path) -> None:
    """An operand and a result look like a result and flags: the log's comment tells them apart."""
    vectors, log = VectorSet.make("sqrt", "fp16", 200), tmp_path / "log"
    lines = [f"{line[0]:04x} {line[1]:04x}" for inputs in vectors.inputs() if (line := vectors.line(inputs))][::-1]
    log.write_text("\n".join(["// flags = none", *lines]))
    assert check_results(vectors, log).passed
    assert list(executed_cases(vectors, log)) == [(int(line[:4], 16),) for line in lines]
    log.write_text("\n".join(["// flags = none", f"{lines[0][:4]} 1234", *lines[1:]]))
    (mismatch,) = check_results(vectors, log).mismatches
    assert (mismatch.operands, mismatch.got.codes, mismatch.got.flags) == ((int(lines[0][:4], 16),), (0x1234,), None)


def test_golden_has_its_own_policy_and_must_be_whole(golden: tuple[Path, list[str]], tmp_path: Path) -> None:
    folder, answers = golden
    results = tmp_path / "results.txt"
    results.write_text("\n".join(answers))
    args = ["check", "--golden", str(folder), "--results", str(results)]
    for more in (["--round", "rtz"], ["--fmt", "fp32"], ["--out", "bf16"], ["-n", "5"], ["--seed", "3"]):
        assert f"has its own cases and policy; leave {more[0]} out" in refused(*args, *more)
    text = folder / "mul_fp16_rne.tv"
    text.write_bytes(text.read_bytes()[:-2] + b"9\n")
    assert "SHA-256 differs" in refused(*args)


def test_lines_that_carry_their_operands(golden: tuple[Path, list[str]]) -> None:
    vectors = VectorSet.make("mul", "fp16", 1)
    lines = (golden[0] / "mul_fp16_rne.tv").read_text().splitlines()
    assert check_lines(vectors, lines).compared == 500
    assert check_lines(vectors, lines).passed
    assert not check_lines(vectors, []).passed
    assert "line 1: 'zz'" in check_lines(vectors, ["zz"]).failure
    assert "line 1: no flags" in check_lines(vectors, ["3C00 3C00 3C00"]).failure
    assert check_lines(vectors, ["3C00 3C00 3C01 00"]).mismatched == 1
    assert check_lines(vectors, ["3C00 3C00 3C00"], flags=False).passed
    assert check_lines(vectors, ["3C00 3C00 3C00 1f"], flags=False).passed
    assert check_lines(vectors, lines, count=500).passed
    assert check_lines(vectors, lines, count=501).failure == "500 lines arrived, but 501 were expected"
    assert check_lines(vectors, lines, count=499).failure == "500 lines arrived, but 499 were expected"


def test_lines_in_a_pipe(golden: tuple[Path, list[str]]) -> None:
    """A device that stops halfway, one without flags, one with another NaN."""
    lines = (golden[0] / "mul_fp16_rne.tv").read_text().splitlines()
    args = ["vectors", "verify", "-", "--op", "mul", "--fmt", "fp16"]
    assert run(*args, "-n", "500", stdin="\n".join(lines)).returncode == 0
    half = run(*args, "-n", "500", stdin="\n".join(lines[:250]))
    assert half.returncode == 1
    assert "250 lines arrived, but 500 were expected" in half.stdout
    bare = [line.rsplit(" ", 1)[0].replace(" 7E00", " 7F00") for line in lines]
    assert run(*args, "--no-flags", "--compare-nan", "quiet", stdin="\n".join(bare)).returncode == 0
    assert run(*args, "--no-flags", stdin="\n".join(bare)).returncode == 1
    for option in (["-n", "5"], ["--compare-nan", "any"], ["--no-flags"]):
        assert "only apply to -" in refused("vectors", "verify", str(golden[0]), *option)
