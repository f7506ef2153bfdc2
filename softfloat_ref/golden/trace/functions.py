"""Operations of a trace that a softmax, a normalization and activation functions are made of."""

from __future__ import annotations

from functools import cmp_to_key, partial

import numpy as np

from softfloat_ref.arrays import functions
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.case import FP32, NAN, ONE, ByElement, Codes, NodeCase, apply, apply_one, matrix
from softfloat_ref.nn import hadamard
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import compare
from softfloat_ref.oracle.operations import evaluate


class Function(ByElement):
    """A function of each element, to nearest even."""

    def __init__(self, op: str) -> None:
        self.op = op

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        return [functions.correctly_rounded(self.op, case.values(0).view(np.float32)).view(np.uint32)]

    def element(self, case: NodeCase, place: int) -> int:
        return int(evaluate(self.op, (int(case.values(0).reshape(-1)[place]),), FP32).bits)


class LastSum(ByElement):
    """The sum over the last axis: of neighbours, level by level; the last of an odd number goes on as it is."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        x = rows(case)
        while x.shape[1] > 1:
            whole = x.shape[1] // 2 * 2
            x = np.concatenate([apply("add", x[:, :whole:2], x[:, 1:whole:2]), x[:, whole:]], 1)
        return [x]

    def element(self, case: NodeCase, place: int) -> int:
        codes = rows(case)[place].tolist()
        while len(codes) > 1:
            odd = codes[-1:] if len(codes) % 2 else []
            codes = [apply_one("add", a, b) for a, b in zip(codes[::2], codes[1::2], strict=False)] + odd
        return int(codes[0])


class LastMax(ByElement):
    """The first of the largest over the last axis; a NaN if there is one."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        x = rows(case)
        best = x.view(np.float32).argmax(axis=1)
        return [x[np.arange(len(x)), best]]

    def element(self, case: NodeCase, place: int) -> int:
        codes = rows(case)[place].tolist()
        if any(map(FP32.is_nan, codes)):
            return NAN
        return int(max(codes, key=lambda code: cmp_to_key(compare)(decoder(FP32)(code))))


class Hadamard(ByElement):
    """Inputs x, a matrix, and n words of one bit: each n rows, multiplied by 1 / sqrt(n), or by -1 / sqrt(n) where the
    word is one; then summed. After the last row of x come zeros.

    Result i of n rows is a sum of neighbours, level by level, where level b subtracts if i has bit b.
    """

    def compute(self, case: NodeCase) -> list[Codes]:
        x, factors = self._operands(case)
        rows = hadamard.pad_rows(x, len(factors))
        scaled = apply("mul", rows, np.resize(factors, len(rows))[:, np.newaxis])
        return [hadamard.sums(scaled, len(factors), partial(_into, "add"), partial(_into, "sub"))]

    def element(self, case: NodeCase, place: int) -> int:
        x, factors = self._operands(case)
        row, column = divmod(place, x.shape[1])
        first, i = row - row % len(factors), row % len(factors)
        rows = [int(code) for code in x[first : first + len(factors), column]] + [0] * len(factors)
        codes = [apply_one("mul", code, int(factor)) for code, factor in zip(rows, factors, strict=False)]
        while len(codes) > 1:
            op = "sub" if i & 1 else "add"
            codes, i = [apply_one(op, a, b) for a, b in zip(codes[::2], codes[1::2], strict=True)], i >> 1
        return codes[0]

    @staticmethod
    def _operands(case: NodeCase) -> tuple[Codes, Codes]:
        """x and the factors, as FP32."""
        case.needs(2)
        words = case.inputs[1].reshape(-1)
        if len(words) not in hadamard.SIZES:
            raise Error(f"a Hadamard transform by {len(words)} words")
        return matrix(case.values(0)), hadamard.sign_factors(words).view(np.uint32)


def _into(op: str, a: Codes, b: Codes, out: Codes) -> None:
    out[...] = apply(op, a, b)


class OneHot(ByElement):
    """For each number from 0 a row of `count` zeros, with a one in that place."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        count = case.integer("count", 1, 1 << 20)
        return [np.where(case.inputs[0].reshape(-1, 1) == np.arange(count), ONE, 0).astype(np.uint32)]

    def element(self, case: NodeCase, place: int) -> int:
        row, column = divmod(place, case.integer("count", 1, 1 << 20))
        return ONE if int(case.inputs[0].reshape(-1)[row]) == column else 0


def rows(case: NodeCase) -> Codes:
    """The codes of the first input, with one row for each result. Raises Error for an empty last axis."""
    x = case.values(0)
    if not x.ndim or not x.shape[-1]:
        raise Error(f"expects a last axis with elements, not an array of shape {x.shape}")
    return np.ascontiguousarray(x).reshape(-1, x.shape[-1])
