"""The operations that a circuit does one after the other: their operands, tags and results, by their number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from softfloat_ref.proof.design import BoundDesign, Driven, Never
from softfloat_ref.proof.unroll import Contents, idle_signals, observe
from softfloat_ref.rtl.port_map import PortMap
from softfloat_ref.symbolic.build import eq, make, not_, substitute
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term, const, var, variables

WRONG_RESULT: Final = "the result is wrong"
WRONG_TAG: Final = "the result has another tag"
EXTRA_RESULT: Final = "a result without an operation"
WITHDRAWN: Final = "the result is withdrawn before it is taken"
NO_RESULT: Final = "no result comes"


class Cycle(NamedTuple):
    """What a bench does in a cycle. offered: channels of operands, as ones; ready: whether it takes a result."""

    offered: int
    ready: bool


class CycleMove(NamedTuple):
    """What happens in a cycle. taken: channels whose operands are; begun: whether they complete an operation; shown:
    whether there is a result, as far as that is the same for all operands."""

    cycle: Cycle
    taken: int = 0
    begun: bool = False
    shown: bool = False

    @property
    def delivers(self) -> bool:
        """Whether a result is taken."""
        return self.shown and self.cycle.ready


class Event(NamedTuple):
    """A cycle from the reset on. Operations are counted from 0: begun: the one that is taken; shown: the one whose
    result there is; ready: whether a result is taken; paused: without the clock enable, whatever the signals are."""

    begun: int | None
    shown: int | None
    ready: bool
    paused: bool = False


@dataclass(frozen=True)
class OperationFault:
    """Something wrong in the last of some cycles. kind: as above; number: of the operation that it is about; model:
    values by which it is seen; got: the outputs then; steps: what inputs and registers hold in each cycle, as terms."""

    kind: str
    events: Sequence[Event]
    number: int
    model: Mapping[str, int]
    got: Term
    steps: Sequence[Contents]


class NumberedOperations:
    """The operands, the tag and the result of an operation by its number, and what registers hold when it is taken;
    they keep that until then. several: it is any of several."""

    def __init__(self, design: BoundDesign, assumed: Term) -> None:
        driven, several = design.driven, len(design.unit.parts) > 1
        self.ports, self.machine, self.driven, self.preset = design.ports, design.machine, driven, design.preset
        self.word = driven.any("") if several else driven.operands
        self.care = driven.care("") if several else const(driven.bound.parts[0].care[0], driven.bound.got.width)
        self.assumed, self.got, self.cycles = assumed, design.observed.got, design.observed.cycles
        if several:
            never, stimulus = Never(TRUE), partial(driven.offered, self.word)
            self.got = observe(design.machine, design.ports, stimulus, design.preset, never).got

    @property
    def channels(self) -> int:
        """All channels, as ones."""
        return (1 << self.ports.handshake.channels) - 1

    def fired(self, ready: int, cycle: Cycle) -> int:
        """The channels whose operands are taken. ready: those that the circuit takes."""
        channels = ready & cycle.offered
        return 0 if self.ports.handshake.joint and channels != self.channels else channels

    def open(self, flying: int, taken: int, offered: int) -> int:
        """The channels that may be offered: what is left of an operation that is begun or offered, or all of the next
        one, if the port map allows one more in flight."""
        return self.channels & ~taken if taken or offered or flying < self.ports.limit else 0

    def eager(self, taken: int, offered: int) -> Cycle:
        """What ends operations soonest: the rest of one that is begun is offered, and results are taken."""
        return Cycle(self.channels & ~taken if taken or offered else 0, ready=True)

    def counts(self, cycle: Cycle) -> bool:
        """Whether what the circuit puts out must be right: it is taken, or stays until it is."""
        return cycle.ready or self.ports.stable

    def broken(self, cycle: Cycle, shown: bool, waits: bool, flying: int, whole: bool) -> str:
        """What is wrong with out_valid. shown: whether it is set; waits: whether a result waited before; flying: how
        many operations are in flight; whole: whether all of one is offered, which may be answered before it is
        taken."""
        if not shown:
            return WITHDRAWN if waits and self.ports.stable else ""
        return EXTRA_RESULT if self.counts(cycle) and not flying and (cycle.ready or not whole) else ""

    def signals(self, number: int, cycle: Cycle, at: int = 0) -> dict[str, Term]:
        """The signals of a cycle that offers channels of an operation. at: the cycle's number."""
        channels = self.ports.handshake.channels
        gone = [const(not cycle.offered >> i & 1, 1) for i in range(channels)]
        stimulus = self.driven.offered(numbered(self.word, number), at, gone)
        driven = {"in_valid": const(cycle.offered, channels), "out_ready": const(cycle.ready, 1), "stimulus": stimulus}
        tag = {"tag_in": self._tag(number)} if self.ports.tag and cycle.offered else {}
        return {**idle_signals(self.ports), **driven, **tag}

    def _tag(self, number: int) -> Term:
        return var(f"tag#{number}", self.ports.tag.width if self.ports.tag else 1)

    def wrong(self, outputs: Mapping[str, Term], number: int) -> Term:
        """Whether a result is another one than this operation's."""
        return self.differs(outputs["got"], numbered(self.got, number), number)

    def differs(self, a: Term, b: Term, number: int) -> Term:
        """Whether two results of this operation differ where it matters."""
        care = numbered(self.care, number)
        return not_(eq(make("and", care.width, care, make("xor", care.width, a, b)), const(0, care.width)))

    def mistaken(self, outputs: Mapping[str, Term], number: int) -> Term:
        """Whether a tag is another one than this operation's."""
        return not_(eq(outputs["tag_out"], self._tag(number))) if self.ports.tag else FALSE

    def held(self, number: int) -> dict[str, Term]:
        """What registers hold when this operation is taken."""
        return {name: numbered(t, number) for name, t in self.preset.items()}

    def facts(self, numbers: Iterable[int]) -> list[Term]:
        """What is assumed of operations that are in flight together; their tags are different."""
        known = list(numbers)
        tags = [self._tag(n) for n in known] if self.ports.tag else []
        return [
            *(numbered(self.assumed, n) for n in known),
            *(not_(eq(a, b)) for i, a in enumerate(tags) for b in tags[:i]),
        ]


def paused_signals(ports: PortMap, driven: Driven, name: str) -> dict[str, Term]:
    """The signals of a cycle without the clock enable: anything may be offered, and taken. name: the end of their
    variables'."""
    tag = {"tag_in": var(f"tag{name}", ports.tag.width)} if ports.tag else {}
    free = {"in_valid": var(f"in_valid{name}", ports.handshake.channels), "out_ready": var(f"out_ready{name}", 1)}
    return {**idle_signals(ports), **free, **tag, "stimulus": driven.any(name), "enable": FALSE}


def numbered(t: Term, number: int) -> Term:
    """A term of an operation's variables, as of the operation with this number."""
    return substitute([t], {v: var(f"{v.value}#{number}", v.width) for v in variables([t])})[0]
