"""The models that defects are made of, without a defect: they answer as the unit does, for every kind, profile, policy,
rounding and accumulator. A model that differs would explain no device.

`NO_DEFECT_CASES=300 pytest tests/diagnosis/test_no_defect.py` compares that many directed cases of each unit, and as
many random ones, in place of a few.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import pytest
from diagnosing import defect, diagnosis, names

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.diagnosis.defects import Faulty, replaced
from softfloat_ref.diagnosis.hypotheses import Model
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.accumulate import ACCUMULATORS
from softfloat_ref.oracle.affine import RULES, get_affine_format
from softfloat_ref.oracle.approximation import define_approximation
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.blocks.operations import BLOCK_OPERATIONS, BlockOperation
from softfloat_ref.oracle.blocks.profiles import PROFILES
from softfloat_ref.oracle.blocks.quantize import is_for
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.oracle.policies import POLICIES, ROUNDINGS, get_policy
from softfloat_ref.oracle.requantization import RULES as REQUANTIZE_RULES
from softfloat_ref.oracle.steps import STEPS
from softfloat_ref.oracle.vector_functions import VECTOR_FUNCTIONS
from softfloat_ref.units import (
    KINDS,
    AffineDequantizeUnit,
    AffineQuantizeUnit,
    ApproximationUnit,
    BlockOperationUnit,
    DequantizeUnit,
    DotUnit,
    IntegerDotUnit,
    MatmulUnit,
    MixedUnit,
    OperationUnit,
    QuantizeUnit,
    RequantizeUnit,
    RoundingsUnit,
    SelectionUnit,
    SteppedUnit,
    Unit,
    VectorUnit,
)
from softfloat_ref.units.pipelines import make_pipeline, named_pipelines

_PART: dict[str, Any] = {
    "first": 0x3E,
    "after": 0x46,
    "small": "operand",
    "large": "40",
    "exponents": [-6],
    "rows": [[-3, 10], [47, 42], [78, -10], [90, 3]],
}
_ODD: dict[str, Any] = {"function": "tanh", "fmt": "binary8p4se", "out": "fp8_e4m3", "shift": 1, "widths": [8, 7]}
_ODD |= {"cuts": [2], "positive": _PART}
TABLES: tuple[dict[str, Any], ...] = (
    *(_ODD | {"symmetry": symmetry, "rounding": "rna", "out": "fp16"} for symmetry in ("odd", "even", "complement")),
    _ODD | {"negative": _PART | {"small": "half", "large": "7f"}},
)
PARTS = tuple(
    OperationUnit.make(op, fmt, None, policy)
    for op in ("add", "mul", "lt")
    for fmt in ("fp16", "fp8_e5m2")
    for policy in ("riscv", {"rounding": "rtz"})
)
SEVERAL = (
    OperationUnit.make("fma", "fp8_e5m2", None, {"rounding": "rne", "sr_bits": 4}),
    QuantizeUnit.make(get_block_format("fp4_e2m1@e8m0/4"), "bf16", {"rounding": "rne", "sr_bits": 4}),
)
CASES = int(os.environ.get("NO_DEFECT_CASES", "0"))
OF_FEW = ("msfp13", "s1e4m3@e8m0/8", "fp8_e4m3@fp32/8")  # formats that a single profile is for
BLOCKS = ("mxfp8", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp4", "mxint8", "nvfp4", *OF_FEW)
INFINITE_SCALES = ("binary8p3se@binary8p3ue/16", "fp8_e4m3@fp8_e5m2/16", "fp4_e2m1@fp8_e5m2/8")
SOME = (
    *(("add", "fp16", None), ("sub", "fp8_e5m2", None), ("mul", "fp16", None), ("fma", "fp16", None)),
    *(("fma", "fp8_e4m3", "fp16"), ("convert", "fp32", "fp8_e4m3"), ("convert", "bf16", "fp32")),
    *(("convert", "fp16", "i8"), ("div", "bf16", None), ("sqrt", "fp16", None), ("rem", "fp16", None)),
    *(("min", "fp16", None), ("dot2", "fp8_e5m2", "fp16"), ("round_to_integral", "fp16", None)),
)
OUTPUTS = ("fp8_e4m3", "fp8_e5m2", "binary8p4se", "e8m0", "fp4_e2m1", "i8")
POLICY_FIELDS: tuple[dict[str, Any], ...] = (
    *({}, {"tininess": "before"}, {"flush_outputs": True}, {"overflow": "sat-finite"}),
    {"flush_outputs": True, "flush_rule": "before"},
)


def rounding(mode: str) -> dict[str, Any]:
    return {"rounding": mode, **({"sr_bits": 5} if mode.startswith("sr") else {})}


def quantizers(profile: str, blocks: Sequence[str], modes: Sequence[str]) -> Iterator[Callable[[], Unit]]:
    for b in blocks:
        for mode in modes:
            policy = rounding(mode) if mode else None
            values = "bf16" if b == "mxfp4" else "fp32"
            yield lambda b=b, p=policy, v=values: QuantizeUnit.make(get_block_format(b), v, p, profile)  # type: ignore[misc]


def groups() -> Iterator[tuple[str, list[Callable[[], Unit]]]]:
    for name in PROFILES:
        yield f"profile {name}", list(quantizers(name, BLOCKS, ("", "sr", "rtz")))
    for name in PROFILES:
        blocks = ("mxfp8", "mxfp4", "mxint8", "nvfp4", "fp4_e2m1@fp8_e5m2/8", *OF_FEW)
        yield (
            f"dequantize {name}",
            [
                lambda b=b, n=name: DequantizeUnit.make(get_block_format(b), None, n)  # type: ignore[misc]
                for b in blocks
            ],
        )
    for name in ("p3109", "ocp", "nvfp4", "microxcaling,formats=*"):
        yield f"scales with Inf, {name}", list(quantizers(name, INFINITE_SCALES, ("", "rup")))
    for name in POLICIES:
        yield f"policy {name}", [lambda x=x, n=name: OperationUnit.make(*x, n) for x in SOME]  # type: ignore[misc]
    for name in OPERATIONS:
        formats = ("fp16", "fp8_e5m2", "fp8_e4m3", "binary8p3se")
        policies = ("ieee", {"rounding": "rdn", "flush_inputs": True}, {"rounding": "sr", "sr_bits": 5})
        yield (
            f"operation {name}",
            [
                lambda f=fmt, n=name, p=policy: OperationUnit.make(n, f, None, get_policy(p))  # type: ignore[misc]
                for fmt in formats
                for policy in policies
            ],
        )
    for mode in ROUNDINGS:
        policies = [get_policy(None, **rounding(mode), **more) for more in POLICY_FIELDS]
        yield (
            f"rounding {mode}",
            [
                lambda o=out, p=p: OperationUnit.make("convert", "fp32", o, p)  # type: ignore[misc]
                for out in OUTPUTS
                for p in policies
            ],
        )
    for name in RULES:
        formats = ("qint8", "quint8_narrow", "qint4_sym", "quint16")
        policies = [None, {"rounding": "rup"}, {"rounding": "sr", "sr_bits": 5}]
        yield (
            f"affine {name}",
            [
                *(
                    lambda f=fmt, n=name, p=policy: AffineQuantizeUnit.make(f, "fp16", p, n)  # type: ignore[misc]
                    for fmt in formats
                    for policy in policies
                ),
                *(lambda f=fmt: AffineDequantizeUnit(get_affine_format(f)) for fmt in formats),  # type: ignore[misc]
            ],
        )
    for name in ACCUMULATORS:
        yield (
            f"accumulator {name}",
            [
                lambda f=fmt, o=out, n=name: DotUnit.make(f, o, n, 32, extrapolate=True)  # type: ignore[misc]
                for fmt, out in (
                    ("fp16", "fp32"),
                    ("fp8_e4m3", "fp16"),
                    ("mxfp8", "fp32"),
                    ("mxfp4", "fp16"),
                    ("fp64", "fp64"),
                )
            ],
        )

    yield (
        "dot products of integers",
        [
            lambda f=fmt, a=acc, c=clear: IntegerDotUnit.make(f, "i18", a, 4, clear=c)  # type: ignore[misc]
            for fmt in ("i8", "a=u8,b=i8", "u4")
            for acc in ("wrap", "saturate/1", "saturate/3")
            for clear in (False, True)
        ],
    )
    for name in BLOCK_OPERATIONS:
        row = BLOCK_OPERATIONS[name]
        size, policies = 1 if row.single else 3, (None, {"rounding": "rdn"}, {"rounding": "sr", "sr_bits": 5})
        yield (
            f"block operation {name}",
            [
                lambda n=name, f=fmt, o=out, p=p: BlockOperationUnit.make(n, f, o, p)  # type: ignore[misc]
                for element, scale in (("binary8p4se", "binary8p3ue"), ("fp8_e5m2", "e8m0"), ("fp4_e2m1", "fp8_e4m3"))
                for p in policies
                for fmt, out in [_formats(row, element, f"{element}@{scale}/{size}")]
            ],
        )
    for name, function in VECTOR_FUNCTIONS.items():
        more = {"depth": 3} if function.has_depth else {}
        policies = ("ieee", {"flush_inputs": True, "rounding": "rup"}, {"rounding": "sr", "sr_bits": 5})
        yield (
            f"vector function {name}",
            [
                lambda n=name, f=fmt, p=p, m=more: VectorUnit.make(n, f, None, p, length=4, **m)  # type: ignore[misc]
                for fmt in ("bf16", "fp8_e5m2", "fp8_e4m3")
                for p in policies
            ],
        )
    for name, pipeline in named_pipelines().items():
        sizes = {x: 3 for x in ("length", "depth") if x in pipeline.options}
        policies = ("ieee", {"flush_inputs": True, "rounding": "rup"}, {"rounding": "sr", "sr_bits": 5})
        yield (
            f"pipeline {name}",
            [
                lambda n=name, f=fmt, p=p, m=sizes: make_pipeline(n, f, policy=p, steps=True, **m)  # type: ignore[misc]
                for fmt in ("bf16", "fp8_e5m2", "fp8_e4m3")
                for p in policies
            ],
        )
    for name in ("fp32-sequential", "nvidia-h100", "mx-fp32", "nvidia-v100"):
        yield (
            f"matrix product {name}",
            [
                lambda f=fmt, n=name, k=k: MatmulUnit(DotUnit.make(f, "fp32", n, k, extrapolate=True), 2, 3)  # type: ignore[misc]
                for fmt, k in (("fp16", 4), ("fp8_e4m3", 4), ("fp4_e2m1@e8m0/4", 8))
            ],
        )
    for name, requantize in REQUANTIZE_RULES.items():
        fmt = "i48" if requantize.accumulator_bits == 48 else "i32"
        yield (
            f"requantize {name}",
            [
                lambda f=fmt, n=name, m=more: RequantizeUnit.make(f, "i8", n, **m)  # type: ignore[misc]
                for more in ({}, {"fixed": "zero_point=3"}, {"clamped": True})
            ],
        )
    yield "approximations", [lambda t=table: ApproximationUnit(define_approximation(t, "t")) for table in TABLES]  # type: ignore[misc]
    yield "several parts", [lambda: MixedUnit(PARTS), lambda: MixedUnit(PARTS, "zeros", 32)]
    yield "several roundings", [lambda u=u: RoundingsUnit.of(u, ("rne", "rup", "sr")) for u in SEVERAL]  # type: ignore[misc]


def _formats(row: BlockOperation, element: str, block: str) -> tuple[str, str]:
    return (block if row.scaled else element), (block if row.to == "block" else element)


GROUPS = dict(groups())

# Every step is replaced by itself, so that each is done in its inner steps, and none by the function in its place.
NOTHING_CHANGED = tuple(replaced(f, lambda here, right, *args: right(*args)) for f in STEPS)


def _made(makes: Sequence[Callable[[], Unit]]) -> list[Unit]:
    """The units that there are."""
    units = []
    for make in makes:
        try:
            units.append(make())
        except Error as e:  # a profile that needs a NaN scale, an accumulator without such operands
            if str(e).startswith("unknown"):
                raise
    return units


def model_of(unit: Unit) -> Model:
    """The model of a unit that its defects are made of."""
    assert isinstance(unit, SteppedUnit)
    return Faulty(unit, NOTHING_CHANGED)


def cases(unit: Unit) -> Iterator[tuple[int, ...]]:
    """Cases whose codes are each random or one of an end of the format, alone or together; more, also directed ones."""
    drawn = random.Random(5)
    fields = [f for f in unit.inputs for _ in range(f.lanes)]
    for n in range(CASES or (16 if len(fields) > 9 else 64)):
        share = (0.0, 0.1, 0.5, 1.0)[n % 4]  # of codes at an end
        shift = drawn.randrange(3) * 4  # fewer bits are smaller numbers
        yield tuple(
            drawn.choice(ends(f.fmt, f.width)) if drawn.random() < share else drawn.getrandbits(f.width) >> shift
            for f in fields
        )
    if CASES:
        yield from list(VectorSet(unit, count=CASES, seed=1).inputs())[:CASES]


def all_cases(unit: Unit) -> Iterator[tuple[int, ...]]:
    """`cases`; of an approximation, every operand; of a unit with control fields, the cases of its parts, with padded
    operands and without."""
    if isinstance(unit, ApproximationUnit):
        yield from ((code,) for code in range(1 << unit.approximation.fmt.width))
        return
    if not isinstance(unit, SelectionUnit):
        yield from cases(unit)
        return
    for part in unit.parts:
        for n, own in enumerate(cases(part)):
            if isinstance(unit, MixedUnit) and isinstance(part, OperationUnit) and n % 4:
                padded = (unit.padded(x, f, unit.operand_bits) for x, f in zip(own, part.formats, strict=False))
                yield unit.assembled(part, (*padded, *own[len(part.formats) :]))
            else:
                yield unit.assembled(part, own)


@cache
def ends(fmt: Format | None, width: int) -> list[int]:
    """Zeros, the smallest and largest numbers, Inf and NaN, with both signs."""
    if fmt is None:
        return [0, (1 << width) - 1]
    codes = {0, 1, fmt.min_normal_code, fmt.max_code, fmt.canonical_nan if fmt.has_nan else 0, fmt.inf_code or 0}
    return sorted({c | s for c in codes for s in (0, fmt.sign_bit) if 0 <= c | s < 1 << width})


def answer(unit: Unit, inputs: Sequence[int]) -> tuple[int, ...] | None:
    try:
        return tuple(unit.answer(inputs))
    except Undefined:
        return None


def test_every_kind_of_unit_has_steps_and_is_compared() -> None:
    """Kinds of the package: a new one needs steps, and a group here."""
    own = {kind for kind in KINDS.values() if kind.__module__.startswith("softfloat_ref.")}
    compared = {type(unit) for makes in GROUPS.values() for unit in _made([makes[0], makes[-1]])}
    assert own == compared
    assert all(issubclass(kind, SteppedUnit) for kind in own)


@pytest.mark.full(keep=24)
@pytest.mark.parametrize("group", GROUPS)
def test_no_defect_equals_the_unit(group: str) -> None:
    units = _made(GROUPS[group])
    assert units
    for unit in units:
        model = model_of(unit)
        answers = [(x, answer(unit, x)) for x in all_cases(unit)]
        assert any(right is not None for _, right in answers), unit.name
        wrong = [x for x, right in answers if model(x) != right]
        assert not wrong, (unit.name, len(wrong), [f"{c:x}" for c in wrong[0]])


@pytest.mark.full(keep=3, gate=5)
@pytest.mark.parametrize("profile", PROFILES)
def test_a_defect_is_explained_in_full_under_every_profile(profile: str) -> None:
    """Lanes reversed, a defect that touches no rule of a profile: no case is left unexplained."""
    names_of_blocks = ("fp4_e2m1@fp8_e4m3/8", "fp4_e2m1@e8m0/8", "fp8_e4m3@e8m0/8", "fp8_e4m3@fp32/8", "msfp13")
    block = next(b for b in names_of_blocks if is_for(PROFILES[profile], get_block_format(b)))
    vectors = VectorSet.make("quantize", block, 40, profile=profile)
    d = diagnosis(vectors, defect(vectors, "lanes reversed"))
    assert d.complete
    assert names(d)[0] == "lanes reversed"
