"""The sources of a design: files, include folders and macros, also from the file lists (-f) that simulators read.

A list has a source file per word, and `+incdir+DIR`, `+define+NAME=VALUE`, `-I DIR`, `-D NAME=VALUE`, `-y DIR`,
`+libext+EXT`, `-v FILE`, `-f LIST` and `-F LIST`; comments start with `//`, `#` or `/*`; `$NAME`, `${NAME}` and
`$(NAME)` are variables of the environment. Paths are relative to the working folder, in a list read by -F to the folder
of the list. slang's driver reads the same lists, but does not say which include folders they name, so that no simulator
could be told. In place of a list or a source, a Bender.yml or a .core file of FuseSoC may be given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_text
from softfloat_ref.rtl import bender, fusesoc
from softfloat_ref.rtl.package_order import packages_first
from softfloat_ref.rtl.project_entries import expand_variables

EXTENSIONS: Final = (".v", ".sv")  # of library files, as Verilator and slang have them
_WORD: Final = re.compile(r'(\s+|\\\r?\n|//[^\n]*|#[^\n]*|/\*.*?\*/)|(?:"[^"\n]*"|[^\s"])+|"', re.DOTALL)
_MACRO: Final = re.compile(r"[A-Za-z_]\w*")
_EXTENSION: Final = re.compile(r"\.[\w.]+")
# Options that simulators take in a list and that need no counterpart here; these are followed by an argument.
_WITH_ARGUMENT: Final = {"-top", "--top", "--top-module", "-s", "-work", "-timescale", "--timescale", "-l", "-o"}


@dataclass(frozen=True)
class Libraries:
    """Where modules are searched that no source defines: files, and folders in which the file of a module has its name.
    extensions: of the files in the folders."""

    files: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    extensions: tuple[str, ...] = EXTENSIONS


NO_LIBRARIES: Final = Libraries()


@dataclass(frozen=True)
class Sources:
    """What a simulator compiles: source files in their order, folders of included files, macros, and libraries.

    All paths are absolute. skipped: the options in file lists that were passed over, as "LIST:LINE: OPTION"; lists: the
    file lists; defined_by: -D or "LIST:LINE" for each macro; vhdl: the VhdlUnit of which the first file is the netlist.
    """

    files: tuple[Path, ...]
    include_dirs: tuple[Path, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    libraries: Libraries = NO_LIBRARIES
    lists: tuple[Path, ...] = ()
    defined_by: Mapping[str, str] = field(default_factory=dict)
    vhdl: Any = None

    @property
    def searched(self) -> tuple[Path, ...]:
        """The folders in which included files are searched: those given, then those of the sources and libraries."""
        files = (*self.files, *self.libraries.files)
        return tuple(dict.fromkeys((*self.include_dirs, *(file.parent for file in files), *self.libraries.folders)))

    def in_order(self) -> Sources:
        """The same, with a file that declares packages before the files that use them, otherwise as listed."""
        return replace(self, files=tuple(packages_first(self.files)))


class _Place(NamedTuple):
    """Where a word stands: a line of a file list, or the command line; and the folder of relative paths."""

    text: str
    base: Path
    lists: tuple[Path, ...] = ()

    def error(self, message: str) -> Error:
        return Error(f"{self.text}{message}")

    def path(self, word: str) -> Path:
        """Absolute, without .. and links resolved as a simulator would not."""
        return Path(os.path.abspath(self.base / word))


@dataclass
class _Collected:
    files: dict[Path, None] = field(default_factory=dict)
    library: dict[Path, None] = field(default_factory=dict)
    library_folders: dict[Path, None] = field(default_factory=dict)
    extensions: dict[str, _Place] = field(default_factory=dict)
    folders: dict[Path, None] = field(default_factory=dict)
    defines: dict[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    lists: dict[Path, None] = field(default_factory=dict)
    lists_read: int = 0
    defined_by: dict[str, str] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    projects: int = 0

    def file(self, word: str, place: _Place) -> None:
        path = _file(word, place, "source file")
        if not self._project(path):
            self.files[path] = None

    def _project(self, path: Path) -> bool:
        """Add what a project file names, if it is one."""
        if path.name == bender.MANIFEST:
            entries = bender.bender_entries(path, self.targets)
        elif fusesoc.is_core(path):
            entries = fusesoc.core_entries(path, self.targets)
        else:
            return False
        self.projects += 1
        for kind, value, text in entries:
            place = _Place(text, path.parent, (path,))
            if kind == "read":
                self.lists[Path(value)] = None
            elif kind == "skipped":
                self.skipped.append(f"{text}{value}")
            else:
                _ENTRIES[kind](self, value, place)
        return True

    def source(self, word: str, place: _Place) -> None:
        self.files[_file(word, place, "source file")] = None

    def only_define(self, word: str, place: _Place) -> None:
        name, equals, value = word.partition("=")
        if self.defines.get(name, value if equals else "1") != (value if equals else "1"):
            raise place.error(
                f"macro {name} has another value in {self.defined_by[name]}; give it by -D, for all files"
            )
        self.define(word, place)

    def library_file(self, word: str, place: _Place) -> None:
        self.library[_file(word, place, "source file")] = None

    def library_folder(self, word: str, place: _Place) -> None:
        self.library_folders[_folder(word, place, "library files")] = None

    def extension(self, word: str, place: _Place) -> None:
        if not _EXTENSION.fullmatch(word):
            raise place.error(f"{word!r} is not an extension of library files; example: +libext+.sv")
        self.extensions[word] = place

    def folder(self, word: str, place: _Place) -> None:
        self.folders[_folder(word, place, "included files")] = None

    def define(self, word: str, place: _Place) -> None:
        name, _, value = word.partition("=")
        if not _MACRO.fullmatch(name):
            raise place.error(f"{name!r} is not the name of a macro; use NAME or NAME=VALUE")
        if "\n" in value or value.endswith("\\"):
            raise place.error(f"the value of macro {name} is more than a line")
        self.defines[name] = value if "=" in word else "1"
        self.defined_by[name] = place.text.removesuffix(": ") or "-D"

    def file_list(self, word: str, place: _Place) -> None:
        self._list(word, place, place.base)

    def relative_list(self, word: str, place: _Place) -> None:
        self._list(word, place, place.path(word).parent)

    def _list(self, word: str, place: _Place, base: Path) -> None:
        path = _file(word, place, "file list")
        if path in place.lists:
            raise place.error(f"{word} includes itself")
        if self._project(path):
            return
        self.lists[path] = None
        self.lists_read += 1
        if self.lists_read > limits.LISTS:  # lists that name the next one twice are read twice as often at each level
            raise place.error(f"{word}: more than {limits.LISTS} file lists")
        words = _words(read_text(path, limits.SOURCE, errors="replace"), word, base, (*place.lists, path))
        for item, where in words:
            _take(self, item, words, where)


_OPTIONS: Final = {
    "-f": _Collected.file_list,
    "-F": _Collected.relative_list,
    "-v": _Collected.library_file,
    "-y": _Collected.library_folder,
    "-Y": _Collected.extension,
    "-I": _Collected.folder,
    "-D": _Collected.define,
    "+incdir": _Collected.folder,
    "+define": _Collected.define,
    "+libext": _Collected.extension,
}
_ENTRIES: Final = {
    "file": _Collected.source,
    "folder": _Collected.folder,
    "define": _Collected.only_define,
    "list": _Collected.relative_list,
}


def read_sources(
    files: Iterable[str | Path] = (),
    *,
    include_dirs: Iterable[str | Path] = (),
    defines: Iterable[str] = (),
    file_lists: Iterable[str | Path] = (),
    relative_lists: Iterable[str | Path] = (),
    library_files: Iterable[str | Path] = (),
    library_dirs: Iterable[str | Path] = (),
    targets: Iterable[str] = (),
) -> Sources:
    """The sources that these arguments and file lists name, each file once, those of the lists first.

    files: also words with a plus, such as "+incdir+DIR". defines: "NAME" or "NAME=VALUE", which replace the lists' own.
    relative_lists: paths in these are relative to the list; targets: of Bender.yml and .core files. Raises Error, with
    the line of the list, for anything that does not exist and for wrong names.
    """
    collected, here = _Collected(targets=tuple(targets)), _Place("", Path.cwd())
    for folder in include_dirs:
        collected.folder(str(folder), here)
    for name in file_lists:
        collected.file_list(str(name), here)
    for name in relative_lists:
        collected.relative_list(str(name), here)
    for file in map(str, files):
        _take(collected, file, iter(()), here) if file.startswith("+") else collected.file(file, here)
    for name in library_files:
        collected.library_file(str(name), here)
    for name in library_dirs:
        collected.library_folder(str(name), here)
    for macro in defines:
        collected.define(macro, here)
    if collected.targets and not collected.projects:
        raise Error(f"--target {collected.targets[0]} is for {bender.MANIFEST} and .core files, of which there is none")
    return _sources(collected)


def _sources(collected: _Collected) -> Sources:
    if not collected.library_folders:
        for extension, place in collected.extensions.items():
            if not place.lists:
                raise Error(f"+libext+{extension} needs -y DIR, a folder of library files")
            collected.skipped.append(f"{place.text}+libext+{extension}")
    extensions = tuple(collected.extensions) or EXTENSIONS
    libraries = Libraries(tuple(collected.library), tuple(collected.library_folders), extensions)
    return Sources(
        tuple(collected.files),
        tuple(collected.folders),
        collected.defines,
        tuple(collected.skipped),
        libraries,
        tuple(collected.lists),
        collected.defined_by,
    )


def _take(collected: _Collected, word: str, words: Iterator[tuple[str, _Place]], place: _Place) -> None:
    """Add a word of a file list, with the words that belong to it."""
    name, *values = word.split("+")[1:] if word.startswith("+") else [word]
    if word.startswith("+") and f"+{name}" in _OPTIONS:
        for value in filter(None, values):
            _OPTIONS[f"+{name}"](collected, value, place)
    elif word in _OPTIONS:
        value, _ = next(words, ("", place))
        if not value:
            raise place.error(f"{word} needs an argument")
        _OPTIONS[word](collected, value, place)
    elif word[:2] in ("-I", "-D"):
        _OPTIONS[word[:2]](collected, word[2:], place)
    elif not place.lists:
        raise Error(f"{word}: no such option; {', '.join(x for x in _OPTIONS if x[0] == '+')} are known")
    elif word[0] in "+-":
        argument = next(words, ("", place))[0] if word in _WITH_ARGUMENT else ""
        collected.skipped.append(f"{place.text}{word} {argument}".rstrip())
    else:
        collected.file(word, place)


def _words(text: str, name: str, base: Path, lists: tuple[Path, ...]) -> Iterator[tuple[str, _Place]]:
    """The words of a file list, each with its place."""
    line = 1
    for token in _WORD.finditer(text):
        if token[1] is None:
            place = _Place(f"{name}:{line}: ", base, lists)
            if token[0] == '"' or token[0].startswith("/*"):
                raise place.error(f"{token[0][:2]} without an end")
            if word := expand_variables(token[0].replace('"', ""), place.error):
                yield word, place
        line += token[0].count("\n")


def _file(word: str, place: _Place, kind: str) -> Path:
    path = place.path(word)
    if not os.path.isfile(path):
        raise place.error(f"{word}: no such {kind}{_beside(word, place)}")
    if not os.access(path, os.R_OK):
        raise place.error(f"{word}: cannot be read: no permission")
    return path


def _folder(word: str, place: _Place, content: str) -> Path:
    path = place.path(word)
    if not os.path.isdir(path):
        raise place.error(f"{word}: no such folder for {content}{_beside(word, place)}")
    return path


def _beside(word: str, place: _Place) -> str:
    """What to do about a path that exists beside its file list."""
    if place.lists and os.path.exists(place.lists[-1].parent / word):
        return "; it stands beside the list, so read the list with -F"
    return ""
