"""Operations of a mixed set that are done in place of another: a device that decodes its control fields wrongly."""

from __future__ import annotations

from collections.abc import Iterator

from softfloat_ref.base.errors import Undefined
from softfloat_ref.diagnosis.hypotheses import SHARE, Hypothesis, Inputs, Model, Output
from softfloat_ref.oracle.operations.table import LETTERS
from softfloat_ref.oracle.policies import rounding_name
from softfloat_ref.units import MixedUnit, OperationUnit
from softfloat_ref.units.unit import Unit


def exchanged(whole: Unit | None, part: OperationUnit) -> Iterator[Hypothesis]:
    """The other operations and formats of a mixed set, done in place of a part: in its rounding, if there is that."""
    if not isinstance(whole, MixedUnit) or part not in whole.operations or part.policy.random_count:
        return
    own = part.op, part.formats, part.out
    others: dict[tuple[object, ...], OperationUnit] = {}
    for x in sorted(whole.operations, key=lambda x: x.policy.rounding != part.policy.rounding):
        if (x.op, x.formats, x.out) != own and not x.policy.random_count:
            others.setdefault((x.op, x.formats, x.out), x)
    for x in others.values():
        text = (
            x.op
            if {*x.formats, x.out} == {*part.formats, part.out}
            else x.label.removesuffix(f" {rounding_name(x.policy.rounding)}")
        )
        yield Hypothesis(f"operation {text}", f"computes {text}", _done_as(whole, part, x), share=SHARE)


def _done_as(whole: MixedUnit, part: OperationUnit, other: OperationUnit) -> Model:
    """A part whose operands go to another operation, as they come."""
    bits, width, mask = whole.operand_bits, whole.results[0].width, (1 << part.out.width) - 1
    places = [LETTERS.index(x) for x in whole.place(other)]
    first = len(whole.controls)

    def model(inputs: Inputs) -> Output | None:
        padded = [whole.padded(x, f, bits) for x, f in zip(inputs, part.formats, strict=False)]
        placed = whole.assembled(part, padded)[first:]
        codes = [whole.unpadded(placed[i], f, other) for i, f in zip(places, other.formats, strict=True)]
        known = [x for x in codes if x is not None]
        if len(known) < len(codes):
            return None
        try:
            code, flags = other.answer(known)
        except Undefined:
            return None
        return (code if other.out.is_integer else whole.padded(code, other.out, width)) & mask, flags

    return model
