"""`unpack`: the values of a quantized model, or its codes and scales, as plain arrays."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import click

from softfloat_ref.app.model_input import chosen, model_options
from softfloat_ref.base.errors import counted, refuse

if TYPE_CHECKING:
    from softfloat_ref.nn.model_files import ModelTensor


@click.command("unpack")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("-o", "--output", metavar="FILE", help=".safetensors, .npz, or .npy for one tensor.")
@click.option("--tensor", "patterns", multiple=True, metavar="PATTERN", help="Only these tensors.")
@click.option("--parts", is_flag=True, help="Write codes and scales, not values.")
@click.option("--lines", type=click.IntRange(1, 4096), metavar="N", help="Print N values a line, in hexadecimal.")
@click.option("--exact", "exactly", is_flag=True, help="Write FP64, which has every product exactly; not FP32.")
@click.option(
    "--arithmetic",
    type=click.Choice(["exact", "producer"]),
    default="exact",
    show_default=True,
    help="Round the exact value once, or with each of the producer's own roundings.",
)
@model_options
def command(
    models: tuple[str, ...],
    output: str | None,
    patterns: tuple[str, ...],
    parts: bool,
    lines: int | None,
    exactly: bool,
    arithmetic: str,
    layouts: tuple[str, ...],
    stored: tuple[str, ...],
) -> None:
    """List the tensors of a MODEL with their layouts, or write what its quantized tensors stand for.

    A model is one or several files, a folder, or an index of shards: .safetensors, .gguf, .onnx, .npz, .npy, .msgpack
    (Flax), PyTorch (.pt, .pth, .bin, .ckpt). Tensors that are not quantized are written as they are stored.
    """
    from softfloat_ref.base.files import check_place
    from softfloat_ref.nn.model_files import model_tensors, unpacked_lines, unpacking

    refuse(
        "unpack",
        ("--lines prints to stdout: leave out -o, --exact", lines is not None and (output is not None or exactly)),
        (
            "--parts, --exact and --arithmetic are about the file: give -o FILE",
            output is None and lines is None and (parts or exactly),
        ),
        ("--exact and --arithmetic are for values, not for --parts", parts and (exactly or arithmetic != "exact")),
        ("--exact has no roundings: leave out --arithmetic producer", exactly and arithmetic == "producer"),
        ("--arithmetic is about values: give -o FILE", output is None and lines is None and arithmetic != "exact"),
    )
    tensors = chosen(model_tensors(models, layouts, stored), patterns)
    if lines is not None:
        for line in unpacked_lines.lines(tensors, lines, parts, arithmetic):
            print(line)
        return
    if output is None:
        _print(tensors)
        return
    check_place(output)
    if parts:
        arrays = list(unpacking.part_arrays(tensors))
    else:
        plain = Path(output).suffix != ".safetensors"
        arrays = list(unpacking.value_arrays(tensors, exactly=exactly, arithmetic=arithmetic, numpy_only=plain))
    unpacking.write_arrays(output, arrays)
    for t in tensors:
        if t.problem or not t.fmt:
            print(f"skipped {t.name}: {t.skipped}", file=sys.stderr)
    size = sum(prod(x.shape) for x in arrays)
    print(f"{output}: {counted(len(arrays), 'array')} of {counted(size, 'value')}", file=sys.stderr)


def _print(tensors: Sequence[ModelTensor]) -> None:
    """A table of the tensors, and the size of all."""
    from softfloat_ref.app.output import print_table

    rows = [("tensor", "shape", "stored", "layout", "bits", "MB")]
    for t in tensors:
        bits = f"{8 * t.nbytes / t.size:.4g}" if t.size and t.fmt else "-"
        shape = "x".join(map(str, t.shape)) or "-"
        rows.append((t.name, shape, t.fmt or t.type, _layout_name(t), bits, f"{t.nbytes / 1e6:.3f}"))
    values, size = sum(t.size for t in tensors), sum(t.nbytes for t in tensors)
    rows.append(("all", str(values), "", "", f"{8 * size / max(1, values):.4g}", f"{size / 1e6:.3f}"))
    print_table(rows)
    for t in tensors:
        if t.problem:
            print(f"skipped {t.name}: {t.problem}")


def _layout_name(t: ModelTensor) -> str:
    from softfloat_ref.nn.model_files.quantized import LayoutTensor

    return t.layout.name if isinstance(t, LayoutTensor) else ""
