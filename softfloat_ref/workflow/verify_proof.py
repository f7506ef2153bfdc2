"""The proof of a verification, and what a failure means: a diagnosis, a waveform, a netlist that differs."""

from __future__ import annotations

import json
from functools import partial
from typing import Final

from softfloat_ref.base.errors import Error, counted
from softfloat_ref.base.executors import workers
from softfloat_ref.base.files import make_folder
from softfloat_ref.diagnosis.parts import ReportDiagnosis, explanation
from softfloat_ref.diagnosis.suspicion import unknown_answers
from softfloat_ref.proof.certify import certificate
from softfloat_ref.proof.cosimulation import Cosimulation
from softfloat_ref.proof.engine import Decided, Tactics
from softfloat_ref.proof.outcome import ProofOutcome, decide_circuit
from softfloat_ref.proof.prove import prove
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.words import outcome_lines, simulated_lines
from softfloat_ref.rtl.bench_runs import EndedError, ToolError
from softfloat_ref.rtl.bench_simulation import BenchSimulation
from softfloat_ref.units import Unit
from softfloat_ref.workflow.prove import question_of
from softfloat_ref.workflow.unit_simulation import UnitSimulation
from softfloat_ref.workflow.units import circuit_unit
from softfloat_ref.workflow.verification import StageVerdict
from softfloat_ref.workflow.verify_run import VerifyRun

CERTIFICATE: Final = "certificate.json"
WAVE: Final = "failure.vcd"


def diagnose(run: VerifyRun, look: UnitSimulation) -> ReportDiagnosis | None:
    """The stage that explains mismatches; None without any."""
    if look.report is None or not look.report.mismatched:
        return None
    with run.stage("diagnosis", "the mismatches are explained") as stage:
        cause = explanation(look.report)
        run.diagnoses += [] if cause is None else [cause]
        lines = cause.lines() if cause else [unknown_answers(look.report) or "no diagnosis"]
        stage.end("done", [line.removeprefix("diagnosis: ") for line in lines])
    return cause


def write_wave(run: VerifyRun, look: UnitSimulation) -> None:
    """A waveform of the first failure, if it is kept: of another build, which can write one."""
    request = run.request
    if not request.shown or look.bench.ports.is_judged:  # then no cycle is known to be the first
        return
    with run.stage("waveform", "the first failure is simulated again") as stage:
        path = str(request.folder / WAVE)
        simulation = BenchSimulation(run.sources, request.simulator, request.timeout_s, wave=path)
        work = make_folder(request.folder / "wave")
        build = simulation.build(look.bench.write(work), look.bench.top, work)
        try:
            ran = simulation.run(look.bench, build, work / "results.txt")
            text = simulation.dump(look.bench, build, ran)
        except Error as e:
            stage.end("left out", [str(e)])
            return
        run.files.append(WAVE)
        stage.end("done", [text.replace(path, run.path(WAVE))])


def compare_netlist(run: VerifyRun, look: UnitSimulation) -> None:
    """Whether a netlist of the sources does what the simulation does; nothing without the extra `prove`."""
    if run.request.limit_s is None:
        return
    with run.stage("netlist", "the netlist is compared with simulations") as stage:
        try:
            question = _question(run, look.unit)
            with Cosimulation(question, run.sources) as simulated:
                opinion = simulated.look()
        except Error as e:
            stage.end("left out", [e.reason if isinstance(e, ToolError) else str(e)])
            return
        if opinion.difference is None:
            stage.end("done", ["as simulated"])
        else:
            lines = list(simulated_lines(question, opinion.difference))
            run.differences += lines
            stage.end("failed", lines)


def prove_unit(run: VerifyRun, look: UnitSimulation) -> ProofOutcome | None:
    """The proof of a unit with which the simulation agrees; None without one."""
    limit_s = run.request.limit_s
    if limit_s is None:
        return None
    with run.stage("proof", f"{run.request.module} is proved") as stage:
        tactics = Tactics(limit_s)
        try:
            with workers(run.request.jobs) as pool:
                prover = partial(prove, strategy="auto", tactics=tactics, pool=pool, note=partial(_note_case, run))
                outcome = decide_circuit(_question(run, look.unit), run.sources, prover)
        except EndedError as e:
            run.ended = str(e)
            stage.end("failed", [run.ended])
            return None
        except Error as e:
            stage.end("left out", [str(e)])
            return None
        run.write(CERTIFICATE, json.dumps(certificate(outcome, "auto", tactics, run.request.folder), indent=1))
        verdicts: dict[str, StageVerdict] = {"proved": "passed", "undecided": "undecided"}
        stage.end(verdicts.get(outcome.verdict, "failed"), list(outcome_lines(outcome, run.title(look.unit))))
        if (words := run.words(look.unit)) is not None:
            stage.command = run.command("prove", *words, "--ports", run.ports_file, *run.source_words)
    return outcome


def _note_case(run: VerifyRun, decided: Decided, done: int, of: int) -> None:
    run.begin(f"{done} of {counted(of, 'case')} decided; the last, {decided.case}: {decided.verdict}")


def _question(run: VerifyRun, unit: Unit) -> Question:
    return question_of(circuit_unit(unit), str(run.ports_path), run.sources, run.request.vectors.where)
