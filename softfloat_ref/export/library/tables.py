"""Operations on two codes of up to 8 bits as tables of the oracle's answers, in the usual rounding."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Final

from softfloat_ref.export.library.constants import LibraryFormat
from softfloat_ref.export.library.functions import Function
from softfloat_ref.export.library.policies import LibraryPolicy
from softfloat_ref.oracle.operations import evaluator, signature
from softfloat_ref.oracle.policies import Tininess
from softfloat_ref.oracle.rounding import Rounding

TABLE_WIDTH: Final = 8  # of operands
_ROW: Final = 16
_OPERATIONS: Final = ("add", "sub", "mul", "div")


def table_functions(
    own: LibraryFormat, functions: Iterable[Function], policy: LibraryPolicy, prefix: str
) -> Iterator[str]:
    """The definitions of a format's functions: by a table, or as they are."""
    for function in functions:
        op = function.name.removeprefix(f"{prefix}{own.name}_")
        if own.fmt.width <= TABLE_WIDTH and op in _OPERATIONS:
            yield _table(own, op, policy)
            yield function.definition.replace("CORE_FUNCTION(", f"CORE_TABLE(table_{op}, {own.fmt.width}, ", 1)
        else:
            yield function.definition


def _table(own: LibraryFormat, op: str, policy: LibraryPolicy) -> str:
    """Its codes, and flags above them, in the order of the operands' codes."""
    chosen = policy.for_format(own.fmt)
    answer = evaluator(signature(op, own.fmt), chosen.replace(rounding=Rounding.RNE))
    codes = range(1 << own.fmt.width)
    entries = [flags << 8 | code for code, flags in (answer(pair, 0) for pair in itertools.product(codes, repeat=2))]
    rows = (entries[i : i + _ROW] for i in range(0, len(entries), _ROW))
    lines = [f"    {', '.join(map(str, row))}," for row in rows]
    before = int(chosen.tininess == Tininess.BEFORE)
    head = f"enum {{ table_{op}_before = {before} }};\nstatic const uint16_t table_{op}[{len(codes) ** 2}] = {{"
    return "\n".join([head, *lines, "};"])
