"""Writes certificates (certificate.py reads them)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from softfloat_ref.proof.certificate import SCHEMA, seal, versions
from softfloat_ref.proof.engine import Decided, Tactics
from softfloat_ref.proof.later import Later
from softfloat_ref.proof.outcome import ProofOutcome, SimulatedText
from softfloat_ref.proof.prove import Proof
from softfloat_ref.proof.question import Question
from softfloat_ref.symbolic.smtlib import expression
from softfloat_ref.symbolic.terms import FALSE
from softfloat_ref.symbolic.units import lane_widths
from softfloat_ref.units import stored

MEANING: Final = (
    "The circuit as Yosys reads it, with two-valued signals and one clock, gives the expected outputs of the unit for "
    "every input that is assumed. It rests on Yosys, on the solver, and on this package's reading of both sides."
)


def certificate(outcome: ProofOutcome, strategy: str, tactics: Tactics, folder: Path) -> dict[str, Any]:
    """The certificate of a proof. folder: to which its paths are relative."""
    from softfloat_ref import __version__

    question, proof, opinion = outcome.question, outcome.proof, outcome.opinion
    later = proof.later
    observed, ports = question.design().observed, question.rtl.ports
    return seal(
        {
            "schema": SCHEMA,
            "tool": "softfloat-ref",
            "version": __version__,
            "verdict": outcome.verdict,
            "meaning": MEANING,
            "unit": stored(question.unit),
            "name": question.unit.name,
            "module": ports.module,
            "reading": question.rtl.reading.table(folder.resolve()),
            "ports": _plain(dataclasses.asdict(ports)),
            "registers": dict(question.registers),
            "source": question.source and question.source.spec(),
            "netlist": {"sha256": question.rtl.netlist.hash, "yosys": question.rtl.netlist.yosys},
            "start": observed.start,
            "cycles": observed.cycles if len(question.unit.parts) == 1 else None,
            "solvers": versions("bitwuzla", tactics.confirm),
            "strategy": strategy,
            "limit_s": tactics.limit_s,
            "where": question.assumed,
            "inputs": lane_widths(question.unit.inputs),
            "assumption": expression(question.domain),
            "split": None if proof.split is None else dataclasses.asdict(proof.split),
            "later": later and _later(later),
            "second_opinion": dataclasses.asdict(opinion),
            "simulated_text": outcome.text and _text(outcome.text, folder),
            "cases": _cases(question, proof),
            "not_begun": list(proof.open),
            "gave_way": [_case(question, decided) for decided in proof.tried],
            "seconds": sum(d.seconds for d in (*proof.cases, *proof.tried)),
        }
    )


def _later(later: Later) -> dict[str, str]:
    return {"verdict": later.verdict, "said": later.message, "order": later.order, "pauses": later.pauses}


def _text(text: SimulatedText, folder: Path) -> dict[str, Any]:
    if text.rtl is None:
        return {"unread": text.unread}
    table = {"reading": text.rtl.reading.table(folder.resolve()), "netlist": text.rtl.netlist.hash}
    if text.question is None or text.proof is None:
        return table
    return {**table, "verdict": text.proof.verdict, "cases": _cases(text.question, text.proof)}


def _cases(question: Question, proof: Proof) -> list[dict[str, Any]]:
    return [_case(question, decided) for decided in proof.cases]


def _case(question: Question, decided: Decided) -> dict[str, Any]:
    table, case = dataclasses.asdict(decided), question.case(decided.case)
    inputs = FALSE if case.inside else case.assumption  # it has none of its own
    return {"name": table.pop("case"), "assumption": expression(inputs), **table}


def _plain(value: Any) -> Any:
    """A port map's table as JSON has it."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value
