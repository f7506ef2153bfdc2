"""Explains an approximation: the segment, the row of its table, the polynomial, and how its value is rounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from softfloat_ref.explanation.scalar import Rows, describe, explain_conversion
from softfloat_ref.explanation.steps import steps
from softfloat_ref.oracle.approximation import SHARES, Approximation
from softfloat_ref.oracle.exact import NAN
from softfloat_ref.oracle.operations import OPERATIONS, evaluate
from softfloat_ref.units import ApproximationUnit

_SYMMETRIES: Final = {
    "odd": "odd: minus that of -a",
    "even": "even: that of -a",
    "complement": "complement: 1 - that of -a",
}


@steps.register
def _approximation_steps(unit: ApproximationUnit, inputs: Sequence[int]) -> Rows:
    a, (code, *_) = unit.approximation, inputs
    rows = [("a", describe(code, a.fmt))]
    value = None if a.fmt.is_nan(code) else a.value(code)
    if value is None or value.kind == NAN:
        return [*rows, ("result", describe(a.nan_code, a.out))]
    rows += _table_rows(a, code)
    rows += [row for row in explain_conversion(value, a.out, a.policy, None).rows if row[0] != "flags"]
    function = OPERATIONS.get(a.function)
    if function is not None and function.arity == 1:
        defined = evaluate(function.name, (code,), a.fmt, a.out, a.policy).bits
        rows.append((function.name, f"{describe(defined, a.out)}, rounded correctly"))
    return rows


def _table_rows(a: Approximation, code: int) -> Iterator[tuple[str, str]]:
    """Where the operand lies, and what the table makes of it."""
    magnitude, negative = code & a.fmt.magnitude_mask, bool(code & a.fmt.sign_bit)
    part = a.negative if negative and a.negative is not None else a.positive
    if negative and a.negative is None:
        yield "symmetry", _SYMMETRIES[a.symmetry]
    if not part.first <= magnitude < part.after:
        side, text = ("below", part.small) if magnitude < part.first else ("above", part.large)
        yield "table", f"{side} it: {text if text in SHARES else describe(int(text, 16), a.out)}"
        return
    row, d = a.row(magnitude) - a.row(part.first), a.distance(magnitude)
    yield "segment", f"{row} of {len(part.rows)}, d = {d}"
    yield "row", ", ".join(map(str, part.rows[row]))
    yield "polynomial", f"{a.polynomial(part.rows[row], d)} in units of 2^{part.exponent(row)}"
