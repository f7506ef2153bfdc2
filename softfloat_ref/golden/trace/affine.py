"""Operations of a trace on affine integers (Qint)."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

import numpy as np

from softfloat_ref.arrays import affine
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.case import FP32, ByElement, Codes, NodeCase, OracleCodes
from softfloat_ref.golden.trace.conversions import policy_of
from softfloat_ref.oracle.affine import (
    AffineFormat,
    Parameters,
    choose,
    dequantize_value,
    get_affine_format,
    quantize_value,
)
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import compare


def _format(case: NodeCase) -> AffineFormat:
    return get_affine_format(str(case.options.get("format")))


def _axis(case: NodeCase, x: Codes) -> int | None:
    axis = case.options.get("axis")
    if axis is not None and (type(axis) is not int or not 0 <= axis < x.ndim):
        raise Error(f"option axis = {axis!r}, but the tensor has {x.ndim} axes")
    return axis


def _signed(codes: Codes, fmt: AffineFormat) -> Codes:
    """Integers from their bits."""
    wide = codes.astype(np.int32)
    half = np.int32(1 << (fmt.bits - 1))
    return (wide ^ half) - half if fmt.signed else wide


class AffineRange:
    """Input x: scale and zero point from its smallest and largest finite value, per tensor or per channel."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1, 2)
        x, fmt = case.values(0), _format(case)
        array = affine.encode(x.view(np.float32), fmt, axis=_axis(case, x))
        mask = (1 << fmt.bits) - 1
        return [array.scales.view(np.uint32), (array.zero_points & mask).astype(np.uint32)]

    def units(self, case: NodeCase) -> int:
        """One per channel."""
        return case.outputs[0].size

    def one(self, case: NodeCase, unit: int) -> list[OracleCodes]:
        x, fmt = case.values(0), _format(case)
        axis = _axis(case, x)
        own = x.reshape(-1) if axis is None else np.moveaxis(x, axis, 0)[unit].reshape(-1)
        decode = decoder(FP32)
        values = [decode(0), *(v for v in map(decode, np.unique(own).tolist()) if v.is_finite)]
        order = cmp_to_key(compare)
        chosen = choose(min(values, key=order), max(values, key=order), fmt)
        return [
            OracleCodes(0, [unit], [chosen.scale]),
            OracleCodes(1, [unit], [chosen.zero_point & ((1 << fmt.bits) - 1)]),
        ]


class _WithParameters(ByElement):
    """Inputs: a tensor, scale, zero point."""

    @staticmethod
    def arguments(case: NodeCase) -> dict[str, Any]:
        """Scale and zero point as `affine.encode` takes them."""
        fmt = _format(case)
        return {"scale": case.values(1).view(np.float32), "zero_point": _signed(case.inputs[2], fmt)}

    def parameters(self, case: NodeCase, place: int) -> Parameters:
        """The parameters of one element."""
        x = case.inputs[0]
        axis = _axis(case, x)
        channel = 0 if axis is None else int(np.unravel_index(place, x.shape)[axis])
        zero = _signed(case.inputs[2], _format(case)).reshape(-1)[channel]
        return Parameters(int(case.values(1).reshape(-1)[channel]), int(zero))


class AffineIntegers(_WithParameters):
    """Inputs x, scale, zero point, and random words if the rounding takes some: the integers of an affine format."""

    def compute(self, case: NodeCase) -> list[Codes]:
        policy = policy_of(case, 3)
        x = case.values(0)
        words = case.inputs[3].reshape(x.shape) if policy.random_count else None
        array = affine.encode(
            x.view(np.float32),
            _format(case),
            axis=_axis(case, x),
            profile="exact",
            policy=policy,
            random_bits=words,
            **self.arguments(case),
        )
        return [array.codes]

    def element(self, case: NodeCase, place: int) -> int:
        policy, fmt = policy_of(case, 3), _format(case)
        value = decoder(FP32, policy.flush_inputs)(int(case.values(0).reshape(-1)[place]))
        word = int(case.inputs[3].reshape(-1)[place]) if policy.random_count else 0
        q = quantize_value(value, self.parameters(case, place), fmt, "exact", policy, word)
        return q & ((1 << fmt.bits) - 1)


class AffineValues(_WithParameters):
    """Integers, scale, zero point: (q - zero point) times scale, the exact product rounded to FP32."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(3)
        fmt, arguments = _format(case), self.arguments(case)
        q = _signed(case.inputs[0], fmt)
        array = affine.AffineArray(q, arguments["scale"], arguments["zero_point"], fmt, _axis(case, q))
        return [array.decode().view(np.uint32)]

    def element(self, case: NodeCase, place: int) -> int:
        q = int(_signed(case.inputs[0].reshape(-1)[place : place + 1], _format(case))[0])
        return dequantize_value(q, self.parameters(case, place))
