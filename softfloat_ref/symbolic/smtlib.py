"""Terms as SMT-LIB 2 text, in the logic QF_BV."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from softfloat_ref.symbolic.terms import Term, subterms

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAMES: Final = {
    "not": "bvnot", "neg": "bvneg", "and": "bvand", "or": "bvor", "xor": "bvxor", "add": "bvadd", "sub": "bvsub",
    "mul": "bvmul", "udiv": "bvudiv", "urem": "bvurem", "concat": "concat", "shl": "bvshl", "lshr": "bvlshr",
    "ashr": "bvashr",
}  # fmt: skip
_COMPARISONS: Final = {"eq": "=", "ult": "bvult", "slt": "bvslt"}


def script(assertions: Sequence[Term]) -> str:
    """A script that asks whether the assertions, of one bit each, can be true at once."""
    terms = subterms(assertions)
    lines = ["(set-logic QF_BV)"]
    lines += [f"(declare-const {symbol(str(t.value))} {sort(t.width)})" for t in terms if t.op == "var"]
    lines += definitions(terms)
    lines += [f"(assert (= {_name(t)} #b1))" for t in assertions]
    return "\n".join([*lines, "(check-sat)", ""])


def expression(root: Term) -> str:
    """A term as one expression of its variables; what is used more than once is named by let."""
    uses = Counter(a for t in subterms([root]) for a in t.args)
    texts: dict[Term, str] = {}
    lets: list[str] = []
    for t in subterms([root]):
        texts[t] = _name(t) if t.op in ("const", "var") else applied(t, texts)
        if t.args and uses[t] > 1:
            lets.append(f"(let ((?{len(lets)} {texts[t]})) ")
            texts[t] = f"?{len(lets) - 1}"
    return f"{''.join(lets)}{texts[root]}{')' * len(lets)}"


def definitions(terms: Sequence[Term]) -> list[str]:
    """A definition for each term in order, but for constants and variables."""
    return [f"(define-fun {_name(t)} () {sort(t.width)} {applied(t)})" for t in terms if t.op not in ("const", "var")]


def symbol(name: str) -> str:
    """A name, quoted if it must be."""
    return name if _PLAIN.fullmatch(name) else f"|{name}|"


def literal(value: int, width: int) -> str:
    """A constant."""
    return f"#x{value:0{width // 4}x}" if width % 4 == 0 else f"#b{value:0{width}b}"


def sort(width: int) -> str:
    """The sort of terms of a width."""
    return f"(_ BitVec {width})"


def _name(term: Term) -> str:
    if term.op == "const":
        return literal(term.value, term.width)
    return symbol(str(term.value)) if term.op == "var" else f"|#{term.number}|"


def applied(term: Term, texts: Mapping[Term, str] | None = None) -> str:
    """An operation on its arguments' names, or on other texts."""
    args = [_name(a) if texts is None else texts[a] for a in term.args]
    if term.op in _COMPARISONS:
        return f"(ite ({_COMPARISONS[term.op]} {' '.join(args)}) #b1 #b0)"
    if term.op == "ite":
        return f"(ite (= {args[0]} #b1) {args[1]} {args[2]})"
    if term.op == "extract":
        return f"((_ extract {term.value[0]} {term.value[1]}) {args[0]})"
    if term.op in ("zext", "sext"):
        return _extended(args[0], term.width - term.args[0].width, term.op)
    if term.op in ("shl", "lshr", "ashr"):
        return _shifted(term, *args)
    return f"({_NAMES[term.op]} {' '.join(args)})"


def _extended(text: str, bits: int, op: str = "zext") -> str:
    return f"((_ {'sign' if op == 'sext' else 'zero'}_extend {bits}) {text})" if bits else text


def _shifted(term: Term, text: str, by: str) -> str:
    """The operands of a shift have one width in SMT-LIB."""
    more, name = term.args[1].width - term.width, _NAMES[term.op]
    if more <= 0:
        return f"({name} {text} {_extended(by, -more)})"
    wide = _extended(text, more, "sext" if term.op == "ashr" else "zext")
    return f"((_ extract {term.width - 1} 0) ({name} {wide} {by}))"
