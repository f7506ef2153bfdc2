"""`quantize --fmt qint8`: values or arrays to affine integers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from softfloat_ref import exact
from softfloat_ref.affine_formats import (
    FP32,
    AffineFormat,
    Parameters,
    Rule,
    choose,
    dequantize_value,
    get_affine_format,
    get_rule,
    quantize_value,
)
from softfloat_ref.app.options import Choices
from softfloat_ref.block_formats import VALUE_BITS
from softfloat_ref.codec import check_random, decoder, to_value
from softfloat_ref.errors import Error
from softfloat_ref.exact import Value
from softfloat_ref.files import write_file
from softfloat_ref.literals import parse_number, shortest

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Job(NamedTuple):
    """What the options ask for."""

    fmt: AffineFormat
    rule: Rule
    choices: Choices

    @property
    def policy(self) -> Any:
        """The policy, where an option of it was typed."""
        return self.choices.policy if self.choices.given else None


class Result(NamedTuple):
    """Integers with what they were made by, as text has them."""

    fmt: AffineFormat
    parameters: Parameters
    inputs: list[str]
    integers: list[int]


def run(
    fmt: str,
    rule: str | None,
    choices: Choices,
    given: list[str] | NDArray[Any],
    output: str | None,
    form: str | None,
) -> None:
    """Quantize numbers as text, or an array, and print or write the result. Raises Error."""
    job = Job(get_affine_format(fmt), get_rule("exact" if rule is None else rule), choices)
    axis = _axis()
    if not isinstance(given, list):
        _array(job, given, axis, output, form)
        return
    if axis is not None:
        raise Error("--axis is for .npy input; numbers as text have one scale")
    text = "".join(line + "\n" for line in lines(_texts(job, given), form))
    if output is None:
        sys.stdout.write(text)
    elif form is not None and Path(output).suffix in (".txt", ".csv", ".json"):
        write_file(output, lambda stream: stream.write(text.encode()))
    else:
        raise Error(f"{output}: numbers as text go to .txt, .csv or .json, with --as value, hex or json")


def _texts(job: Job, texts: list[str]) -> Result:
    """Numbers as text, quantized together: one scale and zero point."""
    values = [to_value(parse_number(text), VALUE_BITS) for text in texts]
    words = job.choices.words(len(values))
    for word in [None] if words is None else words:
        check_random(job.choices.policy, word)
    parameters = choose(*_range(values, job.rule), job.fmt, job.rule)
    drawn = [0] * len(values) if words is None else words
    pairs = zip(values, drawn, strict=True)
    return Result(
        job.fmt,
        parameters,
        texts,
        [quantize_value(x, parameters, job.fmt, job.rule, job.policy, r) for x, r in pairs],
    )


def _range(values: list[Value], rule: Rule) -> tuple[Value, Value]:
    finite = [x for x in values if x.is_finite]
    if rule.range == "error" and len(finite) < len(values):
        raise Error(f"a NaN or Inf, which affine rule {rule.name} has no range for")
    low = high = exact.zero(0)
    for x in finite:
        low = x if exact.compare(x, low) < 0 else low
        high = x if exact.compare(x, high) > 0 else high
    return low, high


def _axis() -> int | None:
    """--axis, where it was typed: its default means the last one, for blocks."""
    context = click.get_current_context()
    typed = context.get_parameter_source("axis") is click.core.ParameterSource.COMMANDLINE
    return context.params["axis"] if typed else None


def _array(job: Job, array: NDArray[Any], axis: int | None, output: str | None, form: str | None) -> None:
    """An array, per tensor, or per channel along an axis, to a file."""
    import numpy as np

    from softfloat_ref import affine

    words = job.choices.words(array.size)
    shaped = None if words is None else np.array(words, np.uint64).reshape(array.shape)
    q = affine.quantize(array, job.fmt, axis, job.rule, job.policy, shaped)
    if output is None or Path(output).suffix not in (".npy", ".npz"):
        raise Error("arrays of affine integers go to -o FILE.npy (values, or codes with --as hex) or FILE.npz")
    if output.endswith(".npy"):
        out = q.codes if form == "hex" else q.dequantize()
        write_file(output, lambda stream: np.save(stream, out, allow_pickle=False))
        return
    name = np.array(job.fmt.name)
    parts = {"format": name, "integers": q.integers, "scale": q.scale, "zero_point": q.zero_point}
    write_file(output, lambda stream: np.savez(stream, **parts, values=q.dequantize()))  # type: ignore[arg-type]


def lines(result: Result, form: str | None) -> Iterator[str]:
    """The result as it is printed."""
    decode = decoder(FP32)
    values = [decode(dequantize_value(q, result.parameters)) for q in result.integers]
    digits, mask = -(-result.fmt.bits // 4), (1 << result.fmt.bits) - 1
    codes = [f"{q & mask:0{digits}x}" for q in result.integers]
    scale, zero_point = decode(result.parameters.scale), result.parameters.zero_point
    match form:
        case "value":
            yield " ".join(map(shortest, values))
        case "hex":
            yield " ".join(codes)
        case "json":
            table = {"format": result.fmt.name, "scale": FP32.hex(result.parameters.scale), "zero_point": zero_point}
            yield json.dumps({**table, "integers": result.integers, "values": [*map(shortest, values)]}, indent=1)
        case _:
            yield f"scale {FP32.hex(result.parameters.scale)} = {shortest(scale)}, zero point {zero_point}"
            width, places = (max(map(len, map(str, x))) for x in (result.inputs, result.integers))
            for text, q, code, value in zip(result.inputs, result.integers, codes, values, strict=True):
                yield f"{text:>{width}}  {q:>{places}}  {code}  {shortest(value)}"
