"""`vectors vhdl`: the VHDL package of a folder of vectors."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from softfloat_ref.base.files import write_file
from softfloat_ref.golden.manifest import read_manifest, require_file
from softfloat_ref.golden.verify import check_hashes
from softfloat_ref.rtl.vhdl_package import package_text


@click.command("vhdl")
@click.argument("folder", metavar="DIR")
@click.option("-o", "--output", metavar="FILE.vhd", default="-", help="The package to write [stdout].")
def vhdl(folder: str, output: str) -> None:
    """Write the VHDL-2008 package vectors_pkg for the vectors in DIR.

    It contains their count, word width and field positions, and procedures that read the .memh words or the .tv lines.
    These end the simulation if a file is truncated, has wrong digits, or holds a different number of vectors.
    """
    manifest = read_manifest(Path(folder))
    name = check_hashes(Path(folder), manifest).name
    require_file(Path(folder), manifest, "memh", "tv")
    text = package_text(manifest, name)
    if output == "-":
        sys.stdout.write(text)
        return
    write_file(output, lambda stream: stream.write(text.encode("ascii")))
    print(f"{output}: vectors_pkg, {manifest['count']} vectors of {name}", file=sys.stderr)
