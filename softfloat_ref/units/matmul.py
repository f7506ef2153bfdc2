"""Units that multiply matrices: each result is a dot product."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.numbers import settle
from softfloat_ref.oracle.blocks.formats import FP32, BlockFormat
from softfloat_ref.oracle.steps import Do
from softfloat_ref.units.dot import AnyFormat, DotUnit
from softfloat_ref.units.unit import Field, SteppedUnit, operand, result, split

if TYPE_CHECKING:
    from softfloat_ref.arrays.matmul import Matrix
    from softfloat_ref.units.unit import Rows

MAX_SIDE: Final = 1024
MAX_WIDTH: Final = 64  # bits of a format: of a word of numpy's
WORDS: Final = (8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class MatmulUnit(SteppedUnit):
    """A product of (m, k) by (k, n): a row by row, b column by column, so that k runs fastest in both, c and results
    row by row; scales of blocks likewise. It gives no flags.

    layout: how elements and scales lie in memory images, one of arrays/packing's; word: bits of a memory word.
    """

    kind: ClassVar[str] = "matmul"
    op: ClassVar[str] = "matmul"

    dot: DotUnit
    m: int
    n: int
    layout: str = "dense"
    word: int = 64

    def __post_init__(self) -> None:
        from softfloat_ref.arrays.packing import get_layout

        for name in ("m", "n"):
            settle(self, name, 1, MAX_SIDE)
        settle(self, "word")
        if self.word not in WORDS:
            raise Error(f"word = {self.word!r}: {', '.join(map(str, WORDS))} bits")
        layout = get_layout(self.layout)
        for wide in (*self.dot.setting.formats, self.dot.c, self.dot.out):
            if wide.width > MAX_WIDTH:
                raise Error(f"{wide.name}: memory images take formats of at most {MAX_WIDTH} bits")
        for x in (self.dot.a, self.dot.b):
            block = isinstance(x, BlockFormat)
            element = x.element if isinstance(x, BlockFormat) else x
            layout.check(element.width, x.scale.width if isinstance(x, BlockFormat) else 8)
            if not block and layout.scales != "apart":
                raise Error(
                    f"{x.name} has no scales, so no {layout.scales} layout; give the layout of the elements only"
                )

    @cached_property
    def name(self) -> str:
        shape = f"{self.m}x{self.n}x{self.dot.k}"
        return re.sub(r"[^a-z0-9]+", "_", f"matmul_{shape}_{self.dot.name.removeprefix('dot_')}".lower())

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        dot, size = self.dot, self.m * self.n
        steps = [result("steps", dot.setting.result, size * dot.step_count)] if dot.steps else []
        return (
            *dot.side_fields("a", dot.a, self.m),
            *dot.side_fields("b", dot.b, self.n),
            operand("c", dot.c, size),
            *steps,
            result("result", dot.out, size),
        )

    def computed(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        results, steps = list[int](), list[int]()
        for i, j, own in self.dot_inputs(inputs):
            *running, code, _ = self.dot.computed(do.at("result", i, j), own)
            steps += running
            results.append(code)
        return *steps, *results

    def dot_inputs(self, inputs: Sequence[int]) -> list[tuple[int, int, list[int]]]:
        """The inputs of each result's dot product, with its row and column."""
        taken = self.taken(inputs)
        products = []
        for i in range(self.m):
            for j in range(self.n):
                sides = [_row(taken.get(name, ()), at, count) for name, at, count in self._rows(i, j)]
                products.append((i, j, [x for codes in sides for x in codes] + [taken["c"][i * self.n + j]]))
        return products

    def taken(self, inputs: Any) -> dict[str, Any]:
        """The codes of each input field."""
        return {f.name: codes for f, codes in split(self.inputs, inputs)}

    def _rows(self, i: int, j: int) -> tuple[tuple[str, int, int], ...]:
        """Field, row and length of what result (i, j) is made of, in the order of a dot product's inputs."""
        dot = self.dot
        return (
            ("a_scale", i, dot.blocks(dot.a)),
            ("a", i, dot.k),
            ("b_scale", j, dot.blocks(dot.b)),
            ("b", j, dot.k),
        )

    def answers(self, inputs: Rows) -> Rows | None:
        """By arrays, where c and the results are FP32 and no running results are wanted."""
        dot = self.dot
        if dot.steps or not dot.c == dot.out == FP32:
            return None
        import numpy as np

        from softfloat_ref.arrays.matmul import multiply

        rows = []
        for row in inputs:
            taken = self.taken(row)
            a = self._matrix(dot.a, taken["a"], taken.get("a_scale"), self.m)
            b = self._matrix(dot.b, taken["b"], taken.get("b_scale"), self.n)
            c = taken["c"].astype("u4").reshape(self.m, self.n)
            rows.append(multiply(a, b, dot.setting, c).view("u4").reshape(-1))
        return np.array(rows, np.uint64)

    @staticmethod
    def _matrix(fmt: AnyFormat, codes: Any, scales: Any, rows: int) -> Matrix:
        from softfloat_ref.arrays.convert import code_dtype
        from softfloat_ref.arrays.matmul import Matrix

        if not isinstance(fmt, BlockFormat):
            return Matrix(fmt, codes.astype(code_dtype(fmt)).reshape(rows, -1))
        elements = codes.astype(code_dtype(fmt.element)).reshape(rows, -1)
        return Matrix(
            fmt.element, elements, fmt.scale, scales.astype(code_dtype(fmt.scale)).reshape(rows, -1), fmt.size
        )


def _row(codes: Sequence[int], at: int, count: int) -> Sequence[int]:
    return codes[at * count : (at + 1) * count]
