"""The log of a bench's results: what the module seems to do, where it did not pass."""

from __future__ import annotations

from pathlib import Path

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sets import VectorSet


def print_diagnosis(vectors: VectorSet, log: Path) -> None:
    """Print the diagnosis of the results in a log; nothing if they are right, or if there are none."""
    from softfloat_ref.diagnosis.parts import explanation
    from softfloat_ref.testing.check import check_results

    if not log.is_file():
        return
    try:
        found = check_results(vectors.compared(), log, shown=0)
    except Error:  # a unit that only benches compare, such as a matrix product
        return
    cause = explanation(found)
    for line in cause.lines() if cause else []:
        print(line)
