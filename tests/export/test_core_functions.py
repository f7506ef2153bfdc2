"""Exported C functions that call the core of the C library: with warnings as errors, equal to the scalar oracle."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest
from exports import Called, cases, compiled

from softfloat_ref.export.core_functions import CoreFunction, core_text
from softfloat_ref.export.languages import export_circuit
from softfloat_ref.export.library.policies import ROUNDING_MODES
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.policies import rounding_name

COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]
needs_compiler = pytest.mark.skipif(not COMPILERS, reason="needs a C compiler")

OPERATIONS = ("add", "sub", "mul", "fma", "div", "rem", "sqrt")
# A code in a byte, in some bits of a word, in both sizes of words; -0 as NaN.
FORMATS = ("fp8_e4m3", "tf32", "fp32", "fp64", "fp8_e4m3fnuz")
CONVERSIONS = (
    ("fp32", "fp8_e4m3"),
    ("fp64", "bf16"),
    ("bf16", "fp32"),
    ("fp8_e5m2", "tf32"),
    ("i32", "fp16"),
    ("u32", "fp32"),
    ("i64", "tf32"),
    ("u64", "fp64"),
)
POLICIES = ("ieee", "riscv", "x86-sse", "arm", {"overflow": "sat-finite", "flush_outputs": "on"})


def sets(count: int) -> list[VectorSet]:
    """Each operation on each format and each conversion, with the roundings, tininess and policies in turn."""
    settings = itertools.cycle(itertools.product(map(rounding_name, ROUNDING_MODES), ("before", "after"), POLICIES))
    wanted = [(op, fmt, fmt) for op, fmt in itertools.product(OPERATIONS, FORMATS)]
    wanted += [("convert", fmt, out) for fmt, out in CONVERSIONS]
    made = []
    for op, fmt, out in wanted:
        rounding, tininess, policy = next(settings)
        like = policy if isinstance(policy, dict) else {"like": policy}
        table = {**like, "rounding": rounding, "tininess": tininess}
        made.append(VectorSet.make(op, fmt, out=out, policy=table, count=count))
    return made


def compare(of: list[VectorSet], folder: Path, compiler: str, *options: str) -> None:
    circuits = [export_circuit(vectors.unit, f"unit_{k}", "c") for k, vectors in enumerate(of)]
    assert all(isinstance(x, CoreFunction) for x in circuits)
    library = compiled(circuits, folder, compiler, *options)
    for circuit, vectors in zip(circuits, of, strict=True):
        called = Called(library, circuit)
        for inputs, outputs in cases(vectors):
            above = [x | 1 << 63 if vectors.unit.inputs[0].width < 63 else x for x in inputs]  # bits that are ignored
            assert called(above) == outputs, (vectors.unit.label, inputs)


@pytest.mark.full
@needs_compiler
def test_some_operations(tmp_path: Path) -> None:
    compare(sets(30)[::6], tmp_path, COMPILERS[0])


@needs_compiler
@pytest.mark.full(gate=1)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_operation(compiler: str, tmp_path: Path) -> None:
    compare(sets(250), tmp_path, compiler, "-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")


@pytest.mark.full(keep=3)
@pytest.mark.parametrize(
    ("op", "fmt", "more", "name"),
    [
        ("add", "fp16", {"policy": {"rounding": "sr", "sr_bits": 4}}, "unit"),
        ("add", "fp128", {}, "unit"),
        ("add", "extf80", {}, "unit"),
        ("add", "dlfloat16", {}, "unit"),
        ("convert", "fp16", {"out": "e8m0"}, "unit"),
        ("fma", ["fp8_e4m3", "fp8_e4m3", "fp16"], {"out": "fp16"}, "unit"),
        ("mul", "fp8_e4m3", {"out": "fp16"}, "unit"),
        ("convert", "fp16", {"out": "i32"}, "unit"),
        ("convert", "i8", {"out": "fp16"}, "unit"),
        ("eq", "fp16", {}, "unit"),
        ("min", "fp16", {}, "unit"),
        ("add", "fp8_e4m3", {}, "core_add_32"),
    ],
)
def test_others_are_circuits(op: str, fmt: Any, more: dict[str, Any], name: str) -> None:
    vectors = VectorSet.make(op, fmt, count=20, **more)
    assert not isinstance(export_circuit(vectors.unit, name, "c"), CoreFunction)


def test_other_languages_have_the_circuit() -> None:
    assert not isinstance(export_circuit(VectorSet.make("add", "fp8_e4m3", count=20).unit, "unit", "sv"), CoreFunction)


def test_the_text_has_the_words_that_are_used() -> None:
    one, other, both = core_text([32]), core_text([64]), core_text([32, 64])
    assert "#define CORE_BITS 64" not in one
    assert "#define CORE_BITS 32" not in other
    assert both.count("#define CORE_BITS") == 2
    assert not [line for line in both.splitlines() if line.startswith('#include "')]
