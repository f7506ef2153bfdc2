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


def library_texts(
    formats: Sequence[str], prefix: str = "", acc: str = "", tables: bool = False, **policy: Any
) -> dict[str, str]:
    units = [get_accumulator(x) for x in acc.split(",") if x]
    own = library_policy(policy)
    return library_files([any_format(f) for f in formats], own, prefix, accumulators=units, tables=tables)


class CompiledLibrary:
    """A library, compiled with warnings as errors, and called for arrays of codes."""

    def __init__(self, texts: dict[str, str], folder: Path, *options: str, compiler: str = "gcc") -> None:
        self.folder = folder / "library"
        write_library(self.folder, texts)
        header = next(name for name in texts if name.endswith("softfloat.h"))
        prefix = header.removesuffix("softfloat.h")
        units = f"{prefix}softfloat_units.h"
        declared = re.findall(r"^(?!.*raiseFlags)\w[^;{}#]*\);", texts[header], re.M)
        declared += re.findall(r"^\w[^;{}#*]*\);", texts.get(units, ""), re.M)  # of values
        header = units if units in texts else header
        self._drivers = Drivers([" ".join(declaration.split()) for declaration in declared], prefix, texts)
        (folder / "drivers.c").write_text(self._drivers.text(header))
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
        self.prefix = prefix

    def set(self, name: str, value: int) -> None:
        """A variable of the state, or of the drivers."""
        ctypes.c_uint8.in_dll(self.loaded, f"{self.prefix}{name}").value = value

    def set_random(self, bits: Codes) -> None:
        """The random bits of the next calls' values."""
        self._random = np.ascontiguousarray(bits, np.uint64)
        ctypes.c_void_p.in_dll(self.loaded, "driver_bits").value = self._random.ctypes.data

    def __contains__(self, name: str) -> bool:
        return hasattr(self.loaded, f"many_{name}")

    def __call__(
        self, name: str, operands: Sequence[Any], rounding: str = "rne", tininess: str = "after", exact: bool = True
    ) -> tuple[Codes, NDArray[np.uint8]]:
        """Results and flags. The rounding and `exact` are also the arguments of functions that take them."""
        count = len(operands[0])
        columns = [self._words(x, two) for x, two in zip(operands, self._drivers.operands[name], strict=True)]
        columns += [columns[0]] * (3 - len(columns))
        two = self._drivers.results[name]
        result, flags = np.empty(count << two, np.uint64), np.empty(count, np.uint8)
        self.set("softfloat_roundingMode", ROUNDING_MODES[parse_rounding(rounding)])
        self.set("softfloat_detectTininess", int(tininess == "after"))
        ctypes.c_int.in_dll(self.loaded, "driver_exact").value = exact
        function = getattr(self.loaded, f"many_{name}")
        function(ctypes.c_size_t(count), *(x.ctypes.data_as(ctypes.c_void_p) for x in (*columns, result, flags)))
        if two:
            return np.array([int(x) | int(y) << 64 for x, y in result.reshape(-1, 2)], object), flags
        return result, flags

    def _words(self, codes: Any, two: bool) -> Codes:
        """The codes, of two words each where the format has so many: the low one first."""
        if not two:
            return np.ascontiguousarray(codes, np.uint64)
        mask = (1 << 64) - 1
        return np.array([[int(x) & mask, int(x) >> 64] for x in codes], np.uint64).ravel()


_DRIVER = "size_t n, const uint64_t *a, const uint64_t *b, const uint64_t *c, uint64_t *r, uint8_t *flags"


class Drivers:
    """A function many_NAME of arrays of codes for each function, and for each function of arrays. operands, results:
    which of them have two words, by name."""

    def __init__(self, declarations: Sequence[str], prefix: str, texts: dict[str, str]) -> None:
        self.prefix, self.declarations = prefix, declarations
        types = re.findall(r"^typedef (?!.* v; ).* (\w+);", texts[f"{prefix}softfloat_types.h"], re.M)
        self.two = set(types)
        self.operands: dict[str, list[bool]] = {}
        self.results: dict[str, bool] = {}

    def text(self, header: str) -> str:
        lines = [f'#include "{header}"', *_VARIABLES]
        for declaration in self.declarations:
            head, _, arguments = declaration.rstrip(");").partition("(")
            result, _, name = head.rpartition(" ")
            pairs = [self._argument(x) for x in arguments.split(", ")]
            lines += [f"void many_{name}({_DRIVER});", f"void many_{name}({_DRIVER})", "{", "    (void)b, (void)c;"]
            operands = [kind in self.two for kind, own, _ in pairs if len(own) == 1 and own not in "nz"]
            output = pairs[-1][0] if result == "void" and len(pairs[-1][1]) == 1 else result
            output = next((kind for kind, own, _ in pairs if own == "z"), output)
            self.operands[name], self.results[name] = operands, output in self.two
            is_of_arrays = arguments.startswith("size_t n, ")
            lines += [*(self._of_arrays(name, pairs) if is_of_arrays else self._of_values(name, result, pairs)), "}"]
        return "\n".join([*lines, ""])

    def _argument(self, text: str) -> tuple[str, str, bool]:
        """The type, the name, whether it is a pointer."""
        kind, _, name = text.rpartition(" ")
        return kind.removeprefix("const "), name.lstrip("*"), name.startswith("*")

    def _get(self, kind: str, variable: str, name: str, i: str) -> str:
        if kind not in self.two:
            return f"{variable}.v = (__typeof__({variable}.v)){name}[{i}];"
        if "ext" in kind:
            return f"{variable}.signif = {name}[2 * {i}], {variable}.signExp = (uint16_t){name}[2 * {i} + 1];"
        return f"{variable}.v[LOW] = {name}[2 * {i}], {variable}.v[1 - LOW] = {name}[2 * {i} + 1];"

    def _put(self, kind: str, variable: str, i: str) -> str:
        if kind in self.two:
            parts = (f"{variable}.signif", f"{variable}.signExp")
            if "ext" not in kind:
                parts = (f"{variable}.v[LOW]", f"{variable}.v[1 - LOW]")
            return f"r[2 * {i}] = {parts[0]}, r[2 * {i} + 1] = {parts[1]};"
        if kind == "bool":
            return f"r[{i}] = {variable};"
        if kind.startswith(("int", "uint")):
            return f"r[{i}] = (uint{32 if '32' in kind else 64}_t){variable};"
        return f"r[{i}] = {variable}.v;"

    def _of_values(self, name: str, result: str, arguments: Sequence[tuple[str, str, bool]]) -> Iterator[str]:
        yield from ("    for (size_t i = 0; i < n; i++) {", f"        {self.prefix}softfloat_exceptionFlags = 0;")
        for kind, own, _ in arguments:
            if own == "state":
                fields = [f"{self.prefix}softfloat_roundingMode", f"{self.prefix}softfloat_detectTininess", "0"]
                fields += [f"{self.prefix}extF80_roundingPrecision"] * any("ext" in kind for kind in self.two)
                yield f"        {kind} vstate = {{{', '.join(fields)}}};"
            elif kind.startswith(("int", "uint")) and len(own) == 1:
                yield f"        const {kind} v{own} = ({kind}){own}[i];"
            elif len(own) == 1:
                yield f"        {kind} v{own};"
                if own != "z":
                    yield f"        {self._get(kind, f'v{own}', own, 'i')}"
        others = {"roundingMode": f"{self.prefix}softfloat_roundingMode", "exact": "driver_exact != 0"}
        others["bits"] = "driver_bits[i]"
        values = [others.get(own, f"{'&' * pointer}v{own}") for _, own, pointer in arguments]
        call = f"{name}({', '.join(values)})"
        if result == "void":
            yield f"        {call};"
            result = arguments[-1][0]
        else:
            yield f"        const {result} vz = {call};"
        yield f"        {self._put(result, 'vz', 'i')}"
        raised = f"{self.prefix}softfloat_exceptionFlags"
        if any(own == "state" for _, own, _ in arguments):
            raised = f"(uint8_t)(vstate.exceptionFlags | ({raised} ? 0x80 : 0))"  # the global ones stay
        yield from (f"        flags[i] = {raised};", "    }")

    def _of_arrays(self, name: str, arguments: Sequence[tuple[str, str, bool]]) -> Iterator[str]:
        values = [(kind, own) for kind, own, pointer in arguments if pointer and own not in ("flags", "bits")]
        bits = any(own == "bits" for _, own, _ in arguments)
        steps = [f"{own} += {'2 * ' * (kind in self.two)}m" for kind, own in values[:-1]]
        steps += [f"r += {'2 * ' * (values[-1][0] in self.two)}m", "flags += m"]
        if bits:
            yield "    const uint64_t *bits = driver_bits;"
            steps.append("bits += m")
        yield f"    for (size_t m; n > 0; n -= m, {', '.join(steps)}) {{"
        yield "        m = n < 1000 ? n : 1000;"
        for kind, own in values:
            yield f"        {kind} v{own}[1000];"
        for kind, own in values[:-1]:
            yield f"        for (size_t i = 0; i < m; i++) {{ {self._get(kind, f'v{own}[i]', own, 'i')} }}"
        operands = [*(f"v{own}" for _, own in values[:-1]), *["bits"] * bits]
        yield f"        {name}(m, {', '.join([*operands, 'vz'])}, flags);"
        yield f"        for (size_t i = 0; i < m; i++) {{ {self._put(values[-1][0], 'vz[i]', 'i')} }}"
        yield "    }"


_VARIABLES = [
    "extern int driver_exact;",
    "int driver_exact;",
    "extern const uint64_t *driver_bits;",
    "const uint64_t *driver_bits;",
    "#define LOW (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)",
]
