"""Units as compiled C: shared libraries of the C library's functions, kept in the folder of the cache.

A library is made once for each unit, compiler and version of the sources. It is used only after its answers to directed
and random cases were those of the oracle.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from softfloat_ref.base import disk_cache
from softfloat_ref.base.disk_cache import CacheKey
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import sha256
from softfloat_ref.export.c import c_text
from softfloat_ref.export.core_functions import core_function
from softfloat_ref.golden.sets import of_unit
from softfloat_ref.units import Unit

NAME: Final = "unit"  # void unit(uint64_t a, ..., uint64_t *result, uint64_t *flags), and unit_array
_COMPILERS: Final = ("cc", "gcc", "clang")
_OPTIONS: Final = ("-std=c99", "-O2", "-shared", "-fPIC")
_CASES: Final = 500
_TIME_LIMIT_S: Final = 60


@lru_cache(maxsize=256)
def unit_library(unit: Unit) -> Path:
    """The shared library of a unit. Raises Error, with the reason, where there is none."""
    function = core_function(unit, NAME, "")
    if function is None:
        raise Error("the C library does not have it")
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        raise Error("no C compiler is installed")
    text = c_text([function])
    file = disk_cache.path_for(CacheKey(__name__, text), _identity(compiler), _OPTIONS)
    if file is None:
        raise Error(f"there is no cache ({disk_cache.VARIABLE})")
    library = file.with_suffix(".so")
    digest = _digest(library)
    if digest is None or disk_cache.load(file) != digest:
        _make(unit, text, compiler, library)
        disk_cache.store(file, _digest(library))
    return library


def _identity(compiler: str) -> list[object]:
    """What changes with the compiler's version."""
    path = os.path.realpath(compiler)
    status = os.stat(path)
    return [path, status.st_size, status.st_mtime_ns]


def _digest(library: Path) -> str | None:
    """Of a library of this user's; None if there is none."""
    with suppress(OSError, Error):
        if library.stat().st_uid == os.geteuid():
            return sha256(library).hexdigest()
    return None


def _make(unit: Unit, text: str, compiler: str, library: Path) -> None:
    """Compile, compare with the oracle, and put in place. Raises Error."""
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent, prefix=".c.", ignore_cleanup_errors=True) as folder:
            source, built = Path(folder, f"{NAME}.c"), Path(folder, f"{NAME}.so")
            source.write_text(text, encoding="ascii")
            command = [compiler, *_OPTIONS, str(source), "-o", str(built)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIME_LIMIT_S, check=False)
            if done.returncode != 0:
                raise Error(f"{compiler} failed: {(done.stderr.splitlines() or ['no message'])[0][:200]}")
            _compare(unit, built)
            built.replace(library)
    except subprocess.TimeoutExpired:
        raise Error(f"{compiler} took longer than {_TIME_LIMIT_S} s") from None
    except OSError as e:
        raise Error(f"{library.parent}: {e.strerror or e}") from None


def _compare(unit: Unit, library: Path) -> None:
    lines = np.array(list(of_unit(unit, _CASES).lines()), np.uint64)
    arity = len(unit.inputs)
    outputs = answers(library, lines[:, :arity])
    wrong = np.flatnonzero((outputs != lines[:, arity:]).any(axis=1))
    if wrong.size:
        codes = " ".join(f"{x:x}" for x in lines[wrong[0]].tolist())
        raise Error(f"compiled, it is wrong ({codes}); report this, with the name and version of your C compiler")


def answers(library: Path, inputs: np.ndarray) -> np.ndarray:
    """Results and flags, a row a case."""
    columns = np.ascontiguousarray(inputs.T)
    result, flags = np.empty(len(inputs), np.uint64), np.empty(len(inputs), np.uint8)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*columns, result, flags)]
    getattr(ctypes.CDLL(str(library)), f"{NAME}_array")(ctypes.c_size_t(len(inputs)), *pointers)
    return np.stack([result, flags.astype(np.uint64)], axis=1)
