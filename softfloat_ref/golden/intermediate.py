"""Sets whose lines also hold the unrounded intermediate: the exact result, cut where the target's last bit is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from softfloat_ref.codec import target
from softfloat_ref.coverage.protocol import Coverage
from softfloat_ref.errors import Error
from softfloat_ref.golden.sets import Field, Line, VectorSet
from softfloat_ref.golden.tags import Run, tag_runs
from softfloat_ref.ops import Signature, get_operation, unrounded
from softfloat_ref.rounding import position

KEY: Final = "intermediate"  # in a stored definition


@dataclass(frozen=True)
class IntermediateSet:
    """A set of an operation that rounds, with four fields more on each line, after the flags.

    exact_sign: of the exact result; exact_kept: its bits down to the target's last one (fewer for a subnormal);
    exact_guard: the next bit, or the next n + 1 under a stochastic rounding of n bits; exact_sticky: whether any bit
    below those is set. All from rounding.position, as the encoder has them. Zero for zero, Inf and NaN, but for the
    sign.
    """

    vectors: VectorSet

    def __post_init__(self) -> None:
        if self.vectors.block is not None or get_operation(self.vectors.op).result != "float":
            raise Error(f"{self.vectors.op} has no unrounded intermediate: that is for operations that round")

    @property
    def count(self) -> int:
        """How many cases."""
        return self.vectors.count

    @property
    def coverage(self) -> Coverage | None:
        """The set's own."""
        return self.vectors.coverage

    def directed(self) -> tuple[tuple[str, Line], ...]:
        """The set's own."""
        return self.vectors.directed()

    @property
    def name(self) -> str:
        """A name for the files: the set's own, and what is added."""
        return f"{self.vectors.name}_{KEY}"

    @property
    def description(self) -> str:
        """The set's own."""
        return self.vectors.description

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The set's own, then those of the intermediate."""
        n = self.vectors.policy.random_count
        return (
            *self.vectors.fields,
            Field("exact_sign", "intermediate", 1),
            Field("exact_kept", "intermediate", self.vectors.out.mantissa_bits + 1),
            Field("exact_guard", "intermediate", n + 1),
            Field("exact_sticky", "intermediate", 1),
        )

    def inputs(self) -> Iterator[Line]:
        """The set's own."""
        return self.vectors.inputs()

    def tag_runs(self) -> Iterator[Run]:
        """The set's own."""
        return tag_runs(self.vectors)

    def line(self, inputs: Sequence[int]) -> Line | None:
        """Inputs with what must come out, and the intermediate."""
        line = self.vectors.line(inputs)
        return None if line is None else (*line, *self._intermediate(inputs))

    def _intermediate(self, inputs: Sequence[int]) -> Line:
        vectors = self.vectors
        arity, n = len(vectors.formats), vectors.policy.random_count
        value, _ = self._exact(inputs[:arity], inputs[arity] if n else 0)
        if not value.is_finite or not value.significand:
            return value.sign, 0, 0, 0
        length = value.significand.bit_length()
        at = target(vectors.out, vectors.policy)
        _, kept, guard, sticky = position(value.significand, value.exponent, length, value.sticky, n, at)
        return value.sign, kept, guard, sticky

    @cached_property
    def _exact(self) -> Any:
        vectors = self.vectors
        signature = Signature(get_operation(vectors.op), vectors.formats, vectors.out)
        return unrounded(signature, vectors.policy)

    def to_dict(self) -> dict[str, Any]:
        """The full definition."""
        return {**self.vectors.to_dict(), KEY: True}


def plain(vectors: Any) -> Any:
    """The set without its intermediate, for what compares results."""
    return vectors.vectors if isinstance(vectors, IntermediateSet) else vectors
