"""Python functions on symbolic values, read from their syntax trees: what they return for every input at once.

A decision on a symbolic condition takes both ways; where they meet again, each variable becomes a choice between its
values on the two. Functions that get nothing symbolic are simply called. What is not listed here is refused, never
guessed; a place that raises an error is recorded with the inputs that reach it.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from types import FunctionType, MethodType
from typing import Any, ClassVar, Final, NamedTuple

from softfloat_ref.symbolic import integers, values
from softfloat_ref.symbolic.bounds import Infeasible
from softfloat_ref.symbolic.integers import Path, SymBool, SymInt, Unsupported, at, here, number
from softfloat_ref.symbolic.source import Body, body_of
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term, and_, const, extract, not_, or_, selected
from softfloat_ref.symbolic.values import Either, Sparse, merged, resolved, symbolic

Env = dict[str, Any]


class Returned(NamedTuple):
    """A value that a function returns, and the path on which it does."""

    path: Path
    value: Any


class _Absent:
    """The value of a variable that is set on one path only."""


ABSENT: Final = _Absent()


@dataclass
class Reading:
    """What is collected while functions are read.

    substitutes: in place of functions, by full name: from the variables outside a function and its arguments to
    what it returns. names: of terms: "function.variable", "function" for what it returns, or else "function.".
    errors: the inputs for which an error would be raised, and where.
    """

    substitutes: Mapping[str, Callable[..., list[Returned]]] = field(default_factory=dict)
    names: dict[Term, str] = field(default_factory=dict)
    errors: list[tuple[Term, str]] = field(default_factory=list)

    @property
    def undefined(self) -> Term:
        """Whether an error would be raised."""
        return or_(*(where for where, _ in self.errors))


class _Now:
    reading: Reading = Reading()


@contextmanager
def reading(what: Reading) -> Iterator[Reading]:
    """Collect in that object what is read."""
    before, _Now.reading = _Now.reading, what
    try:
        yield what
    finally:
        _Now.reading = before


# -- calls -----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Closure:
    """A function that is defined inside another one, on symbolic values."""

    body: Body
    frame: Frame
    env: Env


def call(function: Any, *args: Any, **keywords: Any) -> Any:
    """What a function returns, as one value."""
    function = resolved(function)
    args = tuple(resolved(x) for x in args)
    if isinstance(function, Closure):
        return joined(_run(function.body, function.frame.scope, function.env, args, keywords, function.frame.name))
    if not (symbolic(args) or symbolic(keywords) or _holds_symbolic(function)):
        return function(*args, **keywords)
    if isinstance(function, Either):
        return _of_both(function, lambda f: call(f, *args, **keywords))
    if (chosen := next((x for x in args if isinstance(x, Either)), None)) is not None:
        return _of_both(chosen, lambda x: call(function, *(x if a is chosen else a for a in args), **keywords))
    if (simple := _intrinsic(function)) is not None:
        return simple(*args, **keywords)
    if not isinstance(_plain(function), (FunctionType, MethodType)) or function.__name__ in ("_replace", "_make"):
        return _constructed(function, args, keywords)
    found = joined(returns(function, *args, **keywords))
    _note(getattr(function, "__name__", "").strip("_<>"), found)
    return found


def full_name(function: Any) -> str:
    """The name of a function with its module and the functions around it."""
    return f"{function.__module__}.{function.__qualname__}"


def _note(name: str, value: Any) -> None:
    """Name the terms of a value, unless they have a name; of a tuple, by its fields."""
    if isinstance(value, tuple):
        for own, item in zip(getattr(value, "_fields", [""] * len(value)), value, strict=True):
            _note(f"{name.removesuffix('.')}.{own}" if own else name, item)
    names = _Now.reading.names
    if isinstance(value, (SymInt, SymBool)) and value.node.args and names.get(value.node, ".").endswith("."):
        names[value.node] = name


def _of_both(choice: Either, use: Callable[[Any], Any]) -> Any:
    """A function of a choice, computed for either value."""
    found = []
    for node, value in ((choice.condition, choice.yes), (not_(choice.condition), choice.no)):
        try:
            with at(here().under(SymBool(node))):
                found.append(Returned(here(), use(resolved(value))))
        except Infeasible:
            continue
    return joined(
        [Returned(r.path._replace(guard=g), r.value) for r, g in zip(found, (choice.condition, TRUE), strict=False)]
    )


def _holds_symbolic(function: Any) -> bool:
    return isinstance(function, MethodType) and symbolic(function.__self__)


def _constructed(kind: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What a class makes, or a built-in function that handles its arguments without looking at them."""
    named = getattr(kind, "__self__", None)
    harmless = kind in (zip, enumerate, list, tuple, reversed, dict) or getattr(kind, "__name__", "") in (
        "_replace",
        "_make",
    )
    if harmless or (isinstance(kind, type) and (issubclass(kind, tuple) or _is_dataclass(kind))):
        if any(isinstance(x, Sparse) for x in args):
            raise Unsupported(f"{getattr(kind, '__name__', kind)} of a sequence with symbolic absences")
        return kind(*args, **keywords)
    raise Unsupported(f"{getattr(kind, '__qualname__', kind)} of {type(named).__name__}: on symbolic values")


def _is_dataclass(kind: type) -> bool:
    return hasattr(kind, "__dataclass_fields__")


def _plain(function: Any) -> Any:
    """A function without caches and compilation around it."""
    while True:
        inner = getattr(function, "py_func", None) or getattr(function, "__wrapped__", None)
        if inner is None:
            return function
        function = inner


def returns(function: Any, *args: Any, **keywords: Any) -> list[Returned]:
    """The values that a function returns, each with its path from the function's entry. Their guards exclude each
    other."""
    function = _plain(function)
    if isinstance(function, MethodType):
        args = (function.__self__, *args)
        function = _plain(function.__func__)
    scope = Scope(function)
    if other := _Now.reading.substitutes.get(full_name(function)):
        with at(here().entered()):
            return other(scope.outer, *args, **keywords)
    return _run(body_of(function), scope, {}, args, keywords, function.__qualname__, function)


def _run(
    body: Body, scope: Scope, env: Env, args: Sequence[Any], keywords: Mapping[str, Any], name: str, of: Any = None
) -> list[Returned]:
    frame = Frame(scope, name.rpartition(".")[2])
    local = {**env, **_bound(body, frame, env, args, keywords, of)}
    with at(here().entered()):
        if isinstance(body, ast.Lambda):
            return [Returned(here(), frame.value(body.body, local))]
        left = frame.block(body.body, local, here())
        if left is not None:
            frame.returned.append(Returned(left[1], None))
    return frame.returned


def _bound(body: Body, frame: Frame, env: Env, args: Sequence[Any], keywords: Mapping[str, Any], of: Any) -> Env:
    """The parameters' values."""
    if of is not None:
        bound = inspect.signature(of).bind(*args, **keywords)
        bound.apply_defaults()
        return dict(bound.arguments)
    names = [a.arg for a in body.args.args]
    if body.args.vararg or body.args.kwonlyargs or len(args) + len(keywords) > len(names):
        raise Unsupported(f"{frame.name}: parameters of a nested function")
    defaults = {a: frame.value(d, env) for a, d in zip(reversed(names), reversed(body.args.defaults), strict=False)}
    return {**defaults, **dict(zip(names, args, strict=False)), **keywords}


def joined(found: Sequence[Returned]) -> Any:
    """The values of several paths, of which each input takes one, as one value."""
    if not found:
        raise Infeasible
    *others, last = found
    value, facts = last.value, last.path.facts
    for path, other in reversed(others):
        value = merged(path.guard, other, value, path.facts, facts)
        facts = here().facts
    return value


# -- functions that are known, not read ------------------------------------------------------------------------------


def _items(args: tuple[Any, ...]) -> Any:
    return args[0] if len(args) == 1 else args


def _extreme(larger: bool) -> Callable[..., Any]:
    def find(*args: Any, default: Any = ABSENT, key: Any = None) -> Any:
        if key is not None:
            raise Unsupported("max or min by a key")
        items = _items(args)
        pairs = values.pairs(items)
        if not pairs:
            return default
        there, best = pairs[0]
        for present, x in pairs[1:]:
            better = integers.less(best, x) if larger else integers.less(x, best)
            best = _select(present, there, better, x, best)
            there = or_(there, present)
        best = integers.extreme(best, pairs, largest=larger)
        return best if there is TRUE or default is ABSENT else merged(there, best, default)

    return find


def _select(present: Term, there: Term, better: Any, x: Any, best: Any) -> Any:
    """The item x if it is there and better, or the only one so far; else the best so far."""
    if present is TRUE and there is TRUE:
        if isinstance(better, bool):
            return x if better else best
        path = here()
        yes, no = path.facts + better.facts, path.facts + better.other_facts
        return merged(better.node, x, best, yes, no)
    return merged(and_(present, or_(integers.bit(better), not_(there))), x, best)


def _all(items: Any) -> Any:
    pairs = values.pairs(items)
    found: Any = True
    for there, x in pairs:
        found = integers.both(found, integers.boolean(or_(not_(there), integers.bit(_truth(x)))))
    return found


def _any(items: Any) -> Any:
    pairs = values.pairs(items)
    found: Any = False
    for there, x in pairs:
        found = integers.either(found, integers.boolean(and_(there, integers.bit(_truth(x)))))
    return found


def _truth(x: Any) -> Any:
    x = resolved(x)
    if isinstance(x, Sparse):
        return integers.boolean(x.some)
    if isinstance(x, Either):
        return integers.boolean(
            or_(and_(x.condition, integers.bit(_truth(x.yes))), and_(not_(x.condition), integers.bit(_truth(x.no))))
        )
    return integers.truth(x) if number(x) else bool(x)


def _size(x: Any) -> Any:
    return x.size() if isinstance(x, Sparse) else len(x)


def _absolute(x: Any) -> Any:
    below = integers.less(x, 0)
    if isinstance(below, bool):
        return -x if below else x
    with at(here().under(below)):
        negated, facts = -x, here().facts
    with at(here().under(integers.inverse(below))):
        return_facts = here().facts
    return merged(below.node, negated, x, facts, return_facts)


def _sum(items: Any, start: Any = 0) -> Any:
    if isinstance(items, Sparse):
        raise Unsupported("a sum of a sequence with symbolic absences")
    return reduce(operator.add, items, start)


def _instance(x: Any, kinds: Any) -> bool:
    if number(x):
        return isinstance(0, kinds)
    return isinstance(x, kinds)


_INTRINSICS: Final[dict[Any, Callable[..., Any]]] = {
    abs: _absolute,
    all: _all,
    any: _any,
    bool: _truth,
    divmod: integers.divide,
    int: integers.lifted,
    isinstance: _instance,
    len: _size,
    max: _extreme(True),
    min: _extreme(False),
    math.isqrt: integers.square_root,
    operator.index: integers.lifted,
    pow: integers.power,
    sum: _sum,
}


def _intrinsic(function: Any) -> Callable[..., Any] | None:
    try:
        found = _INTRINSICS.get(function)
    except TypeError:
        return None
    if found is None and getattr(function, "__name__", "") == "bit_length":
        return lambda: function.__self__.bit_length()
    if found is None and getattr(function, "__name__", "") in ("pop",) and isinstance(function.__self__, Sparse):
        return lambda: function.__self__.first
    return found


# -- statements ------------------------------------------------------------------------------------------------------


class Scope:
    """Where a function finds the names that are not its own."""

    def __init__(self, function: FunctionType) -> None:
        cells = function.__closure__ or ()
        self.outer = {n: c.cell_contents for n, c in zip(function.__code__.co_freevars, cells, strict=True)}
        self.globals = function.__globals__

    def find(self, name: str) -> Any:
        for where in (self.outer, self.globals):
            if name in where:
                return where[name]
        return getattr(builtins, name)


_BINARY: Final[dict[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: Final[dict[type, Callable[[Any], Any]]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_ORDER: Final[dict[type, Callable[[Any, Any], Any]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
Left = tuple[Env, Path] | None  # the variables and the path behind a statement; None: nothing passes it


class Frame:
    """One call of a function. FORMS: how each form of expression is read."""

    FORMS: ClassVar[dict[type[ast.expr], Callable[[Frame, Any, Env], Any]]] = {}

    def __init__(self, scope: Scope, name: str) -> None:
        self.scope, self.name = scope, name
        self.returned: list[Returned] = []

    def block(self, body: Sequence[ast.stmt], env: Env, path: Path) -> Left:
        """Statements in a row."""
        for statement in body:
            try:
                with at(path):
                    left = self.statement(statement, env, path)
            except Unsupported as e:
                raise e if getattr(e, "placed", False) else _placed(e, self.name, statement.lineno) from None
            if left is None:
                return None
            env, path = left
        return env, path

    def statement(self, s: ast.stmt, env: Env, path: Path) -> Left:
        match s:
            case ast.Return():
                return self.ends(s.value, env, path)
            case ast.Raise():
                _Now.reading.errors.append((path.whole, f"{self.name}:{s.lineno}"))
                return None
            case ast.If():
                return self.branch(s.test, s.body, s.orelse, env, path)
            case ast.For():
                return self.loop(s, env, path)
            case ast.While():
                return self.repeat(s, env, path)
            case ast.Match():
                return self.match(s, env, path)
            case ast.Try(orelse=[], finalbody=[]) if all(isinstance(h.body[-1], ast.Raise) for h in s.handlers):
                return self.block(s.body, env, path)  # what raises in it is recorded where it does
            case ast.Expr(value=ast.Call()) if not _appends(s):
                return self.passed(s.value, env, path)
            case ast.FunctionDef():
                return self.define(s, dict(env)), path
        env = dict(env)
        self.simple(s, env)
        return env, path

    def passed(self, e: Any, env: Env, path: Path) -> Left:
        """A call for its effect: where it raises an error for other inputs, what follows knows that it did not."""
        function, args = self.value(e.func, env), self.several(e.args, env)
        plain = _plain(function)
        if e.keywords or not isinstance(plain, FunctionType) or not symbolic(args):
            self.value(e, env)
            return env, path
        found = returns(function, *args)
        if len(found) != 1:
            return (env, path) if found else None
        return env, path._replace(facts=found[0].path.facts, known=found[0].path.known)

    def define(self, s: ast.FunctionDef, env: Env) -> Env:
        """A nested function sees those defined beside it, also after it."""
        made = env[s.name] = Closure(s, self, env)
        for other in env.values():
            if isinstance(other, Closure) and other.frame is self:
                other.env[s.name] = made
        return dict(env)

    def ends(self, value: ast.expr | None, env: Env, path: Path) -> Left:
        """A return; of a conditional expression, one for each way."""
        if isinstance(value, ast.IfExp):
            yes, no = ast.Return(value.body), ast.Return(value.orelse)
            for statement in (yes, no):
                ast.copy_location(statement, value)
            return self.branch(value.test, [yes], [no], env, path)
        self.returned.append(Returned(path, None if value is None else self.value(value, env)))
        return None

    def branch(self, test: ast.expr, yes: Sequence[ast.stmt], no: Sequence[ast.stmt], env: Env, path: Path) -> Left:
        condition = self.condition(test, env)
        if isinstance(condition, bool):
            return self.block(yes if condition else no, env, path)
        left: list[Left] = []
        for way, body in ((condition, yes), (integers.inverse(condition), no)):
            try:
                left.append(self.block(body, dict(env), path.under(way)))
            except Infeasible:
                left.append(None)
        return _meet(condition, left[0], left[1], path)

    def loop(self, s: ast.For, env: Env, path: Path) -> Left:
        if s.orelse:
            raise Unsupported("for with else")
        items = resolved(self.value(s.iter, env))
        pairs = values.pairs(items)
        for there, item in pairs:
            env = dict(env)
            with at(path):
                present = integers.boolean(there)
                if present is False:
                    continue
                self.assign(s.target, item, env)
            if present is True:
                left = self.block(s.body, env, path)
            else:
                left = _meet(present, self.block(s.body, dict(env), path.under(present)), (env, path), path)
            if left is None:
                return None
            env, path = left
        return env, path

    def repeat(self, s: ast.While, env: Env, path: Path) -> Left:
        for _ in range(1 << 12):
            with at(path):
                going = self.condition(s.test, env)
            if going is False:
                return env, path
            if going is not True:
                raise Unsupported("while with a symbolic condition")
            left = self.block(s.body, env, path)
            if left is None:
                return None
            env, path = left
        raise Unsupported("while without end")

    def match(self, s: ast.Match, env: Env, path: Path) -> Left:
        subject = resolved(self.value(s.subject, env))
        if isinstance(subject, (SymInt, SymBool, Either, Sparse)):
            raise Unsupported("match of a symbolic value")
        for case in s.cases:
            if case.guard is not None:
                raise Unsupported("match with a guard")
            if self.fits(case.pattern, subject, env):
                return self.block(case.body, env, path)
        return env, path

    def fits(self, pattern: ast.pattern, subject: Any, env: Env) -> bool:
        match pattern:
            case ast.MatchValue():
                return bool(subject == self.value(pattern.value, env))
            case ast.MatchClass(patterns=[], kwd_patterns=[]):
                return isinstance(subject, self.value(pattern.cls, env))
            case ast.MatchOr():
                return any(self.fits(p, subject, env) for p in pattern.patterns)
            case ast.MatchAs(pattern=None, name=None):
                return True
        raise Unsupported("this pattern in match")

    def simple(self, s: ast.stmt, env: Env) -> None:
        match s:
            case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Import() | ast.ImportFrom():
                pass
            case ast.Expr(value=ast.Call()):
                self.append(s.value, env)  # type: ignore[arg-type]
            case ast.Expr():
                self.value(s.value, env)
            case ast.Assign():
                value = self.value(s.value, env)
                for target in s.targets:
                    self.assign(target, value, env)
            case ast.AnnAssign():
                if s.value is not None:
                    self.assign(s.target, self.value(s.value, env), env)
            case ast.AugAssign():
                before = self.value(_loaded(s.target), env)
                self.assign(s.target, self.binary(s.op, before, self.value(s.value, env)), env)
            case _:
                raise Unsupported(f"{type(s).__name__.lower()}")

    def append(self, e: ast.Call, env: Env) -> None:
        """A list with one more item takes the place of the list, on this path only."""
        name = e.func.value.id  # type: ignore[attr-defined]
        if not isinstance(env.get(name), (list, Sparse)):
            raise Unsupported("append to what is not a list of its own")
        item, before = self.value(e.args[0], env), env[name]
        env[name] = Sparse([*before.items, (TRUE, item)]) if isinstance(before, Sparse) else [*before, item]

    def assign(self, target: ast.expr, value: Any, env: Env) -> None:
        match target:
            case ast.Name():
                env[target.id] = value
                self.name_term(target.id, value)
            case ast.Tuple() | ast.List():
                self.unpack(target.elts, value, env)
            case ast.Attribute():
                self.set_attribute(self.value(target.value, env), target.attr, value)
            case ast.Subscript() if not symbolic(value):
                self.value(target.value, env)[self.value(target.slice, env)] = value
            case _:
                raise Unsupported("an assignment to this")

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        """An attribute changes on this path only."""
        whole = here().whole
        setattr(owner, name, value if whole is TRUE else merged(whole, value, getattr(owner, name, value)))

    def unpack(self, targets: Sequence[ast.expr], value: Any, env: Env) -> None:
        value = resolved(value)
        if isinstance(value, (Either, Sparse)):
            raise Unsupported("unpacking of a symbolic sequence")
        parts = list(value)
        star = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
        if star is not None:
            after = len(targets) - star - 1
            middle = parts[star : len(parts) - after]
            parts = [*parts[:star], middle, *parts[len(parts) - after :]]
        for t, v in zip(targets, parts, strict=True):
            self.assign(t.value if isinstance(t, ast.Starred) else t, v, env)

    def name_term(self, name: str, value: Any) -> None:
        if name != "_":
            _note(f"{self.name.strip('_<>')}.{name.strip('_')}", value)

    # -- expressions -------------------------------------------------------------------------------------------------

    def value(self, e: ast.expr, env: Env) -> Any:
        """The value of an expression. Raises Unsupported."""
        read = self.FORMS.get(type(e))
        if read is None:
            raise Unsupported(type(e).__name__.lower())
        found = read(self, e, env)
        _note(f"{self.name.strip('_<>')}.", found)
        return found

    def name_value(self, e: ast.Name, env: Env) -> Any:
        return resolved(env[e.id] if e.id in env else self.scope.find(e.id))

    def called(self, e: ast.Call, env: Env) -> Any:
        args, keywords = self.several(e.args, env), {k.arg or "": self.value(k.value, env) for k in e.keywords}
        if "" in keywords:
            raise Unsupported("**")
        return call(self.value(e.func, env), *args, **keywords)

    def text(self, part: ast.expr, env: Env) -> str:
        """A part of a formatted string: of what is no symbol, plain."""
        value = self.value(part.value if isinstance(part, ast.FormattedValue) else part, env)
        if symbolic(value) or (isinstance(part, ast.FormattedValue) and (part.format_spec or part.conversion != -1)):
            raise Unsupported("text of a symbolic value")
        return str(value)

    def several(self, es: Sequence[ast.expr], env: Env) -> list[Any]:
        found: list[Any] = []
        for e in es:
            if isinstance(e, ast.Starred):
                many = self.value(e.value, env)
                if isinstance(many, (Sparse, Either)):
                    raise Unsupported("a symbolic sequence after *")
                found.extend(many)
            else:
                found.append(self.value(e, env))
        return found

    def binary(self, op: ast.operator, a: Any, b: Any) -> Any:
        if isinstance(op, ast.Add) and isinstance(a, (list, Sparse)) and isinstance(b, (list, Sparse)):
            return a + b if isinstance(a, list) and isinstance(b, list) else Sparse(values.pairs(a) + values.pairs(b))
        if type(op) not in _BINARY or isinstance(a, (Sparse, Either)) or isinstance(b, (Sparse, Either)):
            raise Unsupported(f"{type(op).__name__.lower()}")
        return _BINARY[type(op)](a, b)

    def unary(self, e: ast.UnaryOp, env: Env) -> Any:
        x = self.value(e.operand, env)
        if isinstance(e.op, ast.Not):
            return integers.inverse(_truth(x))
        return _UNARY[type(e.op)](x)

    def comparison(self, e: ast.Compare, env: Env) -> Any:
        left, found = self.value(e.left, env), True
        for op, right_side in zip(e.ops, e.comparators, strict=True):
            right = self.value(right_side, env)
            found = integers.both(found, integers.truth(compared(op, left, right)))
            if found is False:
                return False
            left = right
        return found

    def logic(self, es: Sequence[ast.expr], conjunction: bool, env: Env) -> Any:
        """`and`, `or`: the later operands are evaluated where the earlier ones do not decide."""
        first = self.value(es[0], env)
        if len(es) == 1:
            return first
        condition = _truth(first)
        if isinstance(condition, bool):
            return self.logic(es[1:], conjunction, env) if condition == conjunction else first
        goes_on = condition if conjunction else integers.inverse(condition)
        try:
            with at(here().under(goes_on)):
                rest, facts = self.logic(es[1:], conjunction, env), here().facts
        except Infeasible:
            return first
        if isinstance(first, (bool, SymBool)) and isinstance(rest, (bool, SymBool)):
            return integers.both(condition, rest) if conjunction else integers.either(condition, rest)
        return merged(goes_on.node, rest, first, facts)

    def condition(self, e: ast.expr, env: Env) -> Any:
        """The truth of an expression, where only that counts."""
        match e:
            case ast.BoolOp():
                return integers.settled(self.decided(e.values, isinstance(e.op, ast.And), env))
            case ast.UnaryOp(op=ast.Not()):
                return integers.inverse(self.condition(e.operand, env))
        return integers.settled(_truth(self.value(e, env)))

    def decided(self, es: Sequence[ast.expr], conjunction: bool, env: Env) -> Any:
        """Whether all of some conditions hold, or any."""
        found: Any = conjunction
        path = here()
        for e in es:
            with at(path):
                condition = self.condition(e, env)
            if isinstance(condition, bool) and condition != conjunction:
                return condition if isinstance(found, bool) else _combined(found, condition, conjunction)
            found = _combined(found, condition, conjunction)
            if isinstance(condition, SymBool):
                try:
                    path = path.under(condition if conjunction else integers.inverse(condition))
                except Infeasible:
                    return found
        return found

    def conditional(self, e: ast.IfExp, env: Env) -> Any:
        condition = self.condition(e.test, env)
        if isinstance(condition, bool):
            return self.value(e.body if condition else e.orelse, env)
        found = []
        for way, side in ((condition, e.body), (integers.inverse(condition), e.orelse)):
            try:
                with at(here().under(way)):
                    found.append(Returned(here()._replace(guard=way.node), self.value(side, env)))
            except Infeasible:
                continue
        return joined(found)

    def item(self, e: ast.Subscript, env: Env) -> Any:
        of = self.value(e.value, env)
        if isinstance(e.slice, ast.Slice):
            parts = [None if p is None else self.value(p, env) for p in (e.slice.lower, e.slice.upper, e.slice.step)]
            return of[slice(*parts)]
        index = integers.lifted(self.value(e.slice, env))
        if isinstance(of, Sparse) and index == 0:
            return of.first
        if not isinstance(index, SymInt):
            return of[index]
        if not isinstance(of, Sequence) or isinstance(of, str):
            raise Unsupported("an item of this at a symbolic place")
        if (beyond := or_(integers.bit(index >= len(of)), integers.bit(index < 0))) is not FALSE:
            _Now.reading.errors.append((and_(here().whole, beyond), self.name))
        return _selected(list(of), index.node)

    def comprehension(self, e: ast.GeneratorExp | ast.ListComp | ast.SetComp, env: Env) -> Any:
        found: list[tuple[Term, Any]] = []

        def collect(generators: Sequence[ast.comprehension], local: Env, there: Term) -> None:
            if not generators:
                found.append((there, self.value(e.elt, local)))
                return
            items = self.value(generators[0].iter, local)
            for present, item in values.pairs(items):
                inner = dict(local)
                self.assign(generators[0].target, item, inner)
                with at(_within(present)):
                    self.filtered(generators, inner, and_(there, present), collect)

        collect(e.generators, env, TRUE)
        if all(there is TRUE for there, _ in found) and not (
            isinstance(e, ast.SetComp) and symbolic([x for _, x in found])
        ):
            items = [x for _, x in found]
            return set(items) if isinstance(e, ast.SetComp) else items
        return Sparse(found, isinstance(e, ast.SetComp))

    def table(self, e: ast.Dict, env: Env) -> dict[Any, Any]:
        """A dictionary, whose keys are no symbols."""
        if None in e.keys or symbolic(keys := [self.value(k, env) for k in e.keys if k is not None]):
            raise Unsupported("a dictionary with symbolic keys, or another one in it")
        return dict(zip(keys, self.several(e.values, env), strict=True))

    def table_made(self, e: ast.DictComp, env: Env) -> dict[Any, Any]:
        pair = ast.copy_location(ast.Tuple([e.key, e.value], ast.Load()), e)
        pairs = self.comprehension(ast.copy_location(ast.ListComp(pair, e.generators), e), env)
        if isinstance(pairs, Sparse) or symbolic([key for key, _ in pairs]):
            raise Unsupported("a dictionary with symbolic keys")
        return dict(pairs)

    def filtered(self, generators: Sequence[ast.comprehension], env: Env, there: Term, collect: Any) -> None:
        """An item goes on where the conditions hold."""
        condition = self.decided(generators[0].ifs, True, env)
        if condition is False:
            return
        try:
            with at(here() if condition is True else here().under(condition)):
                collect(generators[1:], env, and_(there, integers.bit(condition)))
        except Infeasible:
            return


Frame.FORMS = {
    ast.Attribute: lambda frame, e, env: attribute(frame.value(e.value, env), e.attr),
    ast.BinOp: lambda frame, e, env: frame.binary(e.op, frame.value(e.left, env), frame.value(e.right, env)),
    ast.BoolOp: lambda frame, e, env: frame.logic(e.values, isinstance(e.op, ast.And), env),
    ast.Call: Frame.called,
    ast.Compare: Frame.comparison,
    ast.Constant: lambda frame, e, env: e.value,
    ast.Dict: Frame.table,
    ast.DictComp: Frame.table_made,
    ast.GeneratorExp: Frame.comprehension,
    ast.IfExp: Frame.conditional,
    ast.JoinedStr: lambda frame, e, env: "".join(frame.text(part, env) for part in e.values),
    ast.Lambda: lambda frame, e, env: Closure(e, frame, env),
    ast.List: lambda frame, e, env: frame.several(e.elts, env),
    ast.ListComp: Frame.comprehension,
    ast.Name: Frame.name_value,
    ast.Set: lambda frame, e, env: set(frame.several(e.elts, env)),
    ast.SetComp: Frame.comprehension,
    ast.Subscript: Frame.item,
    ast.Tuple: lambda frame, e, env: tuple(frame.several(e.elts, env)),
    ast.UnaryOp: Frame.unary,
}


def _combined(a: Any, b: Any, conjunction: bool) -> Any:
    return integers.both(a, b) if conjunction else integers.either(a, b)


def _within(present: Term) -> Path:
    found = integers.boolean(present)
    return here() if isinstance(found, bool) else here().under(found)


def _selected(items: Sequence[Any], index: Term) -> Any:
    """The item at a symbolic index, by its bits from the highest down; of a table of numbers, without their history."""
    if all(isinstance(x, int) for x in items):
        lo, hi = min(items), max(items)
        width = integers.width_of(lo, hi)
        return integers.free(selected([const(int(x), width) for x in items], index), lo, hi) if lo < hi else lo
    if len(items) == 1:
        return items[0]
    half = 1 << (index.width - 1)
    if index.width == 1:
        return merged(index, items[1], items[0])
    rest = extract(index, index.width - 2, 0)
    below = _selected(items[:half], rest)
    if len(items) <= half:
        return below
    return merged(extract(index, index.width - 1, index.width - 1), _selected(items[half:], rest), below)


def attribute(of: Any, name: str) -> Any:
    """An attribute; a property of something symbolic is read."""
    of = resolved(of)
    if isinstance(of, Either):
        return _of_both(of, lambda x: attribute(x, name))
    found = inspect.getattr_static(type(of), name, None)
    if isinstance(found, property) and symbolic(of) and found.fget is not None:
        return call(found.fget, of)
    return resolved(getattr(of, name))


def compared(op: ast.cmpop, a: Any, b: Any) -> Any:
    """A comparison of two values."""
    a, b = resolved(a), resolved(b)
    if isinstance(a, Either):
        return _of_both(a, lambda x: compared(op, x, b))
    if isinstance(b, Either):
        return _of_both(b, lambda x: compared(op, a, x))
    match op:
        case ast.Is():
            return a is b
        case ast.IsNot():
            return a is not b
        case ast.Eq():
            return equal(a, b)
        case ast.NotEq():
            return integers.inverse(integers.truth(equal(a, b)))
        case ast.In():
            return contains(b, a)
        case ast.NotIn():
            return integers.inverse(integers.truth(contains(b, a)))
    if isinstance(a, tuple) and isinstance(b, tuple) and (symbolic(a) or symbolic(b)):
        return _in_order(op, a, b)
    if isinstance(a, Sparse) or isinstance(b, Sparse):
        raise Unsupported("an order of symbolic sequences")
    return _ORDER[type(op)](a, b)


def _in_order(op: ast.cmpop, a: tuple[Any, ...], b: tuple[Any, ...]) -> Any:
    """An order of tuples of numbers, as many in both: by the first that differ."""
    strict = {ast.LtE: ast.Lt(), ast.GtE: ast.Gt()}.get(type(op), op)
    (x, *rest_a), (y, *rest_b) = a, b
    if not rest_a:
        return _ORDER[type(op)](x, y)
    before = integers.truth(_ORDER[type(strict)](x, y))
    return integers.either(
        before, integers.both(integers.truth(equal(x, y)), _in_order(op, tuple(rest_a), tuple(rest_b)))
    )


def equal(a: Any, b: Any) -> Any:
    """a == b; of tuples, item by item."""
    if not symbolic(a) and not symbolic(b):
        return a == b
    if isinstance(a, tuple) and isinstance(b, tuple):
        if len(a) != len(b):
            return False
        return _all([equal(x, y) for x, y in zip(a, b, strict=True)])
    if number(a) and number(b):
        return integers.equal(a, b)
    if a is None or b is None:
        return a is b
    raise Unsupported("== of these symbolic values")


def contains(items: Any, x: Any) -> Any:
    """x in items."""
    if isinstance(items, Sparse):
        return integers.boolean(items.has(x))
    return _any([equal(item, x) for item in items]) if symbolic(items) or symbolic(x) else x in items


def _meet(condition: SymBool, yes: Left, no: Left, path: Path) -> Left:
    """Where two ways meet again."""
    if yes is None or no is None:
        return no if yes is None else yes
    (env_yes, path_yes), (env_no, path_no) = yes, no
    env: Env = {}
    with at(path):
        for name in env_yes.keys() & env_no.keys():
            env[name] = merged(condition.node, env_yes[name], env_no[name], path_yes.facts, path_no.facts)
    whole_ways = path_yes.guard is and_(path.guard, condition.node) and path_no.guard is and_(
        path.guard, not_(condition.node)
    )
    if whole_ways:
        return env, path
    guard, whole = or_(path_yes.guard, path_no.guard), or_(path_yes.whole, path_no.whole)
    return env, Path(guard, whole, path.facts, path.known | {whole})


def _loaded(target: ast.expr) -> ast.expr:
    """The target of an augmented assignment as an expression."""
    return ast.copy_location(ast.parse(ast.unparse(target), mode="eval").body, target)


def _appends(s: ast.Expr) -> bool:
    """Whether a statement appends to a list that a variable holds."""
    return (
        isinstance(s.value, ast.Call)
        and isinstance(f := s.value.func, ast.Attribute)
        and f.attr == "append"
        and isinstance(f.value, ast.Name)
    )


def _placed(e: Unsupported, name: str, line: int) -> Unsupported:
    found = Unsupported(f"{name}, line {line}: {e}")
    found.placed = True  # type: ignore[attr-defined]
    return found
