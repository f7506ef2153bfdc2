"""Terms of bit vectors, with SMT-LIB's meaning (theory FixedSizeBitVectors), and their values (build.py makes them).

Equal terms are one object, so that `is` compares them. Truth values are terms of one bit. Two meanings differ from
SMT-LIB's operators: the right side of a shift may have any width, and comparisons give a bit. As there, a quotient by
zero is all ones, and a remainder by zero is the dividend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Final, Literal
from weakref import WeakValueDictionary

Op = Literal[
    "const", "var", "not", "neg", "and", "or", "xor", "add", "sub", "mul", "udiv", "urem", "shl", "lshr", "ashr",
    "eq", "ult", "slt", "ite", "concat", "extract", "zext", "sext",
]  # fmt: skip


class Term:
    """An operation on terms. width: bits of the result. value: of a const; the name of a var; the bits (high, low) of
    an extract. number: in the order of creation, so that arguments have smaller numbers."""

    __slots__ = ("__weakref__", "args", "number", "op", "value", "width")

    def __init__(self, op: Op, width: int, args: tuple[Term, ...], value: Any) -> None:
        self.op, self.width, self.args, self.value = op, width, args, value
        self.number = next(_NUMBERS)

    def __repr__(self) -> str:
        return f"<{self.op}:{self.width} #{self.number}>"

    @property
    def is_const(self) -> bool:
        """Whether it is a constant."""
        return self.op == "const"


_NUMBERS: Final = count()
_USES_BEFORE_COMPILING: Final = 10  # uses of an evaluator, after which it is compiled
_SHARED_TERMS: Final[WeakValueDictionary[Any, Term]] = WeakValueDictionary()


def shared_term(op: Op, width: int, args: tuple[Term, ...] = (), value: Any = None) -> Term:
    """The only term with these parts."""
    key = (op, width, args, value)
    term = _SHARED_TERMS.get(key)
    if term is None:
        term = _SHARED_TERMS[key] = Term(op, width, args, value)
    return term


def const(value: int, width: int) -> Term:
    """A constant; the bits of `value` beyond the width are dropped."""
    return shared_term("const", width, (), value & ((1 << width) - 1))


def var(name: str, width: int) -> Term:
    """A free variable."""
    return shared_term("var", width, (), name)


TRUE: Final = const(1, 1)
FALSE: Final = const(0, 1)


def signed(value: int, width: int) -> int:
    """The two's complement number of a code."""
    return value - (1 << width) if value >> (width - 1) else value


# -- meaning ---------------------------------------------------------------------------------------------------

# Python's text of each operation, of which functions are made: x, y, z are the arguments and v, u the widths of the
# first two; w is the result's width, m so many ones, h the first argument's sign bit, low where an extract begins.
_MEANING_TEXTS: Final[dict[str, str]] = {
    "not": "~{x} & {m}",
    "neg": "-{x} & {m}",
    "and": "{x} & {y}",
    "or": "{x} | {y}",
    "xor": "{x} ^ {y}",
    "add": "{x} + {y} & {m}",
    "sub": "{x} - {y} & {m}",
    "mul": "{x} * {y} & {m}",
    "udiv": "{x} // {y} if {y} else {m}",
    "urem": "{x} % {y} if {y} else {x}",
    "shl": "{x} << {y} & {m} if {y} < {w} else 0",
    "lshr": "{x} >> {y} if {y} < {w} else 0",
    "ashr": "({x} ^ {h}) - {h} >> min({y}, {w}) & {m}",
    "eq": "+({x} == {y})",
    "ult": "+({x} < {y})",
    "slt": "+({x} ^ {h} < {y} ^ {h})",
    "ite": "{y} if {x} else {z}",
    "concat": "{x} << {u} | {y}",
    "extract": "{x} >> {low} & {m}",
    "zext": "{x}",
    "sext": "({x} ^ {h}) - {h} & {m}",
}
_LETTERS: Final = ("x", "y", "z", "v", "u", "w", "m", "h", "low")
_MEANINGS: Final[dict[str, Callable[..., int]]] = {
    op: eval(f"lambda {', '.join(_LETTERS)}: {text.format(**dict(zip(_LETTERS, _LETTERS, strict=True)))}")
    for op, text in _MEANING_TEXTS.items()
}


def _sizes(t: Term) -> tuple[int, int, int, int, int, int]:
    """What a text asks of a term besides its arguments: v, u, w, m, h, low."""
    first = t.args[0].width
    second = t.args[1].width if len(t.args) > 1 else 0
    return first, second, t.width, (1 << t.width) - 1, 1 << first - 1, t.value[1] if t.op == "extract" else 0


def meaning(t: Term, args: Sequence[int]) -> int:
    """The value of an operation, of those of its arguments."""
    return _MEANINGS[t.op](*args, *(0,) * (3 - len(args)), *_sizes(t))


def subterms(roots: Iterable[Term]) -> list[Term]:
    """All terms below the roots, arguments first."""
    seen: set[Term] = set()
    waiting = list(roots)
    while waiting:
        term = waiting.pop()
        if term not in seen:
            seen.add(term)
            waiting.extend(term.args)
    return sorted(seen, key=lambda t: t.number)


def evaluator(roots: Sequence[Term]) -> Callable[[Mapping[str, int]], list[int]]:
    """The function from the variables' values to those of the roots."""
    order = subterms(roots)
    uses, compiled = count(), list[Callable[[Mapping[str, int]], list[int]]]()

    def run(values: Mapping[str, int]) -> list[int]:
        if compiled:
            return compiled[0](values)
        if next(uses) == _USES_BEFORE_COMPILING:
            compiled.append(_compiled(order, roots))
        codes: dict[Term, int] = {}
        for t in order:
            if t.op == "const":
                codes[t] = t.value
            elif t.op == "var":
                codes[t] = values[t.value]
            else:
                codes[t] = meaning(t, [codes[a] for a in t.args])
        return [codes[t] for t in roots]

    return run


def _compiled(order: Sequence[Term], roots: Sequence[Term]) -> Callable[[Mapping[str, int]], list[int]]:
    """The same as one function of Python, which is ten times as fast."""
    names = {t: hex(t.value) if t.is_const else f"t{t.number}" for t in order}
    lines = ["def run(values):"]
    for t in order:
        if t.op == "var":
            lines.append(f" {names[t]} = values[{t.value!r}]")
        elif not t.is_const:
            args = [names[a] for a in t.args]
            places = dict(zip(_LETTERS, (*args, *("",) * (3 - len(args)), *map(hex, _sizes(t))), strict=True))
            lines.append(f" {names[t]} = {_MEANING_TEXTS[t.op].format(**places)}")
    lines.append(f" return [{', '.join(names[t] for t in roots)}]")
    scope: dict[str, Any] = {}
    exec("\n".join(lines), scope)
    function: Callable[[Mapping[str, int]], list[int]] = scope["run"]
    return function


def evaluate(roots: Sequence[Term], values: Mapping[str, int]) -> list[int]:
    """The values of the roots; variables that have none are 0."""
    return evaluator(roots)(known_values(roots, values))


def variables(roots: Iterable[Term]) -> list[Term]:
    """The variables below the roots."""
    return [t for t in subterms(roots) if t.op == "var"]


def variable_widths(roots: Iterable[Term]) -> dict[str, int]:
    """The widths of the variables below the roots, by name."""
    return {str(v.value): v.width for v in variables(roots)}


def known_values(roots: Iterable[Term], values: Mapping[str, int]) -> dict[str, int]:
    """The values of the variables below the roots; those that have none are 0."""
    return {name: values.get(name, 0) for name in variable_widths(roots)}
