"""Logs of results with sticky flags: a bench notes where it clears them, and who reads the log starts again there."""

from __future__ import annotations

from pathlib import Path

import pytest
from benches import HANDSHAKE, build

from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.testing.check import check_results
from softfloat_ref.testing.judge import EARLIER_FLAGS, CheckReport

ADD = VectorSet.make("add", "fp16", 60)
RUN = 7  # operations from one clearing to the next


def judged(
    folder: Path, every: int, clear: str = "// clear", wrong: int = -1, flag: int = 4, cleared: bool = True
) -> CheckReport:
    """The report of a log. every: after so many operations the flags are cleared, and `clear` stands there; wrong: the
    number of an operation with this flag of its own; cleared: whether they really are."""
    texts, flags = ["// sticky = true"], 0
    for number, inputs in enumerate(ADD.inputs()):
        if number and number % every == 0:
            texts += [clear] if clear else []
            flags = 0 if cleared else flags
        *codes, own = ADD.line(inputs) or ()
        flags |= own | (flag if number == wrong else 0)
        texts.append(" ".join(f"{x:x}" for x in (*codes, flags)))
    log = folder / "log.txt"
    log.write_text("\n".join([*texts, ""]))
    return check_results(ADD, log)


@pytest.mark.parametrize("clear", ["// clear", "# clear", "//clear", "// clear  "])
def test_flags_are_gathered_from_each_clear_on(clear: str, tmp_path: Path) -> None:
    report = judged(tmp_path, RUN, clear)
    assert report.passed, report.mismatches
    assert report.compared == 60


def test_without_the_note_cleared_flags_are_missing(tmp_path: Path) -> None:
    report = judged(tmp_path, RUN, "")
    assert set(report.kinds) == {EARLIER_FLAGS}


def test_flags_that_a_clear_leaves_are_those_of_earlier_operations(tmp_path: Path) -> None:
    report = judged(tmp_path, RUN, cleared=False)
    assert set(report.kinds) == {EARLIER_FLAGS}


@pytest.mark.parametrize("every", [1, RUN, 60])
def test_a_flag_too_many_is_of_its_own_operation_until_the_next_clear(every: int, tmp_path: Path) -> None:
    """Those after it have one that came earlier; after the next clear, none."""
    right = [line for inputs in ADD.inputs() if (line := ADD.line(inputs)) is not None]
    wrong = next(i for i in range(2 * RUN, 60) if not any(line[-1] & 4 for line in right[i - i % RUN : i + RUN]))
    report = judged(tmp_path, every, wrong=wrong)
    own = [kind for kind in report.kinds if kind != EARLIER_FLAGS]
    assert [report.kinds[kind] for kind in own] == [1]
    end = min(wrong - wrong % every + every, 60)
    raised = next((i for i in range(wrong + 1, end) if right[i][-1] & 4), end)  # from there on it is right anyway
    assert report.kinds[EARLIER_FLAGS] == raised - wrong - 1


def test_a_wrong_flag_of_the_first_operation_after_a_clear(tmp_path: Path) -> None:
    """The device was seen to clear its flags, so a flag that was set before is that operation's own."""
    right = [line for inputs in ADD.inputs() if (line := ADD.line(inputs)) is not None]
    firsts = [i for i in range(0, 60, RUN) if not right[i][-1] & 1 and any(line[-1] & 1 for line in right[i - RUN : i])]
    report = judged(tmp_path, RUN, wrong=firsts[-1], flag=1)
    assert len(firsts) > 1  # at the others, the flag went
    assert [n for kind, n in report.kinds.items() if kind != EARLIER_FLAGS] == [1]


@pytest.mark.sim
@pytest.mark.full(keep=1)
@pytest.mark.parametrize("delay", [1, 0])
def test_a_bench_and_its_log_count_the_same(
    delay: int, simulator: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    """With flags that come with their result, or a cycle later; right, and in a device that does not clear them."""
    ports = HANDSHAKE.replace("delay = 1", f"delay = {delay}").replace("KEY = 32", f"NOW = {1 - delay}\nKEY = 32")
    bench = build(simulator, folders["add"], tmp_path / "w", ports)
    vectors = VectorSet.make("add", "fp16", 300)
    for bug in ("", "+bug_clear"):
        log = tmp_path / "log"
        run = bench.run(f"+results={log}", *([bug] if bug else []))
        assert log.read_text().count("// clear\n") >= 70
        report = check_results(vectors, log)
        counted = f"{report.mismatched} mismatches, 300 of 300" if bug else "PASS: 300 of 300 vectors"
        assert counted in run.output
        assert set(report.kinds) == ({EARLIER_FLAGS} if bug else set())
