"""Sets of operations on blocks: random cases whose scales suit each other and the result, among cases of any codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from softfloat_ref.golden.cases import next_code, words_of_cases, words_per_code
from softfloat_ref.golden.kinds.base import Cases, register
from softfloat_ref.golden.kinds.operation import convention
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import encode, encoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.units import BlockOperationUnit, Line

ANY_EVERY: Final = 4  # one random case in N has independent codes
_SCALE_BINADES: Final = 5  # binades on each side of 1 in which scales are drawn
_RESULT_BINADES: Final = 12  # and in which the largest results of elements with a wide range lie
_SATURATED: Final = Policy(overflow="sat-finite")  # type: ignore[arg-type]


@register(BlockOperationUnit)
class BlockOperationCases(Cases):
    """The cases of an operation on blocks. Three in four have scales near 1, and a result's scale that suits the
    largest result: with independent scales, most results overflow, or are zero."""

    unit: BlockOperationUnit

    def operands(self, count: int) -> Iterator[Line]:
        fields = [f for f in self.unit.inputs if f.role == "operand"]
        formats = [(f.fmt, f.lanes, "scale" in f.name) for f in fields if f.fmt is not None]
        stride = 1 + sum(words_per_code(fmt) * lanes for fmt, lanes, _ in formats)
        for head, *rest in words_of_cases(self.vectors.seed, stride, count):
            words, suited = iter(rest), head % ANY_EVERY != 0
            case: list[int] = []
            for fmt, lanes, is_scale in formats:
                size = words_per_code(fmt)
                codes = [next_code(fmt, words, size) for _ in range(lanes)]
                case += [_near_one(fmt, code) for code in codes] if suited and is_scale else codes
            if suited and self.unit.row.takes_scale:
                case[-1] = self._suited(case, head // ANY_EVERY)
            yield tuple(case)

    def _suited(self, case: Sequence[int], turn: int) -> int:
        """A scale for the result with which its largest magnitude is in the range of its elements, or just beyond."""
        unit = self.unit
        evaluation, out = unit.evaluation, unit.evaluation.out.scale
        operands, *_ = unit.taken((*case, *(0 for f in unit.inputs if f.role == "random" for _ in range(f.lanes))))
        rows = [evaluation.decoded(side, block) for side, block in zip(evaluation.sides, operands, strict=True)]
        results = [evaluation.element(x) for x in zip(*rows, strict=True)]
        tops = [exact.top(x) for x in results if x.is_finite and x.significand]
        if out is None or not tops:
            return case[-1]
        element = evaluation.out.element
        low, high = max(element.emin - 2, -_RESULT_BINADES), min(element.emax + 1, _RESULT_BINADES)
        top = low + turn % (high - low + 1)  # of the largest result, divided by the scale
        odd = 1 if turn % 3 else 3 + turn % 5  # so that scales with a significand have one
        return encoder(out, _SATURATED)(Value(exact.FINITE, 0, odd, max(tops) - top - (odd.bit_length() - 1)), 0)[0]

    def conventions(self) -> list[dict[str, Any]]:
        unit = self.unit
        row = convention(unit.op, [x.name for x in unit.operands], unit.evaluation.out.element, unit.policy)
        return [{**row, "result": unit.out.name, "element_order": "lane i is element i of the block"}]


def _near_one(fmt: Format, code: int) -> int:
    """A code within a few binades of 1, with the given one's last bits."""
    one = encode(1, fmt, _SATURATED).bits
    step = 1 << fmt.mantissa_bits
    near = one + (code // step % (2 * _SCALE_BINADES + 1) - _SCALE_BINADES) * step + code % step
    return max(min(near, fmt.max_code), fmt.min_code)
