"""How a module uses its inputs of one bit: the edges that it waits for and the levels that it tests, through wires,
inverters, gates and instances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from softfloat_ref.rtl.module_ports import Elaborated

_MAX_INSTANCES: Final = 2000  # that are looked into
_DEPTH: Final = 64  # of wires between a port and its use
_NOT: Final = ("LogicalNot", "BitwiseNot")
_OR: Final = ("LogicalOr", "BinaryOr")
_AND: Final = ("LogicalAnd", "BinaryAnd")
_XOR: Final = ("BinaryXor", "Inequality", "CaseInequality")
_XNOR: Final = ("BinaryXnor", "Equality", "CaseEquality")
_GATES: Final = {  # whether it inverts, and what
    "not": (True, ""),
    "buf": (False, ""),
    "and": (False, "and"),
    "or": (False, "or"),
    "nand": (True, "and"),
    "nor": (True, "or"),
}
_OPPOSITE: Final = {"PosEdge": "NegEdge", "NegEdge": "PosEdge"}


@dataclass(frozen=True)
class Evidence:
    """How the module uses an input: the edges that it waits for, the level that it tests, the level that makes what it
    assigns 0, and where first."""

    edges: frozenset[str]
    tested: str
    place: str
    clears: str = ""


class Level(NamedTuple):
    """A level of a port; alone: whether it is enough by itself, as of one input of an AND or OR."""

    port: str
    high: bool
    alone: bool = True


@dataclass(frozen=True)
class Meaning:
    """The levels of ports that make a signal 1, and those that make it 0."""

    high: frozenset[Level] = frozenset()
    low: frozenset[Level] = frozenset()

    def inverted(self) -> Meaning:
        """That of its complement."""
        return Meaning(self.low, self.high)


_UNKNOWN: Final = Meaning()


class UsesReader:
    """What a module does with its inputs. cases: its case statements; tests: its conditions."""

    def __init__(self, design: Elaborated) -> None:
        self.design, self.ast = design, design.slang.ast
        self.drivers: dict[str, list[Any]] = {}  # the expressions, or other signals, that a signal gets
        self.gates: dict[str, list[tuple[str, Any]]] = {}
        self.events: list[Any] = []
        self.tests: list[Any] = []
        self.cases: list[Any] = []
        self.assigned: list[Any] = []
        self.instances = 0
        self.known: dict[str, Meaning] = {}
        plain = filter(_is_plain, design.body.portList)
        self.inputs: dict[str, str] = {p.internalSymbol.hierarchicalPath: p.name for p in plain}

    def all(self) -> Mapping[str, Evidence]:
        """How the module uses its inputs, by port."""
        self.known = {
            x: Meaning(frozenset({Level(p, True)}), frozenset({Level(p, False)})) for x, p in self.inputs.items()
        }
        self.design.body.visit(self._visit)
        edges: dict[str, set[str]] = {}
        tested: dict[str, str] = {}
        places: dict[str, str] = {}
        for event in self.events:
            for level in self._of(event.expr).high:
                name = event.edge.name if level.high else _OPPOSITE.get(event.edge.name, event.edge.name)
                edges.setdefault(level.port, set()).add(name)
                places.setdefault(level.port, self.place(event))
        clears: dict[str, str] = {}
        for found, expressions in (
            (tested, [(test, self._of(test.conditions[0].expr).high) for test in self.tests]),
            (clears, [(assigned, self._of(assigned.right).low) for assigned in self.assigned]),
        ):
            for node, levels in expressions:
                for level in (x for x in levels if x.alone):
                    found.setdefault(level.port, "high" if level.high else "low")
                    places.setdefault(level.port, self.place(node))
        return {
            x: Evidence(frozenset(edges.get(x, ())), tested.get(x, ""), place, clears.get(x, ""))
            for x, place in places.items()
        }

    # -- what drives what ----------------------------------------------------------------------------------------------

    def _visit(self, node: Any) -> Any:
        ast, skip = self.ast, self.ast.VisitAction.Skip
        if isinstance(node, ast.InstanceSymbol):
            self.instances += 1
            if self.instances > _MAX_INSTANCES:
                return skip
            self._connections(node)
        elif isinstance(node, ast.GenerateBlockSymbol):
            return skip if node.isUninstantiated else ast.VisitAction.Advance
        elif isinstance(node, ast.SignalEventControl):
            self.events.append(node)
        elif isinstance(node, ast.ConditionalStatement):
            self.tests.append(node)
        elif isinstance(node, ast.CaseStatement):
            self.cases.append(node)
        elif isinstance(node, ast.PrimitiveInstanceSymbol):
            self._gate(node)
        elif isinstance(node, ast.NetSymbol | ast.VariableSymbol):
            if isinstance(node, ast.NetSymbol) and node.initializer is not None:
                self.drivers.setdefault(node.hierarchicalPath, []).append(node.initializer)
                self._choices(node.initializer)
            return skip
        elif isinstance(node, ast.Expression):
            if isinstance(node, ast.AssignmentExpression):
                self._assignment(node)
            return skip
        return ast.VisitAction.Advance

    def _connections(self, instance: Any) -> None:
        for connection in instance.portConnections:
            inner, expression = getattr(connection.port, "internalSymbol", None), connection.expression
            if inner is None or expression is None or not hasattr(connection.port, "direction"):
                continue
            if connection.port.direction.name == "In":
                self.drivers.setdefault(inner.hierarchicalPath, []).append(expression)
            elif path := self._path(getattr(expression, "left", None)):
                self.drivers.setdefault(path, []).append(inner)

    def _assignment(self, node: Any) -> None:
        if node.right.kind.name != "EmptyArgument" and (path := self._path(node.left)):
            self.drivers.setdefault(path, []).append(node.right)
            self.assigned.append(node)
            self._choices(node.right)

    def _choices(self, expression: Any) -> None:
        """Note the conditions of an expression of the form a ? b : c ? d : ..."""
        value = self.inside(expression)
        while isinstance(value, self.ast.ConditionalExpression):
            self.tests.append(value)
            value = self.inside(value.right)

    def _gate(self, gate: Any) -> None:
        output, *inputs = gate.portConnections
        path = self._path(getattr(output, "left", output))
        if path and gate.primitiveType.name in _GATES:
            self.gates.setdefault(path, []).append((gate.primitiveType.name, inputs))

    def inside(self, expression: Any) -> Any:
        """An expression without conversions around it."""
        while isinstance(expression, self.ast.ConversionExpression):
            expression = expression.operand
        return expression

    def _path(self, expression: Any) -> str:
        """The signal that an expression names; '' if it is another."""
        expression = self.inside(expression)
        named = isinstance(expression, self.ast.ValueExpressionBase)
        return str(expression.symbol.hierarchicalPath) if named else ""

    def port_of(self, expression: Any) -> str:
        """The input of the module that an expression is, through wires, registers and instances; '' for another."""
        path = self._path(expression)
        for _ in range(_DEPTH):
            if path in self.inputs:
                return self.inputs[path]
            drivers = {self._path_of(x) for x in self.drivers.get(path, []) if self.constant(x) is None}
            if len(drivers) != 1:
                break
            path = drivers.pop()
        return ""

    def _path_of(self, driver: Any) -> str:
        """The signal that a driver is, an expression or a signal of an instance; '' for another."""
        if isinstance(driver, self.ast.ValueSymbol):
            return str(driver.hierarchicalPath)
        return self._path(driver)

    # -- what it means -------------------------------------------------------------------------------------------------

    def _signal(self, path: str, depth: int) -> Meaning:
        """The meaning of a signal that has one driver, or several that mean the same; constants, as of a reset, do not
        count."""
        if path not in self.known:
            self.known[path] = _UNKNOWN  # for what rests on itself
            drivers, gates = self.drivers.get(path, []), self.gates.get(path, [])
            meanings = [self._of(x, depth + 1) for x in drivers if self.constant(x) is None]
            meanings += [self._of_gate(name, inputs, depth + 1) for name, inputs in gates]
            self.known[path] = meanings[0] if len(set(meanings)) == 1 else _UNKNOWN
        return self.known[path]

    def _of(self, node: Any, depth: int = 0) -> Meaning:
        """The meaning of an expression, or of a signal."""
        ast, node = self.ast, self.inside(node)
        if depth > _DEPTH:
            return _UNKNOWN
        if isinstance(node, ast.ValueSymbol):
            return self._signal(str(node.hierarchicalPath), depth)
        if path := self._path(node):
            return self._signal(path, depth)
        if isinstance(node, ast.UnaryExpression) and node.op.name in _NOT:
            return self._of(node.operand, depth + 1).inverted()
        if isinstance(node, ast.BinaryExpression):
            return self._of_binary(node, depth + 1)
        if isinstance(node, ast.ConditionalExpression) and len(node.conditions) == 1:
            chosen, ways = self.constant(node.conditions[0].expr), (node.right, node.left)
            if chosen is not None:
                return self._of(ways[bool(chosen)], depth + 1)
            return _joined((self._of(way, depth + 1) for way in ways), "")
        return _UNKNOWN

    def _of_binary(self, node: Any, depth: int) -> Meaning:
        op = node.op.name
        if op in _OR or op in _AND:
            return _joined((self._of(x, depth) for x in (node.left, node.right)), "or" if op in _OR else "and")
        if op in _XOR or op in _XNOR:
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if (value := self.constant(other)) in (0, 1):
                    meaning = self._of(side, depth)
                    return meaning.inverted() if (value == 1) == (op in _XOR) else meaning
        return _UNKNOWN

    def _of_gate(self, name: str, inputs: Iterable[Any], depth: int) -> Meaning:
        inverts, kind = _GATES[name]
        meaning = _joined((self._of(x, depth) for x in inputs), kind)
        return meaning.inverted() if inverts else meaning

    def constant(self, node: Any) -> int | None:
        """The value of a constant expression of known bits."""
        if not isinstance(node, self.ast.Expression):
            return None
        with suppress(Exception):  # whatever slang cannot evaluate
            value = node.constant or node.eval(self.ast.EvalContext(self.design.body))
            return None if value.hasUnknown() else int(value.value)
        return None

    def place(self, node: Any) -> str:
        """The name of the file, and the line: the folder is the user's own."""
        return Path(self.design.place(node.sourceRange.start)).name


def _is_plain(port: Any) -> bool:
    return bool(port.name) and hasattr(port, "direction") and port.internalSymbol is not None


def _joined(meanings: Iterable[Meaning], kind: str) -> Meaning:
    """The meaning of an OR, of an AND, or of a choice between signals: one input alone makes an OR 1 and an AND 0."""
    parts = list(meanings)
    if len(parts) == 1:
        return parts[0]
    high = {x if kind == "or" else x._replace(alone=False) for part in parts for x in part.high}
    low = {x if kind == "and" else x._replace(alone=False) for part in parts for x in part.low}
    return Meaning(frozenset(high), frozenset(low))
