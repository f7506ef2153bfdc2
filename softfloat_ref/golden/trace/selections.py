"""Operations of a trace that choose: parts of tensors, rows of tables, values by a mask."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.case import FP32, ONE, ByElement, Codes, NodeCase, apply, matrix, positive, summed_one
from softfloat_ref.nn.operations import from_words
from softfloat_ref.oracle.codec import encoder, to_value
from softfloat_ref.oracle.policies import Policy

_MAGNITUDE = FP32.magnitude_mask
_MINUS_INF = FP32.sign_bit | FP32.inf_code


class AxisSlice(ByElement):
    """Indices start to stop (excluded) of an axis."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        axis, start = self._where(case)
        return [np.take(case.inputs[0], range(start, case.integer("stop", start, case.inputs[0].shape[axis])), axis)]

    def element(self, case: NodeCase, place: int) -> int:
        axis, start = self._where(case)
        shape = list(case.inputs[0].shape)
        shape[axis] = int(case.options["stop"]) - start
        at = [int(i) for i in np.unravel_index(place, shape)]
        at[axis] += start
        return int(case.inputs[0][tuple(at)])

    @staticmethod
    def _where(case: NodeCase) -> tuple[int, int]:
        axis = case.integer("axis", 0, case.inputs[0].ndim - 1)
        return axis, case.integer("start", 0, case.inputs[0].shape[axis])


class Concatenate(ByElement):
    """Tensors joined along an axis; in FP32 if their formats differ."""

    def compute(self, case: NodeCase) -> list[Codes]:
        if not case.inputs:
            raise Error("needs at least one input")
        return [np.concatenate(self._parts(case), case.integer("axis", 0, case.inputs[0].ndim - 1))]

    def element(self, case: NodeCase, place: int) -> int:
        parts, axis = self._parts(case), int(case.options["axis"])
        shape = list(parts[0].shape)
        shape[axis] = sum(p.shape[axis] for p in parts)
        at = [int(i) for i in np.unravel_index(place, shape)]
        for part in parts:
            if at[axis] < part.shape[axis]:
                return int(part[tuple(at)])
            at[axis] -= part.shape[axis]
        raise Error(f"place {place} is out of range of the parts")

    @staticmethod
    def _parts(case: NodeCase) -> list[Codes]:
        same = len(set(case.formats)) == 1
        return [x if same else case.values(i) for i, x in enumerate(case.inputs)]


class Transpose(ByElement):
    """The axes in the order `axes`."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        return [np.ascontiguousarray(np.transpose(case.inputs[0], self._axes(case)))]

    def element(self, case: NodeCase, place: int) -> int:
        axes, x = self._axes(case), case.inputs[0]
        at = np.unravel_index(place, [x.shape[i] for i in axes])
        return int(x[tuple(int(at[axes.index(i)]) for i in range(x.ndim))])

    @staticmethod
    def _axes(case: NodeCase) -> list[int]:
        axes = case.options.get("axes")
        if not isinstance(axes, list) or sorted(axes) != list(range(case.inputs[0].ndim)):
            raise Error(f"option axes = {axes!r} is not an order of {case.inputs[0].ndim} axes")
        return axes


class Causal(ByElement):
    """Of matrices over the last two axes: -Inf where the column is above the row."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        x = self._matrices(case)
        return [np.where(np.tri(*x.shape[-2:], dtype=np.bool_), x, np.uint32(_MINUS_INF))]

    def element(self, case: NodeCase, place: int) -> int:
        x = self._matrices(case)
        row, column = divmod(place % (x.shape[-2] * x.shape[-1]), x.shape[-1])
        return int(x.reshape(-1)[place]) if column <= row else _MINUS_INF

    @staticmethod
    def _matrices(case: NodeCase) -> Codes:
        if case.inputs[0].ndim < 2:
            raise Error(f"expects matrices, not an array of shape {case.inputs[0].shape}")
        return case.values(0)


class Gather(ByElement):
    """Inputs table (rows, width), indices: the rows with these indices."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(2)
        table, rows = self._operands(case)
        return [table[rows]]

    def element(self, case: NodeCase, place: int) -> int:
        table, rows = self._operands(case)
        return int(table[rows].reshape(-1)[place])

    @staticmethod
    def _operands(case: NodeCase) -> tuple[Codes, Codes]:
        table = matrix(case.inputs[0])
        return table, _rows(case, len(table))


def _rows(case: NodeCase, count: int) -> Codes:
    rows: Codes = case.inputs[1].reshape(-1)
    if rows.size and int(rows.max()) >= count:
        raise Error(f"a row index is out of range: the table has {count} rows")
    return rows


class ScatterSum(ByElement):
    """Inputs x (others, width), indices: a table of `count` rows. Each is the sequential sum of the rows of x with its
    index; +0 if there are none."""

    def compute(self, case: NodeCase) -> list[Codes]:
        x, rows, sums = self._operands(case)
        seen = set()
        for row, added in zip(rows.tolist(), x, strict=True):
            sums[row] = apply("add", sums[row], added) if row in seen else added
            seen.add(row)
        return [sums]

    def element(self, case: NodeCase, place: int) -> int:
        x, rows, sums = self._operands(case)
        row, column = divmod(place, sums.shape[1])
        return summed_one(x[rows == row, column].tolist() or [0])

    @staticmethod
    def _operands(case: NodeCase) -> tuple[Codes, Codes, Codes]:
        case.needs(2)
        count, x = case.integer("count", 1, 1 << 31), matrix(case.values(0))
        if case.outputs[0].size != count * x.shape[1] or case.inputs[1].size != len(x):
            raise Error(f"{case.outputs[0].size} sums of {len(x)} rows, with count = {count}")
        return x, _rows(case, count), np.zeros((count, x.shape[1]), np.uint32)


class WithinLimit(ByElement):
    """Inputs x, limit: one where the magnitude of x is at most the limit, else zero."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(2)
        return [np.where((case.values(0) & _MAGNITUDE) <= case.values(1), ONE, 0).astype(np.uint32)]

    def element(self, case: NodeCase, place: int) -> int:
        return ONE if int(case.values(0).reshape(-1)[place]) & _MAGNITUDE <= int(case.values(1)) else 0


class Keep(ByElement):
    """Inputs words, value: the value where a word is at least `threshold`, else +0."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(2)
        mask = case.inputs[0] >= np.uint64(case.integer("threshold", 0, 1 << 32))
        return [np.where(mask, case.values(1), 0).astype(np.uint32)]

    def element(self, case: NodeCase, place: int) -> int:
        word = int(case.inputs[0].reshape(-1)[place])
        return int(case.values(1)) if word >= int(case.options["threshold"]) else 0


class Leak(ByElement):
    """Inputs x, slope: one where x is above zero, else the slope."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(2)
        x = case.values(0)
        return [np.where((x != 0) & (x <= FP32.inf_code), ONE, case.values(1)).astype(np.uint32)]

    def element(self, case: NodeCase, place: int) -> int:
        return ONE if positive(int(case.values(0).reshape(-1)[place])) else int(case.values(1))


class Uniform(ByElement):
    """Input words of `bits` bits: (w - 2^(bits - 1)) / 2^(bits - 1), a number from -1 to below 1, exact in FP32."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        return [from_words(case.inputs[0], self._bits(case)).view(np.uint32)]

    def element(self, case: NodeCase, place: int) -> int:
        half, word = 1 << (self._bits(case) - 1), int(case.inputs[0].reshape(-1)[place])
        return int(encoder(FP32, Policy())(to_value(Fraction(word - half, half), FP32.precision), 0)[0])

    @staticmethod
    def _bits(case: NodeCase) -> int:
        return case.integer("bits", 1, FP32.precision)
