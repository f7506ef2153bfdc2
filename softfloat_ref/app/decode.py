"""`decode`: codes to exact values."""

from __future__ import annotations

import json

import click

from softfloat_ref.app.options import SCALAR, scalar_format
from softfloat_ref.explanation.scalar import describe, fields
from softfloat_ref.oracle.codec import check_code, decoder
from softfloat_ref.oracle.literals import hexadecimal, parse_code, writer


@click.command("decode")
@click.option("--fmt", required=True, type=SCALAR, help="The format of the codes.")
@click.option("--as", "form", type=click.Choice(["table", "value", "json"]), default="table", show_default=True)
@click.argument("codes", nargs=-1, required=True)
def command(fmt: str, form: str, codes: tuple[str, ...]) -> None:
    """Decode CODES (hexadecimal) to their exact values."""
    scalar = scalar_format(fmt)
    parsed = [check_code(parse_code(c), scalar) for c in codes]
    decode = decoder(scalar)
    if form == "table":
        for code in parsed:
            print(f"{describe(code, scalar)}  [{fields(code, scalar)}]")
        return
    values = [decode(code) for code in parsed]
    text = writer(scalar.mantissa_bits + 1)
    if form == "value":
        print("\n".join(text(v) for v in values))
        return
    rows = [
        {"code": scalar.hex(c), "value": text(v), "hex": hexadecimal(v) if v.is_finite else None}
        for c, v in zip(parsed, values, strict=True)
    ]
    print(json.dumps({"format": scalar.name, "codes": rows}, indent=1))
