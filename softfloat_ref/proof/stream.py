"""Operations one after the other: whether each gets its own result, with any stalls.

From the reset on, the states of a circuit are enumerated: signals of the handshake are constants, operands variables.
Operations are counted from the oldest one in flight, and what none of those in flight has a part in may be anything. A
state that comes back is then the same terms; where no other one comes, these are all there are.

Where operands decide when a result comes, the one operation in flight is followed until it certainly waits, if for any
contents of the registers nothing makes a difference but operands that are taken and a result that is taken.

Where this does not decide, operations at random may still show what is wrong (walk).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.design import BoundDesign, Never
from softfloat_ref.proof.operations import (
    EXTRA_RESULT,
    NO_RESULT,
    WITHDRAWN,
    WRONG_RESULT,
    WRONG_TAG,
    Cycle,
    CycleMove,
    Event,
    NumberedOperations,
    OperationFault,
)
from softfloat_ref.proof.solver import solve
from softfloat_ref.proof.unroll import MachineRun, after_reset, free_contents, idle_signals
from softfloat_ref.proof.walk import walk_at_random
from softfloat_ref.symbolic.build import and_, eq, extract, not_, or_, substitute
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term, const, evaluator, var, variable_widths, variables

MAX_STATES: Final = 2000
LIMIT_S: Final = 300.0  # for all states
_LEFTOVER: Final = "junk"  # begins the names of what registers hold of operations that are over
_FEW_BITS: Final = 16  # of a register that may always hold the same
_TRIES: Final = 20
_QUESTION_S: Final = 10.0
_WAITING_CYCLES: Final = 3  # cycles that a result waits


class CircuitState(NamedTuple):
    """A circuit between two cycles. contents: of its registers; flying: operations taken whose results have not come;
    taken, offered: channels of the next one; waits: whether a result was not taken in the cycle before; settled:
    whether nothing changes until it is taken."""

    contents: tuple[Term, ...]
    flying: int = 0
    taken: int = 0
    offered: int = 0
    waits: bool = False
    settled: bool = False


class StreamStep(NamedTuple):
    """A cycle of the circuit, its outputs, and the state after it."""

    move: CycleMove
    outputs: Mapping[str, Term]
    after: CircuitState


@dataclass(frozen=True)
class Followed:
    """What came of all operations. states: those that were seen; why: what was in the way of a proof; fault: what is
    wrong."""

    states: int
    why: str = ""
    fault: OperationFault | None = None


class _StopError(Exception):
    """What is in the way of a proof."""


class _VariesError(_StopError):
    """A signal rests on operands."""


class _FaultError(Exception):
    """Something is wrong."""

    def __init__(self, fault: OperationFault) -> None:
        super().__init__(fault.kind)
        self.fault = fault


def follow(design: BoundDesign, assumed: Term, limit_s: float) -> Followed:
    """Follow all operations of a circuit with a handshake from its reset on.

    Registers that hold inputs (Design.delivers) are taken to keep them until they are taken. assumed: of an operation's
    inputs; limit_s: for a question to the solver.
    """
    try:
        explorer = _Explorer(NumberedOperations(design, assumed), limit_s)
    except Error as e:  # of several operations, which by themselves are followed
        return Followed(0, str(e))
    try:
        explorer.explore()
    except _StopError as e:
        return Followed(len(explorer.ways), str(e), walk_at_random(explorer.of))
    except _FaultError as e:
        return Followed(len(explorer.ways), fault=e.fault)
    return Followed(len(explorer.ways))


@dataclass
class _Explorer:
    """ways: how each state was reached: from which one, and by which cycles' moves; doubt: what is wrong in a state,
    but not as it was reached."""

    of: NumberedOperations
    limit_s: float
    ways: dict[CircuitState, tuple[CircuitState, Sequence[CycleMove]] | None] = field(default_factory=dict)
    known: dict[Term, list[Term]] = field(default_factory=dict)
    doubt: str = ""

    def explore(self) -> None:
        """Look at all states. Raises _FaultError where something is wrong, _StopError if that is not decided."""
        begin, waiting, eager = time.monotonic(), deque([self._first]), dict[CircuitState, CircuitState]()
        self.ways[self._first] = None
        while waiting:
            state = waiting.popleft()
            for moves, after in self._afters(state, eager):
                if after not in self.ways:
                    self.ways[after] = (state, moves)
                    waiting.append(after)
            if len(self.ways) > MAX_STATES:
                raise _StopError(f"more than {MAX_STATES} states")
            if time.monotonic() - begin > LIMIT_S:
                raise _StopError(f"only {len(self.ways)} states were explored within {LIMIT_S:g} s")
        self._all_end(eager)
        if self.doubt:
            raise _StopError(self.doubt)

    @cached_property
    def _first(self) -> CircuitState:
        return self._general(CircuitState(tuple(after_reset(self.of.machine, self.of.ports).contents.values())))

    def _afters(
        self, state: CircuitState, eager: dict[CircuitState, CircuitState]
    ) -> Iterator[tuple[Sequence[CycleMove], CircuitState]]:
        """The states that may come after a state, and the moves until then. eager: gets the one to which the state
        goes while nothing but its operations moves, if no operation begins or ends there."""
        try:
            steps = [self._step(state, cycle, 0) for cycle in self._cycles(state)]
        except _VariesError:
            yield self._settled(state)
            return
        for step in steps:
            self._check(state, step)
            after = self._general(step.after)
            alone = CycleMove(self.of.eager(state.taken, state.offered), shown=step.move.shown)
            if step.move == alone and not alone.delivers:
                eager[state] = after
            yield [step.move], after

    def _cycles(self, state: CircuitState) -> Iterator[Cycle]:
        """What a bench may do: operands stay offered until they are taken."""
        left = self.of.open(state.flying, state.taken, state.offered)
        for offered in range(left + 1):
            if offered & ~left == 0 and offered & state.offered == state.offered:
                yield Cycle(offered, ready=True)
                if not state.settled and "out_ready" in self.of.ports.handshake:
                    yield Cycle(offered, ready=False)

    def _step(self, state: CircuitState, cycle: Cycle, at: int) -> StreamStep:
        """A cycle from a state. at: its number. Raises _VariesError if its handshake rests on operands."""
        run = MachineRun(self.of.machine, self._named(state))
        outputs = run.step(self.of.signals(state.flying, cycle, at))
        fired = self._fired(outputs["in_ready"], cycle)
        begun = state.taken | fired == self.of.channels
        move = CycleMove(cycle, fired, begun, _decided(outputs["out_valid"], "out_valid"))
        contents = [*run.contents.values()]
        after = CircuitState(
            tuple(_one_less(contents) if move.delivers else contents),
            state.flying + begun - move.delivers,
            0 if begun else state.taken | fired,
            cycle.offered & ~fired,
            move.shown and not cycle.ready,
        )
        return StreamStep(move, outputs, after)

    def _fired(self, in_ready: Term, cycle: Cycle) -> int:
        """The channels whose operands are taken."""
        offered = [i for i in range(in_ready.width) if cycle.offered >> i & 1]
        return self.of.fired(sum(_decided(extract(in_ready, i, i), "in_ready") << i for i in offered), cycle)

    def _check(self, state: CircuitState, step: StreamStep) -> None:
        """Raise _FaultError for what is wrong in a cycle."""
        cycle, _, begun, shown = step.move
        flying, whole = state.flying + begun, state.taken | cycle.offered == self.of.channels
        if fault := self.of.broken(cycle, shown, state.waits, flying, whole):
            self._fault(state, [step.move], fault)
        if fault == EXTRA_RESULT:
            raise _StopError(self.doubt)
        if not shown or state.settled or not self.of.counts(cycle):
            return
        facts = self.of.facts(range(max(flying, 1)))
        if self._may(self.of.mistaken(step.outputs, 0), facts):
            if flying > 1:
                raise _StopError("results come out of order")
            self._fault(state, [step.move], WRONG_TAG)
        if self._may(self.of.wrong(step.outputs, 0), facts):
            self._fault(state, [step.move], WRONG_RESULT)

    def _may(self, bit: Term, facts: Sequence[Term]) -> bool:
        """Whether a bit may be set."""
        if bit.is_const:
            return bool(bit.value)
        answer = solve([*facts, bit], self.limit_s)
        if answer.result == "unknown":
            raise _StopError(f"whether a result stays the same is undecided within {self.limit_s:g} s")
        return answer.result == "sat"

    def _named(self, state: CircuitState) -> dict[str, Term]:
        return dict(zip(self.of.machine.registers, state.contents, strict=True))

    def _general(self, state: CircuitState) -> CircuitState:
        """The state with any contents of what no operation in flight has a part in, and with what registers hold for
        the next one. What such contents and operations make together stays as it is, for any such contents."""
        held = self.of.held(state.flying)
        live = {f"#{n}" for n in range(state.flying + bool(state.taken or state.offered))}
        own = {name: t for name, t in zip(self.of.machine.registers, state.contents, strict=True) if name not in held}
        over = {t: [v for v in self._variables(t) if _end(v) not in live] for t in own.values()}
        mixed = [t for t, some in over.items() if some and len(some) < len(self._variables(t))]
        shared = dict[Term, Term]()
        for v in (v for t in mixed for v in over[t]):
            shared.setdefault(v, var(f"{_LEFTOVER} {len(shared)}", v.width))
        by = dict(zip(mixed, substitute(mixed, shared), strict=True)) | shared
        for name, t in own.items():
            held[name] = by.get(t, var(f"{_LEFTOVER} in {name}", t.width) if over[t] else t)
        return state._replace(contents=tuple(held[name] for name in self.of.machine.registers))

    def _variables(self, t: Term) -> list[Term]:
        """The variables of contents, most of which other registers have had before."""
        if t not in self.known:
            self.known[t] = variables([t])
        return self.known[t]

    def _all_end(self, eager: Mapping[CircuitState, CircuitState]) -> None:
        """Raise _FaultError if an operation does not end though all results are taken."""
        for state in self.ways:
            seen, at = set[CircuitState](), state
            while at not in seen and at in eager and (at.flying or at.taken or at.offered):
                seen.add(at)
                at = eager[at]
            if at in seen:
                self._fault(at, [CycleMove(self.of.eager(at.taken, at.offered))], NO_RESULT)

    # -- where operands decide -----------------------------------------------------------------------------------------

    def _settled(self, state: CircuitState) -> tuple[Sequence[CycleMove], CircuitState]:
        """The state in which the result of the one operation in flight waits, whenever it came."""
        if state.flying != 1 or state.taken or state.settled:
            raise _StopError("the latency depends on operands, and several operations are in flight")
        if "out_ready" not in self.of.ports.handshake:
            raise _StopError("the latency depends on operands, and no out_ready stalls the result")
        waiting = CycleMove(Cycle(state.offered, ready=False))
        try:
            if state.waits:
                raise _StopError("whether a result that is stalled stays depends on operands")
            count, contents, outputs = self._awaited(state)
        except _StopError:
            self._watched(state)
            raise
        facts = self.of.facts(range(1))
        same = _independent(self._alone.contents) and self._general(self._alone).contents == state.contents
        if not same:  # as in the operation that is proved
            differs = self.of.differs(outputs["got"], self._awaited(self._alone)[2]["got"], 0)
            for wrong, fault in ((self.of.mistaken(outputs, 0), WRONG_TAG), (differs, WRONG_RESULT)):
                if self._may(wrong, facts):
                    self._fault(state, [waiting] * (count + 1), fault)
        waiting_contents = tuple(_constants([*contents.values()], facts, Never(and_(*facts))))
        return [waiting] * count, CircuitState(waiting_contents, 1, 0, state.offered, waits=False, settled=True)

    def _awaited(self, state: CircuitState) -> tuple[int, Mapping[str, Term], Mapping[str, Term]]:
        """The number of cycles until a result certainly waits, the registers' contents and the outputs then. Raises
        _StopError if something else than that a result is taken may change them."""
        run, facts = MachineRun(self.of.machine, self._named(state)), self.of.facts(range(1))
        never, taking, stirred = Never(and_(*facts)), FALSE, FALSE
        for count in range(self.of.cycles + _WAITING_CYCLES):
            contents = dict(run.contents)
            outputs = run.step(self.of.signals(1, Cycle(0, ready=False), count))
            taking = or_(taking, not_(eq(outputs["in_ready"], const(0, outputs["in_ready"].width))))
            if self._disturbed:
                stirred = or_(stirred, self._unlike(contents)[1])
            certain = never(not_(outputs["out_valid"]))
            if certain is None:
                break
            if certain:
                if self.of.ports.limit > 1 and self._may(taking, facts):
                    raise _StopError("the latency depends on operands, and further ones are taken meanwhile")
                if self._may(stirred, facts):
                    raise _StopError(
                        "registers change while a result is stalled, or depend on operands that are not taken"
                    )
                return count, contents, outputs
        raise _StopError("the latency depends on operands, and its largest value is not decided")

    def _watched(self, state: CircuitState) -> None:
        """Raise _FaultError if a result that nobody takes is wrong, or does not stay."""
        if not self.of.ports.stable:
            return
        run, facts, before = (
            MachineRun(self.of.machine, self._named(state)),
            self.of.facts(range(1)),
            const(state.waits, 1),
        )
        waiting = CycleMove(Cycle(state.offered, ready=False))
        for count in range(self.of.cycles + _WAITING_CYCLES):
            outputs = run.step(self.of.signals(1, Cycle(0, ready=False), count))
            if self._may(and_(before, not_(outputs["out_valid"])), facts):
                self._fault(state, [waiting] * (count + 1), WITHDRAWN)
            if self._may(and_(outputs["out_valid"], self.of.wrong(outputs, 0)), facts):
                self._fault(state, [waiting] * (count + 1), WRONG_RESULT)
            before = outputs["out_valid"]

    @cached_property
    def _alone(self) -> CircuitState:
        """The state from which operands decide when the first result comes, as in the operation that is proved."""
        contents = after_reset(self.of.machine, self.of.ports).contents | self.of.held(0)
        state, at = CircuitState(tuple(contents.values())), 0
        while at < self.of.ports.drain_timeout:
            cycle = Cycle(0 if state.flying else self.of.channels & ~state.taken, ready=True)
            try:
                state = self._step(state, cycle, at).after
            except _VariesError:
                if state.flying != 1:
                    break
                return state
            at += 1
        raise _StopError("when an operation is taken depends on operands")

    @cached_property
    def _disturbed(self) -> bool:
        """Whether something else than that a result is taken may matter to registers that take no operands, for any
        contents: those that the circuit never has, too."""
        idle, unlike = self._unlike(free_contents(self.of.machine))
        return self._may(and_(idle, unlike), [])

    def _unlike(self, before: Mapping[str, Term]) -> tuple[Term, Term]:
        """Whether no operands can be taken, or none may be offered; and whether outputs or next contents rest on
        something else than that a result is taken, or do not stay while a result waits."""
        machine, ports = self.of.machine, self.of.ports
        idle, busy, quiet, one = (
            idle_signals(ports),
            MachineRun(machine, before),
            MachineRun(machine, before),
            ports.limit == 1,
        )
        tag = {"tag_in": var("another tag", ports.tag.width)} if ports.tag else {}
        valid = const(0, ports.handshake.channels) if one else var("valid", ports.handshake.channels)
        free = {"in_valid": valid, "out_ready": var("ready", 1), **tag}
        some = busy.step({**idle, **free, "stimulus": self.of.driven.any(" offered")})
        none = quiet.step({**idle, "out_ready": FALSE, "stimulus": self.of.driven.any("")})
        result_taken = and_(none["out_valid"], free["out_ready"])
        unlike = or_(
            *(not_(eq(some[name], none[name])) for name in some if name != "in_ready"),
            and_(not_(result_taken), not_(eq(some["in_ready"], none["in_ready"]))),
            and_(not_(result_taken), _differ(busy.contents, quiet.contents)),
            and_(none["out_valid"], _differ(quiet.contents, before)),
        )
        return TRUE if one else eq(none["in_ready"], const(0, none["in_ready"].width)), unlike

    # -- from the reset on ---------------------------------------------------------------------------------------------

    def _fault(self, state: CircuitState, last: Sequence[CycleMove], kind: str) -> None:
        """Raise _FaultError: what is wrong, from the reset on; keep it as a doubt if it does not come about so."""
        moves = list(last)
        while (way := self.ways[state]) is not None:
            state, before = way
            moves = [*before, *moves]
        if (fault := self._replayed(moves, kind)) is not None:
            raise _FaultError(fault)
        self.doubt = f"{kind}, but perhaps in no state that the circuit reaches"

    def _replayed(self, moves: Sequence[CycleMove], kind: str) -> OperationFault | None:
        """The same moves with the registers' real contents; the last of them shows what is wrong."""
        run, begun, done = after_reset(self.of.machine, self.of.ports), 0, 0
        valid, outputs, events, facts = FALSE, dict[str, Term](), list[Event](), dict[Term, None]()
        for move in moves:
            before, number = valid, done
            facts |= dict.fromkeys(self.of.facts(range(done, begun + 1)))
            facts |= dict.fromkeys(eq(t, run.contents[name]) for name, t in self.of.held(begun).items())
            outputs = run.step(self.of.signals(begun, move.cycle, len(run.steps)))
            valid = outputs["out_valid"]
            events.append(Event(begun if move.begun else None, done if move.shown else None, move.cycle.ready))
            begun, done = begun + move.begun, done + move.delivers
        wrong = {
            WRONG_RESULT: and_(valid, self.of.wrong(outputs, number)),
            WRONG_TAG: and_(valid, self.of.mistaken(outputs, number)),
            WITHDRAWN: and_(before, not_(valid)),
        }.get(kind, TRUE)
        answer = solve([*facts, wrong], self.limit_s)
        if answer.result != "sat":
            return None
        return OperationFault(kind, events, number, answer.model, outputs["got"], run.steps)


def _end(v: Term) -> str:
    """The mark and number of the operation that a variable belongs to; empty for one of no operation."""
    _, mark, number = str(v.value).rpartition("#")
    return mark + number if mark else ""


def _one_less(contents: Sequence[Term]) -> list[Term]:
    """The same with operations counted from the next one."""
    by = {}
    for v in variables(contents):
        name, mark, number = str(v.value).rpartition("#")
        if mark:
            by[v] = var(f"{name}#{int(number) - 1}" if int(number) else f"{_LEFTOVER} of {name}", v.width)
    return substitute(contents, by)


def _independent(contents: Sequence[Term]) -> bool:
    """Whether registers in which no operation has a part are constants, or variables of their own."""
    own = [t for t in contents if all(_end(v) == "" for v in variables([t]))]
    free = [t for t in own if not t.is_const]
    others = variables([t for t in contents if t not in own])
    return all(t.op == "var" for t in free) and len({*free}) == len(free) and not {*free} & {*others}


def _decided(bit: Term, name: str) -> bool:
    """A signal that operands leave the same. Raises _VariesError for others."""
    if not bit.is_const:
        raise _VariesError(f"{name} depends on operands, or on registers that no reset sets")
    return bool(bit.value)


def _differ(a: Mapping[str, Term], b: Mapping[str, Term]) -> Term:
    """Whether registers hold something else."""
    return or_(*(not_(eq(t, b[name])) for name, t in a.items()))


def _constants(contents: Sequence[Term], facts: Sequence[Term], never: Never) -> Iterator[Term]:
    """Contents, with what small registers always hold in place of terms."""
    widths, words = variable_widths([*contents, *facts]), Random(0)
    known = solve(facts, _QUESTION_S).model  # facts may hold for few operands
    tries = [known, *({**known, **{n: words.getrandbits(w) for n, w in widths.items()}} for _ in range(_TRIES))]
    run = evaluator([and_(*facts), *contents])
    rows = [codes for holds, *codes in (run({n: t.get(n, 0) for n in widths}) for t in tries) if holds]
    for i, t in enumerate(contents):
        values = {codes[i] for codes in rows}
        if not t.is_const and t.width <= _FEW_BITS and len(values) == 1:
            value = const(values.pop(), t.width)
            yield value if never(not_(eq(t, value))) else t
        else:
            yield t
