"""Operations in C by the core of the C library (library/core), in place of their circuits: the same answers, faster."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_text
from softfloat_ref.export.library.constants import CORE, INTEGERS, LibraryFormat, format_constants, library_format
from softfloat_ref.export.library.functions import Function, FunctionWriter
from softfloat_ref.export.library.policies import LibraryPolicy, library_policy
from softfloat_ref.export.library.self_test import OPERATIONS
from softfloat_ref.export.plan import wrap_line
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Tininess
from softfloat_ref.symbolic.circuit import Circuit
from softfloat_ref.symbolic.units import ports
from softfloat_ref.units import OperationUnit, Unit
from softfloat_ref.units.unit import LETTERS

_RESERVED: Final = re.compile("core_|CORE_")
_FUNCTIONS: Final = {op: function for function, op in OPERATIONS.items()}
_INCLUDE: Final = re.compile(r'^#include "(core_\w+\.h)"\n', re.M)
_OPERAND: Final = re.compile(r"\b([abc])(?:\.v)?\b")
_CODE: Final = r"\1_code"
_LICENCE: Final = " SPDX-License-Identifier: 0BSD\n *"


@dataclass(frozen=True)
class CoreFunction(Circuit):
    """A circuit whose C function calls the core. word: its words' bits. body: the statements."""

    word: int = 32
    body: tuple[str, ...] = ()


def core_function(unit: Unit, name: str, comment: str) -> CoreFunction | None:
    """The function of a unit; None if the core does not have it."""
    if not isinstance(unit, OperationUnit) or unit.intermediate or _RESERVED.match(name):
        return None
    try:
        policy = library_policy(unit.policy.to_dict())
        own = {fmt: library_format(fmt, policy) for fmt in (*unit.formats, unit.out) if not fmt.is_integer}
        function = _function(unit, own, policy)
    except Error:  # the library has not the format, or not the policy
        return None
    if function is None or policy.sr_bits or any(x.long for x in own.values()):
        return None
    word, _, call = function.rounded.split(", ", 2)
    before = int(unit.policy.tininess == Tininess.BEFORE)
    body = [
        *(line for x in own.values() for line in _constant(x, policy)),
        f"const core_mode mode = {{CORE_{unit.policy.rounding.name}, {before}}};",
        *_operands(unit.formats, own),
        *wrap_line(f"const core_result_{word} r = {_OPERAND.sub(_CODE, call)};", ""),
        "(void)mode;",
        "*result = r.code;",
        "*flags = r.flags;",
    ]
    return CoreFunction(
        name, ports(unit.inputs), ports(unit.outputs), {}, comment=comment, word=int(word), body=tuple(body)
    )


def core_text(words: Iterable[int]) -> str:
    """The core as one text, for words of these sizes."""
    text = _included("core.h")
    for word in {32, 64}.difference(words):
        text = re.sub(rf"^#define CORE_BITS {word}\n.*?(?=^#define CORE_BITS|^#undef N)", "", text, flags=re.M | re.S)
    return text + "#undef CORE_BITS\n#undef W\n#undef I\n"


def _included(name: str) -> str:
    text = read_text(CORE / name, limits.SOURCE).replace(_LICENCE, "", 1)
    return _INCLUDE.sub(lambda include: _included(include[1]), text)


def _function(unit: OperationUnit, own: dict[Format, LibraryFormat], policy: LibraryPolicy) -> Function | None:
    """The library's function of a unit, if its result is rounded and its formats are those of the function."""
    first, out = unit.formats[0], unit.out
    if out not in own:
        return None
    if unit.op == "convert" and first != out:
        source = own[first].name if first in own else _integer_name(first)
        name = f"{source}_to_{own[out].name}"
    elif unit.op in _FUNCTIONS and own.keys() == {first}:
        name = f"{own[first].name}_{_FUNCTIONS[unit.op]}"
    else:
        return None
    writer = FunctionWriter(own.get(first, own[out]), list(own.values()), policy, "")
    return next((f for f in writer.functions() if f.name == name and f.rounded), None)


def _integer_name(fmt: Format) -> str:
    names = [name for name, kind in INTEGERS.items() if kind == (fmt.width, fmt.signed)]
    return names[0] if names else ""


def _constant(own: LibraryFormat, policy: LibraryPolicy) -> Iterator[str]:
    first, *others = format_constants(own.fmt, policy).splitlines()
    yield f"static const core_format format_{own.name} = {first}"
    yield from (f"{line};" if line == "}" else line for line in others)


def _operands(formats: Sequence[Format], own: Mapping[Format, LibraryFormat]) -> Iterator[str]:
    """The operands' codes as the library's function takes them."""
    for letter, fmt in zip(LETTERS, formats, strict=False):
        unsigned = f"uint{own[fmt].storage if fmt in own else fmt.width}_t"
        if fmt in own or not fmt.signed:
            yield f"const {unsigned} {letter}_code = ({unsigned}){letter};"
        else:
            yield f"const int{fmt.width}_t {letter}_code = (int{fmt.width}_t)({unsigned}){letter};"
