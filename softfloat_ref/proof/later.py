"""What a circuit does beyond one operation: with others in flight, a result that waits, random bits of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Literal

from softfloat_ref.base.errors import Error, counted
from softfloat_ref.base.search import find_first
from softfloat_ref.golden.writers import text_line
from softfloat_ref.oracle.sources import Lfsr
from softfloat_ref.proof.design import BoundDesign
from softfloat_ref.proof.engine import Verdict
from softfloat_ref.proof.generator import WrongState, check_generator
from softfloat_ref.proof.operations import (
    EXTRA_RESULT,
    NO_RESULT,
    WITHDRAWN,
    WRONG_RESULT,
    WRONG_TAG,
    Event,
    NumberedOperations,
    OperationFault,
)
from softfloat_ref.proof.question import Counterexample, Question, input_names, oracle
from softfloat_ref.proof.solver import solve
from softfloat_ref.proof.stream import follow
from softfloat_ref.proof.unroll import (
    ANY,
    CHANGING,
    Contents,
    MachineRun,
    after_reset,
    free_contents,
    has_pauses,
    kept_contents,
    unrequested,
)
from softfloat_ref.proof.walk import walk_at_random
from softfloat_ref.symbolic.build import eq, not_, or_, substitute
from softfloat_ref.symbolic.terms import TRUE, Term, const, evaluate, evaluator, var, variables
from softfloat_ref.symbolic.units import lane_widths
from softfloat_ref.units import SelectionUnit

OTHER_BITS: Final = "wrong random bits"
_SHOWN_LANES: Final = 4  # lanes of inputs
_MORE_CYCLES: Final = 4  # cycles more than two operations take
_DEPENDS_ON_REGISTERS: Final = "the result depends on what registers hold before the operation"
_RESULT_DEPENDS_ON_REGISTERS: Final = "whether there is a result without an operation depends on what registers hold"
_WITHOUT_LATENCY: Final = "; without latency in the port map, out_valid alone says when"
_EVENT_TEXTS: Final = {
    WRONG_RESULT: "the result of operation {} is wrong",
    WRONG_TAG: "the result of operation {} has another tag",
    EXTRA_RESULT: "a result comes without an operation",
    WITHDRAWN: "the result of operation {} is withdrawn",
    NO_RESULT: "no result of operation {} comes",
}


@dataclass(frozen=True)
class Later:
    """What came of later operations. message: what is proved, is wrong, or is in the way; order: what is proved of
    random bits; pauses: of cycles without the clock enable; about: what is open, if anything is; steps: of the
    counterexample, as those of Observed."""

    verdict: Verdict
    message: str = ""
    order: str = ""
    pauses: str = ""
    about: Literal["operations", "random bits", "pauses"] = "operations"
    counterexample: Counterexample | None = None
    steps: Sequence[Contents] = ()


def later(question: Question, limit_s: float) -> Later | None:
    """What follows the first operation; None if nothing does, or if that is proved with it. limit_s: for a question to
    the solver. Raises Error."""
    ports = question.rtl.ports
    if ports.clock is None:
        return None
    if ports.latency is not None:
        starts = {question.design(part).observed.start for part in range(len(question.unit.parts))}
        if not starts <= {ANY, CHANGING}:
            why = _DEPENDS_ON_REGISTERS + _WITHOUT_LATENCY if has_pauses(ports) else _DEPENDS_ON_REGISTERS
            return shown_or(question, walk_at_random(NumberedOperations(question.design(), question.assumption)), why)
    outcome = Later("proved")
    if has_pauses(ports):
        outcome = _of_pauses(question, limit_s)
        if outcome.verdict != "proved":
            return outcome
    if question.source is not None:
        (name,) = question.registers
        outcome = _of_source(question, name, question.source, limit_s)
    if outcome.verdict != "proved" or ports.latency is not None:
        return outcome if question.source is not None else None
    if question.registers and question.source is None:
        return Later("undecided", "--register without --random-source covers one operation only")
    return replace(_of_stream(question, limit_s), order=outcome.order)


# -- a handshake -------------------------------------------------------------------------------------------------------


def _of_stream(question: Question, limit_s: float) -> Later:
    if len(question.unit.parts) > 1 and question.assumption is not TRUE:
        return Later("undecided", "--where is not supported for later operations of a set of several")
    followed = follow(question.design(), question.assumption, limit_s)
    if followed.fault is None and not followed.why:
        states = counted(followed.states, "state")
        return Later("proved", f"every operation {question.design().observed.start}, with any stalls ({states})")
    return shown_or(question, followed.fault, followed.why or "only operations without a defined result may be wrong")


def shown_or(question: Question, fault: OperationFault | None, why: str) -> Later:
    """A fault; if there is none, or if it is none for the oracle, why there is no proof."""
    shown = None if fault is None else _shown(question, fault)
    if fault is None or shown is None:
        return Later("undecided", why)
    return Later("counterexample", fault.kind, counterexample=shown, steps=fault.steps)


def _shown(question: Question, fault: OperationFault) -> Counterexample | None:
    """A fault as the case of its operation; None if the oracle accepts the result."""
    number = max(fault.number - (fault.kind == EXTRA_RESULT), 0)
    design, inputs = _case(question, fault.model, f"#{number}")
    try:
        expected = oracle(question.unit, inputs)
    except Error:
        return None
    (got,) = evaluate([fault.got], fault.model)
    wrong, codes = _answer(design, const(got, fault.got.width), expected)
    if fault.kind == WRONG_RESULT and not wrong:
        return None
    story = tuple(_story(question, fault, number))
    return Counterexample(inputs, expected, codes, dict(fault.model), fault.kind != WRONG_RESULT, fault.kind, story)


def _case(question: Question, model: Mapping[str, int], end: str) -> tuple[BoundDesign, tuple[int, ...]]:
    """The circuit doing an operation, and the operation's inputs. end: that of its variables' names."""
    unit = question.unit
    own = {name.removesuffix(end): x for name, x in model.items() if name.endswith(end)}
    part = 0
    if len(unit.parts) > 1 or "others" in own:
        driven = question.design().driven
        (word, part) = driven.chosen(own.get("others", 0), own.get("operation", 0))
        own = driven.lanes(word)
    if isinstance(unit, SelectionUnit):
        controls = [f.name for f in unit.inputs if f.role == "control"]
        own |= zip(controls, unit.codes(unit.parts[part]), strict=False)
    return question.design(part), tuple(own.get(name, 0) for name in input_names(unit))


def _answer(design: BoundDesign, got: Term, expected: Sequence[int]) -> tuple[bool, tuple[int, ...]]:
    """Whether outputs are wrong, and the codes in them."""
    circuit, lanes = design.giving(got), lane_widths(design.unit.outputs)
    wants = {name: const(x, width) for (name, width), x in zip(lanes.items(), expected, strict=True)}
    wrong, *codes = evaluator([circuit.wrong(wants), *(circuit.code(name, wants[name]) for name in lanes)])({})
    return bool(wrong), tuple(codes)


def _story(question: Question, fault: OperationFault, number: int) -> Iterator[str]:
    """What happens, cycle by cycle, with equal cycles in one line; and the other operations."""
    texts = [", ".join(_event(event)) for event in fault.events[:-1]]
    last = _event(fault.events[-1]._replace(shown=None, ready=True))
    texts.append(", ".join([*last, _EVENT_TEXTS[fault.kind].format(number + 1)]))
    first = 0
    for i, text in enumerate(texts):
        if i + 1 == len(texts) or texts[i + 1] != text:
            if text:
                yield f"{'cycle' if first == i else f'cycles {first + 1} to'} {i + 1}: {text}"
            first = i + 1
    line = text_line(question.unit.inputs)
    for other in sorted({e.begun for e in fault.events if e.begun is not None} - {number}):
        yield f"operation {other + 1}: {line(_case(question, fault.model, f'#{other}')[1]).strip()}"


def _event(event: Event) -> list[str]:
    if event.paused:
        return ["the clock enable is off"]
    texts = [] if event.begun is None else [f"operation {event.begun + 1} is taken"]
    if event.shown is not None:
        texts.append(f"the result of operation {event.shown + 1} {'is taken' if event.ready else 'waits'}")
    elif not event.ready:
        texts.append("the output is stalled")
    return texts


# -- a fixed latency ---------------------------------------------------------------------------------------------------


def _of_pauses(question: Question, limit_s: float) -> Later:
    """Whether there is a result at other times than when it is due: from the reset on, and from any contents of the
    registers, except for those that never change after it."""
    design, ports = question.design(), question.rtl.ports
    machine, latency, free = design.machine, ports.latency or 0, free_contents(design.machine)
    run = after_reset(machine, ports)
    begin, first = len(run.steps), dict(run.contents)
    for at, (extra, got) in enumerate(islice(unrequested(run, ports, design.driven.any), 2 * latency + _MORE_CYCLES)):
        if {*free.values()} & {*variables([extra])}:  # no reset sets them
            continue
        answer = solve([extra], limit_s)
        if answer.result == "unknown":
            return Later("undecided", f"whether there is a result without an operation, within {limit_s:g} s")
        if answer.result == "sat":
            return _unrequested(question, answer.model, got, run.steps, at - latency + begin, at)
    always = MachineRun(machine, {**free, **kept_contents(machine, ports, first)})
    *_, (extra, _) = islice(unrequested(always, ports, design.driven.any), latency + 1)
    if solve([extra], limit_s).result == "unsat":
        return Later("proved")
    return Later("undecided", _RESULT_DEPENDS_ON_REGISTERS + _WITHOUT_LATENCY)


def _unrequested(
    question: Question, model: Mapping[str, int], got: Term, steps: Sequence[Contents], due: int, at: int
) -> Later:
    """A result without an operation, and what was offered in the cycle in which there would have been one. due: that
    cycle's number in the names of variables; at: the result's cycle, from the reset on."""
    latency, story = question.rtl.ports.latency or 0, [f"cycle {at + 1}: {_EVENT_TEXTS[EXTRA_RESULT]}"]
    if at >= latency:
        story.insert(0, f"cycle {at + 1 - latency}: no operation is taken")
    design, inputs = _case(question, model, f" in {due}")
    try:
        expected = oracle(question.unit, inputs)
    except Error:
        return Later("undecided", "there is a result without an operation, where operands have no defined result")
    (word,) = evaluate([got], model)
    _, codes = _answer(design, const(word, got.width), expected)
    shown = Counterexample(inputs, expected, codes, dict(model), True, EXTRA_RESULT, tuple(story))
    return Later("counterexample", EXTRA_RESULT, counterexample=shown, steps=steps)


# -- random bits of its own --------------------------------------------------------------------------------------------


def _of_source(question: Question, name: str, source: Lfsr, limit_s: float) -> Later:
    check = check_generator(question.design(), name, source, limit_s)
    if check.wrong is not None:
        shown = _with_right_bits(question, name, source, check.wrong, limit_s)
        return Later("counterexample", OTHER_BITS, counterexample=shown)
    if check.why:
        return Later("undecided", check.why, about="random bits")
    return Later("proved", order=f"each operation uses the next word of {source.spec()}")


def _with_right_bits(question: Question, name: str, source: Lfsr, wrong: WrongState, limit_s: float) -> Counterexample:
    """The operation after that, with the random bits that the source gives it; the circuit has others."""
    unit, field = question.unit, question.registers[name]
    width = find_first(f.width for f in unit.inputs if f.name == field)
    right, held = (x >> source.high + 1 - width & (1 << width) - 1 for x in (wrong.right, wrong.held))
    design, lanes = question.design(), lane_widths(unit.outputs)
    codes = [design.code(lane, const(0, size)) for lane, size in lanes.items()]
    sides = [substitute(codes, {var(field, width): const(r, width)}) for r in (right, held)]
    differs = or_(*(not_(eq(a, b)) for a, b in zip(*sides, strict=True)))
    answer = solve([question.assumption, design.observed.assumed, differs], limit_s)  # if not, other bits are wrong
    values = {**answer.model, field: right}
    inputs = tuple(values.get(n, 0) for n in input_names(unit))
    expected = oracle(unit, inputs)
    wants = [const(x, size) for size, x in zip(lanes.values(), expected, strict=True)]
    got = [design.code(lane, want) for lane, want in zip(lanes, wants, strict=True)]
    shown = tuple(evaluate(got, {**values, field: held}))
    return Counterexample(inputs, expected, shown, said=OTHER_BITS, story=_wrong_state_story(design, name, wrong))


def _wrong_state_story(design: BoundDesign, name: str, wrong: WrongState) -> tuple[str, ...]:
    """How a register comes to hold another state than the source."""
    if wrong.taken is None:
        return (f"after the reset, register {name} holds {wrong.held:x}, not {wrong.right:x}",)
    word, _ = design.driven.chosen(wrong.model.get("others", 0), wrong.model.get("operation", 0))
    lanes = [f"{lane} = {x:x}" for lane, x in design.driven.lanes(word).items()]
    happens = f"operands are taken, {', '.join(lanes[:_SHOWN_LANES])}" if wrong.taken else "no operands are taken"
    return (
        f"register {name} holds word {wrong.word}, {wrong.state:x}; {happens}",
        f"then it holds {wrong.held:x}, not {wrong.right:x}",
    )
