"""The mutants of a module: mutmut's operators on its syntax tree, each a whole text with one change."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import (
    mutation_operators,
    operator_arg_removal,
    operator_assignment,
    operator_lambda,
    operator_string,
)

# What only words an error, documents or types: no behaviour that a bit depends on.
LEFT_OUT = (operator_string, operator_arg_removal, operator_assignment, operator_lambda)  # nearly all just crash
SKIPPED = (cst.Raise, cst.Annotation, cst.Import, cst.ImportFrom, cst.Decorator, cst.FormattedString)


@dataclass(frozen=True)
class Mutant:
    """A changed module. line: where; old, new: the changed lines, without indentation."""

    line: int
    old: str
    new: str
    text: str

    @property
    def key(self) -> str:
        """What it is called: lines may move."""
        return f"{self.old} => {self.new}"


class _Finder(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: list[tuple[cst.CSTNode, cst.CSTNode]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, SKIPPED) or _is_docstring(node) or _is_type(node):
            return False
        for kind, operator in mutation_operators:
            if isinstance(node, kind) and operator not in LEFT_OUT:
                self.found += [(node, new) for new in operator(node)]
        return True


def _is_type(node: cst.CSTNode) -> bool:
    """An alias, as Node = A | B: a name that begins with a capital letter, and what is a class to it."""
    if not isinstance(node, cst.Assign) or not isinstance(node.value, (cst.Subscript, cst.BinaryOperation)):
        return False
    name = getattr(node.targets[0].target, "value", "")
    return isinstance(name, str) and name.lstrip("_")[:1].isupper() and not name.isupper()


def _is_docstring(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Expr) and isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString))


def mutants(text: str, lines: set[int] | None = None) -> Iterator[Mutant]:
    """Of a module's text, in order. lines: only those that change one of them."""
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    module, positions = wrapper.module, wrapper.resolve(PositionProvider)
    pieces = [module.code_for_node(x) for x in module.body]
    head, _, foot = text.partition("".join(pieces))
    seen = set()
    for i, statement in enumerate(module.body):
        finder = _Finder()
        statement.visit(finder)
        for old, new in finder.found:
            place = positions[old]
            if lines is not None and not lines & set(range(place.start.line, place.end.line + 1)):
                continue
            piece = module.code_for_node(statement.deep_replace(old, new))  # type: ignore[arg-type]
            changed = "".join([head, *pieces[:i], piece, *pieces[i + 1 :], foot])
            if changed not in seen and changed != text and _compiles(changed):
                seen.add(changed)
                yield Mutant(place.start.line, *_difference(pieces[i], piece), changed)


def _compiles(text: str) -> bool:
    try:
        compile(text, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _difference(text: str, changed: str) -> tuple[str, str]:
    removed, added = [], []
    for line in difflib.unified_diff(text.splitlines(), changed.splitlines(), lineterm="", n=0):
        if line.startswith("-") and not line.startswith("---"):
            removed.append(line[1:].strip())
        elif line.startswith("+") and not line.startswith("+++"):
            added.append(line[1:].strip())
    return " / ".join(removed), " / ".join(added)
