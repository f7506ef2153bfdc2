"""The VHDL-2008 package that describes and reads a folder of vectors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from softfloat_ref.base.errors import Error
from softfloat_ref.rtl.testbench import fill_template


def package_text(manifest: Mapping[str, Any], name: str) -> str:
    """The text of the package `vectors_pkg`, for the set of that name whose manifest this is."""
    fields = manifest["fields"]
    return fill_template(
        "vectors_pkg.vhd",
        name=name,
        count=str(manifest["count"]),
        width=str(1 + max(f["msb"] for f in fields)),
        constants=_constants(fields),
        fields=str(len(fields)),
        entries=",\n".join(f"    {i} => {_entry(f)}" for i, f in enumerate(fields, 1)),
    )


def _entry(f: Mapping[str, Any]) -> str:
    return f"(lsb => {f['lsb']}, width => {f['width']}, digits => {f['stride'] // 4}, lanes => {f['lanes']})"


def _constants(fields: Sequence[Mapping[str, Any]]) -> str:
    """Declarations for each field. Raises Error if two would have the same name."""
    names: set[str] = set()
    text = ""
    for f in fields:
        for name, declaration in _declarations(f):
            if name in names:
                raise Error(f"two fields or codes would both be named {name} in VHDL; rename a format of the set")
            names.add(name)
            text += f"  {declaration}\n"
        text += "\n"
    return text.removesuffix("\n")


def _declarations(f: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A field's names, each with its declaration: its bits, then numbers, then the codes of a control field."""
    prefix = _identifier(f"VEC_{f['name']}")
    high = f["lsb"] + (f["width"] - 1 if f["lanes"] == 1 else f["stride"] * f["lanes"] - 1)
    yield prefix, f"subtype {prefix} is natural range {high} downto {f['lsb']};"
    numbers = {"LSB": f["lsb"], "WIDTH": f["width"]}
    if f["lanes"] > 1:
        numbers |= {"STRIDE": f["stride"], "LANES": f["lanes"]}
    for key, value in numbers.items():
        yield _constant(f"{prefix}_{key}", value)
    for value, code in enumerate(f.get("codes", ())):
        if code != "-":
            yield _constant(f"{prefix}_{code}", value)


def _constant(name: str, value: int) -> tuple[str, str]:
    name = _identifier(name)
    return name, f"constant {name} : natural := {value};"


def _identifier(name: str) -> str:
    """A name as a VHDL identifier: no two underscores in a row, and none at the end."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").upper()
