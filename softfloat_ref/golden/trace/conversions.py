"""Operations of a trace that change formats, draw random bits, or multiply matrices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from softfloat_ref.arrays import blocks, convert
from softfloat_ref.arrays.block_array import tensor_scale_value
from softfloat_ref.arrays.matmul import Matrix, multiply
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.case import FP32, ONE, ByElement, Codes, NodeCase, OracleCodes, canonical
from softfloat_ref.golden.trace.model import MAX_SIZE, block_format
from softfloat_ref.oracle.accumulate import define_accumulator
from softfloat_ref.oracle.accumulate.dots import run, setting
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.profiles import define_profile
from softfloat_ref.oracle.blocks.quantize import quantize_block
from softfloat_ref.oracle.blocks.scales import largest_magnitude
from softfloat_ref.oracle.blocks.tensor_scales import tensor_scale_code, tensor_scale_of
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.oracle.sources import RandomSource, parse_source


class Random(ByElement):
    """The random words of a source, by position. transposed: of matrices over the last two axes, stored transposed, as
    the values that they round."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(0)
        source, n = self._source(case)
        shape = case.outputs[0].shape
        words = source.array(n, 0, case.outputs[0].size)
        if case.options.get("transposed"):
            return [np.ascontiguousarray(words.reshape(*shape[:-2], shape[-1], shape[-2]).swapaxes(-1, -2))]
        return [words.reshape(shape)]

    def element(self, case: NodeCase, place: int) -> int:
        source, n = self._source(case)
        shape = case.outputs[0].shape
        if case.options.get("transposed"):
            rows, columns = shape[-2:]
            matrix, (row, column) = place // (rows * columns), divmod(place % (rows * columns), columns)
            place = matrix * rows * columns + column * rows + row
        return int(source.bits(n, place, 1)[0])

    @staticmethod
    def _source(case: NodeCase) -> tuple[RandomSource, int]:
        if case.options.get("transposed") and len(case.outputs[0].shape) < 2:
            raise Error("only random words of matrices are transposed")
        return parse_source(str(case.options.get("source"))), case.outputs[0].fmt.width


class Convert(ByElement):
    """Inputs x, and random words if the rounding takes some: each FP32 value rounded once to the format."""

    def compute(self, case: NodeCase) -> list[Codes]:
        policy = policy_of(case)
        x, words = case.values(0), case.inputs[1] if policy.random_count else None
        shaped = None if words is None else words.reshape(x.shape)
        return [np.asarray(convert.encode(x.view(np.float32), case.outputs[0].fmt, policy, shaped))]

    def element(self, case: NodeCase, place: int) -> int:
        policy = policy_of(case)
        word = int(case.inputs[1].reshape(-1)[place]) if policy.random_count else 0
        value = decoder(FP32, policy.flush_inputs)(int(case.values(0).reshape(-1)[place]))
        return int(encoder(case.outputs[0].fmt, policy)(value, word)[0])


def policy_of(case: NodeCase, inputs: int = 1, outputs: int = 1) -> Policy:
    """The policy of a node that takes `inputs` inputs, and random words if its rounding takes some. Raises Error."""
    policy = get_policy(_table(case, "policy"))
    case.needs(inputs + (policy.random_count > 0), outputs)
    return policy


def _table(case: NodeCase, name: str) -> dict[str, Any]:
    table = case.options.get(name)
    if not isinstance(table, dict):
        raise Error(f"option {name} is missing")
    return table


class _QuantizeInputs(NamedTuple):
    fmt: BlockFormat
    profile: Profile
    policy: Policy
    x: Codes  # (others, k): FP32 codes
    words: Codes | None

    @property
    def across(self) -> int:
        """Blocks in a row."""
        return -(-int(self.x.shape[1]) // self.fmt.size)

    def tensor_scale(self) -> int:
        """The code of the second-level scale, of the whole matrix; of 1 if there is none."""
        decode = decoder(FP32, self.policy.flush_inputs)
        values = map(decode, self.x.reshape(-1).tolist() if self.profile.two_levels else ())
        amax = largest_magnitude([v for v in values if v.is_finite and not v.is_zero])
        return tensor_scale_of(amax, self.fmt, self.profile)


class QuantizeBlocks:
    """Inputs x, a matrix, and random words if the rounding takes some: elements and scales, blocks along `axis` of x;
    and the second-level scale, of a profile that has one.

    Elements and scales are stored with that axis last, as matrix products take them.
    """

    def compute(self, case: NodeCase) -> list[Codes]:
        b = self._read(case)
        array = blocks.encode(
            np.ascontiguousarray(b.x).view(np.float32),
            b.fmt,
            axis=1,
            profile=b.profile,
            policy=b.policy,
            random_bits=b.words,
        )
        second = [np.array(tensor_scale_code(array.tensor_scale), np.uint32)] if b.profile.two_levels else []
        return [array.codes, array.scales, *second]

    def units(self, case: NodeCase) -> int:
        """One per block."""
        b = case.once("blocks", lambda: self._read(case))
        return len(b.x) * b.across

    def one(self, case: NodeCase, unit: int) -> list[OracleCodes]:
        b = case.once("blocks", lambda: self._read(case))
        row, block = divmod(unit, b.across)
        k = b.x.shape[1]
        part = slice(block * b.fmt.size, min((block + 1) * b.fmt.size, k))
        decode = decoder(FP32, b.policy.flush_inputs)
        values = [decode(code) for code in b.x[row, part].tolist()]
        words = None if b.words is None else b.words[row, part].tolist()
        second = case.once("tensor scale", b.tensor_scale)
        quantized = quantize_block(values, b.fmt, b.profile, b.policy, words, decoder(FP32)(second))
        places = [row * k + i for i in range(*part.indices(k))]
        whole = [OracleCodes(2, [0], [second])] if b.profile.two_levels else []
        return [OracleCodes(0, places, list(quantized.codes)), OracleCodes(1, [unit], [quantized.scale]), *whole]

    @staticmethod
    def _read(case: NodeCase) -> _QuantizeInputs:
        profile = define_profile(_table(case, "profile"))
        policy = policy_of(case, outputs=2 + profile.two_levels)
        fmt, x = block_format(_table(case, "format")), case.values(0)
        if x.ndim != 2 or fmt.size < 1:
            raise Error(f"expects a matrix and a block format, not shape {x.shape} and {fmt.name}")
        x = x if case.integer("axis", 0, 1) else x.T
        words = case.inputs[1].reshape(x.shape) if policy.random_count else None
        return _QuantizeInputs(fmt, profile, policy, x, words)


class DequantizeBlocks(ByElement):
    """Elements and scales, blocks along the last axis, and the second-level scale, of a profile that has one: element
    times scales, the exact product rounded to FP32."""

    def compute(self, case: NodeCase) -> list[Codes]:
        fmt, profile, second = self._read(case)
        array = blocks.BlockArray(case.inputs[0], case.inputs[1], fmt, 1, profile, tensor_scale_value(second, profile))
        return [canonical(array.decode().view(np.uint32))]

    def element(self, case: NodeCase, place: int) -> int:
        fmt, profile, second = self._read(case)
        row, column = divmod(place, case.inputs[0].shape[1])
        element, scale = int(case.inputs[0][row, column]), int(case.inputs[1][row, column // fmt.size])
        return dequantize_to_fp32(scale, [element], fmt, profile, decoder(FP32)(second))[0]

    @staticmethod
    def _read(case: NodeCase) -> tuple[BlockFormat, Profile, int]:
        """Format, profile, and the code of the second-level scale."""
        fmt, profile = block_format(_table(case, "format")), define_profile(_table(case, "profile"))
        case.needs(2 + profile.two_levels)
        inputs = list(zip(case.inputs, case.formats, strict=True))
        _, _, second = _blocks(inputs, fmt, profile.two_levels)
        return fmt, profile, second


class Matmul(ByElement):
    """The matrix product of two operands over the axes `axes`, summed by `accumulator`.

    An operand is a matrix of codes; or elements and scales, whose blocks run along the last axis, and a second-level
    scale where `tensor_scales` says so. c is +0. With `batch` = n, the rows of both are those of n matrices, and there
    are n products, of the first with the first and so on.
    """

    def compute(self, case: NodeCase) -> list[Codes]:
        a, b = self._operands(case)
        unit = define_accumulator(_table(case, "accumulator"))
        s = setting(a.vector(0), b.vector(0), unit, FP32, extrapolate=True)
        n, rows, columns = self._sizes(case, a, b)
        parts = [(_rows(a, i * rows, rows), _rows(b, i * columns, columns)) for i in range(n)]
        return [np.stack([multiply(x, y, s, np.zeros((rows, columns), np.uint32)).view(np.uint32) for x, y in parts])]

    @staticmethod
    def _sizes(case: NodeCase, a: Matrix, b: Matrix) -> tuple[int, int, int]:
        """The number of products, and the rows and columns of each."""
        n = case.integer("batch", 1, MAX_SIZE) if "batch" in case.options else 1
        if len(a.codes) % n or len(b.codes) % n:
            raise Error(f"batch = {n}, but the operands have {len(a.codes)} and {len(b.codes)} rows")
        return n, len(a.codes) // n, len(b.codes) // n

    def element(self, case: NodeCase, place: int) -> int:
        a, b = case.once("operands", lambda: self._operands(case))
        _, rows, columns = self._sizes(case, a, b)
        row, column = divmod(place, columns)
        x, y = a.vector(row), b.vector(row // rows * columns + column)
        s = setting(x, y, define_accumulator(_table(case, "accumulator")), FP32, extrapolate=True)
        return int(run(s, x, y, 0).bits)

    def _operands(self, case: NodeCase) -> tuple[Matrix, Matrix]:
        blocked, axes = case.options.get("blocks"), case.options.get("axes")
        if not isinstance(blocked, list) or len(blocked) != 2 or axes not in ([0, 0], [0, 1], [1, 0], [1, 1]):
            raise Error("options blocks and axes must be lists of two")
        second = case.options.get("tensor_scales", [False, False])
        if not isinstance(second, list) or list(map(type, second)) != [bool, bool]:
            raise Error("option tensor_scales must be a list of two truth values")
        case.needs(2 + sum(x is not None for x in blocked) + sum(second))
        inputs = list(zip(case.inputs, case.formats, strict=True))
        matrices = [self._operand(inputs, *x) for x in zip(blocked, axes, second, strict=True)]
        if matrices[0].k != matrices[1].k or not matrices[0].k:
            raise Error(f"reduces {matrices[0].k} values with {matrices[1].k}")
        return matrices[0], matrices[1]

    @staticmethod
    def _operand(inputs: list[tuple[Codes, Format]], table: Any, axis: int, second: bool) -> Matrix:
        """Takes one to three of the inputs."""
        if table is not None:
            fmt = block_format(table)
            codes, scales, factor = _blocks(inputs, fmt, second)
            return Matrix(fmt.element, codes, fmt.scale, scales, fmt.size, factor)
        element, of = inputs.pop(0)
        if element.ndim != 2 or second:
            raise Error(f"expects matrices, not shape {element.shape}; only blocks have second-level scales")
        return Matrix(of, np.ascontiguousarray(element if axis else element.T))


def _rows(matrix: Matrix, start: int, count: int) -> Matrix:
    """Some of the rows."""
    part, scales = slice(start, start + count), matrix.scales
    return replace(matrix, codes=matrix.codes[part], scales=None if scales is None else scales[part])


def _blocks(inputs: list[tuple[Codes, Format]], fmt: BlockFormat, second: bool) -> tuple[Codes, Codes, int]:
    """Takes two or three of the inputs: elements, scales, and the code of the second-level scale (of 1 if none)."""
    (codes, element), (scales, scale), *rest = (inputs.pop(0) for _ in range(2 + second))
    shape = (len(codes), -(-codes.shape[1] // fmt.size)) if codes.ndim == 2 and fmt.size > 0 else None
    if (element, scale) != (fmt.element, fmt.scale) or scales.shape != shape:
        raise Error(f"elements and scales do not match {fmt.name}")
    if any((x.size, of) != (1, FP32) for x, of in rest):
        raise Error("a second-level scale is one FP32 number")
    return codes, scales, int(rest[0][0].reshape(-1)[0]) if rest else ONE
