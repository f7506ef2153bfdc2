"""Explanations printed from the record of a unit's steps."""

from __future__ import annotations

import pytest

from softfloat_ref.explanation import approximation, quantize, vector  # noqa: F401  (their steps enter the table)
from softfloat_ref.explanation.steps import SHOWN_LANES, steps
from softfloat_ref.oracle.approximation import define_approximation
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.units import (
    KINDS,
    ApproximationUnit,
    DequantizeUnit,
    DotUnit,
    MatmulUnit,
    MixedUnit,
    OperationUnit,
    QuantizeUnit,
    RoundingsUnit,
    SteppedUnit,
    Unit,
    make_unit,
)

NVFP4 = QuantizeUnit.make(get_block_format("fp4_e2m1@fp8_e4m3/4"), "fp32", None, "nvfp4")
MXFP8 = DequantizeUnit.make(get_block_format("mxfp8"))

ADD, MUL = (OperationUnit.make(op, "fp16") for op in ("add", "mul"))
MATMUL = MatmulUnit(DotUnit.make("fp8_e4m3", "fp32", "fp32-sequential", 2), 1, 2)
TABLE = {"first": 0x38, "after": 0x40, "small": "operand", "large": "40", "exponents": [-4], "rows": [[2, 3], [5, -1]]}
CURVE = {"function": "tanh", "fmt": "fp8_e4m3", "out": "fp8_e4m3", "symmetry": "odd", "shift": 2, "widths": [6, 5]}


@pytest.mark.parametrize(
    ("unit", "inputs", "rows"),
    [
        (
            NVFP4,
            (0x3E99999A, 0x3FC00000, 0xC3E00000, 0, 0x3F800000),
            {
                "amax": "448.0 (0x1.cp+8)",
                "scale round": "69 = 72.0 (0x1.2p+6), 01 inexact",
                "divisor": "72.0 (0x1.2p+6)",
                "elements 3": "quotient 0.0; round 0 = 0.0",
                "elements[2]": "f = -6.0 (-0x1.8p+2)",
            },
        ),
        (
            MXFP8,
            (0x80, 0x38, 0xFE, *(0,) * 30),
            {
                "scale": "80 = 2.0 (0x1p+1)",
                "elements 1": "product -896.0 (-0x1.cp+9); round c4600000 = -896.0 (-0x1.cp+9)",
                "more": f"{32 - SHOWN_LANES} lanes",
                "values[0]": "40000000 = 2.0 (0x1p+1)",
            },
        ),
        (
            make_unit("BlockAdd", "binary8p4se@binary8p3ue/2"),
            (0x80, 0x40, 0x41, 0x80, 0x42, 0x43, 0x84),
            {
                "a 1": "product 1.125 (0x1.2p+0)",
                "elements 0": "exact 2.25 (0x1.2p+1); quotient 1.125 (0x1.2p+0); round 41 = 1.125 (0x1.2p+0)",
                "result[1]": "42 = 1.25 (0x1.4p+0)",
            },
        ),
        (
            make_unit("BlockDotProduct", "binary8p4se@binary8p3ue/2"),
            (0x80, 0x40, 0x41, 0x80, 0x42, 0x43),
            {"elements 0": "exact 1.25 (0x1.4p+0)", "reduction": "2.796875 (0x1.66p+1)"},
        ),
        (
            MATMUL,
            (0x38, 0x40, 0x38, 0x38, 0x40, 0x40, 0, 0),
            {"result 0 0 product 1": "multiply 2.0 (0x1p+1)", "result[1]": "40c00000 = 6.0 (0x1.8p+2)"},
        ),
        (
            MixedUnit((ADD, MUL)),
            (1, 0, 0, 0, 0x3E00, 0x4000),
            {"op": "1 = mul", "exact": "3.0 (0x1.8p+1)", "round": "4200 = 3.0 (0x1.8p+1)", "result": "4200"},
        ),
        (
            RoundingsUnit.of(ADD, ("rne", "rup")),
            (1, 0x3C00, 0x0001),
            {"rounding": "1 = rup", "round": "3c01 = 1.0009765625 (0x1.004p+0), 01 inexact"},
        ),
        (
            ApproximationUnit(define_approximation(CURVE | {"cuts": [1], "positive": TABLE}, "t")),
            (0xBB,),
            {"symmetry": "odd: minus that of -a", "segment": "0 of 2, d = 3", "polynomial": "6 in units of 2^-4"},
        ),
        (
            make_unit("rms_norm", "bf16", length=2, plain=True, epsilon="0"),
            (0x3F80, 0x3F80),
            {"lane": "0 of 2", "x[0]": "3f80 = 1.0 (0x1p+0)", "exact": "1.0 (0x1p+0)"},
        ),
    ],
)
def test_each_step_has_a_row(unit: Unit, inputs: tuple[int, ...], rows: dict[str, str]) -> None:
    explained = dict(steps(unit, inputs))
    assert {label: explained.get(label) for label in rows} == rows


@pytest.mark.parametrize("kind", [x for x in KINDS.values() if x.__module__.startswith("softfloat_ref.")])
def test_every_kind_of_unit_is_explained_by_more_than_its_fields(kind: type[Unit]) -> None:
    assert issubclass(kind, SteppedUnit)
    assert steps.dispatch(kind) is not steps.dispatch(Unit)


def test_the_rows_end_with_the_answer() -> None:
    inputs = (0x3E99999A, 0x3FC00000, 0xC3E00000, 0, 0x3F800000)
    rows = steps(NVFP4, inputs)
    assert [label for label, _ in rows[-2:]] == ["scale", "elements[2]"]
    assert NVFP4.answer(inputs) == (0x69, 0, 0, 0xF, 0)
