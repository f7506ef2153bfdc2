"""A clock enable that a bench takes away at random, and a valid of results that is a code."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from benches import CHEAP, Bench, build, failure
from test_draft import design

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.draft import draft
from softfloat_ref.rtl.port_map import ClockEnable, parse_ports

MAGNITUDES = VectorSet.make("abs", "fp16", 200)
# Two stages that an enable gates; {valid}, {first} and {last}: when these registers change.
PIPELINE = """
module unit (input clk, rst, ce, in_valid, input [15:0] a, output [15:0] y, output out_valid, output [1:0] state);
  reg [1:0] valid; reg [15:0] first, last;
  wire on = {on};
  assign out_valid = valid[1];
  assign state = {{valid[1], 1'b1}};
  assign y = last;
  always @(posedge clk)
    if (rst) valid <= 0;
    else begin
      if ({valid}) valid <= {{valid[0], in_valid}};
      if ({first}) first <= {{1'b0, a[14:0]}};
      if ({last}) last <= first;
    end
endmodule
"""
RIGHT = {"on": "ce", "valid": "on", "first": "on", "last": "on"}
PORTS = """
module = "unit"
clock = "clk"
reset = { port = "rst", active = "high" }
enable = { port = "ce" }
ignore = ["flags"]
latency = 2
[handshake]
in_valid = "in_valid"
out_valid = "out_valid"
[inputs]
a = "a"
[outputs]
y = "result"
"""


@pytest.fixture(scope="module")
def magnitudes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("magnitudes")
    generate(MAGNITUDES, folder)
    return folder


def bench_of(folder: Path, tmp_path: Path, ports: str, simulator: str = CHEAP, **changed: str) -> Bench:
    tmp_path.mkdir(exist_ok=True)
    source = tmp_path / "unit.sv"
    source.write_text(PIPELINE.format(**{**RIGHT, **changed}))
    return build(simulator, folder, tmp_path / "w", ports, source)


@pytest.mark.sim
@pytest.mark.full(keep=1)
@pytest.mark.parametrize("handshake", ["fixed", "without in_valid", "varying"])
def test_a_pipeline_that_the_enable_stops(handshake: str, simulator: str, magnitudes: Path, tmp_path: Path) -> None:
    ports = {
        "fixed": PORTS,
        "without in_valid": PORTS.replace('in_valid = "in_valid"\nout_valid = "out_valid"', "").replace(
            'a = "a"', 'a = "a"\nin_valid = { value = 1 }'
        ),
        "varying": PORTS.replace("latency = 2", ""),
    }[handshake]
    bench = bench_of(magnitudes, tmp_path, ports, simulator)
    assert bench.first.passed, bench.first.output
    assert bench.run("+seed=2").passed


@pytest.mark.sim
@pytest.mark.full
@pytest.mark.parametrize("stage", ["valid", "first", "last"])
def test_a_register_that_goes_on_without_the_enable(stage: str, magnitudes: Path, tmp_path: Path) -> None:
    """It fails; with the enable always on, as a constant, nobody would see it."""
    bench = bench_of(magnitudes, tmp_path / "a", PORTS, **{stage: "1"})
    assert failure(bench.first)
    constant = PORTS.replace('enable = { port = "ce" }\n', "").replace('a = "a"', 'a = "a"\nce = { value = 1 }')
    assert bench_of(magnitudes, tmp_path / "b", constant, **{stage: "1"}).first.passed


@pytest.mark.sim
@pytest.mark.full
def test_an_enable_that_is_active_low(magnitudes: Path, tmp_path: Path) -> None:
    low = PORTS.replace('{ port = "ce" }', '{ port = "ce", active = "low", pauses = 60 }')
    assert bench_of(magnitudes, tmp_path, low, on="!ce").first.passed


CODED = PORTS.replace('out_valid = "out_valid"', 'out_valid = { port = "state", code = 3, width = 2 }')


@pytest.mark.sim
@pytest.mark.full
@pytest.mark.parametrize("latency", ["latency = 2", ""])
def test_a_code_that_means_a_result(latency: str, simulator: str, magnitudes: Path, tmp_path: Path) -> None:
    ports = CODED.replace("latency = 2", latency)
    bench = bench_of(magnitudes, tmp_path, ports, simulator)
    assert bench.first.passed, bench.first.output
    assert failure(bench_of(magnitudes, tmp_path / "wrong", ports.replace("code = 3", "code = 1"), simulator).first)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ('clock = "clk"\n', "", "reset needs clock"),
        ('{ port = "ce" }', '{ port = "ce", active = "up" }', "enable: active = 'up'"),
        ('{ port = "ce" }', '{ port = "rst" }', "'rst' has two uses"),
        ('{ port = "ce" }', '{ port = "ce", pauses = 100 }', "pauses"),
        ('out_valid = "out_valid"', 'out_valid = { port = "s", code = 3 }', "code and width go together"),
        ('out_valid = "out_valid"', 'out_valid = { port = "s", code = 4, width = 2 }', "code = 4 does not fit 2 bits"),
        ('in_valid = "in_valid"', 'in_valid = { port = "s", code = 1, width = 2 }', "for out_valid only"),
        ('y = "result"', 'y = "result"\nout_valid = "result"', "two uses"),
    ],
)
def test_what_is_refused(right: str, wrong: str, message: str) -> None:
    assert right in PORTS
    with pytest.raises(Error, match=message):
        parse_ports(tomllib.loads(PORTS.replace(right, wrong)))


def test_a_draft_with_an_enable(tmp_path: Path) -> None:
    """It is held on, and says how it is toggled; that line can be given."""
    text = PIPELINE.format(**RIGHT)
    held = draft(design(text, "unit", tmp_path), MAGNITUDES)
    assert 'ce = { value = 1 }  # guess: always on, by its name; enable = { port = "ce" } toggles it' in held.text
    toggled = draft(design(text, "unit", tmp_path), MAGNITUDES, settings=['enable={ port = "ce" }'])
    assert toggled.ports.enable == ClockEnable("ce")
    assert "ce" not in {port.name for port in toggled.ports.inputs}
