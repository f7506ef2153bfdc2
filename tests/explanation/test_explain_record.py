"""Explanations printed from the record of a unit's steps."""

from __future__ import annotations

import pytest

from softfloat_ref.explanation import quantize  # noqa: F401  (its steps enter the table)
from softfloat_ref.explanation.steps import SHOWN_LANES, steps
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.units import DequantizeUnit, QuantizeUnit, Unit

NVFP4 = QuantizeUnit.make(get_block_format("fp4_e2m1@fp8_e4m3/4"), "fp32", None, "nvfp4")
MXFP8 = DequantizeUnit.make(get_block_format("mxfp8"))


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
    ],
)
def test_each_step_has_a_row(unit: Unit, inputs: tuple[int, ...], rows: dict[str, str]) -> None:
    explained = dict(steps(unit, inputs))
    assert {label: explained.get(label) for label in rows} == rows


def test_the_rows_end_with_the_answer() -> None:
    inputs = (0x3E99999A, 0x3FC00000, 0xC3E00000, 0, 0x3F800000)
    rows = steps(NVFP4, inputs)
    assert [label for label, _ in rows[-2:]] == ["scale", "elements[2]"]
    assert NVFP4.answer(inputs) == (0x69, 0, 0, 0xF, 0)
