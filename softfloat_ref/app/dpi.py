"""`dpi`: the files with which SystemVerilog asks the oracle."""

from __future__ import annotations

import click

from softfloat_ref.rtl.dpi import write_dpi


@click.command("dpi")
@click.option("-o", "--output", required=True, metavar="DIR", help="The folder to write to, made if need be.")
def command(output: str) -> None:
    """Write a C file and a SystemVerilog package whose functions predict one transaction at a time.

    They start `softfloat-ref eval --serve` and ask it; docs/dpi.md shows how to use them.
    """
    for path in write_dpi(output):
        print(path)
