"""Benches that allow an error: the results in their log are judged by the rule of `check`, and nothing else passes."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from benches import CHEAP, with_icarus
from command import ok, refused, run

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.proof.rtl import bound
from softfloat_ref.rtl.bench_runs import BenchRun
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.tolerance import Tolerance
from softfloat_ref.testing.check import check_results

COUNT = 400
SET = VectorSet.make("convert", "fp32", COUNT, out="bf16")
# It cuts: an error below one ulp, but infinities are large numbers. OFF is a second error, X an unknown bit, ABOVE what
# is above a result in its register.
DEVICE = """
module cuts #(parameter OFF = 0, X = 0, ABOVE = 16'hffff)
    (input clk, input [31:0] a, output reg [31:0] result, output reg [4:0] flags);
  wire nan = a[30:23] == 8'hff && a[22:0] != 0;
  wire [15:0] cut = a[31:16] + (a[30:23] == 8'h80 ? OFF : 0);
  always @(posedge clk) begin
    result <= {ABOVE[15:0], nan ? 16'h7fc0 : X && a[31:16] == 16'h3f80 ? 16'h3f8x : cut};
    flags <= nan && !a[22] ? 5'h10 : 0;
  end
endmodule
"""
PORTS = """
module = "cuts"
clock = "clk"
latency = 1
inputs = { a = "a" }
outputs = { result = { result = "31:0", fill = "ones" }, flags = "flags" }
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cuts")
    generate(SET, folder / "vectors")
    (folder / "cuts.sv").write_text(DEVICE)
    (folder / "ports.toml").write_text(PORTS)
    return folder


def bench(place: Path, *more: str, ports: str = PORTS) -> Any:
    (place / "ports.toml").write_text(ports)
    words = ("vectors", "testbench", "vectors", "--ports", "ports.toml", "--run", "cuts.sv", "--sim", CHEAP)
    return run(*words, "--results", "log.txt", *more, cwd=place)


@pytest.mark.sim
@pytest.mark.full
@pytest.mark.parametrize(("option", "key"), [("--ulp", "1"), ("--ulp", "3/4"), ("--kappa", "1")])
def test_the_counts_are_those_of_check(place: Path, option: str, key: str) -> None:
    done = bench(place, option, key)
    judged = run("check", "--golden", "vectors", "--results", "log.txt", option, key, cwd=place)
    report = check_results(SET, place / "log.txt")  # which says what is allowed
    assert report.errors is not None
    assert f"{report.compared} compared, {report.mismatched} mismatched" in judged.stderr
    assert done.returncode == judged.returncode == int(not report.passed)
    assert done.returncode == (0 if key == "1" and option == "--ulp" else 1)
    last = done.stdout.splitlines()[-1]
    if done.returncode:
        assert f"\nFAIL: {report.mismatched} mismatches, {COUNT} of {COUNT} vectors compared; " in done.stdout
        assert "PASS" not in done.stdout
    else:
        assert last.startswith(f"PASS: {COUNT} of {COUNT} vectors; largest error ")
    assert ("diagnosis: " in done.stdout) == bool(done.returncode)


@pytest.mark.sim
@pytest.mark.full
def test_without_an_error_allowed_it_fails(place: Path) -> None:
    done = bench(place)
    assert done.returncode == 1
    assert "rounds toward zero" in done.stdout


@pytest.mark.sim
@pytest.mark.full
@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("OFF = 2", r"FAIL: \d+ mismatches, 400 of 400 vectors compared; largest error 2"),
        with_icarus("X = 1", r"FAIL: (\d+) mismatches, 400 of 400 vectors compared; .* \(\1 X or Z bits\)"),
        ("ABOVE = 0", "FAIL: 400 mismatches, 400 of 400 vectors compared"),  # what is no result is compared exactly
    ],
)
def test_other_faults_are_found(place: Path, parameters: str, said: str) -> None:
    done = bench(place, ports=PORTS.replace("latency = 1", "latency = 1\nulp = 1") + f"[parameters]\n{parameters}\n")
    assert done.returncode == 1, done.stdout
    assert re.search(said, done.stdout), done.stdout


@pytest.mark.sim
@pytest.mark.full
def test_a_bench_alone_does_not_pass(place: Path) -> None:
    """It logs results for `check`, or fails without a log."""
    (place / "ports.toml").write_text(PORTS.replace("latency = 1", "latency = 1\nulp = 0.75"))
    words = ("vectors", "testbench", "vectors", "--ports", "ports.toml")
    ok(*words, "-o", "bench.sv", cwd=place)
    text = (place / "bench.sv").read_text()
    assert "PASS: %0d" not in text
    assert '"// ulp = 3/4"' in text
    assert 'if (path == "") begin' in text


def test_logged_is_not_passed() -> None:
    text = "LOGGED: 5 of 5 vectors, whose errors remain to be judged\n"
    assert (BenchRun(0, text).logged, BenchRun(0, text).passed) == (True, False)
    assert not BenchRun(0, f"{text}FAIL: 1\n").logged
    assert not BenchRun(0, "PASS: 5 of 5 vectors\n").logged


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"ulp": 1, "kappa": 1}, "two measures of one error"),
        ({"ulp": "x"}, "ulp = x: give a number"),
        ({"ulp": -1}, "ulp = -1: give a number"),
        ({"ulp": float("inf")}, "ulp = inf: give a number"),
        ({"kappa": -1}, "kappa"),
        ({"ulp": 1, "sticky": {}}, "flags are not in the log"),
    ],
)
def test_port_maps_that_are_refused(more: dict[str, Any], said: str) -> None:
    table = {"module": "m", "clock": "clk", "latency": 1, "inputs": {"a": "a"}, "outputs": {"result": "result"}}
    with pytest.raises(Error, match=said):
        parse_ports({**table, **more})


def test_exact_statements_are_refused(place: Path) -> None:
    ports = parse_ports({"module": "m", "inputs": {"a": "a"}, "outputs": {"result": "result"}, "ulp": 0.5})
    assert Tolerance.of_ports(ports).ulp == Fraction(1, 2)
    with pytest.raises(Error, match="a proof is about exact results"):
        bound(SET.unit, ports)
    words = ("vectors", "testbench", "vectors", "--ports", "ports.toml", "--run", "cuts.sv")
    assert "give one of them" in refused(*words, "--ulp", "1", "--kappa", "1", cwd=place)
    assert "--ulp x" in refused(*words, "--ulp", "x", cwd=place)
    assert "--wave needs" in refused(*words, "--ulp", "1", "--wave", "w.vcd", cwd=place)
    ok("vectors", "generate", "quantize", "--fmt", "mxfp4", "-n", "20", "-o", "blocks", cwd=place)
    (place / "blocks.toml").write_text(
        'module = "m"\ninputs = { v = "values" }\noutputs = { s = "scale", e = "elements" }\nulp = 1\n'
    )
    said = refused("vectors", "testbench", "blocks", "--ports", "blocks.toml", "-o", "b.sv", cwd=place)
    assert "--ulp is for scalar operations" in said
