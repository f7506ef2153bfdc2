"""Sets of matrix products, for bringing up a tensor unit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.golden.kinds.base import Cases, register
from softfloat_ref.golden.kinds.dot import RULE, operands_of
from softfloat_ref.golden.kinds.dot_codes import power_code, random_addends, random_case
from softfloat_ref.golden.tags import Run
from softfloat_ref.oracle.sources import Philox
from softfloat_ref.units import Line, MatmulUnit

IDENTITY: Final = "identity"  # the tag of products that show where the elements go
WILD_EVERY: Final = 5  # one product in N has arbitrary codes, including NaN and Inf


@register(MatmulUnit)
class MatmulCases(Cases):
    """The cases of a matrix product. First A is the identity, then B; then random ones."""

    generator: ClassVar[str] = "matmul-1"
    noun: ClassVar[str] = "products"
    wide: ClassVar[bool] = True
    file_types: ClassVar[tuple[str, ...]] = ("images", "tv", "csv", "jsonl", "npz")
    default: ClassVar[tuple[str, ...]] = ("images",)
    streams: ClassVar[dict[str, int]] = {"a and b": 0, "c": 1}
    rule: ClassVar[str] = RULE
    unit: MatmulUnit

    @property
    def coverage(self) -> Coverage | None:
        return None

    def first(self, count: int) -> Run:
        return IDENTITY, 2

    def operands(self, count: int) -> Iterator[Line]:
        return map(self._product, range(count))

    def _product(self, turn: int) -> Line:
        unit, f, seed = self.unit, operands_of(self.unit.dot), self.vectors.seed
        sides, size = max(unit.m, unit.n), unit.m * unit.n
        source, wild = Philox(seed), turn % WILD_EVERY == WILD_EVERY - 1
        rows = [random_case(f, source, turn * sides + i, wild) for i in range(sides)]
        a, b = [r.a for r in rows[: unit.m]], [r.b for r in rows[: unit.n]]
        a_scales, b_scales = [r.a_scales for r in rows[: unit.m]], [r.b_scales for r in rows[: unit.n]]
        cs = random_addends(f, Philox(seed, stream=1), turn * size, size)
        if turn < 2:
            one = power_code(f.b if turn else f.a, 0)
            identity = [tuple(one if i % f.k == p else 0 for p in range(f.k)) for i in range(sides)]
            a, b = (a, identity[: unit.n]) if turn else (identity[: unit.m], b)
            a_scales, b_scales = [f.ones(f.a_scale, f.a_blocks)] * unit.m, [f.ones(f.b_scale, f.b_blocks)] * unit.n
            cs = [0] * size
        return (*_flat(a_scales), *_flat(a), *_flat(b_scales), *_flat(b), *cs)

    @property
    def in_arrays(self) -> bool:
        return True


def _flat(rows: list[tuple[int, ...]]) -> list[int]:
    return [x for row in rows for x in row]
