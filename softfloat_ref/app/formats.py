"""`formats list`, `formats show`, `formats table`."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from softfloat_ref.app.options import ANY, SCALAR, Commands, scalar_format
from softfloat_ref.base.errors import Error, one_line
from softfloat_ref.explanation.scalar import fields, value_text
from softfloat_ref.oracle.blocks.formats import BLOCK_FORMATS, BlockFormat, any_format
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import ALIASES, CATALOGUE, GRAMMAR_HELP, Format
from softfloat_ref.oracle.literals import hexadecimal, shortest

MAX_TABLE_BITS = 16


@click.group("formats", cls=Commands)
def command() -> None:
    """List the number formats, show one, or list its codes."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print full definitions as JSON.")
def list_formats(as_json: bool) -> None:
    """List the formats, one per line."""
    if as_json:
        print(json.dumps([f.to_dict() for f in CATALOGUE.values()], indent=1))
        return
    print(f"{'name':17}{'bits':>5}{'exp':>4}{'man':>4}{'bias':>6}  {'largest':>23} {'smallest':>23}  specials")
    for f in CATALOGUE.values():
        largest, smallest = (shortest(decoder(f)(code)) for code in (f.max_code, f.min_code))
        print(
            f"{f.name:17}{f.width:5}{f.exponent_bits:4}{f.mantissa_bits:4}{f.bias:6}  "
            f"{largest:>23} {smallest:>23}  {_specials(f)}"
        )
    for b in BLOCK_FORMATS.values():
        print(f"{b.name:17}blocks of {b.size} {b.element.name}, scale {b.scale.name}")
    sys.stdout.flush()  # a pipe, too, has the list before the note, and a closed one no note
    print(f"{GRAMMAR_HELP}; P3109: binary3p1ue to binary16p15sf", file=sys.stderr)


def _specials(f: Format) -> str:
    words = ["inf"] if f.infinity else []
    words += ["nan"] if f.has_nan else []
    words += ["-0"] if f.negative_zero else []
    return " ".join(words) or "none"


@command.command("show")
@click.argument("names", nargs=-1, required=True, type=ANY)
@click.option("--json", "as_json", is_flag=True, help="Print the full definition as JSON.")
def show(names: tuple[str, ...], as_json: bool) -> None:
    """Show constants, ranges and special codes of formats."""
    formats = [any_format(n) for n in names]
    if as_json:
        print(json.dumps([_definition(f) for f in formats], indent=1))
        return
    print("\n\n".join(_show_block(f) if isinstance(f, BlockFormat) else _show(f) for f in formats))


def _definition(f: Format | BlockFormat) -> dict[str, Any]:
    if isinstance(f, Format):
        return f.to_dict()
    return {"name": f.name, "element": f.element.to_dict(), "scale": f.scale.to_dict(), "size": f.to_dict()["size"]}


def _show_block(b: BlockFormat) -> str:
    source = one_line(b.source)
    rows = (("element", b.element.name), ("scale", b.scale.name), ("block", b.size_name), ("source", source))
    return "\n".join([b.name, *(f"  {label:14}{text}" for label, text in rows)])


def _show(f: Format) -> str:
    bit = ", integer bit 1" if f.explicit_bit else ""
    rows = [("bits", f"{f.width}: sign {int(f.signed)}, exponent {f.exponent_bits}{bit}, mantissa {f.mantissa_bits}")]
    if f.twos_complement:
        rows.append(("layout", f"two's complement, unit 2^{f.emin - f.mantissa_bits}"))
        rows.append(("largest", _code_row(f, f.max_code)))
        rows.append(("lowest", _code_row(f, f.sign_bit)))
    else:
        rows.append(("bias", str(f.bias)))
        rows.append(("max normal", _code_row(f, f.max_code)))
        if f.has_normals:
            rows.append(("min normal", _code_row(f, f.min_normal_code)))
        if f.subnormals == "gradual" and f.mantissa_bits:
            rows.append(("min subnormal", _code_row(f, 1)))
    rows.append(("zero", "no" if not f.zero else "+0 and -0" if f.negative_zero else "one"))
    rows.append(("inf", f.hex(f.inf_code) if f.infinity else "none"))
    rows.append(("nan", _nan_text(f)))
    rows.append(("overflow", f.overflow))
    rows.append(("source", one_line(f.source)))
    names = [a for a, name in ALIASES.items() if name == f.name]
    if names:
        rows.append(("aliases", ", ".join(names)))
    return "\n".join([f.name, *(f"  {label:14}{text}" for label, text in rows)])


def _nan_text(f: Format) -> str:
    if not f.has_nan:
        return "none"
    quiet = " (canonical; a clear quiet bit signals)" if f.signaling else ""
    return f.hex(f.canonical_nan) + quiet


def _code_row(f: Format, code: int) -> str:
    value = decoder(f)(code)
    return (
        f"{_digits(float(value)) if abs(float(value)) not in (0.0, float('inf')) else shortest(value)} = "
        f"{hexadecimal(value)}  [{f.hex(code)}]"
    )


def _digits(x: float) -> str:
    """Up to seventeen digits, in exponent form if that is shorter."""
    text = repr(x)
    return f"{x:.16e}" if "e" in text and len(text) > 22 else text


@command.command("table")
@click.argument("name", type=SCALAR)
def table(name: str) -> None:
    """List every code of a format: its fields and exact value."""
    f = scalar_format(name)
    if f.width > MAX_TABLE_BITS:
        raise Error(f"{f.name} has 2^{f.width} codes; the limit is {MAX_TABLE_BITS} bits (`decode` shows single codes)")
    decode = decoder(f)
    for code in range(1 << f.width):
        print(f"{f.hex(code)}  {fields(code, f)}  {value_text(decode(code))}")
