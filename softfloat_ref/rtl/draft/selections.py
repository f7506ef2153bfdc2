"""What a module does for each code of an input, as far as names and comments say it: case statements, and tests of
whether the input is a constant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from softfloat_ref.rtl.draft.uses import UsesReader

_MAX_TEXT: Final = 400  # characters of what is done for a code
_COMMENT: Final = re.compile(rb"[;,) \t]*(?://[^\n]{0,200}|/\*[^\n*]{0,200}\*/)")
_EQUAL: Final = ("Equality", "CaseEquality", "WildcardEquality")


@dataclass(frozen=True)
class Selection:
    """What is done for the codes of a port. texts: by code; other: for all other codes, '' if nothing is; place: its
    file and line."""

    texts: Mapping[int, str]
    other: str
    place: str

    def by_code(self, width: int) -> dict[int, str]:
        """The texts; what is done for all other codes under the least of these, if the port has one."""
        left = next((code for code in range(1 << width) if code not in self.texts), None)
        return {**self.texts, **({left: self.other} if self.other and left is not None else {})}


def read_selections(uses: UsesReader) -> dict[str, tuple[Selection, ...]]:
    """The selections of a module that its reader has seen, by port."""
    found: dict[str, list[Selection]] = {}
    for port, selection in (*_cases(uses), *_chains(uses)):
        if len(selection.texts) + bool(selection.other) > 1:
            found.setdefault(port, []).append(selection)
    return {port: tuple(selections) for port, selections in found.items()}


def _cases(uses: UsesReader) -> Iterator[tuple[str, Selection]]:
    for node in uses.cases:
        if not (port := uses.port_of(node.expr)):
            continue
        texts: dict[int, str] = {}
        for item in node.items:
            text = _text(uses, item.expressions[0], item.stmt)
            codes = [uses.constant(x) for x in item.expressions]
            texts |= {code: text for code in codes if code is not None and code not in texts}
        other = "" if node.defaultCase is None else _text(uses, node.defaultCase, node.defaultCase)
        yield port, Selection(texts, other, uses.place(node))


@dataclass
class _Chain:
    """Tests of a port, each in the other branch of the one before."""

    place: str
    texts: dict[int, str] = field(default_factory=dict)
    other: str = ""


def _chains(uses: UsesReader) -> Iterator[tuple[str, Selection]]:
    chains: dict[tuple[str, int], _Chain] = {}
    for node in uses.tests:
        tested = _tested(uses, node)
        if tested is None:
            continue
        port, code, yes, no = tested
        start = node.sourceRange.start.offset
        chain = chains.pop((port, start), None) or _Chain(uses.place(node))
        chain.texts.setdefault(code, _text(uses, yes, yes))
        if no is not None:
            chain.other = _text(uses, no, no)
        chains[port, -1 if no is None else no.sourceRange.start.offset] = chain
    for (port, _), chain in chains.items():
        yield port, Selection(chain.texts, chain.other, chain.place)


def _tested(uses: UsesReader, node: Any) -> tuple[str, int, Any, Any] | None:
    """The port and the code that a test asks for, and what is done where it has it, and where not."""
    if len(node.conditions) != 1:
        return None
    condition = uses.inside(node.conditions[0].expr)
    if not isinstance(condition, uses.ast.BinaryExpression) or condition.op.name not in _EQUAL:
        return None
    for side, other in ((condition.left, condition.right), (condition.right, condition.left)):
        port, code = uses.port_of(side), uses.constant(other)
        if port and code is not None:
            return (port, code, *_ways(uses, node))
    return None


def _ways(uses: UsesReader, node: Any) -> tuple[Any, Any]:
    if isinstance(node, uses.ast.ConditionalStatement):
        return node.ifTrue, node.ifFalse
    return uses.inside(node.left), uses.inside(node.right)


def _text(uses: UsesReader, first: Any, last: Any) -> str:
    """The text from one node to the end of another, with the comment behind it."""
    start, end = first.sourceRange.start, last.sourceRange.end
    if start.buffer != end.buffer:
        return ""
    source = uses.design.manager.getSourceText(start.buffer).encode()
    comment = _COMMENT.match(source, end.offset)
    text = source[start.offset : min(end.offset, start.offset + _MAX_TEXT)] + (comment[0] if comment else b"")
    return re.sub(r"\s+", " ", text.decode(errors="replace"))
