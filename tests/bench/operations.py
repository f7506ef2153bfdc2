"""Rates of operations on arrays, vectors to a file, and a stream of operand lines; for `bench arrays`."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from softfloat_ref.arrays import operations
from softfloat_ref.arrays.convert import code_dtype
from softfloat_ref.golden import bulk
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.kinds import Cases
from softfloat_ref.golden.parts import batches
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.operations import signature

from .peers import installed
from .rates import Row, median_rate

ELEMENTS: Final = 1 << 20
LINES: Final = 1 << 20
PEER_CASES: Final = 20_000
OPERATIONS: Final = (
    ("add", "fp16", None),
    ("fma", "fp32", None),
    ("convert", "fp32", "fp16"),
    ("mul", "fp8_e4m3", None),
)
FILES: Final = OPERATIONS[:3]


def rows() -> list[Row]:
    """Operations with flags on random codes, beside SoftFloat called case by case; then vectors to files."""
    lines = [_vectors(("tv",), *x) for x in FILES]
    both = [_vectors(Cases.default, *x) for x in FILES]
    return [*(_operation(*x) for x in OPERATIONS), *lines, *both, _lines(*FILES[0])]


def _named(op: str, fmt: str, out: str | None) -> str:
    return f"{fmt} {op}" if out is None else f"{fmt} to {out}"


def _operation(op: str, fmt: str, out: str | None) -> Row:
    formats = signature(op, fmt, out).formats
    codes = bulk.random_columns(formats, 1, ELEMENTS)
    operands = [x.astype(code_dtype(f)) for x, f in zip(codes, formats, strict=True)]
    ours = median_rate(ELEMENTS, lambda: operations.evaluate(op, operands, fmt, out, flags="each"))
    peer = softfloat(op, zip(*(x[:PEER_CASES].tolist() for x in operands), strict=True), fmt, out)
    theirs = None if peer is None else median_rate(PEER_CASES, peer)
    return Row(f"{_named(op, fmt, out)} with flags", ours, "results/s", "softfloatpy", theirs)


def softfloat(op: str, cases: Iterable[tuple[int, ...]], fmt: str, out: str | None) -> Callable[[], None] | None:
    """SoftFloat's function on each case with its flags, or None if it has no such function or is not installed."""
    types = {"fp16": ("f16", "Float16", 2), "fp32": ("f32", "Float32", 4)}
    if fmt not in types or not installed("softfloatpy"):
        return None
    import softfloatpy as soft

    prefix, kind, size = types[fmt]
    name = f"to_{types[out][0]}" if out else {"fma": "mul_add"}.get(op, op)
    function, make = getattr(soft, f"{prefix}_{name}"), getattr(soft, kind).from_bytes
    packed = [tuple(x.to_bytes(size, "big") for x in case) for case in cases]

    def work() -> None:
        for case in packed:
            soft.set_exception_flags(0)
            function(*map(make, case)).to_bytes()
            soft.get_exception_flags()

    return work


def _vectors(formats: Sequence[str], op: str, fmt: str, out: str | None) -> Row:
    """A set to a folder, its hashes and manifest included, in these file formats."""
    vectors = VectorSet.make(op, fmt, LINES, out=out)

    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            generate(vectors, folder, formats=formats)

    where = "TestFloat lines to a file" if tuple(formats) == ("tv",) else "lines and memory words to files"
    return Row(f"{where}: {_named(op, fmt, out)}", median_rate(LINES, work), "lines/s")


def _lines(op: str, fmt: str, out: str | None) -> Row:
    """TestFloat lines alone, as `vectors generate -o -` writes them."""
    vectors = VectorSet.make(op, fmt, LINES, out=out)

    def work() -> None:
        stream = io.BytesIO()
        for numbered in batches(vectors):
            stream.write(numbered.batch.text)

    return Row(f"lines to a pipe: {_named(op, fmt, out)}", median_rate(LINES, work), "lines/s")
