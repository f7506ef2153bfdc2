"""Units as compiled C: kept, checked with the oracle before use, and the reason where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.export.c import c_text
from softfloat_ref.golden import c_units
from softfloat_ref.golden.c_units import answers, unit_library
from softfloat_ref.golden.sets import of_unit
from softfloat_ref.symbolic.circuit import Circuit
from softfloat_ref.units import make_unit

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOFTFLOAT_REF_CACHE", str(tmp_path))
    unit_library.cache_clear()
    return tmp_path


def test_answers_and_what_is_kept(cache: Path) -> None:
    unit = make_unit("mul", "fp8_e4m3", policy={"rounding": "rup"})
    library = unit_library(unit)
    lines = np.array(list(of_unit(unit, 2000).of_seed(5).lines()), np.uint64)
    assert (answers(library, lines[:, :2]) == lines[:, 2:]).all()
    kept = library.stat()
    unit_library.cache_clear()
    assert unit_library(unit) == library
    assert library.stat() == kept  # not made again
    other = unit_library(make_unit("mul", "fp8_e4m3"))
    assert other != library
    assert {*cache.glob("*.so")} == {library, other}


@pytest.mark.full
def test_a_damaged_library_is_made_again() -> None:
    unit = make_unit("add", "fp8_e4m3")
    library = unit_library(unit)
    right = library.read_bytes()
    unit_library.cache_clear()
    library.unlink()
    library.write_bytes(right[:-1])
    assert unit_library(unit).read_bytes() == right


def test_a_wrong_one_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    to_even = "CORE_RNE: return (sig + (half - 1) + (sig >> s & 1))"

    def planted(circuits: Sequence[Circuit]) -> str:
        text = c_text(circuits)
        assert to_even in text
        return text.replace(to_even, "CORE_RNE: return (sig + half)")

    monkeypatch.setattr(c_units, "c_text", planted)
    with pytest.raises(Error, match="compiled, it is wrong"):
        unit_library(make_unit("mul", "fp16"))
    assert not list(cache.glob("*.so"))


def test_why_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for op in ("exp", "eq"):
        with pytest.raises(Error, match="the C library does not have it"):
            unit_library(make_unit(op, "fp16"))
    unit = make_unit("add", "fp16")
    with monkeypatch.context() as patched:
        patched.setenv("SOFTFLOAT_REF_CACHE", "off")
        with pytest.raises(Error, match="there is no cache"):
            unit_library(unit)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", "")
        with pytest.raises(Error, match="no C compiler is installed"):
            unit_library(unit)
    with monkeypatch.context() as patched:
        patched.setattr(c_units, "_OPTIONS", (*c_units._OPTIONS, "-fno-such-option"))
        with pytest.raises(Error, match=r"failed: .*no-such-option"):
            unit_library(unit)
