"""Declarations in the words and the YAML of the IEEE P3109 report (4.6, and the exemplars of its repository): operation
specializations, and kappa of approximate operations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from softfloat_ref import __version__
from softfloat_ref.base.errors import Error
from softfloat_ref.base.tables import from_table, read_file
from softfloat_ref.oracle.blocks.formats import MAX_BLOCK, BlockFormat
from softfloat_ref.oracle.blocks.operations import BLOCK_OPERATIONS
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.formats.meta import EXTERNAL, standard_name
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.oracle.operations.p3109 import GROUPS, SCALED, own_name
from softfloat_ref.oracle.policies import Overflow, Policy, rounding_name
from softfloat_ref.testing.kappa import Kappas, text_of
from softfloat_ref.units import BlockOperationUnit, OperationUnit, Unit

REPORT: Final = "4.0"
ROUNDINGS: Final = {
    "rne": "NearestTiesToEven",
    "rna": "NearestTiesToAway",
    "rup": "TowardPositive",
    "rdn": "TowardNegative",
    "rtz": "TowardZero",
    "rto": "ToOdd",
    "sr": "StochasticA",
    "sr-b": "StochasticB",
    "sr-c": "StochasticC",
}
SATURATIONS: Final = {
    Overflow.SAT_NONE: "SatNone",
    Overflow.SAT_PROPAGATE: "SatPropagate",
    Overflow.SAT_FINITE: "SatFinite",
}
STANDARD: Final = {own: name for _, names in GROUPS.values() for name, own in names.items()} | {
    own: name for name, own in SCALED.items()
}
_OPERANDS: Final = "xyzuvw"


@dataclass(frozen=True)
class Provider:
    """Who declares what: the metadata of a declaration's files. The defaults are this library's own."""

    provider: str = "softfloat_ref"
    email: str = ""
    uri: str = ""
    name: str = "softfloat_ref"
    version: str = __version__
    timestamp: str = ""


def read_provider(path: str | None) -> Provider:
    """The provider of `FILE.toml`, which has the fields of Provider. Raises Error."""
    return Provider() if path is None else read_file(path, lambda table: from_table(Provider, table, "provider"))


def metadata(by: Provider, file: str) -> list[str]:
    """The section that every file begins with."""
    lines = [
        "---",
        "Metadata:",
        "  conformance: IEEE SA P3109",
        f'  version: "{REPORT}"',
        f"  provider: {yaml_string(by.provider)}",
    ]
    if by.email or by.uri:
        lines += ["  contact:", f"    email: {yaml_string(by.email)}", f"    uri: {yaml_string(by.uri)}"]
    lines += ["  implementation:", f"    name: {yaml_string(by.name)}", f"    version: {yaml_string(by.version)}"]
    lines += [f"    timestamp: {yaml_string(by.timestamp)}"] if by.timestamp else []
    return [*lines, f"  file: {file if re.fullmatch(r'[A-Za-z][A-Za-z0-9_.-]*', file) else yaml_string(file)}"]


def yaml_string(text: str) -> str:
    """A text as YAML has it, in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'


# -- specializations ---------------------------------------------------------------------------------------------------


def projection(policy: Policy, out: Format) -> tuple[str, str]:
    """P3109's names of a policy's rounding and saturation. Raises Error for a rounding that it lacks."""
    name = rounding_name(policy.rounding)
    if name not in ROUNDINGS:
        raise Error(f"rounding {name} is not one of P3109's: {', '.join(ROUNDINGS)}")
    bits = f"<{policy.random_count}>" if policy.random_count else ""
    return ROUNDINGS[name] + bits, SATURATIONS[policy.overflow_for(out)]


def specialization(unit: Unit) -> str:
    """A unit as P3109 denotes it: Add<Binary8p4se, Binary8p4se, binary32, (NearestTiesToEven, SatNone)>."""
    if isinstance(unit, OperationUnit):
        result = unit.signature.operation.result
        words = [standard_name(f) for f in unit.formats]
        if result == "float":
            words += [standard_name(unit.out), _pair(projection(unit.policy, unit.out))]
        return f"{standard_operation(unit.op)}<{', '.join(words)}>"
    if isinstance(unit, BlockOperationUnit):
        return f"{standard_operation(unit.op)}<{', '.join(_parameters(unit))}>"
    raise Error(f"{unit.properties()['op']} is not an operation of P3109")


def standard_operation(own: str) -> str:
    """P3109's name of an operation; its own, if P3109 has none."""
    return STANDARD.get(own_name(own), own)


def _parameters(unit: BlockOperationUnit) -> Iterable[str]:
    row, out = unit.row, unit.evaluation.out
    if not row.single:
        yield str(unit.size)
    for x in unit.operands:
        yield from (f"({', '.join(_names(x))})",) if row.single else _names(x)
    yield from _names(unit.out)
    if row.finds_scale and out.scale is not None:
        yield _pair(projection(unit.scale_policy, out.scale))
    yield _pair(projection(unit.policy, out.element))


def _names(x: Format | BlockFormat) -> list[str]:
    return [standard_name(x.scale), standard_name(x.element)] if isinstance(x, BlockFormat) else [standard_name(x)]


def _pair(of: tuple[str, str]) -> str:
    return f"({', '.join(of)})"


# -- kappa -------------------------------------------------------------------------------------------------------------


def check_approximate(name: str) -> None:
    """Raise Error for a name that an approximate operation cannot have."""
    if own_name(name) in {*OPERATIONS, *BLOCK_OPERATIONS}:
        raise Error(f"{name} is the name of an exact operation: an approximate one has a name of its own (P3109 4.4)")


def kappas(measured: Kappas, name: str, method: str, by: Provider, file: str = "Kappas.yaml") -> str:
    """The file of that name for an approximate operation. method: how its cases were chosen. Raises Error."""
    unit = measured.unit
    approximates = standard_operation(str(unit.properties()["op"]))
    check_approximate(name)
    lines = [*metadata(by, file), "# reset context", "Device:", f"  {yaml_string(name)}:"]
    lines += [f"    Approximates: {yaml_string(_signature(unit, approximates))}", "    Kappas:"]
    for where, kappa in measured.declared:
        number = {"Inf": ".inf", "NaN": ".nan"}.get(text_of(kappa), text_of(kappa))
        lines.append(f"      - {{ interval: {yaml_string(where)}, kappa: {number} }}")
    lines += ["    Requires:", *(f"      - {yaml_string(x)}" for x in _requires(unit))]
    rounding, saturation = projection(*_rounded(unit))
    lines += ["    Projections:", f"      RoundingMode: [ {rounding} ]", f"      SaturationMode: [ {saturation} ]"]
    lines += [
        "    Verification:",
        f"      method: {method}",
        f"      note: {yaml_string(f'{measured.compared} cases compared')}",
    ]
    return "\n".join(lines) + "\n"


def _signature(unit: Unit, name: str) -> str:
    letters = _letters(unit)
    return f"{name}<{', '.join([*(f'f{x}' for x in letters), 'fr', 'ρ'])}>({', '.join(letters)}) -> r"


def _letters(unit: Unit) -> str:
    return _OPERANDS[: len(unit.operands)] if isinstance(unit, BlockOperationUnit) else _OPERANDS[: unit.operand_width]


def _requires(unit: Unit) -> list[str]:
    """The formats of operands and result."""
    formats: Sequence[Any] = unit.operands if isinstance(unit, BlockOperationUnit) else unit.input_formats
    out = unit.out if isinstance(unit, BlockOperationUnit) else unit.result_formats[-1]
    named = [*zip(_letters(unit), formats, strict=False), ("r", out)]
    return [f"f{x} in [{', '.join(_names(fmt))}]" for x, fmt in named]


def _rounded(unit: Unit) -> tuple[Policy, Format]:
    if not isinstance(unit, OperationUnit | BlockOperationUnit):
        raise Error(f"{unit.properties()['op']} is not an operation that P3109 projects")
    out = unit.evaluation.out.element if isinstance(unit, BlockOperationUnit) else unit.out
    return unit.policy, out


# -- an implementation -------------------------------------------------------------------------------------------------

BITS: Final = range(3, 17)  # of the formats that this library has


def declaration_files(checked: Sequence[tuple[str, str]], by: Provider) -> dict[str, str]:
    """The files that declare this library: by name, their contents. checked: specializations, and how each was."""
    sections = {
        "Configurations.yaml": _configurations(),
        "Profiles.yaml": _profiles(),
        "Constraints.yaml": ["Empty: true"],
        "Kappas.yaml": ["Empty: true"],
        "Specializations.yaml": [
            "# reset context",
            "Reference:",
            *(
                f"  - {{ specialization: {yaml_string(name)}, verification: {yaml_string(how)} }}"
                for name, how in checked
            ),
        ],
    }
    return {file: "\n".join([*metadata(by, file), *lines]) + "\n" for file, lines in sections.items()}


def _configurations() -> list[str]:
    modes = [name for name in ROUNDINGS.values() if not name.startswith("Stochastic")]
    stochastic = [name for name in ROUNDINGS.values() if name.startswith("Stochastic")]
    return [
        "# reset context",
        "Reference:",
        f"  IEEE754: [{', '.join(EXTERNAL.values())}]",
        "  Projections:",
        "    Rounding:",
        *(f"      - {name}" for name in modes),
        *(f"      - {name}: {{ bits: (' 1:64 ') }}" for name in stochastic),
        "    Saturation:",
        *(f"      - {name}" for name in SATURATIONS.values()),
        "  BlockSizes:",
        "    core: 32",
        f"    supported: (' 1:{MAX_BLOCK} ')",
        "  KappaApproximate: []",
    ]


def _profiles() -> list[str]:
    ends = 'for j in ["e", "f"]'
    signed = [f"    - (' \"Binary{k}p$(i)s$(j)\" for i in 1:{k - 1} {ends} ')" for k in BITS]
    unsigned = [f"    - (' \"Binary{k}p$(i)u$(j)\" for i in 1:{k} {ends} ')" for k in BITS]
    return ["# reset context", "Reference:", "  formats:", *signed, *unsigned]
