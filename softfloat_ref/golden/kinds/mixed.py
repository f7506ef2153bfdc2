"""Sets of several operations, interleaved."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.golden.kinds.base import INSTRUCTIONS, Cases, register
from softfloat_ref.golden.kinds.operation import operation_convention
from softfloat_ref.golden.tags import UNTAGGED, Run
from softfloat_ref.oracle.sources import Philox
from softfloat_ref.units import Line, MixedUnit, OperationUnit

_ORDER_STREAM: Final = 2
_UNBOXED_STREAM: Final = 3
_CHUNK: Final = 1024


@register(MixedUnit)
class MixedCases(Cases):
    """The cases of a mixed set: those of each part, the set's count shared out evenly.

    unboxed: one line in N has an operand that is not boxed (0: none).
    """

    streams: ClassVar[dict[str, int]] = {
        "operands, of part i with seed + i": 1,
        "order of the parts": _ORDER_STREAM,
        "operands that are not boxed": _UNBOXED_STREAM,
    }
    file_types: ClassVar[tuple[str, ...]] = INSTRUCTIONS
    unit: MixedUnit

    def check(self) -> None:
        vectors, unit = self.vectors, self.unit
        if vectors.count < len(unit.operations):
            raise Error(f"{vectors.count} vectors for {len(unit.operations)} parts: each part needs at least one")
        if vectors.unboxed < 0 or (vectors.unboxed and unit.padding != "box"):
            raise Error(f'unboxed = {vectors.unboxed}: it must be at least 0, and needs padding = "box"')
        if len(vectors.sources) not in (0, len(unit.operations)):
            raise Error(f"{len(vectors.sources)} random sources for {len(unit.operations)} parts")

    @classmethod
    def space(cls, unit: Any) -> int:
        raise Error(f"{unit.name}: exhaustive applies only to sets of one scalar operation")

    @property
    def coverage(self) -> Coverage | None:
        return None

    def tag_runs(self) -> Iterator[Run]:
        yield UNTAGGED, self.vectors.count

    def inputs(self) -> Iterator[Line]:
        """Control fields, padded operands and random words of each line, the parts interleaved.

        Raises Error if a part has no case with a defined result: its lines would all be left out.
        """
        self._refuse_empty_parts()
        return self._inputs()

    def _refuse_empty_parts(self) -> None:
        n = len(self.unit.controls)
        missing = dict(self.unit.by_codes)
        for inputs in self._inputs():
            if inputs[:n] in missing and self.unit.line(inputs) is not None:
                del missing[inputs[:n]]
                if not missing:
                    return
        part = next(iter(missing.values())).properties()
        shown = " ".join(part[k] for k in self.unit.controls if k in part)
        raise Error(f"the part {shown} has no case with a defined result; give a larger count or another policy")

    def _inputs(self) -> Iterator[Line]:
        word_of, unboxed = _words(Philox(self.vectors.seed, _UNBOXED_STREAM)), self.vectors.unboxed
        unit = self.unit
        for part, inputs in self._interleaved():
            arity = len(part.formats)
            padded = [unit.padded(x, f, unit.operand_bits) for x, f in zip(inputs, part.formats, strict=False)]
            self._unbox_one(padded, part, next(word_of) if unboxed else 1)
            yield unit.assembled(part, padded, inputs[arity:])

    def _interleaved(self) -> Iterator[tuple[OperationUnit, Line]]:
        """One case of each part in turn, in another order each time; the order depends on the seed and the turn."""
        parts, seed = self.unit.operations, self.vectors.seed
        size, extra = divmod(self.vectors.count, len(parts))
        sources = self.vectors.sources or ("",) * len(parts)
        streams = [
            (p, self._part(p, size + (i < extra), seed + i, source).inputs())
            for i, (p, source) in enumerate(zip(parts, sources, strict=True))
        ]
        word_of = _words(Philox(seed, _ORDER_STREAM))
        for _ in range(size + (extra > 0)):
            for _, i in sorted((next(word_of), i) for i in range(len(streams))):
                part, stream = streams[i]
                inputs = next(stream, None)
                if inputs is not None:
                    yield part, inputs

    def _part(self, part: OperationUnit, count: int, seed: int, source: str) -> Any:
        """The set of a part by itself."""
        sources = (source,) if source else ()
        whole: Any = self.vectors
        return dataclasses.replace(whole, unit=part, count=count, seed=seed, sources=sources, unboxed=0).cases

    def _unbox_one(self, operands: list[int], part: OperationUnit, word: int) -> None:
        """On one line in N, change the upper bits of one narrower float: all zeros, or one bit of them."""
        unboxed, width = self.vectors.unboxed, self.unit.operand_bits
        narrower = [i for i, f in enumerate(part.formats) if f.exponent_bits and f.has_nan and f.width < width]
        if not narrower or not unboxed or (word & 0xFFFF) % unboxed:
            return
        i = narrower[(word >> 16) % len(narrower)]
        low = part.formats[i].width
        spoiled = 1 << (low + (word >> 32) % (width - low)) if word >> 63 else (1 << width) - (1 << low)
        operands[i] &= ~spoiled

    def conventions(self) -> list[dict[str, Any]]:
        return [operation_convention(part) for part in self.unit.operations]


def _words(source: Philox) -> Iterator[int]:
    position = 0
    while True:
        yield from source.words(position, _CHUNK)
        position += _CHUNK
