"""The processes of a design in SystemVerilog, and where a simulation runs them otherwise than a circuit works."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.dataflow import Bits, Flow, outer_reads
from softfloat_ref.rtl.module_ports import Elaborated

Functions = dict[Any, Flow]
Kind = Literal["comb", "star", "list", "clocked", "initial"]
_SELECTS: Final = ("NamedValue", "HierarchicalValue", "ElementSelect", "RangeSelect", "MemberAccess")


@dataclass
class Process:
    """A process. kind: of always_comb, always @*, always with a list of signals, with edges, or initial. events: the
    bits that start it, as its sensitivity list says; functions: flows of all functions of the design so far."""

    design: Elaborated
    symbol: Any
    kind: Kind
    functions: Functions
    events: Bits = field(default_factory=dict)

    @cached_property
    def flow(self) -> Flow:
        return Flow(self.design, self.symbol.body, self.functions)

    @property
    def is_combinational(self) -> bool:
        """Whether it has no edges."""
        return self.kind in ("comb", "star", "list")

    def problems(self, read: Callable[[], set[Any]]) -> Iterator[str]:
        """Where a simulation differs from the circuit, with the line. read: all variables whose values matter to
        others, or to a later run of their process."""
        yield from unordered_assignments(self.flow)
        if self.kind == "initial":
            yield from self._early("an initial block reads {}, which it has not assigned; use constants")
        if self.is_combinational:
            yield from self._early(
                "{} is read before it is assigned: a simulation takes its earlier value, a circuit the new one; "
                "assign it first"
            )
            yield from self._late()
            yield from self._kept(read)

    def _early(self, text: str) -> Iterator[str]:
        for read in self.flow.reads:
            own = self.flow.writes.get(read.symbol, 0) if self.is_combinational else read.bits
            if read.bits & own and not is_automatic(read.symbol):
                yield f"{self.design.place(read.location)}: {text.format(read.symbol.name)}"

    def _late(self) -> Iterator[str]:
        """What is read, and starts no run of the process."""
        if self.kind == "comb":
            return
        starts = dict(self.events)
        for read in self.flow.reads:
            if self.kind == "star" and not (read.called or is_automatic(read.symbol)):
                starts[read.symbol] = starts.get(read.symbol, 0) | read.bits
        for read in self.flow.reads:
            if read.bits & ~starts.get(read.symbol, 0) and not is_automatic(read.symbol):
                place, name = self.design.place(read.location), read.symbol.name
                where = "in a function called by always @*" if self.kind == "star" else "here"
                yield f"{place}: {name} is read {where}; its changes start no simulation of this; use always_comb"
        self.events = starts

    def _kept(self, read: Callable[[], set[Any]]) -> Iterator[str]:
        """Latches; what nobody reads, such as the counter of a loop in a branch, is none."""
        for symbol, _ in self.flow.latched():
            if not is_automatic(symbol) and symbol in read():
                place = self.design.place(self.flow.places[symbol])
                yield f"{place}: {symbol.name} is a latch: not every branch assigns it; assign it in every case"


def is_automatic(symbol: Any) -> bool:
    """Whether a variable is made anew in each run of its block."""
    lifetime = getattr(symbol, "lifetime", None)
    return symbol.kind.name == "FormalArgument" or (lifetime is not None and lifetime.name == "Automatic")


def processes(design: Elaborated, blocks: Iterable[Any], functions: Functions) -> Iterator[Process]:
    """The processes of a design. Raises Error for those that no circuit stands for."""
    for block in blocks:
        place, kind = design.place(block.location), block.procedureKind.name
        if kind == "Final" or block.body.kind.name in ("ConcurrentAssertion", "ImmediateAssertion"):
            continue
        if kind == "Initial":
            yield Process(design, block, "initial", functions)
        elif kind == "AlwaysComb":
            yield Process(design, block, "comb", functions)
        elif kind == "AlwaysLatch":
            raise Error(f"{place}: always_latch: latches are not supported, only registers")
        elif block.body.kind.name != "Timed":
            raise Error(f"{place}: an always process without a sensitivity list; use always_comb or always_ff")
        else:
            yield _listed(design, block, block.body.timing, functions)


def _listed(design: Elaborated, block: Any, timing: Any, functions: Functions) -> Process:
    """A process with a sensitivity list."""
    place = design.place(block.location)
    if timing.kind.name == "ImplicitEvent":
        return Process(design, block, "star", functions)
    events = timing.events if timing.kind.name == "EventList" else [timing]
    if any(e.kind.name != "SignalEvent" or e.iffCondition is not None for e in events):
        raise Error(f"{place}: only signals and their edges are supported in a sensitivity list")
    edges = {e.edge.name for e in events}
    if edges != {"None_"} and not edges <= {"PosEdge", "NegEdge"}:
        raise Error(f"{place}: a sensitivity list with and without edges; use always_comb or always_ff")
    signals: Bits = {}
    for symbol, bits in (_event(design, e.expr, place) for e in events):
        signals[symbol] = signals.get(symbol, 0) | bits
    return Process(design, block, "list" if edges == {"None_"} else "clocked", functions, signals)


def _event(design: Elaborated, expression: Any, place: str) -> tuple[Any, int]:
    """The bits of a signal in a sensitivity list."""
    paths = Flow(design, expression).reads if expression.kind.name in _SELECTS else []
    if len(paths) != 1:
        raise Error(f"{place}: an expression in a sensitivity list; name the signals, or use always_comb")
    return paths[0].symbol, paths[0].bits


def unordered_assignments(flow: Flow) -> Iterator[str]:
    """Assignments whose order is open."""
    for location in flow.unordered:
        place = flow.design.place(location)
        yield f"{place}: assignments within one expression, whose order is open; separate them"


def initial_values(design: Elaborated, variables: Iterable[Any]) -> Iterator[str]:
    """Initial values of variables that are not constant."""
    for symbol in variables:
        if symbol.initializer is not None and not is_automatic(symbol):
            for read in Flow(design, symbol.initializer).reads:
                place = design.place(read.location)
                yield f"{place}: the initial value of {symbol.name} reads {read.symbol.name}; use a constant, or assign"


def call_problems(flow: Flow) -> Iterator[str]:
    """Functions in a continuous assignment, or a connection, that read other variables than their own."""
    for read in flow.reads:
        if read.called:
            yield (
                f"{flow.design.place(read.location)}: a function called here reads {read.symbol.name}, whose changes "
                "start no simulation of this assignment; make it an argument, or use always_comb"
            )


def function_problems(design: Elaborated, functions: Functions) -> Iterator[str]:
    """Functions with side effects, and static ones that keep values of an earlier call."""
    for subroutine, flow in functions.items():
        yield from unordered_assignments(flow)
        for symbol in flow.writes:
            if symbol not in flow.own:
                place = design.place(flow.places[symbol])
                yield f"{place}: {subroutine.name} assigns {symbol.name}, which is not its own; use an output of it"
        if subroutine.subroutineKind.name == "Task" and (read := next(iter(outer_reads(flow)), None)) is not None:
            place = design.place(read.location)
            yield f"{place}: task {subroutine.name} reads {read.symbol.name}, which is not its own; make it an argument"
        if subroutine.defaultLifetime.name == "Static":
            own = [(r.symbol, r.location) for r in flow.reads if r.symbol in flow.own and not is_automatic(r.symbol)]
            ends = [a for a in subroutine.arguments if a.direction.name == "Out"]
            ends += [subroutine.returnValVar] if subroutine.returnValVar is not None else []  # a task has none
            own += [(s, flow.places[s]) for s, _ in flow.latched() if s in ends]
            for symbol, location in own:
                yield (
                    f"{design.place(location)}: {symbol.name} may keep its value of an earlier call of "
                    f"{subroutine.name}; assign it first, or declare the function automatic"
                )
