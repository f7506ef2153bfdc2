"""Sources by FuseSoC's .core files (CAPI2, FuseSoC 2.4: fusesoc.readthedocs.io), with the cores that they depend on.

The filesets of a target are read, `default` in the cores that it depends on; strings may have conditions on flags:
`tool_verilator? (a.sv)`. Cores are searched where FuseSoC does: below the folder of the file, that of its checkout, the
working folder, and the libraries of fusesoc.conf there. Generators are not run, and nothing is fetched.
"""

from __future__ import annotations

import configparser
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import open_file, read_text
from softfloat_ref.base.yaml_text import Table, Text, truth
from softfloat_ref.rtl.fusesoc_core import Core, CoreVersion, expanded, words_of
from softfloat_ref.rtl.project_entries import At, Entry

PREAMBLE: Final = "CAPI=2:"
_DEFAULT: Final = "default"
_HDL: Final = ("verilogSource", "systemVerilogSource", "vhdlSource")
_NAME: Final = re.compile(r"""^name\s*:\s*["']?([^"'\s#]+)""", re.MULTILINE)
_VIRTUAL: Final = re.compile(r"^virtual\s*:", re.MULTILINE)


def is_core(path: Path) -> bool:
    """Whether a file is a .core file of CAPI2."""
    if path.suffix != ".core" or not path.is_file():
        return False
    with suppress(Error), open_file(path) as stream:
        return stream.readline(80).split()[:1] == [PREAMBLE.encode()]
    return False


def core_entries(path: Path, targets: Sequence[str] = ()) -> list[Entry]:
    """The entries of a core and of those that it depends on, these first. targets: the first of them that the core has
    is read; the other names are flags. Raises Error."""
    core = Core(At(path), True)
    chosen = [name for name in targets if name in core.targets]
    name = chosen[0] if chosen else _DEFAULT
    if name not in core.targets:
        have = ", ".join(core.targets) or "none"
        raise core.at.error(f"the core has no target {_DEFAULT}; give --target NAME, of {have}")
    flags = core.flags(name) | {x for x in targets if x != name}
    return list(_Cores(path, flags, name).entries(core, ()))


@dataclass
class _Cores:
    """The cores that can be found. target: of the first core; done: those whose entries were given."""

    first: Path
    flags: set[str]
    target: str
    done: set[Path] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)

    def entries(self, core: Core, above: tuple[Path, ...]) -> Iterator[Entry]:
        """The entries of a core, after those of the cores that it depends on. above: the cores that need it."""
        at, _ = core.at, core.name  # refuses what is not a name
        if at.file in above:
            raise at.error("the core depends on itself")
        if at.file in self.done:
            return
        self.done.add(at.file)
        yield Entry("read", str(at.file), at.place)
        flags = {*self.flags, *(["is_toplevel"] if core.top else [])}
        target = at.table(core.targets.get(self.target if core.top else _DEFAULT), "target")
        filesets = list(self._filesets(core, target, flags))
        for where, fileset in filesets:
            for wanted in words_of(where, fileset.get("depend"), flags):
                if not wanted.startswith("!"):  # a core that must not be there
                    chosen, others = self._core(where, wanted)
                    also = (f"{x.name.name}, which also is {wanted}," for x in others if x.at.file not in self.done)
                    yield from (Entry("skipped", text, where.place) for text in also)
                    yield from self.entries(chosen, (*above, at.file))
        for where, fileset in filesets:
            yield from self._files(where, fileset, flags)
        yield from self._parameters(core, target, flags)
        for item in at.listed(target.get("generate"), "generate"):
            name = min(item, default="") if isinstance(item, Table) else item
            yield Entry("skipped", f"generator {name}", at.place)
        if core.table.get("provider"):
            yield Entry("skipped", "provider, from which nothing is fetched,", at.place)

    def _filesets(self, core: Core, target: Table, flags: set[str]) -> Iterator[tuple[At, Table]]:
        known = core.at.table(core.table.get("filesets"), "filesets")
        for name in words_of(core.at, target.get("filesets"), flags):
            if name not in known:
                raise core.at.of(name).error(f"the core has no fileset {name}; it has {', '.join(known) or 'none'}")
            table = core.at.table(known[name], f"fileset {name}")
            yield core.at.of(table), table

    def _files(self, at: At, fileset: Table, flags: set[str]) -> Iterator[Entry]:
        skipped = Counter[str]()
        for item in at.listed(fileset.get("files"), "files"):
            table = item if isinstance(item, Table) else Table({at.text(item, "a file"): None})
            for key, value in table.items():
                name, where = expanded(key, flags, at), at.of(key)
                own = where.table(value, str(key))
                kind = expanded(own.get("file_type") or fileset.get("file_type") or "", flags, at)
                if not name:
                    continue
                for macro, text in where.table(own.get("define"), "define").items():
                    yield _define(macro, text, where)
                if truth(own.get("is_include_file")):
                    folder = own.get("include_path") or os.path.dirname(name) or "."
                    yield Entry("folder", where.path(str(folder)), where.place)
                elif kind.startswith(_HDL):
                    yield Entry("file", where.path(name), where.place)
                else:
                    skipped[kind] += 1
        for kind, count in skipped.items():
            files = "1 file" if count == 1 else f"{count} files"
            yield Entry("skipped", f"{files} of {f'type {kind}' if kind else 'no type'}", at.place)

    def _parameters(self, core: Core, target: Table, flags: set[str]) -> Iterator[Entry]:
        """The macros among a target's parameters."""
        known = core.at.table(core.table.get("parameters"), "parameters")
        for word in words_of(core.at, target.get("parameters"), flags):
            name, equals, value = word.partition("=")
            at = core.at.of(word)
            if not name or (name not in known and name in self.parameters):
                continue  # of a core that this one depends on
            if name not in known:
                raise at.error(f"the core has no parameter {name}")
            table = core.at.table(known[name], f"parameter {name}")
            kind, default = expanded(table.get("paramtype") or "", flags, at), table.get("default")
            self.parameters.add(name)
            if kind == "vlogdefine" and (equals or default is not None):
                text = Text(value, at.line, table.get("datatype") == "bool")
                yield _define(name, text if equals else default, at)
            elif kind != "vlogdefine":
                shown = f" = {value or default}" if equals or default is not None else ""
                yield Entry("skipped", f"parameter {name}{shown}, a {kind},", at.place)

    # -- where cores are -----------------------------------------------------------------------------------------------

    def _core(self, at: At, wanted: str) -> tuple[Core, list[Core]]:
        """The core of that name with the highest version that fits, and others that stand for a virtual one; one that
        is needed by its own name comes first. Raises Error."""
        version = CoreVersion.of(wanted, at.error)
        fitting = [(v, core) for v, core in self._index.get(version.name, ()) if version.fits(v)]
        if not fitting:
            others = ["".join(f"{'.'.join(map(str, v))}") for v, _ in self._index.get(version.name, ())]
            reason = f"only version {', '.join(others)}" if others else "no such core"
            raise at.error(f"depends on {wanted}: {reason} in {', '.join(map(str, self._folders))}")
        chosen = max(fitting, key=lambda pair: (pair[1].at.file in self.done, pair[0]))[1]
        return chosen, [core for v, core in fitting if not v and core.at.file != chosen.at.file]

    @cached_property
    def _folders(self) -> list[Path]:
        """The folders below which cores are searched."""
        own = self.first.parent
        checkout = next(
            (f for f in (own, *own.parents) if (f / ".git").exists() or (f / "fusesoc.conf").is_file()), own
        )
        folders = dict.fromkeys((checkout, Path.cwd()))
        for folder in list(folders):
            if (folder / "fusesoc.conf").is_file():
                folders |= dict.fromkeys(_libraries(folder / "fusesoc.conf"))
        return [f for f in folders if not any(other in f.parents for other in folders)]

    @cached_property
    def _index(self) -> dict[str, list[tuple[tuple[int, ...], Core]]]:
        """The cores by name, vendor:library:name, and by the virtual ones that they stand for."""
        index: dict[str, list[tuple[tuple[int, ...], Core]]] = {}
        for path in _core_files(self._folders):
            text = read_text(path, limits.YAML, errors="replace")
            core = Core(At(path))
            if name := _NAME.search(text):
                version = CoreVersion.of(name[1], core.at.error)
                index.setdefault(version.name, []).append((version.version, core))
            if _VIRTUAL.search(text):
                for virtual in core.at.listed(core.table.get("virtual"), "virtual"):
                    index.setdefault(CoreVersion.of(str(virtual), core.at.error).name, []).append(((), core))
        return index


def _define(name: str, value: object, at: At) -> Entry:
    is_true = truth(value)
    text = value if is_true is None else str(int(is_true))
    return Entry("define", f"{name}={text}" if text else name, at.place)


def _checkout(folder: Path) -> Path:
    """The folder of the checkout that a folder is in; itself if it is in none."""
    above = (f for f in (folder, *folder.parents) if (f / ".git").exists() or (f / "fusesoc.conf").is_file())
    return next(above, folder)


def _libraries(path: Path) -> Iterator[Path]:
    """The folders of libraries in a configuration. Raises Error."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(read_text(path, limits.YAML))
    except configparser.Error as e:
        raise Error(f"{path}: {str(e).partition(chr(10))[0]}") from None
    for section in parser.sections():
        if section.startswith("library") and "location" in parser[section]:
            folder = Path(os.path.abspath(path.parent / os.path.expanduser(parser[section]["location"])))
            if folder.is_dir():
                yield folder


def _core_files(folders: Iterable[Path]) -> Iterator[Path]:
    """The .core files below folders, without those of a folder with a file FUSESOC_IGNORE. Raises Error."""
    count = 0
    for top in folders:
        for folder, below, files in os.walk(top):
            count += len(below) + len(files)
            if count > limits.SEARCHED:
                raise Error(f"{top}: more than {limits.SEARCHED} files, in which cores would be searched")
            below[:] = [] if "FUSESOC_IGNORE" in files else sorted(name for name in below if name != ".git")
            if "FUSESOC_IGNORE" not in files:
                yield from filter(is_core, (Path(folder, name) for name in sorted(files)))
