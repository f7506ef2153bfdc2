"""Generated benches under real simulators: devices of each kind pass, and every way to be wrong fails."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest
from benches import (
    CHEAP,
    CIRCUIT,
    COMB,
    DEVICES,
    HANDSHAKE,
    ONLY_ICARUS,
    RTL,
    TOP,
    Bench,
    build,
    failure,
    with_icarus,
)
from click.testing import CliRunner

from softfloat_ref.app import vectors as app
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.vector_recipes import load_recipe
from softfloat_ref.rtl.fit import Misfit, check_fit
from softfloat_ref.rtl.port_map import PortMap, parse_ports
from softfloat_ref.units import controls

pytestmark = pytest.mark.sim

# -- right and wrong devices -------------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("bench", DEVICES, indirect=True)
def test_right_devices_pass(bench: Bench) -> None:
    assert bench.first.passed, bench.first.output
    count = read_manifest(bench.folder)["count"]
    assert f"PASS: {count} of {count} vectors" in bench.first.output
    for seed in ("+seed=2", "+seed=3"):
        assert bench.run(seed).passed
    if bench.top == "shuffle_tb":
        assert "reordered" in bench.first.output


WRONG = {
    "combinational": {
        "bit": "[1-9] mismatches, 1000 of 1000",
        "flag": "[1-9] mismatches, 1000 of 1000",
        "dead": "mismatches, 1000 of 1000",
    },
    "fixed latency, mixed": {
        "bit": "1 mismatches, 300 of 300",
        "box": "mismatches, 300 of 300",
        "flag": "1 mismatches, 300 of 300",
        "rounding": "mismatches, 300 of 300",
        "dead": "out_valid is 0 in cycle .*, where a result is due",
        "late": "out_valid is 0 in cycle .*, where a result is due",
        "few": "out_valid is 0 in cycle .*, where a result is due",
        "spurious": "out_valid is 1 in cycle .*, where no result is due",
        "reset": "out_valid is 0 in cycle",
    },
    "valid/ready, sticky": {
        "bit": "1 mismatches, 300 of 300",
        "flag": "[123] mismatches, 300 of 300",
        "clear": "mismatches, 300 of 300",
        "dead": "300 cycles without a result: 0 of 300 vectors",
        "deaf": "300 cycles without in_ready: 0 of 300 vectors",
        "few": "300 cycles without a result: 299 of 300 vectors",
        "many": "an extra result in cycle",
        "unstable": r"the result changed while stalled in cycle \d+; stable = false accepts that",
        "idle": "mismatches, ",
    },
    "out of order": {
        "bit": "1 mismatches, 300 of 300",
        "flag": "1 mismatches, 300 of 300",
        "dead": "300 cycles without a result: 0 of 300 vectors",
        "few": "300 cycles without a result: 299 of 300 vectors",
        "many": "a result with tag . in cycle .*, but no operation in flight has this tag",
        "tags": "(a result with tag|.* mismatches)",
    },
}


@pytest.mark.parametrize("bench", ["combinational", "out of order"], indirect=True)
def test_the_log_of_results_has_every_vector_with_what_came_out(bench: Bench, tmp_path: Path) -> None:
    log = tmp_path / "results.txt"
    assert bench.run(f"+results={log}").passed
    manifest = read_manifest(bench.folder)
    lines = next(bench.folder.glob("*.tv")).read_text().lower().splitlines()
    assert sorted(log.read_text().splitlines()) == sorted(lines)
    assert len(lines) == manifest["count"]
    assert not bench.run("+results=/no/such/folder/results.txt").passed


@pytest.mark.full(keep=3)
@pytest.mark.parametrize(
    ("bench", "bug", "message"),
    [(device, bug, message) for device, bugs in WRONG.items() for bug, message in bugs.items()],
    indirect=["bench"],
)
def test_wrong_devices_fail(bench: Bench, bug: str, message: str) -> None:
    run = bench.run(f"+bug_{bug}")
    assert re.search(message, failure(run)), run.output
    if bug == "bit":
        # The first mismatch names the file and line, and shows what went in.
        where = r"( with tag [0-9a-f])?( in cycle \d+)?"
        line = rf"^(\S+\.memh):(\d+): (.*)a=([0-9a-f]+) .*expected (.*?) got (.*?){where}$"
        shown = re.search(line, run.output, re.M)
        assert shown, run.output
        line = (bench.folder / shown[1]).read_text().splitlines()[int(shown[2]) - 1]
        assert shown[4] in line.split("_")
        assert bool(shown[3]) == ("mixed" in shown[1])
        assert shown[5] != shown[6]
        assert bool(shown[7]) == (bench.top == "shuffle_tb")
        assert bool(shown[8]) == (bench.top != "convert_tb")


UNKNOWN = [("combinational", "x"), ("fixed latency, mixed", "x"), ("fixed latency, mixed", "xvalid")]
UNKNOWN += [(d, bug) for d in ("valid/ready, sticky", "out of order") for bug in ("x", "xvalid", "xready")]


@ONLY_ICARUS
@pytest.mark.parametrize(("bench", "bug"), UNKNOWN, indirect=["bench"])
@pytest.mark.parametrize("simulator", ["icarus"], indirect=True)
def test_x_fails(bench: Bench, bug: str) -> None:
    """Where the simulator has X: in one bit of a result, in a valid, in a ready."""
    message = failure(bench.run(f"+bug_{bug}"))
    assert ("mismatches" in message) if bug == "x" else f"{bug[1:]} is x" in message


@pytest.mark.parametrize("bench", ["combinational", "valid/ready, sticky"], indirect=True)
@pytest.mark.parametrize("damage", ["empty", "cut", "cut in a line", "one more", "missing"])
def test_damaged_vectors_fail(bench: Bench, damage: str, tmp_path: Path) -> None:
    source = next(bench.folder.glob("*.memh"))
    words = source.read_text()
    changed = {
        "empty": ("// nothing\n", "no vectors"),
        "cut": ("\n".join(words.splitlines()[:50]) + "\n", "48 words, but this bench is for"),
        "cut in a line": (words[:-3], "words, but this bench is for|not a word of"),
        "one more": (words + words.splitlines()[-1] + "\n", "words, but this bench is for"),
    }
    if damage in changed:
        (tmp_path / source.name).write_text(changed[damage][0])
    message = changed[damage][1] if damage in changed else "cannot read"
    assert re.search(message, failure(bench.run(f"+vectors={tmp_path}")))


# -- more kinds, under one simulator -----------------------------------------------------------------------------------


@pytest.mark.full
def test_fixed_latency_active_high_without_valid(folders: dict[str, Path], tmp_path: Path) -> None:
    ports = """
        module = "plain"
        clock = "clk"
        reset = { port = "rst", active = "high" }
        latency = 2
        [parameters]
        N = 300
        KEY = 32
        ANS = 21
        [inputs]
        operands = { a = "31:16", b = "15:0" }
        [outputs]
        result = "result"
        status = "flags"
        """
    assert build(CHEAP, folders["add"], tmp_path / "a", ports).first.passed
    wrong = ports.replace('active = "high"', 'active = "low"')
    assert "mismatches" in failure(build(CHEAP, folders["add"], tmp_path / "b", wrong).first)
    wrong = ports.replace("latency = 2", "latency = 1")
    assert "mismatches" in failure(build(CHEAP, folders["add"], tmp_path / "c", wrong).first)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("latency", "valid"),
    [
        (1, False),
        (2, True),
        (3, True),
        *(with_icarus(*x) for x in ((1, True), (2, False), (3, False), (4, False), (4, True))),
    ],
)
def test_one_vector_tells_a_wrong_latency(latency: int, valid: bool, tmp_path: Path) -> None:
    """Before and after the only operation, a device without reset gets other operands."""
    (tmp_path / "pipe.sv").write_text(
        "module late(input clk, v, input [15:0] a, output logic [15:0] result);\n  logic [15:0] first;\n"
        "  always @(posedge clk) begin first <= a ^ 16'h8000; result <= first; end\nendmodule\n"
    )
    generate(VectorSet.make("neg", "fp16", 1), tmp_path / "v")
    shake = '[handshake]\nin_valid = "v"\n' if valid else ""
    ports = f'module = "late"\nclock = "clk"\nlatency = {latency}\nignore = ["flags"]\n{shake}'
    ports += '[inputs]\na = "a"\n' + ("" if valid else "v = { value = 0 }\n") + '[outputs]\nresult = "result"\n'
    bench = build(CHEAP, tmp_path / "v", tmp_path / "w", ports, tmp_path / "pipe.sv")
    assert bench.first.passed == (latency == 2), bench.first.output


def test_sticky_without_clear(folders: dict[str, Path], tmp_path: Path) -> None:
    ports = HANDSHAKE.replace('clear = "clear"\nevery = 4\ndelay = 1', "delay = 0").replace("KEY", "NOW = 1\nKEY")
    ports = ports.replace("[inputs]", "[inputs]\nclear = { value = 0 }")
    bench = build(CHEAP, folders["add"], tmp_path, ports)
    assert bench.first.passed, bench.first.output
    assert "mismatches" in failure(bench.run("+bug_bit"))


def test_one_at_a_time(folders: dict[str, Path], tmp_path: Path) -> None:
    """A unit that takes an operation only when it is idle, and does not say so: outstanding = 1."""
    ports = HANDSHAKE.replace('in_ready = "in_ready"\n', "").replace(
        'module = "queue"', 'module = "queue"\noutstanding = 1'
    )
    bench = build(CHEAP, folders["add"], tmp_path / "a", ports)
    assert bench.first.passed, bench.first.output


def test_lanes(folders: dict[str, Path], tmp_path: Path) -> None:
    """Four conversions at a time, flags merged; the last operation is not full."""
    generate(VectorSet.make("convert", "fp32", 998, out="fp8_e4m3"), tmp_path / "v")
    ports = """
        module = "quad"
        lanes = 4
        [inputs]
        a = { a = "31:0", stride = 32 }
        [outputs]
        result = "result"
        flags = { flags = "4:0", merge = true }
        """
    bench = build(CHEAP, tmp_path / "v", tmp_path / "w", ports)
    assert "PASS: 998 of 998 vectors" in bench.first.output
    run = bench.run("+bug_lane")
    assert "mismatches, 998 of 998" in failure(run)
    assert set(re.findall(r"lane (\d) a=", run.output)) == {"2"}


FILL = """
module = "wide"
ignore = ["divide_by_zero", "invalid", "overflow", "underflow", "inexact"]
[inputs]
a = { a = "31:0", fill = "ones" }
[outputs]
result = { result = "31:0", fill = "ones" }
"""


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("above", "fill", "passes"),
    [
        ("ffff", "ones", True),
        ("0000", "ones", False),
        with_icarus("0000", "zeros", True),
        with_icarus("1234", "any", True),
    ],
)
def test_bits_above_a_field(above: str, fill: str, passes: bool, tmp_path: Path) -> None:
    generate(VectorSet.make("neg", "fp16", 60), tmp_path / "v")
    source = tmp_path / "wide.sv"
    source.write_text(
        "module wide(input [31:0] a, output [31:0] result);\n"
        f"  assign result = a[31:16] == 16'hffff ? {{16'h{above}, a[15:0] ^ 16'h8000}} : 0;\nendmodule\n"
    )
    ports = FILL.replace('result = "31:0", fill = "ones"', f'result = "31:0", fill = "{fill}"')
    assert build(CHEAP, tmp_path / "v", tmp_path / "w", ports, source).first.passed == passes


@pytest.mark.full
def test_bits_above_a_narrower_result(tmp_path: Path) -> None:
    """fill = "any" leaves out what is above the result's own format, and only that."""
    (tmp_path / "r.toml").write_text(
        "count = 90\npadding = 'zeros'\n[[part]]\nop = 'neg'\nfmt = 'fp16'\n[[part]]\nop = 'neg'\nfmt = 'fp32'\n"
    )
    generate(load_recipe(str(tmp_path / "r.toml")), tmp_path / "v")
    source = tmp_path / "wide.sv"
    source.write_text(
        "module wide(input [31:0] a, input half, output [31:0] result);\n"
        "  assign result = half ? {16'habcd, a[15:0] ^ 16'h8000} : a ^ 32'h80000000;\nendmodule\n"
    )
    ports = FILL.replace('"31:0", fill = "ones"', '"31:0", fill = "any"').replace(
        'a = { a = "31:0", fill = "any" }', 'a = "a"\nhalf = { of = "fmt", codes = { fp16 = 1, fp32 = 0 } }'
    )
    assert build(CHEAP, tmp_path / "v", tmp_path / "w1", ports, source).first.passed
    failure(build(CHEAP, tmp_path / "v", tmp_path / "w2", ports.replace('"any"', '"zeros"'), source).first)


def test_blocks(tmp_path: Path) -> None:
    """Fields with lanes: a wide register of each, lanes side by side, and one lane by its index."""
    generate(VectorSet.make("dequantize", "mxfp4", 40), tmp_path / "v")
    source = tmp_path / "wide.sv"
    source.write_text(
        "module wide(input [7:0] scale, input [127:0] elements, output [31:0] first, output [991:0] others);\n"
        "  assign first = 0, others = 0;\nendmodule\n"
    )
    ports = """
        module = "wide"
        [inputs]
        scale = "scale"
        elements = "elements"
        [outputs]
        first = "values[0]"
        others = "values[31:1]"
        """
    run = build(CHEAP, tmp_path / "v", tmp_path / "w", ports, source).first
    assert "mismatches, 40 of 40 vectors" in failure(run)
    name, elements, first, others = re.findall(
        r"(\S+\.memh:\d+): .*elements=(\S+) expected first=(\S+) others=(\S+) got", run.output
    )[3]
    file, number = name.split(":")
    fields = (tmp_path / "v" / file).read_text().splitlines()[int(number) - 1].split("_")
    assert [int(x, 16) for x in elements.split("_")] == [int(x, 16) for x in fields[1:33]]
    assert others + first == "".join(fields[33:])


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_command(folders: dict[str, Path], tmp_path: Path) -> None:
    ports, out = tmp_path / "ports.toml", tmp_path / "tb.sv"
    ports.write_text(COMB.replace("convert", "convert"))
    base = ["testbench", str(folders["convert"]), "--ports", str(ports)]
    call = [*base, "-o", str(out), "--sim", CHEAP, "--run", str(RTL), str(CIRCUIT)]
    done = CliRunner().invoke(app.command, call, standalone_mode=False)
    assert done.return_value == 0, done.output
    assert "PASS: 1000 of 1000 vectors" in done.output
    assert out.read_text().startswith("// SPDX-License-Identifier: 0BSD\n")
    broken = tmp_path / "broken.sv"
    broken.write_text(CIRCUIT.read_text().replace("&& (sticky || kept[0])", ""))
    done = CliRunner().invoke(app.command, [*call[:-1], str(broken)], standalone_mode=False)
    assert done.return_value == 1
    assert "FAIL: " in done.output
    for wrong, message in ((base, "give -o"), ([*base, "--run"], "--run needs"), ([*base, str(RTL)], "are for --run")):
        done = CliRunner().invoke(app.command, wrong, standalone_mode=False)
        assert message in str(done.exception)


UNIT = """
module unit #(parameter WIDTH = 16) (
    input [WIDTH-1:0] a,   // input en,
    input [1:0] mode, input quiet,
    output [WIDTH-1:0] result, output spare
);
  assign result = a ^ 16'h8000, spare = quiet | mode[1];
endmodule
"""
NEG = """
module = "unit"
ignore = ["flags"]
[parameters]
WIDTH = 16
[inputs]
a = "a"
mode = { value = 0, width = 2 }
quiet = { value = 0 }
[outputs]
result = "result"
"""
MISFITS = {
    "fits": ("WIDTH", "WIDTH", []),
    "input too wide": (
        '"a"',
        '{ a = "15:0", width = 17 }',
        ["port a has 16 bits in the module and 17 in the port map"],
    ),
    "input too narrow": (
        "value = 0, width = 2",
        "value = 1",
        ["port mode has 2 bits in the module and 1 in the port map"],
    ),
    "output too wide": (
        '"result"',
        '{ result = "15:0", width = 32 }',
        ["port result has 16 bits in the module and 32"],
    ),
    "output too narrow": ("WIDTH = 16", "WIDTH = 32", ["port a has 32 bits", "port result has 32 bits"]),
    "input left out": ("quiet = { value = 0 }", "", ["input quiet of the module is not in the port map"]),
    "no such port": ("quiet", "quite", ["the module has no port quite"]),
    "no such parameter": ("WIDTH", "WIDHT", ["the module has no parameter WIDHT"]),
    "an output as an input": (
        "quiet = { value = 0 }",
        "quiet = { value = 0 }\nspare = { value = 0 }",
        ["port spare is output in the module and input in the port map"],
    ),
}


@pytest.mark.full(keep=10)
@pytest.mark.parametrize("case", MISFITS)
def test_port_maps_that_do_not_fit(case: str, simulator: str, tmp_path: Path) -> None:
    """A simulator only warns of these, and all but the narrow ones would agree with every vector."""
    old, new, messages = MISFITS[case]
    assert old in NEG
    generate(VectorSet.make("neg", "fp16", 60), tmp_path / "v")
    (tmp_path / "unit.sv").write_text(UNIT)
    (tmp_path / "ports.toml").write_text(NEG.replace(old, new))
    call = ["testbench", str(tmp_path / "v"), "--ports", str(tmp_path / "ports.toml")]
    call += ["--sim", simulator, "--run", str(tmp_path / "unit.sv")]
    done = CliRunner().invoke(app.command, call, standalone_mode=False)
    assert done.return_value == int(bool(messages)), done.output
    assert ("PASS" in done.output) == (not messages)
    for message in messages:
        assert f"FAIL: {message}" in done.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("WIDTH = 16", "WIDTH", "parameter WIDTH of the module has no default; give its value under [parameters]"),
        ("input quiet", "output quiet", "port quiet is output in the module and input in the port map"),
        ("input quiet", "input real quiet", "port quiet of the module is of type real, which is not a vector"),
    ],
)
def test_modules_that_do_not_fit(old: str, new: str, message: str, tmp_path: Path) -> None:
    generate(VectorSet.make("neg", "fp16", 60), tmp_path)
    (tmp_path / "unit.sv").write_text(UNIT.replace(old, new))
    ports = parse_ports(tomllib.loads(NEG.replace("[parameters]\nWIDTH = 16", "")))
    manifest = read_manifest(tmp_path)
    with pytest.raises(Misfit) as caught:
        check_fit(manifest, controls(VectorSet.from_dict(manifest["set"]).unit), ports, [tmp_path / "unit.sv"])
    assert any(message in line for line in caught.value.lines)
    assert str(caught.value).startswith("the port map does not fit unit: ")


def test_files_that_a_source_includes(tmp_path: Path) -> None:
    """They are found beside the sources, and it is said where they were not."""
    generate(VectorSet.make("neg", "fp16", 60), tmp_path / "v")
    (tmp_path / "unit.sv").write_text('`include "sign.svh"\n' + UNIT.replace("16'h8000", "`SIGN"))
    (tmp_path / "ports.toml").write_text(NEG)
    call = ["testbench", str(tmp_path / "v"), "--ports", str(tmp_path / "ports.toml")]
    call += ["--sim", CHEAP, "--run", str(tmp_path / "unit.sv")]
    done = CliRunner().invoke(app.command, call, standalone_mode=False)
    assert str(done.exception) == f"{tmp_path / 'unit.sv'}:1: included file sign.svh not found in {tmp_path}"
    (tmp_path / "sign.svh").write_text("`define SIGN 16'h8000\n")
    done = CliRunner().invoke(app.command, call, standalone_mode=False)
    assert done.return_value == 0, done.output


def test_a_source_that_does_not_build(simulator: str, tmp_path: Path) -> None:
    """The log is gone with its folder: its end is shown, and no path into it."""
    generate(VectorSet.make("neg", "fp16", 60), tmp_path / "v")
    (tmp_path / "unit.sv").write_text(UNIT.replace("assign result", "assign result result"))
    (tmp_path / "ports.toml").write_text(NEG)
    call = ["testbench", str(tmp_path / "v"), "--ports", str(tmp_path / "ports.toml")]
    call += ["--sim", simulator, "--run", str(tmp_path / "unit.sv")]
    done = CliRunner().invoke(app.command, call, standalone_mode=False)
    assert "unit.sv:7" in done.output
    assert f"{simulator} cannot build unit_tb: " in str(done.exception)
    assert "log" not in str(done.exception)


def test_command_refuses_changed_vectors(folders: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(folders["convert"], tmp_path / "v")
    (tmp_path / "ports.toml").write_text(COMB)
    words = next((tmp_path / "v").glob("*.memh"))
    words.write_text(words.read_text().replace("_7e_", "_7f_", 1))
    call = ["testbench", str(tmp_path / "v"), "--ports", str(tmp_path / "ports.toml"), "-o", str(tmp_path / "tb.sv")]
    done = CliRunner().invoke(app.command, call, standalone_mode=False)
    assert "SHA-256 differs" in str(done.exception)
    assert not (tmp_path / "tb.sv").exists()


def test_manifest_of_an_older_kind_is_the_same(tmp_path: Path) -> None:
    """Control fields are said only where there are some: other manifests have the bytes they always had."""
    generate(VectorSet.make("add", "fp16", 10), tmp_path)
    assert all(
        set(f) == {"name", "role", "width", "lanes", "format", "lsb", "msb", "stride"}
        for f in json.loads((tmp_path / "manifest.json").read_text())["fields"]
    )


# -- the page ----------------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_the_mismatch_shown_is_real(tmp_path: Path) -> None:
    shown = re.findall(r"^(convert_\S+\.memh:.*|FAIL: \d.*)$", (TOP / "docs" / "testbench.md").read_text(), re.M)
    assert len(shown) == 2
    generate(load_recipe("fp32_to_fp8_e4m3_rne").of_count(5000), tmp_path / "v")
    wrong = tmp_path / "wrong.sv"
    wrong.write_text(CIRCUIT.read_text().replace("guard && (sticky || kept[0])", "guard"))
    ports = (CIRCUIT.parent / "ports.toml").read_text()
    run = build(CHEAP, tmp_path / "v", tmp_path / "w", ports, wrong).first
    assert all(line in run.output for line in shown), run.output


def test_every_key_is_on_the_page() -> None:
    text = (TOP / "docs" / "testbench.md").read_text()
    for key in ("module", "parameters", "clock", "reset", "latency", "handshake", "outstanding", "lanes", "stalls"):
        assert key in text
    assert all(f"`{key}`" in text for key in ("in_valid", "in_ready", "out_valid", "out_ready", "drain_timeout"))
    assert all(f"`{f.name}`" in text or f"`[{f.name}]`" in text for f in dataclasses.fields(PortMap))
