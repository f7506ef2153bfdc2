"""Defects of the operands of a scalar operation: how they are read, and which are taken for others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations
from typing import NamedTuple

from softfloat_ref.diagnosis.defects import answering, defective, flags_kept, in_parts, replaced
from softfloat_ref.diagnosis.format_defects import format_exchanged, format_readings, twins
from softfloat_ref.diagnosis.hypotheses import SHARE, Hypothesis, Inputs, Output, WrongCode
from softfloat_ref.diagnosis.operand_defects import (
    OF_SUBNORMALS,
    OPERAND_CLASSES,
    OPERAND_NAMES,
    ClassTest,
    nan_readings,
    reading_defects,
    unexpected_nan,
)
from softfloat_ref.diagnosis.operation_models import other_operands, wrong_result
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import Decoder, decoder
from softfloat_ref.oracle.exact import NAN, Value
from softfloat_ref.oracle.flags import INVALID
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import Context, Operation
from softfloat_ref.oracle.operations.table import LETTERS, Outcome
from softfloat_ref.oracle.rounding_steps import read
from softfloat_ref.oracle.steps import Function, Traced
from softfloat_ref.units import OperationUnit


class OperandRead(NamedTuple):
    """Operands that are read. of, where: follow the names and the descriptions of defects; gradual: whether all have
    subnormals."""

    letters: tuple[str, ...]
    of: str
    where: str
    gradual: bool


def operand_reads(unit: OperationUnit) -> list[OperandRead]:
    """Each float operand, and all of them."""
    every = zip(LETTERS, unit.formats, strict=False)
    floats = [(x, f) for x, f in every if not f.is_integer and not f.twos_complement]
    gradual = {x: f.subnormals == "gradual" for x, f in floats}
    if len(unit.formats) == 1:
        return [OperandRead((x,), "", "", gradual[x]) for x, _ in floats]
    reads = [OperandRead((x,), f" of {x}", f" in operand {x}", gradual[x]) for x, _ in floats]
    if len(floats) > 1:
        reads.append(OperandRead(tuple(gradual), " of every operand", " in every operand", all(gradual.values())))
    return reads


def operand_defects(unit: OperationUnit) -> Iterator[Hypothesis]:
    """Operands read wrongly."""
    for x in operand_reads(unit):
        known = OPERAND_NAMES if len(x.letters) == 1 else OF_SUBNORMALS
        names = [name for name in known if x.gradual or "subnormal" not in name]
        for h in reading_defects(unit, x.where, names, x.letters, of=x.of):
            yield h
            if h.name.startswith("subnormals flushed"):
                yield flags_kept(h)
    for fmt in dict.fromkeys(unit.formats):
        yield from _other_formats(unit, fmt)


def nan_operands(unit: OperationUnit, wrong: Sequence[WrongCode]) -> Iterator[Hypothesis]:
    """Operands of one kind that make the result a NaN, if the device gives NaNs where none is expected: as a NaN would,
    or whatever the other operands are."""
    if not unexpected_nan(wrong):
        return
    nan, letters = unit.out.canonical_nan, LETTERS[: len(unit.formats)]
    decoders = {x: (decoder(f), f) for x, f in zip(letters, unit.formats, strict=True)}
    for x in operand_reads(unit):
        yield from nan_readings(unit, wrong, x.where, x.letters, x.of)
        for name, holds in OPERAND_CLASSES:

            def changed(inputs: Inputs, codes: Output, x: OperandRead = x, holds: ClassTest = holds) -> Output:
                own = ((inputs[letters.index(k)], *decoders[k]) for k in x.letters)
                return (nan, 0) if any(holds(c, decode(c), fmt) for c, decode, fmt in own) else codes

            text = f"gives a NaN, without flags, for {name}{x.where}"
            yield Hypothesis(f"NaN for {name}{x.of}", text, answering(unit, changed), size=3, share=SHARE)


def invalid_results(unit: OperationUnit, wrong: Sequence[WrongCode]) -> Iterator[Hypothesis]:
    """Other results for invalid operands, such as Inf times zero, if the device gives numbers or Inf for NaNs."""
    if not any(x.fmt.is_nan(x.expected) and not x.fmt.is_nan(x.got) for x in wrong):
        return
    results = {"zero": exact.zero, **({"Inf": exact.inf} if unit.out.infinity else {})}
    for name, of in results.items():
        text = f"gives {name} for an invalid operation on numbers and infinities"
        yield defective(unit, f"{name} if invalid", text, wrong_result(partial(_if_invalid, of)))
        yield flags_kept(defective(unit, f"{name} if invalid", text, wrong_result(partial(_if_invalid, of))))


def _if_invalid(
    of: Callable[[int], Value], right: Function, op: Operation, ctx: Context, values: Sequence[Value]
) -> Outcome:
    """The sign is that of the product of all operands."""
    x, flags = right(op, ctx, values)
    if x.kind != NAN or any(v.kind == NAN for v in values):
        return x, flags
    return of(sum(v.sign for v in values) % 2), flags & ~INVALID


def _other_formats(unit: OperationUnit, fmt: Format) -> Iterator[Hypothesis]:
    """Operands of a format read as in another."""
    letters = [x for x, f in zip(LETTERS, unit.formats, strict=False) if f == fmt]
    for name, text, twin in twins(fmt):
        changes = in_parts(letters, replaced(read, partial(_read_as, decoder(twin))))
        yield defective(unit, f"{fmt.name} operands as {name}", f"reads {fmt.name} as {text}", *changes)
    parts = {f"operand {x}": [x] for x in letters} if len(letters) > 1 else {}
    yield from format_readings(unit, fmt, {**parts, f"{fmt.name} operands": letters})
    if unit.out == fmt:
        yield from format_exchanged(unit, fmt)


def _read_as(other: Decoder, here: Traced, right: Function, code: int, decode: Decoder, fmt: Format) -> Value:
    """Codes read by another decoder, where it gives another kind of value."""
    x, y = right(code, decode, fmt), other(code)
    return x if x.kind == y.kind else y


def taken_defects(unit: OperationUnit) -> Iterator[Hypothesis]:
    """Another operand, or zero, taken for an operand: for operations of several operands of one format.

    Such a device is seldom wrong in all cases: it selects the operand by mistake under some condition.
    """
    arity = len(unit.formats)
    for i, fmt in enumerate(unit.formats):
        if arity > 1 and fmt.zero:
            text = f"takes zero for operand {LETTERS[i]}"
            yield defective(unit, f"zero for {LETTERS[i]}", text, *other_operands((i, None)))
    for i, j in permutations(range(arity), 2):
        if unit.formats[i] == unit.formats[j]:
            text = f"takes operand {LETTERS[j]} for operand {LETTERS[i]}"
            yield defective(unit, f"{LETTERS[j]} for {LETTERS[i]}", text, *other_operands((i, j)))
