"""The pytest plugin: suites of device commands, without test files; and a user's project that has some."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.testing.dialogue import Broken, Dialogue
from softfloat_ref.testing.plugin import dot_suite, operation_suite

TOP = Path(__file__).parents[2]
PLUGIN = ("-p", "_softfloat_ref_pytest")
ADD = ("--softfloat-op=add", "--softfloat-fmt=fp16")
DEVICE = """
import sys
from softfloat_ref import get_policy
from softfloat_ref.oracle.operations import evaluator, signature
mode, late = sys.argv[1], []
run = evaluator(signature("add", "fp16"), get_policy("ieee", rounding="rtz" if mode == "truncates" else "rne"))
for n, line in enumerate(sys.stdin):
    if n == 20 and mode == "dies":
        sys.exit("out of cheese")
    if n == 20 and mode == "rubbish":
        print("what?", flush=True)
        continue
    bits, flags = run([int(x, 16) for x in line.split()], 0)
    late.append(f"{bits:04x} {flags:02x}")
    if mode != "buffers":
        print(late.pop(), flush=True)
if late:
    print("\\n".join(late))
"""


def pytest_run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(TOP), "CI": "1"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def dut(tmp_path: Path) -> str:
    (tmp_path / "dut.py").write_text(DEVICE)
    return f"{sys.executable} {tmp_path / 'dut.py'}"


def on_device(folder: Path, device: str, *words: str) -> subprocess.CompletedProcess[str]:
    settings = ("--softfloat-op=add", "--softfloat-fmt=fp16", "--softfloat-examples=10")
    return pytest_run(folder, *PLUGIN, f"--softfloat-dut={device}", *settings, *words)


@pytest.mark.full
def test_a_right_device_passes_and_says_what_is_left_out(dut: str, tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("def test_other(): assert False\n")  # not collected: no file was named
    done = on_device(tmp_path, f"{dut} right", "-rs")
    assert done.returncode == 0, done.stdout
    assert "12 passed, 3 skipped" in done.stdout
    assert "side: applies to roundings rdn rtz rup, not rne" in done.stdout


@pytest.mark.full
def test_a_wrong_device_fails_in_few_lines(dut: str, tmp_path: Path) -> None:
    done = on_device(tmp_path, f"{dut} truncates", "--softfloat-examples=60", "-k", "half_ulp or one_ulp")
    assert done.returncode == 1
    assert "half_ulp: The error is at most half an ulp." in done.stdout
    assert "softfloat-ref explain add --fmt a=fp16,b=fp16 --out fp16 " in done.stdout
    assert "1 failed, 1 passed" in done.stdout
    assert len(done.stdout.splitlines()) < 25


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("mode", "message"),
    [
        (
            "dies",
            r"answers too early; it ended with exit code 1; "
            r"its last line on stderr: out of cheese; it was asked '0000 FBFF'",
        ),
        ("rubbish", r"it answered 'what\?', which is not a line of a result and flags in hexadecimal"),
    ],
)
def test_a_broken_device_is_asked_no_more(dut: str, mode: str, message: str) -> None:
    with Dialogue(f"{dut} {mode}") as device:
        suite = operation_suite("add", "fp16", device, policy=Policy(), max_examples=10)
        with pytest.raises(Broken, match=message):
            suite.check("special_values")
        with pytest.raises(unittest.SkipTest, match="the device failed before"):
            suite.check("oracle")


@pytest.mark.full
def test_a_device_that_answers_at_the_end_of_its_input(dut: str) -> None:
    with Dialogue(f"{dut} buffers") as device:
        operation_suite("add", "fp16", device, policy=Policy(), max_examples=1).check("special_values")
        assert not device.answers_at_once


def test_a_device_that_cannot_be_started() -> None:
    with Dialogue("/nonexistent/device") as device, pytest.raises(Broken, match="cannot be started: No such file"):
        device.ask(["0\n"])
    with pytest.raises(Error, match="the device is empty"):
        Dialogue(" ")
    with pytest.raises(Error, match="the device 'a && b': commands run without a shell, which '&&' needs"):
        Dialogue("a && b")
    for whole in (r"sh -c 'cat | cat'", r"device \; '|' \"<\"", r"it\'s"):
        Dialogue(whole).close()


def test_a_dot_product(tmp_path: Path) -> None:
    (tmp_path / "dot.py").write_text(
        "import sys, softfloat_ref as sf\n"
        "for line in sys.stdin:\n"
        "    *x, c = [int(w, 16) for w in line.split()]\n"
        "    found = sf.dot(x[:4], x[4:], 'fp8_e4m3', c, 'exact')\n"
        "    print(f'{found.bits:08x} {int(found.flags):02x}', flush=True)\n"
    )
    with Dialogue(f"{sys.executable} {tmp_path / 'dot.py'}") as device:
        suite = dot_suite("fp8_e4m3", device, acc="exact", k=4, out="fp32", max_examples=8)
        for name in suite.properties:
            suite.check(name)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--softfloat-op=ad", "--softfloat-fmt=fp16"), "unknown operation 'ad'; did you mean"),
        (("--softfloat-op=add",), "give the operation and its format: --softfloat-fmt=..."),
        (("--softfloat-op=add", "--softfloat-fmt=fp17"), "unknown format"),
        (("--softfloat-op=add", "--softfloat-fmt=fp16", "--softfloat-set=x"), "give FIELD=VALUE"),
        (("--softfloat-op=add", "--softfloat-fmt=fp16", "--softfloat-set=x=1"), "unknown policy field 'x'"),
        (("--softfloat-op=add", "--softfloat-fmt=fp16", "--softfloat-compare-nan=x"), "unknown comparison of NaNs"),
        (("--softfloat-op=add", "--softfloat-fmt=fp16", "--softfloat-round=sr"), "sr_bits"),
        (
            (*ADD, "--softfloat-timeout=-1"),
            "--softfloat-timeout=-1: give the timeout per answer in seconds, 0.01 or more",
        ),
        ((*ADD, "--softfloat-timeout=nan"), "--softfloat-timeout=nan: give the timeout per answer"),
        ((*ADD, "--softfloat-examples=0"), "--softfloat-examples=0: give the number of cases per property, 1 or more"),
        ((*ADD, "--softfloat-acc=exact"), "leave --softfloat-acc out: it is for dot, not for add"),
        ((*ADD, "--softfloat-k=4"), "leave --softfloat-k out: it is for dot"),
        (
            ("--softfloat-op=dot", "--softfloat-fmt=fp16", "--softfloat-round=rtz"),
            "an accumulator has its own roundings",
        ),
        (
            ("--softfloat-op=dot", "--softfloat-fmt=fp16", "--softfloat-k=0"),
            "give the number of products, 1 or more",
        ),
    ],
)
def test_bad_options(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(TOP))
    code = pytest.main([*PLUGIN, "-c", os.devnull, f"--rootdir={tmp_path}", "--softfloat-dut=true", *words])
    assert code == pytest.ExitCode.USAGE_ERROR
    shown = capsys.readouterr().err
    assert message in shown
    assert len(shown.strip().splitlines()) == 1


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("words", [ADD, ("--softfloat-no-flags",), ("--softfloat-timeout", "5")])
def test_options_of_a_device_need_one(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n")
    done = pytest_run(tmp_path, *PLUGIN, *words)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    name = words[0].partition("=")[0]
    assert done.stderr.strip() == f"ERROR: {name} needs a device: give --softfloat-dut=CMD too"
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = {' '.join(words)}\n")
    assert pytest_run(tmp_path, *PLUGIN).returncode == 0  # they wait for the device of another run


def test_unused_it_imports_nothing() -> None:
    code = (
        "import sys, pytest;"
        "pytest.main(['-p', '_softfloat_ref_pytest', '-q', '--collect-only', '-c', '/dev/null', '/dev/null']);"
        "print(sorted({'softfloat_ref', 'hypothesis', 'numpy'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(TOP), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    shown = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd="/", capture_output=True, text=True, check=False
    )
    assert shown.stdout.splitlines()[-1] == "[]"


@pytest.mark.full
def test_a_users_project(tmp_path: Path) -> None:
    """docs/examples/property_tests, copied out of the checkout; with an error planted it fails."""
    project = tmp_path / "project"
    shutil.copytree(TOP / "docs" / "examples" / "property_tests", project, ignore=shutil.ignore_patterns(".*", "__*"))
    good = pytest_run(project, "-W", "error")
    assert good.returncode == 0, good.stdout
    model = project / "my_fma.py"
    model.write_text(
        model.read_text().replace("value(a) * value(b) + value(c)", "value(code(value(a) * value(b))) + value(c)")
    )
    bad = pytest_run(project, "-k", "fused")
    assert bad.returncode == 1
    assert "the product is not rounded by itself" in bad.stdout
