"""SystemVerilog modules: their ports and parameters, as the front end slang (pyslang) elaborates them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.rtl.bench_runs import source_files

_WRAPPER: Final = "softfloat_ref_wrapper"  # instantiates the module that is read
_DIRECTIONS: Final = {"In": "input", "Out": "output", "InOut": "inout", "Ref": "ref"}


@dataclass(frozen=True)
class Expression:
    """The value of a parameter as SystemVerilog text: a constant of a package, an expression or a type."""

    text: str


Parameters = Mapping[str, int | str | Expression]


@dataclass(frozen=True)
class Port:
    """A port of a module. direction: input, output, inout, ref or interface; type: its text in SystemVerilog.

    width: in bits, 0 if the type is not a vector, None if the sources do not define it.
    """

    name: str
    direction: str
    type: str
    width: int | None


@dataclass(frozen=True)
class Module:
    """A module with values for its parameters. unset: the parameters that have neither a value nor a default."""

    name: str
    parameters: tuple[str, ...]
    unset: tuple[str, ...]
    ports: Mapping[str, Port]


def instance(module: str, parameters: Parameters) -> str:
    """The start of an instantiation named `dut`, up to its ports."""
    values = [f".{name}({_value(value)})" for name, value in parameters.items()]
    return f"{module} #({', '.join(values)}) dut" if values else f"{module} dut"


def _value(value: int | str | Expression) -> str:
    if isinstance(value, Expression):
        return value.text
    return string_literal(value) if isinstance(value, str) else str(value)


def string_literal(text: str) -> str:
    """A string as a SystemVerilog literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


def read_module(
    sources: Iterable[str | Path],
    name: str,
    parameters: Parameters | None = None,
    *,
    include_dirs: Iterable[str | Path] = (),
    defines: Mapping[str, object] | None = None,
) -> Module:
    """The module of that name in the sources, which share their macros as they do in a simulator.

    Raises Error if no source defines it, if an included file is missing, and without pyslang. The simulator reports all
    other errors of the sources.
    """
    files, folders = source_files(sources), [str(Path(folder).resolve()) for folder in include_dirs]
    slang = _pyslang()
    manager = _source_manager(slang, folders)
    options = _options(slang, defines or {})
    tree = slang.syntax.SyntaxTree.fromFiles([str(file) for file in files], manager, options)
    wrapper = f"module {_WRAPPER}; {instance(name, parameters or {})} (); endmodule"
    compilation = slang.ast.Compilation(options)
    compilation.addSyntaxTree(tree)
    compilation.addSyntaxTree(slang.syntax.SyntaxTree.fromText(wrapper, manager, _WRAPPER, "", options))
    dut = next(iter(compilation.getRoot().topInstances[0].body))
    found = isinstance(dut, slang.ast.InstanceSymbol)
    for error in (d for d in tree.diagnostics if d.isError()):
        if error.code == slang.Diags.CouldNotOpenIncludeFile:
            searched = " or ".join(folders) or "any folder"
            raise Error(f"{_place(manager, error)}: included file {error.args[0]} not found in {searched}")
        if not found:
            raise Error(f"{_place(manager, error)}: {slang.DiagnosticEngine(manager).formatMessage(error)}")
    if not found:
        names = [d.name for d in compilation.getDefinitions() if d.name != _WRAPPER]
        raise Error(f"no source defines a module {name}; the modules are {', '.join(names) or 'none'}")
    return _module(slang, name, dut.body)


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
    preprocessor, elaboration = slang.parsing.PreprocessorOptions(), slang.ast.CompilationOptions()
    preprocessor.predefines = [f"{key}={value}" for key, value in defines.items()]
    elaboration.topModules = {_WRAPPER}
    return slang.Bag([preprocessor, elaboration])


def _place(manager: Any, diagnostic: Any) -> str:
    place = manager.getFullyExpandedLoc(diagnostic.location)
    return f"{manager.getFileName(place)}:{manager.getLineNumber(place)}"


def _module(slang: Any, name: str, body: Any) -> Module:
    parameters = [p for p in body.parameters if not p.isLocalParam]
    values = [p for p in parameters if isinstance(p, slang.ast.ParameterSymbol)]
    ports = [_port(p) for p in body.portList if p.name]
    return Module(
        name,
        parameters=tuple(p.name for p in parameters),
        unset=tuple(p.name for p in values if p.initializer is None),
        ports={p.name: p for p in ports},
    )


def _port(port: Any) -> Port:
    if not hasattr(port, "direction"):
        return Port(port.name, "interface", "interface", None)
    width = None if port.type.isError else port.type.bitWidth if port.type.isIntegral else 0
    return Port(port.name, _DIRECTIONS[port.direction.name], str(port.type), width)
