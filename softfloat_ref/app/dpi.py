"""`dpi`: the files through which SystemVerilog queries the oracle."""

from __future__ import annotations

import click

from softfloat_ref.rtl.dpi import write_dpi


@click.command("dpi")
@click.option("-o", "--output", required=True, metavar="DIR", help="The folder to write to, created if needed.")
def command(output: str) -> None:
    """Write a C file and a SystemVerilog package whose functions predict one transaction at a time.

    They start `softfloat-ref eval --serve` and query it; docs/dpi.md shows how to use them.
    """
    for path in write_dpi(output):
        print(path)
