"""Python functions on symbolic values, read from their syntax trees: what they return for every input at once.

A decision on a symbolic condition takes both ways; where they meet again, each variable becomes a choice between its
values on the two. Functions that get nothing symbolic are simply called. What is not listed here is refused, never
guessed; a place that raises an error is recorded with the inputs that reach it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from functools import lru_cache
from types import FunctionType, MethodType
from typing import Any, Final

from softfloat_ref.symbolic import integers
from softfloat_ref.symbolic.bounds import Infeasible
from softfloat_ref.symbolic.build import and_, not_, or_
from softfloat_ref.symbolic.expressions import Closure, Env, Expressions
from softfloat_ref.symbolic.integers import SymBool, SymInt
from softfloat_ref.symbolic.operators import intrinsic
from softfloat_ref.symbolic.paths import Path, Unsupported, at, here
from softfloat_ref.symbolic.reading import Returned, current_reading, full_name, joined, note, of_both
from softfloat_ref.symbolic.source import Body, Scope, body_of, own_nodes
from softfloat_ref.symbolic.terms import TRUE
from softfloat_ref.symbolic.values import Either, Sparse, merged, pairs, resolved, symbolic

_CACHED: Final = type(lru_cache(len))
CHANGING: Final = ("add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse",
                   "setdefault", "sort", "update")  # methods of containers  # fmt: skip


# -- calls -----------------------------------------------------------------------------------------------------------


def call(function: Any, *args: Any, **keywords: Any) -> Any:
    """What a function returns, as one value."""
    function = resolved(function)
    args = tuple(resolved(x) for x in args)
    if isinstance(function, Closure):
        return joined(_run(function.body, function.frame.scope, function.env, args, keywords, function.frame.name))
    if not (symbolic(args) or symbolic(keywords) or _holds_symbolic(function)):
        changing = getattr(function, "__name__", "") in CHANGING and _is_container(function)
        if changing and here().whole is not TRUE and intrinsic(function) is None:
            raise Unsupported(f"{function.__name__}, which changes a value for all ways")
        return function(*args, **keywords)
    if isinstance(function, Either):
        return of_both(function, lambda f: call(f, *args, **keywords))
    if (chosen := next((x for x in args if isinstance(x, Either)), None)) is not None:
        return of_both(chosen, lambda x: call(function, *(x if a is chosen else a for a in args), **keywords))
    if (simple := intrinsic(function)) is not None:
        return simple(*args, **keywords)
    if not isinstance(_plain(function), (FunctionType, MethodType)) or function.__name__ in ("_replace", "_make"):
        return _constructed(function, args, keywords)
    value = joined(returns(function, *args, **keywords))
    note(getattr(function, "__name__", "").strip("_<>"), value)
    return value


def _is_container(function: Any) -> bool:
    return isinstance(getattr(function, "__self__", None), (list, dict, set))


def _holds_symbolic(function: Any) -> bool:
    return isinstance(function, MethodType) and symbolic(function.__self__)


def _constructed(kind: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What a class makes, or a built-in function that handles its arguments without looking at them."""
    named = getattr(kind, "__self__", None)
    harmless = kind in (zip, enumerate, list, tuple, reversed, dict) or getattr(kind, "__name__", "") in (
        "_replace",
        "_make",
    )
    if harmless or (isinstance(kind, type) and (issubclass(kind, tuple) or is_dataclass(kind))):
        if any(isinstance(x, Sparse) for x in args):
            raise Unsupported(f"{getattr(kind, '__name__', kind)} of a sequence with conditionally present items")
        return kind(*args, **keywords)
    raise Unsupported(f"{getattr(kind, '__qualname__', kind)} of {type(named).__name__}: on symbolic values")


def _plain(function: Any) -> Any:
    """A function without a cache or compilation around it."""
    if isinstance(function, _CACHED):
        return _plain(function.__wrapped__)
    return getattr(function, "py_func", function)


def returns(function: Any, *args: Any, **keywords: Any) -> list[Returned]:
    """The values that a function returns, each with its path from the function's entry. Their guards exclude each
    other."""
    function = _plain(function)
    if isinstance(function, MethodType):
        args = (function.__self__, *args)
        function = _plain(function.__func__)
    scope = Scope(function)
    if other := current_reading().substitutes.get(full_name(function)):
        with at(here().entered()):
            return other(scope.outer, *args, **keywords)
    return _run(body_of(function), scope, {}, args, keywords, function.__qualname__, function)


def _run(
    body: Body, scope: Scope, env: Env, args: Sequence[Any], keywords: Mapping[str, Any], name: str, of: Any = None
) -> list[Returned]:
    frame = Frame(scope, name.rpartition(".")[2], body)
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


# -- statements ------------------------------------------------------------------------------------------------------


Left = tuple[Env, Path] | None  # the variables and the path behind a statement; None: nothing passes it


class Frame(Expressions):
    """One call of a function. returned: what it returns, so far."""

    def __init__(self, scope: Scope, name: str, body: Body) -> None:
        super().__init__(scope, name, body, call)
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
                current_reading().errors.append((path.whole, f"{self.name}:{s.lineno}"))
                return None
            case ast.If():
                return self.branch(s.test, s.body, s.orelse, env, path)
            case ast.For():
                return self.loop(s, env, path)
            case ast.While():
                return self.repeat(s, env, path)
            case ast.Match():
                return self.match(s, env, path)
            case ast.Try(orelse=[], finalbody=[]) if all(isinstance(h.body[0], ast.Raise) for h in s.handlers):
                return self.block(s.body, env, path)  # what raises in it is recorded where it does
            case ast.Expr(value=ast.Call()) if not _appends(s):
                return self.passed(s.value, env, path)
            case ast.FunctionDef(decorator_list=[]):
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
        ways = returns(function, *args)
        if len(ways) != 1:
            return (env, path) if ways else None
        return env, path._replace(facts=ways[0].path.facts, known=ways[0].path.known)

    def define(self, s: ast.FunctionDef, env: Env) -> Env:
        """A nested function sees those defined beside it, also after it; variables as they are where it is defined."""
        later = {
            n.id
            for n in own_nodes(self.body)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.lineno > (s.end_lineno or 0)
        }
        if later & {n.id for n in ast.walk(s) if isinstance(n, ast.Name)}:
            raise Unsupported(f"the function {s.name}, whose variables change after it")
        closure = env[s.name] = Closure(s, self, env)
        for other in env.values():
            if isinstance(other, Closure) and other.frame is self:
                other.env[s.name] = closure
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
        for there, item in pairs(items):
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
        raise Unsupported("such a pattern in match")

    def simple(self, s: ast.stmt, env: Env) -> None:
        match s:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
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
                before, value = self.value(_loaded(s.target), env), self.value(s.value, env)
                if isinstance(before, list) and isinstance(value, tuple):
                    value = list(value)  # a list takes the items of any sequence
                self.assign(s.target, self.binary(s.op, before, value), env)
            case _:
                raise Unsupported(f"{type(s).__name__.lower()}")

    def append(self, e: ast.Call, env: Env) -> None:
        """A list with one more item takes the place of the list, on this path only."""
        name = e.func.value.id  # type: ignore[attr-defined]
        if not isinstance(env.get(name), (list, Sparse)):
            raise Unsupported("append to what is not a list of its own")
        item, before = self.value(e.args[0], env), env[name]
        env[name] = Sparse([*before.items, (TRUE, item)]) if isinstance(before, Sparse) else [*before, item]


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
    error = Unsupported(f"{name}, line {line}: {e}")
    error.placed = True  # type: ignore[attr-defined]
    return error


def _meet(condition: SymBool, yes: Left, no: Left, path: Path) -> Left:
    """Where two ways meet again."""
    if yes is None or no is None:
        return no if yes is None else yes
    (env_yes, path_yes), (env_no, path_no) = yes, no
    env: Env = {}
    with at(path):
        for name in (x for x in env_yes if x in env_no):  # not in the order of a set, which differs from run to run
            env[name] = merged(condition.node, env_yes[name], env_no[name], path_yes.facts, path_no.facts)
    whole_ways = path_yes.guard is and_(path.guard, condition.node) and path_no.guard is and_(
        path.guard, not_(condition.node)
    )
    if whole_ways:
        return env, path
    guard, whole = or_(path_yes.guard, path_no.guard), or_(path_yes.whole, path_no.whole)
    return env, Path(guard, whole, path.facts, path.known | {whole})
