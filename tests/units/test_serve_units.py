"""`eval --serve` for units of every kind: fields by name, all codes that come out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from softfloat_ref.app.serve import Server
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.sources import Philox
from softfloat_ref.units import make_unit

TANH: Final = Path(__file__).parents[2] / "docs" / "examples" / "tanh_bf16" / "tanh_bf16.toml"


@pytest.mark.parametrize(
    ("line", "op", "fmt", "options", "fields"),
    [
        ("--fmt qint8", "quantize", "qint8", {}, "value=32 scale=32 zero_point=8 integer=8"),
        (
            "--fmt quint4_sym --out bf16 --profile torch rtz",
            "quantize",
            "quint4_sym",
            {"out": "bf16", "profile": "torch", "policy": {"rounding": "rtz"}},
            "value=16 scale=32 integer=4",
        ),
        ("--fmt qint8", "dequantize", "qint8", {}, "integer=8 scale=32 zero_point=8 value=32"),
        ("--fmt mxfp8", "quantize", "mxfp8", {}, "values=32x32 scale=8 elements=8x32"),
        ("--fmt mxfp4", "dequantize", "mxfp4", {}, "scale=8 elements=4x32 values=32x32"),
        (
            "--fmt mxfp8 --acc mx-fp32",
            "dot",
            "mxfp8",
            {"acc": "mx-fp32"},
            "a_scale=8 a=8x32 b_scale=8 b=8x32 c=32 result=32",
        ),
        ("--fmt fp16 --k 4 --out fp16", "dot", "fp16", {"k": 4, "out": "fp16"}, "a=16x4 b=16x4 c=16 result=16"),
        (
            "--fmt fp16 --k 2 --m 2 --n 1",
            "matmul",
            "fp16",
            {"k": 2, "m": 2, "n": 1},
            "a=16x4 b=16x2 c=32x2 result=32x2",
        ),
        ("--fmt bf16", str(TANH), "bf16", {}, "a=16 result=16"),
    ],
)
def test_every_kind(line: str, op: str, fmt: str, options: dict[str, Any], fields: str) -> None:
    server, unit = Server(), make_unit(op, fmt, **options)
    assert server.answer(f"open {op} {line}".encode()) == f"context 0 {fields}\n".encode()
    lanes = [f for f in unit.outputs for _ in range(f.lanes)]
    vectors = VectorSet(unit, 20)
    for found in filter(None, map(vectors.line, vectors.inputs())):
        inputs, outputs = found[: unit.input_width], found[unit.input_width :]
        right = " ".join(f"{x:0{f.digits}x}" for x, f in zip(outputs, lanes, strict=True))
        asked = " ".join(f"{x:x}" for x in inputs)
        assert server.answer(f"0 {asked}".encode()).decode() == right + "\n"


def test_random_words_of_blocks() -> None:
    """A line's last operands, one an element; or a source's, drawn by each line in turn."""
    server = Server()
    opened = server.answer(b"open quantize sr --sr-bits 4 --fmt mxfp8")
    assert opened == b"context 0 values=32x32 random=4x32 scale=8 elements=8x32\n"
    server.answer(b"open quantize sr --sr-bits 4 --seed 3 --fmt mxfp8")
    values = " ".join(f"{0x3F800000 + 12345 * i:x}" for i in range(32))
    words = Philox(3).bits(4, 0, 64)
    for own in (words[:32], words[32:]):
        given = " ".join(f"{w:x}" for w in own)
        assert server.answer(f"1 {values}".encode()) == server.answer(f"0 {values} {given}".encode())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("open quantize --fmt fp16", "quantize works on blocks"),
        ("open quantize --fmt qint8 --acc exact", "--acc is for dot"),
        ("open fma --fmt fp16 --k 4", "--k is for dot"),
        ("open fma --fmt fp16 --profile ocp", "--profile is for quantize"),
        ("open dot --fmt fp16 --profile ocp", "--profile is for quantize"),
        ("open dot rtz --fmt fp16", "an accumulator has its own roundings"),
        ("0 40200000 3f800000", "2 fields, but 3 operands are needed"),
        ("0 40200000 3f800000 105", "'105' may be decimal or hexadecimal, of 8 bits; write 8'd105 or 0x105"),
        ("0 40200000 0 05", "a scale must be a positive finite number"),
    ],
)
def test_errors(line: str, message: str) -> None:
    server = Server()
    server.answer(b"open quantize --fmt qint8")
    answer = server.answer(line.encode()).decode()
    assert answer.startswith("error ")
    assert message in answer
    assert server.answer(b"0 40200000 3f800000 05") == b"08\n"
