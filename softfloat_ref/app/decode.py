"""`decode`: codes to exact values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from softfloat_ref.app.model_input import model_options, one_tensor
from softfloat_ref.app.options import SCALAR, scalar_format, show_spelling
from softfloat_ref.base.errors import Error
from softfloat_ref.explanation.scalar import describe, fields
from softfloat_ref.oracle.codec import check_code, decoder
from softfloat_ref.oracle.literals import hexadecimal, parse_code, writer

if TYPE_CHECKING:
    from softfloat_ref.nn.model_files import ModelTensor


@click.command("decode")
@click.option("--fmt", type=SCALAR, help="The format of the codes.")
@click.option("-i", "--input", "model", metavar="MODEL", help="Decode a tensor of a model, in place of codes.")
@click.option("--tensor", metavar="NAME", help="Of a model: the tensor [its only one].")
@click.option("-n", "count", type=click.IntRange(min=1), help="Of a tensor: the number of values, from its first [16].")
@click.option("--as", "form", type=click.Choice(["table", "value", "json"]), default="table", show_default=True)
@click.argument("codes", nargs=-1)
@model_options
def command(
    fmt: str | None,
    model: str | None,
    tensor: str | None,
    count: int | None,
    form: str,
    codes: tuple[str, ...],
    layouts: tuple[str, ...],
    stored: tuple[str, ...],
) -> None:
    """Decode CODES (hexadecimal) to their exact values; or those of a tensor of a model, with their scales."""
    if model is not None:
        if codes or fmt is not None:
            raise Error("a model has its own codes and formats: leave out CODES and --fmt")
        _decode_tensor(one_tensor(model, tensor, "decode", layouts, stored), count or 16, form)
        return
    if tensor is not None or count is not None or layouts or stored:
        raise Error("--tensor, -n, --layouts and --stored are about a model: give -i MODEL")
    if fmt is None or not codes:
        raise Error("give --fmt FORMAT and CODES, or -i MODEL")
    show_spelling(fmt)
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


def _decode_tensor(tensor: ModelTensor, count: int, form: str) -> None:
    """The first values of a tensor, each with its code and, if it is quantized, what that stands for without scales."""
    from softfloat_ref.nn.model_files import QuantizedTensor

    count = min(count, tensor.size)
    quantized = isinstance(tensor, QuantizedTensor)
    if isinstance(tensor, QuantizedTensor):
        values, element = tensor.read_exactly(0, count), scalar_format(tensor.element)
    else:
        values, element = tensor.read(0, count), scalar_format(tensor.fmt)
    codes = tensor.codes(0, count).tolist()
    texts = [repr(x) for x in values.tolist()]
    if form == "value":
        print("\n".join(texts))
    elif form == "json":
        rows = [{"code": element.hex(c), "value": v} for c, v in zip(codes, texts, strict=True)]
        print(json.dumps({"tensor": tensor.name, "format": tensor.fmt, "codes": rows}, indent=1))
    else:
        print(f"{tensor.name}  {'x'.join(map(str, tensor.shape))}  {tensor.fmt}")
        for code, text in zip(codes, texts, strict=True):
            print(f"{describe(code, element)}  [{fields(code, element)}]" + (f"  scaled {text}" if quantized else ""))
