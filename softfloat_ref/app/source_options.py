"""The options with which commands take the sources of a circuit, as simulators do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from softfloat_ref.rtl.sources import read_sources


def source_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add [SOURCE]..., -f, -F, -I, -D, -y and -v to a command; it gets one argument, `sources`."""

    @wraps(function)
    def command(
        source_files: tuple[str, ...],
        include_dirs: tuple[str, ...],
        defines: tuple[str, ...],
        file_lists: tuple[str, ...],
        relative_lists: tuple[str, ...],
        library_files: tuple[str, ...],
        library_dirs: tuple[str, ...],
        **more: Any,
    ) -> int:
        sources = read_sources(
            source_files,
            include_dirs=include_dirs,
            defines=defines,
            file_lists=file_lists,
            relative_lists=relative_lists,
            library_files=library_files,
            library_dirs=library_dirs,
        )
        for option in sources.skipped:
            print(f"{option} is skipped", file=sys.stderr)
        return function(sources=sources.in_order(), **more)

    for decorate in (
        click.option("-v", "library_files", metavar="FILE", multiple=True, help="A file of library modules."),
        click.option(
            "-y", "library_dirs", metavar="DIR", multiple=True, help="A folder of library modules, +libext+.v+.sv."
        ),
        click.option("-D", "defines", metavar="NAME[=VALUE]", multiple=True, help="Define a macro."),
        click.option("-I", "include_dirs", metavar="DIR", multiple=True, help="A folder of included files."),
        click.option(
            "-F", "relative_lists", metavar="LIST", multiple=True, help="The same, with paths relative to the list."
        ),
        click.option(
            "-f", "file_lists", metavar="LIST", multiple=True, help="A file list, with +incdir+, +define+ and -f."
        ),
        click.argument("source_files", nargs=-1, metavar="[SOURCE]..."),
    ):
        command = decorate(command)
    return command
