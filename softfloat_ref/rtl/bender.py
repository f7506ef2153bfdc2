"""Sources by Bender.yml (Bender 0.32: pulp-platform.github.io/bender), with the packages that it depends on.

Groups, dependencies, include folders and macros have conditions on targets, of which each active one also defines the
macro TARGET_NAME. Packages are read where Bender puts them: at a path, an override of Bender.local, in
workspace.checkout_dir, or in .bender/git/checkouts, by the URL in Bender.lock. Nothing is fetched. As in the file lists
that Bender writes, folders and macros of one group apply to all files.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from softfloat_ref.base import limits
from softfloat_ref.base.yaml_text import Table, Text, read_yaml, truth
from softfloat_ref.rtl.project_entries import At, Entry

MANIFEST: Final = "Bender.yml"
TARGETS: Final = ("rtl", "simulation")  # without others
_KEYS: Final = ("files", "target", "include_dirs", "defines", "external_flists", "override_files")
_TYPES: Final = ("sv", "v", "vhd")  # of files with other extensions
_TOKEN: Final = re.compile(r"\s*([\w.:-]+|[(),*]|$)")


def bender_entries(path: Path, targets: Iterable[str] = ()) -> list[Entry]:
    """The entries of a manifest and of the packages that it depends on, these first. Raises Error."""
    session = _Session(path.parent, frozenset(name.lower() for name in targets or TARGETS))
    entries = list(session.package(At(path), session.targets, ()))
    while session.stale:  # a package was read before another one passed it a target
        session.stale = False
        session.packages.clear()
        entries = list(session.package(At(path), session.targets, ()))
    active = set[str]().union(*session.active.values())
    defines = [Entry("define", f"TARGET_{name.upper()}", f"{path}: ") for name in sorted(active)]
    return [*defines, *_overridden(entries, session.overriding)]


def _overridden(entries: list[Entry], overriding: Mapping[str, str]) -> Iterator[Entry]:
    """The entries with files replaced by those of groups with override_files, of the same name."""
    files = {e.value for e in entries if e.kind == "file"}
    replaced = {os.path.basename(f) for f in files if overriding.get(os.path.basename(f), f) != f}
    for entry in entries:
        name = os.path.basename(entry.value)
        if entry.kind != "file" or name not in replaced:
            yield entry
        elif entry.value != overriding[name]:
            yield entry._replace(value=overriding[name])


class _Manifest(NamedTuple):
    at: At
    table: Table

    @property
    def name(self) -> str:
        package = self.at.table(self.table.get("package"), "package")
        if "name" not in package:
            raise self.at.error("package has no name")
        return str(self.at.text(package["name"], "name")).lower()


@dataclass
class _Session:
    """What was read, below the folder of the first manifest. targets: active in all packages; active: in each, by its
    folder; packages: those that were read; stale: whether one was read with too few targets; groups: how many."""

    root: Path
    targets: frozenset[str]
    active: dict[Path, set[str]] = field(default_factory=dict)
    packages: set[Path] = field(default_factory=set)
    stale: bool = False
    overriding: dict[str, str] = field(default_factory=dict)
    groups: int = 0
    workspace: Table = field(default_factory=Table)
    overrides: Table = field(default_factory=Table)
    locked: Table = field(default_factory=Table)
    name: str = ""

    def package(self, at: At, targets: frozenset[str], above: tuple[Path, ...]) -> Iterator[Entry]:
        """The entries of a package, after those that it depends on. above: the packages that need it."""
        folder = at.file.parent.resolve()
        if folder in above:
            raise at.error("the package depends on itself")
        known = self.active.setdefault(folder, set())
        self.stale |= folder in self.packages and not targets <= known
        known |= targets
        targets = frozenset(known)
        yield Entry("read", str(at.file), at.place)
        manifest = _Manifest(at, at.table(read_yaml(at.file, MANIFEST), "a manifest"))
        if not above:
            yield from self._begin(manifest)
        exported = at.listed(manifest.table.get("export_include_dirs"), "export_include_dirs")
        for name, value in at.table(manifest.table.get("dependencies"), "dependencies").items():
            yield from self._dependency(manifest, name, value, targets, (*above, folder))
        if folder not in self.packages:
            self.packages.add(folder)
            yield from self._folders(at, exported, targets)
            yield from self._group(at, manifest.table.get("sources"), targets)

    def _begin(self, manifest: _Manifest) -> Iterator[Entry]:
        """Read what only counts beside the first manifest."""
        self.name = manifest.name
        self.workspace = manifest.at.table(manifest.table.get("workspace"), "workspace")
        for name in ("Bender.lock", "Bender.local"):
            if (path := self.root / name).is_file():
                yield Entry("read", str(path), f"{path}: ")
                at = At(path)
                table = at.table(read_yaml(path, MANIFEST), name)
                if name == "Bender.lock":
                    self.locked = at.table(table.get("packages"), "packages")
                else:
                    self.overrides = at.table(table.get("overrides"), "overrides")

    # -- dependencies --------------------------------------------------------------------------------------------------

    def _dependency(
        self, manifest: _Manifest, name: str, value: Any, targets: frozenset[str], above: tuple[Path, ...]
    ) -> Iterator[Entry]:
        at = manifest.at.of(name)
        table = value if isinstance(value, Table) else Table()
        if not _holds(table.get("target"), targets, at):
            return
        passed = set(self.targets)
        for item in at.listed(table.get("pass_targets"), "pass_targets"):
            if not isinstance(item, Table):
                passed.add(at.text(item, "a target").lower())
            elif _holds(item.get("target"), targets, at):
                passed.add(at.text(item.get("pass"), "pass").lower())
        path = Path(self._folder(at, str(name).lower(), table)) / MANIFEST
        if path.is_file():
            yield from self.package(At(path), frozenset(passed), above)
        elif path.parent.is_dir():
            yield Entry("skipped", f"dependency {name}, which has no {MANIFEST}", at.place)
        else:
            raise at.error(f"dependency {name}: no such folder: {path.parent}")

    def _folder(self, at: At, name: str, table: Table) -> str:
        """Where a package is. Raises Error if it is nowhere."""
        override = self.overrides.get(name)
        if isinstance(override, Table) and "path" in override:
            return At(self.root / "Bender.local").path(override["path"])
        if "path" in table:
            return at.path(at.text(table["path"], "path"))
        source = self.locked.get(name)
        source = source.get("source") if isinstance(source, Table) else None
        source = source if isinstance(source, Table) else Table()
        if "Path" in source:
            return At(self.root / MANIFEST).path(source["Path"])
        if "checkout_dir" in self.workspace:
            return os.path.join(At(self.root / MANIFEST).path(self.workspace["checkout_dir"]), name)
        checkouts = self.root / ".bender" / "git" / "checkouts"
        url = str(source.get("Git") or table.get("git") or "")
        digest = hashlib.blake2b(f'{url}"{self.name}"'.encode()).hexdigest()[:16]  # Bender's name of the folder
        folders = [checkouts / f"{name}-{digest}"] if (checkouts / f"{name}-{digest}").is_dir() else []
        folders = folders or sorted(checkouts.glob(f"{glob.escape(name)}-{'[0-9a-f]' * 16}"))
        if len(folders) == 1:
            return str(folders[0])
        where = f" ({url})" if url else ""
        raise at.error(
            f"dependency {name} is in a git repository{where} and "
            f"{'is checked out more than once' if folders else 'not checked out'}: run `bender checkout`, or give its "
            f"path in Bender.local, as overrides: {{ {name}: {{ path: FOLDER }} }}"
        )

    # -- sources -------------------------------------------------------------------------------------------------------

    def _group(self, at: At, value: Any, targets: frozenset[str], overrides: bool = False) -> Iterator[Entry]:
        """The entries of sources: a list of files and groups, or a group."""
        self.groups += 1
        if self.groups > limits.LISTS:  # groups that name the next one twice by an alias
            raise at.error(f"more than {limits.LISTS} groups of sources")
        if value is None:
            return
        if isinstance(value, list):
            for item in value:
                if isinstance(item, Text):
                    yield from self._file(at, item, overrides)
                else:
                    yield from self._group(at, item, targets, overrides)
            return
        table = at.table(value, "a group of sources")
        at = at.of(table)
        if kinds := [kind for kind in _TYPES if kind in table]:
            yield from self._file(at, at.text(table[kinds[0]], kinds[0]), overrides)
            return
        if not _holds(table.get("target"), targets, at):
            return
        overrides = truth(table.get("override_files")) is True
        yield from (Entry("skipped", f"the key {key}", at.of(key).place) for key in table if key not in _KEYS)
        yield from self._folders(at, at.listed(table.get("include_dirs"), "include_dirs"), targets)
        yield from self._defines(at, at.table(table.get("defines"), "defines"), targets)
        for path in at.listed(table.get("external_flists"), "external_flists"):
            yield Entry("list", at.path(at.text(path, "a file list")), at.of(path).place)
        yield from self._group(at, at.listed(table.get("files"), "files"), targets, overrides)

    def _file(self, at: At, text: Text, overrides: bool) -> Iterator[Entry]:
        at = at.of(text)
        paths = [at.path(text)]
        if re.search("[*?]", text):
            paths = sorted(glob.glob(paths[0], recursive=True))
            if not paths:
                yield Entry("skipped", f"{text}, which no file matches,", at.place)
        for path in paths:
            if overrides:
                self.overriding[os.path.basename(path)] = path
            yield Entry("file", path, at.place)

    def _folders(self, at: At, listed: list[Any], targets: frozenset[str]) -> Iterator[Entry]:
        for item in listed:
            name = item.get("dir") if isinstance(item, Table) else item
            if not isinstance(item, Table) or _holds(item.get("target"), targets, at):
                path = at.path(at.text(name, "a folder of included files"))
                if os.path.isdir(path):
                    yield Entry("folder", path, at.of(name).place)
                else:
                    yield Entry("skipped", f"{name}, which is not a folder,", at.of(name).place)

    def _defines(self, at: At, table: Table, targets: frozenset[str]) -> Iterator[Entry]:
        for name, value in table.items():
            if isinstance(value, Table):
                if not _holds(value.get("target"), targets, at):
                    continue
                value = value.get("value")
            yield Entry("define", name if value is None else f"{name}={value}", at.of(name).place)


# -- conditions on targets ---------------------------------------------------------------------------------------------


def _holds(condition: object, targets: frozenset[str], at: At) -> bool:
    """Whether a condition holds for the active targets: NAME, *, all(...), any(...), not(...). Raises Error."""
    if condition is None:
        return True
    text = at.text(condition, "target")
    at, tokens, place = at.of(text), list[str](), 0
    if len(text) > limits.KEY:
        raise at.error(f"a condition on targets of more than {limits.KEY} characters")
    while place < len(text) and (match := _TOKEN.match(text, place)):
        tokens.append(match[1].lower())
        place = match.end()
    if place < len(text):
        raise at.error(f"target {text!r}: unexpected {text[place:].strip()[:1]!r}")
    holds, rest = _expression([token for token in tokens if token], targets, at, 0)
    if rest:
        raise at.error(f"target {text!r}: unexpected {rest[0]!r}")
    return holds


def _expression(tokens: list[str], targets: frozenset[str], at: At, depth: int) -> tuple[bool, list[str]]:
    """The value of the condition that tokens begin with, and the tokens after it."""
    first, rest = (tokens[0], tokens[1:]) if tokens else ("", [])
    if first in ("", ")", ","):
        raise at.error(f"a condition on targets ends early{f', at {first!r}' if first else ''}")
    if depth > limits.DEPTH:
        raise at.error(f"more than {limits.DEPTH} conditions in each other")
    if first != "(" and not (first in ("all", "any", "not") and rest[:1] == ["("]):
        return first == "*" or first in targets, rest
    rest = rest if first == "(" else rest[1:]
    values = list[bool]()
    while rest[:1] != [")"]:
        value, rest = _expression(rest, targets, at, depth + 1)
        values.append(value)
        if rest[:1] == [","]:
            rest = rest[1:]
        elif rest[:1] != [")"]:
            raise at.error("a condition on targets has no closing parenthesis")
    if first in ("(", "not") and len(values) != 1:
        raise at.error(f"{first} takes one condition on targets, not {len(values)}")
    result = any(values) if first == "any" else not values[0] if first == "not" else all(values)
    return result, rest[1:]
