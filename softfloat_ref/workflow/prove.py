"""`prove`: two definitions, or a definition and a circuit, equal for every input; or an input that tells them apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.sources import Lfsr
from softfloat_ref.proof.engine import Decided, Tactics
from softfloat_ref.proof.equal import Equality
from softfloat_ref.proof.outcome import ProofOutcome, decide_circuit
from softfloat_ref.proof.prove import Proof
from softfloat_ref.proof.prove import prove as prove_problem
from softfloat_ref.proof.question import ALL, Problem, Question
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.proof.simplest import told_by_vectors
from softfloat_ref.proof.unroll import ANY, CHANGING, has_pauses
from softfloat_ref.rtl.port_map import read_ports
from softfloat_ref.rtl.reading import ReadFile
from softfloat_ref.rtl.sources import Sources, read_sources
from softfloat_ref.rtl.vhdl_units import NoNetlistError, check_one_text, with_netlist
from softfloat_ref.testing import judge  # noqa: F401  (the views of all kinds of units enter the table)
from softfloat_ref.units import Unit
from softfloat_ref.workflow.units import circuit_unit
from softfloat_ref.workflow.units import unit as unit_of
from softfloat_ref.workflow.verification import LIMIT_S

_VECTORS_S: Final = 2.0
Prover = Callable[[Problem], Proof]


def prove(
    what: str | Unit,
    fmt: Any = None,
    *,
    equal: Unit | Mapping[str, Any] | None = None,
    ports: str | Path | None = None,
    sources: Sources | Iterable[str | Path] = (),
    where: str = "",
    flags: bool = True,
    limit_s: float = LIMIT_S,
    strategy: Any = "auto",
    **options: Any,
) -> Proof | ProofOutcome:
    """Whether a circuit, or another definition, gives the exact answer for every input. `verdict`: proved,
    counterexample, undecided, or mismatch where a simulation of the sources shows something else than the netlist. Of
    VHDL without a netlist it is undecided, and `reason` says why.

    what, fmt, options: as for `unit`. equal: another unit, or the options that differ, such as
    {"policy": {"tininess": "before"}}; flags: whether these must be equal, too. ports, sources: the port map and the
    SystemVerilog files of a module. where: the range of the operands, such as "a is normal". limit_s: for each
    question to the solver. Needs `pip install 'softfloat-ref[prove]'`. Raises Error.
    """
    unit = circuit_unit(unit_of(what, fmt, **options))
    prover = partial(prove_problem, strategy=strategy, tactics=Tactics(limit_s))
    if (equal is None) == (ports is None):
        raise Error("prove takes equal, another definition, or ports and sources of a module")
    if equal is not None:
        other = equal if isinstance(equal, Unit) else unit_of(what, **{**options, "fmt": fmt, **equal})
        return compare(Equality(unit, circuit_unit(other), where, flags), prover)
    files = sources if isinstance(sources, Sources) else read_sources([str(x) for x in sources]).in_order()
    files = circuit_sources(files, str(ports))
    try:
        return decide_circuit(question_of(unit, str(ports), files, where), files, prover)
    except NoNetlistError as e:
        return Proof("undecided", (), reason=str(e))


def circuit_sources(sources: Sources, ports: str) -> Sources:
    """The sources of a circuit as a proof reads them: with a netlist in place of VHDL. Raises Error."""
    port_map = read_ports(ports)
    return with_netlist(sources, port_map.module, port_map.parameters)


def compare(problem: Equality, prover: Prover) -> Proof:
    """What comes of a comparison of two units: a counterexample among vectors takes no solver."""
    counterexample = None if problem.unit == problem.other else told_by_vectors(problem, _VECTORS_S)
    if counterexample is not None:
        return Proof("counterexample", (Decided(ALL, "counterexample", (), 0.0, counterexample),))
    return prover(problem)


def question_of(
    unit: Unit,
    ports: str,
    sources: Sources,
    assumed: str = "",
    *,
    frontend: Any = "slang",
    held: Mapping[str, str] | None = None,
    source: Lfsr | None = None,
    first: bool = False,
) -> Question:
    """The question whether a module computes a unit. first: only its first operation after the reset. Raises Misfit for
    a port map that does not fit, and Error."""
    check_one_text(sources)
    port_map = ReadFile.of(ports, "port map")  # first: who changes it during the proof fails the check
    connected = read_ports(ports)
    for name in unit.held.intersection(connected.ignore).difference((held or {}).values()):
        more = f"prove a module with a port for it, or one step of it: --register REGISTER={name} --first-operation"
        raise Error(f"{name} is a register of the circuit, which proofs do not follow; {more}")
    rtl = read_rtl(unit, connected, sources, frontend)
    rtl = dataclasses.replace(rtl, reading=rtl.reading.adding([port_map]))
    if first and source is not None:
        raise Error("--random-source is about all operations, --first-operation about one; leave one of them out")
    question = Question(unit, rtl, dict(held or {}), assumed, source)
    if first and question.design().observed.start in ("", ANY, CHANGING) and not has_pauses(rtl.ports):
        raise Error("--first-operation has no effect here: the proof covers every operation of this module")
    return question
