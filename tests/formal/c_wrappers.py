"""Functions of exported C libraries in C: what calls one with the state set, and leaves its result and flags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from softfloat_ref.base.assignments import parse_named
from softfloat_ref.export.library import SPECIALIZATIONS, LibraryPolicy, library_files, library_policy, specialization
from softfloat_ref.export.library.arrays import array_functions
from softfloat_ref.export.library.constants import INTEGERS as C_INTEGERS
from softfloat_ref.export.library.constants import LibraryFormat
from softfloat_ref.export.library.functions import Function, FunctionWriter
from softfloat_ref.export.library.policies import ROUNDING_MODES
from softfloat_ref.oracle.policies import Policy, Tininess
from softfloat_ref.units import OperationUnit

OPERATIONS: Final = {  # and what ends the names of their functions
    "add": "add", "sub": "sub", "mul": "mul", "div": "div", "sqrt": "sqrt", "fma": "mulAdd", "rem": "rem",
    "round_to_integral": "roundToInt", "round_to_integral_exact": "roundToInt",
    **{name: name for name in ("eq", "le", "lt", "eq_signaling", "le_quiet", "lt_quiet")},
}  # fmt: skip
INTEGERS: Final = {f"{'i' if signed else 'u'}{width}": name for name, (width, signed) in C_INTEGERS.items()}
PROVED: Final = "proved"  # the wrapper's name
# Nothing but the wrapper writes the state before; a rounding that is an argument is not there.
_INCLUDED: Final = '#include "core_library.h"\n#include "softfloat_state.c"\n\n'
_WRAPPER: Final = """\
{includes}{definition}

void {name}({parameters});
void {name}({parameters})
{{
    {operands}
    {state}
    softfloat_exceptionFlags = (uint_fast8_t)raised;
    {call}
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


def library_function(unit: OperationUnit, policy: LibraryPolicy, arrays: bool = False) -> Function:
    """A unit's function. arrays: that of arrays."""
    formats = _formats(unit)
    functions = list(FunctionWriter(formats[0], formats, policy, "").functions())
    if unit.op == "convert":
        name = "_to_".join(INTEGERS.get(f.name) or LibraryFormat(f).name for f in (unit.formats[0], unit.out))
    else:
        name = f"{formats[0].name}_{OPERATIONS[unit.op]}"
    functions += array_functions(formats[0], functions, "")
    return next(f for f in functions if f.name == (f"{name}_n" if arrays else name))


def definition(unit: OperationUnit, policy: LibraryPolicy, arrays: bool = False) -> str:
    """The text of a unit's function. Loops over arrays have a core without branches."""
    text = library_function(unit, policy, arrays).definition
    return f"#define CORE_VECTOR 1\n{_INCLUDED}{text}" if arrays else text


def wrapper(unit: OperationUnit, policy: LibraryPolicy, arrays: bool = False) -> str:
    """A function that calls the library's in the unit's rounding, and leaves its result and the flags of the state; of
    arrays, of one element, and the flags of the element."""
    function, names = library_function(unit, policy), [f.name for f in unit.inputs]
    state = [f"softfloat_detectTininess = {int(unit.policy.tininess == Tininess.AFTER)};"]
    more = more_arguments(unit)
    if not more:
        state.append(f"softfloat_roundingMode = {ROUNDING_MODES[unit.policy.rounding]};")
    arguments = ", ".join([*names, *more])
    code = "uint64_t" if not unit.out.is_integer or unit.out.width == 1 else f"uint{unit.out.width}_t"
    call = [f"answer[0] = ({code}){function.name}({arguments}){'' if unit.out.is_integer else '.v'};"]
    operands = [*_operands(unit, function, "[1]" if arrays else "")]
    if arrays:
        operands += [f"{function.result} z[1];", "uint8_t each[1];"]
        call = [f"{function.name}_n(1, {arguments}, z, each);", "answer[0] = z[0].v;", "answer[2] = each[0];"]
    return _WRAPPER.format(
        name=PROVED,
        includes="" if arrays else _INCLUDED,
        definition=definition(unit, policy, arrays) + (f"\n\n{function.definition}" if arrays else ""),  # called by it
        parameters=", ".join(f"uint64_t {x}" for x in (*(f"{n}_code" for n in names), "raised", "exact"))
        + ", uint64_t *answer",
        operands="\n    ".join(operands),
        state="\n    ".join(state),
        call="\n    ".join(call),
    )


def _operands(unit: OperationUnit, function: Function, of_array: str) -> Iterator[str]:
    kinds = [x.split()[0] for x in function.arguments.split(", ")]
    for kind, field, fmt in zip(kinds, unit.inputs, unit.formats, strict=False):
        if fmt.is_integer:
            yield f"const {kind} {field.name} = ({kind}){field.name}_code;"
        else:
            value = f"{{(uint{LibraryFormat(fmt).storage}_t){field.name}_code}}"
            yield f"const {kind} {field.name}{of_array} = {f'{{{value}}}' if of_array else value};"
