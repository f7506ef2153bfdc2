"""Explains an approximation: the segment, the row of its table, the polynomial, and how its value is rounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from softfloat_ref.explanation.scalar import Rows, describe, explain_conversion
from softfloat_ref.explanation.steps import steps
from softfloat_ref.oracle.approximation import SHARES, Approximation
from softfloat_ref.oracle.approximation_steps import coefficients, in_table, polynomial, segment, unpack
from softfloat_ref.oracle.operations import OPERATIONS, evaluate
from softfloat_ref.oracle.rounding_steps import rounded
from softfloat_ref.oracle.steps import Traced, recording
from softfloat_ref.units import ApproximationUnit

_SYMMETRIES: Final = {
    "odd": "odd: minus that of -a",
    "even": "even: that of -a",
    "complement": "complement: 1 - that of -a",
}


@steps.register
def _approximation_steps(unit: ApproximationUnit, inputs: Sequence[int]) -> Rows:
    a, (code, *_) = unit.approximation, inputs
    run = recording()
    unit.computed(run, inputs)
    rows = [("a", describe(code, a.fmt))]
    rounding = next(run.all(rounded), None)
    if rounding is None:
        return [*rows, ("result", describe(a.nan_code, a.out))]
    rows += _table_rows(a, run)
    rows += [row for row in explain_conversion(rounding.args[0], a.out, a.policy, None).rows if row[0] != "flags"]
    function = OPERATIONS.get(a.function)
    if function is not None and function.arity == 1:
        defined = evaluate(function.name, (code,), a.fmt, a.out, a.policy).bits
        rows.append((function.name, f"{describe(defined, a.out)}, rounded correctly"))
    return rows


def _table_rows(a: Approximation, run: Traced) -> Iterator[tuple[str, str]]:
    """Where the operand lies, and what the table makes of it."""
    (negative, magnitude), table = run.first(unpack).value, run.first(in_table)
    part = table.args[1]
    if negative and a.negative is None:
        yield "symmetry", _SYMMETRIES[a.symmetry]
    if not table.value:
        side, text = ("below", part.small) if magnitude < part.first else ("above", part.large)
        yield "table", f"{side} it: {text if text in SHARES else describe(int(text, 16), a.out)}"
        return
    (row, d), (values, exponent) = run.first(segment).value, run.first(coefficients).value
    yield "segment", f"{row} of {len(part.rows)}, d = {d}"
    yield "row", ", ".join(map(str, values))
    yield "polynomial", f"{run.last(polynomial)} in units of 2^{exponent}"
