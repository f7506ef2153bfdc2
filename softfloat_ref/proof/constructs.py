"""Constructs of SystemVerilog in a design that no circuit stands for, or that Yosys reads wrongly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from softfloat_ref.proof.dataflow import stored
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
_NET_TYPES: Final = ("Wire", "Tri", "UWire")
_GATES: Final = ("and", "nand", "or", "nor", "xor", "xnor", "not", "buf")
_FUNCTIONS: Final = {
    *("$signed", "$unsigned", "$clog2", "$bits", "$size", "$left", "$right", "$low", "$high", "$increment"),
    *("$dimensions", "$unpacked_dimensions", "$countones", "$onehot", "$onehot0", "$countbits", "$isunbounded"),
    *("$display", "$write", "$strobe", "$monitor", "$info", "$warning", "$error", "$fatal", "$finish", "$stop"),
    *("$readmemh", "$readmemb", "$sformatf", "$rtoi", "$itor", "$realtobits", "$bitstoreal"),
    *("$floor", "$ceil", "$ln", "$log10", "$exp", "$sqrt", "$pow"),
}
_MEMORY_READERS: Final = ("$readmemh", "$readmemb")  # which only initial blocks have
_INDEX_BITS: Final = 32  # bits of an index that Yosys looks at


def constructs(design: Elaborated, nodes: Nodes) -> Iterator[str]:
    """What is not supported, with the line."""
    for node, text in (*_statements(nodes), *_nets(nodes), *_expressions(nodes)):
        place = node.location if hasattr(node, "location") else node.sourceRange.start
        yield f"{design.place(place)}: {text}: not supported in a proof"


def _statements(nodes: Nodes) -> Iterator[tuple[Any, str]]:
    for kind, text in _STATEMENTS.items():
        yield from ((node, text) for node in nodes.get(kind, ()))
    yield from ((node, "fork") for node in nodes.get("Block", ()) if node.blockKind.name != "Sequential")
    tops = {block.body for block in nodes.get("ProceduralBlock", ())}
    for node in nodes.get("Timed", ()):
        if node not in tops or node.timing.kind.name not in ("ImplicitEvent", "SignalEvent", "EventList"):
            yield node, "a delay, or an event within a process"
    for node in nodes.get("ImmediateAssertion", ()):
        if any(_acts(action) for action in (node.ifTrue, node.ifFalse)):
            yield node, "an assertion that assigns"


def _nets(nodes: Nodes) -> Iterator[tuple[Any, str]]:
    for node in nodes.get("Net", ()):
        if node.netType.netKind.name not in _NET_TYPES:
            yield node, f"{node.name}, a net of type {node.netType.name}"
    for node in nodes.get("Variable", ()):
        if _has_negative_index(node.type):
            yield node, f"{node.name}, an array with negative indices, which Yosys takes for indices beyond it"
    for node in nodes.get("PrimitiveInstance", ()):
        if node.primitiveType.name not in _GATES:
            yield node, node.primitiveType.name
    for node in (*nodes.get("ContinuousAssign", ()), *nodes.get("Net", ()), *nodes.get("PrimitiveInstance", ())):
        if node.delay is not None:
            yield node, "a delay"
        if _has_strength(node):
            yield node, "a drive strength"
    yield from ((node, "alias") for node in nodes.get("NetAlias", ()))
    for node in nodes.get("ModportPort", ()):
        if node.explicitConnection is not None:
            yield node, "an expression in a modport"
    for node in nodes.get("InstanceBody", ()):
        if node.definition.unconnectedDrive.name != "None_":
            yield node, "`unconnected_drive"


def _has_negative_index(kind: Any) -> bool:
    """Whether an unpacked array has one: Yosys 0.70 compares addresses of memories without their sign."""
    kind = kind.canonicalType
    if not (kind.isUnpackedArray and hasattr(kind, "range")):
        return False
    return kind.range.lower < 0 or _has_negative_index(kind.elementType)


def _has_strength(node: Any) -> bool:
    try:
        return any(strength is not None for strength in node.driveStrength)
    except TypeError:  # pyslang 12.1 has no type for a strength
        return True


def _expressions(nodes: Nodes) -> Iterator[tuple[Any, str]]:
    for node in nodes.get("Assignment", ()):
        if node.timingControl is not None:
            yield node, "a delay in an assignment"
    for node in nodes.get("Call", ()):
        if node.isSystemCall and node.subroutineName not in _FUNCTIONS:
            yield node, node.subroutineName
    for block in nodes.get("ProceduralBlock", ()):
        if block.procedureKind.name != "Initial":
            yield from (
                (call, call.subroutineName)
                for call in below(block, lambda n: getattr(n, "subroutineName", "") in _MEMORY_READERS)
            )
    wild = {id(part) for node in nodes.get("Case", ()) for part in _items(node)}
    wild |= {id(p) for n in nodes.get("BinaryOp", ()) if n.op.name.startswith("Wildcard") for p in _literals(n.right)}
    wild |= {id(p) for n in nodes.get("Inside", ()) for x in n.rangeList for p in _literals(x)}
    for node in (*nodes.get("IntegerLiteral", ()), *nodes.get("UnbasedUnsizedIntegerLiteral", ())):
        if id(node) not in wild and "z" in str(node.value).lower():
            yield node, "the value z"
    for node in nodes.get("Parameter", ()):
        if _is_ones(node):
            yield node, f"'1 for {node.name}, which has no range (simulators differ)"
    for node in variable_indices(nodes):
        if node.selector.type.bitWidth > _INDEX_BITS:
            yield node, f"an index of more than {_INDEX_BITS} bits"


def _is_ones(parameter: Any) -> bool:
    """Whether a parameter without a type is '1, whose width is open."""
    value, declaration = parameter.initializer, getattr(parameter.syntax, "parent", None)
    kind = getattr(declaration, "type", None)
    implicit = kind is not None and kind.kind.name == "ImplicitType" and len(kind.dimensions) == 0
    return implicit and value is not None and str(value.syntax).strip() == "'1"


def _items(case: Any) -> Iterator[Any]:
    return (part for group in case.items for item in group.expressions for part in _literals(item))


def _literals(expression: Any) -> list[Any]:
    return below(expression, lambda n: hasattr(n, "kind") and n.kind.name.endswith("Literal"))


def below(node: Any, wanted: Callable[[Any], bool]) -> list[Any]:
    """The wanted ones of the nodes below an expression or a statement, which is one itself."""
    nodes: list[Any] = []
    node.visit(lambda n: nodes.append(n) if wanted(n) else None)
    return nodes


def variable_indices(nodes: Nodes) -> Iterator[Any]:
    """Elements of arrays selected by more than constants and the variables of loops, which are unrolled."""
    loops = loop_variables(nodes)
    for node in nodes.get("ElementSelect", ()):
        if node.value.type.isUnpackedArray and variables(node.selector) - loops:
            yield node


def variables(expression: Any) -> set[Any]:
    """The nets and variables that an expression reads."""
    return {stored(n.symbol) for n in below(expression, lambda n: hasattr(n, "symbol"))} - {None}


def loop_variables(nodes: Nodes) -> set[Any]:
    """The variables of loops, which are unrolled."""
    return {symbol for loop in nodes.get("ForLoop", ()) for symbol in _loop_variables(loop)}


def _loop_variables(loop: Any) -> Iterator[Any]:
    yield from loop.loopVars
    yield from (e.left.symbol for e in loop.initializers if e.kind.name == "Assignment" and hasattr(e.left, "symbol"))


def _acts(action: Any) -> bool:
    """Whether an assertion's action does more than print."""
    return action is not None and bool(below(action, _does))


def _does(node: Any) -> bool:
    kind = node.kind.name if hasattr(node, "kind") else ""
    return kind in ("Assignment", "UnaryOp") or (kind == "Call" and not node.isSystemCall)
