"""Refuses sources whose simulation is not what Yosys makes of them, by slang's elaboration, with the line.

Yosys reads what a circuit would do; the standard says what a simulation does. They differ in sensitivity lists, in the
order of reads and assignments, and in races; several drivers and delays have no circuit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, partial
from itertools import product
from typing import Any, Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.constants import ElaboratedFact, facts, signed_remainders
from softfloat_ref.proof.constructs import Nodes, constructs
from softfloat_ref.proof.dataflow import Flow, outer_reads, stored
from softfloat_ref.proof.drivers import never_started, races, several_drivers, shared
from softfloat_ref.proof.front_ends import misread
from softfloat_ref.proof.processes import (
    Functions,
    Process,
    call_problems,
    function_problems,
    initial_values,
    is_automatic,
    processes,
    unordered_assignments,
)
from softfloat_ref.rtl.module_ports import Elaborated

_NOT_CIRCUIT: Final = ("ConcurrentAssertion", "ImmediateAssertion", "Subroutine", "Parameter")  # of what a circuit is


class Expected(NamedTuple):
    """What a netlist of a design may have, and what its front end must say. shared: names of variables with several
    drivers, of which nothing depends (counters of loops, in several processes)."""

    shared: frozenset[str]
    facts: tuple[ElaboratedFact, ...]


def check_defined(design: Elaborated, verilog: bool = False) -> Expected:
    """Raises Error for the first construct that a netlist cannot stand for. verilog: Yosys' own front end reads it."""
    checked = _Checked(design, verilog)
    for problem in checked.problems():
        raise Error(problem)
    return Expected(frozenset(symbol.name for symbol in checked.shared), facts(design))


class _Checked:
    """A design, its parts by kind, and how its processes and functions use variables."""

    def __init__(self, design: Elaborated, verilog: bool) -> None:
        self.design, self.verilog = design, verilog
        self.shared: set[Any] = set()

    def problems(self) -> Iterator[str]:
        """What is wrong, the gravest first, with the line."""
        design, compilation = self.design, self.design.body.compilation
        messages = design.slang.DiagnosticEngine(design.manager)
        no_times = design.slang.Diags.MissingTimeScale  # the module that instantiates this one has none
        for error in (d for d in compilation.getAllDiagnostics() if d.isError() and d.code != no_times):
            yield f"{design.place(error.location)}: {messages.formatMessage(error)}"
        nodes = _nodes(design)
        yield from constructs(design, nodes)
        yield from misread(design, nodes) if self.verilog else signed_remainders(design, nodes)
        functions: dict[Any, Flow] = {}
        listed = list(processes(design, nodes.get("ProceduralBlock", ()), functions))
        manager = design.slang.analysis.AnalysisManager()
        manager.analyze(compilation)
        signals = [*nodes.get("Net", ()), *nodes.get("Variable", ())]
        read = cache(partial(_read, design, nodes, listed, functions))
        self.shared = shared(manager, signals, read)
        yield from several_drivers(design, manager, (s for s in signals if s not in self.shared))
        for process in listed:
            yield from process.problems(read)
        yield from never_started(design, manager, listed)
        yield from initial_values(design, nodes.get("Variable", ()))
        yield from _elsewhere(design, nodes, (process.flow for process in listed))
        yield from _functions(design, nodes, functions)
        yield from races(design, listed, lambda: _links(listed, _assignments(design, nodes, functions)))


def _functions(design: Elaborated, nodes: Nodes, functions: Functions) -> Iterator[str]:
    """What is wrong with functions, and with assignments that call them."""
    for node in nodes.get("ContinuousAssign", ()):
        if node.assignment.left.kind.name == "Concatenation":
            yield from unordered_assignments(Flow(design, node.assignment, functions))
    called = Flow(design, None, functions)
    if any(read for callee in _callees(nodes) for read in outer_reads(called.function(callee))):
        for flow, _ in _assignments(design, nodes, functions):
            yield from call_problems(flow)
    yield from function_problems(design, functions)


def _read(design: Elaborated, nodes: Nodes, listed: Iterable[Process], functions: Functions) -> set[Any]:
    """Variables that are read, or ports, other than by a process that assigned them before."""
    flows = [p.flow for p in listed] + [flow for flow, _ in _assignments(design, nodes, functions)]
    flows += functions.values()
    ports = {stored(getattr(port, "internalSymbol", None)) for port in nodes.get("Port", ())}
    return ports | {read.symbol for flow in flows for read in flow.reads}


def _elsewhere(design: Elaborated, nodes: Nodes, flows: Iterable[Flow]) -> Iterator[str]:
    """Variables of packages, which are not the design's own."""
    known = {*nodes.get("Net", ()), *nodes.get("Variable", ()), *nodes.get("FormalArgument", ())}
    for flow in flows:
        for symbol, location in (*((r.symbol, r.location) for r in flow.reads), *flow.places.items()):
            if symbol not in known and not is_automatic(symbol):
                yield f"{design.place(location)}: {symbol.name} is a variable of a package: not supported in a proof"


def _nodes(design: Elaborated) -> dict[str, list[Any]]:
    """What is in the module, those below it and functions that they call, by kind; without assertions, variables of
    functions, parameters, and what generate leaves out."""
    nodes: dict[str, list[Any]] = {}
    skip = design.slang.ast.VisitAction.Skip

    def visit(node: Any) -> Any:
        kind = node.kind.name if hasattr(node, "kind") else ""
        if kind in ("GenerateBlock", "GenerateBlockArray") and getattr(node, "isUninstantiated", False):
            return skip
        nodes.setdefault(kind, []).append(node)
        return skip if kind in _NOT_CIRCUIT else None

    design.body.visit(visit)  # which does not name itself: a cycle would keep nodes longer than the design
    done: dict[Any, None] = {}
    while called := [c for c in _callees(nodes) if c not in done]:
        for subroutine in called:
            done[subroutine] = None
            subroutine.body.visit(visit)
    return nodes


def _callees(nodes: Nodes) -> dict[Any, None]:
    return dict.fromkeys(call.subroutine for call in nodes.get("Call", ()) if not call.isSystemCall)


def _assignments(design: Elaborated, nodes: Nodes, functions: Functions) -> Iterator[tuple[Flow, Any]]:
    """Continuous assignments and connections of inputs, and the net or port that follows; None if they name it."""
    for node in nodes.get("ContinuousAssign", ()):
        yield Flow(design, node.assignment, functions), None
    for node in nodes.get("Net", ()):
        if node.initializer is not None:
            yield Flow(design, node.initializer, functions), node
    for node in nodes.get("Instance", ()):
        for connection in node.portConnections:
            port = stored(getattr(connection.port, "internalSymbol", None))
            if connection.expression is not None and port is not None:
                yield Flow(design, connection.expression, functions), port


def _links(processes: Iterable[Process], assigned: Iterable[tuple[Flow, Any]]) -> Iterator[tuple[Any, Any]]:
    """Signals, and those that follow them without a register."""
    for flow, port in (*((p.flow, None) for p in processes if p.is_combinational), *assigned):
        reads = {read.symbol for read in flow.reads}
        if port is not None and flow.writes:  # an output
            reads = {port}
        yield from product(reads, flow.writes or ([] if port is None else [port]))
