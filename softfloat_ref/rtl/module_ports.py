"""SystemVerilog modules: their ports and parameters, as the front end slang (pyslang) elaborates them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.search import find_first
from softfloat_ref.rtl.bench_runs import source_files
from softfloat_ref.rtl.sources import NO_LIBRARIES, Libraries

_WRAPPER: Final = "softfloat_ref_wrapper"  # instantiates the module that is read
_DIRECTIONS: Final = {"In": "input", "Out": "output", "InOut": "inout", "Ref": "ref"}


@dataclass(frozen=True)
class Expression:
    """The value of a parameter as SystemVerilog text: a constant of a package, an expression or a type."""

    text: str


Parameters = Mapping[str, int | str | Expression]


@dataclass(frozen=True)
class ModulePort:
    """A port of a module. direction: input, output, inout, ref or interface; type: its text in SystemVerilog.

    width: in bits, 0 if the type is not a vector, None if the sources do not define it.
    """

    name: str
    direction: str
    type: str
    width: int | None


@dataclass(frozen=True)
class Elaborated:
    """A module with values for its parameters, as slang elaborates it. body: its InstanceBodySymbol; root: of the whole
    design; loader: what read it, which owns the libraries that the others point to; trees: of the sources' syntax.
    problem: the first error of the sources, if any."""

    slang: Any
    manager: Any
    root: Any
    body: Any
    loader: Any
    trees: tuple[Any, ...] = ()
    problem: str = ""

    @property
    def files(self) -> tuple[Path, ...]:
        """The sources, and the files that they include."""
        paths = (self.manager.getFullPath(buffer) for buffer in self.manager.getAllBuffers())
        return tuple(dict.fromkeys(path for path in paths if path.is_file()))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(p.name for p in self.body.parameters if not p.isLocalParam)

    @property
    def unset(self) -> tuple[str, ...]:
        """The parameters that have neither a value nor a default."""
        values = (p for p in self.body.parameters if isinstance(p, self.slang.ast.ParameterSymbol))
        return tuple(p.name for p in values if not p.isLocalParam and p.initializer is None)

    @cached_property
    def ports(self) -> Mapping[str, ModulePort]:
        """Its ports, by name."""
        return {p.name: _port(p) for p in self.body.portList if p.name}

    def place(self, location: Any) -> str:
        """The file and line of a location."""
        expanded = self.manager.getFullyExpandedLoc(location)
        return f"{self.manager.getFileName(expanded)}:{self.manager.getLineNumber(expanded)}"


def instance(module: str, parameters: Parameters) -> str:
    """The start of an instantiation named `dut`, up to its ports."""
    values = [f".{name}({parameter_text(value)})" for name, value in parameters.items()]
    return f"{module} #({', '.join(values)}) dut" if values else f"{module} dut"


def parameter_text(value: int | str | Expression) -> str:
    """The value of a parameter in SystemVerilog."""
    if isinstance(value, Expression):
        return value.text
    return string_literal(value) if isinstance(value, str) else str(value)


def bit_literal(width: int, value: int) -> str:
    """A number as a SystemVerilog literal."""
    return f"{width}'h{value:x}"


def string_literal(text: str) -> str:
    """A string as a SystemVerilog literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


def elaborate(
    sources: Iterable[str | Path],
    name: str,
    parameters: Parameters | None = None,
    *,
    include_dirs: Iterable[str | Path] = (),
    defines: Mapping[str, object] | None = None,
    libraries: Libraries = NO_LIBRARIES,
) -> Elaborated:
    """The module of that name in the sources, which share their macros as they do in a simulator.

    Raises Error if no source defines it, if an included file is missing, and without pyslang. The simulator reports all
    other errors of the sources.
    """
    files, folders = source_files(sources), [str(Path(folder).resolve()) for folder in include_dirs]
    slang = _pyslang()
    manager = _source_manager(slang, folders)
    options = _options(slang, defines or {})
    loader = _loader(slang, manager, files, libraries)
    trees = loader.loadAndParseSources(options)
    wrapper = f"module {_WRAPPER}; {instance(name, parameters or {})} (); endmodule"
    compilation = slang.ast.Compilation(options)
    for tree in trees:
        compilation.addSyntaxTree(tree)
    compilation.addSyntaxTree(slang.syntax.SyntaxTree.fromText(wrapper, manager, _WRAPPER, "", options))
    dut = find_first(compilation.getRoot().topInstances[0].body)
    is_defined = isinstance(dut, slang.ast.InstanceSymbol)
    design = Elaborated(slang, manager, compilation.getRoot(), dut.body if is_defined else None, loader, tuple(trees))
    problems = []
    for error in (d for tree in trees for d in tree.diagnostics if d.isError()):
        if error.code == slang.Diags.CouldNotOpenIncludeFile:
            searched = " or ".join(folders) or "any folder"
            raise Error(f"{design.place(error.location)}: included file {error.args[0]} not found in {searched}")
        problems.append(f"{design.place(error.location)}: {slang.DiagnosticEngine(manager).formatMessage(error)}")
        if not is_defined:
            raise Error(problems[0])
    if not is_defined:
        names = [d.name for d in compilation.getDefinitions() if d.name != _WRAPPER]
        raise Error(f"no source defines a module {name}; the modules are {', '.join(names) or 'none'}")
    return replace(design, problem=problems[0] if problems else "")


def _pyslang() -> Any:
    try:
        import pyslang
    except ImportError:
        raise Error("pyslang, needed to read SystemVerilog, is not installed: pip install pyslang") from None
    return pyslang


def _source_manager(slang: Any, folders: Iterable[str]) -> Any:
    manager = slang.SourceManager()
    manager.setDisableProximatePaths(True)
    manager.setDisableLocalIncludes(True)  # simulators do not look beside the file that includes
    for folder in folders:
        manager.addUserDirectories(folder)
    return manager


def _options(slang: Any, defines: Mapping[str, object]) -> Any:
    driver = slang.driver.Driver()  # whose options say that all sources share their macros, also with libraries
    driver.addStandardArgs()
    driver.parseCommandLine("slang --single-unit --libraries-inherit-macros")
    options = driver.createOptionBag()
    preprocessor, elaboration = options.preprocessorOptions, options.compilationOptions
    preprocessor.predefines = [f"{key}={value}" for key, value in defines.items()]
    elaboration.topModules = {_WRAPPER}
    options.preprocessorOptions, options.compilationOptions = preprocessor, elaboration
    return options


def _loader(slang: Any, manager: Any, files: Iterable[Path], libraries: Libraries) -> Any:
    """What reads the sources, and the modules in libraries that they use."""
    loader = slang.driver.SourceLoader(manager)
    for file in files:
        loader.addFiles(str(file))
    for file in libraries.files:
        loader.addLibraryFiles("libraries", str(file))
    for folder in libraries.folders:
        loader.addSearchDirectories(str(folder))
    for extension in libraries.extensions:
        loader.addSearchExtension(extension)
    return loader


def _port(port: Any) -> ModulePort:
    if not hasattr(port, "direction"):
        return ModulePort(port.name, "interface", "interface", None)
    width = None if port.type.isError else port.type.bitWidth if port.type.isIntegral else 0
    return ModulePort(port.name, _DIRECTIONS[port.direction.name], type_text(port.type), width)


def type_text(declared: Any) -> str:
    """A type in SystemVerilog; slang cannot write an enumeration whose values need a package that no source defines."""
    try:
        return str(declared)
    except RuntimeError:
        return "enum"
