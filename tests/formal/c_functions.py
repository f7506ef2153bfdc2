"""Functions of exported C libraries against the oracle: what clang made of them gives its answers to all operands."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from llvmlite import binding

from softfloat_ref.base.errors import Error
from softfloat_ref.export.library import library_files, library_policy, write_library
from softfloat_ref.export.library.constants import LibraryFormat
from softfloat_ref.export.library.functions import Function, FunctionWriter
from softfloat_ref.export.library.policies import ROUNDING_MODES
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Tininess
from softfloat_ref.proof.question import Counterexample, Obligation, Problem, check_reference, table_hash
from softfloat_ref.symbolic.build import concat, eq, not_, or_, zext
from softfloat_ref.symbolic.circuit import ProofCase
from softfloat_ref.symbolic.terms import Term, evaluator, var
from softfloat_ref.symbolic.units import circuit
from softfloat_ref.units import OperationUnit, stored

from .llvm import value
from .llvm_source import parsed

NAMES: Final = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "sqrt": "sqrt", "fma": "mulAdd"}  # in C
OPERATIONS: Final = (*NAMES, "convert")
OPTIONS: Final = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-Ilibrary")
_POLICY: Final = library_policy()  # rounding and tininess are the library's state
_MAX_WIDTH: Final = 32  # of a result: code and flags are returned as one integer of 64 bits
_TIME_LIMIT_S: Final = 120.0  # for the compiler
_PROVED: Final = "proved"  # the wrapper's name
_WRAPPER: Final = """\
#include "core_library.h"

uint64_t {name}({parameters});
uint64_t {name}({parameters})
{{
    {operands}
    const core_mode mode = {{{rounding}, {before}}};
    const core_result_{word} r = {call};
    (void)mode;
    return (uint64_t)({code})r.code | (uint64_t)r.flags << 32;
}}
"""


def library_of(unit: OperationUnit) -> dict[str, str]:
    """The files of a library that has a unit's function."""
    return library_files([f.fmt for f in _formats(unit)], _POLICY)


def _formats(unit: OperationUnit) -> list[LibraryFormat]:
    return [LibraryFormat(fmt) for fmt in dict.fromkeys((unit.formats[0], unit.out))]


def wrapper(unit: OperationUnit) -> str:
    """A function that returns code and flags: the library's own call of the core, in the unit's rounding."""
    formats = _formats(unit)
    functions = FunctionWriter(formats[0], formats, _POLICY, "").functions()
    operation = unit.signature.operation.name
    last = f"to_{formats[-1].name}" if operation == "convert" else NAMES[operation]
    function: Function = next(f for f in functions if f.name == f"{formats[0].name}_{last}")
    word, code, call = function.rounded.split(", ", 2)
    operands = [x.split() for x in function.arguments.split(", ")]
    storage = formats[0].storage
    return _WRAPPER.format(
        name=_PROVED,
        parameters=", ".join(f"uint64_t {name}_code" for _, name in operands),
        operands="\n    ".join(f"const {kind} {name} = {{(uint{storage}_t){name}_code}};" for kind, name in operands),
        rounding=ROUNDING_MODES[unit.policy.rounding],
        before=int(unit.policy.tininess == Tininess.BEFORE),
        word=word,
        code=code,
        call=call,
    )


def check_width(fmt: Format) -> None:
    """Raise Error for results that do not fit beside their flags."""
    if fmt.width > _MAX_WIDTH:
        raise Error(f"{fmt.name}: only results of up to {_MAX_WIDTH} bits are proved")


def compiled(unit: OperationUnit, files: Mapping[str, str] | None = None) -> str:
    """A unit's function in LLVM's language, as clang makes it. files: of the library. Raises Error."""
    check_width(unit.out)
    with tempfile.TemporaryDirectory() as folder:
        write_library(Path(folder) / "library", dict(files or library_of(unit)))
        (Path(folder) / "proved.c").write_text(wrapper(unit))
        _clang(*OPTIONS, "-c", "-emit-llvm", "proved.c", "-o", "proved.bc", folder=folder)
        return str(binding.parse_bitcode((Path(folder) / "proved.bc").read_bytes()))


def compiler() -> str:
    """The first line of clang's version. Raises Error."""
    return _clang("--version").splitlines()[0]


def _clang(*arguments: str, folder: str | None = None) -> str:
    clang = shutil.which("clang")
    if clang is None:
        raise Error("clang is not installed (apt-get install clang)")
    command = [clang, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=_TIME_LIMIT_S)
    if done.returncode:
        raise Error(f"clang: {done.stderr.strip()[:400]}")
    return done.stdout


@dataclass(frozen=True)
class CFunction(Problem):
    """A unit's function, as compiled. text: in LLVM's language. Raises Unsupported for what cannot be read."""

    unit: OperationUnit
    text: str
    assumed: str = ""

    def posed(self, case: ProofCase) -> Obligation:
        """The function's answer beside the oracle's."""
        reference = circuit(self.unit, case)
        check_reference(self, case, reference)
        returned, broken = self.returned
        code, flags = (zext(reference.terms[name], 32) for name in ("result", "flags"))
        wrong = or_(broken, not_(eq(returned, concat(flags, code))))
        assumed = [self.assumption, case.assumption]
        return Obligation(assumed, wrong, reference.roots, [returned], False, self._tried, held=case.held)

    @cached_property
    def returned(self) -> tuple[Term, Term]:
        """What is returned, and where C does not define what is done, as terms of the unit's inputs."""
        operands = [zext(var(f.name, f.width), 64) for f in self.unit.inputs]
        return value(parsed(self.text, _PROVED), *operands)

    def _tried(self, model: Mapping[str, int]) -> Counterexample | None:
        """A solver's model on the function itself and the oracle; None if they agree."""
        inputs = tuple(model.get(f.name, 0) for f in self.unit.inputs)
        expected = tuple(int(x) for x in self.unit.answer(inputs))
        names = {f.name: x for f, x in zip(self.unit.inputs, inputs, strict=True)}
        terms, broken = evaluator(list(self.returned))(names)
        if broken:
            return Counterexample(inputs, expected, _parts(terms), said="what it does is undefined in C")
        got = run(self.text, inputs)
        return None if got == expected else Counterexample(inputs, expected, got)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the definition, with the compiled function."""
        return table_hash({"llvm": self.text, "unit": stored(self.unit), "assumed": self.assumed})


def run(text: str, inputs: tuple[int, ...]) -> tuple[int, int]:
    """The code and the flags that a compiled function returns on this machine."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(opt=0)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(text), machine)
    engine.finalize_object()
    call = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * len(inputs))(engine.get_function_address(_PROVED))
    return _parts(int(call(*inputs)))


def _parts(returned: int) -> tuple[int, int]:
    return returned & 0xFFFFFFFF, returned >> 32
