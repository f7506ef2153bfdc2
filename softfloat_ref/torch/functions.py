"""`fake_quantize`: the values of a tensor in a format, with the straight-through estimator as the derivative."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from softfloat_ref.arrays.exponents import find_format
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.affine import AffineFormat
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.oracle.sources import keyed
from softfloat_ref.torch import tensors
from softfloat_ref.torch.tensors import QuantizedValues, values_in

_FUNCTION = "fake_quantize"


class _StraightThrough(torch.autograd.Function):
    """x to the values of work(x). The gradient passes unchanged, or only where work(x) says inside."""

    @staticmethod
    def forward(x: Any, work: Callable[[Any], QuantizedValues]) -> tuple[Any, Any]:
        quantized = work(tensors.exact(x, _FUNCTION))
        inside = None if quantized.inside is None else torch.from_numpy(quantized.inside).to(x.device)
        return tensors.like(quantized.values, x), inside

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        _, inside = output
        ctx.clips = inside is not None
        if ctx.clips:
            ctx.mark_non_differentiable(inside)
            ctx.save_for_backward(inside)

    @staticmethod
    def backward(ctx: Any, gradient: Any, _: Any) -> tuple[Any, None]:
        if ctx.clips:
            gradient = torch.where(*ctx.saved_tensors, gradient, 0)
        return gradient, None

    @staticmethod
    def vmap(info: Any, dims: Any, x: Any, work: Any) -> Any:
        """Refused: axes, scales and random bits are those of the whole tensor."""
        raise Error(f"{_FUNCTION}: torch.vmap is not supported; give the whole tensor")


@torch.compiler.disable
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
    settings = {
        "axis": axis,
        "profile": profile,
        "tensor_scale": tensor_scale,
        "scale": scale,
        "zero_point": zero_point,
    }
    options = {k: _plain(v) for k, v in settings.items() if v is not None}
    rounding, words = _policy(policy, round, sr_bits), _random(seed, key, random_bits)
    target = find_format(fmt)

    def work(values: Any) -> QuantizedValues:
        return values_in(target, values, rounding, words, clip, options)

    return _StraightThrough.apply(x, work)[0]


def _plain(value: Any) -> Any:
    return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value


def _policy(policy: Any, rounding: str | None, sr_bits: int | None) -> Policy | None:
    """The policy with its rounding replaced; None where nothing is given, so that profiles choose."""
    fields = {k: v for k, v in (("rounding", rounding), ("sr_bits", sr_bits)) if v is not None}
    return get_policy(policy, **fields) if fields or policy is not None else None


def _random(seed: int | None, key: str | None, random_bits: Any) -> Any:
    """A source of random bits, or what else arrays take; None where none are given."""
    if seed is None and key is None:
        return _plain(random_bits)
    if random_bits is not None:
        raise Error("give either seed and key, or random_bits")
    return keyed(seed, key)
