"""`python -m tests.campaigns.mutation.verified`: what `verify` says of each bug planted in the example circuits.

Each bug is verified from its sources as a user would, without a line of a port map: drafted, simulated, diagnosed, and
proved where no vector shows it. A table: the bug, the verdict, and what `diagnosed` says of it, for the circuits that
it has.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.findings import Diagnosis
from softfloat_ref.diagnosis.parts import PartDiagnosis, ReportDiagnosis
from softfloat_ref.rtl.module_ports import Expression
from softfloat_ref.rtl.simulators import Simulator, find
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.rtl.vhdl_units import generic_values, with_netlist
from softfloat_ref.workflow.verification import Stage, Verification, VerifyRequest
from softfloat_ref.workflow.verify import Verifier

from .bugs import Bug
from .circuits import CIRCUITS
from .diagnosed import COUNTS, diagnosed
from .planted import PlantedCircuit, circuits

NAMED: Final = "named"  # the diagnosis explains every case, or another unit is what the module is
PARTLY: Final = "partly"  # nearly every mismatch; or some, with "perhaps"
PERHAPS: Final = "perhaps"
UNNAMED: Final = "unnamed"  # vectors show it, and nothing explains them
STOPPED: Final = "bench"  # the bench says what is wrong
REFUTED: Final = "refuted"  # no vector shows it, but the proof does
NOT_SEEN: Final = "not seen"
PROVED: Final = "no bug"  # it changes nothing, and is proved
FAILED: Final = "error"
LIMIT_S: Final = 60.0
TIMEOUT_S: Final = 300.0
_GOOD: Final = {NAMED, STOPPED, REFUTED}


class VerifiedBug(NamedTuple):
    """A bug and what came of it. says: in a few words; diagnosed: what the diagnosis says of all answers."""

    circuit: str
    bug: Bug
    verdict: str
    says: str
    wrong: str
    seconds: float
    diagnosed: str = ""


def verified(
    circuit: PlantedCircuit, bug: Bug, folder: Path, count: int, limit_s: float | None, simulator: Simulator
) -> VerifiedBug:
    """Verify the circuit with a bug; with a proof, if vectors do not show it."""
    start, wrong = time.monotonic(), ""
    try:
        for limit in (None,) if limit_s is None else (None, limit_s):
            request = _request(circuit, bug, folder, count, limit, simulator)
            verifier = Verifier(request, lambda _: None, lambda _: None)
            verdict, says = _verdict(verifier.verify(), verifier)
            wrong = _wrong(verifier.stages)
            if verdict != NOT_SEEN:
                break
    except Error as e:
        verdict, says = FAILED, str(e)
    return VerifiedBug(circuit.name, bug, verdict, says, wrong, time.monotonic() - start)


def _request(
    circuit: PlantedCircuit, bug: Bug, folder: Path, count: int, limit_s: float | None, simulator: Simulator
) -> VerifyRequest:
    folder.mkdir(parents=True, exist_ok=True)
    module, listed = circuit.module(bug), read_sources(circuit.sources(bug, folder)).in_order()
    parameters = generic_values(listed, {n: Expression(text) for n, text in circuit.parameters(bug).items()})
    return VerifyRequest(
        vectors=circuit.asked(bug, count),
        words=(),
        sources=with_netlist(listed, module, parameters),
        source_words=(),
        module=module,
        parameters=parameters,
        ports_file=None,
        folder=folder / "verify",
        shown="",
        simulator=simulator,
        timeout_s=TIMEOUT_S,
        limit_s=limit_s,
        no_proof="left out" if limit_s is None else "",
        settings=circuit.known,
    )


def _verdict(result: Verification, verifier: Verifier) -> tuple[str, str]:
    """The verdict, and why in a few words."""
    simulated = [stage for stage in result.stages if stage.name.startswith("simulation")]
    proof = next((stage for stage in result.stages if stage.name == "proof"), None)
    says = proof.lines[0] if proof else ""
    if len(simulated) == 1 and simulated[0].verdict == "passed":
        if proof is not None and proof.verdict == "passed":
            return PROVED, says
        return (REFUTED, says) if result.verdict == "failed" else (NOT_SEEN, says)
    if simulated[-1].verdict == "passed":
        return NAMED, simulated[-1].name.removeprefix("simulation of ")
    if not verifier.diagnoses:
        return STOPPED, next((x for x in simulated[-1].lines if x.startswith("FAIL")), simulated[-1].lines[0])
    verdict, says = judged(verifier.diagnoses[-1])
    if len(simulated) > 1:  # another unit explains most mismatches, and this the rest
        name = simulated[-1].name.removeprefix("simulation of ")
        return (NAMED if verdict == NAMED else PARTLY), f"{name}, and there {says}"
    return verdict, says


def judged(cause: ReportDiagnosis) -> tuple[str, str]:
    """How far a diagnosis names what is wrong, and what it says."""
    if cause.order is not None:
        verdict, says = (NAMED, "") if cause.rest is None else judged(cause.rest)
        return verdict, "; ".join(filter(None, (cause.order.sentence, says)))
    wholes = [cause.whole] if cause.whole is not None else [p.diagnosis for p in cause.parts if p.diagnosis is not None]
    if not wholes:
        return (PARTLY, cause.suspected[0]) if cause.suspected else _by_kinds(cause.parts)
    levels = [_level(whole) for whole in wholes]
    share = min(whole.explained / whole.examined for whole in wholes)
    says = " // ".join(dict.fromkeys(_words(whole) for whole in wholes))
    return max(levels, key=(NAMED, PARTLY, PERHAPS, UNNAMED).index), f"{100 * share:.2f} % {says}"


def _by_kinds(parts: Sequence[PartDiagnosis]) -> tuple[str, str]:
    """Of parts without mismatches of their own: what operands and results have around them names the bug."""
    kinds = sum((p.report.kinds for p in parts), Counter[str]())
    return (NAMED if kinds else UNNAMED), ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())


def _level(whole: Diagnosis) -> str:
    if not whole.findings and whole.several is None:
        return NAMED if whole.late else UNNAMED
    if whole.explained == whole.examined:
        return NAMED
    return PARTLY if whole.explains_nearly_all else PERHAPS


def _words(whole: Diagnosis) -> str:
    if whole.several is not None:
        return " + ".join(f.hypothesis.name for f in whole.several.faults)
    return " | ".join(f.hypothesis.name for f in whole.best[:2]) or "nothing"


def _wrong(stages: Sequence[Stage]) -> str:
    """How many vectors differ from what was asked."""
    first = next((stage for stage in stages if stage.name == "simulation"), None)
    return first.lines[0].partition(" vectors")[0] if first and "differ" in first.lines[0] else ""


def beside(circuit: str, some: Sequence[Bug], folder: Path, count: int) -> dict[int, str]:
    """What `diagnosed` says of bugs, by number; empty for a circuit that it does not have."""
    if circuit not in COUNTS:
        return {}
    rows: dict[int, str] = {}
    for row in diagnosed(CIRCUITS[circuit], some, folder, count):
        d = row.diagnosis
        if d is None:
            rows[row.bug.number] = "no case shows it"
        else:
            rows[row.bug.number] = f"{_level(d)} {100 * d.explained / d.examined:.2f} % {_words(d)}"
    return rows


def text(row: VerifiedBug) -> str:
    """A row of the table."""
    bug = f"{row.circuit:21} {row.bug.number:3} {row.bug.text:60.60}"
    also = f"\n{'':26} diagnosed: {row.diagnosed}" if row.diagnosed else ""
    return f"{bug} {row.wrong:14} {row.seconds:6.1f} s  {row.verdict:8} {row.says}{also}"


def run(options: argparse.Namespace, folder: Path) -> Iterator[VerifiedBug]:
    """A row for each bug."""
    known, simulator = circuits(options.listed), find(options.simulator)
    for name in options.circuit or known:
        circuit = known[name]
        count = options.n or circuit.count
        some = [b for b in circuit.bugs if not options.bug or b.number in options.bug]
        said = beside(name, some, folder / f"{name}-diagnosed", count) if options.diagnosed else {}
        for bug in some:
            limit_s = None if options.no_prove else options.limit
            row = verified(circuit, bug, folder / f"{name}-{bug.number}", count, limit_s, simulator)
            yield row._replace(diagnosed=said.get(bug.number, ""))


def main() -> int:
    """Print the table; 1 if a bug is neither named nor refuted."""
    options = _options()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        for row in run(options, options.work or Path(place)):
            print(text(row), flush=True)
            counts[row.verdict] += 1
    words = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
    print(f"{counts.total()} bugs: {words}")
    return int(bool(set(counts) & {UNNAMED, NOT_SEEN, FAILED}))


def _options() -> argparse.Namespace:
    known = circuits()
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.mutation.verified", description=__doc__)
    parser.add_argument("circuit", nargs="*", help=f"circuits (default: all): {', '.join(known)}")
    parser.add_argument("--bug", type=int, action="append", default=[], help="number of a bug (default: all)")
    parser.add_argument("--listed", action="store_true", help="also the bugs of tables/*.toml")
    parser.add_argument("-n", type=int, default=0, help="vectors (default: as `diagnosed`, else 4000)")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help=f"of a question to the solver ({LIMIT_S:g} s)")
    parser.add_argument("--no-prove", action="store_true", help="without proofs and netlists")
    parser.add_argument("--diagnosed", action="store_true", help="also what `diagnosed` says, where it has a circuit")
    parser.add_argument("--simulator", help="verilator or icarus (default: the first found)")
    parser.add_argument("--work", type=Path, help="where to build (default: a folder that is removed)")
    options = parser.parse_args()
    if unknown := set(options.circuit) - set(known):
        parser.error(f"no circuit {', '.join(sorted(unknown))}: {', '.join(known)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
