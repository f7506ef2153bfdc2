"""Refuses sources whose simulation is not what Yosys makes of them, by slang's elaboration, with the line.

Yosys reads what a circuit would do; the standard says what a simulation does. They differ in sensitivity lists, in the
order of reads and assignments, and in races; several drivers and delays have no circuit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.constructs import Nodes, constructs
from softfloat_ref.proof.dataflow import Flow, outside, stored
from softfloat_ref.proof.drivers import races, several_drivers
from softfloat_ref.proof.processes import Functions, Process, call_problems, function_problems, processes
from softfloat_ref.rtl.module_ports import Elaborated


def check_defined(design: Elaborated, verilog: bool = False) -> None:
    """Raises Error for the first construct that a netlist cannot stand for. verilog: Yosys' own front end reads it."""
    for problem in _problems(design, verilog):
        raise Error(problem)


def _problems(design: Elaborated, verilog: bool) -> Iterator[str]:
    compilation = design.body.compilation
    for error in compilation.getAllDiagnostics():
        if error.isError():
            yield f"{design.place(error.location)}: {design.slang.DiagnosticEngine(design.manager).formatMessage(error)}"
    nodes = _nodes(design)
    yield from constructs(design, nodes, verilog)
    manager = design.slang.analysis.AnalysisManager()
    manager.analyze(compilation)
    yield from several_drivers(design, manager, [*nodes.get("Net", ()), *nodes.get("Variable", ())])
    functions: dict[Any, Flow] = {}
    found = list(processes(design, nodes.get("ProceduralBlock", ()), functions))
    for process in found:
        yield from process.problems()
    called = Flow(design, None, functions)
    callees = {call.subroutine for call in nodes.get("Call", ()) if not call.isSystemCall}
    if any(read for callee in callees for read in outside(called.function(callee))):
        for flow, _ in _assignments(design, nodes, functions):
            yield from call_problems(flow)
    yield from function_problems(design, functions)
    yield from races(design, found, lambda: _links(found, _assignments(design, nodes, functions)))


def _nodes(design: Elaborated) -> dict[str, list[Any]]:
    """What is in the module and those below it, by kind; without assertions and what generate leaves out."""
    found: dict[str, list[Any]] = {}
    skip = design.slang.ast.VisitAction.Skip

    def visit(node: Any) -> Any:
        kind = node.kind.name if hasattr(node, "kind") else ""
        if kind in ("GenerateBlock", "GenerateBlockArray") and getattr(node, "isUninstantiated", False):
            return skip
        found.setdefault(kind, []).append(node)
        return skip if kind in ("ConcurrentAssertion", "ImmediateAssertion") else None

    design.body.visit(visit)
    return found


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
