"""`check`: a device, a function of arrays or a command, against the exact answers; `diagnose`: what it does instead."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.tolerance import compare_nan
from softfloat_ref.testing.check import check_arrays, check_command
from softfloat_ref.testing.judge import SHOWN, CheckReport
from softfloat_ref.units import Unit
from softfloat_ref.workflow.units import default_cases, vectors

if TYPE_CHECKING:
    from collections.abc import Callable

    from softfloat_ref.diagnosis.parts import ReportDiagnosis


def check(
    what: str | Unit | VectorSet,
    fmt: Any = None,
    *,
    device: str | Callable[..., Any],
    count: int | None = None,
    level: str | int | None = None,
    seed: int | None = None,
    source: str | None = None,
    where: str | None = None,
    nan: str = "exact",
    flags: bool = True,
    ulp: float | Fraction | None = None,
    shown: int = SHOWN,
    timeout_s: float = 10.0,
    **options: Any,
) -> CheckReport:
    """What a device gets wrong: directed cases first, then random ones. `passed` says whether every case agrees.

    what, fmt, options: an operation, a unit or a set, as for `vectors`. device: a function that takes an array of codes
    for each operand, and returns the codes of the results, or these and flags; or a command that answers a line of
    operands with a line `result [flags]`. count, level, seed, source, where: the cases; as many as those of the command
    `check` by default. nan: exact, quiet or any; flags: whether they are compared, if the device has any; ulp: the
    largest error allowed. `diagnose` says what a device that fails does. Raises Error.
    """
    cases = vectors(
        what, fmt, count, level=level, seed=seed, source=source, where=where, default=default_cases, **options
    )
    how: Any = {
        "nan": compare_nan(nan),
        "flags": flags,
        "shown": shown,
        "limit": None if ulp is None else Fraction(ulp),
    }
    if callable(device):
        return check_arrays(cases, device, **how)
    if not isinstance(device, str):
        raise Error(f"a device is a function of arrays, or a command as text, not {device!r}")
    return check_command(cases, device, timeout_s=timeout_s, **how)


def diagnose(report: CheckReport) -> ReportDiagnosis | None:
    """What the device of a report seems to do; None if nothing was wrong. `lines()` has the text."""
    from softfloat_ref.diagnosis.parts import explanation

    return explanation(report)
