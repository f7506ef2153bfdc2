"""The example circuits under a real simulator: each passes in every setting, and each of its planted defects is caught.

A circuit is built once; its bench reads the folder of vectors, the setting and the defect from plusargs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.bench_runs import BenchRun
from softfloat_ref.rtl.simulators import Simulator, find

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
FORMATS = ("fp8_e4m3", "fp8_e5m2", "fp16", "bf16")  # fp_convert's fmt
ROUNDINGS = ("rne", "rtz", "rdn", "rup", "rna")  # RISC-V's numbers
SATURATIONS = ("sat-none", "sat-finite")
LFSR = "lfsr:width=16,taps=16.14.13.11,seed=1,bits=15:0"

pytestmark = pytest.mark.sim


@dataclass(frozen=True)
class Setting:
    """What a circuit is set to do, and a set of vectors for it."""

    name: str
    vectors: VectorSet
    plusargs: tuple[str, ...] = ()


def conversion(fmt: str, rounding: str, saturation: str) -> Setting:
    policy = {"rounding": rounding, "overflow": saturation}
    numbers = FORMATS.index(fmt), ROUNDINGS.index(rounding), SATURATIONS.index(saturation)
    return Setting(
        f"{fmt}-{rounding}-{saturation}",
        VectorSet.make("convert", "fp32", 2_000, out=fmt, policy=policy),
        tuple(f"+{name}={n}" for name, n in zip(("fmt", "rm", "sat"), numbers, strict=True)),
    )


def fma(rounding: str) -> Setting:
    vectors = VectorSet.make("fma", "fp16", 3_000, policy={"rounding": rounding})
    return Setting(rounding, vectors, (f"+rm={ROUNDINGS.index(rounding)}",))


BLOCKS = Setting("ocp", VectorSet.make("quantize", "mxfp8_e4m3", 1_500))

DOTS = Setting("mx-fp32", VectorSet.make("dot", "mxfp8_e4m3", 4_000))

# So many because two of the defects show once in 65,536 vectors.
STOCHASTIC = Setting(
    "lfsr",
    VectorSet.make("convert", "fp32", 120_000, out="bf16", policy={"rounding": "sr", "sr_bits": 16}, source=LFSR),
)

SETTINGS = {
    "fp_convert": [conversion(f, r, s) for f in FORMATS for r in ROUNDINGS for s in SATURATIONS],
    "fp16_fma": [fma(r) for r in ROUNDINGS],
    "mxfp8_quantize": [BLOCKS],
    "bf16_stochastic": [STOCHASTIC],
    "mxfp8_dot": [DOTS],
}

# For each defect, by its number in the circuit's header, a setting that shows it.
DEFECTS = {
    "fp_convert": {
        1: conversion("fp8_e4m3", "rne", "sat-none"),
        2: conversion("bf16", "rne", "sat-none"),
        3: conversion("fp8_e4m3", "rna", "sat-none"),
        4: conversion("fp16", "rup", "sat-none"),
        5: conversion("fp8_e5m2", "rne", "sat-none"),
        6: conversion("fp8_e4m3", "rtz", "sat-none"),
        7: conversion("fp16", "rne", "sat-finite"),
        8: conversion("fp8_e4m3", "rne", "sat-finite"),
        9: conversion("fp8_e5m2", "rne", "sat-none"),
        10: conversion("fp8_e4m3", "rne", "sat-none"),
        11: conversion("bf16", "rtz", "sat-finite"),
        12: conversion("bf16", "rne", "sat-none"),
        13: conversion("fp16", "rdn", "sat-finite"),
        14: conversion("fp8_e5m2", "rdn", "sat-none"),
        15: conversion("fp8_e4m3", "rne", "sat-none"),
    },
    "fp16_fma": {n: fma({7: "rtz", 8: "rdn", 9: "rup"}.get(n, "rne")) for n in range(1, 16)},
    "mxfp8_quantize": dict.fromkeys(range(1, 16), BLOCKS),
    "bf16_stochastic": dict.fromkeys(range(1, 16), STOCHASTIC),
    "mxfp8_dot": dict.fromkeys(range(1, 16), DOTS),
}


@dataclass
class Bench:
    """A circuit's bench, built in `work` by its first run."""

    circuit: str
    simulator: Simulator
    work: Path
    built: bool = field(default=False, init=False)

    def run(self, folder: Path, *plusargs: str) -> BenchRun:
        arguments = [f"+vectors={folder}", *plusargs]
        if not self.built:
            self.built = True
            sources = [EXAMPLES / self.circuit / name for name in ("tb.sv", f"{self.circuit}.sv")]
            return self.simulator.run(
                sources, "tb", work_dir=self.work, include_dirs=[EXAMPLES / "common"], plusargs=arguments
            )
        command = [*self.simulator.command("tb", self.work), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=self.work, check=False)
        return BenchRun(done.returncode, done.stdout + done.stderr)


Benches = Callable[[str], Bench]
Folders = Callable[[Setting], Path]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benches:
    simulator, known = find(), dict[str, Bench]()

    def get(circuit: str) -> Bench:
        if circuit not in known:
            known[circuit] = Bench(circuit, simulator, tmp_path_factory.mktemp(circuit))
        return known[circuit]

    return get


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    known: dict[VectorSet, Path] = {}

    def get(setting: Setting) -> Path:
        if setting.vectors not in known:
            path = tmp_path_factory.mktemp("vectors")
            generate(setting.vectors, path)
            known[setting.vectors] = path
        return known[setting.vectors]

    return get


@pytest.mark.full
@pytest.mark.parametrize(
    ("circuit", "setting"),
    [pytest.param(c, s, id=f"{c}-{s.name}") for c, settings in SETTINGS.items() for s in settings],
)
def test_the_circuit_passes(circuit: str, setting: Setting, bench: Benches, folder: Folders) -> None:
    run = bench(circuit).run(folder(setting), *setting.plusargs)
    assert run.passed, run.output
    count = setting.vectors.count
    assert f"PASS: {count} of {count} vectors" in run.output


@pytest.mark.full
@pytest.mark.parametrize(
    ("circuit", "number"), [pytest.param(c, n, id=f"{c}-{n}") for c, numbers in DEFECTS.items() for n in numbers]
)
def test_planted_defects_are_caught(circuit: str, number: int, bench: Benches, folder: Folders) -> None:
    setting = DEFECTS[circuit][number]
    vectors = folder(setting)
    run = bench(circuit).run(vectors, *setting.plusargs, f"+defect={number}")
    assert not run.passed
    assert re.search(rf"^FAIL: [1-9]\d* of {setting.vectors.count} vectors$", run.output, re.M), run.output
    reports = re.findall(rf"^{setting.vectors.name}\.memh:(\d+): (.*) expected (.*) got (.*)$", run.output, re.M)
    assert 1 <= len(reports) <= 10, run.output
    for line, operands, expected, got in reports:
        # The line number leads to the vector in the file, and the report says what stands there.
        words = [int(word, 16) for word in vector_lines(vectors)[int(line) - 1].split("_")]
        assert words == reported_words(words, operands, expected)
        assert re.fullmatch(r"[0-9a-f]+ [0-9a-f]+", got)
        assert got != expected


def vector_lines(vectors: Path) -> list[str]:
    return next(vectors.glob("*.memh")).read_text().splitlines()


def reported_words(words: list[int], operands: str, expected: str) -> list[int]:
    """The vector's words, those that the report names put in from it."""
    codes = [(name, int(code, 16)) for name, code in (part.split("=") for part in operands.split())]
    results = [int(code, 16) for code in expected.split()]
    if codes[0][0] == "a_scale":  # the scale and elements of a, those of b, c, result, flags
        words = list(words)
        words[0], words[33], words[66] = (code for _, code in codes)
        return [*words[:67], *results]
    lane = re.fullmatch(r"values\[(\d+)\]", codes[0][0])
    if lane is None:
        return [code for _, code in codes] + results
    # values[31] to values[0], the scale, elements[31] to elements[0]
    words = list(words)
    words[31 - int(lane[1])], words[32], words[64 - int(lane[1])] = codes[0][1], *results
    return words


@pytest.mark.parametrize("circuit", DEFECTS)
def test_the_header_lists_every_defect(circuit: str) -> None:
    header = (EXAMPLES / circuit / f"{circuit}.sv").read_text().split("\nmodule")[0]
    assert header.startswith("// SPDX-License-Identifier: 0BSD\n")
    listed = re.findall(r"^// {3,4}(\d+)  ", header.split("defect plants a bug")[1], re.M)
    assert sorted(map(int, listed)) == sorted(DEFECTS[circuit])


def cut_file(folder: Path) -> None:
    path = next(folder.glob("*.memh"))
    path.write_text(path.read_text()[:5000])


def cut_at_a_line(folder: Path) -> None:
    path = next(folder.glob("*.memh"))
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:100]))


def only_comments(folder: Path) -> None:
    next(folder.glob("*.memh")).write_text("// nothing\n")


def one_word_more(folder: Path) -> None:
    path = next(folder.glob("*.memh"))
    path.write_text(path.read_text() + "0000_0000_0000_0000_00\n")


def replace(old: str, new: str, pattern: str, folder: Path) -> None:
    path = next(folder.glob(pattern))
    assert path.read_text().count(old) >= 1
    path.write_text(path.read_text().replace(old, new, 1))


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut": (cut_file, "not a word of 18"),
    "cut at a line": (cut_at_a_line, "98 words, but vectors.svh says 3000"),
    "one word more": (one_word_more, "3001 words, but vectors.svh says 3000"),
    "only comments": (only_comments, "no vectors"),
    "no words": (lambda folder: next(folder.glob("*.memh")).unlink(), "cannot read"),
    "no header": (lambda folder: (folder / "vectors.svh").unlink(), "cannot read"),
    "no field": (partial(replace, "VEC_B_LSB", "VEC_X_LSB", "*.svh"), "has no VEC_B_LSB"),
    "an X digit": (partial(replace, "0000_0001", "000x_0001", "*.memh"), r"memh:\d+: not a word"),
}


@pytest.mark.full
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_vectors_fail(damage: str, bench: Benches, folder: Folders, tmp_path: Path) -> None:
    setting = fma("rne")
    whole, damaged = folder(setting), tmp_path / "damaged"
    assert bench("fp16_fma").run(whole, *setting.plusargs).passed
    shutil.copytree(whole, damaged)
    do, message = DAMAGES[damage]
    do(damaged)
    run = bench("fp16_fma").run(damaged, *setting.plusargs)
    assert not run.passed
    assert run.returncode != 0
    assert re.search(rf"^FAIL: .*{message}", run.output, re.M), run.output


@pytest.mark.full
def test_vectors_of_another_circuit_fail(bench: Benches, folder: Folders) -> None:
    run = bench("bf16_stochastic").run(folder(conversion("bf16", "rne", "sat-none")))
    assert not run.passed
    assert "FAIL" in run.output
