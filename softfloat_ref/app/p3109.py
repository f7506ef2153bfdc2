"""`p3109`: the operations of IEEE P3109 and their names here, its operations on formats, and a declaration."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Final

import click

from softfloat_ref.app.devices import provider_option
from softfloat_ref.app.options import SCALAR, Commands, NameType, scalar_format
from softfloat_ref.app.output import progress
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.files import check_folder, make_folder, write_data
from softfloat_ref.explanation.scalar import describe
from softfloat_ref.oracle.formats.meta import CODES, META, standard_name
from softfloat_ref.oracle.operations.p3109 import GROUPS, SCALED

CASES: Final = 4096
_FILES: Final = "Configurations, Profiles, Constraints, Kappas, Specializations"


@click.group("p3109", cls=Commands)
def command() -> None:
    """IEEE P3109 v4.0: operations, formats, conformance."""


@command.command("list")
@click.option("--group", "only", type=click.Choice([*GROUPS, "scaled"]), help="Only this group of annex G.")
def list_operations(only: str | None) -> None:
    """List the 139 operations of annex G: name, group, and the name here.

    The scaled operations (5.5) are in addition: each is a block form, of one element.
    """
    groups = {**GROUPS, "scaled": ("scaled operations", SCALED)}
    listed_groups = {only: groups[only]} if only else GROUPS
    for group, (title, names) in listed_groups.items():
        for name, operation in names.items():
            print(f"{name:32}{group:7}{title:18}{operation}")
    print(f"{sum(len(names) for _, names in listed_groups.values())} operations", file=sys.stderr)


@command.command("format")
@click.argument("fmt", type=SCALAR, metavar="FORMAT")
@click.argument("operation", required=False, metavar="[OPERATION]", type=NameType("OPERATION", GROUPS["M"][1]))
def show_format(fmt: str, operation: str | None) -> None:
    """Print P3109's operations on FORMAT: all of them, or the result of one."""
    scalar = scalar_format(fmt)
    names = GROUPS["M"][1]
    if operation is not None and operation.lower() not in map(str.lower, names):
        raise unknown("operation on formats", operation, names)
    for name, function in names.items():
        result = META[function](scalar)
        if operation is None or operation.lower() == name.lower():
            text = describe(result, scalar) if isinstance(result, int) and function in CODES else _text(result)
            print(text if operation else f"{name:30} {text}")


def _text(result: int | str | None) -> str:
    return "none" if result is None else str(result)


@command.command("declare")
@click.option("-o", "--output", "folder", metavar="DIR", help=f"Write the declaration here: {_FILES} (YAML).")
@click.option(
    "--cases",
    type=click.IntRange(min=1),
    default=CASES,
    show_default=True,
    help="Cases of a specialization; all cases, if there are no more.",
)
@provider_option
def declare(folder: str | None, cases: int, provider: str | None) -> int:
    """Check what P3109 requires of every implementation (4.5), and declare that this library provides it.

    Each specialization is run and compared with its definition in exact fractions. Exit code 1 if any result is wrong;
    then nothing is written.
    """
    from softfloat_ref.testing import declaration

    if provider is not None and folder is None:
        raise Error("--provider is for a declaration: give -o DIR")
    by = declaration.read_provider(provider)
    if folder is not None:
        check_folder(folder)
    checked, wrong = _checked(cases)
    if wrong or folder is None:
        return int(wrong > 0)
    make_folder(folder)
    for name, text in declaration.declaration_files(checked, by).items():
        write_data(Path(folder) / name, text)
    print(f"{len(checked)} specializations declared in {folder}")
    return 0


def _checked(cases: int) -> tuple[list[tuple[str, str]], int]:
    """The required specializations with how each was checked, and the number of wrong results; printed by operation."""
    from softfloat_ref.testing import declaration, mandatory

    required = list(mandatory.required())
    specializations, totals, wrong = [], Counter[str](), Counter[str]()
    with progress(len(required)) as bar:
        for specialization in required:
            result = mandatory.check_specialization(specialization, cases)
            name = declaration.specialization(specialization.unit)
            specializations.append((name, f"{'all' if result.exhaustive else 'sample of'} {result.cases} cases"))
            op = name.partition("<")[0]
            totals.update({op: 1, f"{op} cases": result.cases})
            wrong[op] += len(result.wrong)
            for case in result.wrong[:1]:
                print(f"wrong: {name} {' '.join(f'{x:x}' for x in case)}")
            bar.advance(op, 1)
    for op, fmt, right in mandatory.format_operations():
        specializations.append((f"{op}<{standard_name(fmt)}>", "all 1 cases"))
        totals.update({op: 1, f"{op} cases": 1})
        wrong[op] += not right
    for op in dict.fromkeys(name.partition("<")[0] for name, _ in specializations):
        print(f"{op:32}{totals[op]:4} specializations {totals[f'{op} cases']:9} cases {wrong[op]:3} wrong")
    return specializations, wrong.total()
