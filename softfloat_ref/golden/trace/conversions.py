"""Operations of a trace that change formats, draw random bits, or multiply matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from softfloat_ref.arrays import blocks, convert
from softfloat_ref.arrays.matmul import Matrix, multiply
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.case import ByElement, Case, Part
from softfloat_ref.golden.trace.model import block_format
from softfloat_ref.golden.trace.numbers import FP32, Codes, canonical
from softfloat_ref.oracle.accumulate import define_accumulator
from softfloat_ref.oracle.accumulate.dots import run, setting
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.profiles import Profile, define_profile
from softfloat_ref.oracle.blocks.quantize import dequantize_to_fp32, quantize_block
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.oracle.sources import RandomSource, parse_source


class Random(ByElement):
    """The random words of a source, by position. transposed: stored transposed, as the values that they round."""

    def compute(self, case: Case) -> list[Codes]:
        case.needs(0)
        source, n = self._source(case)
        shape = case.outputs[0].shape
        words = source.array(n, 0, case.outputs[0].size)
        if case.options.get("transposed"):
            return [np.ascontiguousarray(words.reshape(shape[::-1]).T)]
        return [words.reshape(shape)]

    def element(self, case: Case, place: int) -> int:
        source, n = self._source(case)
        shape = case.outputs[0].shape
        if case.options.get("transposed"):
            row, column = divmod(place, shape[1])
            place = column * shape[0] + row
        return int(source.bits(n, place, 1)[0])

    @staticmethod
    def _source(case: Case) -> tuple[RandomSource, int]:
        if case.options.get("transposed") and len(case.outputs[0].shape) != 2:
            raise Error("only random words of a matrix are transposed")
        return parse_source(str(case.options.get("source"))), case.outputs[0].fmt.width


class Convert(ByElement):
    """Inputs x, and random words if the rounding takes some: each FP32 value rounded once to the format."""

    def compute(self, case: Case) -> list[Codes]:
        policy = policy_of(case)
        x, words = case.values(0), case.inputs[1] if policy.random_count else None
        shaped = None if words is None else words.reshape(x.shape)
        return [np.asarray(convert.encode(x.view(np.float32), case.outputs[0].fmt, policy, shaped))]

    def element(self, case: Case, place: int) -> int:
        policy = policy_of(case)
        word = int(case.inputs[1].reshape(-1)[place]) if policy.random_count else 0
        value = decoder(FP32, policy.flush_inputs)(int(case.values(0).reshape(-1)[place]))
        return int(encoder(case.outputs[0].fmt, policy)(value, word)[0])


def policy_of(case: Case, inputs: int = 1, outputs: int = 1) -> Policy:
    """The policy of a node that takes `inputs` inputs, and random words if its rounding takes some. Raises Error."""
    policy = get_policy(_table(case, "policy"))
    case.needs(inputs + (policy.random_count > 0), outputs)
    return policy


def _table(case: Case, name: str) -> dict[str, Any]:
    table = case.options.get(name)
    if not isinstance(table, dict):
        raise Error(f"option {name} is missing")
    return table


class _Blocks(NamedTuple):
    fmt: BlockFormat
    profile: Profile
    policy: Policy
    x: Codes  # (others, k): FP32 codes
    words: Codes | None

    @property
    def across(self) -> int:
        """Blocks in a row."""
        return -(-int(self.x.shape[1]) // self.fmt.size)


class Quantize:
    """Inputs x, a matrix, and random words if the rounding takes some: elements and scales, blocks along `axis` of x.

    Elements and scales are stored with that axis last, as matrix products take them.
    """

    def compute(self, case: Case) -> list[Codes]:
        b = self._read(case)
        made = blocks.quantize(np.ascontiguousarray(b.x).view(np.float32), b.fmt, 1, b.profile, b.policy, b.words)
        return [made.codes, made.scales]

    def units(self, case: Case) -> int:
        """One per block."""
        b = case.once("blocks", lambda: self._read(case))
        return len(b.x) * b.across

    def one(self, case: Case, unit: int) -> list[Part]:
        b = case.once("blocks", lambda: self._read(case))
        row, block = divmod(unit, b.across)
        k = b.x.shape[1]
        part = slice(block * b.fmt.size, min((block + 1) * b.fmt.size, k))
        decode = decoder(FP32, b.policy.flush_inputs)
        values = [decode(code) for code in b.x[row, part].tolist()]
        words = None if b.words is None else b.words[row, part].tolist()
        found = quantize_block(values, b.fmt, b.profile, b.policy, words)
        places = [row * k + i for i in range(*part.indices(k))]
        return [Part(0, places, list(found.codes)), Part(1, [unit], [found.scale])]

    @staticmethod
    def _read(case: Case) -> _Blocks:
        policy = policy_of(case, outputs=2)
        fmt, x = block_format(_table(case, "format")), case.values(0)
        if x.ndim != 2 or fmt.size < 1:
            raise Error(f"expects a matrix and a block format, not shape {x.shape} and {fmt.name}")
        x = x if case.integer("axis", 0, 1) else x.T
        words = case.inputs[1].reshape(x.shape) if policy.random_count else None
        return _Blocks(fmt, define_profile(_table(case, "profile")), policy, x, words)


class Dequantize(ByElement):
    """Elements and scales, blocks along the last axis: element times scale, the exact product rounded to FP32."""

    def compute(self, case: Case) -> list[Codes]:
        fmt = self._format(case)
        made = blocks.BlockArray(case.inputs[0], case.inputs[1], fmt, 1, define_profile(_table(case, "profile")))
        return [canonical(made.dequantize().view(np.uint32))]

    def element(self, case: Case, place: int) -> int:
        fmt = self._format(case)
        row, column = divmod(place, case.inputs[0].shape[1])
        element, scale = int(case.inputs[0][row, column]), int(case.inputs[1][row, column // fmt.size])
        return dequantize_to_fp32(scale, [element], fmt, define_profile(_table(case, "profile")))[0]

    @staticmethod
    def _format(case: Case) -> BlockFormat:
        case.needs(2)
        fmt, (codes, scales) = block_format(_table(case, "format")), case.inputs
        shape = (len(codes), -(-codes.shape[1] // fmt.size)) if codes.ndim == 2 and fmt.size > 0 else None
        if case.formats != (fmt.element, fmt.scale) or scales.shape != shape:
            raise Error(f"elements and scales do not match {fmt.name}")
        return fmt


class Matmul(ByElement):
    """The matrix product of two operands over the axes `axes`, summed by `accumulator`.

    An operand is a matrix of codes, or elements and scales, whose blocks run along the last axis. c is +0.
    """

    def compute(self, case: Case) -> list[Codes]:
        a, b = self._operands(case)
        unit = define_accumulator(_table(case, "accumulator"))
        s = setting(a.vector(0), b.vector(0), unit, FP32, extrapolate=True)
        return [multiply(a, b, s, np.zeros((len(a.codes), len(b.codes)), np.uint32)).view(np.uint32)]

    def element(self, case: Case, place: int) -> int:
        a, b = case.once("operands", lambda: self._operands(case))
        row, column = divmod(place, len(b.codes))
        x, y = a.vector(row), b.vector(column)
        s = setting(x, y, define_accumulator(_table(case, "accumulator")), FP32, extrapolate=True)
        return int(run(s, x, y, 0).bits)

    def _operands(self, case: Case) -> tuple[Matrix, Matrix]:
        blocked, axes = case.options.get("blocks"), case.options.get("axes")
        if not isinstance(blocked, list) or len(blocked) != 2 or axes not in ([0, 0], [0, 1], [1, 0], [1, 1]):
            raise Error("options blocks and axes must be lists of two")
        case.needs(2 + sum(x is not None for x in blocked))
        inputs = list(zip(case.inputs, case.formats, strict=True))
        found = [self._operand(inputs, fmt, axis) for fmt, axis in zip(blocked, axes, strict=True)]
        if found[0].k != found[1].k or not found[0].k:
            raise Error(f"reduces {found[0].k} values with {found[1].k}")
        return found[0], found[1]

    @staticmethod
    def _operand(inputs: list[tuple[Codes, Format]], table: Any, axis: int) -> Matrix:
        """Takes one or two of the inputs."""
        codes, fmt = inputs.pop(0)
        if codes.ndim != 2:
            raise Error(f"expects matrices, not shape {codes.shape}")
        if table is None:
            return Matrix(fmt, np.ascontiguousarray(codes if axis else codes.T))
        blocked, (scales, scale_format) = block_format(table), inputs.pop(0)
        shape = (len(codes), -(-codes.shape[1] // blocked.size)) if blocked.size > 0 else ()
        if (fmt, scale_format) != (blocked.element, blocked.scale) or scales.shape != shape:
            raise Error(f"elements and scales do not match {blocked.name}")
        return Matrix(fmt, codes, scale_format, scales, blocked.size)
