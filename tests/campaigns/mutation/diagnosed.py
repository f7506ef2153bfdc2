"""`python -m tests.campaigns.mutation.diagnosed`: what the diagnosis says of the bugs planted in the example circuits.

Each bug runs under a simulator in one setting, all its answers are kept, and `check`'s diagnosis is given them. A
table: the bug, how many cases it gets wrong, and what the best hypotheses say.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.checked import diagnosis_of
from softfloat_ref.diagnosis.findings import Diagnosis
from softfloat_ref.golden.writers import positions
from softfloat_ref.rtl.simulators import Simulator, find
from softfloat_ref.rtl.tolerance import CompareNan
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.judge import Judge

from . import stimuli
from .bench import TIMEOUT_S, TOP, bench_text
from .bugs import Bug, bugs, module
from .circuits import CIRCUITS, Cases, Circuit, Setting, Size

OWN = 15  # bugs that a circuit has behind its input `defect`
COUNTS = {"fp_convert": 4000, "fp16_fma": 8000, "mxfp8_quantize": 600, "mxfp8_dot": 3000, "bf16_stochastic": 4000}
# The setting a bug shows in, where the first does not show it, by the example circuits' tables.
_FORMATS = {
    2: "bf16",
    4: "fp16",
    5: "fp8_e5m2",
    7: "fp16",
    9: "fp8_e5m2",
    11: "bf16",
    12: "bf16",
    13: "fp16",
    14: "fp8_e5m2",
}
_ROUNDINGS = {3: "rna", 4: "rup", 6: "rtz", 11: "rtz", 13: "rdn", 14: "rdn"}
_SATURATED = (7, 8, 11, 13)
_FMA_ROUNDINGS = {7: "rtz", 8: "rdn", 9: "rup"}
_TASK = re.compile(r"  task compare;.*?endtask\n", re.S)
_RECORD = """\
  int log;
  task compare;
    if (done == 0 && sent == 0 && log == 0) begin
      if (!$value$plusargs("answers=%s", path)) path = "answers.txt";
      log = $fopen(path, "w");
    end
    if (due && {ready}) begin
      for (int i = 1; i < COPIES; i = i + 1) $fwrite(log, "%h ", got[i]);
      $fwrite(log, "\\n");
    end
  endtask
"""


@dataclass(frozen=True)
class DiagnosedBug:
    """A bug and its diagnosis; None where no case shows it."""

    circuit: str
    bug: Bug
    setting: str
    cases: int
    wrong: int
    diagnosis: Diagnosis | None
    seconds: float


def setting_of(circuit: Circuit, bug: Bug) -> Setting:
    """A setting that shows the bug."""
    if circuit.name == "fp_convert":
        n = bug.number
        parts = _FORMATS.get(n, "fp8_e4m3"), _ROUNDINGS.get(n, "rne"), "sat-finite" if n in _SATURATED else "sat-none"
        return circuit.setting("-".join(parts))
    if circuit.name == "fp16_fma":
        return circuit.setting(_FMA_ROUNDINGS.get(bug.number, "rne"))
    return circuit.settings[0]


class Recorder:
    """A bench that writes what every copy of a circuit answers."""

    def __init__(self, circuit: Circuit, bugs: Sequence[Bug], work: Path, simulator: Simulator | None = None) -> None:
        self.circuit, self.bugs, self.work = circuit, tuple(bugs), work
        self.simulator = simulator or find()
        work.mkdir(parents=True, exist_ok=True)
        bench, copies = work / f"{TOP}.sv", work / f"{circuit.name}_copies.sv"
        record = _RECORD.replace("{ready}", "out_ready")
        bench.write_text(_TASK.sub(lambda _: record, bench_text(circuit, bugs)))
        copies.write_text("\n".join(module(circuit, b) for b in bugs if b.edits))
        run = self.simulator.run([bench, circuit.source, copies], TOP, work_dir=work, timeout_s=TIMEOUT_S)
        if run.returncode:
            raise Error(f"{circuit.name}: the bench does not start: {run.output}")

    def answers(self, cases: Cases, setting: Setting) -> list[list[Answer]]:
        """For each case, what each bug answers."""
        inputs, log = self.work / f"{setting.name}.cases", self.work / f"{setting.name}.answers"
        stimuli.write_cases(self.circuit, cases, self._operands(cases), inputs)
        controls = [f"+{name}={value}" for name, value in setting.controls.items()]
        command = [*self.simulator.command(TOP, self.work), f"+cases={inputs}", f"+answers={log}", *controls]
        subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, cwd=self.work, check=True)
        lines = log.read_text().splitlines()
        return [[self._answer(word) for word in line.split()] for line in lines]

    @staticmethod
    def _operands(cases: Cases) -> Iterator[tuple[int, ...]]:
        width = sum(f.lanes for f in cases.fields if f.role == "operand")
        return (inputs[:width] for inputs in cases.inputs())

    def _answer(self, word: str) -> Answer:
        """A word of the bench as a result and flags, or as the codes of a block."""
        bits, lsb = int(word, 16), positions(self.circuit.fields)
        codes = []
        for f in self.circuit.fields:
            if f.role in ("result", "flags"):
                size = 4 * f.digits
                packed = [bits >> lsb[f.name] + i * f.width & (1 << f.width) - 1 for i in range(f.lanes)]
                codes += packed if f.lanes > 1 else [bits >> lsb[f.name] & (1 << size) - 1]
        if len(codes) == 2:
            return Answer((codes[0],), codes[1])
        return Answer(tuple(codes))


def diagnosed(
    circuit: Circuit, bugs: Sequence[Bug], work: Path, count: int = 0, simulator: Simulator | None = None
) -> Iterator[DiagnosedBug]:
    """Run the bugs and diagnose each."""
    recorder = Recorder(circuit, bugs, work, simulator)
    size = Size(count or COUNTS[circuit.name])
    by_setting: dict[str, list[Bug]] = {}
    for bug in bugs:
        by_setting.setdefault(setting_of(circuit, bug).name, []).append(bug)
    for name, group in by_setting.items():
        setting = circuit.setting(name)
        cases = setting.cases(size)
        answers = recorder.answers(cases, setting)
        lines = [line for inputs in cases.inputs() if (line := cases.line(inputs)) is not None]
        for bug in group:
            at, start = recorder.bugs.index(bug), time.monotonic()
            judge = Judge(cases, CompareNan.EXACT, True, 0)
            for line, row in zip(lines, answers, strict=True):
                judge.compare(line, row[at])
            diagnosis = diagnosis_of(judge.report)
            seconds = time.monotonic() - start
            yield DiagnosedBug(circuit.name, bug, name, len(lines), judge.report.mismatched, diagnosis, seconds)


def text(row: DiagnosedBug) -> str:
    """A row of the table."""
    d = row.diagnosis
    head = f"{row.circuit:15} {row.bug.number:3} {row.bug.text:66.66} {row.wrong:6} of {row.cases:<6}"
    if d is None or not d.findings:
        return f"{head} {'no case shows it' if d is None else 'nothing explains it'}"
    names = " | ".join(f.hypothesis.name for f in d.best[:3])
    return f"{head} {100 * d.findings[0].explained / d.examined:6.2f} %  {names}"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.mutation.diagnosed", description=__doc__)
    parser.add_argument("circuit", nargs="*", help=f"circuits (default: all): {', '.join(COUNTS)}")
    parser.add_argument("--bug", type=int, action="append", default=[], help="number of a bug (default: 1 to 15)")
    parser.add_argument("-n", type=int, default=0, help="cases")
    options = parser.parse_args()
    if unknown := set(options.circuit) - set(COUNTS):
        parser.error(f"no circuit {', '.join(sorted(unknown))}: {', '.join(COUNTS)}")
    total = complete = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in options.circuit or COUNTS:
            circuit = CIRCUITS[name]
            wanted = options.bug or range(1, OWN + 1)
            for row in diagnosed(
                circuit, [b for b in bugs(circuit) if b.number in wanted], Path(folder) / name, options.n
            ):
                print(text(row), flush=True)
                total += 1
                complete += row.diagnosis is not None and row.diagnosis.complete
    print(f"{total} bugs, {complete} of them explained in every case", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
