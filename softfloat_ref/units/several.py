"""Several operations as one unit, from a text such as "add,sub@bc,convert:fp16:i32"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.oracle.operations import OPERATIONS, get_operation
from softfloat_ref.oracle.operations.p3109 import own_name
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.units.mixed import MixedUnit
from softfloat_ref.units.operation import OperationUnit

SEVERAL: Final = "several operations"
_WORD: Final = re.compile(r"([^@:]+)(?:@([a-z]+))?(?::([^:]+)(?::([^:]+))?)?")
_MARKS: Final = ",@:"


@dataclass(frozen=True)
class OperationWord:
    """An operation of several. place: the fields that its operands go to, such as "bc"; '' for a, b, ...; fmt, out: its
    own formats, '' for those of all."""

    op: str
    place: str = ""
    fmt: str = ""
    out: str = ""

    def __str__(self) -> str:
        formats = [x for x in (self.fmt, self.out) if x]
        return ":".join([f"{self.op}@{self.place}" if self.place else self.op, *formats])


def are_several(op: str) -> bool:
    """Whether a text names several operations, or one with its formats; not whether there are such operations."""
    return ".toml" not in op and any(mark in op for mark in _MARKS)


def operation_words(text: str) -> list[OperationWord]:
    """The operations of a text. Raises Error."""
    return [_word(word.strip()) for word in text.split(",")]


def _word(text: str) -> OperationWord:
    match = _WORD.fullmatch(text)
    if match is None:
        raise Error(f"{text!r} is not an operation; write OP, OP:FORMAT, OP:FORMAT:OUT, or OP@bc for its operands")
    op, place, fmt, out = (x or "" for x in match.groups())
    if (name := own_name(op)) not in OPERATIONS:
        raise unknown("operation", op, OPERATIONS)
    return OperationWord(name, place, fmt, out)


def make_several(
    text: str,
    fmt: Any = None,
    out: Any = None,
    *,
    policy: Policy | str | Mapping[str, Any] | None = None,
    roundings: Sequence[str] = (),
    padding: str = "box",
) -> MixedUnit | OperationUnit:
    """The unit of several operations, each in its own formats or else in fmt and out. roundings: modes that an input
    selects, for the operations that round; padding: above operands and results that are narrower than others. Raises
    Error."""
    words = operation_words(text)
    rows = [(unit, word.place) for word in words for unit in _units(word, fmt, out, policy, roundings)]
    units, places = [unit for unit, _ in rows], [place for _, place in rows]
    if len(units) == 1:
        if places[0]:
            raise Error(
                f"{words[0]}: @{places[0]} is for one of several operations; for one alone, the port map says it"
            )
        return units[0]
    return MixedUnit(tuple(units), padding, places=tuple(places) if any(places) else ())


def with_places(text: str, places: Mapping[str, str]) -> str:
    """The text with other fields for the operands of some operations, by their names."""
    words = operation_words(text)
    return ",".join(str(replace(word, place=places.get(word.op, word.place))) for word in words)


def _units(
    word: OperationWord, fmt: Any, out: Any, policy: Policy | str | Mapping[str, Any] | None, roundings: Sequence[str]
) -> Iterator[OperationUnit]:
    if not (word.fmt or fmt):
        raise Error(f"{word} needs a format: {word.op}:FORMAT, or one for all operations")
    own = word.fmt or fmt
    result = word.out or (None if word.fmt else out)
    one = OperationUnit.make(word.op, own, _result_of(word, result), policy)
    return operations(word.op, own, one.out, policy, roundings if _rounds(one) else ())


def _result_of(word: OperationWord, out: Any) -> Any:
    """The format of the result; that for all operations is not for those whose result is no number, such as eq."""
    return out if word.out or get_operation(word.op).result == "float" else None


def _rounds(unit: OperationUnit) -> bool:
    """Whether the rounding may make a difference."""
    return unit.signature.operation.result == "float"


def operations(
    op: str, fmt: Any, out: Any, policy: Policy | str | Mapping[str, Any] | None, roundings: Iterable[str] = ()
) -> Iterator[OperationUnit]:
    """An operation in each of the roundings; in that of the policy without any. Raises Error."""
    for mode in tuple(roundings) or ("",):
        yield OperationUnit.make(op, fmt, out, get_policy(policy, **({"rounding": mode} if mode else {})))
