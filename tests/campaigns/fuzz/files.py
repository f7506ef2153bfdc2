"""Readers of arrays and numbers: numpy's files, tables of text, captures, packed and quantized blocks, codes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import structures
from fuzz.mutate import npy_header, npz_members
from fuzz.reader import Reader, in_file
from softfloat_ref import encode
from softfloat_ref.app.dot import _codes
from softfloat_ref.app.quantize import read_npy, read_rows
from softfloat_ref.arrays import captures, files, packing
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.literals import parse_number


def _npy_examples() -> list[bytes]:
    examples = []
    for array in (np.ones((4, 8), np.float32), np.arange(6, dtype=np.int16), np.full((2, 3, 4), 1e300)):
        out = io.BytesIO()
        np.save(out, array)
        examples.append(out.getvalue())
    return examples


def _npz(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def _captures() -> list[bytes]:
    ones = np.ones((2, 4), np.uint32)
    return [_npz(a=ones, b=ones, c=ones[:, 0], d=ones[:, 0]), _npz(a=ones[0], b=ones[0], scales_a=ones[0, :1])]


def _arrays(folder: Path) -> list[bytes]:
    examples = []
    for fmt in ("mxfp8", "nvfp4", "msfp12", "fp8_e4m3", "qint8", "quint12"):
        files.save(folder / "b.npz", encode(np.ones((2, 40), np.float32), fmt))
        examples.append((folder / "b.npz").read_bytes())
    return examples


def _read_npy(path: str, _: Path) -> None:
    array = read_npy(path)
    if array.size < 1000:
        from softfloat_ref import arrays

        arrays.encode(np.asarray(array), "fp8_e4m3")


def _read_numbers(path: str, _: Path) -> None:
    for n, row in enumerate(read_rows(path), 1):
        for text in row:
            parse_number(text, f"{path}:{n}")


def _packed(data: bytes, _: Path) -> None:
    """The first line is a layout's name, and numbers: blocks, elements, bits, bits of a scale."""
    head, _, body = data.partition(b"\n")
    name, *numbers = head.decode("latin-1").split(" ")
    sizes = [int(x) if x.isdecimal() and len(x) < 20 else 1 for x in numbers][:4]
    rows, size, width, scale = [*sizes, 2, 32, 8, 8][:4] if len(sizes) < 4 else sizes
    width, scale = (min(max(x, 1), 64) for x in (width, scale))  # of formats, which no file changes
    raw, scales = np.frombuffer(body, np.uint8), None
    if not packing.get_layout(name).together:
        at = packing.swizzled_size(1, rows) if name.endswith("swizzled") else rows
        raw, scales = raw[at:], raw[:at]
    packing.unpack(raw, scales, (rows, size), width, scale, name)


def _operand_codes(data: bytes, _: Path) -> None:
    text = data.decode("utf-8", "surrogateescape")
    options = {"values": len(text) % 2 == 1, "printed_from": "fp32" if len(text) % 3 else None}
    _codes(text, get_format("fp16"), options, "a")


def readers(folder: Path) -> list[Reader]:
    """Those of arrays and numbers. folder: where examples are made."""
    layouts = [
        b"dense 2 32 8 8\n" + bytes(66),
        b"low-first+front 2 32 4 8\n" + bytes(34),
        b"dense+swizzled 4 32 8 8\n" + bytes(640),
    ]
    return [
        Reader(
            "npy",
            _npy_examples(),
            in_file("x.npy", _read_npy),
            ("'descr'", "'|O'", "'shape'", "(1,)"),
            mutator=npy_header,
            structure=structures.npy,
        ),
        Reader(
            "csv",
            [b"1.0,2.5\n-0x1p3,inf\n\n1/3 nan\n", b"1\n2\n3\n"],
            in_file("x.csv", _read_numbers),
            (",", "\n", "0x1", "e", "/"),
            structure=structures.text,
        ),
        Reader(
            "captures",
            _captures(),
            in_file("x.npz", lambda p, _: captures.read(p)),
            mutator=npz_members,
            structure=structures.npz,
        ),
        Reader(
            "operand_arrays",
            _captures(),
            in_file("x.npz", lambda p, _: list(captures.code_rows(p))),
            mutator=npz_members,
        ),
        Reader(
            "arrays",
            _arrays(folder),
            in_file("x.npz", lambda p, _: files.load(p)),
            mutator=npz_members,
            structure=structures.npz,
        ),
        Reader("packed", layouts, _packed, (*packing.ELEMENT_LAYOUTS, *(f"+{x}" for x in packing.SCALE_LAYOUTS))),
        Reader("codes", [b"3c00,0x3c01 7E00", b"1.5 -2"], _operand_codes, ("0x", ",", " ")),
    ]
