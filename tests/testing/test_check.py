"""check: devices that are right, wrong, dead, hanging, talkative; reports; usage."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from command import refused, run

from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.literals import MAX_LINE
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.rtl.tolerance import CompareNan
from softfloat_ref.testing import report as reports
from softfloat_ref.testing.check import check_arrays, check_command
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.devices import CommandDevice
from softfloat_ref.testing.dialogue import Broken, Dialogue
from softfloat_ref.testing.views import view_of
from softfloat_ref.units import make_unit

DEVICE = """
import sys, time
import numpy as np
mode = sys.argv[1]
out = sys.stdout
for i, line in enumerate(sys.stdin):
    a, b = (np.uint32(int(x, 16)).view(np.float32) for x in line.split()[:2])
    with np.errstate(all="ignore"):
        r = int((a + b).view(np.uint32))
    if i == 1000:
        if mode == "dies":
            print("out of cheese", file=sys.stderr)
            sys.exit(3)
        if mode == "crashes":
            import os
            out.flush()
            os.abort()
        if mode == "hangs":
            out.flush()
            time.sleep(1000)
        if mode == "stops":
            break
        if mode == "rubbish":
            out.write("segmentation fault?\\n")
            continue
        if mode == "long":
            out.write("0" * 2000000)
        if mode == "wide":
            r |= 1 << 40
    if mode == "blank":
        while True:
            out.write("\\n")
            out.flush()
            time.sleep(0.01)
    if mode == "some" and i == 5:
        out.write(f"{r:08x} 00\\n")
        continue
    if mode == "ulp" and i % 7 == 0:
        r ^= 1
    out.write(f"{line.strip()} {r:08x}\\n" if mode == "echoes" else f"{r:08X}\\n")
if mode == "more":
    out.write("00000000\\n")
out.flush()
if mode == "fails":
    print("assertion failed", file=sys.stderr)
    sys.exit(3)
if mode == "crashes-late":
    import os
    os.abort()
if mode == "lingers":
    import os
    os.close(1)
    time.sleep(1000)
"""


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> str:
    """numpy's float32 add as a command."""
    path = tmp_path_factory.mktemp("dut") / "add.py"
    path.write_text(DEVICE)
    return f"{sys.executable} {path}"


def add(count: int = 3000) -> VectorSet:
    return VectorSet.make("add", "fp32", count)


def limit(mode: str) -> float:
    """What a device that will never answer is given, and others, which may start slowly."""
    return 3 if mode in ("hangs", "lingers", "blank") else 8


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("mode", ["right", "echoes", "late"])
def test_a_right_device(device: str, mode: str) -> None:
    """numpy's NaNs are x86's, so any will do; it has no flags, so none are compared."""
    report = check_command(add(), f"{device} {mode}", nan=CompareNan.ANY)
    assert report.passed
    assert report.compared == 3000


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    ("mode", "message"),
    [
        (
            "dies",
            "closed its output 2000 answers too early; it ended with exit code 3; "
            "its last line on stderr: out of cheese",
        ),
        ("crashes", "it died of signal SIGABRT"),
        ("stops", "closed its output 2000 answers too early"),
        ("rubbish", "'segmentation fault?', which is not a line of a result and flags"),
        ("hangs", "no answer for 3 s"),
        ("more", "answered more lines than it was asked"),
        ("long", f"a line of more than {MAX_LINE} characters"),
    ],
)
def test_broken_devices(device: str, mode: str, message: str) -> None:
    start = time.monotonic()
    report = check_command(add(), f"{device} {mode}", nan=CompareNan.ANY, timeout_s=limit(mode))
    assert message in report.failure
    assert not report.passed
    assert time.monotonic() - start < 30
    assert report.failure.startswith(f"after {3000 if mode == 'more' else 1000} answers: ")


AT_ONCE = """
import sys
asked = sys.stdin.readlines()
answers = [" ".join(line.split()[int(sys.argv[1]):]) + "\\n" for line in asked]
end = {"endless": "0" * 2000000, "half": answers[-1][:3], "whole": answers[-1].strip(), "other": "xyz\\n"}[sys.argv[2]]
sys.stdout.write("".join(answers[:-1]) + end)
"""


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("endless", f"after 499 answers: the device printed a line of more than {MAX_LINE} characters"),
        ("other", "after 499 answers: it answered 'xyz', which is not a line of a result"),
        ("half", ""),
        ("whole", ""),
    ],
)
def test_answers_before_a_line_without_an_end_count(end: str, message: str, tmp_path: Path) -> None:
    """Although all arrive together."""
    (tmp_path / "device.py").write_text(AT_ONCE)
    vectors, command = VectorSet.make("abs", "i8", 500), f"{sys.executable} {tmp_path / 'device.py'} 0 {end}"
    report = check_command(vectors, command)
    assert report.failure.startswith(message) if message else not report.failure
    assert report.compared == (499 if message else 500)
    if end == "endless":
        with Dialogue(command, patience_s=0.01) as device, pytest.raises(Broken, match=r"it was asked '03'$"):
            device.ask(["01\n", "02\n", "03\n"])


def test_lines_of_thousands_of_codes(tmp_path: Path) -> None:
    vectors = VectorSet(make_unit("softmax", "fp16", length=2000), 6)
    width = vectors.unit.input_width
    rows = [line[width:] for inputs in vectors.inputs() if (line := vectors.line(inputs)) is not None]
    (tmp_path / "answers").write_text("".join(" ".join(f"{x:04x}" for x in row) + "\n" for row in rows))
    code = "import sys, time; sys.stdin.read()\nfor x in open(sys.argv[1]).read().partition('\\n'):"
    code += " print(x, end='', flush=True); time.sleep(0.1)"  # a line without its end first
    report = check_command(vectors, f"{sys.executable} -c {shlex.quote(code)} {tmp_path / 'answers'}")
    assert (report.compared, report.passed) == (6, True), report.failure


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("mode", "message"),
    [
        (
            "fails",
            "answered everything, but failed; it ended with exit code 3; its last line on stderr: assertion failed",
        ),
        ("crashes-late", "answered everything, but failed; it died of signal SIGABRT"),
        ("lingers", "answered everything but did not end within 3 s"),
        ("blank", "no answer for 3 s"),
        ("some", "flags with some answers only"),
    ],
)
def test_devices_that_fail_beside_their_answers(device: str, mode: str, message: str) -> None:
    report = check_command(add(200), f"{device} {mode}", nan=CompareNan.ANY, timeout_s=limit(mode))
    assert message in report.failure
    assert not report.passed


def test_the_summary_says_that_no_flags_were_compared(device: str) -> None:
    report = check_command(add(50), f"{device} right", nan=CompareNan.ANY)
    assert "results only: the device gives no flags" in reports.summary(report)


def test_no_operand_reaches_another_file(device: str, tmp_path: Path) -> None:
    """The feeding thread ends before its pipe's number can be another file's."""
    for turn in range(5):
        with CommandDevice("sh -c 'read x; echo zz'", 1.0) as broken:
            next(broken.answers("3c00 3c00\n" for _ in range(200_000)))
        files = [open(tmp_path / f"{turn}.{i}", "wb") for i in range(6)]  # noqa: SIM115
        time.sleep(0.02)
        for file in files:
            file.close()
            assert Path(file.name).stat().st_size == 0


def test_a_device_that_never_reads() -> None:
    report = check_command(add(200_000), "sleep 1000", timeout_s=1)
    assert "no answer for 1 s, and it does not read its input either" in report.failure


@pytest.mark.parametrize("count", [50, 20_000])
def test_a_device_that_answers_unasked(count: int, tmp_path: Path) -> None:
    """Right answers, but of a file: the operands were never read, few enough to fit into a pipe or not."""
    vectors = VectorSet.make("neg", "fp16", count)
    lines = [vectors.line(inputs) for inputs in vectors.inputs()]
    (tmp_path / "answers").write_text("".join(f"{line[-2]:x}\n" for line in lines if line))
    report = check_command(vectors, f"cat {tmp_path / 'answers'}")
    assert "after 0 answers: it answered '8000' before it read any operands" in report.failure


def test_a_device_that_says_nothing() -> None:
    report = check_command(add(), "true")
    assert not report.passed
    assert "too early" in report.failure


@pytest.mark.full
def test_a_device_that_answers_at_the_end_only() -> None:
    """Many programs fill a buffer, or read everything first: that is no hang."""
    script = "import sys; lines = sys.stdin.read().split('\\n'); print('00000000\\n' * (len(lines) - 1), end='')"
    report = check_command(add(50_000), f'{sys.executable} -c "{script}"', timeout_s=20)
    assert report.compared == 50_000
    assert not report.failure


def test_mismatches_are_shown_counted_and_explained(device: str) -> None:
    report = check_command(add(), f"{device} ulp", nan=CompareNan.ANY, shown=3)
    assert report.mismatched == sum(report.kinds.values()) > 100
    assert report.kinds["off by one ulp"] > 50
    assert len(report.mismatches) == 3
    assert "... and" in reports.report_lines(report)[-1]


def test_a_truncated_result_is_named() -> None:
    """A device that rounds toward zero, as arrays."""
    vectors = VectorSet.make("fma", "fp16", 3000)
    truncating = VectorSet.make("fma", "fp16", 3000, policy=Policy("rtz"))
    answers = iter([truncating.line(inputs) for inputs in vectors.inputs()])

    def device(*columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lines = [next(answers) for _ in range(columns[0].size)]
        return np.array([x[-2] for x in lines]), np.array([x[-1] for x in lines])  # type: ignore[index]

    report = check_arrays(vectors, device)
    assert report.mismatched > 100
    assert all({"rounding": "rtz"} in m.changes for m in report.mismatches)
    text = "\n".join(reports.report_lines(report))
    assert "matches rounding = rtz" in text
    command = next(line for line in text.splitlines() if "softfloat-ref explain" in line).split()
    shown = run(*command[1:])
    assert shown.returncode == 0
    assert "matches rounding = rtz" in shown.stdout


@pytest.mark.parametrize("file", ["-", "report"])
def test_two_reports_are_not_written_to_one_file(file: str, tmp_path: Path) -> None:
    path = file if file == "-" else str(tmp_path / file)
    assert f"both write to {path}" in refused("check", "add", "--fmt", "fp16", "--json", path, "--junit", path)
    assert not list(tmp_path.iterdir())


@pytest.mark.full
def test_json_and_junit(device: str, tmp_path: Path) -> None:
    args = ["check", "add", "--fmt", "fp32", "--compare-nan", "any", "-n", "2000", "--show", "2"]
    done = run(*args, "--dut", f"{device} ulp", "--json", "-", "--junit", "out.xml", cwd=tmp_path)
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert (report["passed"], report["compared"], len(report["mismatches"])) == (False, 2000, 2)
    suite = ET.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert "case 1: add" in (suite.find("testcase/failure").text or "")  # type: ignore[union-attr]
    done = run(*args, "--dut", f"{device} right", "--json", "ok.json", "--junit", "ok.xml", cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads((tmp_path / "ok.json").read_text())["passed"] is True
    assert ET.parse(tmp_path / "ok.xml").getroot().get("failures") == "0"
    done = run(*args, "--dut", f"{sys.executable} -c \"print('\\x01\\uffff<&')\"", "--junit", "odd.xml", cwd=tmp_path)
    assert ET.parse(tmp_path / "odd.xml").getroot().get("failures") == "1"


def test_reports_go_where_they_are_sent(device: str, tmp_path: Path) -> None:
    """Through a link, into a pipe, to stdout: none of them is replaced by a file."""
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    os.mkfifo(tmp_path / "fifo")
    with subprocess.Popen(["cat", tmp_path / "fifo"], stdout=subprocess.PIPE, text=True) as reader:
        args = ["check", "add", "--fmt", "fp32", "--compare-nan", "any", "-n", "50", "--dut", f"{device} right"]
        assert run(*args, "--json", "link.json", "--junit", "fifo", cwd=tmp_path).returncode == 0
        shown = reader.communicate(timeout=60)[0]
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())["passed"]
    assert ET.fromstring(shown.split("?>", 1)[1]).get("failures") == "0"
    assert ET.fromstring(run(*args, "--junit", "-").stdout.split("?>", 1)[1]).get("failures") == "0"


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("check add --fmt fp32", "give one device"),
        ("check --dut x", "give the operation"),
        ("check add --fmt fp32 --dut nosuchcommand", "cannot be started"),
        ("check add --fmt fp32 --dut ''", "--dut is empty"),
        ("check add --fmt fp32 --dut '\"'", "No closing quotation"),
        ("check add --fmt fp32 --dut 'cat | cat'", "commands run without a shell, which '|' needs; use sh -c"),
        ("check add --fmt fp32 --dut 'cat 2>&1'", "without a shell, which '2>&1' needs"),
        ("identify add --fmt fp32 --dut 'cat > log'", "--dut 'cat > log': commands run without a shell, which '>'"),
        ("check --golden x", "needs --results FILE or a device"),
        ("check --results x", "needs --golden DIR"),
        ("check --golden x --results y --dut z", "one of them"),
        ("check add --golden x --results y", "leave OP"),
        ("check --golden x --results y", "No such file"),
        ("check add --fmt fp32 --dut true --timeout 0", "is not in the range"),
        ("check ad --fmt fp32 --dut true", "did you mean add"),
        ("check add --fmt fp32 --dut true --round sr --sr-bits 4 --random-bits f", "need a random source"),
        ("check add --fmt fp16 -n 20 --dut true --json /nonexistent/x", "cannot be written"),
    ],
)
def test_bad_usage(args: str, message: str) -> None:
    import shlex

    assert message in run(*shlex.split(args)).stderr
    assert run(*shlex.split(args)).returncode == 2


def test_stochastic_devices_get_their_bits() -> None:
    """The random bits are the last operand: our own stream is the device."""
    dut = f"{sys.executable} -m softfloat_ref eval convert --fmt fp32 --out fp8_e4m3 --round sr --sr-bits 8 -"
    vectors = VectorSet.make("convert", "fp32", 2000, out="fp8_e4m3", policy=Policy("sr", sr_bits=8))
    assert check_command(vectors, dut).passed


@pytest.mark.parametrize(("policy", "option"), [("ieee", "--round rne "), (None, "microxcaling --got ")])
def test_the_command_for_a_block_names_a_rounding_that_is_not_the_profiles(policy: str | None, option: str) -> None:
    unit = make_unit("quantize", "mxfp8", profile="microxcaling", policy=policy)
    inputs = [0x3F800000] * 32
    assert option in view_of(unit).command(inputs, Answer(tuple(unit.answer(inputs))))
