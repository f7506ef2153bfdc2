"""VHDL: the package that describes and reads a folder of vectors; GHDL, which builds a test bench and runs it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softfloat_ref.base.errors import Error
from softfloat_ref.rtl import build_logs
from softfloat_ref.rtl.bench_runs import RUN_TIMEOUT_S, BenchRun, Build, Tool, prepare
from softfloat_ref.rtl.testbench import fill_template

_GENERIC = re.compile(r"[A-Za-z]\w*")


@dataclass(frozen=True)
class Ghdl(Tool):
    """GHDL with any code generator; VHDL-2008."""

    name = "ghdl"
    log_errors = build_logs.GHDL

    def run(
        self,
        sources: Iterable[str | Path],
        top: str,
        work_dir: str | Path,
        generics: Mapping[str, object] | None = None,
        timeout_s: float = RUN_TIMEOUT_S,
        options: Iterable[str] = (),
        arguments: Iterable[str] = (),
    ) -> BenchRun:
        """Build the entity `top` from the sources, given in the order of their use, and run it in `work_dir`.

        options: more of them for the build; arguments: of the run.
        Returns a BenchRun for a bench that ran, whatever its outcome. Raises Error if it did not build or end in time.
        """
        build = self.build(sources, top, work_dir, generics, options, arguments)
        return build.make_and_run(timeout_s=timeout_s)

    def build(
        self,
        sources: Iterable[str | Path],
        top: str,
        work_dir: str | Path,
        generics: Mapping[str, object] | None = None,
        options: Iterable[str] = (),
        arguments: Iterable[str] = (),
    ) -> Build:
        """The commands that build an entity and run it, as `run` does. Raises Error."""
        files, folder = prepare(sources, top, work_dir)
        library = folder / f"{top}.{self.name}"
        ghdl, options = str(self.executable), ["--std=08", f"--workdir={library}", *options]
        steps = ([ghdl, "-a", *options, *map(str, files)], [ghdl, "-e", *options, top])
        command = [ghdl, "-r", *options, top, *_overrides(generics or {}), *arguments]
        return Build(self, top, folder, steps, command, library)


def _overrides(generics: Mapping[str, object]) -> list[str]:
    for key in generics:
        if not _GENERIC.fullmatch(key):
            raise Error(f"{key!r} is not the name of a generic")
    return [f"-g{key}={value}" for key, value in generics.items()]


def find_ghdl() -> Ghdl:
    """The GHDL on PATH. Raises Error if there is none."""
    executable = shutil.which("ghdl")
    if executable is None:
        raise Error("ghdl is not installed: apt-get install ghdl")
    return Ghdl(Path(executable))


# -- the package of a folder of vectors --------------------------------------------------------------------------------


def package_text(manifest: Mapping[str, Any], name: str) -> str:
    """The text of the package `vectors_pkg`, for the set of that name whose manifest this is."""
    fields = manifest["fields"]
    return fill_template(
        "vectors_pkg.vhd",
        name=name,
        count=str(manifest["count"]),
        width=str(1 + max(f["msb"] for f in fields)),
        constants=_constants(fields),
        fields=str(len(fields)),
        entries=",\n".join(f"    {i} => {_entry(f)}" for i, f in enumerate(fields, 1)),
    )


def _entry(f: Mapping[str, Any]) -> str:
    return f"(lsb => {f['lsb']}, width => {f['width']}, digits => {f['stride'] // 4}, lanes => {f['lanes']})"


def _constants(fields: Sequence[Mapping[str, Any]]) -> str:
    """Declarations for each field. Raises Error if two would have the same name."""
    names: set[str] = set()
    text = ""
    for f in fields:
        for name, declaration in _declarations(f):
            if name in names:
                raise Error(f"two fields or codes would both be named {name} in VHDL; rename a format of the set")
            names.add(name)
            text += f"  {declaration}\n"
        text += "\n"
    return text.removesuffix("\n")


def _declarations(f: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A field's names, each with its declaration: its bits, then numbers, then the codes of a control field."""
    prefix = _identifier(f"VEC_{f['name']}")
    high = f["lsb"] + (f["width"] - 1 if f["lanes"] == 1 else f["stride"] * f["lanes"] - 1)
    yield prefix, f"subtype {prefix} is natural range {high} downto {f['lsb']};"
    numbers = {"LSB": f["lsb"], "WIDTH": f["width"]}
    if f["lanes"] > 1:
        numbers |= {"STRIDE": f["stride"], "LANES": f["lanes"]}
    for key, value in numbers.items():
        yield _constant(f"{prefix}_{key}", value)
    for value, code in enumerate(f.get("codes", ())):
        if code != "-":
            yield _constant(f"{prefix}_{code}", value)


def _constant(name: str, value: int) -> tuple[str, str]:
    name = _identifier(name)
    return name, f"constant {name} : natural := {value};"


def _identifier(name: str) -> str:
    """A name as a VHDL identifier: no two underscores in a row, and none at the end."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").upper()
