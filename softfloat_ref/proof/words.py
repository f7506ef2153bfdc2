"""What came of a proof in words: about a circuit, and about two definitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from softfloat_ref.base.errors import counted
from softfloat_ref.explanation.scalar import flag_text
from softfloat_ref.explanation.steps import SHOWN_LANES, number_text
from softfloat_ref.golden.writers import text_line
from softfloat_ref.proof.btor2 import UNDEFINED
from softfloat_ref.proof.cosimulation import SimulatedDifference
from softfloat_ref.proof.equal import Equality
from softfloat_ref.proof.later import Later
from softfloat_ref.proof.outcome import ProofOutcome, macro_lines
from softfloat_ref.proof.prove import Proof
from softfloat_ref.proof.question import Counterexample, Problem, Question, other_latency
from softfloat_ref.proof.simplest import simplest
from softfloat_ref.proof.unroll import ANY, CHANGING
from softfloat_ref.proof.wave import write_wave
from softfloat_ref.rtl.binding import flag_mask
from softfloat_ref.rtl.bundle import ALL_FLAGS
from softfloat_ref.rtl.tolerance import Tolerance
from softfloat_ref.testing import judge  # noqa: F401  (the views of all kinds of units enter the table)
from softfloat_ref.testing.report import case_lines
from softfloat_ref.testing.views import view_of
from softfloat_ref.units import Unit

_SHOWN_INPUTS: Final = 8
_OPEN_PARTS: Final = {  # what is open, and what leaves it out
    "operations": ("later operations are", "--first-operation proves the first one alone"),
    "random bits": ("the sequence of random bits is", "without --random-source, it is left out"),
    "pauses": (
        "cycles without the clock enable are",
        "under [inputs] in place of enable, with a value, it is held on",
    ),
}
_SIMPLER_S: Final = 10.0  # for a simpler input, at most
_NO_RESULT: Final = "no defined result"


def outcome_lines(outcome: ProofOutcome, title: str = "") -> Iterator[str]:
    """What came of a circuit. title: of the unit, by default its label."""
    if outcome.opinion.difference is not None:
        yield from simulated_lines(outcome.question, outcome.opinion.difference)
        return
    question, proof = outcome.deciding
    title, module = title or question.unit.label, question.rtl.ports.module
    if question is not outcome.question:
        yield f"with SYNTHESIS defined, {module} is {title}; as simulators compile it:"
    if proof.counterexample is not None:
        yield f"COUNTEREXAMPLE: {module} is not {title}"
        yield from _counterexample(question, proof.counterexample)
        if (latency := other_latency(question)) is not None:
            yield f"  with latency = {latency}, most inputs that were tried have the right result"
    elif outcome.is_text_unseen and outcome.text is not None:
        yield f"UNDECIDED: {module} is {title} with SYNTHESIS defined; simulators compile another text"
        yield f"  that is not simulated: {'; '.join(outcome.opinion.absent.values())}"
        yield f"  and not proved, since Yosys does not read it: {outcome.text.unread}"
    elif proof.verdict == "proved":
        yield f"PROVED: {module} is {title} for {_inputs(question, proof)}{cases_words(proof)}"
        yield f"  {'; '.join([_circuit(question, proof.later), *_accepted(question, proof.later)])}"
        yield from (f"  {line}" for line in _looks(outcome))
    elif proof.later is not None:
        of, hint = _OPEN_PARTS[proof.later.about]
        yield f"UNDECIDED: {module} is {title} for {_inputs(question, proof)}{cases_words(proof)}"
        yield f"  {'; '.join([_circuit(question, None), *_accepted(question, None)])}"
        yield f"  {of} not decided: {proof.later.message}; {hint}"
    else:
        yield from undecided_lines(f"{module} and {title}", proof)


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
    """What the proof leaves out, and what was assumed of registers."""
    ports = question.rtl.ports
    if ports.ignore:
        yield f"without {', '.join(ports.ignore)}"
    yield from (f"{key} = {value}" for key, value in ports.tolerances.items() if value != "exact")
    yield from (f"register {name} holds {text}" for name, text in question.registers.items())
    yield from filter(None, (later.order, later.pauses) if later is not None else ())


def _counterexample(question: Question, counterexample: Counterexample) -> Iterator[str]:
    unit, got = question.unit, counterexample.answer(question.unit)
    view, flags = view_of(unit), flag_mask(question.rtl.ports)
    if not flags:
        got = got._replace(flags=None)
    if counterexample.protocol and counterexample.said:
        yield f"counterexample: {view.title}: {counterexample.said}"
    else:
        kind = view.kind(counterexample.inputs, counterexample.expected, got, Tolerance.of_ports(question.rtl.ports))
        kind = "no result, or not when it is due" if counterexample.protocol else kind or "bits beside the fields"
        changes = (
            []
            if counterexample.said
            else view.changes(counterexample.inputs, got, unit.has_flags and flags == ALL_FLAGS)
        )
        yield from case_lines(
            "counterexample",
            view,
            counterexample.inputs,
            counterexample.expected,
            got,
            counterexample.said or kind,
            changes,
        )
    yield f"  vector {text_line(unit.fields)((*counterexample.inputs, *counterexample.expected)).strip()}"
    yield from (f"  {line}" for line in counterexample.story)
    if counterexample.others and not counterexample.story:
        named = {name: value for name, value in counterexample.others.items() if not name.startswith(UNDEFINED)}
        if named:
            yield "  with " + ", ".join(f"{name} = {value:x}" for name, value in list(named.items())[:8])
        if len(named) < len(counterexample.others):
            yield "  with a choice for a value that the module leaves undefined (x)"


def simulated_lines(question: Question, difference: SimulatedDifference) -> Iterator[str]:
    """How a simulation differs from the netlist."""
    reader = "the netlist that GHDL makes of it" if difference.ports else "what Yosys reads"
    yield f"MISMATCH: {question.rtl.ports.module} as {difference.simulator} simulates it is not {reader}"
    inputs = difference.ports or {name: f"{code:x}" for name, code in difference.inputs.items()}
    for name, code in list(inputs.items())[:_SHOWN_INPUTS]:
        yield f"  {name:<8} {code}"
    when = f" in cycle {difference.cycle}" if question.rtl.ports.clock and not difference.ports else ""
    yield f"  {'outputs' if difference.output == 'got' else difference.output}{when}, in binary:"
    yield f"    netlist   {difference.netlist}"
    yield f"    {difference.simulator:<10}{difference.simulated}"
    if difference.agreeing:
        yield f"  {' and '.join(difference.agreeing)} shows what the netlist gives"
    if difference.macros:
        yield f"  with {' and '.join(difference.macros)} defined, as for the netlist, {difference.simulator} agrees"
    yield from (
        f"  {line}" for line in macro_lines(difference.macros, [file.path for file in question.rtl.reading.files])
    )
    yield "  nothing is proved of a netlist that is not its sources"


def _looks(outcome: ProofOutcome) -> Iterator[str]:
    """Whether simulators compile another text, and what is known of that; why no simulator ran, if none did."""
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
    later, decided = proof.later, next((d for d in proof.cases if d.counterexample is not None), None)
    if later is not None and later.counterexample is not None and later.steps:
        cycles = write_wave(question.design(), later.counterexample, path, later.steps)
    elif decided is not None and decided.counterexample is not None:
        cycles = write_wave(question.design(question.case(decided.case).part), decided.counterexample, path)
    else:
        why = (
            "the counterexample is about the sequence of a register's states"
            if proof.counterexample
            else "there is no counterexample"
        )
        return f"{path}: not written, since {why}"
    return f"{path}: {counted(cycles, 'cycle')}"


# -- in words ----------------------------------------------------------------------------------------------------------


def inputs_words(problem: Problem, which: str = "") -> str:
    """The inputs that a proof is about."""
    bits = sum(f.width * f.lanes for f in problem.unit.inputs)
    return f"all 2^{bits} inputs{which}" + (f" where {problem.assumed}" if problem.assumed else "")


def cases_words(proof: Proof) -> str:
    """The number of cases, if there are several."""
    return f", in {counted(len(proof.cases), 'case')}" if proof.split is not None else ""


def undecided_lines(what: str, proof: Proof) -> Iterator[str]:
    """The cases without an answer."""
    proved, of = sum(d.verdict == "proved" for d in proof.cases), len(proof.cases) + len(proof.open)
    yield f"UNDECIDED: {what}: {proved} of {counted(of, 'case')} proved"
    yield from (f"  {d.case}: {d.note}" for d in proof.undecided)
    yield from (f"  {name}: not begun" for name in proof.open)


def comparison_lines(problem: Equality, text: str, proof: Proof, limit_s: float) -> Iterator[str]:
    """What came of a comparison. text: of --equal; limit_s: to look for a simpler input."""
    both = f"{problem.unit.label}, and {'with ' if text.lstrip().startswith('-') else ''}{text.strip()}"
    both += "" if problem.flags else ", without flags"
    decided = next((d for d in proof.cases if d.counterexample), None)
    if decided is not None and decided.counterexample is not None:
        yield f"DIFFERENT: {both}"
        yield from difference_lines(
            problem, simplest(problem, decided.case, decided.counterexample, min(limit_s, _SIMPLER_S))
        )
    elif proof.verdict == "proved":
        yield f"EQUAL: {both}: for {inputs_words(problem)}{cases_words(proof)}"
        if any(d.undefined for d in proof.cases):
            yield "  the same inputs have no defined result"
    else:
        yield from undecided_lines(both, proof)


def difference_lines(problem: Equality, counterexample: Counterexample) -> Iterator[str]:
    """An input that tells two units apart, and both answers."""
    ours, theirs = problem.unit, problem.other
    yield from view_of(ours).operand_lines(counterexample.inputs)
    if len(ours.result_formats) == 1 or not (counterexample.expected and counterexample.got):
        yield f"  {'first':8} {_answer_text(ours, counterexample.expected)}"
        yield f"  {'second':8} {_answer_text(theirs, counterexample.got)}"
    else:
        yield from _lanes(problem, counterexample)
    if (
        counterexample.expected
        and counterexample.got
        and (command := view_of(ours).command(counterexample.inputs, counterexample.answer(theirs)))
    ):
        yield f"  {command}"


def _answer_text(unit: Unit, codes: Sequence[int]) -> str:
    if not codes:
        return _NO_RESULT
    if len(unit.result_formats) > 1:
        return "a defined result"
    return view_of(unit).answer_text(codes[0], codes[1] if unit.has_flags else None)


def _lanes(problem: Equality, counterexample: Counterexample) -> Iterator[str]:
    """The first few codes that differ."""
    first, second = counterexample.expected, counterexample.got
    view, pairs = view_of(problem.unit), list(zip(first, second, strict=False))
    formats = list(zip(problem.unit.result_formats, problem.other.result_formats, strict=True))
    places = [i for i in range(len(formats)) if pairs[i][0] != pairs[i][1]]
    for i in places[:SHOWN_LANES]:
        ours, theirs = (number_text(x, fmt) for x, fmt in zip(pairs[i], formats[i], strict=True))
        yield f"  {view.place_name(i)[1]}{view.origin(counterexample.inputs, i)}: first {ours}, second {theirs}"
    if len(places) > SHOWN_LANES:
        yield f"  and {len(places) - SHOWN_LANES} more lanes"
    if problem.flags and problem.unit.has_flags and first[-1] != second[-1]:
        yield f"  flags: first {flag_text(first[-1])}, second {flag_text(second[-1])}"
