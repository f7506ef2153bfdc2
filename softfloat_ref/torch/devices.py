"""Fake quantization of tensors where they are: by the Triton kernels of triton_loops.py, with the bits of the scalar
model. What has no kernel, and everything where triton is not installed, is copied to the CPU, which is said once."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Final

import torch

from softfloat_ref.arrays.block_setting import BlockSetting, setting
from softfloat_ref.arrays.exponents import AnyFormat
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.tensor_scales import FP32_ONE, tensor_scale_code
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.torch import device_plans

FP32: Final = CATALOGUE["fp32"]
DEVICE_TYPES: Final = ("cuda",)  # whose tensors Triton's kernels take
_SOURCES: Final = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}
_SPAN: Final = 1024  # values of a program
_HIDDEN: Final = 1 << FP32.mantissa_bits
_REASONS: Final[set[str]] = set()  # that were said


def values_in(fmt: AnyFormat, x: Any, policy: Policy | None, clip: bool, options: Mapping[str, Any]) -> Any | None:
    """The values of a tensor in a format, computed on its device; None if that has to be done on the CPU. clip: whether
    it is asked which values were inside. Raises Error."""
    if x.device.type not in DEVICE_TYPES:
        return None
    kernel = None if clip else _kernel(fmt, x, policy, options)
    if kernel is None or find_spec("triton") is None:
        _say("triton is not installed" if kernel else f"{fmt.name} with these options has no kernel")
        return None
    return kernel()


def _say(why: str) -> None:
    """Warn, once for a reason."""
    if why not in _REASONS:
        _REASONS.add(why)
        warnings.warn(f"fake_quantize: a tensor of a GPU is copied to the CPU and back: {why}", stacklevel=2)


def _kernel(fmt: AnyFormat, x: Any, policy: Policy | None, options: Mapping[str, Any]) -> Callable[[], Any] | None:
    """What computes the values; None if no kernel does."""
    source = _SOURCES.get(x.dtype, "")
    if isinstance(fmt, Format) and not options:
        scalar = device_plans.scalar_plan(fmt, get_policy(policy), source)
        return scalar and functools.partial(scalar_values, scalar, x)
    if not isinstance(fmt, BlockFormat) or not options.keys() <= {"axis", "profile", "tensor_scale"}:
        return None
    chosen = setting(fmt, options.get("profile"), policy)
    plan, axis = device_plans.block_plan(chosen, source), options.get("axis", -1)
    if plan is None or not -x.ndim <= axis < x.ndim:
        return None
    if chosen.profile.tail == "refuse" and x.shape[axis] % plan.size:
        return None
    return functools.partial(block_values, plan, chosen, x, axis, options.get("tensor_scale"))


def _bits(x: Any) -> Any:
    """The bits of a contiguous tensor."""
    return x.view(torch.int32 if x.dtype == torch.float32 else torch.int16)


def scalar_values(plan: device_plans.ScalarPlan, x: Any) -> Any:
    """The values of a tensor in a scalar format, where the tensor is."""
    from softfloat_ref.torch import triton_loops

    values = x.detach().resolve_neg().contiguous()
    result = torch.empty_like(values)
    programs = -(-values.numel() // _SPAN)
    if programs:
        triton_loops.quantize_values[(programs,)](_bits(values), _bits(result), values.numel(), plan, _SPAN)
    return result


def block_values(plan: device_plans.BlockPlan, chosen: BlockSetting, x: Any, axis: int, tensor_scale: Any) -> Any:
    """The values of a tensor in a block format, where the tensor is. Raises Error."""
    from softfloat_ref.torch import triton_loops

    values = x.detach().resolve_neg().movedim(axis, -1)
    length = values.shape[-1]
    second, exponent = _second(chosen, values, tensor_scale)
    rows = torch.nn.functional.pad(values, (0, -length % plan.size)).contiguous()
    result = torch.empty_like(rows)
    blocks = rows.numel() // plan.size
    width = 1 << (plan.size - 1).bit_length()
    together = max(_SPAN // width, 1)
    if blocks:
        table = _table(chosen, x.device) if plan.by_table else _bits(rows)
        grid = (-(-blocks // together),)
        arguments = _bits(rows), _bits(result), table, blocks, second, exponent, plan, together, width
        triton_loops.quantize_blocks[grid](*arguments)
    return result[..., :length].movedim(-1, axis).contiguous()


@functools.lru_cache(maxsize=64)
def _table(chosen: BlockSetting, device: Any) -> Any:
    table = device_plans.scale_table(chosen)
    if table is None:
        raise Error(f"{chosen.fmt.name}: no table of scales")
    return torch.from_numpy(table.view("int32").copy()).to(device)


def _second(chosen: BlockSetting, values: Any, tensor_scale: Any) -> tuple[int, int]:
    """The tensor's scale: its significand and its exponent."""
    if tensor_scale is not None:
        code = tensor_scale_code(tensor_scale)
    elif chosen.profile.two_levels:
        magnitudes = values.abs().float()
        finite = torch.where(magnitudes.isfinite(), magnitudes, 0.0)
        code = chosen.tensor_scale(int(finite.max().view(torch.int32)) if finite.numel() else 0)
    else:
        code = FP32_ONE
    field, fraction = code >> FP32.mantissa_bits, code & (_HIDDEN - 1)
    return (fraction + (_HIDDEN if field else 0)), max(field, 1) - 1 + FP32.emin - FP32.mantissa_bits
