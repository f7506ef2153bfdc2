"""`plot line` and `plot error`: pictures of formats, with the numbers as a table."""

from __future__ import annotations

from typing import Final

import click

from softfloat_ref.app.options import ANY
from softfloat_ref.base.errors import Error

TITLE: Final = click.option("--title", default="", help="Title of the picture.")
OUTPUT: Final = click.option("-o", "--output", metavar="FILE.png|.svg|.pdf", help="The picture [only the table].")
_MAX_EXPONENT: Final = 100  # binades away from 1


@click.command("line")
@click.argument("formats", nargs=-1, required=True, type=ANY, metavar="FORMAT...")
@TITLE
@OUTPUT
def line(formats: tuple[str, ...], title: str, output: str | None) -> None:
    """Plot every value of formats on number lines; of block formats, the values of their elements."""
    from softfloat_ref.app import plots, plots_formats
    from softfloat_ref.arrays.exponents import find_format

    picture = plots.picture_path(output)
    rows = [plots_formats.values_of(find_format(x)) for x in formats]
    if picture is not None:
        with plots.style():
            plots.save(plots_formats.number_lines(rows, title), picture)
    width = max(len("format"), *(len(row.name) for row in rows))
    print(f"{'format':{width}}  {'values':>6}  {'smallest':>12}  {'normal from':>12}  {'largest':>12}")
    for row in rows:
        ends = (_text(x) for x in (row.positive.min(), row.normal, row.values.max()))
        print(f"{row.name:{width}}  {row.values.size:6}  {'  '.join(f'{x:>12}' for x in ends)}")


def _text(x: float) -> str:
    return "none" if x == float("inf") else f"{x:.6g}"


@click.command("error")
@click.argument("formats", nargs=-1, required=True, type=ANY, metavar="FORMAT...")
@click.option(
    "--from", "low", type=click.INT, default=-16, show_default=True, help="Exponent of the smallest magnitude."
)
@click.option("--to", "high", type=click.INT, default=0, show_default=True, help="Exponent of the end.")
@TITLE
@OUTPUT
def error(formats: tuple[str, ...], low: int, high: int, title: str, output: str | None) -> None:
    """Plot the largest relative error of formats in each binade, with values rounded to nearest.

    Blocks and affine integers are scaled for a largest magnitude of 2^TO.
    """
    from softfloat_ref.app import plots, plots_formats
    from softfloat_ref.arrays.exponents import find_format

    picture = plots.picture_path(output)
    if not -_MAX_EXPONENT <= low < high <= _MAX_EXPONENT:
        raise Error(
            f"--from {low} --to {high}: give exponents from {-_MAX_EXPONENT} to {_MAX_EXPONENT}, the first one smaller"
        )
    curves = [plots_formats.curve(find_format(x), low, high) for x in formats]
    if picture is not None:
        with plots.style():
            plots.save(plots_formats.errors(curves, high, title), picture)
    widths = [max(12, len(c.name)) for c in curves]
    print(f"{'binade':>10}  {'  '.join(f'{c.name:>{w}}' for c, w in zip(curves, widths, strict=True))}")
    for i, exponent in enumerate(range(low, high)):
        cells = (f"{_percent(c.errors[i]):>{w}}" for c, w in zip(curves, widths, strict=True))
        print(f"{f'2^{exponent}':>10}  {'  '.join(cells)}")


def _percent(x: float) -> str:
    return "too large" if x == float("inf") else f"{100 * x:.4g} %"
