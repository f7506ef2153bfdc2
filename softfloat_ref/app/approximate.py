"""`approximate`: the smallest table of a function's approximation within a bound, as a definition and a circuit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from softfloat_ref.app.options import SCALAR, Choices, NameType, option_name, policy_options
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import check_folder, check_place, make_folder, write_data
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.literals import ulp_limit
from softfloat_ref.oracle.operations import OPERATIONS, get_operation

if TYPE_CHECKING:
    from softfloat_ref.arrays.goals import ApproximationErrors, Goal
    from softfloat_ref.oracle.approximation import Approximation

_FUNCTIONS: Final = [name for name, row in OPERATIONS.items() if row.arity == 1 and row.curve]
DEFAULT_DEGREE: Final = 1
_DEFINED_OPTIONS: Final = ("round", "policy", "overflow")  # the options of policies that a definition has


@click.command("approximate")
@click.argument("function", type=NameType("FUNCTION", _FUNCTIONS), metavar="FUNCTION|FILE.toml")
@click.option("--fmt", type=SCALAR, help="Format of the operand, of at most 16 bits.")
@click.option("--out", type=SCALAR, help="Format of the result [that of the operand].")
@click.option("--degree", type=click.IntRange(0, 3), help=f"Degree of the polynomials [{DEFAULT_DEGREE}].")
@click.option("--kappa", type=click.IntRange(min=0), help="Bound: values between the result and the defined one.")
@click.option("--ulp", metavar="N", help="Bound: the largest error in ulp, such as 0.75.")
@click.option(
    "--segments", type=NameType("HOW", ("code", "value")), help="Segments by binade, or of equal width [both]."
)
@click.option("--name", metavar="NAME", help="Name of the definition and the module [FUNCTION_FORMAT].")
@click.option(
    "-o", "--output", "folder", metavar="DIR", help="Where NAME.toml, NAME.memh and NAME.sv go [only the report]."
)
@click.option("--plot", "picture", metavar="FILE.png|.svg|.pdf", help="A picture of the error in ulp.")
@policy_options
def command(
    choices: Choices,
    function: str,
    fmt: str | None,
    out: str | None,
    degree: int | None,
    kappa: int | None,
    ulp: str | None,
    segments: str | None,
    name: str | None,
    folder: str | None,
    picture: str | None,
) -> int:
    """Find the smallest table of FUNCTION's approximation within a bound, or measure the one that FILE.toml defines.

    A table has segments, whose polynomials have integer coefficients. The bound is measured on every operand.
    """
    from softfloat_ref.app import plots
    from softfloat_ref.arrays.fitting import approximate
    from softfloat_ref.arrays.goals import Goal, goal_of, measure
    from softfloat_ref.oracle.approximation import check_name, get_approximation

    choices.check_seed()
    place = plots.picture_path(picture)
    if place is not None:
        check_place(str(place))
    if folder is not None:
        check_folder(folder)
    if ".toml" in function:
        if any(x is not None for x in (fmt, out, degree, kappa, ulp, segments, name, folder)) or choices.typed_options:
            raise Error(f"{function} is measured as it is; leave the other options, except --plot, out")
        approximation = get_approximation(function)
        goal = goal_of(approximation)
    else:
        if fmt is None:
            raise Error(f"approximate {function} needs --fmt")
        if other := [x for x in choices.typed_options if x not in _DEFINED_OPTIONS]:
            raise Error(f"an approximation has a rounding and an overflow rule; leave {option_name(other[0])} out")
        formats = get_format(fmt), get_format(out or fmt)
        if segments not in (None, "code", "value"):
            raise Error(f"--segments {segments}: use code or value")
        if name is not None:
            check_name(name)
        degree = DEFAULT_DEGREE if degree is None else degree
        bound = None if ulp is None else float(ulp_limit(ulp))
        goal = Goal(get_operation(function).name, *formats, degree, kappa, bound, choices.policy)
        approximation = approximate(goal, name or "", segments)  # type: ignore[arg-type]
    measured = measure(approximation, goal)
    for line in _report(approximation, goal, measured):
        print(line)
    if folder is not None:
        _write(approximation, Path(folder))
    if place is not None:
        from softfloat_ref.app import plots_formats

        plots.draw(place, plots_formats.ulp_errors, approximation, goal.finite, measured.errors)
    return 0


def _report(a: Approximation, goal: Goal, measured: ApproximationErrors) -> list[str]:
    symmetry = "" if a.symmetry == "none" else f", {a.symmetry}"
    rows = " + ".join(str(len(p.rows)) for p in a.parts)
    where = "equal parts of binades" if a.address == "code" else f"equal width, 2^{a.shift - a.unit}"
    lines = [
        f"{a.name}: {a.function} of {a.fmt.name}, result {a.out.name} {a.rounding}{symmetry}",
        f"table      {rows} segments of {where}; degree {a.degree}; {a.table_bits} bits",
    ]
    for sign, p in zip(("positive", "negative"), a.parts, strict=False):
        side = f"{sign:8}" if len(a.parts) > 1 else "operands"
        if p.first >= p.after:
            lines.append(f"{side}   none in the table; below {a.fmt.hex(p.first)} {p.small}, above {p.large}")
            continue
        lines.append(
            f"{side}   from {a.fmt.hex(p.first)} to {a.fmt.hex(p.after - 1)}; below {p.small}, above {p.large}"
        )
    kappa = "NaN or infinity" if measured.kappa is None else str(measured.kappa)
    at = a.fmt.hex(int(goal.codes[measured.worst]))
    lines.append(
        f"kappa      {kappa} on all {goal.codes.size} operands" + ("" if measured.kappa == 0 else f", first at {at}")
    )
    lines.append(f"error      {measured.ulp:.6g} ulp at most, at {a.fmt.hex(int(goal.codes[measured.worst_ulp]))}")
    return lines


def _write(a: Approximation, folder: Path) -> None:
    """The definition, its table, and the module where its formats and rounding allow one."""
    from softfloat_ref.oracle.approximation import to_text
    from softfloat_ref.rtl.approximation_module import memh_text, module_text

    texts = {".toml": to_text(a), ".memh": memh_text(a)}
    try:
        texts[".sv"] = module_text(a)
    except Error as e:
        print(f"no module: {e}")
    make_folder(folder)
    for suffix, text in texts.items():
        write_data(folder / f"{a.name}{suffix}", text)
    print(f"written    {', '.join(str(folder / f'{a.name}{suffix}') for suffix in texts)}")
