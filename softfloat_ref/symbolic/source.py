"""Functions as they are read: their syntax trees, also of nested ones and of lambdas, and where they find names."""

from __future__ import annotations

import ast
import builtins
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final

from softfloat_ref.symbolic.paths import Unsupported

Body = ast.FunctionDef | ast.Lambda
_OWN_NAMES: Final = (ast.FunctionDef, ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)


@lru_cache(maxsize=256)
def _module(path: str) -> list[Body]:
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.Lambda))]


@lru_cache(maxsize=4096)
def _body(code: CodeType) -> Body:
    try:
        bodies = _module(code.co_filename)
    except (OSError, SyntaxError):
        raise Unsupported(f"{code.co_qualname}: its source is not there") from None
    matching = [b for b in bodies if _starts(b, code)]
    if len(matching) != 1:
        raise Unsupported(f"{code.co_qualname}: its source is not found")
    return matching[0]


def _starts(body: Body, code: CodeType) -> bool:
    if isinstance(body, ast.FunctionDef):
        first = min([body.lineno, *(d.lineno for d in body.decorator_list)])
        return body.name == code.co_name and first == code.co_firstlineno
    if code.co_name != "<lambda>" or body.lineno != code.co_firstlineno:
        return False
    first, last = body.body.col_offset, body.body.end_col_offset or 0
    places = (p for p in code.co_positions() if p[0] == body.body.lineno and p[2] is not None and p[3] is not None)
    return any(first <= p[2] < p[3] <= last for p in places if p[2] is not None and p[3] is not None)


def body_of(function: FunctionType) -> Body:
    """The syntax tree of a function. Raises Unsupported."""
    return _body(function.__code__)


def own_nodes(body: Body) -> list[ast.AST]:
    """The nodes of a function's tree that are not those of functions and comprehensions inside it."""
    nodes: list[ast.AST] = []
    waiting: list[ast.AST] = [*body.body] if isinstance(body, ast.FunctionDef) else [body.body]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if not isinstance(node, _OWN_NAMES):
            waiting.extend(ast.iter_child_nodes(node))
    return nodes


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
        if not hasattr(builtins, name):
            raise Unsupported(f"the name {name}")
        return getattr(builtins, name)
