"""Constructs of SystemVerilog in a design that no circuit stands for, or that Yosys reads wrongly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from softfloat_ref.rtl.module_ports import Elaborated

Nodes = Mapping[str, list[Any]]  # of slang's elaboration, by kind
_STATEMENTS: Final = {
    "Wait": "wait",
    "WaitFork": "wait fork",
    "WaitOrder": "wait_order",
    "EventTrigger": "an event",
    "DisableFork": "disable fork",
    "ProceduralAssign": "a procedural assign or force",
    "ProceduralDeassign": "deassign or release",
    "RandCase": "randcase",
    "RandSequence": "randsequence",
    "PatternCase": "case matches",
    "ProceduralChecker": "a checker",
}
_NETS: Final = ("Wire", "Tri", "UWire")
_GATES: Final = ("and", "nand", "or", "nor", "xor", "xnor", "not", "buf")
_FUNCTIONS: Final = {
    *("$signed", "$unsigned", "$clog2", "$bits", "$size", "$left", "$right", "$low", "$high", "$increment"),
    *("$dimensions", "$unpacked_dimensions", "$countones", "$onehot", "$onehot0", "$countbits", "$isunbounded"),
    *("$display", "$write", "$strobe", "$monitor", "$info", "$warning", "$error", "$fatal", "$finish", "$stop"),
    *("$readmemh", "$readmemb", "$rtoi", "$itor", "$realtobits", "$bitstoreal"),
    *("$floor", "$ceil", "$ln", "$log10", "$exp", "$sqrt", "$pow"),
}
_REALS: Final = ("RealLiteral", "TimeLiteral", "RealKeyword", "ShortRealKeyword", "RealTimeKeyword")


def constructs(design: Elaborated, nodes: Nodes, verilog: bool) -> Iterator[str]:
    """What is not supported, with the line. verilog: by Yosys' own front end."""
    for node, text in _found(nodes):
        place = node.location if hasattr(node, "location") else node.sourceRange.start
        yield f"{design.place(place)}: {text}"


def _found(nodes: Nodes) -> Iterator[tuple[Any, str]]:
    for kind, text in _STATEMENTS.items():
        yield from ((node, f"{text}: not supported in a proof") for node in nodes.get(kind, ()))
    for node in nodes.get("Block", ()):
        if node.blockKind.name != "Sequential":
            yield node, "fork: not supported in a proof"
    tops = {block.body for block in nodes.get("ProceduralBlock", ())}
    for node in nodes.get("Timed", ()):
        if node not in tops or node.timing.kind.name not in ("ImplicitEvent", "SignalEvent", "EventList"):
            yield node, "a delay, or an event within a process: not supported in a proof"
    for node in nodes.get("Assignment", ()):
        if node.timingControl is not None:
            yield node, "a delay in an assignment: not supported in a proof; leave it out"
    for node in (*nodes.get("ContinuousAssign", ()), *nodes.get("Net", ()), *nodes.get("PrimitiveInstance", ())):
        if node.delay is not None:
            yield node, "a delay: not supported in a proof; leave it out"
        if any(strength is not None for strength in node.driveStrength):
            yield node, "a drive strength: not supported in a proof; leave it out"
    for node in nodes.get("Net", ()):
        if node.netType.netKind.name not in _NETS:
            yield node, f"{node.name} is a net of type {node.netType.name}: only wires are supported in a proof"
    for node in nodes.get("PrimitiveInstance", ()):
        if node.primitiveType.name not in _GATES:
            yield node, f"{node.primitiveType.name}: not supported in a proof"
    yield from ((node, "alias: not supported in a proof") for node in nodes.get("NetAlias", ()))
    for node in nodes.get("Call", ()):
        if node.isSystemCall and node.subroutineName not in _FUNCTIONS:
            yield node, f"{node.subroutineName}: not supported in a proof"
    for node in nodes.get("ImmediateAssertion", ()):
        if any(_acts(action) for action in (node.ifTrue, node.ifFalse)):
            yield node, "an assertion that assigns: not supported in a proof"


def _acts(action: Any) -> bool:
    """Whether an assertion's action does more than print."""
    found: list[Any] = []
    if action is not None:
        action.visit(lambda n: found.append(n) if _does(n) else None)
    return bool(found)


def _does(node: Any) -> bool:
    kind = node.kind.name if hasattr(node, "kind") else ""
    return kind in ("Assignment", "UnaryOp") or (kind == "Call" and not node.isSystemCall)
