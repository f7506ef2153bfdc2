"""`fake_quantize`: the values of a tensor in a format, with the straight-through estimator as the derivative."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from softfloat_ref.arrays.exponents import find_format
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.affine import AffineFormat
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.oracle.sources import keyed
from softfloat_ref.torch import operators, tensors
from softfloat_ref.torch.operators import FakeQuantization


def fake_quantize(
    x: Any,
    fmt: str | torch.dtype | Format | BlockFormat | AffineFormat,
    *,
    axis: int | None = None,
    round: str | None = None,  # noqa: A002  (as the command line's --round)
    policy: Policy | str | Mapping[str, Any] | None = None,
    sr_bits: int | None = None,
    profile: Any = None,
    seed: int | None = None,
    key: str | None = None,
    random_bits: Any = None,
    tensor_scale: float | None = None,
    scale: Any = None,
    zero_point: Any = None,
    clip: bool = False,
) -> Any:
    """The values of a tensor after quantization to a scalar, block or affine format, in its shape, type and device.

    Each value is rounded once from the tensor's own type, as by `softfloat_ref.quantize`; the tensor's type holds the
    result, to nearest even where it is narrower than the values need (float32 is never, for formats it holds).

    axis: of the blocks (default: the last), or of the channels of an affine format (default: per tensor). round,
    policy, sr_bits: how values are rounded. profile: of a block format, or an affine format's rule. seed, key: of the
    random bits of a stochastic rounding, an integer and the tensor's name; or random_bits: a source, its text, a
    Generator of numpy, or integers in x's shape. tensor_scale: the second-level scale of NVFP4, by default from the
    tensor. scale, zero_point: of an affine format, by default from the tensor's range.

    The gradient is that of the identity (the straight-through estimator; Bengio, Leonard and Courville, 2013,
    arXiv:1308.3432). clip: it is zero where a value was beyond the smallest or largest value of the format (under its
    block's scale; of its scale and zero point), NaN or Inf, or did not become a finite number. Raises Error.
    """
    tensors.check_layout(x, operators.FUNCTION)
    options = {"axis": axis, "profile": profile, "tensor_scale": tensor_scale, "scale": scale, "zero_point": zero_point}
    chosen = {name: value for name, value in (*options.items(), ("random_bits", random_bits)) if value is not None}
    arrays = {name: _tensor(value) for name, value in chosen.items() if _is_array(value)}
    numbers = {name: value for name, value in chosen.items() if name not in arrays}
    text = _settings(fmt, policy, round, sr_bits, seed, key, torch.compiler.is_compiling(), **numbers)
    return operators.StraightThrough.apply(x, text, clip, *(arrays.get(name) for name in operators.ARRAYS))[0]


def _is_array(value: Any) -> bool:
    """Whether an operator takes an option as a tensor; floats, too, which torch.compile may take for variables."""
    return isinstance(value, (torch.Tensor, np.ndarray, list, tuple, float))


def _tensor(value: Any) -> Any:
    return torch.tensor(value, dtype=torch.float64) if isinstance(value, float) else torch.as_tensor(value)


@torch.compiler.assume_constant_result
def _settings(
    fmt: Any,
    policy: Any,
    rounding: str | None,
    sr_bits: int | None,
    seed: int | None,
    key: str | None,
    recorded: bool,
    **options: Any,
) -> str:
    """The options of fake_quantize but arrays, as the operator takes them."""
    words = _random(seed, key, options.pop("random_bits", None))
    options |= {} if words is None else {"random_bits": words}
    quantization = FakeQuantization(find_format(fmt), _policy(policy, rounding, sr_bits), options)
    return operators.written(quantization, recorded)


def _policy(policy: Any, rounding: str | None, sr_bits: int | None) -> Policy | None:
    """The policy with its rounding replaced; None where nothing is given, so that profiles choose."""
    fields = {k: v for k, v in (("rounding", rounding), ("sr_bits", sr_bits)) if v is not None}
    return get_policy(policy, **fields) if fields or policy is not None else None


def _random(seed: int | None, key: str | None, random_bits: Any) -> Any:
    """A source of random bits, or what else arrays take; None where none are given."""
    if seed is None and key is None:
        return random_bits
    if random_bits is not None:
        raise Error("give either seed and key, or random_bits")
    return keyed(seed, key)
