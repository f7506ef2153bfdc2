"""What came of a proof about a circuit, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from softfloat_ref.app.equality import cases_words, inputs_words, undecided
from softfloat_ref.base.errors import counted
from softfloat_ref.golden.writers import text_line
from softfloat_ref.proof.btor2 import UNDEFINED
from softfloat_ref.proof.cosimulation import SimulatedDifference
from softfloat_ref.proof.later import Later
from softfloat_ref.proof.outcome import ProofOutcome, macro_lines
from softfloat_ref.proof.prove import Proof
from softfloat_ref.proof.question import Counterexample, Question, other_latency
from softfloat_ref.proof.unroll import ANY, CHANGING
from softfloat_ref.proof.wave import write_wave
from softfloat_ref.rtl.binding import flag_mask
from softfloat_ref.rtl.bundle import ALL_FLAGS
from softfloat_ref.testing import check  # noqa: F401  (the views of all kinds of units enter the table)
from softfloat_ref.testing.compare import CompareNan
from softfloat_ref.testing.report import case_lines
from softfloat_ref.testing.views import view_of

_LANES: Final = 8
_LEFT_OPEN: Final = {  # what is open, and what leaves it out, by whether it is of operations
    True: ("later operations are", "--first-operation proves the first one alone"),
    False: ("the sequence of random bits is", "without --random-source, it is left out"),
}


def outcome_lines(outcome: ProofOutcome) -> Iterator[str]:
    """What came of a circuit."""
    if outcome.opinion.difference is not None:
        yield from _mismatch(outcome.question, outcome.opinion.difference)
        return
    question, proof = outcome.deciding
    unit, module = question.unit, question.rtl.ports.module
    if question is not outcome.question:
        yield f"with SYNTHESIS defined, {module} is {unit.label}; as simulators compile it:"
    if proof.counterexample is not None:
        yield f"COUNTEREXAMPLE: {module} is not {unit.label}"
        yield from _counterexample(question, proof.counterexample)
        if (latency := other_latency(question)) is not None:
            yield f"  with latency = {latency}, most inputs that were tried have the right result"
    elif proof.verdict == "proved":
        yield f"PROVED: {module} is {unit.label} for {_inputs(question, proof)}{cases_words(proof)}"
        yield f"  {'; '.join([_circuit(question, proof.later), *_accepted(question, proof.later)])}"
        yield from (f"  {line}" for line in _looks(outcome))
    elif proof.later is not None:
        of, hint = _LEFT_OPEN[question.source is None or bool(proof.later.order)]
        yield f"UNDECIDED: {module} is {unit.label} for {_inputs(question, proof)}{cases_words(proof)}"
        yield f"  {'; '.join([_circuit(question, None), *_accepted(question, None)])}"
        yield f"  {of} not decided: {proof.later.message}; {hint}"
    else:
        yield from undecided(f"{module} and {unit.label}", proof)


def _inputs(question: Question, proof: Proof) -> str:
    defined = " with a defined result" if any(d.undefined for d in proof.cases) else ""
    return inputs_words(question, defined)


def _circuit(question: Question, later: Later | None) -> str:
    observed, ports = question.design().observed, question.rtl.ports
    if ports.clock is None:
        return "combinational"
    always = observed.start in (ANY, CHANGING)
    start = f"{'with' if always else 'the first operation'} {observed.start}"
    if later is not None and later.message:
        start = later.message
    if ports.latency is None and len(question.unit.parts) > 1:
        return start
    upto = "" if ports.latency is not None else "at most "
    return f"{upto}{counted(observed.cycles, 'cycle')}, {start}"


def _accepted(question: Question, later: Later | None) -> Iterator[str]:
    """What the proof says nothing of, and what was assumed of registers."""
    ports = question.rtl.ports
    if ports.ignore:
        yield f"without {', '.join(ports.ignore)}"
    yield from (f"{key} = {value}" for key, value in ports.tolerances.items() if value != "exact")
    yield from (f"register {name} holds {text}" for name, text in question.registers.items())
    if later is not None and later.order:
        yield later.order


def _counterexample(question: Question, found: Counterexample) -> Iterator[str]:
    unit, got = question.unit, found.answer(question.unit)
    view, flags = view_of(unit), flag_mask(question.rtl.ports)
    if not flags:
        got = got._replace(flags=None)
    if found.protocol and found.said:
        yield f"counterexample: {view.title}: {found.said}"
    else:
        kind = view.kind(found.inputs, found.expected, got, CompareNan.EXACT, True)
        kind = "no result, or not when it is due" if found.protocol else kind or "bits beside the fields"
        changes = [] if found.said else view.changes(found.inputs, got, unit.has_flags and flags == ALL_FLAGS)
        yield from case_lines("counterexample", view, found.inputs, found.expected, got, found.said or kind, changes)
    yield f"  vector {text_line(unit.fields)((*found.inputs, *found.expected)).strip()}"
    yield from (f"  {line}" for line in found.story)
    if found.others and not found.story:
        named = {name: value for name, value in found.others.items() if not name.startswith(UNDEFINED)}
        if named:
            yield "  with " + ", ".join(f"{name} = {value:x}" for name, value in list(named.items())[:8])
        if len(named) < len(found.others):
            yield "  with a choice for a value that the module leaves undefined (x)"


def _mismatch(question: Question, found: SimulatedDifference) -> Iterator[str]:
    """That a simulation shows something else than the netlist."""
    yield f"MISMATCH: {question.rtl.ports.module} as {found.simulator} simulates it is not what Yosys reads"
    for name, code in list(found.inputs.items())[:_LANES]:
        yield f"  {name:<9}{code:x}"
    when = f" in cycle {found.cycle}" if question.rtl.ports.clock else ""
    yield f"  {'outputs' if found.output == 'got' else found.output}{when}, in binary:"
    yield f"    netlist   {found.netlist}"
    yield f"    {found.simulator:<10}{found.simulated}"
    if found.agreeing:
        yield f"  {' and '.join(found.agreeing)} shows what the netlist gives"
    if found.macros:
        yield f"  with {' and '.join(found.macros)} defined, as for the netlist, {found.simulator} agrees"
    yield from (f"  {line}" for line in macro_lines(found.macros, [file.path for file in question.rtl.reading.files]))
    yield "  nothing is proved of a netlist that is not its sources"


def _looks(outcome: ProofOutcome) -> Iterator[str]:
    """What is known of the text that simulators compile, if there is one; that none compiled it, and why."""
    text, opinion = outcome.text, outcome.opinion
    if text is not None and text.rtl is None:
        yield f"the text for simulators is only simulated, since Yosys does not read it: {text.unread}"
    elif text is not None and not text.same:
        yield "the text for simulators, too"
    if not opinion.simulators:
        yield f"no simulation of the sources: {'; '.join(opinion.absent.values())}"


def waveform_line(outcome: ProofOutcome, path: str) -> str:
    """Write the waveform; the result in words."""
    if outcome.opinion.difference is not None:
        return f"{path}: not written, since there is no proof"
    question, proof = outcome.deciding
    later, found = proof.later, next((d for d in proof.cases if d.counterexample is not None), None)
    if later is not None and later.counterexample is not None and later.steps:
        cycles = write_wave(question.design(), later.counterexample, path, later.steps)
    elif found is not None and found.counterexample is not None:
        cycles = write_wave(question.design(question.case(found.case).part), found.counterexample, path)
    else:
        why = (
            "the counterexample is about the sequence of a register's states"
            if proof.counterexample
            else "there is no counterexample"
        )
        return f"{path}: not written, since {why}"
    return f"{path}: {counted(cycles, 'cycle')}"
