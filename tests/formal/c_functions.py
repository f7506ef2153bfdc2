"""Functions of exported C libraries against the oracle: what clang made of them gives its answers to all operands."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from llvmlite import binding

from softfloat_ref.base.errors import Error
from softfloat_ref.export.library import (
    LibraryPolicy,
    write_library,
)
from softfloat_ref.oracle.formats import Format
from softfloat_ref.proof.question import ALL, Counterexample, Obligation, Problem, check_reference, table_hash
from softfloat_ref.proof.solver import query_hash, solve
from softfloat_ref.symbolic.build import concat, eq, ite, make, not_, or_, zext
from softfloat_ref.symbolic.circuit import ProofCase
from softfloat_ref.symbolic.terms import Term, const, evaluator, var
from softfloat_ref.symbolic.units import circuit
from softfloat_ref.units import OperationUnit, stored

from .c_wrappers import PROVED, library_of, to_integer, wrapper
from .llvm import answers
from .llvm_source import WORD, parsed

OPTIONS: Final = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-Ilibrary")
_TIME_LIMIT_S: Final = 120.0  # for the compiler
_LOOP_LIMIT_S: Final = 20.0  # for the question whether a loop goes on
_RAISED: Final = 8  # bits of the state's flags
_INEXACT: Final = 1


def check_width(fmt: Format) -> None:
    """Raise Error for results of more than a word."""
    if fmt.width > WORD:
        raise Error(f"{fmt.name}: only results of up to {WORD} bits are proved")


def compiled(
    unit: OperationUnit, policy: LibraryPolicy, files: Mapping[str, str] | None = None, arrays: bool = False
) -> str:
    """A unit's function in LLVM's language, as clang makes it. files: of the library. Raises Error."""
    check_width(unit.out)
    with tempfile.TemporaryDirectory() as folder:
        write_library(Path(folder) / "library", dict(files or library_of(unit, policy)))
        (Path(folder) / "proved.c").write_text(wrapper(unit, policy, arrays))
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
    """A unit's function, as compiled. text: in LLVM's language. Raises Unsupported for what cannot be read.

    What it has besides the unit's inputs is free: the bits of an operand above its code, the flags that are raised
    before, and whether inexact is to be raised, where that is an argument. arrays: it is that of arrays.
    """

    unit: OperationUnit
    text: str
    assumed: str = ""
    arrays: bool = False

    def posed(self, case: ProofCase) -> Obligation:
        """The function's answer beside the oracle's."""
        return self._whole if case.name == ALL else self._posed(case)

    @cached_property
    def _whole(self) -> Obligation:
        return self._posed(self.case(ALL))

    def _posed(self, case: ProofCase) -> Obligation:
        reference = circuit(self.unit, case)
        check_reference(self, case, reference)
        words, broken = self.returned
        expected = self._words(reference.terms["result"], reference.terms["flags"])
        wrong = or_(*(not_(eq(x, zext(y, WORD))) for x, y in zip(words, expected, strict=True)), broken)
        assumed = [self.assumption, case.assumption]
        return Obligation(assumed, wrong, reference.roots, words, False, self._tried, held=case.held)

    def _words(self, code: Term, flags: Term) -> list[Term]:
        """What is left for a result of the oracle."""
        return [code, self._raised(flags), *([flags] if self.arrays else ())]

    def _raised(self, flags: Term) -> Term:
        """The state's flags after those of an operation are raised."""
        own = zext(flags, _RAISED)
        if to_integer(self.unit):
            own = ite(self.extra["exact"], own, make("and", _RAISED, own, const(~_INEXACT, _RAISED)))
        return make("or", _RAISED, self.extra["raised"], own)

    @cached_property
    def extra(self) -> dict[str, Term]:
        """What else the function's result may rest on."""
        above = {f"bits above {f.name}": WORD - f.width for f in self.unit.inputs if f.width < WORD}
        return {name: var(name, width) for name, width in {**above, "raised": _RAISED, "exact": 1}.items()}

    @cached_property
    def arguments(self) -> list[Term]:
        """Of the wrapper."""
        codes = [(var(f.name, f.width), self.extra.get(f"bits above {f.name}")) for f in self.unit.inputs]
        operands = [code if above is None else concat(above, code) for code, above in codes]
        return [*operands, *(zext(self.extra[name], WORD) for name in ("raised", "exact"))]

    def _named(self, inputs: Sequence[int], others: Mapping[str, int]) -> dict[str, int]:
        return {**others, **{f.name: x for f, x in zip(self.unit.inputs, inputs, strict=True)}}

    def values(self, inputs: Sequence[int], others: Mapping[str, int]) -> list[int]:
        """Of the wrapper's arguments."""
        return evaluator(self.arguments)(self._named(inputs, others))

    @cached_property
    def returned(self) -> tuple[list[Term], Term]:
        """Code and flags, and where C does not define what is done, as terms."""
        (cells,), broken = answers(parsed(self.text, PROVED), 2 + self.arrays, *self.arguments, possible=_possible)
        return cells, broken

    def _tried(self, model: Mapping[str, int]) -> Counterexample | None:
        """A solver's model on the function itself and the oracle; None if they agree."""
        inputs = tuple(model.get(f.name, 0) for f in self.unit.inputs)
        others = {name: model.get(name, 0) for name in self.extra}
        names = self._named(inputs, others)
        code, flags = (const(int(x), f.width) for x, f in zip(self.unit.answer(inputs), self.unit.outputs, strict=True))
        expected = tuple(evaluator(self._words(code, flags))(names))
        *terms, broken = evaluator([*self.returned[0], self.returned[1]])(names)
        if broken:
            return Counterexample(inputs, expected, tuple(terms), others, said="what it does is undefined in C")
        got = run(self.text, self.values(inputs, others), len(expected))
        return None if got == expected else Counterexample(inputs, expected, got, others)

    @cached_property
    def question(self) -> str:
        """SHA-256 of what is asked about all inputs, both sides of it."""
        return query_hash([*self._whole.assumed, self._whole.wrong])

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the definition, with the compiled function."""
        return table_hash(
            {"llvm": self.text, "unit": stored(self.unit), "assumed": self.assumed, "arrays": self.arrays}
        )


def _possible(conditions: Sequence[Term]) -> bool:
    return solve(conditions, _LOOP_LIMIT_S).result != "unsat"


def run(text: str, arguments: list[int], count: int = 2) -> tuple[int, ...]:
    """The words that a compiled function leaves on this machine: code, flags, and of an array, those of the element."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(opt=0)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(text), machine)
    engine.finalize_object()
    answer = (ctypes.c_uint64 * count)()
    kinds: list[Any] = [ctypes.c_uint64] * len(arguments)
    call = ctypes.CFUNCTYPE(None, *kinds, ctypes.c_void_p)
    call(engine.get_function_address(PROVED))(*arguments, ctypes.addressof(answer))
    return tuple(answer)
