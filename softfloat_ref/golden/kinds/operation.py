"""Sets of operations: directed cases of the scalar models; large ones are made in arrays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from softfloat_ref.base.disk_cache import PACKAGE, CacheKey
from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.coverage.operation.models import operations
from softfloat_ref.coverage.operation.stochastic import at_the_edge
from softfloat_ref.golden.kinds.base import INSTRUCTIONS, Cases, register
from softfloat_ref.units import Line, OperationUnit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from softfloat_ref.oracle.policies import Policy

BULK_FROM: Final = 1 << 16  # lines from which compiled code is faster
EDGE_EVERY: Final = 16


@register(OperationUnit)
class OperationCases(Cases):
    """The cases of an operation."""

    file_types: ClassVar[tuple[str, ...]] = (*INSTRUCTIONS, "fptest")
    unit: OperationUnit

    @property
    def near_carry(self) -> bool:  # type: ignore[override]
        """Conversions have one operand, whose discarded bits can be chosen."""
        return self.unit.signature.operation.is_conversion

    @property
    def coverage(self) -> Coverage | None:
        return operations(self.unit.signature, self.unit.policy)

    @property
    def origin(self) -> CacheKey | None:
        operation = self.unit.signature.operation
        if not operation.function.__module__.startswith(f"{PACKAGE}."):  # a user's own: its sources are elsewhere
            return None
        return CacheKey(__name__, json.dumps(self.unit.to_dict(), sort_keys=True))

    def near_carry_case(self, inputs: Line, words: Sequence[int], turn: int) -> Line:
        """An operand whose discarded bits meet its own random bits: just enough to go up, just not, or nothing.

        One in sixteen of these does so just below the smallest normal number.
        """
        unit, r = self.unit, words[0]
        source, n = unit.formats[0], unit.policy.random_count
        if turn % EDGE_EVERY == 0:
            edge = at_the_edge(source.hidden, unit.out.hidden, n, r, turn // EDGE_EVERY)
            if edge is not None:
                return (source.stored(edge),)
        below = source.mantissa_bits - unit.out.mantissa_bits - n
        if below < 0 or source.twos_complement or unit.out.twos_complement:
            return inputs
        fraction = (-r, -r - 1, 0)[turn % 3] % (1 << n)
        high = inputs[0] >> (below + n) << (below + n)
        return (high | fraction << below,)

    def random_array(self, start: int, count: int) -> NDArray[np.int64]:
        """The random words of `count` lines from `start` on; at most 63 bits each."""
        return self.source.array(self.unit.policy.random_count, start, count).view("i8")

    @property
    def chunked(self) -> bool:
        unit = self.unit
        small = self.vectors.count < BULK_FROM or self.within is not None
        if small or unit.policy.random_count > 63 or unit.intermediate:
            return False
        formats = (*unit.formats, unit.out)
        return all(f.width < 64 or (f.width == 64 and f.exponent_bits > 0) for f in formats)

    def conventions(self) -> list[dict[str, Any]]:
        unit = self.unit
        return [convention(unit.op, [f.name for f in unit.formats], unit.out, unit.policy)]


def convention(op: str, operands: Sequence[str], out: Any, policy: Policy) -> dict[str, Any]:
    """The effective policy for results of a format."""
    table = policy.to_dict()
    code = policy.nan_rule.code(out) if out.has_nan else None
    return {
        "op": op,
        "operands": list(operands),
        "result": out.name,
        "rounding": table["rounding"],
        "random_bits": policy.random_count,
        "overflow": str(policy.overflow_for(out)),
        "nan": {"rule": policy.nan, "code": None if code is None else f"{code:x}"},
        **{k: table[k] for k in ("tininess", "flush_inputs", "flush_outputs", "flush_rule")},
    }
