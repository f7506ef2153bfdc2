"""Where nearly everything mismatches, the connection of the module is suspected before its arithmetic: one case for
each thing that a port map assumes, and for each sign of it in the answers."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from benches import with_icarus
from diagnosing import defect
from played import played

from softfloat_ref.diagnosis.hypotheses import Model, expected_model
from softfloat_ref.diagnosis.parts import explanation
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.assumptions import PortAssumptions, guessed_lines
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.testing.check import check_results
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.judge import CheckReport, Judge
from softfloat_ref.units import OperationUnit

VECTORS = VectorSet(OperationUnit.make("mul", "fp16"), 200)
PORTS = """
module = "unit"
clock = "clk"
reset = { port = "rst", active = "low" }  # guess: by its name
latency = 3
[inputs]
a = "a"
b = "b"
en = { value = 0 }  # guess: nothing is known of it; 0
mode = { value = 2, width = 2 }  # read in unit.sv
[outputs]
result = "result"
flags = "flags"  # guess: from bit 4 on
"""
ASSUMED = PortAssumptions.of(parse_ports(tomllib.loads(PORTS)), guessed_lines(PORTS))


def reported(model: Model, assumed: PortAssumptions = ASSUMED) -> CheckReport:
    judge = Judge(VECTORS, shown=0)
    judge.report.assumptions = assumed
    for inputs in VECTORS.inputs():
        if line := VECTORS.line(inputs):
            code, flags = model(line[:2]) or (0, 0)
            judge.compare(line, Answer((code,), flags))
    return judge.report


def scrambled(inputs: tuple[int, ...]) -> tuple[int, int]:
    return (inputs[0] * 40503 ^ inputs[1] * 9973) & 0xFFFF, inputs[0] & 31


def said(report: CheckReport) -> list[str]:
    cause = explanation(report)
    return cause.lines() if cause else []


def test_what_is_assumed_is_named_first() -> None:
    lines = said(reported(scrambled))  # type: ignore[arg-type]
    assert lines[:6] == [
        "diagnosis: 198 of 200 cases mismatch: suspect the connection of the module before its arithmetic",
        "  the reset is rst, active low (a guess)",
        "  latency = 3",
        "  held at a constant: en = 0 (a guess)",
        "  held at a constant: mode = 2",
        '  guessed: flags = "flags" # guess: from bit 4 on',
    ]
    assert lines[6].startswith("diagnosis if the connection is right: ")


@pytest.mark.parametrize("first", [0, 3])
def test_answers_that_are_all_the_same(first: int) -> None:
    """Also if some come before the module stands still."""
    count = 0

    def stuck(inputs: tuple[int, ...]) -> tuple[int, int]:
        nonlocal count
        count += 1
        return (0x3C00, 0) if count > first else scrambled(inputs)

    lines = said(reported(stuck))  # type: ignore[arg-type]
    assert lines[1] == "  nearly every answer is 3c00: is the module held in reset, disabled, or without a clock?"


@pytest.mark.parametrize(
    ("model", "assumed"),
    [
        (defect(VECTORS, "exponent +1"), ASSUMED),  # one fault that explains everything
        (defect(VECTORS, "no inexact"), ASSUMED),  # many cases agree
        (scrambled, PortAssumptions()),  # no port map
    ],
)
def test_the_arithmetic_is_suspected(model: Model, assumed: PortAssumptions) -> None:
    assert not any("suspect the connection" in line for line in said(reported(model, assumed)))


@pytest.mark.sim
@pytest.mark.parametrize(
    ("bits", "sign"),
    [
        with_icarus(lambda line: {"result": "x" * 16, "flags": "x" * 5}, "  200 answers with X or Z bits"),
        (lambda line: {"result": "0" * 16, "flags": "0" * 5}, "  nearly every answer is 0000: is the module held in"),
    ],
)
def test_the_log_of_a_bench_says_what_is_assumed(bits: Callable, sign: str, tmp_path: Path) -> None:  # type: ignore[type-arg]
    ports = '[inputs]\na = "a"\nb = "b"\nen = { value = 1 }\n[outputs]\nresult = "result"\nflags = "flags"\n'
    _, log = played(VECTORS, bits, ports, tmp_path)
    report = check_results(VECTORS, log)
    assert report.assumptions == PortAssumptions("clk", 1, 1, False, "rst, active high", ("en = 1",))
    lines = said(report)
    assert lines[1].startswith(sign)
    assert "  held at a constant: en = 1" in lines


def test_a_log_without_results(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"// {note}\n" for note in ASSUMED.notes()))
    lines = said(check_results(VECTORS, log))
    assert lines[0] == "diagnosis: no result came: suspect the connection of the module"
    assert "  the reset is rst, active low (a guess)" in lines


@pytest.mark.parametrize(
    ("latency", "pauses", "lanes", "late", "advice"),
    [
        (1, False, 1, 1, "results come 1 cycle later than the port map says: latency = 2, not 1"),
        (3, False, 1, -2, "results come 2 cycles earlier than the port map says: latency = 1, not 3"),
        (1, False, 2, 4, "results come 2 cycles later than the port map says: latency = 3, not 1"),
        (1, True, 1, 1, "results come 1 cycle later than the port map says: latency = 2, not 1"),
        (None, True, 1, 1, "out_valid comes before its result, or results need a [tag]"),
        (None, True, 1, -1, "out_valid comes after its result, or results need a [tag]"),
        (1, False, 2, 1, None),  # half an operation
        (1, False, 1, -2, None),  # before its operands
        (None, False, 1, 1, None),  # a combinational module
    ],
)
def test_advice_on_the_latency(latency: int | None, pauses: bool, lanes: int, late: int, advice: str | None) -> None:
    assumed = PortAssumptions("clk", lanes, latency, pauses)
    assert assumed.of_shift(late) == ((advice,) if advice else ())
    again = PortAssumptions()
    for note in assumed.notes():
        again = again.noted(f"// {note}")
    assert again == assumed


def test_inputs_that_are_held_are_named_beside_a_fault() -> None:
    """A rounding that one of them may choose."""
    lines = said(reported(expected_model(OperationUnit.make("mul", "fp16", policy={"rounding": "rtz"}))))
    assert lines[0] == "diagnosis: the device rounds toward zero (truncates)"
    assert lines[-1] == (
        "  held at a constant by the port map: en = 0 (a guess), mode = 2; does one of them choose this?"
    )
