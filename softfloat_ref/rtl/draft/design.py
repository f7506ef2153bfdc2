"""What the source of a module says of it: the parts of its ports, its parameters, constants, clock edges and tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_text
from softfloat_ref.rtl.draft.selections import Selection, read_selections
from softfloat_ref.rtl.draft.uses import Evidence, UsesReader
from softfloat_ref.rtl.module_ports import Elaborated, Parameters, type_text

_IN_PACKAGE: Final = re.compile(r"\w+::\w+")
_MAX_CODE: Final = 64  # bits; larger constants encode nothing
_MACRO: Final = re.compile(
    r"^[ \t]*`define[ \t]+(\w+)[ \t]+(?:(\d[\d_]*)|\d*'[sS]?([bdohBDOH])[ \t]*([\da-fA-F][\da-fA-F_]*))[ \t]*(?://.*|/\*.*)?$",
    re.MULTILINE,
)
_BASES: Final = {"b": 2, "d": 10, "o": 8, "h": 16}


class WrapperError(Error):
    """A port that a port map cannot connect by itself, but through a wrapper."""


@dataclass(frozen=True)
class Leaf:
    """A part of a port that is a number. path: as "", ".NV" or "[2]"; codes: the names of an enumeration; type: in
    SystemVerilog."""

    path: str
    lsb: int
    width: int
    codes: Mapping[str, int] = field(default_factory=dict)
    type: str = ""


@dataclass(frozen=True)
class Signal:
    """A port, input or output. type: in SystemVerilog; packed: whether it is a vector, with the leaves where they are.

    A port that is not packed is as a wrapper flattens it: index 0 of an array lowest, the first member of a structure
    highest. net: whether it is an array of vectors whose type a net can have.
    """

    name: str
    direction: str
    type: str
    leaves: tuple[Leaf, ...]
    packed: bool = True
    array: bool = False
    net: bool = False

    @property
    def width(self) -> int:
        """In bits."""
        return sum(leaf.width for leaf in self.leaves)

    @property
    def enumeration(self) -> str:
        """The name of its type outside the module, if it is an enumeration."""
        leaf = self.leaves[0]
        return leaf.type if leaf.codes and not leaf.path and _IN_PACKAGE.fullmatch(leaf.type) else ""

    @property
    def plain(self) -> bool:
        """Whether it is a vector or an array, and not a structure."""
        return not self.leaves[0].path.startswith(".")


@dataclass(frozen=True)
class ModuleParameter:
    """A parameter of a module. default: its text, None if it has none."""

    name: str
    default: str | None


@dataclass(frozen=True)
class SourceModule:
    """A module. source: its file and line; values: given for its
    parameters; constants: the integers named in it and in packages; uses, selections: by port."""

    name: str
    source: str
    signals: tuple[Signal, ...]
    parameters: tuple[ModuleParameter, ...]
    values: Parameters
    constants: Mapping[str, int]
    uses: Mapping[str, Evidence]
    selections: Mapping[str, tuple[Selection, ...]] = field(default_factory=dict)


def read_design(elaborated: Elaborated, name: str, values: Parameters) -> SourceModule:
    """The module that slang elaborated, with the values given for its parameters. Raises Error for a value of no
    parameter, and for ports that neither a port map nor a wrapper can connect."""
    parameters = tuple(_parameters(elaborated.body))
    own = [parameter.name for parameter in parameters]
    for unknown in (x for x in values if x not in own):
        raise Error(f"{name} has no parameter {unknown} (-G {unknown}); its parameters are {', '.join(own) or 'none'}")
    for parameter in parameters:
        if parameter.default is None and parameter.name not in values:
            raise Error(f"parameter {parameter.name} of {name} has no default; give -G {parameter.name}=VALUE")
    signals = tuple(_signal(elaborated.slang.ast, port) for port in elaborated.body.portList if port.name)
    source = Path(elaborated.place(elaborated.body.definition.location)).name
    reader = UsesReader(elaborated)
    uses, constants = reader.all(), dict(_constants(elaborated))
    return SourceModule(name, source, signals, parameters, values, constants, uses, read_selections(reader))


def _parameters(body: Any) -> Iterator[ModuleParameter]:
    for symbol in body.parameters:
        if symbol.isPortParam and not symbol.isLocalParam:
            text = str(symbol.syntax or "").partition("=")
            default = " ".join(re.sub(r"//[^\n]*|/\*.*?\*/", " ", text[2], flags=re.DOTALL).split())
            yield ModuleParameter(symbol.name, default if text[1] else None)


def _constants(elaborated: Elaborated) -> Iterator[tuple[str, int]]:
    """The named integers: macros, then those of the packages, then of the module."""
    yield from _macros(elaborated.files)
    packages = [p for p in elaborated.root.compilation.getPackages() if p.name != "std"]
    for scope in (*packages, elaborated.body):
        for symbol in scope:
            if isinstance(symbol, elaborated.slang.ast.ParameterSymbol) and _is_code(symbol):
                yield symbol.name, int(symbol.value.value)


def _macros(files: Iterable[Path]) -> Iterator[tuple[str, int]]:
    """The macros that stand for a number; not those that stand for several, as in the branches of an `ifdef."""
    values: dict[str, set[int]] = {}
    for file in files:
        for name, plain, base, digits in _MACRO.findall(read_text(file, limits.SOURCE, errors="replace")):
            with suppress(ValueError):  # 2'b3
                values.setdefault(name, set()).add(int(plain or digits, _BASES[base.lower()] if base else 10))
    return ((name, numbers.pop()) for name, numbers in values.items() if len(numbers) == 1)


def _is_code(symbol: Any) -> bool:
    kind = symbol.type
    return kind.isIntegral and kind.bitWidth <= _MAX_CODE and not kind.isStruct and _is_known(symbol)


def _is_known(symbol: Any) -> bool:
    """Whether a constant has a value, without X: it has none if it needs a package that no source defines."""
    return symbol.value.value is not None and not symbol.value.hasUnknown()


# -- ports ---------------------------------------------------------------------------------------------------------


def _signal(ast: Any, port: Any) -> Signal:
    if not hasattr(port, "direction"):
        raise Error(
            f"port {port.name} is an interface, which a port map cannot connect; write a module around it whose ports "
            "are vectors, and draft that"
        )
    if port.direction.name not in ("In", "Out"):
        raise Error(f"port {port.name} is {port.direction.name.lower()}; a port map connects inputs and outputs only")
    kind = port.type.canonicalType
    if port.type.isError:
        raise Error(f"port {port.name}: the sources do not define its type")
    leaves = tuple(_leaves(ast, port.name, port.type, "", 0))
    text = _named(port.type)
    direction = "input" if port.direction.name == "In" else "output"
    array = isinstance(kind, ast.FixedSizeUnpackedArrayType) or _is_array(kind)
    return Signal(port.name, direction, text, leaves, kind.isIntegral, array, _fits_net(ast, kind))


def _fits_net(ast: Any, kind: Any) -> bool:
    """Whether a type is an unpacked array of vectors with X and Z."""
    array = isinstance(kind, ast.FixedSizeUnpackedArrayType)
    while isinstance(kind, ast.FixedSizeUnpackedArrayType):
        kind = kind.elementType.canonicalType
    return bool(array and kind.isIntegral and kind.isFourState)


def _named(declared: Any) -> str:
    """The text of a type; of one that the module declares for itself, what it stands for."""
    text, kind = type_text(declared), declared.canonicalType
    if "." not in text or kind.isIntegral or not hasattr(kind, "elementType"):
        return text if "." not in text else str(kind)
    inner, _, dimensions = _named(kind.elementType).partition("$")
    return f"{inner}$[{kind.range.left}:{kind.range.right}]{dimensions}"


def _is_array(kind: Any) -> bool:
    """Whether a packed type is an array of more than bits."""
    return bool(kind.isPackedArray and kind.elementType.canonicalType.bitWidth > 1)


def _leaves(ast: Any, name: str, declared: Any, path: str, lsb: int) -> Iterator[Leaf]:
    """The numbers in a type, from its lowest bit on; of a vector of bits, the vector."""
    kind = declared.canonicalType
    if isinstance(kind, ast.FixedSizeUnpackedArrayType) or _is_array(kind):
        width = _width(kind.elementType)
        indices = sorted(range(kind.range.lower, kind.range.upper + 1))
        if kind.isIntegral and kind.range.left < kind.range.right:
            indices.reverse()
        for place, index in enumerate(indices):
            yield from _leaves(ast, name, kind.elementType, f"{path}[{index}]", lsb + place * width)
    elif isinstance(kind, ast.PackedStructType | ast.UnpackedStructType):
        for member in reversed([m for m in kind if isinstance(m, ast.FieldSymbol)]):
            yield from _leaves(ast, name, member.type, f"{path}.{member.name}", lsb)
            lsb += _width(member.type)
    elif kind.isIntegral:
        codes = {m.name: int(m.value.value) for m in kind if _is_known(m)} if kind.isEnum else {}
        yield Leaf(path, lsb, kind.bitWidth, codes, _named(declared))
    else:
        raise Error(f"port {name}{path} is of type {declared}, which no vector carries; write a module around it")


def _width(declared: Any) -> int:
    kind = declared.canonicalType
    return int(kind.bitWidth if kind.isIntegral else kind.bitstreamWidth)
