"""Operators and built-in functions on symbolic values: what they are, not how the interpreter finds it."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

from softfloat_ref.base.search import find_first
from softfloat_ref.symbolic import integers
from softfloat_ref.symbolic.build import and_, extract, not_, or_, selected
from softfloat_ref.symbolic.integers import number
from softfloat_ref.symbolic.paths import Unsupported, at, here
from softfloat_ref.symbolic.reading import of_both
from softfloat_ref.symbolic.terms import TRUE, Term, const
from softfloat_ref.symbolic.values import Either, Sparse, extreme, merged, pairs, resolved, square_root, symbolic

BINARY: Final[dict[type, Callable[[Any, Any], Any]]] = {
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
UNARY: Final[dict[type, Callable[[Any], Any]]] = {
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


_NO_DEFAULT: Final = object()


def _items(args: tuple[Any, ...]) -> Any:
    return args[0] if len(args) == 1 else args


def _extreme(larger: bool) -> Callable[..., Any]:
    def find(*args: Any, default: Any = _NO_DEFAULT, key: Any = None) -> Any:
        if key is not None:
            raise Unsupported("max or min by a key")
        items = _items(args)
        numbers = pairs(items)
        if not numbers:
            return default
        there, best = numbers[0]
        for present, x in numbers[1:]:
            better = integers.less(best, x) if larger else integers.less(x, best)
            best = _select(present, there, better, x, best)
            there = or_(there, present)
        best = extreme(best, numbers, largest=larger)
        return best if there is TRUE or default is _NO_DEFAULT else merged(there, best, default)

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
    result: Any = True
    for there, x in pairs(items):
        result = integers.both(result, integers.boolean(or_(not_(there), integers.bit(truth(x)))))
    return result


def _any(items: Any) -> Any:
    result: Any = False
    for there, x in pairs(items):
        result = integers.either(result, integers.boolean(and_(there, integers.bit(truth(x)))))
    return result


def truth(x: Any) -> Any:
    """The truth value of a value."""
    x = resolved(x)
    if isinstance(x, Sparse):
        return integers.boolean(x.some)
    if isinstance(x, Either):
        return integers.boolean(
            or_(and_(x.condition, integers.bit(truth(x.yes))), and_(not_(x.condition), integers.bit(truth(x.no))))
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
        raise Unsupported("a sum of a sequence with conditionally present items")
    return reduce(operator.add, items, start)


def _instance(x: Any, kinds: Any) -> bool:
    if number(x):
        return isinstance(0, kinds)
    return isinstance(x, kinds)


_INTRINSICS: Final[dict[Any, Callable[..., Any]]] = {
    abs: _absolute,
    all: _all,
    any: _any,
    bool: truth,
    divmod: integers.divide,
    int: integers.lifted,
    isinstance: _instance,
    len: _size,
    max: _extreme(True),
    min: _extreme(False),
    math.isqrt: square_root,
    operator.index: integers.lifted,
    pow: integers.power,
    sum: _sum,
}


def intrinsic(function: Any) -> Callable[..., Any] | None:
    """What stands for a built-in function on symbolic values; None if nothing does."""
    try:
        stand_in = _INTRINSICS.get(function)
    except TypeError:
        return None
    if stand_in is None and getattr(function, "__name__", "") == "bit_length":
        return lambda: function.__self__.bit_length()
    if stand_in is None and getattr(function, "__name__", "") == "pop":
        return _popped(function.__self__)
    return stand_in


def _popped(items: Any) -> Callable[[], Any] | None:
    """What gives the item of a set of equal ones, which is not used after that."""
    if isinstance(items, Sparse):
        return lambda: items.first
    return (lambda: find_first(items)) if isinstance(items, set) and len(items) == 1 else None


def compared(op: ast.cmpop, a: Any, b: Any) -> Any:
    """A comparison of two values."""
    a, b = resolved(a), resolved(b)
    if isinstance(a, Either):
        return of_both(a, lambda x: compared(op, x, b))
    if isinstance(b, Either):
        return of_both(b, lambda x: compared(op, a, x))
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


def item_at(items: Sequence[Any], index: Term) -> Any:
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
    below = item_at(items[:half], rest)
    if len(items) <= half:
        return below
    return merged(extract(index, index.width - 1, index.width - 1), item_at(items[half:], rest), below)
