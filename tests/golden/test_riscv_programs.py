"""Programs of self-checking assembly for RV64 under QEMU; skipped where it, or an assembler, is missing. An old QEMU
runs F, D and V only."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from command import TOP, ok
from pages import blocks
from test_riscv_asm import PREFIX, assembler, unit, units

from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.suites import find_suite
from softfloat_ref.golden.verify import verify
from softfloat_ref.golden.writers.riscv.checks import forms
from softfloat_ref.units import OperationUnit

QEMU = "qemu-riscv64"
BASE = {"F", "D", "V"}


@dataclass(frozen=True)
class Outcome:
    """What a program left: the exit code, and the words of its signature."""

    code: int
    state: int
    test: int
    vector: int
    got: int
    expected: int
    flags: int
    expected_flags: int
    count: int


def cpu() -> str:
    """The CPU with the most extensions that this QEMU has."""
    assembler()
    if shutil.which(QEMU) is None:
        pytest.skip("needs QEMU for RISC-V (apt-get install qemu-user)")
    models = subprocess.run([QEMU, "-cpu", "help"], capture_output=True, text=True, check=False).stdout.split()
    return "max" if "max" in models else "rv64,v=true"


def built(source: Path, folder: Path, *options: str) -> Path:
    program = source.with_suffix(".elf")
    objects = source.with_suffix(".o")
    subprocess.run([f"{PREFIX}as", "-march=rv64gcv", "-I", folder, *options, "-o", objects, source], check=True)
    place = ["-N", "-Ttext=0x80000000"] if "SFR_BARE=1" in options else []
    subprocess.run([f"{PREFIX}ld", *place, "-o", program, objects], check=True)
    return program


def executed(source: Path, folder: Path, model: str, *options: str) -> Outcome:
    done = subprocess.run([QEMU, "-cpu", model, built(source, folder, *options)], capture_output=True, text=True)
    words = done.stdout.split()
    assert len(words) == 8, (done.returncode, done.stderr)
    assert all(re.fullmatch(r"[0-9a-f]{16}", x) for x in words)
    return Outcome(done.returncode, *(int(x, 16) for x in words))


def written(u: OperationUnit, count: int, folder: Path) -> Path:
    vectors = VectorSet(u, count)
    generate(vectors, folder, formats=("riscv-asm", "tv"))
    return folder / f"{vectors.name}.S"


def runs_on_an_old_one(u: OperationUnit) -> bool:
    """Whether QEMU 7.2 has the instructions; it ends itself at vfcvt.rtz."""
    return {f.extension for f in forms(u)} <= BASE and not any(".rtz." in f.name for f in forms(u))


@pytest.mark.sim
@pytest.mark.parametrize("share", range(4))
def test_programs_pass(share: int, tmp_path: Path) -> None:
    """QEMU has its own arithmetic: it agrees on every instruction that it has."""
    model = cpu()
    for i, u in enumerate(list(units())[share::4]):
        if model != "max" and not runs_on_an_old_one(u):
            continue
        source = written(u, 60, tmp_path / str(i))
        signature = executed(source, source.parent, model)
        assert (signature.code, signature.state, signature.count) == (0, 1, 60), (source.read_text()[:400], signature)


@pytest.mark.sim
def test_nan_boxed_operands_and_those_that_are_not(tmp_path: Path) -> None:
    """The mixed set of riscv-zfh: one routine per part, and a test for each of the four fused instructions."""
    suite = find_suite("riscv-zfh")
    assert suite is not None
    boxed = suite.sets["boxed"].of_count(800)
    manifest = generate(boxed, tmp_path, formats=("riscv-asm",))
    assert [f["name"] for f in manifest["files"]] == [f"{boxed.name}.S", "sfr_riscv.inc"]
    assert verify(tmp_path).passed
    text = (tmp_path / f"{boxed.name}.S").read_text()
    assert re.findall(r"^ \* test (\d): f", text, re.M) == ["0", "1", "2", "3"]
    if cpu() != "max":
        pytest.skip("needs a newer QEMU: Zfh")
    signature = executed(tmp_path / f"{boxed.name}.S", tmp_path, "max")
    assert (signature.code, signature.state, signature.count) == (0, 1, 800)


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    """Sums in fp32."""
    return written(unit("add", "fp32"), 400, tmp_path)


def cases(source: Path) -> list[str]:
    """The lines of cases, and where they begin."""
    return source.read_text().partition("sfr_cases:\n")[2].splitlines()[:-1]


def planted(source: Path, number: int, old: str, new: str) -> Path:
    """The program with a case changed."""
    text, line = source.read_text(), cases(source)[number]
    changed = re.sub(old, new, line)
    assert changed != line
    wrong = source.with_name("wrong.S")
    wrong.write_text(text.replace(f"\n{line}\n", f"\n{changed}\n", 1))
    return wrong


@pytest.mark.sim
@pytest.mark.parametrize(("options", "test"), [((), 0), (("--defsym", "SFR_SCALAR=0"), 1)])
def test_a_wrong_result_is_caught(sums: Path, options: tuple[str, ...], test: int) -> None:
    model = cpu()
    right = executed(sums, sums.parent, model, *options)
    assert (right.code, right.state, right.test, right.vector) == (0, 1, (1 << 64) - 1, (1 << 64) - 1)
    line = (sums.parent / "add_fp32_rne.tv").read_text().splitlines()[237].split()
    wrong = planted(sums, 237, r"[0-9a-f]{8}(, 0x[0-9a-f]+)$", rf"{int(line[2], 16) ^ 1:08x}\1")
    signature = executed(wrong, sums.parent, model, *options)
    assert (signature.code, signature.state, signature.test, signature.vector) == (1, 2, test, 237)
    assert (signature.got & 0xFFFFFFFF, signature.expected & 0xFFFFFFFF) == (int(line[2], 16), int(line[2], 16) ^ 1)


@pytest.mark.sim
def test_wrong_flags_a_missing_box_and_a_wrong_rounding_are_caught(sums: Path) -> None:
    model, text = cpu(), sums.read_text()
    inexact = next(i for i, line in enumerate(cases(sums)) if line.endswith("01"))
    signature = executed(planted(sums, inexact, "01$", "00"), sums.parent, model)
    assert (signature.code, signature.test, signature.vector, signature.flags, signature.expected_flags) == (
        1,
        0,
        inexact,
        1,
        0,
    )
    signature = executed(planted(sums, 3, r"0xffffffff([0-9a-f]{8}), (\S+)$", r"0x00000000\1, \2"), sums.parent, model)
    assert (signature.code, signature.test, signature.vector, signature.got >> 32) == (1, 0, 3, 0xFFFFFFFF)
    (sums.parent / "wrong.S").write_text(text.replace("csrwi frm, 0", "csrwi frm, 3"))
    assert executed(sums.parent / "wrong.S", sums.parent, model).state == 2


@pytest.mark.sim
def test_flags_of_a_group(tmp_path: Path) -> None:
    """With many elements at a time the flags are compared together: here without the run that has one at a time."""
    model = cpu()
    source = written(unit("class", "fp32"), 64, tmp_path)
    wrong = planted(source, 50, "00$", "10")
    wrong.write_text(re.sub(r"    \.8byte sfr_test_[01], [01], [01]\n", "", wrong.read_text()))
    signature = executed(wrong, tmp_path, model)
    assert (signature.code, signature.test, signature.flags, signature.expected_flags) == (1, 2, 0, 16)
    assert signature.vector <= 50


@pytest.mark.sim
def test_without_vectors_any_assembler_will_do(sums: Path) -> None:
    """SFR_VECTOR = 0 leaves nothing of V; a file without tests is refused by the assembler."""
    assembler()
    command = [f"{PREFIX}as", "-I", sums.parent, "--defsym", "SFR_VECTOR=0", "-o", sums.parent / "o", sums]
    subprocess.run([*command, "-march=rv64gc"], check=True)
    done = subprocess.run([*command, "--defsym", "SFR_SCALAR=0"], capture_output=True, text=True, check=False)
    assert done.returncode
    assert "omit every test" in done.stderr


@pytest.mark.sim
def test_for_bare_machines(sums: Path) -> None:
    """SFR_BARE has tohost and no system call."""
    assembler()
    program = built(sums, sums.parent, "--defsym", "SFR_BARE=1")
    shown = subprocess.run([f"{PREFIX}objdump", "-d", "-t", program], capture_output=True, text=True, check=True).stdout
    assert re.search(r"\btohost$", shown, re.M)
    assert "ecall" not in shown
    assert re.search(r"^0*80000000 <_start>:$", shown, re.M)


MODEL = """
#define RVMODEL_BOOT
#define RVMODEL_HALT_PASS li a0, 7; li a7, 93; ecall
#define RVMODEL_HALT_FAIL li a0, 8; li a7, 93; ecall
#define RVMODEL_DATA_SECTION .data
.set SFR_ENVIRONMENT, 1
.macro SFR_BEGIN
.globl _start
_start: RVMODEL_BOOT
.endm
.macro SFR_PASS
RVMODEL_HALT_PASS
.endm
.macro SFR_FAIL
RVMODEL_HALT_FAIL
.endm
.macro SFR_SIGNATURE_BEGIN
RVMODEL_DATA_SECTION
.endm
.macro SFR_SIGNATURE_END
.endm
#include "NAME"
"""


@pytest.mark.sim
def test_in_an_environment_of_ones_own(sums: Path) -> None:
    """Macros as the models of riscv-arch-test define them, by the C preprocessor."""
    model, mine = cpu(), sums.with_name("mine.S")
    (sums.parent / "sfr_riscv.inc").unlink()
    for source, code in ((sums, 7), (planted(sums, 5, "0[01]$", "1f"), 8)):
        mine.with_suffix(".in").write_text(MODEL.replace("NAME", source.name))
        preprocess = ["g++", "-E", "-P", "-x", "assembler-with-cpp", mine.with_suffix(".in"), "-o", mine]
        subprocess.run(preprocess, check=True)
        done = subprocess.run([QEMU, "-cpu", model, built(mine, sums.parent)], check=False)
        assert done.returncode == code


TABLE = """    la t3, results
    vluxei16.v v4, (t3), v8
    la t3, raised
    vluxei16.v v12, (t3), v8
    vmv.s.x v14, zero
    vredor.vs v14, v12, v14
    vmv.x.s t4, v14
    csrw fflags, t4
"""


@pytest.mark.sim
@pytest.mark.parametrize("out", ["fp8_e4m3", "fp8_e5m2"])
def test_around_an_ofp8_conversion(out: str, tmp_path: Path) -> None:
    """QEMU has no Zvfofp8min: a table of every bf16 stands in for the instruction; with a wrong entry it fails."""
    model, u = cpu(), unit("convert", "bf16", out, rounding="rdn")
    source = written(u, 500, tmp_path)
    lines = source.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if "/* vfncvtbf16.f.f.w v4, v8 */" in line)
    lines[at] = TABLE
    text = re.sub(r"\.4byte \w+ /\* (vsetvli \w+, \w+, e8)alt", r"\1", "".join(lines)).replace(", ma */", ", ma")
    answers = [tuple(u.answer((code,))) for code in range(1 << 16)]
    for wrong in (False, True):
        if wrong:
            code = int(cases(source)[77].split("0x")[1][12:16], 16)
            answers[code] = (answers[code][0] ^ 1, answers[code][1])
        tables = "".join(
            f"{name}:\n" + "".join(f"    .byte {answer[i]}\n" for answer in answers)
            for i, name in enumerate(("results", "raised"))
        )
        (tmp_path / "table.S").write_text(f"{text}    .section .rodata\n{tables}")
        signature = executed(tmp_path / "table.S", tmp_path, model)
        assert (signature.code, signature.state) == ((1, 2) if wrong else (0, 1))
        assert not wrong or (signature.test, signature.vector <= 77) == (0, True)


@pytest.mark.sim
def test_the_commands_of_the_page(tmp_path: Path) -> None:
    page = TOP / "docs" / "vectors.md"
    u = unit("fma", "fp16", rounding="rup")
    source = written(u, 200, tmp_path / "fma16")
    assert source.name == "fma_fp16_rup.S"
    if cpu() != "max":
        pytest.skip("needs a newer QEMU: Zfh")
    for line in blocks(page, "sh")[0].splitlines():
        subprocess.run(line.split(), cwd=tmp_path, check=True)


@pytest.mark.sim
def test_llvm_takes_it_too(sums: Path) -> None:
    model = cpu()
    if shutil.which("llvm-mc") is None:
        pytest.skip("needs LLVM (apt-get install llvm)")
    command = ["llvm-mc", "-triple=riscv64", "-mattr=+m,+f,+d,+v", "-filetype=obj", "-I", sums.parent]
    subprocess.run([*command, "-o", sums.parent / "llvm.o", sums], check=True)
    subprocess.run([f"{PREFIX}ld", "-o", sums.parent / "llvm.elf", sums.parent / "llvm.o"], check=True)
    subprocess.run([QEMU, "-cpu", model, sums.parent / "llvm.elf"], check=True, capture_output=True)


def test_the_suite_of_every_bf16(tmp_path: Path) -> None:
    """Both formats, five roundings, saturating and not: 1,310,720 cases, each set an instruction."""
    suite = find_suite("riscv-ofp8-narrow")
    assert suite is not None
    assert sum(v.count for v in suite.sets.values()) == 1310720
    assert len({(f.name, f.altfmt) for v in suite.sets.values() for f in forms(v.unit)}) == 4  # type: ignore[arg-type,attr-defined]
    ok("vectors", "generate", "riscv-ofp8-narrow", "--pack", "--format", "riscv-asm", "-o", "v", cwd=tmp_path)
    ok("vectors", "verify", "v", cwd=tmp_path)
    programs = sorted(tmp_path.rglob("*.S"))
    assert len(programs) == 4
    assert all("(Zvfofp8min), vl = VLMAX" in path.read_text() for path in programs)
