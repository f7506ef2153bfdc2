"""Sets of functions of vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

from softfloat_ref.coverage.classes import complete
from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.coverage.operation.operands import ordinary
from softfloat_ref.coverage.pipeline import pipelines
from softfloat_ref.coverage.vector.models import vector_functions
from softfloat_ref.golden.cases import random_code, words_of_cases
from softfloat_ref.golden.kinds.base import ARRAYS_FROM, Cases, register
from softfloat_ref.golden.kinds.operation import convention
from softfloat_ref.golden.ordinaries import can_draw, ordinaries
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.sources import Philox
from softfloat_ref.units import Field, Line, OperationUnit, PipelineUnit, VectorUnit
from softfloat_ref.units.pipeline_steps import PipelineStep

_SPECIAL_EVERY: Final = 8  # one case in N has codes of every kind in a few lanes
_AT_ONCE: Final = 256  # lines that are drawn in arrays
_MASKED_EVERY: Final = 4  # one lane of a mask in N
_WIDE_EVERY: Final = 4  # one in N has numbers of many binades
_OTHERS: Final = (-3, 3)  # exponents of operands of pipelines, of other names
_EXPONENTS: Final = {"x": (-3, 3), "q": (-4, 0), "k": (-2, 1), "scale": (-4, 0), "gain": (-2, 1), "bias": (-3, 1)}


@register(VectorUnit)
class VectorCases(Cases):
    """The cases of a function of vectors: numbers of a few binades, so that many lanes count; some with special codes
    in a few lanes."""

    generator: ClassVar[str] = "vector-1"
    wide: ClassVar[bool] = True
    unit: VectorUnit

    @property
    def coverage(self) -> Coverage | None:
        return vector_functions(self.unit)

    def operands(self, count: int) -> Iterator[Line]:
        fields = self._operands
        if count >= ARRAYS_FROM and self._can_draw:
            for start in range(0, count, _AT_ONCE):
                yield from map(tuple, self._drawn(start, min(_AT_ONCE, count - start)).tolist())
            return
        for control, *words in words_of_cases(self.vectors.seed, 1 + self.unit.operand_width, count):
            lanes = (f for f in fields for _ in range(f.lanes))
            codes = [self._code(f, control, word) for f, word in zip(lanes, words, strict=True)]
            yield self._line(codes, control, words)

    @cached_property
    def _operands(self) -> list[Field]:
        return [f for f in self.unit.inputs if f.role == "operand"]

    @cached_property
    def _can_draw(self) -> bool:
        return all(f.name == "visible" or can_draw(f.fmt) for f in self._operands)

    def _drawn(self, start: int, count: int) -> Any:
        """The same lines, an array with a row for each. start: the number of the first."""
        import numpy as np

        from softfloat_ref.arrays.kernels.random_words import words as words_at

        size = 1 + self.unit.operand_width
        words = words_at(Philox(self.vectors.seed, stream=1), 64, start * size, count * size).reshape(count, size)
        controls, own = words[:, 0], words[:, 1:]
        columns, at = [], 0
        for f in self._operands:
            columns.append(self._codes(f, controls[:, np.newaxis], own[:, at : at + f.lanes]))
            at += f.lanes
        codes = np.hstack(columns)
        for row in np.flatnonzero(controls % np.uint64(_SPECIAL_EVERY) == 0).tolist():
            codes[row] = self._line(codes[row].tolist(), int(controls[row]), own[row].tolist())
        return codes

    @property
    def drawn_in_arrays(self) -> bool:
        directed = len(self.directed())
        return self.within is None and self._can_draw and self.vectors.count - directed >= ARRAYS_FROM

    def rows(self, start: int, count: int) -> Any:
        import numpy as np

        directed, rows = self._first_rows, []
        if start < len(directed):
            rows.append(directed[start : start + count])
        if (first := max(start, len(directed))) < start + count:
            own, field = [], self.unit.random_field
            for at in range(first, start + count, _AT_ONCE):
                n = min(_AT_ONCE, start + count - at)
                own.append(self._drawn(at - len(directed), n))
            drawn = [np.vstack(own)]
            if field is not None:
                n = start + count - first
                drawn.append(self.source.array(field.width, first * field.lanes, n * field.lanes).reshape(n, -1))
            rows.append(np.hstack(drawn))
        return np.vstack(rows)

    @cached_property
    def _first_rows(self) -> Any:
        """The directed cases."""
        import numpy as np

        return np.array(self.directed_inputs(), np.uint64).reshape(-1, self.unit.input_width)

    def _line(self, codes: list[int], control: int, words: Sequence[int]) -> Line:
        """A line of ordinary codes; in some lines, a few are of every kind."""
        if control % _SPECIAL_EVERY == 0:
            for j in range(1 + (control >> 8) % 3):
                at = (control >> 12 * j) % len(codes)
                fmt = self.unit.input_formats[at]
                if fmt is not None and not fmt.is_integer:
                    codes[at] = random_code(fmt, words[at] >> 3 | 7, words[at])
        return tuple(codes)

    def _codes(self, field: Field, controls: Any, words: Any) -> Any:
        """`_code` of many words, a row for each control."""
        import numpy as np

        if field.name == "visible":
            return 1 + words % np.uint64(self.unit.length)
        plain, wide = self._exponents(field, False), self._exponents(field, True)
        rows = (controls >> np.uint64(4)) % np.uint64(_WIDE_EVERY) == 0
        low, high = (np.where(rows, wide[k], plain[k]) for k in (0, 1))
        e = low + (words % (high - low + 1).astype(np.uint64)).astype(np.int64)
        return ordinaries(field.fmt, words >> np.uint64(8), e, field.name not in ("gain", "scale"))  # type: ignore[arg-type]

    def _code(self, field: Field, control: int, word: int) -> int:
        if field.name == "visible":
            return 1 + word % self.unit.length
        fmt: Format = field.fmt  # type: ignore[assignment]
        low, high = self._exponents(field, (control >> 4) % _WIDE_EVERY == 0)
        e = low + word % (high - low + 1)
        return ordinary(fmt, word >> 8, e, 0 if field.name in ("gain", "scale") else None)

    @staticmethod
    def _exponents(field: Field, wide: bool) -> tuple[int, int]:
        """The least and the largest exponent of an operand's numbers."""
        if not wide or field.name not in ("x", "k"):
            return _EXPONENTS.get(field.name, _OTHERS)
        fmt: Format = field.fmt  # type: ignore[assignment]
        return max(fmt.emin - fmt.mantissa_bits, -40), min(fmt.emax, 12)

    def conventions(self) -> list[dict[str, Any]]:
        unit = self.unit
        row = convention(unit.op, [f.name for f in unit.formats], unit.out, unit.policy)
        more = {"epsilon": unit.epsilon} if unit.epsilon else {}
        return [{**row, **more, "lane_order": "lane i is element i of the vector", "flags": "of all lanes, or-ed"}]


@register(PipelineUnit)
class PipelineCases(VectorCases):
    """The cases of a pipeline: as of functions of vectors; masks are zeros, and -Inf where they have it."""

    generator: ClassVar[str] = "pipeline-1"
    unit: PipelineUnit  # type: ignore[assignment]

    @property
    def coverage(self) -> Coverage | None:
        return pipelines(self.unit)

    @cached_property
    def _masks(self) -> frozenset[str]:
        return frozenset(x.name for x in self.unit.operands if x.role == "mask")

    def _codes(self, field: Field, controls: Any, words: Any) -> Any:
        import numpy as np

        if field.name not in self._masks:
            return super()._codes(field, controls, words)
        return np.where(words % np.uint64(_MASKED_EVERY) == 0, np.uint64(_masked(field.fmt)), np.uint64(0))  # type: ignore[arg-type]

    def _code(self, field: Field, control: int, word: int) -> int:
        if field.name not in self._masks:
            return super()._code(field, control, word)
        return 0 if word % _MASKED_EVERY else _masked(field.fmt)  # type: ignore[arg-type]

    def conventions(self) -> list[dict[str, Any]]:
        unit, order = self.unit, {"lane_order": "lane i is element i of the vector", "flags": "of all steps, or-ed"}
        return [{"op": unit.op, "steps": [_step_convention(s) for s in unit.stages], **order}]


def _masked(fmt: Format) -> int:
    """What is added to a score that does not count: -Inf, or the smallest number."""
    largest = fmt.inf_code if fmt.infinity else fmt.max_code
    return complete(fmt, int(fmt.signed), largest)


def _step_convention(s: PipelineStep) -> dict[str, Any]:
    """A step in words, with its format and policy."""
    order = {"order": s.order} if s.order else {}
    if isinstance(s.unit, OperationUnit):
        row = convention(s.unit.op, [f.name for f in s.unit.formats], s.out, s.unit.policy)
    else:
        row = {"op": s.unit.name, "result": s.out.name}
    of = [x if isinstance(x, str) else f"{x:x}" for x in s.of]
    return {"name": s.name, "of": of, **order, **row}
