"""What the tests of exported C libraries share: a compiled library, and its functions as functions of arrays."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.export.library import library_files, library_policy, write_library
from softfloat_ref.export.library.policies import ROUNDING_MODES
from softfloat_ref.oracle.accumulate import get_accumulator
from softfloat_ref.oracle.blocks.formats import any_format
from softfloat_ref.oracle.policies import parse_rounding

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wpedantic", "-Wshadow", "-Wmissing-prototypes"]
MODES = [mode.name.lower() for mode in ROUNDING_MODES]
Codes = NDArray[np.uint64]


def library_texts(formats: Sequence[str], prefix: str = "", acc: str = "", **policy: Any) -> dict[str, str]:
    units = [get_accumulator(x) for x in acc.split(",") if x]
    return library_files([any_format(f) for f in formats], library_policy(policy), prefix, accumulators=units)


class CompiledLibrary:
    """A library, compiled with warnings as errors, and called for arrays of codes."""

    def __init__(self, texts: dict[str, str], folder: Path, *options: str, compiler: str = "gcc") -> None:
        self.folder = folder / "library"
        write_library(self.folder, texts)
        header = next(name for name in texts if name.endswith("softfloat.h"))
        prefix = header.removesuffix("softfloat.h")
        declared = re.findall(r"^(?!.*raiseFlags)\w[^;{}#]*\);", texts[header], re.M)
        drivers = [" ".join(declaration.split()) for declaration in declared]
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

    def __contains__(self, name: str) -> bool:
        return hasattr(self.loaded, f"many_{name}")

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


_DRIVER = "size_t n, const uint64_t *a, const uint64_t *b, const uint64_t *c, uint64_t *r, uint8_t *flags"


def _drivers(header: str, prefix: str, declarations: Sequence[str]) -> str:
    """A function many_NAME of arrays of codes for each function, and for each function of arrays."""
    lines = [f'#include "{header}"', "extern int driver_exact;", "int driver_exact;"]
    for declaration in declarations:
        head, _, arguments = declaration.rstrip(");").partition("(")
        result, _, name = head.rpartition(" ")
        pairs = [x.rpartition(" ")[::2] for x in arguments.split(", ")]
        lines += [f"void many_{name}({_DRIVER});", f"void many_{name}({_DRIVER})", "{", "    (void)b, (void)c;"]
        lines += [*(_of_arrays(name, pairs) if "*" in arguments else _of_values(name, result, pairs, prefix)), "}"]
    return "\n".join([*lines, ""])


def _of_values(name: str, result: str, arguments: Sequence[tuple[str, str]], prefix: str) -> Iterator[str]:
    yield from ("    for (size_t i = 0; i < n; i++) {", f"        {prefix}softfloat_exceptionFlags = 0;")
    for kind, own in arguments:
        if kind.startswith(("int", "uint")) and len(own) == 1:
            yield f"        const {kind} v{own} = ({kind}){own}[i];"
        elif len(own) == 1:
            yield from (f"        {kind} v{own};", f"        v{own}.v = (__typeof__(v{own}.v)){own}[i];")
    others = {"roundingMode": f"{prefix}softfloat_roundingMode", "exact": "driver_exact != 0"}
    value = f"{name}({', '.join(others.get(own, f'v{own}') for _, own in arguments)})"
    yield f"        r[i] = {_as_code(result, value)};"
    yield from (f"        flags[i] = {prefix}softfloat_exceptionFlags;", "    }")


def _of_arrays(name: str, arguments: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield "    for (size_t m; n > 0; n -= m, a += m, b += m, c += m, r += m, flags += m) {"
    yield "        m = n < 1000 ? n : 1000;"
    values = [(kind.removeprefix("const "), own[1]) for kind, own in arguments if len(own) == 2]
    for kind, own in values:
        yield f"        {kind} v{own}[1000];"
    for _, own in values[:-1]:
        yield f"        for (size_t i = 0; i < m; i++) v{own}[i].v = (__typeof__(v{own}[i].v)){own}[i];"
    yield f"        {name}(m, {', '.join(f'v{own}' for _, own in values)}, flags);"
    yield from ("        for (size_t i = 0; i < m; i++) r[i] = vz[i].v;", "    }")


def _as_code(result: str, value: str) -> str:
    if result == "bool":
        return value
    if result.startswith(("int", "uint")):
        return f"(uint{32 if '32' in result else 64}_t){value}"
    return f"{value}.v"
