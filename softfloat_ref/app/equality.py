"""Two definitions against each other: how the second one is stated, and what came of the proof in words."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Final

import click
from click.core import ParameterSource

from softfloat_ref.app.requests import UnitRequest, request_options
from softfloat_ref.base.errors import Error, counted
from softfloat_ref.explanation.scalar import flag_text
from softfloat_ref.explanation.steps import SHOWN_LANES, number_text
from softfloat_ref.proof.equal import Equality
from softfloat_ref.proof.prove import Proof
from softfloat_ref.proof.question import Counterexample, Problem
from softfloat_ref.proof.simplest import simplest
from softfloat_ref.testing.views import view_of
from softfloat_ref.units import Unit

_SIMPLER_S: Final = 10.0  # for a simpler input, at most
_NO_RESULT: Final = "no defined result"


@click.command("prove --equal", add_help_option=False)
@click.argument("op", required=False)
@request_options
def _definition(request: UnitRequest, op: str | None) -> Unit:
    return request.circuit_unit(op)


def second_unit(text: str) -> Unit:
    """The unit of a text: a whole definition, or options that change that of the command line. Raises Error."""
    try:
        words = shlex.split(text)
    except ValueError as e:
        raise Error(f"--equal {text!r}: {e}") from None
    try:
        with _definition.make_context("--equal", words) as context:
            params = {p.name or "": context.params[p.name or ""] for p in _definition.params}
            typed = {k for k in params if context.get_parameter_source(k) is ParameterSource.COMMANDLINE}
    except click.UsageError as e:
        raise Error(f"--equal: {e.format_message()}") from None
    if not typed:
        raise Error("--equal: give options such as '--tininess before', or a whole definition")
    if "op" not in typed:
        first = click.get_current_context().params
        params = {k: value if k in typed else first[k] for k, value in params.items()}
    assert _definition.callback is not None
    unit: Unit = _definition.callback(**params)
    return unit


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
