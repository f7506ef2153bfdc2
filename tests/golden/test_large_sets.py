"""Vectors made in bulk: the same cases and bytes as line by line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from folders import rehash

from softfloat_ref.base.errors import Error
from softfloat_ref.golden import bulk, parts
from softfloat_ref.golden import verify as verification
from softfloat_ref.golden.cases import random_cases
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.kinds import base, operation
from softfloat_ref.golden.manifest import MANIFEST
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import verify
from softfloat_ref.golden.writers import HEADER, text_line, word_line
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.units import Field

SETS = [
    ("add", "fp16", None, None, None),
    ("fma", "fp32", None, "riscv", None),
    ("convert", "fp32", "fp16", None, None),
    ("convert", "fp32", "i32", "arm", None),
    ("convert", "fp64", "tf32", None, None),
    ("convert", "i8", "fp16", None, None),
    ("add", "fp64", None, "x86-sse", None),
    ("lt", "bf16", None, None, None),
    ("scaleb", "fp16", None, None, None),
    ("dot2", "fp8_e4m3", "fp16", None, None),
    ("sqrt", "dlfloat16", None, "dlfloat", None),
    ("convert", "fp32", "fp8_e5m2", Policy("sr", sr_bits=13), "philox:seed=4"),
    ("add", "fp16", None, Policy("sr-c", sr_bits=7), "lfsr:width=16,taps=16.14.13.11,seed=9"),
]


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(("op", "fmt", "out", "policy", "source"), SETS)
def test_same_bytes(op, fmt, out, policy, source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """Text, words, header and manifest: of specials, boundaries and 10,000 random cases, in several chunks."""
    formats = ["fp16", "i8"] if op == "scaleb" else fmt
    vectors = VectorSet.make(op, formats, 10_000, out=out, seed=6, policy=policy, source=source)
    contents = []
    for threshold in (1, 1 << 60):
        monkeypatch.setattr(operation, "BULK_FROM", threshold)
        assert vectors.cases.chunked == (threshold == 1)
        folder = tmp_path / str(threshold)
        generate(vectors, folder)
        contents.append({p.name: p.read_bytes() for p in folder.iterdir()})
    assert (bulk.texts(vectors) is None) == (op == "dot2" or isinstance(policy, Policy))
    assert contents[0].keys() == {MANIFEST, HEADER, f"{vectors.name}.tv", f"{vectors.name}.memh"}
    assert contents[0] == contents[1]


BLOCK_SETS = [
    ("quantize", "mxfp8_e4m3", "fp32", None, None),
    ("quantize", "mxfp4", "fp16", None, "torchao-rceil"),
    ("quantize", "mxint8", "fp64", None, "microxcaling"),
    ("quantize", "mxfp6_e2m3", "bf16", None, None),
    ("quantize", "fp8_e4m3@fp32/16", "fp32", None, "ocp,scale_rule=amax"),
    ("quantize", "mxfp8_e5m2", "fp32", Policy("sr", sr_bits=9), None),
    ("quantize", "mxfp4", "bf16", Policy(flush_inputs=True), "microxcaling"),
    ("quantize", "mxfp8_e4m3", "tf32", None, None),
    ("quantize", "mxfp8_e4m3", "fp8_e5m2", None, None),
    ("quantize", "nvfp4", "fp32", None, None),
    ("dequantize", "mxfp8_e5m2", None, None, None),
    ("dequantize", "mxfp6_e3m2", None, None, "microxcaling"),
    ("dequantize", "fp4_e2m1@ue4m3/16", None, None, None),
    ("dequantize", "nvfp4", None, None, None),
]


@pytest.mark.full
@pytest.mark.parametrize(("op", "block", "source", "policy", "profile"), BLOCK_SETS)
def test_same_lines_of_blocks(op, block, source, policy, profile, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """By arrays and by the oracle; two-level formats, and values that are no arrays', by the oracle alone."""
    vectors = VectorSet.make(op, block, 600, out=source, seed=6, policy=policy, profile=profile)
    monkeypatch.setattr(base, "ARRAYS_FROM", 1)
    assert vectors.cases.in_arrays == (block != "nvfp4" and source != "fp8_e5m2")
    lines = [[numbered.batch.lines for numbered in parts.batches(vectors, compiled=way)] for way in (True, False)]
    assert len(lines[0][0]) == 600
    assert lines[0] == lines[1]


@pytest.mark.full
def test_large_sets_of_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verified by arrays, a sample by the oracle; a changed code is found by either."""
    monkeypatch.setattr(base, "ARRAYS_FROM", 1 << 10)
    vectors = VectorSet.make("quantize", "mxfp8", 2500)
    assert vectors.cases.in_arrays
    generate(vectors, tmp_path)
    monkeypatch.setattr(verification, "MAX_ORACLE_LINES", 1 << 16)
    report = verify(tmp_path)
    assert (report.passed, report.compiled, report.checked) == (True, 2500, verification.ORACLE_SAMPLE // 32)
    report = verify(tmp_path, every=True)
    assert (report.passed, report.compiled, report.checked) == (True, 0, 2500)
    path = tmp_path / f"{vectors.name}.tv"
    text = bytearray(path.read_bytes())
    text[-3] ^= 1
    path.write_bytes(text)
    rehash(tmp_path)
    assert not verify(tmp_path).passed


@pytest.mark.full
def test_blocks_without_result_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the oracle refuses in a part, it says of which block; the others of the part are its own too."""
    policy, profile = Policy(nan_missing="error"), "ocp,nan=element"
    vectors = VectorSet.make("quantize", "mxfp4", 600, seed=2, policy=policy, profile=profile)
    monkeypatch.setattr(base, "ARRAYS_FROM", 1)
    batches = [[(g.batch.lines, g.left_out) for g in parts.batches(vectors, compiled=way)] for way in (True, False)]
    assert batches[0] == batches[1]
    assert batches[0][0][1]


def test_cases_without_result_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = VectorSet.make("convert", "fp16", 5000, out="fp4_e2m1", policy=Policy(nan_missing="error"))
    manifests = []
    for threshold in (1, 1 << 60):
        monkeypatch.setattr(operation, "BULK_FROM", threshold)
        manifests.append(generate(vectors, tmp_path / str(threshold)))
    assert manifests[0] == manifests[1]
    assert manifests[0]["left_out"]["count"] > 10


def test_a_set_without_any_result_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undefined = np.zeros((3, 1), np.int64), np.ones(1, bool)
    monkeypatch.setattr(bulk, "Tables", lambda vectors: lambda place: undefined)
    monkeypatch.setattr(bulk, "texts", lambda vectors: None)
    with pytest.raises(Error, match="no case has a defined result"):
        generate(VectorSet.make("convert", "fp16", 1 << 16, out="fp8_e4m3"), tmp_path)


@pytest.mark.full(keep=22)
@pytest.mark.parametrize(
    "fmt", ["fp16", "fp32", "fp64", "tf32", "fp8_e4m3", "int8", "i8", "u32", "e8m0", "ue4m3", "fp4_e2m1"]
)
@pytest.mark.parametrize("start", [0, 1, 4097])
def test_random_cases(fmt: str, start: int) -> None:
    """By position, at any start: the codes that the scalar generator gives."""
    formats = (get_format(fmt), get_format("fp16"), get_format(fmt))
    columns = bulk.random_columns(formats, 12, 3000, start).view(np.uint64).T.tolist()
    assert [tuple(x) for x in columns] == list(random_cases(formats, 12, 3000, start))


@pytest.mark.parametrize("widths", [(16, 16, 5), (1, 64, 19), (63, 32, 33), (8, 4, 36), (40,)])
def test_text_of_any_widths(widths: tuple[int, ...]) -> None:
    fields = tuple(Field(f"f{i}", "operand", w) for i, w in enumerate(widths))
    rng = np.random.default_rng(1)
    rows = [
        rng.integers(0, 1 << w, 500, dtype=np.uint64, endpoint=False)
        if w < 64
        else rng.integers(0, (1 << 64) - 1, 500, dtype=np.uint64)
        for w in widths
    ]
    lines = list(zip(*(row.tolist() for row in rows), strict=True))
    text = bulk.text_of_columns(np.array(rows).view(np.int64), fields)
    assert text.tobytes().decode() == "".join(map(text_line(fields), lines))
    assert bulk.memory_words(text).tobytes().decode() == "".join(map(word_line(fields), lines))


@pytest.mark.full
def test_vectors_in_a_pipe() -> None:
    """`-o -` in bulk is the text file's bytes, or its operands."""
    command = [
        sys.executable,
        "-m",
        "softfloat_ref",
        "vectors",
        "generate",
        "--op",
        "add",
        "--fmt",
        "bf16",
        "-o",
        "-",
        "-n",
    ]
    many = subprocess.run([*command, "65536"], capture_output=True, check=True).stdout.splitlines()
    operands = subprocess.run([*command, "65536", "--operands"], capture_output=True, check=True).stdout.splitlines()
    assert [b" ".join(line.split()[:2]) for line in many] == operands
    vectors = VectorSet.make("add", "bf16", 65536)
    listed = [vectors.line(inputs) for _, inputs in zip(range(3000), vectors.inputs(), strict=False)]
    assert (
        "".join(text_line(vectors.fields)(x) for x in listed if x) == b"".join(x + b"\n" for x in many[:3000]).decode()
    )
