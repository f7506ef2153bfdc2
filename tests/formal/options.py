"""Options of the commands that ask a solver."""

from __future__ import annotations

from typing import Final

import click

from softfloat_ref.app.options import Seconds

LIMIT_S: Final = 300.0  # for a question to a solver

limit_option = click.option(
    "--limit",
    type=Seconds(min=0, min_open=True),
    default=LIMIT_S,
    show_default=True,
    help="Seconds for a question to a solver.",
)
jobs_option = click.option(
    "--jobs", type=click.IntRange(1, 1024), help="Number of processes (default: one per processor)."
)
