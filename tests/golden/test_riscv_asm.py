"""Self-checking assembly for RV64: the table of instructions, and the sets that have none. The test that needs an
assembler is skipped where it is missing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from command import refused

from softfloat_ref.golden.vector_recipes import load_recipe
from softfloat_ref.golden.writers.riscv.checks import forms, refusal
from softfloat_ref.golden.writers.riscv.encoding import Instruction, vsetvli
from softfloat_ref.golden.writers.riscv.forms import FRM, VectorForm
from softfloat_ref.oracle.formats import define_format
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.units import OperationUnit

PREFIX = "riscv64-linux-gnu-"
FLOATS = ("fp16", "fp32", "fp64")
INTEGERS = tuple(f"{sign}{width}" for sign in "iu" for width in (8, 16, 32, 64))
ROUNDED = ("add", "sub", "mul", "div", "sqrt", "fma")
EXACT = ("min", "max", "minimum_number", "eq", "lt", "le", "class", "copysign", "neg", "abs")
QUIET_E5M2 = define_format({"like": "fp8_e5m2", "signaling": False}, "e5m2")
WIDENED = [("fp16", "fp32"), ("fp32", "fp64")]


def unit(op: str, fmt: Any, out: Any = None, **fields: Any) -> OperationUnit:
    return OperationUnit.make(op, fmt, out, get_policy("riscv", **fields))


def units() -> Iterator[OperationUnit]:
    """Units that together have every instruction of the tables, each rounding for most kinds of them."""
    requests: list[tuple[str, Any, Any]] = [(op, f, None) for f in FLOATS for op in (*ROUNDED, *EXACT)]
    requests += [(op, a, b) for a, b in WIDENED for op in ("add", "sub", "mul")]
    requests += [("fma", (a, a, b), b) for a, b in (*WIDENED, ("bf16", "fp32"))]
    requests += [(op, (a, a, b), b) for a, b in WIDENED for op in ("fmsub", "fnmadd", "fnmsub")]
    requests += [(op, "fp32", None) for op in ("fmsub", "fnmadd", "fnmsub")]
    requests += [("convert", a, b) for a in FLOATS for b in FLOATS if a != b and {a, b} != {"fp16", "fp64"}]
    requests += [("convert", "fp16", "fp64"), ("convert", "fp64", "fp16")]
    requests += [("convert", *pair) for pair in (("fp32", "bf16"), ("bf16", "fp32"))]
    for f in FLOATS:
        width = int(f[2:])
        near = [x for x in INTEGERS if width // 2 <= int(x[1:]) <= 2 * width or int(x[1:]) >= 32]
        requests += [("convert", *pair) for x in near for pair in ((f, x), (x, f))]
    requests += [(op, f, None) for f in FLOATS for op in ("vfrec7", "vfrsqrt7")]
    for turn, (op, fmt, out) in enumerate(requests):
        yield unit(op, fmt, out, rounding=list(FRM)[turn % len(FRM)])
    for f in FLOATS:
        near = [x for x in INTEGERS if int(f[2:]) // 2 <= int(x[1:]) <= 2 * int(f[2:])]
        yield from (unit("convert", f, x, rounding="rtz") for x in near)
    yield from (unit("convert", b, a, rounding="rto") for a, b in WIDENED)


def ofp8_units() -> Iterator[OperationUnit]:
    for out in ("fp8_e4m3", "fp8_e5m2"):
        for source in ("bf16", "fp32"):
            yield from (unit("convert", source, out, overflow=rule) for rule in ("sat-none", "sat-finite"))
    yield unit("convert", "fp8_e4m3", "bf16")
    yield unit("convert", QUIET_E5M2, "bf16")


# -- the tables --------------------------------------------------------------------------------------------------------


def fields(code: int) -> tuple[int, ...]:
    """Bits 31..26, 19..15, 14..12 and 6..0, as riscv-opcodes lists vector instructions."""
    return code >> 26, code >> 15 & 31, code >> 12 & 7, code & 127


def test_encodings_of_riscv_opcodes() -> None:
    """The lines of riscv-opcodes for what an assembler may not know: rv_zfbfmin, rv_zvfbfmin, rv_zvfbfwma and
    unratified/rv_zvfofp8min."""
    codes = {f.name: f.instruction.code for u in (*units(), *ofp8_units()) for f in forms(u)}
    for name, vs1 in {
        "vfncvt.f.f.q": 0x19,
        "vfncvt.sat.f.f.q": 0x1B,
        "vfncvtbf16.sat.f.f.w": 0x1F,
        "vfncvtbf16.f.f.w": 0x1D,
        "vfwcvtbf16.f.f.v": 0x0D,
    }.items():
        assert fields(codes[name]) == (0x12, vs1, 1, 0x57), name
    assert fields(codes["vfwmaccbf16.vv"]) == (0x3B, 16, 1, 0x57)
    for name, rs2, fmt in (("fcvt.bf16.s", 8, 2), ("fcvt.s.bf16", 6, 0)):
        code = codes[name]
        assert (code >> 27, code >> 25 & 3, code >> 20 & 31, code & 127) == (0x08, fmt, rs2, 0x53)


def test_fcvtmod() -> None:
    """Zfa, as riscv-opcodes has it: of FP64 to i32, toward zero."""
    (form,) = forms(unit("convert_modular", "fp64", "i32", rounding="rtz"))
    code = form.instruction.code
    assert (form.name, form.extension, form.instruction.plain) == ("fcvtmod.w.d", "Zfa", False)
    assert (code >> 27, code >> 25 & 3, code >> 20 & 31, code >> 12 & 7, code & 127) == (0x18, 1, 8, 1, 0x53)
    others = (("fp64", "i32", "rne"), ("fp64", "u32", "rtz"), ("fp32", "i32", "rtz"))
    assert not any(forms(unit("convert_modular", a, b, rounding=m)) for a, b, m in others)


def test_zvfofp8min() -> None:
    """The draft: altfmt is E5M2, sat saturates, frm rounds; what widens raises no flag, so E5M2's NaNs are quiet."""
    names = {}
    for u in ofp8_units():
        (form,) = forms(u)
        assert isinstance(form, VectorForm)
        assert form.extension == "Zvfofp8min"
        assert form.sew == 8
        assert not form.instruction.plain
        assert form.altfmt == ("e5m2" in u.out.name or u.formats[0] == QUIET_E5M2)
        names.setdefault(form.name, []).append(u)
        assert all(forms(OperationUnit(u.op, u.formats, u.out, u.policy.replace(rounding=m))) for m in FRM)
    assert {k: len(v) for k, v in names.items()} == {
        "vfncvtbf16.f.f.w": 2,
        "vfncvtbf16.sat.f.f.w": 2,
        "vfncvt.f.f.q": 2,
        "vfncvt.sat.f.f.q": 2,
        "vfwcvtbf16.f.f.v": 2,
    }
    assert vsetvli("zero", "zero", 8, altfmt=True).code == vsetvli("zero", "zero", 8).code | 1 << 28
    overflows = [unit("convert", "bf16", "fp8_e4m3", rounding=m).answer((0xDBF8,)) for m in ("rne", "rtz", "rup")]
    assert [tuple(x) for x in overflows] == [(0x7F, 5), (0xFE, 5), (0xFE, 5)]  # a NaN has no sign
    assert tuple(unit("convert", QUIET_E5M2, "bf16").answer((0x7D,))) == (0x7FC0, 0)


def test_every_instruction_once() -> None:
    instructions = [forms(u) for u in (*units(), *ofp8_units())]
    assert all(instructions)
    names = {f.name for listed in instructions for f in listed}
    assert len(names) == 141
    assert {"fnmadd.d", "vfnmsac.vv", "fcvt.lu.h", "vfncvt.rod.f.f.w", "vfcvt.rtz.xu.f.v", "vfwmacc.vv"} <= names
    assert {"vfwmsac.vv", "vfwnmacc.vv", "vfwnmsac.vv"} <= names


def assembled(texts: Sequence[str], march: str, folder: Path) -> list[int]:
    """The words that an assembler makes."""
    source, result = folder / "t.s", folder / "t"
    source.write_text(".option norvc\n" + "".join(f"{x}\n" for x in texts))
    subprocess.run([f"{PREFIX}as", f"-march={march}", "-o", f"{result}.o", source], check=True)
    subprocess.run([f"{PREFIX}objcopy", "-O", "binary", f"{result}.o", f"{result}.bin"], check=True)
    data = Path(f"{result}.bin").read_bytes()
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]


def assembler() -> None:
    if shutil.which(f"{PREFIX}as") is None:
        pytest.skip("needs a RISC-V assembler (apt-get install binutils-riscv64-linux-gnu)")


@pytest.mark.sim
def test_an_assembler_makes_the_same_words(tmp_path: Path) -> None:
    assembler()
    listed: dict[str, Instruction] = {}
    for u in units():
        for form in forms(u):
            listed |= {x.text: x for x in (form.instruction, *form.before) if "bf16" not in x.text}
    listed |= {x.text: x for sew in (8, 16, 32, 64) for x in (vsetvli("a6", "a5", sew), vsetvli("zero", "zero", sew))}
    words = assembled(list(listed), "rv64gcv_zfh", tmp_path)
    assert {text: f"{w:08x}" for text, w in zip(listed, words, strict=True)} == {
        text: f"{x.code:08x}" for text, x in listed.items()
    }


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ("--op add --fmt bf16", "no instruction of the table computes add of bf16 to bf16"),
        ("--op add --fmt fp16 --round rto", "add of fp16 to fp16 in rounding rto; frm has rne, rtz, rdn, rup, rna"),
        ("--op add --fmt fp16 --overflow sat-finite", "add of fp16 to fp16 with overflow = sat-finite"),
        ("--op rem --fmt fp32", "no instruction of the table computes rem of fp32 to fp32"),
        ("--op convert --fmt fp16 --out fp8_e4m3", "no instruction of the table computes convert of fp16 to fp8_e4m3"),
        ("--op convert --fmt bf16 --out fp8_e5m2", "RISC-V's NaN of fp8_e5m2 is 7f, not 7e"),
        ("--op convert --fmt fp8_e5m2 --out bf16", 'a format like = "fp8_e5m2" with signaling = false'),
        ("--op convert --fmt fp8_e5m2 --out fp16", "no instruction of the table computes convert of fp8_e5m2 to fp16"),
        ("--op add --fmt fp16 --round sr --sr-bits 4", "add of fp16 to fp16 in rounding sr; frm has rne"),
        ("--op add --fmt fp32 --policy arm", "RISC-V has tininess = after, not before"),
        ("--op add --fmt fp32 --flush-inputs on", "RISC-V has flush_inputs = off, not on"),
        ("--op convert --fmt fp32 --out i32 --policy x86-sse", "RISC-V has integers = riscv, not x86"),
        ("--op fma --fmt fp32 --nan propagate", "RISC-V's NaNs are canonical"),
        ("--op add --fmt fp32 --policy p3109", "not those of P3109"),
        ("--op add --fmt fp32 --intermediate", "omit --intermediate"),
        ("--op add --fmt fp16 -n 1100000", "1100000 vectors; riscv-asm holds at most 1048576"),
        ("--op dot --fmt mxfp8", "file type riscv-asm is not available for these vectors"),
    ],
)
def test_refused(request_: str, why: str, tmp_path: Path) -> None:
    words = ["vectors", "generate", *request_.split(), "--format", "riscv-asm", "-o", "v"]
    message = refused(*words, cwd=tmp_path)
    assert why in message
    assert list(tmp_path.iterdir()) == []


def test_a_suite_is_refused_before_any_set_is_written(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('[[set]]\nop = "add"\nfmt = ["fp16", "bf16"]\npolicy = "riscv"\n')
    message = refused("vectors", "generate", "s.toml", "--format", "riscv-asm", "-o", "v", cwd=tmp_path)
    assert message.startswith("softfloat-ref: add_bf16_rne: riscv-asm: no instruction")
    assert [p.name for p in tmp_path.iterdir()] == ["s.toml"]


MIXED = """
description = "fp16 and bf16"
padding = "PADDING"
width = WIDTH
part = [{ op = ["add", "fma"], fmt = "fp16", policy = "riscv" }, { op = "OP", fmt = "fp32", policy = "riscv" }]
"""


@pytest.mark.parametrize(
    ("padding", "width", "op", "why"),
    [
        ("box", 64, "mul", ""),
        ("zeros", 64, "mul", 'use padding = "box" and width = 64'),
        ("box", 32, "mul", 'use padding = "box" and width = 64'),
        ("box", 64, "faa", "part faa_fp32_rne: no instruction of the table computes faa of fp32 to fp32"),
    ],
)
def test_mixed_sets(padding: str, width: int, op: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text(MIXED.replace("PADDING", padding).replace("WIDTH", str(width)).replace("OP", op))
    unit: Any = load_recipe(str(path)).unit
    assert why in refusal(unit)
    assert bool(refusal(unit)) == bool(why)
