"""What was read of a design: its files by their hashes, the paths at which no file was, macros and tools.

Certificates, the keys of cached results and the decision to build a bench again all use this record.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_bytes, sha256
from softfloat_ref.rtl.sources import NO_LIBRARIES, Libraries

Role = Literal["port map", "file list", "source", "include", "library", "memory", "VHDL", "netlist", "build"]
_SCRATCH: Final = ".softfloat_ref"  # in a snapshot: for files that tools write


class ReadFile(NamedTuple):
    """A file that was read. name: how a source names it, if one does, and `by` is that source."""

    path: Path
    role: Role
    sha256: str
    name: str = ""
    by: Path | None = None

    @classmethod
    def of(cls, path: str | Path, role: Role) -> ReadFile:
        """A file as it is now. Raises Error if it cannot be read."""
        return cls(Path(os.path.abspath(path)), role, file_hash(path))


class Macro(NamedTuple):
    """A macro: its value, and who defines it: softfloat-ref, -D, or a line of a file list."""

    value: str
    by: str


@dataclass(frozen=True)
class DesignReading:
    """What was read.

    folder: the working folder, which relative names of memory files mean; absent: paths at which there is no file, and
    a new one would be read; include_dirs: in the order in which they are searched; pragmas: whether comments such as
    translate_off leave out text; predefined: macros that the front end defines by itself; top: the text of the module
    around the design.
    """

    folder: Path
    files: tuple[ReadFile, ...] = ()
    absent: tuple[Path, ...] = ()
    frontend: str = ""
    pragmas: bool = True
    tools: Mapping[str, str] = field(default_factory=dict)
    macros: Mapping[str, Macro] = field(default_factory=dict)
    predefined: tuple[str, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    libraries: Libraries = NO_LIBRARIES
    parameters: Mapping[str, str] = field(default_factory=dict)
    top: str = ""

    def table(self, folder: Path | None = None) -> dict[str, Any]:
        """As JSON. Paths are relative to the folder, or absolute without one; a netlist, which is made of VHDL among
        the files, has none."""

        def paths(listed: Iterable[Path]) -> list[str]:
            return [_shown(path, folder) for path in listed]

        files_ = [file for file in self.files if file.role != "netlist"]
        files = dict.fromkeys((_shown(file.path, folder), file.role, file.sha256) for file in files_)
        netlists = [file.sha256 for file in self.files if file.role == "netlist"]
        return {
            **({"netlists": netlists} if netlists else {}),
            "files": [{"path": path, "role": role, "sha256": sha256} for path, role, sha256 in files],
            "absent": paths(self.absent),
            "folder": _shown(self.folder, folder),
            "frontend": self.frontend,
            "pragmas": self.pragmas,
            "tools": dict(self.tools),
            "macros": {name: macro._asdict() for name, macro in self.macros.items()},
            "predefined": list(self.predefined),
            "include_dirs": paths(self.include_dirs),
            "library_files": paths(self.libraries.files),
            "library_dirs": paths(self.libraries.folders),
            "library_extensions": list(self.libraries.extensions),
            "parameters": dict(self.parameters),
            "top": hashlib.sha256(self.top.encode()).hexdigest(),
        }

    @property
    def hash(self) -> str:
        """SHA-256 of the table relative to the working folder: the same for a copy of all files in another one."""
        return hashlib.sha256(json.dumps(self.table(self.folder), sort_keys=True).encode()).hexdigest()

    @property
    def sources(self) -> tuple[Path, ...]:
        """The source files, in order; the netlist of VHDL is one."""
        return tuple(file.path for file in self.files if file.role in ("source", "netlist"))

    def adding(self, files: Iterable[ReadFile]) -> DesignReading:
        """With more files, those that are not yet among them."""
        known = {os.path.realpath(file.path) for file in self.files}
        return replace(self, files=(*self.files, *(x for x in files if os.path.realpath(x.path) not in known)))

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """A copy of these files, for the duration of a block: what is not recorded does not exist there.

        Raises Error for a file that is no longer the one that was recorded.
        """
        with tempfile.TemporaryDirectory(prefix="softfloat_ref_") as name:
            snapshot = Snapshot(Path(name).resolve(), self)
            for folder in (self.folder, *self.include_dirs, *self.libraries.folders):
                snapshot.path(folder).mkdir(parents=True, exist_ok=True)
            for path, sha256 in {file.path: file.sha256 for file in self.files}.items():
                content, copy = read_bytes(path, limits.SOURCE), snapshot.path(path)
                if hashlib.sha256(content).hexdigest() != sha256:
                    raise Error(f"{path}: changed while it was read; run the command again")
                if copy.exists() and file_hash(copy) != sha256:  # a folder is a link, and .. leads elsewhere
                    raise Error(f"{path} and {os.path.normpath(path)} are two files; name one without ..")
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(content)
            snapshot.scratch.mkdir()
            yield snapshot


@dataclass(frozen=True)
class Snapshot:
    """A private copy of what was read. Absolute paths are below `root`; nothing in it is a link."""

    root: Path
    reading: DesignReading

    def path(self, path: Path) -> Path:
        """Where the copy of a file or folder is."""
        return self.root / os.path.normpath(path).lstrip(os.sep)

    @property
    def folder(self) -> Path:
        """The copy of the working folder."""
        return self.path(self.reading.folder)

    @property
    def scratch(self) -> Path:
        """A folder for files that tools read or write and that are not of the design."""
        return self.root / _SCRATCH


def list_changes(table: Mapping[str, Any], folder: Path = Path()) -> Iterator[str]:
    """What is no longer as in a table, a line each. folder: of relative paths."""
    for file in table["files"]:
        path = folder / file["path"]
        if not path.is_file():
            yield f"{file['path']}: no such file"
        elif file_hash(path) != file["sha256"]:
            yield f"{file['path']}: changed since the proof"
    for name in table["absent"]:
        if is_file(folder / name):
            yield f"{name}: a new file, which would be read now"


def is_file(path: Path) -> bool:
    """Whether something can be read there."""
    return path.exists() and not path.is_dir()


def file_hash(path: str | Path) -> str:
    """SHA-256 of a file's contents. Raises Error if it cannot be read."""
    return sha256(path).hexdigest()


def _shown(path: Path, folder: Path | None) -> str:
    """A path relative to a folder. What follows .. stays as it is: the folder before it may be a link."""
    if folder is None:
        return str(path)
    parts = path.parts
    plain = parts.index(os.pardir) if os.pardir in parts else len(parts)
    return os.path.join(os.path.relpath(Path(*parts[:plain]), folder), *parts[plain:])
