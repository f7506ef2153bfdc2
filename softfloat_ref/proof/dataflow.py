"""The order in which a process of SystemVerilog reads and assigns variables, in all its ways, with loops unrolled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.rtl.module_ports import Elaborated

_STEPS: Final = 200_000  # statements of a process, with loops unrolled
_CUBES: Final = 4_000  # parts of a selector's values that a case may leave
_INCREMENTS: Final = ("Preincrement", "Predecrement", "Postincrement", "Postdecrement")
_STORED: Final = ("Net", "Variable", "FormalArgument")

Bits = dict[Any, int]  # of a variable, as ones


class Read(NamedTuple):
    """Bits of a variable that are read where they are not yet assigned, as ones. called: in a function."""

    symbol: Any
    bits: int
    location: Any
    called: bool = False


@dataclass
class ProcessState:
    """A point of a process. assigned: bits that are, in every way to it; driven: with those of nonblocking assignments;
    values: variables that are constants there, such as those of loops."""

    assigned: Bits = field(default_factory=dict)
    driven: Bits = field(default_factory=dict)
    values: dict[Any, Any] = field(default_factory=dict)

    def copy(self) -> ProcessState:
        """The same, to go another way."""
        return ProcessState(dict(self.assigned), dict(self.driven), dict(self.values))


def _merged(states: Iterable[ProcessState | None]) -> ProcessState | None:
    """The point where ways meet; None if there are none."""
    meeting = None
    for state in states:
        if meeting is None:
            meeting = state.copy() if state else None
        elif state is not None:
            meeting.assigned = _common(meeting.assigned, state.assigned)
            meeting.driven = _common(meeting.driven, state.driven)
            meeting.values = {s: v for s, v in meeting.values.items() if str(state.values.get(s)) == str(v)}
    return meeting


def _common(a: Bits, b: Bits) -> Bits:
    return {symbol: bits & b[symbol] for symbol, bits in a.items() if symbol in b}


class Flow:
    """A process, function or expression.

    reads: of bits not yet assigned; writes: all bits that it may assign; blocking: those of blocking assignments;
    later: of nonblocking ones; places: of first assignments; unordered: where the order of assignments is open; own:
    variables of a function; functions: flows of those called; end: the state after it, None if it does not end.
    """

    def __init__(
        self, design: Elaborated, statement: Any, known: dict[Any, Flow] | None = None, function: Any = None
    ) -> None:
        self.design, self.subroutine, self.ast = design, function, design.slang.ast
        self.own: set[Any] = set()
        self.reads: list[Read] = []
        self.writes: Bits = {}
        self.blocking: Bits = {}
        self.later: Bits = {}
        self.places: dict[Any, Any] = {}
        self.unordered: list[Any] = []
        self.steps = 0
        self._leaves: dict[Any, list[ProcessState]] = {}  # by the loop, block or function that is left
        self._inside: list[Any] = []  # loops
        self._active: dict[Any, list[Any]] = {}
        self.functions = {} if known is None else known
        arguments = function.arguments if function is not None else ()
        start = ProcessState({a: _ones(a) for a in arguments if a.direction.name != "Out"})
        if function is not None:
            function.visit(self._declared)
        if isinstance(statement, self.ast.Expression):
            self._evaluate(statement, start)
        end = start if isinstance(statement, self.ast.Expression) else self._run(statement, start)
        self.end = _merged([end, *self._leaves.pop("return", [])])

    def _declared(self, node: Any) -> None:
        if getattr(node, "isValue", False):
            self.own.add(node)

    def latched(self) -> Iterator[tuple[Any, int]]:
        """Variables with the bits that are not assigned in every way."""
        for symbol, bits in self.writes.items():
            if self.end is not None and (left := bits & ~self.end.driven.get(symbol, 0)):
                yield symbol, left

    # -- statements ----------------------------------------------------------------------------------------------

    def _run(self, statement: Any, state: ProcessState | None) -> ProcessState | None:
        if state is None or statement is None:
            return state
        self.steps += 1
        if self.steps > _STEPS:
            place = self.design.place(statement.sourceRange.start)
            raise Error(f"{place}: this process has too many steps to follow, with its loops unrolled")
        run = getattr(self, f"_{statement.kind.name.lower()}", None)
        return run(statement, state) if run else state

    def _list(self, statement: Any, state: ProcessState | None) -> ProcessState | None:
        for part in statement.list:
            state = self._run(part, state)
        return state

    def _block(self, statement: Any, state: ProcessState) -> ProcessState | None:
        end = self._run(statement.body, state)
        return end if statement.blockSymbol is None else _merged([end, *self._leaves.pop(statement.blockSymbol, [])])

    def _timed(self, statement: Any, state: ProcessState) -> ProcessState | None:
        return self._run(statement.stmt, state)

    def _expressionstatement(self, statement: Any, state: ProcessState) -> ProcessState:
        self._evaluate(statement.expr, state)
        return state

    def _variabledeclaration(self, statement: Any, state: ProcessState) -> ProcessState:
        symbol = statement.symbol
        if symbol.lifetime.name == "Automatic" and symbol.initializer is not None:
            self._evaluate(symbol.initializer, state)
            self._mark([(symbol, _ones(symbol), True)], state, symbol.location)
            self._set(symbol, self._value(symbol.initializer, state), state)
        return state

    def _conditional(self, statement: Any, state: ProcessState) -> ProcessState | None:
        value: Any = True
        for condition in statement.conditions:
            self._evaluate(condition.expr, state)
            test = self._value(condition.expr, state)
            value = None if test is None or value is None else value and test.isTrue()
        then = self._run(statement.ifTrue, state.copy()) if value is not False else None
        other = self._run(statement.ifFalse, state.copy()) if value is not True else None
        return _merged([then, other])

    def _case(self, statement: Any, state: ProcessState) -> ProcessState | None:
        for expression in (statement.expr, *(e for item in statement.items for e in item.expressions)):
            self._evaluate(expression, state)
        ways = [self._run(item.stmt, state.copy()) for item in statement.items]
        if statement.defaultCase is not None:
            ways.append(self._run(statement.defaultCase, state.copy()))
        elif statement.check.name not in ("Unique", "Priority") and not self._covered(statement, state):
            ways.append(state.copy())
        return _merged(ways)

    def _covered(self, statement: Any, state: ProcessState) -> bool:
        """Whether the items are constants that leave out no value of the selector."""
        selector = statement.expr
        while selector.kind.name == "Conversion" and not selector.operand.type.isSigned:
            selector = selector.operand
        width, left = selector.type.bitWidth, [(0, 0)]  # cubes: the bits that are fixed, and their values
        for item in (e for group in statement.items for e in group.expressions):
            value = self._value(item, state)
            if value is None or not isinstance(value.value, self.design.slang.SVInt):
                return False
            cube = _cube(value.value, width, statement.condition.name)
            left = [part for old in left for part in _without(old, cube)] if cube is not None else left
            if len(left) > _CUBES:
                return False
        return not left

    def _forloop(self, statement: Any, state: ProcessState) -> ProcessState | None:
        for symbol in statement.loopVars:
            if symbol.initializer is not None:
                self._evaluate(symbol.initializer, state)
                self._mark([(symbol, _ones(symbol), True)], state, symbol.location)
                self._set(symbol, self._value(symbol.initializer, state), state)
        for expression in statement.initializers:
            self._evaluate(expression, state)
        return self._loop(statement, statement.stopExpr, statement.steps, state)

    def _whileloop(self, statement: Any, state: ProcessState) -> ProcessState | None:
        return self._loop(statement, statement.cond, (), state)

    def _foreverloop(self, statement: Any, state: ProcessState) -> ProcessState | None:
        return self._loop(statement, None, (), state)

    def _dowhileloop(self, statement: Any, state: ProcessState) -> ProcessState | None:
        return self._loop(statement, statement.cond, (), state, first=True)

    def _repeatloop(self, statement: Any, state: ProcessState) -> ProcessState | None:
        self._evaluate(statement.count, state)
        value = self._value(statement.count, state)
        if value is None:
            return self._once(statement, state)
        return self._each(statement, [{}] * int(value.value), state)

    def _foreachloop(self, statement: Any, state: ProcessState) -> ProcessState | None:
        dims = [d for d in statement.loopDims if d.loopVar is not None]
        if any(d.range is None for d in dims):
            return self._once(statement, state)
        ranges = [range(d.range.lower, d.range.upper + 1) for d in dims]
        names = [d.loopVar for d in dims]
        return self._each(statement, (dict(zip(names, values, strict=True)) for values in product(*ranges)), state)

    def _each(
        self, statement: Any, rounds: Iterable[Mapping[Any, int]], state: ProcessState | None
    ) -> ProcessState | None:
        """The body for each of some values of loop variables."""
        for values in rounds:
            if state is not None:
                for symbol, value in values.items():
                    self._mark([(symbol, _ones(symbol), True)], state, symbol.location)
                    self._set(symbol, self._integer(symbol, value), state)
            state = self._body(statement, state)
        return _merged([state, *self._leaves.pop(("break", statement), [])])

    def _integer(self, symbol: Any, value: int) -> Any:
        slang = self.design.slang
        return slang.ConstantValue(slang.SVInt(symbol.type.bitWidth, value & _ones(symbol), symbol.type.isSigned))

    def _loop(
        self, statement: Any, condition: Any, steps: Sequence[Any], state: ProcessState | None, first: bool = False
    ) -> ProcessState | None:
        while state is not None:
            if condition is not None and not first:
                self._evaluate(condition, state)
                value = self._value(condition, state)
                if value is None:
                    state = self._once(statement, state, steps)
                    break
                if not value.isTrue():
                    break
            first = False
            state = self._body(statement, state)
            if state is not None:
                self._steps(steps, state)
        return _merged([state, *self._leaves.pop(("break", statement), [])])

    def _once(self, statement: Any, state: ProcessState, steps: Sequence[Any] = ()) -> ProcessState | None:
        """A loop whose rounds are not known: none or some, with other values of variables in each."""
        state.values.clear()
        after = self._body(statement, state.copy())
        if after is not None:
            self._steps(steps, after)
        meeting = _merged([state, after, *self._leaves.pop(("break", statement), [])])
        if meeting is not None:
            meeting.values.clear()
        return meeting

    def _steps(self, steps: Iterable[Any], state: ProcessState) -> None:
        for step in steps:
            self._evaluate(step, state)

    def _body(self, statement: Any, state: ProcessState | None) -> ProcessState | None:
        self._inside.append(statement)
        state = self._run(statement.body, state)
        self._inside.pop()
        return _merged([state, *self._leaves.pop(("continue", statement), [])])

    def _break(self, statement: Any, state: ProcessState) -> None:
        self._leaves.setdefault(("break", self._inside[-1]), []).append(state)

    def _continue(self, statement: Any, state: ProcessState) -> None:
        self._leaves.setdefault(("continue", self._inside[-1]), []).append(state)

    def _return(self, statement: Any, state: ProcessState) -> None:
        if statement.expr is not None:
            self._evaluate(statement.expr, state)
            if self.subroutine is not None:
                symbol = self.subroutine.returnValVar
                self._mark([(symbol, _ones(symbol), True)], state, statement.sourceRange.start)
        self._leaves.setdefault("return", []).append(state)

    def _disable(self, statement: Any, state: ProcessState) -> None:
        self._leaves.setdefault(statement.target.getSymbolReference(), []).append(state)

    # -- expressions ---------------------------------------------------------------------------------------------

    def _evaluate(self, expression: Any, state: ProcessState) -> None:
        """Read what an expression reads, then assign what it assigns."""
        parts = self._parts(expression)
        acts = [p for p in parts if p.kind.name in ("Assignment", "UnaryOp")]
        if any(act is not expression and not self._is_argument(act, expression, state) for act in acts):
            self.unordered.append(expression.sourceRange.start)
        if expression not in acts:
            if not _is_task(expression):
                self._read(expression, state)
            self._called(parts, state)
        for act in acts:
            self._act(act, state)

    def _parts(self, expression: Any) -> list[Any]:
        """The assignments and calls in an expression."""
        if expression not in self._active:
            parts = self._active[expression] = list[Any]()

            def visit(node: Any) -> None:
                kind = node.kind.name if hasattr(node, "kind") else ""
                if kind in ("Assignment", "Call") or (kind == "UnaryOp" and node.op.name in _INCREMENTS):
                    parts.append(node)

            expression.visit(visit)
        return self._active[expression]

    def _is_argument(self, act: Any, expression: Any, state: ProcessState) -> bool:
        """Whether an assignment is to an output of a call, and to nothing else in the expression."""
        if act.kind.name != "Assignment" or not act.isLValueArg:
            return False
        targets = {symbol for symbol, _, _ in self._paths(act.left, state, True)}
        return sum(symbol in targets for symbol, _, _ in self._paths(expression, state, False)) == len(targets)

    def _called(self, parts: Iterable[Any], state: ProcessState) -> None:
        """Read what functions read of variables that are not their own."""
        for call in (p for p in parts if p.kind.name == "Call" and not p.isSystemCall):
            for read in outer_reads(self.function(call.subroutine)):
                self._note(read.symbol, read.bits, call.sourceRange.start, state, True)

    def function(self, subroutine: Any) -> Flow:
        """The flow of a function."""
        if subroutine not in self.functions:
            self.functions[subroutine] = Flow(self.design, None, self.functions, subroutine)  # if it calls itself
            self.functions[subroutine] = Flow(self.design, subroutine.body, self.functions, subroutine)
        return self.functions[subroutine]

    def _act(self, act: Any, state: ProcessState) -> None:
        """An assignment, or an increment."""
        left = act.operand if act.kind.name == "UnaryOp" else act.left
        place, nonblocking = act.sourceRange.start, act.kind.name == "Assignment" and act.isNonBlocking
        if act.kind.name == "UnaryOp" or act.isCompound:
            self._read(left, state)
        else:
            targets = Counter(self._paths(left, state, True))
            for symbol, bits, _ in (Counter(self._paths(left, state, False)) - targets).elements():
                self._note(symbol, bits, place, state)
        if act.kind.name == "Assignment":
            self._read(act.right, state)
            self._called([p for p in self._parts(act.right) if p.kind.name == "Call"], state)
        value = None if nonblocking else self._result(act, left, state)
        targeted = self._paths(left, state, True)
        if any(a[0] is b[0] and a[1] & b[1] for a, b in combinations(targeted, 2)):
            self.unordered.append(place)
        self._mark(targeted, state, place, nonblocking)
        if left.kind.name == "NamedValue":
            self._set(left.symbol, value, state)

    def _result(self, act: Any, left: Any, state: ProcessState) -> Any:
        """The constant that a variable has after an assignment, if it is one."""
        if left.kind.name != "NamedValue" or not left.type.isIntegral or left.symbol.kind.name not in _STORED:
            return None
        sources = self._paths(act.right if act.kind.name == "Assignment" else left, state, False)
        compound = act.kind.name == "UnaryOp" or act.isCompound
        if any(s not in state.values for s in [*(p[0] for p in sources), *([left.symbol] if compound else [])]):
            return None
        context = self._context(state)
        if left.symbol not in state.values:
            context.createLocal(left.symbol, self.design.slang.ConstantValue(0))
        act.eval(context)
        result = context.findLocal(left.symbol)
        if result is None or result.value is None or result.hasUnknown():
            return None
        return self.design.slang.ConstantValue(result.value)  # a copy: the other is the context's

    def _value(self, expression: Any, state: ProcessState) -> Any:
        """The value of an expression, if it is constant."""
        if any(symbol not in state.values for symbol, _, _ in self._paths(expression, state, False)):
            return None
        constant = expression.eval(self._context(state))
        return None if constant.value is None else constant

    def _context(self, state: ProcessState) -> Any:
        context = self.ast.EvalContext(self.design.body, self.ast.EvalFlags.IsScript)
        for symbol, value in state.values.items():
            context.createLocal(symbol, value)
        return context

    def _paths(self, expression: Any, state: ProcessState, targets: bool) -> list[tuple[Any, int, bool]]:
        """Variables in an expression, the bits of each, and whether it is these and no others. targets: without those
        that only select."""
        paths: list[tuple[Any, int, bool]] = []

        def take(path: Any) -> None:
            symbol = stored(path.rootSymbol)
            if symbol is not None:
                low, high = path.lspBounds
                paths.append((symbol, (1 << high + 1) - (1 << low), path.isFullyStatic))

        self.ast.ValuePath.visitPaths(expression, self._context(state), take, targets)
        return paths

    def _read(self, expression: Any, state: ProcessState) -> None:
        paths = Counter(self._paths(expression, state, False))
        for argument in self._outputs(expression):
            paths -= Counter(self._paths(argument, state, True))
        for symbol, bits, _ in paths.elements():
            self._note(symbol, bits, expression.sourceRange.start, state)

    def _outputs(self, expression: Any) -> Iterator[Any]:
        """What calls in an expression assign and do not read."""
        for call in (p for p in self._parts(expression) if p.kind.name == "Call" and not p.isSystemCall):
            for formal, actual in zip(call.subroutine.arguments, call.arguments, strict=False):
                if formal.direction.name == "Out":
                    yield actual.left if actual.kind.name == "Assignment" else actual

    def _note(self, symbol: Any, bits: int, location: Any, state: ProcessState, called: bool = False) -> None:
        if left := bits & ~state.assigned.get(symbol, 0):
            self.reads.append(Read(symbol, left, location, called))

    def _mark(
        self, paths: Iterable[tuple[Any, int, bool]], state: ProcessState, place: Any, later: bool = False
    ) -> None:
        for symbol, bits, exact in paths:
            self.places.setdefault(symbol, place)
            self.writes[symbol] = self.writes.get(symbol, 0) | bits
            if later:
                self.later[symbol] = self.later.get(symbol, 0) | bits
            else:
                self.blocking[symbol] = self.blocking.get(symbol, 0) | bits
            if exact:
                state.driven[symbol] = state.driven.get(symbol, 0) | bits
            if exact and not later:
                state.assigned[symbol] = state.assigned.get(symbol, 0) | bits
            state.values.pop(symbol, None)

    def _set(self, symbol: Any, value: Any, state: ProcessState) -> None:
        if value is not None:
            state.values[symbol] = value


def stored(symbol: Any) -> Any:
    """The net or variable that a symbol names, by way of modports; None for constants."""
    while symbol is not None and symbol.kind.name == "ModportPort":
        symbol = symbol.internalSymbol
    return symbol if symbol is not None and symbol.kind.name in _STORED else None


def outer_reads(flow: Flow) -> Iterator[Read]:
    """What a function reads of variables that are not its own."""
    return (read for read in flow.reads if read.symbol not in flow.own)


def _is_task(expression: Any) -> bool:
    """Whether an expression only prints: a call of a system task."""
    return bool(expression.kind.name == "Call" and expression.isSystemCall and expression.type.isVoid)


def _ones(symbol: Any) -> int:
    return int((1 << max(symbol.type.bitstreamWidth, 1)) - 1)


def _cube(value: Any, width: int, condition: str) -> tuple[int, int] | None:
    """The selectors that a case item matches; None for none: bits that are fixed, and their values."""
    fixed, ones = 0, 0
    for bit in range(value.bitWidth):
        text = str(value[bit])
        if text in "01":
            fixed |= 1 << bit
            ones |= int(text) << bit
        elif not (condition == "WildcardXOrZ" or (condition == "WildcardJustZ" and text in "zZ?")):
            return None
    return (fixed & (1 << width) - 1, ones) if ones >> width == 0 else None


def _without(old: tuple[int, int], cut: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """A cube without another, as cubes."""
    fixed, ones = old
    if (ones ^ cut[1]) & fixed & cut[0]:
        yield old
        return
    free = cut[0] & ~fixed
    while free:
        bit = free & -free
        yield fixed | bit, ones | (bit & ~cut[1])
        fixed, ones, free = fixed | bit, ones | (bit & cut[1]), free & ~bit
