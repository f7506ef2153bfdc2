"""The syntax tree of a function: also of nested ones, and of lambdas."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType

from softfloat_ref.symbolic.paths import Unsupported

Body = ast.FunctionDef | ast.Lambda


@lru_cache(maxsize=256)
def _module(path: str) -> list[Body]:
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.Lambda))]


@lru_cache(maxsize=4096)
def _found(code: CodeType) -> Body:
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
    return _found(function.__code__)
