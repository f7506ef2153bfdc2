"""The log of a bench's results: the mismatches of a failed bench, and what the module seems to do."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sets import VectorSet

if TYPE_CHECKING:
    from softfloat_ref.testing.judge import CheckReport

_SHOWN: Final = 3
_PACKED: Final = re.compile(r"\S+\.memh:\d+: .* expected |\.\.\. and \d+ more")


def print_failure(output: Sequence[str], vectors: VectorSet, log: Path) -> None:
    """Print what a failed bench printed, and the diagnosis of the results in its log, if it has any.

    A bench packs the lanes of a result into one number; its mismatches are shown from the log instead, lane by lane.
    """
    from softfloat_ref.diagnosis.parts import explanation
    from softfloat_ref.testing import report as reports

    wide = len(vectors.unit.compared().result_formats) > 1
    found = _compared(vectors, log, _SHOWN if wide else 0)
    if found is None or not found.mismatched:
        print("\n".join(output), flush=True)
        return
    print("\n".join(x for x in output if not (wide and _PACKED.match(x))))
    if wide:
        print("\n".join(reports.report_lines(found)))
    sys.stdout.flush()  # a diagnosis may take a while
    cause = explanation(found)
    for line in cause.lines() if cause else ():
        print(line)


def _compared(vectors: VectorSet, log: Path, shown: int) -> CheckReport | None:
    """The results in a log, compared; None without a log, and for units that only benches compare."""
    from softfloat_ref.testing.check import check_results

    try:
        return check_results(vectors.compared(), log, shown=shown) if log.is_file() else None
    except Error:  # such as a matrix product
        return None
