"""What the tests of exported C libraries share: a compiled library, and its functions as functions of arrays."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.export.library import library_files, library_policy, write_library
from softfloat_ref.export.library.policies import ROUNDING_MODES
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import parse_rounding

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wpedantic", "-Wshadow", "-Wmissing-prototypes"]
MODES = [mode.name.lower() for mode in ROUNDING_MODES]
Codes = NDArray[np.uint64]


def library_texts(formats: Sequence[str], prefix: str = "", **policy: Any) -> dict[str, str]:
    return library_files([get_format(f) for f in formats], library_policy(policy), prefix)


class CompiledLibrary:
    """A library, compiled with warnings as errors, and called for arrays of codes."""

    def __init__(self, texts: dict[str, str], folder: Path, *options: str, compiler: str = "gcc") -> None:
        self.folder = folder / "library"
        write_library(self.folder, texts)
        header = next(name for name in texts if name.endswith("softfloat.h"))
        prefix = header.removesuffix("softfloat.h")
        drivers = [line for line in texts[header].splitlines() if line.endswith(");") and "a" in line and "_t " in line]
        (folder / "drivers.c").write_text(_drivers(header, prefix, drivers))
        sources = [str(self.folder / name) for name in texts if name.endswith(".c") and not name.startswith("test_")]
        command = [compiler, *STRICT, *options, "-shared", "-fPIC", f"-I{self.folder}", *sources]
        done = subprocess.run(
            [*command, str(folder / "drivers.c"), "-o", str(folder / "library.so")],
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        self.loaded = ctypes.CDLL(str(folder / "library.so"))
        self._state = [
            ctypes.c_uint8.in_dll(self.loaded, f"{prefix}softfloat_{x}") for x in ("roundingMode", "detectTininess")
        ]

    def __call__(
        self, name: str, operands: Sequence[Any], rounding: str = "rne", tininess: str = "after", exact: bool = True
    ) -> tuple[Codes, NDArray[np.uint8]]:
        """Results and flags. The rounding and `exact` are also the arguments of functions that take them."""
        columns = [np.ascontiguousarray(x, np.uint64) for x in operands]
        columns += [columns[0]] * (3 - len(columns))
        result, flags = np.empty(columns[0].size, np.uint64), np.empty(columns[0].size, np.uint8)
        self._state[0].value = ROUNDING_MODES[parse_rounding(rounding)]
        self._state[1].value = int(tininess == "after")
        ctypes.c_int.in_dll(self.loaded, "driver_exact").value = exact
        function = getattr(self.loaded, f"many_{name}")
        function(ctypes.c_size_t(result.size), *(x.ctypes.data_as(ctypes.c_void_p) for x in (*columns, result, flags)))
        return result, flags


def _drivers(header: str, prefix: str, declarations: Sequence[str]) -> str:
    lines = [f'#include "{header}"', "extern int driver_exact;", "int driver_exact;"]
    for declaration in declarations:
        head, _, arguments = declaration.rstrip(");").partition("(")
        result, _, name = head.rpartition(" ")
        if "raiseFlags" in name or "*" in arguments:
            continue
        signature = "size_t n, const uint64_t *a, const uint64_t *b, const uint64_t *c, uint64_t *r, uint8_t *flags"
        lines += [f"void many_{name}({signature});", f"void many_{name}({signature})", "{", "    (void)b, (void)c;"]
        lines += ["    for (size_t i = 0; i < n; i++) {", f"        {prefix}softfloat_exceptionFlags = 0;"]
        call = []
        for argument in arguments.split(", "):
            kind, _, own = argument.rpartition(" ")
            if own in ("roundingMode", "exact"):
                call.append(f"{prefix}softfloat_roundingMode" if own == "roundingMode" else "driver_exact != 0")
                continue
            if kind.startswith(("int", "uint")):
                lines.append(f"        const {kind} v{own} = ({kind}){own}[i];")
            else:
                lines += [f"        {kind} v{own};", f"        v{own}.v = (__typeof__(v{own}.v)){own}[i];"]
            call.append(f"v{own}")
        value = f"{name}({', '.join(call)})"
        lines.append(f"        r[i] = {_as_code(result, value)};")
        lines += [f"        flags[i] = {prefix}softfloat_exceptionFlags;", "    }", "}"]
    return "\n".join([*lines, ""])


def _as_code(result: str, value: str) -> str:
    if result == "bool":
        return value
    if result.startswith(("int", "uint")):
        return f"(uint{32 if '32' in result else 64}_t){value}"
    return f"{value}.v"
