"""A machine's cycles one after the other, for one operation: what comes out, as terms of what went in."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.btor2 import Machine
from softfloat_ref.rtl.port_map import PortMap
from softfloat_ref.symbolic.build import adjacent, and_, concat, eq, extract, ite, not_, or_, substitute
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term, const, var, variables

MAX_CYCLES: Final = 1000  # of an operation whose latency is not given
_PATIENCE: Final = 3  # cycles, one after the other, after which it is not decided whether all results have come
ANY: Final = "any contents of the registers"
CHANGING: Final = "any contents of registers that change after the reset"
RESET: Final = "after reset"
POWER_UP: Final = "after power-up"
Signals = Mapping[str, Term]
Never = Callable[[Term], bool | None]  # whether a bit is never set; None: not decided
Contents = Mapping[Term, Term]  # by the machine's own variables
Stimulus = Callable[[int, Sequence[Term]], Term]  # of a cycle, from the channels of operands that were taken before


@dataclass(frozen=True)
class Observed:
    """What a circuit puts out for an operation.

    got: the outputs side by side; wrong: whether the protocol is broken; assumed: what was assumed of the circuit's
    state; start: of which state; cycles: from the operands to the result, at most. steps: of each cycle, a reset's too,
    what inputs and registers hold.
    """

    got: Term
    wrong: Term
    start: str
    cycles: int
    steps: Sequence[Contents]
    assumed: Term = field(default=TRUE)


class MachineRun:
    """A machine in a state. Inputs that a step does not give are free, anew in each cycle. keeps: registers may keep
    what they hold over many cycles, so contents that are written bit by bit are put together again."""

    def __init__(self, machine: Machine, contents: Mapping[str, Term], keeps: bool = True) -> None:
        self.machine, self.contents, self.keeps = machine, dict(contents), keeps
        self.steps: list[Contents] = []

    def step(self, inputs: Signals) -> dict[str, Term]:
        """The outputs of a cycle; then the registers take their next contents."""
        machine = self.machine
        by = {v: self.contents[name] for name, v in machine.registers.items()}
        for name, v in machine.inputs.items():
            by[v] = inputs[name] if name in inputs else var(f"{name}@{len(self.steps)}", v.width)
        names = list(machine.nexts)
        terms = substitute([*machine.outputs.values(), *machine.nexts.values()], by)
        nexts = terms[len(machine.outputs) :]
        self.contents = dict(zip(names, map(_whole, nexts) if self.keeps else nexts, strict=True))
        self.steps.append(by)
        return dict(zip(machine.outputs, terms, strict=False))


def _whole(t: Term) -> Term:
    """The same contents, in one piece if they were written bit by bit."""
    return adjacent(_whole(t.args[0]), _whole(t.args[1])) if t.op == "concat" else t


def free_contents(machine: Machine) -> dict[str, Term]:
    """Any contents; registers that never change keep those of power-up."""
    constant = {name: t for name, t in machine.starts.items() if machine.nexts[name] is machine.registers[name]}
    return {name: constant.get(name, var(_contents(name), t.width)) for name, t in machine.registers.items()}


def _contents(name: str) -> str:
    return f"{name} before"


def observe(machine: Machine, ports: PortMap, stimulus: Stimulus, held: Mapping[str, Term], never: Never) -> Observed:
    """Follow one operation through the circuit.

    held: contents of registers when the operation begins. never: asked where the latency depends on the operands.
    Raises Error if no result comes, or if that is not decided.
    """
    if ports.clock is None:
        run = MachineRun(machine, free_contents(machine))
        return Observed(run.step({"stimulus": stimulus(0, [])})["got"], FALSE, "", 0, run.steps)
    if ports.latency is not None:
        return _fixed(machine, ports, stimulus, held)
    return _shaken(after_reset(machine, ports), ports, stimulus, held, never)


def after_reset(machine: Machine, ports: PortMap, keeps: bool = True) -> MachineRun:
    """The circuit after its reset, or after power-up, without operations; whether results would be taken is open in the
    reset. keeps: as of MachineRun."""
    run = MachineRun(machine, {**free_contents(machine), **machine.starts}, keeps)
    idle = {name: signal for name, signal in idle_signals(ports).items() if name != "out_ready"}
    active = const(int(ports.reset is not None and ports.reset.active == "high"), 1)
    for _ in range(ports.reset.cycles if ports.reset else 0):
        run.step({**idle, "reset": active})
    return run


def idle_signals(ports: PortMap) -> dict[str, Term]:
    """Signals of a cycle outside reset, without an operation."""
    quiet = const(int(ports.reset is not None and ports.reset.active == "low"), 1)
    valids = const(0, ports.handshake.channels)
    return {"reset": quiet, "in_valid": valids, "out_ready": TRUE, "clear": FALSE, "clk": FALSE, "enable": TRUE}


def _fixed(machine: Machine, ports: PortMap, stimulus: Stimulus, held: Mapping[str, Term]) -> Observed:
    """The operation of a circuit with a fixed latency: from any state if the result does not depend on that, or on no
    more than what registers always hold after the reset."""
    after = after_reset(machine, ports, keeps=False)
    for constant, start in (({}, ANY), (kept_contents(machine, ports, after.contents), CHANGING)):
        run = MachineRun(machine, {**free_contents(machine), **constant, **held}, keeps=False)
        observed = _timed(run, ports, stimulus, start)
        before = {_contents(name) for name in machine.registers}
        free = {str(t.value) for t in variables([observed.got, observed.wrong, observed.assumed])}
        if not before & free or not (ports.reset or machine.starts):
            return observed
    _await(after, ports, stimulus(0, [FALSE] * ports.handshake.channels))
    after.contents.update(held)
    return _timed(after, ports, stimulus, RESET if ports.reset else POWER_UP)


def _await(run: MachineRun, ports: PortMap, stimulus: Term) -> None:
    """Offer operands, as far as the cycle in which the circuit may take them."""
    offer = {**idle_signals(ports), "in_valid": const(-1, ports.handshake.channels), "stimulus": stimulus}
    for _ in range(min(MAX_CYCLES, ports.drain_timeout)):
        ready = MachineRun(run.machine, run.contents).step(offer).get("in_ready", TRUE)
        if eq(ready, const(-1, ready.width)) is not FALSE:
            return
        run.step(offer)
    raise Error("in_ready is never raised, so the circuit takes no operation")


def kept_contents(machine: Machine, ports: PortMap, contents: Mapping[str, Term]) -> dict[str, Term]:
    """The registers that always hold what they hold after the reset, with the clock enable and without it."""
    constant, idle = {name: t for name, t in contents.items() if t.is_const}, idle_signals(ports)
    always = {machine.inputs[name]: idle[name] for name in ("reset", "clear", "clk") if name in machine.inputs}
    while True:
        by = {**always, **{machine.registers[name]: t for name, t in constant.items()}}
        nexts = substitute([machine.nexts[name] for name in constant], by)
        left = {name: t for (name, t), next_term in zip(constant.items(), nexts, strict=True) if next_term is t}
        if len(left) == len(constant):
            return constant
        constant = left


def _timed(run: MachineRun, ports: PortMap, stimulus: Stimulus, start: str) -> Observed:
    """Around the operation, anything may be offered, as far as the port map allows: valids and operands of other cycles
    are free."""
    latency, idle, every = ports.latency or 0, idle_signals(ports), const(-1, ports.handshake.channels)
    outputs, assumed, begun = {}, TRUE, list[Term]()
    for cycle in range(latency + 1):
        other = ite(_room(begun, ports.limit), var(f"in_valid@{len(run.steps)}", every.width), const(0, every.width))
        valid = other if cycle else every
        taken = [const(cycle > 0, 1)] * ports.handshake.channels
        outputs = run.step({**idle, "in_valid": valid, "stimulus": stimulus(cycle, taken)})
        if cycle == 0 and "in_ready" in ports.handshake:
            assumed = eq(outputs["in_ready"], const(-1, outputs["in_ready"].width))
        begun.append(and_(eq(valid, every), eq(outputs["in_ready"], every)) if cycle else TRUE)
    wrong = not_(outputs["out_valid"]) if "out_valid" in ports.handshake else FALSE
    return Observed(outputs["got"], wrong, start, latency, run.steps, assumed)


def _room(begun: Iterable[Term], limit: int) -> Term:
    """Whether fewer operations than the limit are begun, of some that may be."""
    some = list(begun)
    if len(some) < limit:
        return TRUE
    least = [TRUE, *[FALSE] * limit]  # whether so many are
    for bit in some:
        least = [TRUE, *(or_(least[n], and_(least[n - 1], bit)) for n in range(1, limit + 1))]
    return not_(least[limit])


def has_pauses(ports: PortMap) -> bool:
    """Whether a module of a fixed latency is told when there is an operation, and tells when there is a result."""
    return ports.latency is not None and "in_valid" in ports.handshake and "out_valid" in ports.handshake


def unrequested(run: MachineRun, ports: PortMap, stimulus: Callable[[str], Term]) -> Iterator[tuple[Term, Term]]:
    """In each cycle, whether such a module tells of a result that is not due, since no operation was taken, and what it
    puts out; operands are offered at any time. stimulus: anything, with this end of its variables' names."""
    idle, width, due = idle_signals(ports), ports.handshake.channels, deque([FALSE] * (ports.latency or 0))
    while True:
        offered = and_(var(f"valid in {len(run.steps)}", 1), _room(due, ports.limit))
        signals = {"in_valid": side_by_side([offered] * width), "stimulus": stimulus(f" in {len(run.steps)}")}
        outputs = run.step({**idle, **signals})
        due.append(and_(offered, eq(outputs["in_ready"], const(-1, width))))
        yield and_(outputs["out_valid"], not_(due.popleft())), outputs["got"]


def _shaken(run: MachineRun, ports: PortMap, stimulus: Stimulus, held: Mapping[str, Term], never: Never) -> Observed:
    """The operation of a circuit that says when it takes operands and gives results; results are always taken."""
    run.contents.update(held)
    shake, idle = ports.handshake, idle_signals(ports)
    tag = var("tag", ports.tag.width) if ports.tag else None
    taken = [FALSE] * shake.channels
    done, wrong, got, undecided = FALSE, FALSE, None, 0
    for cycle in range(min(MAX_CYCLES, ports.drain_timeout)):
        offered = [not_(t) for t in taken]
        inputs = {**idle, "in_valid": side_by_side(offered), "stimulus": stimulus(cycle, taken)}
        outputs = run.step({**inputs, **({"tag_in": tag} if tag else {})})
        ready = [extract(outputs["in_ready"], i, i) for i in range(shake.channels)]
        if shake.joint:
            ready = [and_(*ready)] * shake.channels
        taken = [or_(t, r) for t, r in zip(taken, ready, strict=True)]
        here = and_(outputs["out_valid"], not_(done))
        early = and_(here, not_(and_(*taken)))
        mixed = and_(here, not_(eq(outputs["tag_out"], tag))) if tag else FALSE
        wrong = or_(wrong, early, mixed)
        got = outputs["got"] if got is None else ite(here, outputs["got"], got)
        done = or_(done, here)
        always = done is TRUE or (not done.is_const and never(not_(done)))
        if always:
            return Observed(got, wrong, RESET if ports.reset else POWER_UP, cycle, run.steps)
        undecided = undecided + 1 if always is None else 0
        if undecided == _PATIENCE:
            raise Error(
                f"a result within {cycle} cycles could not be proved for all operands; leave some out by --where"
            )
    raise Error(f"no result within {min(MAX_CYCLES, ports.drain_timeout)} cycles, for some operands at least")


def side_by_side(bits: Sequence[Term]) -> Term:
    """Bits side by side, the first one lowest."""
    word = bits[0]
    for bit in bits[1:]:
        word = concat(bit, word)
    return word
