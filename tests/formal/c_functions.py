"""Functions of exported C libraries against the oracle: what clang made of them gives its answers to all operands."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from llvmlite import binding

from softfloat_ref.base.assignments import parse_named
from softfloat_ref.base.errors import Error
from softfloat_ref.export.library import (
    SPECIALIZATIONS,
    LibraryPolicy,
    library_files,
    library_policy,
    specialization,
    write_library,
)
from softfloat_ref.export.library.constants import INTEGERS as C_INTEGERS
from softfloat_ref.export.library.constants import LibraryFormat
from softfloat_ref.export.library.functions import Function, FunctionWriter
from softfloat_ref.export.library.policies import ROUNDING_MODES
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy, Tininess
from softfloat_ref.proof.question import Counterexample, Obligation, Problem, check_reference, table_hash
from softfloat_ref.symbolic.build import concat, eq, ite, make, not_, or_, zext
from softfloat_ref.symbolic.circuit import ProofCase
from softfloat_ref.symbolic.terms import Term, const, evaluator, var
from softfloat_ref.symbolic.units import circuit
from softfloat_ref.units import OperationUnit, stored

from .llvm import answers
from .llvm_source import WORD, parsed

OPERATIONS: Final = {  # and what ends the names of their functions
    "add": "add", "sub": "sub", "mul": "mul", "div": "div", "sqrt": "sqrt", "fma": "mulAdd", "rem": "rem",
    "round_to_integral": "roundToInt", "round_to_integral_exact": "roundToInt",
    **{name: name for name in ("eq", "le", "lt", "eq_signaling", "le_quiet", "lt_quiet")},
}  # fmt: skip
OPTIONS: Final = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-Ilibrary")
INTEGERS: Final = {f"{'i' if signed else 'u'}{width}": name for name, (width, signed) in C_INTEGERS.items()}
_TIME_LIMIT_S: Final = 120.0  # for the compiler
_PROVED: Final = "proved"  # the wrapper's name
_RAISED: Final = 8  # bits of the state's flags
_INEXACT: Final = 1
# Nothing but the wrapper writes the state before; a rounding that is an argument is not there.
_WRAPPER: Final = """\
#include "core_library.h"
#include "softfloat_state.c"

{definition}

void {name}({parameters});
void {name}({parameters})
{{
    {operands}
    {state}
    softfloat_exceptionFlags = (uint_fast8_t)raised;
    answer[0] = ({code}){call};
    answer[1] = softfloat_exceptionFlags;
    (void)exact;
}}
"""


def c_policy(text: str) -> LibraryPolicy:
    """The policy of a library: a specialization of SoftFloat's, or NAME,field=value,... Raises Error."""
    if text in SPECIALIZATIONS:
        return specialization(text)
    name, own = parse_named(text, "policy", [f.name for f in fields(Policy)])
    return library_policy({"like": name, **own} if name != "ieee" or own else {})


def library_of(unit: OperationUnit, policy: LibraryPolicy) -> dict[str, str]:
    """The files of a library that has a unit's function."""
    return library_files([f.fmt for f in _formats(unit)], policy)


def _formats(unit: OperationUnit) -> list[LibraryFormat]:
    """That of the function's name first."""
    own = dict.fromkeys(f for f in (unit.formats[0], unit.out) if not f.is_integer)
    return [LibraryFormat(fmt) for fmt in own]


def to_integer(unit: OperationUnit) -> bool:
    """Whether it is a conversion to an integer, which raises inexact only if an argument says so."""
    return unit.op == "convert" and unit.out.is_integer


def more_arguments(unit: OperationUnit) -> tuple[str, ...]:
    """Those after the operands: the rounding, and whether inexact is raised. Without them, the state says how to
    round."""
    if to_integer(unit):
        return str(ROUNDING_MODES[unit.policy.rounding]), "exact != 0"
    if unit.op.startswith("round_to_integral"):
        return str(ROUNDING_MODES[unit.policy.rounding]), str(unit.op.endswith("exact")).lower()
    return ()


def library_function(unit: OperationUnit, policy: LibraryPolicy) -> Function:
    """A unit's function."""
    formats = _formats(unit)
    functions = FunctionWriter(formats[0], formats, policy, "").functions()
    if unit.op == "convert":
        name = "_to_".join(INTEGERS.get(f.name) or LibraryFormat(f).name for f in (unit.formats[0], unit.out))
    else:
        name = f"{formats[0].name}_{OPERATIONS[unit.op]}"
    return next(f for f in functions if f.name == name)


def wrapper(unit: OperationUnit, policy: LibraryPolicy) -> str:
    """A function that calls the library's in the unit's rounding, and leaves its result and the flags of the state."""
    function, names = library_function(unit, policy), [f.name for f in unit.inputs]
    state = [f"softfloat_detectTininess = {int(unit.policy.tininess == Tininess.AFTER)};"]
    more = more_arguments(unit)
    if not more:
        state.append(f"softfloat_roundingMode = {ROUNDING_MODES[unit.policy.rounding]};")
    call = f"{function.name}({', '.join([*names, *more])}){'.v' if function.result.endswith('_t') else ''}"
    is_float = not unit.out.is_integer
    return _WRAPPER.format(
        name=_PROVED,
        definition=function.definition,
        parameters=", ".join(f"uint64_t {x}" for x in (*(f"{n}_code" for n in names), "raised", "exact"))
        + ", uint64_t *answer",
        operands="\n    ".join(_operands(unit, function)),
        state="\n    ".join(state),
        code="uint64_t" if is_float or unit.out.width == 1 else f"uint{unit.out.width}_t",
        call=call if is_float else call.removesuffix(".v"),
    )


def _operands(unit: OperationUnit, function: Function) -> Iterator[str]:
    kinds = [x.split()[0] for x in function.arguments.split(", ")]
    for kind, field, fmt in zip(kinds, unit.inputs, unit.formats, strict=False):
        if fmt.is_integer:
            yield f"const {kind} {field.name} = ({kind}){field.name}_code;"
        else:
            yield f"const {kind} {field.name} = {{(uint{LibraryFormat(fmt).storage}_t){field.name}_code}};"


def check_width(fmt: Format) -> None:
    """Raise Error for results of more than a word."""
    if fmt.width > WORD:
        raise Error(f"{fmt.name}: only results of up to {WORD} bits are proved")


def compiled(unit: OperationUnit, policy: LibraryPolicy, files: Mapping[str, str] | None = None) -> str:
    """A unit's function in LLVM's language, as clang makes it. files: of the library. Raises Error."""
    check_width(unit.out)
    with tempfile.TemporaryDirectory() as folder:
        write_library(Path(folder) / "library", dict(files or library_of(unit, policy)))
        (Path(folder) / "proved.c").write_text(wrapper(unit, policy))
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
    before, and whether inexact is to be raised, where that is an argument.
    """

    unit: OperationUnit
    text: str
    assumed: str = ""

    def posed(self, case: ProofCase) -> Obligation:
        """The function's answer beside the oracle's."""
        reference = circuit(self.unit, case)
        check_reference(self, case, reference)
        (code, flags), broken = self.returned
        result, raised = (reference.terms[name] for name in ("result", "flags"))
        wrong = or_(not_(eq(code, zext(result, WORD))), not_(eq(flags, zext(self._raised(raised), WORD))), broken)
        assumed = [self.assumption, case.assumption]
        return Obligation(assumed, wrong, reference.roots, [code, flags], False, self._tried, held=case.held)

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
        (cells,), broken = answers(parsed(self.text, _PROVED), 2, *self.arguments)
        return cells, broken

    def _tried(self, model: Mapping[str, int]) -> Counterexample | None:
        """A solver's model on the function itself and the oracle; None if they agree."""
        inputs = tuple(model.get(f.name, 0) for f in self.unit.inputs)
        others = {name: model.get(name, 0) for name in self.extra}
        names = self._named(inputs, others)
        code, flags = (int(x) for x in self.unit.answer(inputs))
        expected = code, evaluator([self._raised(const(flags, 5))])(names)[0]
        *terms, broken = evaluator([*self.returned[0], self.returned[1]])(names)
        if broken:
            return Counterexample(inputs, expected, tuple(terms), others, said="what it does is undefined in C")
        got = run(self.text, self.values(inputs, others))
        return None if got == expected else Counterexample(inputs, expected, got, others)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the definition, with the compiled function."""
        return table_hash({"llvm": self.text, "unit": stored(self.unit), "assumed": self.assumed})


def run(text: str, arguments: list[int]) -> tuple[int, ...]:
    """The code and the flags that a compiled function leaves on this machine."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(opt=0)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(text), machine)
    engine.finalize_object()
    answer = (ctypes.c_uint64 * 2)()
    kinds: list[Any] = [ctypes.c_uint64] * len(arguments)
    call = ctypes.CFUNCTYPE(None, *kinds, ctypes.c_void_p)
    call(engine.get_function_address(_PROVED))(*arguments, ctypes.addressof(answer))
    return tuple(answer)
