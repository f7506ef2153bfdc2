"""What `prove` says of drawn circuits, and the table of it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from unittest import mock

from command import here

from readings.circuits import Circuit
from readings.simulated import Simulators, Truth
from softfloat_ref.base import disk_cache

BATCH: Final = 40  # circuits that are simulated at once
CERTIFICATE: Final = "proof.json"
SOURCE: Final = "not the source"  # the netlist is not the source
BY_X: Final = "x"  # a counterexample chooses a value that simulators happen to have for an x
FAULT: Final = "fault"
CHOICE: Final = "with a choice for a value that the module leaves undefined"
VERDICTS: Final = {0: "proved", 1: "refuted", 3: "undecided"}
_OWN: Final = re.compile(r"\S*\bc\d+(?:_\w+)?\b(?:\.\w+)?(?::\d+)*|\d+")

_ROW: Final = re.compile(r" *\d+'d\d+: table_of")


class Outcome(NamedTuple):
    """truth: of the simulators; verdict: of `prove`; said: its output. checked: whether the certificate of an earlier
    proof passes its check with the files of now."""

    circuit: Circuit
    truth: Truth
    verdict: str
    said: str
    checked: bool = False

    @property
    def kind(self) -> str:
        return self.truth.kind

    @property
    def forbidden(self) -> str:
        """What must not be, if it is."""
        if self.verdict == FAULT:
            return "A FAULT"
        if self.kind == "wrong" and self.verdict == "proved":
            return "WRONG AND PROVED"
        if self.kind == "wrong" and self.checked:
            return "WRONG AND THE CERTIFICATE OF BEFORE IS CONFIRMED"
        return "RIGHT AND REFUTED" if self.kind == "right" and self.verdict == "refuted" else ""

    @property
    def cell(self) -> str:
        """The verdict that counts."""
        return "proved" if self.kind == "wrong" and self.checked else self.verdict

    @property
    def reason(self) -> str:
        """Why it was refused, without names and numbers."""
        return _OWN.sub("_", self.said.strip().splitlines()[0].removeprefix("error: "))[:100] if self.said else ""

    @property
    def text(self) -> str:
        """What was drawn, and what came of it."""
        c = self.circuit
        others = ", ".join(e.name for e in c.others) or "nothing"
        icarus, verilator = (text or "cannot build it" for text in self.truth)
        lines = [
            f"== {self.forbidden}: --seed {c.seed} --from {c.number} --to {c.number + 1}",
            f"   {c.subject.group}: {c.subject.name}; beside it: {others}",
            f"   Icarus: {icarus}; Verilator: {verilator}",
            f"   softfloat-ref {' '.join(c.command)}",
        ]
        lines += [f"   {line}" for line in self.said.strip().splitlines()[-12 if self.verdict == FAULT else 0 :][:12]]
        for name, text in c.files.items():
            if text.strip():
                rows = [row for row in text.strip().splitlines() if not _ROW.match(row)]
                rows = rows if len(rows) < 60 else [*rows[:3], "..."]
                lines += [f"   --- {name}", *(f"   {row[:200]}" for row in rows)]
        return "\n".join(lines)


def outcomes(circuits: Iterable[Circuit], folder: Path, simulators: Simulators | None = None) -> Iterator[Outcome]:
    """What comes of circuits. folder: for their files."""
    simulators = simulators or Simulators(folder / "simulators")
    with mock.patch.dict(os.environ, {disk_cache.VARIABLE: str(folder / "kept")}):
        for batch in _batches(circuits):
            places = {c.name: folder / "circuits" / c.name for c in batch}
            for c in batch:
                c.write(places[c.name])
            truths = simulators.truths(batch, places)
            for c in batch:
                yield proved(c, places[c.name], truths[c.name])
                shutil.rmtree(places[c.name], ignore_errors=True)
        shutil.rmtree(folder / "kept", ignore_errors=True)


def _batches(circuits: Iterable[Circuit]) -> Iterator[Sequence[Circuit]]:
    batch: list[Circuit] = []
    for c in circuits:
        batch.append(c)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def proved(circuit: Circuit, folder: Path, truth: Truth) -> Outcome:
    """What `prove` says, after it was asked of the files as they were earlier, if they were others."""
    checked = False
    if circuit.earlier:
        circuit.write(folder, earlier=True)
        before = here(*circuit.command, "-o", CERTIFICATE, cwd=folder)
        circuit.write(folder)
        if before.returncode == 0:
            checked = here("prove", "--check", CERTIFICATE, cwd=folder).returncode == 0
    try:
        done = here(*circuit.command, cwd=folder)
    except Exception as e:  # the command line lets only Error through
        return Outcome(circuit, truth, FAULT, f"{type(e).__name__}: {e}", checked)
    if done.returncode > 128:  # a signal, which is for the campaign
        sys.exit(done.returncode)
    output = done.stdout + done.stderr
    return Outcome(circuit, truth, _verdict(done.returncode, output, done.stderr), output, checked)


def _verdict(code: int, output: str, errors: str) -> str:
    if "Traceback" in output:
        return FAULT
    if code == 2:
        lines = [line for line in errors.splitlines() if not line.endswith("is skipped")]
        return "refused" if len(lines) == 1 else FAULT
    if code == 1 and not output.startswith("COUNTEREXAMPLE"):
        return "refused" if output.startswith("FAIL: ") else SOURCE
    if code == 1 and CHOICE in output:
        return BY_X
    return VERDICTS.get(code, FAULT)


CELLS: Final = {
    "right": ("proved", "refused", SOURCE, "undecided", BY_X, "refuted"),
    "wrong": ("refuted", BY_X, "refused", SOURCE, "undecided", "proved"),
}


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A row for each group of ways of writing, and one for all: what `prove` says of right circuits and of wrong ones,
    in capitals what must not be."""
    short = {SOURCE: "source", "undecided": "open", BY_X: "by x"}
    titles = [[kind, *(short.get(v, v) for v in verdicts)] for kind, verdicts in CELLS.items()]
    for row in titles:
        row[-1] = row[-1].upper()
    yield f"{'':12}" + "".join(f"{title:>8}" for title in ("drawn", "unbuilt", *titles[0], *titles[1]))
    for group in sorted({o.circuit.subject.group for o in outcomes}):
        yield _row(group, [o for o in outcomes if o.circuit.subject.group == group])
    yield _row("all", outcomes)


def _row(name: str, outcomes: Sequence[Outcome]) -> str:
    kinds, cells = Counter(o.kind for o in outcomes), Counter((o.kind, o.cell) for o in outcomes)
    numbers = [len(outcomes), kinds["unusable"]]
    for kind, verdicts in CELLS.items():
        numbers += [kinds[kind], *(cells[kind, verdict] for verdict in verdicts)]
    return f"{name:12}" + "".join(f"{n:8}" for n in numbers)


def reasons(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Why right circuits were refused, the most frequent reasons first."""
    refused = [o for o in outcomes if o.kind == "right" and o.verdict in ("refused", "undecided", SOURCE)]
    for reason, count in Counter(f"{o.verdict}: {o.reason}" for o in refused).most_common():
        yield f"{count:6}  {reason}"


def ways(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The ways of writing in which something is that must not be, or that are right by what simulators make of x."""
    counts = Counter((o.forbidden or "right by x", o.circuit.subject.group, o.circuit.subject.name) for o in outcomes
                     if o.forbidden or (o.kind, o.verdict) == ("right", BY_X))  # fmt: skip
    for (what, group, name), count in sorted(counts.items()):
        yield f"{count:6}  {what}: {group}: {name}"
