"""The options with which commands take the sources of a circuit, as simulators do."""

from __future__ import annotations

import sys
from typing import Any, Final

import click

from softfloat_ref.app.options import bundled
from softfloat_ref.rtl.sources import read_sources

_LISTS: Final = ("file_lists", "relative_lists", "include_dirs", "defines", "library_dirs", "library_files", "targets")
SOURCE_PARAMETERS: Final = ("source_files", *_LISTS)


def _sources(params: dict[str, Any]) -> dict[str, Any]:
    """The options as one `sources`. Raises Error."""
    sources = read_sources(params.pop("source_files"), **{name: params.pop(name) for name in _LISTS})
    for option in sources.skipped:
        print(f"{option} is skipped", file=sys.stderr)
    return {"sources": sources.in_order()}


source_options: Final = bundled(
    _sources,
    click.argument("source_files", nargs=-1, metavar="[SOURCE]..."),
    click.option(
        "-f", "file_lists", metavar="LIST", multiple=True, help="A file list, with +incdir+, +define+ and -f."
    ),
    click.option(
        "-F", "relative_lists", metavar="LIST", multiple=True, help="The same, with paths relative to the list."
    ),
    click.option("-I", "include_dirs", metavar="DIR", multiple=True, help="A folder of included files."),
    click.option("-D", "defines", metavar="NAME[=VALUE]", multiple=True, help="Define a macro."),
    click.option(
        "-y", "library_dirs", metavar="DIR", multiple=True, help="A folder of library modules, +libext+.v+.sv."
    ),
    click.option("-v", "library_files", metavar="FILE", multiple=True, help="A file of library modules."),
    click.option(
        "--target", "targets", metavar="NAME", multiple=True, help="A target of a Bender.yml or .core file in SOURCEs."
    ),
)
