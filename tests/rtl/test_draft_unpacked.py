"""Outputs that are parts of a number beside its sign and exponent: which of them is the whole.

Each word for a significand, a magnitude or the result of an operation stands beside an exponent and a sign, an
exponent, a sign, and alone. Its width is always that of the result, so that nothing but the names tells.
"""

from __future__ import annotations

import tomllib
from itertools import product
from pathlib import Path

import pytest
from test_draft import design

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.draft import draft

BESIDE = {
    "exponent and sign": "output [8:0] exp_sum, output sign",
    "exponent": "output [8:0] {stem}exponent",
    "sign": "output sgn",
    "nothing": "",
}
SIGNIFICANDS = ("mant", "man", "frac", "sig", "significand", "mantissa_out", "mag", "o_fraction")
OPERATIONS = ("prod", "product", "p", "sum", "diff_o", "quotient", "root")
WHOLE = ("result", "y", "z", "q", "out", "res", "fp_o", "result_sum", "prod_result", "dout")


def outputs_of(outputs: str, folder: Path, targeted: bool = True, *settings: str) -> dict[str, object]:
    head = f"input [15:0] a, input [15:0] b, {outputs}".rstrip(", ")
    module = design(f"module m({head});\nendmodule\n", "m", folder)
    vectors = VectorSet.make("mul", "bf16", 10) if targeted else None
    return tomllib.loads(draft(module, vectors, settings=settings).text)["outputs"]


@pytest.mark.parametrize("targeted", [True, False])
@pytest.mark.parametrize("beside", BESIDE)
def test_which_output_is_the_whole(beside: str, targeted: bool, tmp_path: Path) -> None:
    for name, order in product((*SIGNIFICANDS, *OPERATIONS, *WHOLE), (1, -1)):
        others = BESIDE[beside].format(stem="z_" if name == "z" else "")
        ports = ", ".join(filter(None, [f"output [15:0] {name}", others][::order]))
        is_part = name in SIGNIFICANDS and beside != "nothing"
        is_part |= name in OPERATIONS and "exponent" in beside
        if not is_part:
            assert outputs_of(ports, tmp_path, targeted) == {name: "result"}, name
            continue
        with pytest.raises(Error) as caught:
            outputs_of(ports, tmp_path, targeted)
        assert str(caught.value).startswith(f"result: {name}"), name
        assert "of a number, which m does not pack into a code" in str(caught.value)
        outputs = outputs_of(ports, tmp_path, targeted, f"outputs.{name}=result")
        assert outputs[name] == "result"


@pytest.mark.parametrize("targeted", [True, False])
def test_a_number_in_parts_beside_a_product(targeted: bool, tmp_path: Path) -> None:
    """The parts of a code are the result; the product of the significands, which is as wide as a code, is not."""
    parts = "output sign, output [7:0] exp, output [6:0] man"
    expected = {"sign": "result[15]", "exp": "result[14:7]", "man": "result[6:0]"}
    assert outputs_of(f"{parts}, output [15:0] prod", tmp_path, targeted) == expected
    assert outputs_of(f"output [15:0] prod, {parts}", tmp_path, targeted) == expected


@pytest.mark.parametrize("targeted", [True, False])
@pytest.mark.parametrize("name", ["result", "result_o", "final_res"])
def test_a_result_beside_its_parts(name: str, targeted: bool, tmp_path: Path) -> None:
    parts = "output sign, output [7:0] exp, output [6:0] mantissa"
    assert outputs_of(f"{parts}, output [15:0] {name}", tmp_path, targeted) == {name: "result"}


def test_an_exponential_is_no_exponent(tmp_path: Path) -> None:
    """The result of exp may have that name, and a sum beside it is another result."""
    module = design("module m(input [15:0] x, output [15:0] exp);\nendmodule\n", "m", tmp_path)
    ports = tomllib.loads(draft(module, VectorSet.make("exp", "bf16", 10)).text)
    assert ports["outputs"] == {"exp": "result"}
