"""Which files a design is read from: includes, modules of libraries and memory files, and where each is searched."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.rtl.module_ports import Elaborated
from softfloat_ref.rtl.reading import DesignReading, Macro, ReadFile, Role, file_hash, is_file
from softfloat_ref.rtl.sources import EXTENSIONS, Libraries, Sources

_READ_MEMORY: Final = ("$readmemh", "$readmemb")


class Named(NamedTuple):
    """A path as a source names it, and that source; path: what is read, or would be."""

    name: str
    by: Path
    path: Path


def read_inputs(
    design: Elaborated,
    sources: Sources,
    own: Mapping[str, Macro],
    memories: Iterable[Named] = (),
    first: Path | None = None,
) -> DesignReading:
    """What is read of a design. own: macros that are defined unless the sources' options define them; first: a folder
    that simulators search before all others, for modules as well as for includes; None for a proof.

    Paths are those that the sources' options and the sources name; slang has those that links lead to. Raises Error for
    a proof that would take another file than simulators.
    """
    before = [first] if first else []
    includes, looked = list[Named](), list[Path]()  # looked: the paths that are tried before the one that is read
    for include in dict.fromkeys(_includes(design)):
        tried = _upto(include.path, [folder / include.name for folder in sources.searched])
        includes.append(include._replace(path=tried[-1]))
        looked += [*(folder / include.name for folder in before), *tried[:-1]]
        if first is None:
            looked.append(_in_working_folder(includes[-1]))
    modules = list[Path]()
    for module, tried in _modules(design, sources, [*before, *sources.searched] if first else []):
        modules += [] if module is None else [module]
        looked += tried
    memories = list(dict.fromkeys(memories))
    looked += [memory.path for memory in memories]
    hashed, files, done = cache(file_hash), list[ReadFile](), set[str]()

    def add(role: Role, paths: Iterable[Named | Path]) -> None:
        for named in paths:
            name, by, path = named if isinstance(named, Named) else ("", None, named)
            done.add(os.path.realpath(path))
            files.append(ReadFile(path, role, hashed(path), name, by))

    add("file list", sources.lists)
    vhdl = sources.vhdl
    add("VHDL", () if vhdl is None else vhdl.files)
    add("netlist", () if vhdl is None else sources.files[:1])
    add("source", sources.files if vhdl is None else sources.files[1:])
    add("include", includes)
    add("library", (*sources.libraries.files, *modules))
    add("memory", (memory for memory in memories if is_file(memory.path)))
    add("library", (path for path in design.files if os.path.realpath(path) not in done))
    add("include", (path for path in dict.fromkeys(looked) if is_file(path) and os.path.realpath(path) not in done))
    macros = {name: Macro(value, sources.defined_by.get(name, "-D")) for name, value in sources.defines.items()}
    return DesignReading(
        Path.cwd(),
        tuple(files),
        absent=tuple(path for path in dict.fromkeys(looked) if not is_file(path)),
        macros={**own, **macros},
        include_dirs=sources.searched,
        libraries=sources.libraries,
    )


def _in_working_folder(include: Named) -> Path:
    """Where Icarus looks for an included file first, and Verilator last. Raises Error for another text there."""
    path = Path.cwd() / include.name
    if is_file(path) and file_hash(path) != file_hash(include.path):
        raise Error(
            f"{include.by}: {include.name} is {include.path} for Verilator and {path} for Icarus, which looks in the"
            " working folder first; run this elsewhere, or rename one of the two files"
        )
    return path


def _includes(design: Elaborated) -> Iterator[Named]:
    manager = design.manager
    for tree in design.trees:
        for directive in tree.getIncludeDirectives():
            by = manager.getFullPath(directive.syntax.sourceRange.start.buffer)
            yield Named(directive.path, by, manager.getFullPath(directive.buffer.id))


def _upto(path: Path, tried: list[Path]) -> list[Path]:
    """The paths up to the first that is the same file."""
    place = next((i for i, other in enumerate(tried) if os.path.realpath(other) == os.path.realpath(path)), None)
    return [path] if place is None else tried[: place + 1]


# -- modules in libraries ----------------------------------------------------------------------------------------------


def _modules(design: Elaborated, sources: Sources, more: list[Path]) -> Iterator[tuple[Path | None, list[Path]]]:
    """The file of each module that is searched in libraries, and the other paths in the folders up to its own; None and
    all paths if there is no file. more: folders that simulators search, too."""
    libraries, read = sources.libraries, {os.path.realpath(path) for path in design.files}
    extensions = dict.fromkeys((*libraries.extensions, *EXTENSIONS))  # slang always has these
    compilation = design.root.compilation
    defined = {x.name for x in (*compilation.getDefinitions(), *compilation.getPackages())}
    for name in dict.fromkeys(_module_names(design)) if more or libraries.folders else ():
        tried = [folder / f"{name}{x}" for folder in more for x in extensions]
        for folder in libraries.folders:
            paths = [folder / f"{name}{x}" for x in extensions]
            tried += paths
            if own := next((path for path in paths if os.path.realpath(path) in read), None):
                if not more:
                    _check_extension(name, own, folder, libraries)
                yield own, [path for path in tried if path != own]
                break
        else:
            if name not in defined:
                yield None, tried


def _check_extension(name: str, path: Path, folder: Path, libraries: Libraries) -> None:
    """Raise Error where slang, which has an order of extensions of its own, reads another file than simulators."""
    other = next(filter(is_file, (folder / f"{name}{x}" for x in libraries.extensions)), None)
    if path != other:
        raise Error(
            f"{path} is read for module {name}, but simulators read {other or 'no file'}: the extensions of library"
            f" files are {' '.join(libraries.extensions)}, in this order; state others with +libext, or remove a file"
        )


def _module_names(design: Elaborated) -> Iterator[str]:
    """The names that sources use and a library may define: of modules, interfaces, checkers and packages."""
    kinds, names = design.slang.syntax.SyntaxKind, list[str]()

    def scope(node: Any) -> None:
        if node.left.kind == kinds.IdentifierName:
            names.append(node.left.identifier.valueText)

    table = {
        kinds.HierarchyInstantiation: lambda node: names.append(node.type.valueText),
        kinds.CheckerInstantiation: lambda node: names.append(str(node.type).strip()),
        kinds.PackageImportItem: lambda node: names.append(node.package.valueText),
        kinds.InterfacePortHeader: lambda node: names.append(node.nameOrKeyword.valueText),
        kinds.ScopedName: scope,
    }
    for tree in design.trees:
        tree.root.visit(lookup_table=table)
    return iter(names)


# -- memory files ------------------------------------------------------------------------------------------------------


def memory_files(design: Elaborated) -> list[Named]:
    """The files that $readmemh and $readmemb read anywhere in the design, as far as constant conditions of generate
    blocks allow; relative paths mean the working folder, as in simulators.

    Raises Error for a name that is not constant.
    """
    ast, memories, called = design.slang.ast, list[Named](), set[str]()

    def call(node: Any) -> None:
        if not node.isSystemCall:
            if node.subroutine.hierarchicalPath not in called:
                called.add(node.subroutine.hierarchicalPath)
                node.subroutine.body.visit(lookup_table=table)
        elif node.subroutineName in _READ_MEMORY and node.arguments:
            memories.append(_memory(design, node))

    skip = ast.VisitAction.Skip
    table = {
        ast.ExpressionKind.Call: call,
        ast.SymbolKind.Subroutine: lambda _: skip,  # unless it is called
        ast.SymbolKind.GenerateBlock: lambda block: skip if block.isUninstantiated else None,
    }
    design.body.visit(lookup_table=table)
    return [memory for memory in memories if memory.name]


def _memory(design: Elaborated, node: Any) -> Named:
    name, start = node.arguments[0], node.sourceRange.start
    value = name.eval(design.slang.ast.EvalContext(design.body))
    if not value:
        place = design.place(start)
        raise Error(
            f"{place}: {node.subroutineName} with a name that is not constant, {name.syntax}; the file has to be"
            " known: use a literal or a parameter"
        )
    text = value.convertToStr().value.lstrip("\0")
    by = design.manager.getFullPath(design.manager.getFullyExpandedLoc(start).buffer)
    folder, rest = Path.cwd(), text
    while rest.startswith("../"):
        folder, rest = folder.parent, rest[3:]
    return Named(text, by, folder / rest)


def check_reread(reading: DesignReading, memories: Iterable[Named]) -> None:
    """Raise Error if a memory file does not exist in the working folder, and Yosys would take another one."""
    known = {os.path.normpath(file.path) for file in reading.files}
    for memory in memories:
        if not is_file(memory.path):
            for folder in dict.fromkeys(file.path.parent for file in reading.files):
                if (other := os.path.normpath(f"{folder}/{memory.name}")) in known:
                    raise Error(f"{memory.path}: no such file; Yosys would read {other}")
