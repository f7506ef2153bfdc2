"""The common part of block quantizers and dequantizers: cases of many codes, only the wrong ones shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from softfloat_ref.diagnosis.block_defects import offset_text
from softfloat_ref.diagnosis.conditions import FEWEST, kind
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Inputs
from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, code_text, sparse
from softfloat_ref.oracle.codec import decoder

RANDOM_BLOCKS: Final = 60  # random blocks in addition to the probes


class DiagnosedBlock(DiagnosedKind):
    """A unit of blocks. scales: number of codes in its answer before the elements."""

    tried: ClassVar[str] = "policy, profile, accumulator or listed defect"
    scales: ClassVar[int] = 0
    unit: Any

    def of_codes(self, cases: Sequence[AnsweredCase]) -> str:
        formats = self.unit.result_formats
        pairs = [(c, zip(c.expected, c.got, strict=True)) for c in cases if not c.agrees]
        wrong = [(i, x) for _, codes in pairs for i, (x, y) in enumerate(codes) if x != y]
        if len(wrong) < FEWEST:
            return ""
        places = {i for i, _ in wrong}
        if len(places) == 1:
            (place,) = places
            if place < self.scales:
                return f"only the scale is wrong{self._offset(cases)}"
            return f"only element {place - self.scales} is wrong"
        if any(place < self.scales for place in places):
            every = all(c.expected[0] != c.got[0] for c in cases if not c.agrees)
            return f"the scale is wrong{self._offset(cases)}" if every else ""
        if self.scales and all(formats[0].is_nan(c.expected[0]) for c in cases if not c.agrees):
            return "the scale is NaN and right, and elements are wrong"
        kinds = {kind(x, formats[i]) for i, x in wrong}
        signs = {decoder(formats[i])(x).sign for i, x in wrong}
        facts = [f"should be {kinds.pop()}"] if len(kinds) == 1 and kinds != {"a normal number"} else []
        facts += [f"should be {'negative' if signs.pop() else 'positive'}"] if len(signs) == 1 else []
        return f"the scale is right, and every wrong element {' and '.join(facts)}" if facts else ""

    def _offset(self, cases: Sequence[AnsweredCase]) -> str:
        """By how much the scale is off in most mismatches, and in how many."""
        offsets = Counter(c.got[0] - c.expected[0] for c in cases if not c.agrees)
        by, count = offsets.most_common(1)[0]
        if 2 * count < offsets.total():
            return ""
        return f", {offset_text(by)} in {count} of them"

    @property
    def title(self) -> str:
        return f"{self.op} {self.unit.block.name}"

    def inputs_text(self, inputs: Inputs) -> str:
        formats = self.unit.input_formats
        return sparse(inputs, lambda i: code_text(inputs[i], formats[i])) or "zeros"
