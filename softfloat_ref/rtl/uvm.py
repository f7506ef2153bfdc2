"""What SystemVerilog queries the oracle with: a C file and a package for DPI, stored beside this module; and a UVM
package for a unit, with a transaction of its fields, a predictor that asks the oracle, and a scoreboard."""

from __future__ import annotations

import base64
import bz2
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from softfloat_ref.base.errors import Error, refuse
from softfloat_ref.base.files import make_folder, new_file, write_file
from softfloat_ref.base.search import find_first
from softfloat_ref.base.systemverilog import sv_name
from softfloat_ref.base.tables import choices
from softfloat_ref.base.trees import parse_json
from softfloat_ref.golden.writers.batch import identifier
from softfloat_ref.rtl.port_map import PortMap
from softfloat_ref.rtl.testbench import fill_template
from softfloat_ref.rtl.tolerance import ELEMENTS, SCALE, Nans, nan_results, nan_scale
from softfloat_ref.units import Field, Unit
from softfloat_ref.units.unit import restored, stored

FILES: Final = ("softfloat_ref_dpi.c", "softfloat_ref_pkg.sv")  # with which SystemVerilog queries the oracle
_MAX_LINE: Final = 4000  # characters of a request, as in softfloat_ref_dpi.c
_MAX_DEFINITION: Final = 1 << 24  # bytes of a definition, unpacked
_MAX_RESULT: Final = 128  # bits, as in softfloat_ref_dpi.c
_CHUNK: Final = 100


def write_dpi(folder: str | Path) -> list[Path]:
    """Write the C file and the package for DPI to a folder, created if needed; returns their paths. Raises Error."""
    target = make_folder(folder)
    written = []
    for name in FILES:
        with new_file(target / name) as stream:
            stream.write(Path(__file__).with_name(name).read_bytes())
        written.append(target / name)
    return written


def write_uvm(folder: str | Path, unit: Unit, name: str) -> Path:
    """Write NAME_uvm_pkg.sv to a folder, created if needed; returns its path. Raises Error."""
    text = uvm_text(unit, name)
    path = make_folder(folder) / f"{identifier(name)}_uvm_pkg.sv"
    write_file(path, lambda stream: stream.write(text.encode("ascii", "backslashreplace")))
    return path


def uvm_text(unit: Unit, name: str) -> str:
    """The text of the package. name: of the recipe, with which the names of the classes begin.

    Raises Error for a name that cannot begin an identifier, and for a unit with too long lines.
    """
    unit = unit.compared()
    if not re.match(r"[A-Za-z_]", name):
        raise Error(f"{name!r} names classes, so it must begin with a letter; rename the recipe")
    text, (inputs, outputs) = packed_unit(unit), map(_named, (unit.inputs, unit.outputs))
    fields = (*inputs, *outputs)
    refuse(
        name,
        ("too many inputs or outputs for the DPI package, which takes 4,000 characters", _longest(unit) > _MAX_LINE),
        ("too many different parts for one package; divide the recipe", len(text) > _MAX_LINE - 100),
        ("the DPI package takes results of up to 128 bits", any(f.width > _MAX_RESULT for f in unit.results)),
    )
    controls = [f for f in fields if f.role == "control"]
    return fill_template(
        "uvm_pkg.sv",
        source=name,
        name=identifier(name),
        definition=",\n".join(f'    "{text[i : i + _CHUNK]}"' for i in range(0, len(text), _CHUNK)),
        codes="".join(map(_codes, controls)),
        members="\n".join(map(_member, fields)),
        kind=_kind(controls, name),
        request=_lines(3, map(_asked, inputs)),
        answer=_lines(3, map(_answered, outputs)),
        widest=str(max(f.width for f in unit.outputs)),
        inputs=_shown(" ", inputs),
        outputs=_shown("", outputs),
        copy=_lines(3, (f"{f.name} = other.{f.name};" for f in fields)),
        agrees=" && ".join(map(_agrees, outputs)),
        **_tolerance(unit, identifier(name)),
    )


def _named(fields: Sequence[Field]) -> list[Field]:
    """The fields with their names in SystemVerilog."""
    return [replace(f, name=sv_name(f.name)) for f in fields]


def packed_unit(unit: Unit) -> str:
    """A unit as a word of letters, digits, +, / and =: what a manifest stores of it, compressed, by bz2, whose every
    version writes the same bytes."""
    table = json.dumps(stored(unit), separators=(",", ":"))
    return base64.b64encode(bz2.compress(table.encode())).decode("ascii")


def unpacked_unit(text: str) -> Unit:
    """The unit that `packed_unit` wrote. Raises Error."""
    try:
        table = bz2.BZ2Decompressor().decompress(base64.b64decode(text, validate=True), _MAX_DEFINITION)
        return restored(parse_json(table, "the definition of a unit"))
    except Error:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, OSError, RecursionError):
        raise Error("this is not the definition of a unit; write the UVM package anew") from None


def _longest(unit: Unit) -> int:
    """Characters of the longer one of request and answer."""
    return max(sum((f.digits + 1) * f.lanes for f in fields) for fields in (unit.inputs, unit.outputs))


def _codes(field: Field) -> str:
    """The names of a control field's codes, as an array and as constants."""
    prefix, names = field.name.upper(), ", ".join(f'"{code}"' for code in field.codes)
    lines = [f"localparam string {prefix}_NAMES[{len(field.codes)}] = '{{{names}}};"]
    lines += [
        f"localparam logic [{field.width - 1}:0] {prefix}_{identifier(code).upper()} = {field.width}'d{i};"
        for i, code in enumerate(field.codes)
        if code != "-"
    ]
    return "\n" + _lines(1, lines) + "\n"


def _kind(controls: Sequence[Field], name: str) -> str:
    """What tells the parts of a unit apart, as an expression: the names of its control fields' codes."""
    names = [f"{f.name.upper()}_NAMES[{f.name}]" for f in controls]
    return "{" + ', " ", '.join(names) + "}" if names else f'"{name}"'


def _member(field: Field) -> str:
    lanes = f"[{field.lanes - 1}:0]" if field.lanes > 1 else ""
    what = f"{field.role}, {field.format}" if field.format else field.role
    return f"    logic {lanes}[{field.width - 1}:0] {field.name};  // {what}"


def _asked(field: Field) -> str:
    """The statement that adds a field to a request."""
    if field.lanes == 1:
        return f'text = {{text, $sformatf("%h ", {field.name})}};'
    return f'for (int i = 0; i < {field.lanes}; i++) text = {{text, $sformatf("%h ", {field.name}[i])}};'


def _answered(field: Field) -> str:
    """The statement that sets a field from an answer."""
    code = f"{field.width}'(next_code(answer, at, {field.digits}));"
    if field.lanes == 1:
        return f"{field.name} = {code}"
    return f"for (int i = 0; i < {field.lanes}; i++) {field.name}[i] = {code}"


def _shown(before: str, fields: Iterable[Field]) -> str:
    """The arguments of $sformatf that show fields by name."""
    names = [f.name for f in fields]
    return f'"{before}{" ".join(f"{name}=%h" for name in names)}", {", ".join(names)}'


def _agrees(field: Field) -> str:
    """The condition that an output is right."""
    if field.role == "flags":
        return f"((want.{field.name} ^ got.{field.name}) & compared_flags) === '0"
    return f"seen.{field.name} === want.{field.name}"


def _tolerance(unit: Unit, name: str) -> dict[str, str]:
    """The settings of the scoreboard that accept more, those that have an effect, and the function that obeys them."""
    nans = Nans()
    kinds = {part.properties()["out"]: _excuses(part, unit, nans) for part in unit.parts}
    text = "".join(line for lines in kinds.values() for line in lines)
    used = {key: values for key, values in choices(PortMap).items() if key in text}
    if not used:
        return {"settings": "", "accepted": "", "seen": "got"}
    exact = " && ".join(f'{key} == "exact"' for key in used)
    lines = [
        *nans.lines(),
        "",
        "// The actual outputs, with the expected ones in place of others that the settings accept.",
        f"protected function {name}_item accepted({name}_item want, {name}_item got);",
        f"  {name}_item seen;",
        f"  if ({exact}) return got;",
        *(f"  {line}" for key, values in used.items() for line in _refused(key, values)),
        f'  if (!$cast(seen, got.clone())) `uvm_fatal("SF_CLONE", "not a {name}_item")',
        *(f"  {line}" for line in _by_kind(kinds)),
        "  return seen;",
        "endfunction",
    ]
    return {
        "settings": "".join(
            f'    string    {key} = "exact";  // or {" or ".join(values[1:])}, as in a port map\n'
            for key, values in used.items()
        ),
        "accepted": _lines(2, lines) + "\n\n",
        "seen": "accepted(want, got)",
    }


def _refused(key: str, values: Iterable[str]) -> tuple[str, str]:
    """The statement that refuses another value of a setting."""
    other = " && ".join(f'{key} != "{value}"' for value in values)
    return f"if ({other})", f'  `uvm_fatal("SF_SETTING", {{"{key} must be {" or ".join(values)}, not ", {key}}})'


def _by_kind(kinds: Mapping[str, Sequence[str]]) -> list[str]:
    """Statements for each format of the result, as those of an item need them."""
    if len(kinds) == 1:
        return list(find_first(kinds.values()))
    lines = ["case (want.out)"]
    for out, own in kinds.items():
        lines += [f"  OUT_{identifier(out).upper()}: begin", *(f"    {line}" for line in own), "  end"] if own else []
    return [*lines, "  default: ;", "endcase"]


def _excuses(part: Unit, unit: Unit, nans: Nans) -> list[str]:
    """Statements that put expected outputs in place of those that are accepted, where a part of a unit is done."""
    widths, lines = {f.name: f.width for f in unit.results}, []
    for result, fmt in nan_results(part):
        code = f".{result.name}" + ("[i]" if result.lanes > 1 else "")
        code += f"[{fmt.width - 1}:0]" if fmt.width < widths[result.name] else ""
        want, got = f"want{code}", f"got{code}"
        any_nan, quiet_nan = (nans.test(fmt, got, quiet) for quiet in (False, True))
        accepted = any_nan if any_nan == quiet_nan else f'(compare_nan == "any" ? {any_nan} : {quiet_nan})'
        loop = f"for (int i = 0; i < {result.lanes}; i++) " if result.lanes > 1 else ""
        lines += [
            f'{loop}if (compare_nan != "exact" && {nans.test(fmt, want)} && {accepted})',
            f"  seen{code} = {want};",
        ]
    if scale := nan_scale(part):
        test = nans.test(scale, f"want.{SCALE}")
        lines += [f'if (nan_scale_elements == "any" && {test}) seen.{ELEMENTS} = want.{ELEMENTS};']
    return lines


def _lines(depth: int, lines: Iterable[str]) -> str:
    return "\n".join("  " * depth + line if line else "" for line in lines)
