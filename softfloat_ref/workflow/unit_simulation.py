"""A simulation of a unit's vectors for `verify`, and what its failure means, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.findings import Finding, PeeledFault
from softfloat_ref.diagnosis.parts import ReportDiagnosis
from softfloat_ref.diagnosis.report import case_text, sentence, shared_facts
from softfloat_ref.golden.sets import VectorSet, of_unit
from softfloat_ref.rtl.bench_runs import BenchRun, Build
from softfloat_ref.rtl.bench_simulation import VectorBench
from softfloat_ref.rtl.port_map import PortMap
from softfloat_ref.testing import report as reports
from softfloat_ref.testing.check import check_results
from softfloat_ref.testing.judge import CheckReport
from softfloat_ref.units import Unit

SHOWN_MISMATCHES: Final = 3


@dataclass(frozen=True)
class UnitSimulation:
    """A simulation of a unit's vectors: its bench, what the bench printed, and the results compared; None for a unit
    that only benches compare."""

    bench: VectorBench
    build: Build
    run: BenchRun
    report: CheckReport | None

    @property
    def passed(self) -> bool:
        judged = self.report is not None and self.report.passed
        return self.bench.passed(self.run) and (judged or not self.bench.ports.is_judged)

    @property
    def unit(self) -> Unit:
        return self.bench.vectors.unit


def results_of(vectors: VectorSet, log: Path, shown: int = SHOWN_MISMATCHES) -> CheckReport | None:
    """The results in a log, compared; None without a log, and for units that only benches compare. shown: mismatches in
    full."""
    try:
        return check_results(vectors.compared(), log, shown=shown) if log.is_file() else None
    except Error:  # such as a matrix product
        return None


def failure_lines(look: UnitSimulation) -> Iterator[str]:
    """What failed: the first mismatches, from the log if it has any, else what the bench printed."""
    report = look.report
    if look.run.ended:
        yield from look.bench.ended_lines(look.run)
    if report is None or not report.mismatched:
        yield from look.bench.lines(look.run)
        return
    yield mismatches_words(look)
    # Answers with X or Z bits are no codes: only the bench shows them.
    yield from reports.report_lines(report) if report.mismatches else look.bench.lines(look.run)


def first_shown(look: UnitSimulation) -> Iterator[str]:
    """The first mismatch that the bench printed."""
    name = look.bench.vectors.name
    yield from [line for line in look.bench.lines(look.run) if line.startswith(f"{name}.")][:1]


def mismatches_words(look: UnitSimulation) -> str:
    """How many vectors differ; or why the bench failed."""
    report = look.report
    if look.run.ended:
        return look.bench.ended_lines(look.run)[0].removeprefix("FAIL: ")
    count = look.bench.manifest["count"]
    if report is not None and report.mismatched:
        kinds = ", ".join(f"{n} {kind}" for kind, n in report.kinds.most_common())
        return f"{report.mismatched} of {count} vectors differ ({kinds})"
    return next((line for line in look.bench.lines(look.run) if line.startswith("FAIL")), "the bench did not end")


def error_words(ports: PortMap) -> str:
    """The error that a port map allows; '' if none."""
    if ports.kappa is not None:
        return f" with kappa = {ports.kappa}"
    return f" within {ports.ulp} ulp" if ports.ulp else ""


def of_other_unit(vectors: VectorSet, unit: Unit) -> VectorSet:
    """A set of another unit, of the same size, seed and range."""
    return of_unit(unit, vectors.count, vectors.level or None, vectors.seed, vectors.source or None, vectors.where)


def explaining_unit(cause: ReportDiagnosis) -> tuple[Unit, str] | None:
    """The unit of another policy, profile or accumulator that explains at least half of the mismatches, and what is
    different; None if there is none."""
    if cause.whole is None:
        return None
    several = cause.whole.several
    findings: list[Finding | PeeledFault] = [*cause.whole.findings[:1], *(several.faults if several else ())]
    for finding in findings:
        known = finding.hypothesis
        if known.unit is not None and 2 * finding.mismatches >= cause.whole.wrong:
            return known.unit, known.name
    return None


def simplest_lines(cause: ReportDiagnosis | None) -> Iterator[str]:
    """The diagnosis of what is still different, with its smallest input."""
    if cause is None:
        return
    if cause.whole is None:
        yield from cause.lines()
        return
    yield from (line.removeprefix("diagnosis: ") for line in cause.suspected)
    condition = "if the connection is right, " if cause.suspected else ""
    yield condition + re.sub("^the device ", "the module ", sentence(cause.whole, cause.unit))
    yield from (f"  {line}" for line in shared_facts(cause.whole))
    yield from smallest_input(cause)


def ended_input(look: UnitSimulation) -> Iterator[str]:
    """The smallest known input of a simulation that ended, or what was in flight."""
    lines = look.bench.ended_lines(look.run)[1:] if look.run.ended else []
    yield from (f"{'in flight' if len(lines) > 1 else 'smallest known input'}, {line}" for line in lines)


def smallest_input(cause: ReportDiagnosis | None) -> Iterator[str]:
    """The smallest input of a diagnosis with both answers; nothing for a unit of several parts."""
    if cause is not None and cause.whole is not None and cause.whole.simplest is not None:
        yield f"smallest input: {case_text(cause.whole.simplest, cause.unit)}"
