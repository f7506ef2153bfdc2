"""The SystemC header of exported C libraries: with what stands for SystemC, and with it where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from libraries import library_texts

from softfloat_ref.export.library import write_library

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")

STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Wshadow", "-Werror"]
STAND_IN = """\
#include <cstdint>
#include <sstream>
namespace sc_dt {
template <int W> struct sc_uint {
    explicit sc_uint(unsigned long long x) : x_(x & ((1ull << W) - 1)) {}
    unsigned long long to_uint64() const { return x_; }
    unsigned long long x_;
};
}
namespace sc_core {
struct sc_trace_file { std::ostringstream text; };
template <class T> void sc_trace(sc_trace_file *file, const T &x, const std::string &name, int width)
{
    file->text << name << ":" << width << "=" << +x << ";";
}
template <class T> struct sc_signal {
    T now_, next_;
    bool write(const T &x) { next_ = x; return !(next_ == now_); }
    bool update() { const bool event = next_ != now_; now_ = next_; return event; }
    const T &read() const { return now_; }
    void trace(sc_trace_file *file) const { sc_trace(file, now_, "s"); }
};
}
"""
SYSTEMC = """\
#include <systemc>
#include <sstream>
"""
PROGRAM = """\
#include <iostream>
#include "softfloat_systemc.h"
using softfloat_systemc::f16;
using softfloat_systemc::f8_e4m3;

static int wrong;
static void check(bool right, int line)
{
    if (!right) std::cout << "line " << line << "\\n", wrong++;
}
#define CHECK(x) check(x, __LINE__)

static int run()
{
    const f16 a = f16::from_word(sc_dt::sc_uint<16>(0x3c01)), b = f16::from_bits(0x3c00);
    CHECK((a + b).bits() == 0x4000);
    CHECK(mulAdd(a, b, b, softfloat_round_max).value.bits() == 0x4001);
    CHECK(add(a, b, softfloat_round_min).flags == softfloat_flag_inexact && softfloat_exceptionFlags == 1);
    softfloat_exceptionFlags = 0;
    CHECK(div(b, f16(), softfloat_round_near_even).flags == softfloat_flag_infinite);
    CHECK(softfloat_exceptionFlags == 0 && softfloat_roundingMode == softfloat_round_near_even);
    CHECK(sqrt(f16::from_bits(0xbc00), softfloat_round_near_even).value.bits() == 0x7e00);
    CHECK(f8_e4m3(a).bits() == 0x38 && f16(f8_e4m3::from_bits(0x7e)).bits() == 0x5f00);
    CHECK((a.to_word<sc_dt::sc_uint<16> >().to_uint64()) == 0x3c01);
    CHECK(f8_e4m3::from_word(sc_dt::sc_uint<12>(0xf38)).bits() == 0x38 && f8_e4m3::width == 8);
    CHECK(!(f16::from_bits(0x8000) == f16()) && f16::from_bits(0x7e00) == f16::from_bits(0x7e00));
    std::ostringstream text;
    text << a << " " << f8_e4m3::from_bits(7);
    CHECK(text.str() == "3c01 07");
    return wrong;
}
"""
MAIN = """\
int main()
{
    run();
    sc_core::sc_signal<f16> s;
    CHECK(!s.write(f16()) && s.write(f16::from_bits(0x8000)) && s.update());
    CHECK(s.read().bits() == 0x8000);
    sc_core::sc_trace_file file;
    s.trace(&file);
    CHECK(file.text.str() == "s:16=32768;");
    return wrong;
}
"""
SC_MAIN = """\
int sc_main(int, char *[])
{
    run();
    sc_core::sc_signal<f16> s("s");
    sc_core::sc_trace_file *file = sc_core::sc_create_vcd_trace_file("values");
    sc_core::sc_trace(file, s, "s");
    s.write(f16::from_word(sc_dt::sc_bv<16>("0011110000000000")));
    sc_core::sc_start(1, sc_core::SC_NS);
    CHECK(s.read().bits() == 0x3c00);
    CHECK(s.read().to_word<sc_dt::sc_lv<16> >() == "0011110000000000");
    CHECK(f16::from_word(sc_dt::sc_biguint<16>(5)).bits() == 5);
    sc_core::sc_close_vcd_trace_file(file);
    return wrong;
}
"""


def built(program: str, folder: Path, *options: str) -> str:
    """What a program prints: nothing, if all is right."""
    library = folder / "library"
    write_library(library, library_texts(["fp16", "fp8_e4m3"]))
    (folder / "program.cpp").write_text(program)
    sources = [str(library / x) for x in ("softfloat_state.c", "f16.c", "f8_e4m3.c")]
    for command in (
        ["gcc", "-O1", "-c", *sources],
        ["g++", *STRICT, f"-I{library}", "program.cpp", "softfloat_state.o", "f16.o", "f8_e4m3.o", *options, "-o", "p"],
        ["./p"],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.full
@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_values_in_signals_and_traces(standard: str, tmp_path: Path) -> None:
    assert built(STAND_IN + PROGRAM + MAIN, tmp_path, f"-std={standard}") == ""


@pytest.mark.full
@pytest.mark.sim
def test_with_systemc(tmp_path: Path) -> None:
    """SYSTEMC_HOME: where it is installed; else where the compiler looks."""
    home = os.environ.get("SYSTEMC_HOME")
    places = [] if home is None else ["-isystem", f"{home}/include", f"-L{home}/lib", f"-Wl,-rpath,{home}/lib"]
    probe = subprocess.run(
        ["g++", "-std=c++17", *places, "-fsyntax-only", "-xc++", "-"],
        input=SYSTEMC,
        text=True,
        capture_output=True,
        check=False,
    )
    if probe.returncode:
        pytest.skip("SystemC is not installed: set SYSTEMC_HOME")
    printed = built(SYSTEMC + PROGRAM + SC_MAIN, tmp_path, "-std=c++17", *places, "-lsystemc", "-pthread")
    assert not [x for x in printed.splitlines() if x.startswith("line ")]
    assert "$var wire" in (tmp_path / "values.vcd").read_text()
