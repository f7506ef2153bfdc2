"""Expressions of Python on symbolic values."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from softfloat_ref.symbolic import integers
from softfloat_ref.symbolic.bounds import Infeasible
from softfloat_ref.symbolic.build import and_, or_
from softfloat_ref.symbolic.integers import SymBool, SymInt
from softfloat_ref.symbolic.operators import BINARY, UNARY, compared, item_at, truth
from softfloat_ref.symbolic.paths import Path, Unsupported, at, here
from softfloat_ref.symbolic.reading import Returned, current_reading, joined, note, of_both
from softfloat_ref.symbolic.source import Body, Scope, own_nodes
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term
from softfloat_ref.symbolic.values import Either, Sparse, merged, pairs, resolved, symbolic

Env = dict[str, Any]  # the variables of a function


@dataclass(eq=False)
class Closure:
    """A function that is defined inside another one, on symbolic values."""

    body: Body
    frame: Expressions
    env: Env


class Expressions:
    """One call of a function, as far as its expressions go. call: calls another one. own: the names of its variables.
    FORMS: how each form of expression is read."""

    FORMS: ClassVar[dict[type[ast.expr], Callable[[Expressions, Any, Env], Any]]] = {}

    def __init__(self, scope: Scope, name: str, body: Body, call: Callable[..., Any]) -> None:
        self.scope, self.name, self.body, self.call = scope, name, body, call
        self.own = {n.id for n in own_nodes(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}

    def value(self, e: ast.expr, env: Env) -> Any:
        """The value of an expression. Raises Unsupported."""
        read = self.FORMS.get(type(e))
        if read is None:
            raise Unsupported(type(e).__name__.lower())
        value = read(self, e, env)
        note(f"{self.name.strip('_<>')}.", value)
        return value

    def name_value(self, e: ast.Name, env: Env) -> Any:
        if e.id in env:
            return resolved(env[e.id])
        if e.id in self.own:
            raise Unsupported(f"the variable {e.id}, which has no value on some ways to this place")
        return resolved(self.scope.find(e.id))

    def called(self, e: ast.Call, env: Env) -> Any:
        args, keywords = self.several(e.args, env), {k.arg or "": self.value(k.value, env) for k in e.keywords}
        if "" in keywords:
            raise Unsupported("**")
        return self.call(self.value(e.func, env), *args, **keywords)

    def text(self, part: ast.expr, env: Env) -> str:
        """A part of a formatted string: of what is no symbol, plain."""
        value = self.value(part.value if isinstance(part, ast.FormattedValue) else part, env)
        if symbolic(value) or (isinstance(part, ast.FormattedValue) and (part.format_spec or part.conversion != -1)):
            raise Unsupported("text of a symbolic value")
        return str(value)

    def several(self, es: Sequence[ast.expr], env: Env) -> list[Any]:
        values: list[Any] = []
        for e in es:
            if isinstance(e, ast.Starred):
                many = self.value(e.value, env)
                if isinstance(many, (Sparse, Either)):
                    raise Unsupported("a symbolic sequence after *")
                values.extend(many)
            else:
                values.append(self.value(e, env))
        return values

    def binary(self, op: ast.operator, a: Any, b: Any) -> Any:
        if isinstance(op, ast.Add) and isinstance(a, (list, Sparse)) and isinstance(b, (list, Sparse)):
            return a + b if isinstance(a, list) and isinstance(b, list) else Sparse(pairs(a) + pairs(b))
        if type(op) not in BINARY or isinstance(a, (Sparse, Either)) or isinstance(b, (Sparse, Either)):
            raise Unsupported(f"{type(op).__name__.lower()}")
        return BINARY[type(op)](a, b)

    def unary(self, e: ast.UnaryOp, env: Env) -> Any:
        x = self.value(e.operand, env)
        if isinstance(e.op, ast.Not):
            return integers.inverse(truth(x))
        return UNARY[type(e.op)](x)

    def comparison(self, e: ast.Compare, env: Env) -> Any:
        left, holds = self.value(e.left, env), True
        for op, right_side in zip(e.ops, e.comparators, strict=True):
            right = self.value(right_side, env)
            holds = integers.both(holds, integers.truth(compared(op, left, right)))
            if holds is False:
                return False
            left = right
        return holds

    def logic(self, es: Sequence[ast.expr], conjunction: bool, env: Env) -> Any:
        """`and`, `or`: the later operands are evaluated where the earlier ones do not decide."""
        first = self.value(es[0], env)
        if len(es) == 1:
            return first
        condition = truth(first)
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
        return integers.settled(truth(self.value(e, env)))

    def decided(self, es: Sequence[ast.expr], conjunction: bool, env: Env) -> Any:
        """Whether all of some conditions hold, or any."""
        combined: Any = conjunction
        path = here()
        for e in es:
            with at(path):
                condition = self.condition(e, env)
            if isinstance(condition, bool) and condition != conjunction:
                return condition if isinstance(combined, bool) else _combined(combined, condition, conjunction)
            combined = _combined(combined, condition, conjunction)
            if isinstance(condition, SymBool):
                try:
                    path = path.under(condition if conjunction else integers.inverse(condition))
                except Infeasible:
                    return combined
        return combined

    def conditional(self, e: ast.IfExp, env: Env) -> Any:
        condition = self.condition(e.test, env)
        if isinstance(condition, bool):
            return self.value(e.body if condition else e.orelse, env)
        ways = []
        for way, side in ((condition, e.body), (integers.inverse(condition), e.orelse)):
            try:
                with at(here().under(way)):
                    ways.append(Returned(here()._replace(guard=way.node), self.value(side, env)))
            except Infeasible:
                continue
        return joined(ways)

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
            raise Unsupported("an item at a symbolic index of what is no sequence")
        if (beyond := or_(integers.bit(index >= len(of)), integers.bit(index < 0))) is not FALSE:
            current_reading().errors.append((and_(here().whole, beyond), self.name))
        return item_at(list(of), index.node)

    def comprehension(self, e: ast.GeneratorExp | ast.ListComp | ast.SetComp, env: Env) -> Any:
        present_items: list[tuple[Term, Any]] = []

        def collect(generators: Sequence[ast.comprehension], local: Env, there: Term) -> None:
            if not generators:
                present_items.append((there, self.value(e.elt, local)))
                return
            items = self.value(generators[0].iter, local)
            for present, item in pairs(items):
                inner = dict(local)
                self.assign(generators[0].target, item, inner)
                with at(_within(present)):
                    self.filtered(generators, inner, and_(there, present), collect)

        collect(e.generators, env, TRUE)
        if all(there is TRUE for there, _ in present_items) and not (
            isinstance(e, ast.SetComp) and symbolic([x for _, x in present_items])
        ):
            items = [x for _, x in present_items]
            return set(items) if isinstance(e, ast.SetComp) else items
        return Sparse(present_items, isinstance(e, ast.SetComp))

    def table(self, e: ast.Dict, env: Env) -> dict[Any, Any]:
        """A dictionary, whose keys are no symbols."""
        if None in e.keys or symbolic(keys := [self.value(k, env) for k in e.keys if k is not None]):
            raise Unsupported("a dictionary with symbolic keys, or another one in it")
        return dict(zip(keys, self.several(e.values, env), strict=True))

    def table_made(self, e: ast.DictComp, env: Env) -> dict[Any, Any]:
        pair = ast.copy_location(ast.Tuple([e.key, e.value], ast.Load()), e)
        rows = self.comprehension(ast.copy_location(ast.ListComp(pair, e.generators), e), env)
        if isinstance(rows, Sparse) or symbolic([key for key, _ in rows]):
            raise Unsupported("a dictionary with symbolic keys")
        return dict(rows)

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

    def attribute(self, of: Any, name: str) -> Any:
        """An attribute; a property of something symbolic is read."""
        of = resolved(of)
        if isinstance(of, Either):
            return of_both(of, lambda x: self.attribute(x, name))
        static = inspect.getattr_static(type(of), name, None)
        if isinstance(static, property) and symbolic(of) and static.fget is not None:
            return self.call(static.fget, of)
        return resolved(getattr(of, name))

    def set_of(self, e: ast.Set, env: Env) -> set[Any]:
        if symbolic(items := self.several(e.elts, env)):
            raise Unsupported("a set of symbolic values")
        return set(items)

    def assign(self, target: ast.expr, value: Any, env: Env) -> None:
        match target:
            case ast.Name():
                env[target.id] = value
                self.name_term(target.id, value)
            case ast.Tuple() | ast.List():
                self.unpack(target.elts, value, env)
            case ast.Attribute():
                self.set_attribute(self.value(target.value, env), target.attr, value)
            case ast.Subscript() if here().whole is TRUE and not symbolic(value):
                self.value(target.value, env)[self.value(target.slice, env)] = value
            case _:
                raise Unsupported("an assignment to such a target")

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
            note(f"{self.name.strip('_<>')}.{name.strip('_')}", value)


Expressions.FORMS = {
    ast.Attribute: lambda frame, e, env: frame.attribute(frame.value(e.value, env), e.attr),
    ast.BinOp: lambda frame, e, env: frame.binary(e.op, frame.value(e.left, env), frame.value(e.right, env)),
    ast.BoolOp: lambda frame, e, env: frame.logic(e.values, isinstance(e.op, ast.And), env),
    ast.Call: Expressions.called,
    ast.Compare: Expressions.comparison,
    ast.Constant: lambda frame, e, env: e.value,
    ast.Dict: Expressions.table,
    ast.DictComp: Expressions.table_made,
    ast.GeneratorExp: Expressions.comprehension,
    ast.IfExp: Expressions.conditional,
    ast.JoinedStr: lambda frame, e, env: "".join(frame.text(part, env) for part in e.values),
    ast.Lambda: lambda frame, e, env: Closure(e, frame, env),
    ast.List: lambda frame, e, env: frame.several(e.elts, env),
    ast.ListComp: Expressions.comprehension,
    ast.Name: Expressions.name_value,
    ast.Set: Expressions.set_of,
    ast.SetComp: Expressions.comprehension,
    ast.Subscript: Expressions.item,
    ast.Tuple: lambda frame, e, env: tuple(frame.several(e.elts, env)),
    ast.UnaryOp: Expressions.unary,
}


def _combined(a: Any, b: Any, conjunction: bool) -> Any:
    return integers.both(a, b) if conjunction else integers.either(a, b)


def _within(present: Term) -> Path:
    condition = integers.boolean(present)
    return here() if isinstance(condition, bool) else here().under(condition)
