"""`check dot`: a device that multiplies and adds in float32, against its own accumulator and against another."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import TOP, ok, refused, run

DEVICE = """
import sys
import numpy as np

def value(code):
    return np.uint32(int(code, 16) << 16).view(np.float32)

np.seterr(all="ignore")
for line in sys.stdin:
    words = line.split()
    total = np.uint32(int(words[32], 16)).view(np.float32)
    for a, b in zip(words[:16], words[16:32]):
        total = np.float32(total + value(a) * value(b))
    print(f"{int(total.view(np.uint32)):08x}", flush=True)
"""


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("dut") / "dot.py"
    path.write_text(DEVICE)
    return f"{sys.executable} {path}"


def check(device: str, acc: str, *more: str) -> subprocess.CompletedProcess[str]:
    arguments = ["--fmt", "bf16", "--acc", acc, "--compare-nan", "any", "-n", "600", "--dut", device]
    return run("check", "dot", *arguments, *more)


def test_the_right_accumulator(device: str) -> None:
    done = check(device, "fp32-sequential")
    assert (done.returncode, done.stdout) == (0, "")
    assert "600 compared, 0 mismatched" in done.stderr


@pytest.mark.full
def test_a_mismatch_is_explained(device: str, tmp_path: Path) -> None:
    """Another accumulator: the report names the one that gives the device's answer, and a command that shows why."""
    done = check(device, "nvidia-h100", "--show", "40", "--json", str(tmp_path / "report.json"))
    assert done.returncode == 1
    assert "matches accumulator = fp32-sequential" in done.stdout
    command = re.findall(r"^  (softfloat-ref dot .*)$", done.stdout, re.M)[-1]
    shown = ok(*command.split()[1:])
    report = json.loads((tmp_path / "report.json").read_text())
    last = report["mismatches"][-1]
    assert len(last["operands"]["a"]) == 16
    assert f"result {last['expected']['result']}" in shown


def test_results_of_a_simulator(device: str, tmp_path: Path) -> None:
    folder, results = str(tmp_path / "v"), tmp_path / "results.txt"
    request = ["--op", "dot", "--fmt", "bf16", "--acc", "fp32-sequential", "-n", "300"]
    ok("vectors", "generate", *request, "-o", folder)
    operands = ok("vectors", "generate", *request, "-o", "-", "--operands")
    answers = subprocess.run(device.split(), input=operands, capture_output=True, text=True, check=True).stdout
    results.write_text(answers)
    ok("check", "--golden", folder, "--results", str(results), "--compare-nan", "any")
    results.write_text(answers.replace(answers.split()[100], "12345678", 1))
    assert run("check", "--golden", folder, "--results", str(results), "--compare-nan", "any").returncode == 1


@pytest.mark.full
def test_blocks_and_a_unit_of_the_users_own(tmp_path: Path) -> None:
    """The oracle itself as the device, through `dot -i`-like code: scales are operands of the line."""
    (tmp_path / "unit.toml").write_text('[accumulators.mine]\ntree = "fuse(8+c,F=20,rd)->fp32:rne"\n')
    script = tmp_path / "dut.py"
    script.write_text(
        "import sys\nfrom softfloat_ref import dot\n"
        "for line in sys.stdin:\n"
        "    w = [int(x, 16) for x in line.split()]\n"
        "    got = dot(w[1:33], w[34:66], 'mxfp8', w[66], sys.argv[1], scales=([w[0]], [w[33]]))\n"
        "    print(f'{got.bits:08x} {int(got.flags):02x}', flush=True)\n"
    )
    unit = str(tmp_path / "unit.toml")
    for acc, wanted in ((unit, 0), ("mx-fp32", 1)):
        device = f"env PYTHONPATH={TOP} {sys.executable} {script} {unit}"
        asked = ("--fmt", "mxfp8", "--acc", acc, "-n", "100", "--show", "2", "--no-diagnose", "--dut", device)
        done = run("check", "dot", *asked)
        assert done.returncode == wanted, done.stderr
    assert "a_scale" in done.stdout


def test_bad_requests(device: str) -> None:
    refused("check", "dot", "--fmt", "bf16", "--steps", "--dut", device)
    refused("check", "dot", "--fmt", "bf16", "--round", "rtz", "--dut", device)
    refused("check", "dot", "--fmt", "bf16", "--dut-lib", "x.so:f")
    refused("check", "add", "--fmt", "bf16", "--acc", "exact", "--dut", device)
