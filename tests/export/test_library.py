"""Exported C libraries: every function, compiled with warnings as errors, equal to the scalar oracle, with flags."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from libraries import library_texts
from library_comparison import SANITIZED, Comparison

from softfloat_ref.base.errors import Error
from softfloat_ref.export.library import library_files, library_policy
from softfloat_ref.export.library.folder import CORE_FILES, core_hash
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import POLICIES as NAMED

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")

# What a policy may choose: each field is set by one of them at least.
POLICIES: dict[str, dict[str, Any]] = {
    "ieee": {},
    "x86": {"like": "x86-sse", "overflow": "sat-none", "flush_outputs": "on"},
    "arm": {"like": "arm", "flush_inputs": "on", "flush_outputs": "on"},
    "ptx": {"like": "ptx-fp64", "nan_missing": "zero"},
    "tpu": {"like": "tpu-bf16", "overflow": "sat-propagate"},
    "ml-dtypes": {"like": "ml-dtypes"},
    "codes": {"like": "riscv", "nan": "propagate-signaling,addend-first,fp16=7f00"},
}


def test_all_pairs_of_4_bits_and_two_words(tmp_path: Path) -> None:
    formats = Comparison(["fp4_e2m1", "fp64"], {}, tmp_path, *SANITIZED)
    formats.check_operations(formats.formats[0], 100, exhaustive=True)
    formats.check_conversions(formats.formats[0], 20)
    formats.check_operations(formats.formats[1], 20)


@pytest.mark.full(gate=2)
@pytest.mark.parametrize("fmt", ["fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp6_e3m2"])
def test_all_pairs_of_8_bits(fmt: str, tmp_path: Path) -> None:
    formats = Comparison([fmt], {}, tmp_path, "-O2")
    formats.check_operations(formats.formats[0], 3000, exhaustive=True)


@pytest.mark.full(gate=3)
@pytest.mark.parametrize("policy", list(POLICIES))
def test_policies(policy: str, tmp_path: Path) -> None:
    """A format for each size of words, one without Inf, one without NaN; no -0 where flushed inputs could be that."""
    small = "fp8_e4m3" if POLICIES[policy].get("flush_inputs") or "tpu" in policy else "fp8_e4m3fnuz"
    full = policy != "ieee"
    names = ["fp16", "fp64", "fp32", small, "fp6_e3m2"] if full else ["fp32", small]
    formats = Comparison(names, POLICIES[policy], tmp_path, *(SANITIZED if full else ["-O0"]))
    for own in formats.formats:
        formats.check_operations(own, 120 if full else 30)
        formats.check_conversions(own, 60 if full else 20)


def test_every_named_policy_is_a_library() -> None:
    for name in NAMED:
        assert "fp8_e4m3" in library_texts(["fp16", "fp8_e4m3", "e8m0"], like=name)["softfloat.h"]


@pytest.mark.full(gate=0)
def test_every_format(tmp_path: Path) -> None:
    names = [
        "bf16",
        "tf32",
        "fp8_e5m2",
        "fp8_e3m4",
        "fp8_e5m2fnuz",
        "fp8_e4m3b11fnuz",
        "s1e8m15",
        "s1e11m25",
        "s1e6m9fn",
    ]
    formats = Comparison(names, {}, tmp_path, "-O2")
    for own in formats.formats:
        formats.check_operations(own, 150)
        formats.check_conversions(own, 100)


@pytest.mark.full(keep=1, gate=1)
@pytest.mark.parametrize(
    ("names", "policy"), [(["fp4_e2m1"], {}), (["s1e2m2", "binary5p2se"], {"like": "arm", "rounding": "rup"})]
)
def test_tables(names: list[str], policy: dict[str, str], tmp_path: Path) -> None:
    """All pairs, in every setting: those of the tables, and those that are computed."""
    texts = library_texts(names, tables=True, **policy)
    formats = Comparison(names, policy, tmp_path, "-O0", texts=texts)
    for own in formats.formats:
        assert texts[f"{own.name}.c"].count("CORE_TABLE(") == 4
        formats.check_operations(own, 50, exhaustive=True)


def test_a_wrong_entry_of_a_table_is_seen(tmp_path: Path) -> None:
    texts = library_texts(["fp4_e2m1"], tables=True)
    start = texts["f4_e2m1.c"].index("table_mul[256] = {\n    0, ") + len("table_mul[256] = {\n    ")
    texts["f4_e2m1.c"] = texts["f4_e2m1.c"][:start] + "1" + texts["f4_e2m1.c"][start + 1 :]
    formats = Comparison(["fp4_e2m1"], {}, tmp_path, texts=texts)
    with pytest.raises(AssertionError, match="f4_e2m1_mul"):
        formats.check_operations(formats.formats[0], 1, exhaustive=True)


@pytest.mark.full(keep=1, gate=4)
@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("core_round.h", "half - 1", "half"),
        ("core_round.h", "(normal ^ 1)", "normal"),
        ("core_arithmetic.h", "TOP - 1 - 2 * f.mantissa", "TOP - 2 - 2 * f.mantissa"),
        ("core_library.h", "UINT64_C(0x1f)", "UINT64_C(0x1e)"),
    ],
)
def test_a_wrong_constant_is_seen(file: str, right: str, wrong: str, tmp_path: Path) -> None:
    texts = library_texts(["fp6_e2m3"])
    assert right in texts[file]
    texts[file] = texts[file].replace(right, wrong, 1)
    formats = Comparison(["fp6_e2m3"], {}, tmp_path, texts=texts)
    with pytest.raises(AssertionError, match="f6_e2m3_"):
        formats.check_operations(formats.formats[0], 200, exhaustive=True)


@pytest.mark.parametrize(
    ("fmt", "message"),
    [
        ("s1e8m120", "only formats of up to 128 bits, with up to 112 mantissa bits, can be"),
        ("s1e20m108", "only formats of up to 128 bits"),
        ("i8", "it is an integer or fixed-point format"),
    ],
)
def test_what_is_refused(fmt: str, message: str) -> None:
    with pytest.raises(Error, match=message):
        library_texts([fmt])


def test_files_of_the_core_name_what_is_proved_of_it() -> None:
    files = library_files([get_format("fp16")], library_policy())
    line = f" * Core {core_hash()} of softfloat-ref; what is proved of it: python -m tests.formal.c_library --table"
    assert all(files[name].splitlines()[1] == line for name in CORE_FILES)
