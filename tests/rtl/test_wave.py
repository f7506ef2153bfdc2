"""`vectors testbench --wave`: the cycles around the first failure, under each simulator."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benches import CHEAP, HAS_ICARUS, ONLY_ICARUS, TOP
from click.testing import CliRunner, Result

from softfloat_ref.app import vectors as app
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.simulators import AFTER, BEFORE

pytestmark = pytest.mark.sim
SERIAL = TOP / "docs" / "examples" / "fp16_mul_serial"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    vectors = tmp_path_factory.mktemp("vectors")
    generate(VectorSet.make("mul", "fp16", 300), vectors)
    return vectors


def run(simulator: str, folder: Path, wave: Path | str, defect: int, tmp_path: Path, *more: str) -> Result:
    ports = tmp_path / "ports.toml"
    ports.write_text((SERIAL / "ports.toml").read_text().replace("value = 0", f"value = {defect}"))
    call = ["testbench", str(folder), "--ports", str(ports), "--sim", simulator, "--wave", str(wave), *more]
    return CliRunner().invoke(app.command, [*call, "--run", str(SERIAL / "fp16_mul_serial.sv")], standalone_mode=False)


def cycles(vcd: str) -> list[int]:
    """The values of the signal `cycle`, in order."""
    name = re.search(r"\$var \S+\s+32 (\S+) cycle(?: \[31:0\])? \$end", vcd)
    assert name
    values = re.findall(rf"^b([01]+) {re.escape(name[1])}$", vcd, re.M)
    return sorted({int(x, 2) for x in values})


@pytest.mark.full
def test_the_cycles_around_the_first_mismatch(simulator: str, folder: Path, tmp_path: Path) -> None:
    wave = tmp_path / "first.vcd"
    wave.write_text("an older file")
    done = run(simulator, folder, wave, 12, tmp_path)
    assert done.return_value == 1, done.output
    bad = int(re.findall(r"memh:\d+: .* in cycle (\d+)$", done.output, re.M)[0])
    assert f"{wave}: cycles {bad - BEFORE} to {bad + AFTER}; the first failure is in cycle {bad}\n" in done.output
    text = wave.read_text()
    seen = cycles(text)
    assert set(range(bad - BEFORE, bad + AFTER + 1)) <= set(seen) <= set(range(bad - BEFORE, bad + AFTER + 2))
    assert {"significand_a", "input_b_ack"} <= set(re.findall(r"\$var \S+\s+\d+ \S+ (\w+)", text))


@pytest.mark.full
def test_a_failure_of_the_protocol(folder: Path, tmp_path: Path) -> None:
    done = run(CHEAP, folder, tmp_path / "w.vcd", 8, tmp_path)
    bad = int(re.findall(r"^FAIL: .* in cycle (\d+);", done.output, re.M)[0])
    assert f"the first failure is in cycle {bad}\n" in done.output
    assert bad in cycles((tmp_path / "w.vcd").read_text())


@pytest.mark.full
def test_a_bench_that_passes_has_no_waveform(folder: Path, tmp_path: Path) -> None:
    wave = tmp_path / "w.vcd"
    done = run(CHEAP, folder, wave, 0, tmp_path)
    assert done.return_value == 0
    assert f"{wave}: not written, since no cycle failed" in done.output
    assert not wave.exists()


@ONLY_ICARUS
def test_fst(folder: Path, tmp_path: Path) -> None:
    assert HAS_ICARUS
    assert run("icarus", folder, tmp_path / "w.fst", 12, tmp_path).return_value == 1
    assert (tmp_path / "w.fst").read_bytes()[:1] == b"\x00"  # a header block
    assert (tmp_path / "w.fst").stat().st_size > 1000


@pytest.mark.full
def test_fst_without_its_library(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without the header, which Verilator's writer of FST includes."""
    (tmp_path / "lz4.h").write_text("#error lz4.h: No such file or directory\n")
    monkeypatch.setenv("CPATH", str(tmp_path))
    for more in ([], ["--work", str(tmp_path / "work")]):
        done = run("verilator", folder, tmp_path / "w.fst", 12, tmp_path, *more)
        message = str(done.exception)
        assert "lz4.h" in message
        assert message.endswith(
            "for FST, verilator needs liblz4-dev and zlib1g-dev: install them, or give --wave FILE.vcd"
        )


@pytest.mark.parametrize(
    ("wave", "message"), [("w.png", "the name must end in .fst or .vcd"), ("no/w.vcd", "no such folder")]
)
def test_files_that_are_refused(wave: str, message: str, folder: Path, tmp_path: Path) -> None:
    assert message in str(run(CHEAP, folder, tmp_path / wave, 0, tmp_path).exception)
    call = [
        "testbench",
        str(folder),
        "--ports",
        str(SERIAL / "ports.toml"),
        "--wave",
        "w.vcd",
        "-o",
        str(tmp_path / "t"),
    ]
    assert "--wave needs --run" in str(CliRunner().invoke(app.command, call, standalone_mode=False).exception)
