"""Fake quantization as an operator of torch: with a shape function, a derivative and a rule for vmap, so that
torch.compile, torch.export and torch.func take it as one node of their graphs.

The node's settings are a text, which any process that imports this package can read. What has no text, such as a
Generator of numpy, is held for the time of a call, and refused where torch records a graph.
"""

from __future__ import annotations

import functools
import itertools
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from softfloat_ref.arrays.exponents import AnyFormat, find_format
from softfloat_ref.base.errors import Error
from softfloat_ref.base.trees import parse_json
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.oracle.sources import is_source
from softfloat_ref.torch import devices, tensors

FUNCTION: Final = "fake_quantize"
NAME: Final = f"softfloat_ref::{FUNCTION}"


@dataclass(frozen=True)
class FakeQuantization:
    """What an operator does to its tensor. options: those of the kind of format, by name; random_bits among them."""

    fmt: AnyFormat
    policy: Policy | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def run(self, x: Any, arrays: Mapping[str, Any], clip: bool) -> tensors.QuantizedValues:
        """The values of a tensor. arrays: the options that are tensors; clip: also say which values were inside."""
        options = {name: array.detach().cpu().numpy() for name, array in arrays.items()} | dict(self.options)
        words = options.pop("random_bits", None)
        values = tensors.exact(x, FUNCTION)
        return tensors.values_in(self.fmt, values, self.policy, words, clip, options)

    @property
    def is_random(self) -> bool:
        return self.policy is not None and self.policy.random_count > 0

    @functools.cached_property
    def text(self) -> str:
        """All of it as JSON; '' if a part has no text. `parsed` reads it."""
        options = {name: v.spec() if is_source(v) else v for name, v in self.options.items()}
        policy = None if self.policy is None else self.policy.to_dict()
        table = {"fmt": self.fmt.name, "policy": policy, "options": options}
        try:
            text = json.dumps(table, sort_keys=True)
            return text if _of_text(text).fmt == self.fmt else ""
        except (Error, TypeError, ValueError):
            return ""


@functools.lru_cache(maxsize=256)
def _of_text(text: str) -> FakeQuantization:
    table = parse_json(text, NAME)
    policy = None if table["policy"] is None else get_policy(table["policy"])
    return FakeQuantization(find_format(table["fmt"]), policy, table["options"])


class _Held(threading.local):
    """The quantization of this thread's last call, if it has no text, by a number."""

    number = ""
    quantization: FakeQuantization | None = None


_HELD: Final = _Held()
_NUMBERS: Final = itertools.count()
_NO_TEXT: Final = (
    f"{FUNCTION}: a graph cannot hold a Generator, or a format or profile of your own; give random bits as seed and "
    "key or as text, and formats and profiles by name"
)


def written(quantization: FakeQuantization, recorded: bool) -> str:
    """The text of a quantization; if a part has none, a number, which means it in this thread until the next call.
    recorded: into a graph. Raises Error."""
    if quantization.text or not recorded:
        if not quantization.text:
            _HELD.number, _HELD.quantization = str(next(_NUMBERS)), quantization
        return quantization.text or _HELD.number
    raise Error(_NO_TEXT)


def parsed(text: str) -> FakeQuantization:
    """What a text says. Raises Error for a number of an earlier call."""
    if not text.isdigit():
        return _of_text(text)
    if text != _HELD.number or _HELD.quantization is None:
        raise Error(_NO_TEXT)
    return _HELD.quantization


# -- the operator: its values, shape, derivative, and what vmap does --------------------------------------------------

ARRAYS: Final = ("scale", "zero_point", "tensor_scale", "random_bits")  # the options that can be tensors
_ARGUMENTS: Final = ", ".join(["Tensor x", "str quantization", "bool clip", *(f"Tensor? {name}" for name in ARRAYS)])


@torch.library.custom_op(NAME, mutates_args=(), schema=f"({_ARGUMENTS}) -> (Tensor, Tensor)")
def operator(x: Any, quantization: str, clip: bool, *arrays: Any) -> tuple[Any, Any]:
    """The values of x, and where they were inside the format's range (no elements if nobody asks)."""
    named = {name: array for name, array in zip(ARRAYS, arrays, strict=True) if array is not None}
    by = parsed(quantization)
    there = devices.values_in(by.fmt, x, by.policy, clip, {**by.options, **named})
    if there is not None:
        return there, x.new_zeros(0, dtype=torch.bool)
    result = by.run(x, named, clip)
    y = tensors.like(result.values, x)
    if y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr():
        y = y.clone()
    inside = torch.zeros(0, dtype=torch.bool) if result.inside is None else torch.from_numpy(result.inside)
    return y, inside.to(x.device)


@operator.register_fake
def _shapes(x: Any, quantization: str, clip: bool, *arrays: Any) -> tuple[Any, Any]:
    tensors.check_type(x, FUNCTION)
    shape = tuple(x.shape) if clip else (0,)
    return x.new_empty(tuple(x.shape)), x.new_empty(shape, dtype=torch.bool)


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.clips = inputs[2]
    if ctx.clips:
        ctx.save_for_backward(output[1])


def _derivative(ctx: Any, gradient: Any, _: Any) -> tuple[Any, ...]:
    if ctx.clips:
        gradient = torch.where(*ctx.saved_tensors, gradient, 0)
    return gradient, None, None, *(None for _ in ARRAYS)


# The same derivative twice: an exported program has the operator's node and trains by the operator's own; torch.func
# and vmap take only that of a Function.
operator.register_autograd(_derivative, setup_context=_keep)


class StraightThrough(torch.autograd.Function):
    """The operator in a call of Python: with its derivative for torch.func, and its rule for vmap."""

    @staticmethod
    def forward(
        x: Any, quantization: str, clip: bool, scale: Any, zero_point: Any, tensor_scale: Any, random_bits: Any
    ) -> Any:
        return operator(x, quantization, clip, scale, zero_point, tensor_scale, random_bits)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output[1])
        _keep(ctx, inputs, output)

    @staticmethod
    def backward(ctx: Any, gradient: Any, inside: Any) -> Any:
        return _derivative(ctx, gradient, inside)

    @staticmethod
    def vmap(info: Any, dims: Any, x: Any, quantization: str, clip: bool, *arrays: Any) -> Any:
        """Each part of the batch by itself, since axes, scales and random bits are those of a whole tensor."""
        if parsed(quantization).is_random and info.randomness != "same":
            raise Error(
                f"{FUNCTION}: vmap would give each part of the batch the same random bits; say so by "
                "randomness='same', or give the whole tensor"
            )
        parts = []
        for i in range(info.batch_size):
            own = [_part(a, d, i) for a, d in zip(arrays, dims[3:], strict=True)]
            parts.append(StraightThrough.apply(_part(x, dims[0], i), quantization, clip, *own))
        return (torch.stack([y for y, _ in parts]), torch.stack([inside for _, inside in parts])), (0, 0)


def _part(x: Any, dim: int | None, index: int) -> Any:
    return x if dim is None else x.select(dim, index)
