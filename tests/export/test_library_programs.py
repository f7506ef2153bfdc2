"""Exported C libraries as a user has them: built by make and CMake, beside SoftFloat's names, from C and from C++."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from libraries import STRICT, library_texts
from pages import blocks

from softfloat_ref.export.library import library_files, specialization, write_library
from softfloat_ref.oracle.formats import get_format

TOP = Path(__file__).parents[2]
PROGRAMS = TOP / "docs" / "examples" / "c_library"
PAGE = TOP / "docs" / "c-library.md"
CPP = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Wshadow", "-Werror"]
pytestmark = pytest.mark.skipif(
    not shutil.which("make") or not shutil.which("cc"), reason="needs make and a C compiler"
)


def done(command: list[str], folder: Path) -> str:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.full
def test_make_and_the_programs_of_the_page(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    write_library(folder, library_texts(["fp16", "bf16", "fp32", "fp64", "fp8_e4m3", "mxfp8"], acc="mx-fp32"))
    tested = done(["make", "-s", "-j2", "check", f"CFLAGS={' '.join(STRICT)} -O1"], folder)
    assert re.fullmatch(r"\d{3} tested, 0 wrong\n", tested)
    done(["cc", *STRICT, "-Ilib", str(PROGRAMS / "fp8.c"), "lib/libsoftfloat.a", "-o", "c"], tmp_path)
    done([*CPP, "-Ilib", str(PROGRAMS / "fp8.cpp"), "lib/libsoftfloat.a", "-o", "cpp"], tmp_path)
    page = PAGE.read_text()
    assert (PROGRAMS / "fp8.c").read_text() in blocks(PAGE, "c")
    assert (PROGRAMS / "fp8.cpp").read_text() in blocks(PAGE, "cpp")
    for program in ("./c", "./cpp"):
        assert done([program], tmp_path) in page


@pytest.mark.full
def test_every_name_has_the_prefix(tmp_path: Path) -> None:
    """What the linker sees, and what the headers define; the library stands beside one without a prefix."""
    folder = tmp_path / "lib"
    write_library(folder, library_texts(["fp16", "fp8_e5m2"], "my_"))
    assert "0 wrong" in done(["make", "-s", "check"], folder)
    names = re.findall(r"^[0-9a-f]+ [A-Z] (\w+)", done(["nm", "-g", "libmy_softfloat.a"], folder), re.M)
    assert len(names) > 70
    assert all(name.startswith("my_") for name in names)
    empty = done(
        [
            "cc",
            "-E",
            "-dM",
            "-include",
            "stdbool.h",
            "-include",
            "stdint.h",
            "-include",
            "stddef.h",
            "-xc",
            "/dev/null",
        ],
        folder,
    )
    macros = done(["cc", "-E", "-dM", "my_softfloat.h"], folder)
    assert all(line.split()[1].startswith("my_") for line in set(macros.splitlines()) - set(empty.splitlines()))
    tokens = done(["cc", "-E", "-P", "my_softfloat.h"], folder)
    assert not re.search(r"\b(softfloat_|f16_|float16_t|exceptionFlag_t)", tokens)


@pytest.mark.full(gate=3)
@pytest.mark.parametrize(
    "line",
    [
        "f16_add(a, b);",  # of two formats
        "float8_e5m2_t c;",  # a format that the library has not
        "f32_to_f8_e5m2(b);",
        "f16_add(1.0, 2.0);",
    ],
)
def test_wrong_arguments_are_errors_of_the_compiler(line: str, tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    write_library(folder, library_texts(["fp16", "fp32"]))
    start = '#include "softfloat.h"\nint main(void) { float16_t a = {0}; float32_t b = {0}; (void)a, (void)b; '
    compiler = ["cc", "-std=c99", "-Werror=implicit-function-declaration", "-fsyntax-only", "-Ilib", "x.c"]
    (tmp_path / "x.c").write_text(start + "}\n")
    done(compiler, tmp_path)
    (tmp_path / "x.c").write_text(start + line + " }\n")
    assert subprocess.run(compiler, cwd=tmp_path, capture_output=True, check=False).returncode == 1


@pytest.mark.full
@pytest.mark.skipif(not shutil.which("cmake"), reason="needs CMake")
def test_cmake_installs_it(tmp_path: Path) -> None:
    folder, place = tmp_path / "lib", tmp_path / "installed"
    write_library(folder, library_texts(["fp32"], "my_"))
    done(["cmake", "-S", "lib", "-B", "build", f"-DCMAKE_INSTALL_PREFIX={place}"], tmp_path)
    done(["cmake", "--build", "build"], tmp_path)
    assert "100% tests passed" in done(["cmake", "--build", "build", "--target", "test"], tmp_path)
    done(["cmake", "--install", "build"], tmp_path)
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.14)\nproject(user C)\nfind_package(my_softfloat REQUIRED)\n"
        "add_executable(user user.c)\ntarget_link_libraries(user my_softfloat::my_softfloat)\n"
    )
    (tmp_path / "user" / "user.c").write_text(
        '#include "my_softfloat.h"\nint main(void) { my_float32_t a = {0x3f800000};'
        " return my_f32_add(a, a).v != 0x40000000; }\n"
    )
    done(["cmake", "-S", "user", "-B", "user/build", f"-DCMAKE_PREFIX_PATH={place}"], tmp_path)
    done(["cmake", "--build", "user/build"], tmp_path)
    done(["user/build/user"], tmp_path)
    done(["make", "-s", "install", f"DESTDIR={tmp_path}/made", "PREFIX=/usr"], folder)
    assert "\nprefix=/usr\n" in (tmp_path / "made/usr/lib/pkgconfig/my_softfloat.pc").read_text()


# fma of NaNs in SoftFloat 3e: its own answers, by source/SPECIALIZATION and s_mulAddF16.c.
FMA_NANS = {
    "RISCV": ("7e00 10", "7e00 10", "7e00 00", "7e00 10"),
    "8086-SSE": ("7e01 10", "fe00 10", "7e02 00", "fe00 10"),
    "ARM-VFPv2": ("7e03 10", "7e00 10", "7e02 00", "7e03 10"),
}


@pytest.mark.full(gate=1)
@pytest.mark.parametrize("name", list(FMA_NANS))
def test_specializations(name: str, tmp_path: Path) -> None:
    """Signaling a and c; 0 * Inf with a quiet c; quiet b and c; 0 * Inf with a signaling c."""
    folder = tmp_path / "lib"
    write_library(folder, library_files([get_format("fp16")], specialization(name)))
    cases = ("0x7c01, 0x3c00, 0x7c03", "0, 0x7c00, 0x7e03", "0x3c00, 0x7e02, 0x7e03", "0, 0x7c00, 0x7c03")
    lines = ['#include <stdio.h>\n#include "softfloat.h"\nint main(void) {']
    for case in cases:
        values = "".join(f"{x}.v = {v};" for x, v in zip("abc", case.split(", "), strict=True))
        lines += [f"{{ float16_t a, b, c; {values} softfloat_exceptionFlags = 0; a = f16_mulAdd(a, b, c);"]
        lines += ['printf("%04x %02x\\n", (unsigned)a.v, (unsigned)softfloat_exceptionFlags); }']
    (tmp_path / "x.c").write_text("\n".join([*lines, "return 0; }"]))
    assert "0 wrong" in done(["make", "-s", "check"], folder)
    done(["cc", "-Ilib", "x.c", "lib/libsoftfloat.a", "-o", "x"], tmp_path)
    assert tuple(done(["./x"], tmp_path).splitlines()) == FMA_NANS[name]


@pytest.mark.full
def test_the_test_program_sees_wrong_units(tmp_path: Path) -> None:
    """A wrong constant of a block and of a dot product: of three functions."""
    texts = library_texts(["fp32", "mxfp4", "nvfp4"], acc="mx-fp32")
    for name, right, wrong in (
        ("mxfp4_e2m1.c", ".offset = 2", ".offset = 3"),
        ("nvfp4.c", ".limit = 3", ".limit = 5"),
        ("dot_mx_fp32.c", ".mode = {0, 0}", ".mode = {3, 0}"),
    ):
        assert right in texts[name]
        texts[name] = texts[name].replace(right, wrong)
    write_library(tmp_path / "lib", texts)
    result = subprocess.run(
        ["make", "-s", "check", "CFLAGS=-O0"],
        cwd=tmp_path / "lib",
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    wrong_ones = {line.partition(":")[0] for line in result.stdout.splitlines() if ", not " in line}
    assert {"f32_to_mxfp4_e2m1", "f32_to_nvfp4", "nvfp4_to_f32"} <= wrong_ones
    assert any(name.startswith(("mxfp4_e2m1_dot_", "f32_dot_")) for name in wrong_ones)
