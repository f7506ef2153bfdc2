"""Object code of compiled loops kept on disk: the same results without Numba, and never where anything differs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softfloat_ref.arrays.kernels import objects
from softfloat_ref.arrays.kernels.objects import ObjectLoop
from softfloat_ref.base import disk_cache
from softfloat_ref.golden import compiled

MODULE = compiled.__name__
TEXT = np.frombuffer(b"0A C0FFEE 01\n" * 3, np.uint8).copy()
WORDS = b"0a_c0ffee_01\n" * 3

pytestmark = pytest.mark.skipif(
    (sys.platform, os.uname().machine) != objects._TESTED_SYSTEM, reason="object code is kept on x86-64 Linux only"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(disk_cache.VARIABLE, str(tmp_path / "kept"))
    return tmp_path / "kept"


def words_by(loop: ObjectLoop) -> bytes:
    out = np.empty_like(TEXT)
    loop(TEXT, out)
    return out.tobytes()


def stored() -> ObjectLoop:
    """A loop that has nothing but what is kept."""
    loop = ObjectLoop(MODULE, "as_words")

    def absent() -> Any:
        raise AssertionError("asked of Numba")

    loop._function = absent  # type: ignore[method-assign]
    return loop


def test_object_code_is_kept_and_used(folder: Path) -> None:
    assert words_by(ObjectLoop(MODULE, "as_words")) == WORDS
    assert len(list(folder.iterdir())) == 1
    assert words_by(stored()) == WORDS


@pytest.mark.parametrize("change", ["damage", "owner", "setting", "processor"])
def test_other_object_code_is_not_used(change: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert words_by(ObjectLoop(MODULE, "as_words")) == WORDS
    (file,) = folder.iterdir()
    if change == "damage":
        text = file.read_bytes()
        file.write_bytes(text[:200] + bytes([text[200] ^ 1]) + text[201:])
    elif change == "owner":
        monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    elif change == "setting":
        monkeypatch.setenv("NUMBA_OPT", "1")
    else:
        from llvmlite import binding

        monkeypatch.setattr(binding, "get_host_cpu_name", lambda: "another")
    with pytest.raises(AssertionError, match="asked of Numba"):
        words_by(stored())
    assert words_by(ObjectLoop(MODULE, "as_words")) == WORDS


def test_nothing_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk_cache.VARIABLE, "off")
    assert words_by(ObjectLoop(MODULE, "as_words")) == WORDS
    assert not folder.exists()


def an_older_llvmlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("llvmlite.binding.create_pass_builder")


def another_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.config.CPU_NAME", "generic")


@pytest.mark.parametrize("change", [an_older_llvmlite, another_processor])
def test_numbas_own_code(change: Callable[[pytest.MonkeyPatch], None], folder: Path, monkeypatch: Any) -> None:
    change(monkeypatch)
    assert words_by(ObjectLoop(MODULE, "as_words")) == WORDS
    assert not folder.exists()


def test_a_loop_that_allocates_is_numbas_own(folder: Path) -> None:
    columns, digits, out = np.array([[0xAB]]), np.array([2]), np.zeros(11, np.uint8)
    ObjectLoop(MODULE, "text_lines")(columns, digits, out)
    assert out[:3].tobytes() == b"AB\n"
    assert not folder.exists()


def test_arrays_that_the_code_could_not_read_are_refused() -> None:
    with pytest.raises(ValueError, match="not contiguous"):
        ObjectLoop(MODULE, "as_words")(TEXT[::2], TEXT[::2])


@pytest.mark.full
def test_vectors_without_numba(tmp_path: Path) -> None:
    """The second time, a command does not load Numba, and writes the same bytes."""
    script = (
        "import sys; from softfloat_ref.golden.generate import generate;"
        "from softfloat_ref.golden.sets import VectorSet;"
        "generate(VectorSet.make('mul', 'bf16', 1 << 16), sys.argv[1]); print('numba' in sys.modules)"
    )
    folders = [tmp_path / "first", tmp_path / "second"]
    loaded = [
        subprocess.run(
            [sys.executable, "-c", script, folder], capture_output=True, check=True, text=True
        ).stdout.strip()
        for folder in folders
    ]
    assert loaded == ["True", "False"]
    contents = [{p.name: p.read_bytes() for p in folder.iterdir()} for folder in folders]
    assert contents[0] == contents[1]
