"""Mismatches of operations on blocks: the lanes that differ, and which policies give a device's answer."""

from __future__ import annotations

from collections.abc import Sequence

from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.operation import policy_options
from softfloat_ref.testing.views import MismatchView, register
from softfloat_ref.units import BlockOperationUnit
from softfloat_ref.units.unit import LETTERS, split


@register(BlockOperationUnit)
class BlockOperationView(MismatchView):
    """The mismatches of an operation on blocks."""

    unit: BlockOperationUnit

    def command(self, inputs: Sequence[int], got: Answer) -> str:
        unit = self.unit
        formats = ",".join(f"{letter}={x.name}" for letter, x in zip(LETTERS, unit.operands, strict=False))
        codes = [f"{x:0{f.digits}x}" for f, own in split(unit.inputs, inputs) if f.role == "operand" for x in own]
        options = [f"--fmt {formats}", f"--out {unit.out.name}", *policy_options(unit.policy)]
        if unit.row.finds_scale:
            options += [x.replace("--", "--scale-", 1) for x in policy_options(unit.scale_policy)]
        words = [f"{x:x}" for f, own in split(unit.inputs, inputs) if f.role == "random" for x in own]
        options += [f"--random-bits {','.join(words)}"] if words else []
        return f"softfloat-ref explain {unit.op} {' '.join(options)} {' '.join(codes)}"
