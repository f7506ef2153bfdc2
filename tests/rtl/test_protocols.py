"""Generated benches for port maps that say more: a valid for each operand, bits of ports, tolerated NaNs and elements,
missing flags."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benches import CHEAP, FIXED, HAS_ICARUS, TOP, build, failure, folders, text_of, with_icarus  # noqa: F401

from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.rtl.simulators import find
from softfloat_ref.rtl.tolerance import CompareNan, Nans
from softfloat_ref.testing.answers import executed_cases
from softfloat_ref.testing.check import check_lines
from softfloat_ref.testing.compare import ComparisonRule, same_result

pytestmark = pytest.mark.sim

# -- a valid for each operand, and bits of ports ---------------------------------------------------------------------

# Takes its operands one by one, in any order, and has the result of each pair in the next cycle.
PAIR = """
package modes;
  typedef enum logic [1:0] { AND = 1, XOR = 2 } mode_e;
endpackage
module pair #(parameter logic [1:0] MODE = modes::AND, parameter int DROP = 0, EARLY = 0, BOTH = 0, STRAY = 0) (
    input logic clk, input logic [3:0] ctrl, input logic [15:0] a, b,
    output logic [3:0] state, output logic [15:0] result);
  logic have_a, have_b;
  logic [15:0] held_a, held_b;
  wire rst = ctrl[0], a_valid = ctrl[1], b_valid = ctrl[3];
  wire free = !have_a && !have_b;
  wire a_ready = !have_a && (BOTH == 0 || b_valid), b_ready = !have_b && (BOTH == 0 || a_valid);
  wire done = have_a && (have_b || EARLY != 0);
  assign state = {STRAY != 0 ? ctrl[2] : 1'b0, done, a_ready, b_ready};
  assign result = MODE == modes::XOR ? held_a ^ held_b : held_a & held_b;
  always @(posedge clk) begin
    if (a_valid && a_ready) {have_a, held_a} <= {1'b1, a};
    if (DROP != 0 ? (a_valid && a_ready) : (b_valid && b_ready)) {have_b, held_b} <= {1'b1, b};
    if (done || rst) {have_a, have_b} <= 0;
  end
endmodule
"""
PAIR_PORTS = """
module = "pair"
clock = "clk"
reset = { port = "rst", active = "high" }
ignore = ["flags"]
drain_timeout = 100
[parameters]
MODE = { expr = "modes::XOR" }
[handshake]
in_valid = { a = "ctrl[1]", b = "ctrl[3]" }
in_ready = { a = "state[1]", b = "state[0]" }
out_valid = "state[2]"
[inputs]
a = "a"
b = "b"
ctrl = { width = 4 }
[outputs]
result = "result"
state = { width = 4 }
"""


@pytest.fixture(scope="module")
def xors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("xors")
    generate(VectorSet.make("copysign", "fp16", 400), folder)
    return folder


# b is used for its sign only, and a must be positive: so the device masks them.
SIGNED = PAIR.replace("held_a ^ held_b", "(held_a & 16'h7fff) | (held_b & 16'h8000)")


def signed(tmp_path: Path, ports: str = PAIR_PORTS, source: str = SIGNED) -> tuple[str, Path]:
    """The port map and the source; ctrl[0] is the reset, through a wrapper that splits it off."""
    text = (
        source.replace("module pair #", "module inner #")
        + """
module pair #(parameter logic [1:0] MODE = modes::AND, parameter int DROP = 0, EARLY = 0, BOTH = 0, STRAY = 0) (
    input logic clk, rst, input logic [3:0] ctrl, input logic [15:0] a, b,
    output logic [3:0] state, output logic [15:0] result);
  inner #(.MODE(MODE), .DROP(DROP), .EARLY(EARLY), .BOTH(BOTH), .STRAY(STRAY)) core (
      .clk(clk), .ctrl({ctrl[3:1], rst}), .a(a), .b(b), .state(state), .result(result));
endmodule
"""
    )
    path = tmp_path / "pair.sv"
    path.write_text(text)
    return ports, path


@pytest.mark.full
def test_a_valid_for_each_operand_as_bits_of_ports(simulator: str, xors: Path, tmp_path: Path) -> None:
    ports, source = signed(tmp_path)
    bench = build(simulator, xors, tmp_path / "w", ports, source)
    assert bench.first.passed, bench.first.output
    for seed in range(2, 6):
        assert bench.run(f"+seed={seed}").passed


@pytest.mark.full
@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ("DROP = 1", "mismatches, "),  # takes b with a, whether b is there or not
        ("EARLY = 1", "mismatches, |an extra result in cycle"),  # a result without b
        ("MODE = 1", "mismatches, 400 of 400"),
    ],
)
def test_operands_taken_wrongly(parameter: str, message: str, xors: Path, tmp_path: Path) -> None:
    port_map = PAIR_PORTS.replace("MODE = {", f"{parameter}\nMODE = {{") if "MODE" not in parameter else PAIR_PORTS
    port_map = (
        port_map.replace('{ expr = "modes::XOR" }', '{ expr = "modes::AND" }') if "MODE" in parameter else port_map
    )
    ports, source = signed(tmp_path, port_map)
    assert re.search(message, failure(build(CHEAP, xors, tmp_path / "w", ports, source).first))


@pytest.mark.full
def test_a_missing_ready_is_named(xors: Path, tmp_path: Path) -> None:
    ports, source = signed(tmp_path, source=SIGNED.replace("b_ready = !have_b &&", "b_ready = 0 &&"))
    message = failure(build(CHEAP, xors, tmp_path / "w", ports, source).first)
    assert message == "100 cycles without in_ready of b: 0 of 400 vectors compared; drain_timeout = N waits longer"


@pytest.mark.full
def test_one_ready_for_several_valids_takes_them_together(simulator: str, xors: Path, tmp_path: Path) -> None:
    """The ready of a unit that joins its operands: it is set only where all valids are."""
    ports, source = signed(tmp_path, PAIR_PORTS.replace('{ a = "state[1]", b = "state[0]" }', '"state[1]"'))
    joined = ports.replace("MODE = {", "BOTH = 1\nMODE = {")
    bench = build(simulator, xors, tmp_path / "w", joined, source)
    assert bench.first.passed, bench.first.output


@pytest.mark.full
def test_other_bits_of_a_port_of_the_handshake_are_zero_and_not_compared(xors: Path, tmp_path: Path) -> None:
    ports, source = signed(tmp_path, PAIR_PORTS.replace("MODE = {", "STRAY = 1\nMODE = {"))
    assert build(CHEAP, xors, tmp_path / "w", ports, source).first.passed
    shown = ports.replace("MODE = {", "DROP = 1\nMODE = {")
    output = build(CHEAP, xors, tmp_path / "x", shown, source).first.output
    assert re.search(r" expected result=\S+ got result=\S+ in cycle \d+$", output, re.M), output


@pytest.mark.full
def test_data_beside_a_valid(xors: Path, tmp_path: Path) -> None:
    """A port with an operand, a constant bit and a valid between them; an output with a result and a valid."""
    source = tmp_path / "dense.sv"
    right = (
        "module dense(input logic clk, input logic [32:0] in, output logic [16:0] out);\n  initial out = 0;\n"
        "  always @(posedge clk) out <= {2'b0, in[31:17]} | {in[16], in[15], 15'd0};\nendmodule\n"
    )
    source.write_text(right)
    ports = """
        module = "dense"
        clock = "clk"
        latency = 1
        ignore = ["flags"]
        [handshake]
        in_valid = "in[16]"
        out_valid = "out[16]"
        [inputs]
        in = { b = "15:0", a = "32:17" }
        [outputs]
        out = { result = "15:0", width = 17 }
        """
    assert build(CHEAP, xors, tmp_path / "w", ports, source).first.passed
    source.write_text(right.replace("{in[16],", "{!in[16],"))
    assert "out_valid is" in failure(build(CHEAP, xors, tmp_path / "x", ports, source).first)
    source.write_text(right.replace("in[15], 15'd0", "!in[15], 15'd0"))
    run = build(CHEAP, xors, tmp_path / "y", ports, source).first
    assert "400 mismatches" in failure(run)
    want, got = re.findall(r" expected out=(\S+) got out=(\S+) in cycle", run.output)[0]
    assert int(want, 16) ^ int(got, 16) == 0x8000


# -- tolerance -------------------------------------------------------------------------------------------------------

NANS = """
module nans(input logic [15:0] a, output logic [15:0] result);
  wire nan = (a & 16'h7fff) > 16'h7c00;
  assign result = nan ? @NAN@ : a ^ (a == @WRONG@ ? 16'h0001 : 16'h0000);
endmodule
"""
NANS_PORTS = """
module = "nans"
ignore = ["flags"]
compare_nan = "@RULE@"
[inputs]
a = "a"
[outputs]
result = "result"
"""


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("rule", "nan", "passes"),
    [
        with_icarus("exact", "16'h7e00", True),
        ("exact", "16'hfe01", False),
        ("quiet", "16'hfe01", True),
        ("quiet", "16'h7c01", False),
        ("any", "16'h7c01", True),
        ("any", "16'h7c00", False),
        ("any", "16'h7dxx", False),
    ],
)
def test_nans(rule: str, nan: str, passes: bool, tmp_path: Path) -> None:
    if "x" in nan and not HAS_ICARUS:
        pytest.skip("needs Icarus: Verilator has no X")
    generate(VectorSet.make("round_to_integral", "fp16", 500), tmp_path / "v")
    rows = [line.split() for line in next((tmp_path / "v").glob("*.tv")).read_text().splitlines()]
    table = "\n".join(
        f"      16'h{a}: result = {nan if int(r, 16) & 0x7FFF > 0x7C00 else f'16{chr(39)}h{r}'};" for a, r, _ in rows
    )
    source = tmp_path / "nans.sv"
    source.write_text(
        "module nans(input logic [15:0] a, output logic [15:0] result);\n  always_comb\n    case (a)\n"
        f"{table}\n      default: result = 0;\n    endcase\nendmodule\n"
    )
    ports = NANS_PORTS.replace("@RULE@", rule)
    run = build(CHEAP, tmp_path / "v", tmp_path / "w", ports, source).first
    assert run.passed == passes, run.output
    assert passes or " expected result=7e00 got result=" in run.output


@pytest.mark.full
def test_nans_of_a_mixed_set_are_those_of_each_format(folders: dict[str, Path], tmp_path: Path) -> None:  # noqa: F811
    """Another NaN in its box is accepted, another box is not; nor is the NaN of another format."""
    table = (folders["mixed"] / "table.hex").read_text().splitlines()
    fixed = FIXED.replace("latency = 3", 'latency = 3\ncompare_nan = "any"')

    def changed(bits: dict[str, str]) -> str:
        rows = [int(row, 16) for row in table]
        answers = [f"{row >> 5 & 0xFFFFFFFF:08x}" for row in rows]
        replies = (bits.get(answer, answer) for answer in answers)
        return "\n".join(
            f"{row & ~(0xFFFFFFFF << 5) | int(x, 16) << 5:x}" for row, x in zip(rows, replies, strict=True)
        )

    def run(ports: str, bits: dict[str, str]) -> bool:
        (tmp_path / "table.hex").write_text(changed(bits) + "\n")
        return bool(bench[ports].run().passed)

    bench = {p: build(CHEAP, folders["mixed"], tmp_path / str(i), p) for i, p in enumerate((FIXED, fixed))}
    for one in bench.values():
        one.folder = tmp_path
    assert {"ffff7e00", "7fc00000"} <= {f"{int(row, 16) >> 5 & 0xFFFFFFFF:08x}" for row in table}
    for bits in ({"ffff7e00": "ffffffff"}, {"7fc00000": "ffc00001"}):
        assert (run(FIXED, bits), run(fixed, bits)) == (False, True)
    for bits in (
        {"ffff7e00": "00007e00"},
        {"ffff7e00": "ffff7c00"},
        {"7fc00000": "ffff7e00"},
        {"7fc00000": "7f800000"},
    ):
        assert run(fixed, bits) == (bits == {"7fc00000": "ffff7e00"})


@pytest.mark.skipif(not HAS_ICARUS, reason="needs Icarus, which builds in no time")
@pytest.mark.parametrize(
    "name",
    [
        "fp8_e5m2",
        "fp8_e4m3",
        "fp8_e4m3fnuz",
        "fp8_e3m4",
        "e8m0",
        "ue4m3",
        "binary8p3se",
        "binary8p4ue",
        "fp16",
        "s1e2m1b1",
    ],
)
def test_the_nans_of_a_format_are_those_of_check(name: str, tmp_path: Path) -> None:
    """Every code of a format: the function of a bench says what testing.compare says."""
    fmt, nans, source = get_format(name), Nans(), tmp_path / "nan.sv"
    tests = f"{nans.test(fmt, 'i')}, {nans.test(fmt, 'i', quiet=True)}"
    loop = f'for (int i = 0; i < {1 << fmt.width}; i = i + 1) $display("%b %b", {tests});'
    source.write_text(
        "\n".join(["module nan;", *nans.lines(), f"initial begin {loop} $finish(0); end", "endmodule", ""])
    )
    printed = find("icarus").run([source], "nan", work_dir=tmp_path / "w").output.split("\n")
    nan = fmt.canonical_nan
    for code in range(1 << fmt.width):
        rules = [same_result(nan, code, ComparisonRule(fmt, rule)) for rule in (CompareNan.ANY, CompareNan.QUIET)]
        assert printed[code] == " ".join(str(int(x)) for x in rules), hex(code)


# -- blocks ----------------------------------------------------------------------------------------------------------

BLOCK_PORTS = """
module = "blocks"
nan_scale_elements = "any"
[inputs]
values = "values"
[outputs]
scale = "scale"
elements = "elements"
"""


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("scale", "elements", "rule", "passes"),
    [
        ("nan", "nan", "any", True),
        ("nan", "nan", "exact", False),
        ("nan", "all", "any", False),
        with_icarus("all", "nan", "any", False),
        with_icarus("nan", "", "exact", True),
    ],
)
def test_elements_under_a_nan_scale(scale: str, elements: str, rule: str, passes: bool, tmp_path: Path) -> None:
    """elements: where the device has others; scale "all": it has another scale where it should have NaN."""
    generate(VectorSet.make("quantize", "mxfp4", 150), tmp_path / "v")
    rows, nans = [], 0
    for line in next((tmp_path / "v").glob("*.tv")).read_text().splitlines():
        words = [int(x, 16) for x in line.split()]
        values, right, codes = words[:32], words[32], words[33:]
        nan = right == 0xFF
        nans += nan
        if elements == "all" or (elements == "nan" and nan):
            codes = [c ^ 1 for c in codes]
        shown = 0xFE if nan and scale == "all" else right
        row = sum(v << 32 * i for i, v in enumerate(values)) << 136 | shown << 128
        rows.append(f"{row | sum(c << 4 * i for i, c in enumerate(codes)):x}")
    assert 0 < nans < len(rows)
    (tmp_path / "v" / "table.hex").write_text("\n".join(rows) + "\n")
    source = tmp_path / "blocks.sv"
    source.write_text(
        "module blocks(input logic [1023:0] values, output logic [7:0] scale, output logic [127:0] elements);\n"
        f"  logic [1159:0] rows[0:{len(rows) - 1}];\n  string path;\n  logic go = 0;\n"
        '  initial begin if ($value$plusargs("table=%s", path)) $readmemh(path, rows); go = 1; end\n'
        "  always @(values or go) begin\n    {scale, elements} = 0;\n"
        f"    for (int i = 0; i < {len(rows)}; i = i + 1)\n"
        "      if (rows[i][1159:136] === values) {scale, elements} = rows[i][135:0];\n  end\nendmodule\n"
    )
    ports = BLOCK_PORTS.replace('"any"', f'"{rule}"')
    run = build(CHEAP, tmp_path / "v", tmp_path / "w", ports, source).first
    assert run.passed == passes, run.output


# -- flags that a device does not have -------------------------------------------------------------------------------

PARTLY = """
module partly(input logic [15:0] a, b, output logic [15:0] result, output logic nx);
  logic [52:0] rows[0:299];
  string path;
  logic go = 0;
  initial begin
    if ($value$plusargs("table=%s", path)) $readmemh(path, rows);
    go = 1;
  end
  always @(a or b or go) begin
    {result, nx} = 0;
    for (int i = 0; i < 300; i = i + 1)
      if (rows[i][52:21] === {a, b}) {result, nx} = {rows[i][20:5], rows[i][0]};
  end
endmodule
"""
PARTLY_PORTS = """
module = "partly"
ignore = @IGNORE@
[inputs]
a = "a"
b = "b"
[outputs]
result = "result"
nx = "inexact"
"""
FOUR = '["invalid", "divide_by_zero", "overflow", "underflow"]'


@pytest.mark.full
def test_a_log_has_only_the_flags_that_the_device_has(folders: dict[str, Path], tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "partly.sv").write_text(PARTLY)
    log = tmp_path / "results.txt"
    vectors = VectorSet.from_dict(read_manifest(folders["add"])["set"])
    lines = next(folders["add"].glob("*.tv")).read_text().lower().splitlines()
    raised = {line.split()[-1] for line in lines}
    assert {"00", "01", "10"} <= raised

    one = build(CHEAP, folders["add"], tmp_path / "w", PARTLY_PORTS.replace("@IGNORE@", FOUR), tmp_path / "partly.sv")
    assert one.run(f"+results={log}").passed
    note, *rest = log.read_text().splitlines()
    assert note == "// flags = inexact"
    assert {line.split()[-1] for line in rest} == {"00", "01"}
    assert check_lines(vectors, log.read_text().splitlines(), count=300).passed
    wrong = check_lines(vectors, rest)
    assert (wrong.passed, dict(wrong.kinds)) == (False, {"flags only": sum(int(x.split()[-1], 16) > 1 for x in lines)})
    assert len(list(executed_cases(vectors, log))) == 300

    none = PARTLY_PORTS.replace("@IGNORE@", '["flags"]').replace('nx = "inexact"\n', "")
    assert build(CHEAP, folders["add"], tmp_path / "x", none, tmp_path / "partly.sv").run(f"+results={log}").passed
    note, *rest = log.read_text().splitlines()
    assert note == "// flags = none"
    assert {len(line.split()) for line in rest} == {3}
    report = check_lines(vectors, log.read_text().splitlines(), count=300)
    assert (report.passed, report.has_flags) == (True, False)
    assert len(list(executed_cases(vectors, log))) == 300


@pytest.mark.full
def test_a_log_has_no_result_that_the_device_does_not_have(tmp_path: Path) -> None:
    generate(VectorSet.make("quantize", "mxfp4", 40), tmp_path / "v")
    source = tmp_path / "blocks.sv"
    source.write_text(
        "module blocks(input logic [1023:0] values, output logic [7:0] scale);\n  assign scale = 3;\nendmodule\n"
    )
    ports = BLOCK_PORTS.replace('nan_scale_elements = "any"', 'ignore = ["elements"]').replace(
        'elements = "elements"\n', ""
    )
    log = tmp_path / "results.txt"
    failure(build(CHEAP, tmp_path / "v", tmp_path / "w", ports, source).run(f"+results={log}"))
    rows = [line.split()[32:] for line in log.read_text().splitlines() if not line.startswith("//")]
    assert rows == [["03", *["-"] * 32]] * 40
    assert len(list(executed_cases(VectorSet.make("quantize", "mxfp4", 40), log))) == 40


def test_a_log_says_which_nans_were_accepted(tmp_path: Path) -> None:
    generate(VectorSet.make("neg", "fp16", 300), tmp_path / "v")
    (tmp_path / "nans.sv").write_text(
        "module nans(input logic [15:0] a, output logic [15:0] result);\n"
        "  assign result = (a & 16'h7fff) > 16'h7c00 ? 16'h7fff : a ^ 16'h8000;\nendmodule\n"
    )
    log = tmp_path / "results.txt"
    bench = build(CHEAP, tmp_path / "v", tmp_path / "w", NANS_PORTS.replace("@RULE@", "any"), tmp_path / "nans.sv")
    assert bench.run(f"+results={log}").passed
    lines = log.read_text().splitlines()
    assert lines[:2] == ["// compare_nan = any", "// flags = none"]
    vectors = VectorSet.make("neg", "fp16", 1)
    assert check_lines(vectors, lines).passed
    assert set(check_lines(vectors, lines[1:]).kinds) == {"another NaN"}


# -- the example -----------------------------------------------------------------------------------------------------

SERIAL = TOP / "docs" / "examples" / "fp16_mul_serial"
FOUND = {
    1: "mismatches",
    2: "mismatches",
    3: "mismatches",
    4: "mismatches",
    5: "mismatches",
    6: "mismatches",
    7: "mismatches",
    8: "the result changed while stalled in cycle",
    9: "mismatches",
    10: "mismatches",
    11: "mismatches",
    12: "mismatches",
}


@pytest.fixture(scope="module")
def products(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("products")
    generate(VectorSet.make("mul", "fp16", 3000), folder)
    return folder


@pytest.mark.full
def test_the_serial_multiplier_passes(simulator: str, products: Path, tmp_path: Path) -> None:
    ports = (SERIAL / "ports.toml").read_text()
    bench = build(simulator, products, tmp_path, ports, SERIAL / "fp16_mul_serial.sv")
    assert bench.first.passed, bench.first.output
    assert bench.run("+seed=3").passed


@pytest.mark.full(gate=0)
def test_every_defect_of_the_serial_multiplier_is_found(products: Path, tmp_path: Path) -> None:
    """In one bench, by a plusarg in place of the input; number 8 by the input too, as a user would."""
    text = (SERIAL / "fp16_mul_serial.sv").read_text()
    listed = re.findall(r"^// +(\d+)  ", text, re.M)
    assert [int(x) for x in listed] == [0, *FOUND]
    planted = '  logic [3:0] defect;\n  initial if (!$value$plusargs("defect=%d", defect)) defect = 0;\n'
    text = re.sub(r"(input +logic \[3:0\] +)defect,", r"\1unused,", text).replace(");\n", f");\n{planted}", 1)
    (tmp_path / "planted.sv").write_text(text)
    ports = (SERIAL / "ports.toml").read_text()
    bench = build(CHEAP, products, tmp_path / "w", ports.replace("defect =", "unused ="), tmp_path / "planted.sv")
    assert bench.first.passed, bench.first.output
    for number, message in FOUND.items():
        assert message in failure(bench.run(f"+defect={number}")), number
    ports = ports.replace("value = 0", "value = 8")
    report = failure(build(CHEAP, products, tmp_path / "x", ports, SERIAL / "fp16_mul_serial.sv").first)
    assert f"\nFAIL: {report}\n" in (TOP / "docs" / "testbench.md").read_text()
