"""How the tensors of a role are stored: in a scalar format, in blocks, as affine integers, with a shared exponent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import affine, blocks, convert
from softfloat_ref.arrays.affine_array import spread_along
from softfloat_ref.arrays.block_encoding import encode_by
from softfloat_ref.arrays.block_setting import BlockSetting, setting
from softfloat_ref.arrays.errors import reach
from softfloat_ref.arrays.kernels import dispatch
from softfloat_ref.base.errors import Error
from softfloat_ref.nn.observers import Observer
from softfloat_ref.nn.tensor_format import TensorFormat
from softfloat_ref.oracle.affine import AffineFormat
from softfloat_ref.oracle.blocks.formats import TENSOR, BlockFormat
from softfloat_ref.oracle.blocks.quantize import resolve
from softfloat_ref.oracle.blocks.scales import scale_of
from softfloat_ref.oracle.codec import decode, to_value
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.oracle.sources import Philox, RandomSource

Array = NDArray[np.float32]
FP32: Final = CATALOGUE["fp32"]
_TABLE_BITS: Final = 16


class Quantizer(Protocol):
    """One format under one policy. by_product: it quantizes at each product, along the axis that is reduced."""

    fmt: Any  # a scalar, block or affine format
    policy: Policy
    by_product: bool = False

    @cached_property
    def stochastic(self) -> bool:
        """Whether it rounds stochastically."""
        return self.policy.random_count > 0

    def values(self, x: Array, source: RandomSource | None, axis: int = -1, training: bool = True) -> Array:
        """The values of x after quantization, each rounded once; source: random bits by position, of a stochastic
        rounding (none: to nearest even instead, as in inference). axis: of blocks. training: whether
        ranges are learned from x."""

    def operand(self, x: Array, source: RandomSource | None, axis: int) -> tuple[Any, Any]:
        """What a bit-exact product takes: a BlockArray of x, or the codes of values that are quantized already, and
        their format. Raises Error for formats without such products."""

    def beyond(self, x: Array, source: RandomSource | None, axis: int = -1) -> NDArray[np.bool_]:
        """Which finite values of x are beyond the largest one of the format (of their block), given the arguments of
        `values`, after it."""

    def largest(self) -> float:
        """The largest finite magnitude; infinite where each block or tensor has its own."""
        return float("inf")

    def state(self) -> dict[str, Array]:
        """The ranges that were seen, for a checkpoint."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from a stored state."""
        del state

    def rounding(self, source: RandomSource | None) -> tuple[Policy, RandomSource | None]:
        """The policy and the random bits for one tensor; without a source, stochastic roundings are to nearest even."""
        if not self.stochastic:
            return self.policy, None
        return (self.policy if source is not None else self.policy.replace(rounding="rne", sr_bits=None)), source


def quantizer(spec: TensorFormat) -> Quantizer | None:
    """The quantizer of a spec; None for FP32, which needs none. Raises Error."""
    fmt = spec.resolved()
    if isinstance(fmt, AffineFormat):
        return AffineQuantizer(fmt, spec)
    if isinstance(fmt, BlockFormat):
        if fmt.rows > 1:
            raise Error(f"{fmt.name}: training takes blocks of one row, not of {fmt.size_name}")
        if resolve(fmt, spec.profile)[1].arithmetic in ("fp32-inverse", "fp32-amax"):
            raise Error(f"{fmt.name}: training takes tensor scales that multiply; another profile than {spec.profile}")
        if fmt.size == TENSOR and resolve(fmt, spec.profile)[1].scale_search != "none":
            raise Error(f"{fmt.name}: one scale for a tensor is not searched in training; not {spec.profile}")
        return SharedQuantizer(fmt, spec) if fmt.size == TENSOR else BlockQuantizer(fmt, spec)
    if fmt == FP32 and not spec.resolved_policy().flush_inputs:
        return None
    return ScalarQuantizer(fmt, spec)


class ScalarQuantizer(Quantizer):
    """A scalar format."""

    def __init__(self, fmt: Format, spec: TensorFormat) -> None:
        if convert.value_dtype(fmt) != np.float32:
            raise Error(f"{fmt.name}: float32 does not hold its values; a tensor's format must fit in float32")
        self._prepare(fmt, spec.resolved_policy())

    def _prepare(self, fmt: Format, policy: Policy) -> None:
        self.fmt, self.policy = fmt, policy
        self._nearest = rounding(fmt, self.rounding(None)[0])
        self._own = stochastic_rounding(fmt, policy) if self.stochastic else None
        self._largest = float(decode(fmt.max_code, fmt))

    def __getstate__(self) -> tuple[Format, Policy]:
        return self.fmt, self.policy  # the loops cannot be pickled

    def __setstate__(self, state: tuple[Format, Policy]) -> None:
        self._prepare(*state)

    def values(self, x: Array, source: RandomSource | None, axis: int = -1, training: bool = True) -> Array:
        return self._nearest(x) if source is None or self._own is None else self._own(x, source)

    def operand(self, x: Array, source: RandomSource | None, axis: int) -> tuple[Any, Any]:
        return convert.encode(x, self.fmt), self.fmt

    def beyond(self, x: Array, source: RandomSource | None, axis: int = -1) -> NDArray[np.bool_]:
        low, high = reach(self.fmt)
        return np.isfinite(x) & ((x > high) | (x < low))

    def largest(self) -> float:
        return self._largest


@lru_cache(maxsize=1024)
def rounding(fmt: Format, policy: Policy) -> Callable[[Array], Array]:
    """`convert.quantize` without random bits, straight to the compiled loop whatever the size."""
    quick, propagates = _quick(fmt, policy), policy.nan_rule.propagate != "no"
    loop = None if quick is None else dispatch.values_loop(fmt, quick)
    if loop is None:
        return lambda x: convert.quantize(x, fmt, policy)
    kernel, rest = loop

    def work(x: Array) -> Array:
        if propagates and bool(np.isnan(x).any()):
            return convert.quantize(x, fmt, policy)
        source = x if x.flags.c_contiguous else np.ascontiguousarray(x)
        values = np.empty(x.shape, np.float32)
        if x.size:
            kernel(dispatch.read_only(source.reshape(-1).view(np.uint32)), values.reshape(-1).view(np.uint32), *rest)
        return values

    return work


@lru_cache(maxsize=1024)
def stochastic_rounding(fmt: Format, policy: Policy) -> Callable[[Array, RandomSource], Array]:
    """`convert.quantize` with a source of random bits, straight to the compiled loops whatever the size."""
    if fmt.width > _TABLE_BITS or (loop := dispatch.stochastic_loop(fmt, policy)) is None:
        return lambda x, source: convert.quantize(x, fmt, policy, source)
    values = _values(fmt)

    def work(x: Array, source: RandomSource) -> Array:
        if x.dtype != np.float32 or type(source) is not Philox:
            return convert.quantize(x, fmt, policy, source)
        rounded_values = np.empty(x.shape, np.float32)
        if x.size:
            loop(np.ascontiguousarray(x).reshape(-1).view(np.uint32), source, values, rounded_values.reshape(-1))
        return rounded_values

    return work


@lru_cache(maxsize=256)
def _values(fmt: Format) -> Array:
    """The value of each code."""
    return convert.decode(np.arange(1 << fmt.width, dtype=convert.code_dtype(fmt)), fmt)


def _quick(fmt: Format, policy: Policy) -> Policy | None:
    """A policy under which numbers but NaN come out the same, and the compiled loop takes them, if there is one.

    Where FP32 subnormals are flushed on the way in and the target's normals begin where FP32's do, no result is tiny,
    so that flushing results changes nothing.
    """
    if policy.flush_outputs and policy.flush_inputs and fmt.emin == FP32.emin:
        policy = policy.replace(flush_outputs=False)
    if policy.nan_rule.propagate != "no":
        policy = policy.replace(nan="overflow-signed" if policy.nan_rule.overflow_signed else "canonical")
    return policy if dispatch.can_quantize(FP32, fmt, policy) else None


class BlockQuantizer(Quantizer):
    """A block format: blocks along the axis that the product reduces."""

    by_product = True

    def __init__(self, fmt: BlockFormat, spec: TensorFormat) -> None:
        self.fmt, self.profile = resolve(fmt, spec.profile)
        own = spec.policy is not None
        self.policy = spec.resolved_policy() if own else get_policy(None, rounding=self.profile.rounding)
        self._settings: dict[bool, BlockSetting] = {}

    def operand(self, x: Array, source: RandomSource | None, axis: int) -> tuple[Any, Any]:
        return self._array(x, source, axis), None

    def _array(self, x: Array, source: RandomSource | None, axis: int) -> blocks.BlockArray:
        policy, bits = self.rounding(source)
        key = bits is None  # with and without random bits, found once: of small tensors, that would be much of the work
        if key not in self._settings:
            self._settings[key] = setting(self.fmt, self.profile, policy)
        return encode_by(self._settings[key], np.ascontiguousarray(x), bits, axis=axis)

    def values(self, x: Array, source: RandomSource | None, axis: int = -1, training: bool = True) -> Array:
        return self._array(x, source, axis).decode()

    def beyond(self, x: Array, source: RandomSource | None, axis: int = -1) -> NDArray[np.bool_]:
        return blocks.beyond(x, self._array(x, source, axis))


class SharedQuantizer(BlockQuantizer):
    """FlexFP with a dynamic shared exponent bias: a scalar format whose bias follows the tensor's largest magnitude.

    The values are those of `blocks.quantize` with flexfp_eXmY: a scale of 2^k over elements of bias b is a format of
    bias b - k (as long as both lie within FP32's range).
    """

    by_product = False

    def __init__(self, fmt: BlockFormat, spec: TensorFormat) -> None:
        super().__init__(fmt, spec)
        self.policy = self.policy.replace(overflow=self.profile.overflow)

    def values(self, x: Array, source: RandomSource | None, axis: int = -1, training: bool = True) -> Array:
        """The values under the bias of this tensor."""
        fmt = self.tensor_format(x)
        if fmt is None:
            return super().values(x, source, axis)
        policy, random_bits = self.rounding(source)
        if random_bits is None:
            return rounding(fmt, policy)(x)
        return stochastic_rounding(fmt, policy)(x, random_bits)

    def tensor_format(self, x: Array) -> Format | None:
        """The scalar format of a tensor; None where the blocks' own way must do it: NaN, Inf, the ends of the range."""
        element = self.fmt.element
        amax = max(abs(float(x.max(initial=0.0))), abs(float(x.min(initial=0.0))))
        if not np.isfinite(amax) or amax == 0 or element.nan != "ieee" or not element.exponent_bits:
            return None
        code = scale_of(to_value(amax, 0), self.fmt, self.profile)
        return _biased(self.fmt, code)

    def operand(self, x: Array, source: RandomSource | None, axis: int) -> tuple[Any, Any]:
        """Not supported: no accumulator is documented with a scale for a whole tensor."""
        raise Error(
            f'{self.fmt.name}: accumulators do not support one scale for a whole tensor; use accumulator = "blas"'
        )


@lru_cache(maxsize=512)
def _biased(fmt: BlockFormat, scale: int) -> Format | None:
    """The element under a scale as a scalar format, where FP32 holds it with normals to spare."""
    element, power = fmt.element, decode(scale, fmt.scale)
    if not power.is_finite or power.significand != 1:
        return None
    exponents, mantissa, bias = element.exponent_bits, element.mantissa_bits, element.bias - power.exponent
    moved = get_format(f"s1e{exponents}m{mantissa}b{bias}")
    return moved if moved.emin >= FP32.emin and moved.emax <= FP32.emax else None


class AffineQuantizer(Quantizer):
    """Affine integers: scale and zero point from the range of the tensor, or from a moving average of ranges, which
    inference takes as it is."""

    def __init__(self, fmt: AffineFormat, spec: TensorFormat) -> None:
        self.fmt, self.axis, self.policy = fmt, spec.axis, spec.resolved_policy()
        moving = spec.observer != "minmax"
        self._average = Observer(spec.observer, spec.axis, spec.momentum) if moving else None

    def values(self, x: Array, source: RandomSource | None, axis: int = -1, training: bool = True) -> Array:
        parameters = self._parameters(x, training)
        return affine.quantize(np.ascontiguousarray(x), self.fmt, *self.rounding(source), axis=self.axis, **parameters)

    def beyond(self, x: Array, source: RandomSource | None, axis: int = -1) -> NDArray[np.bool_]:
        """Beyond the range by more than half a step: half a step is what the zero point was rounded by."""
        integers = affine.encode(x, self.fmt, *self.rounding(source), axis=self.axis, **self._parameters(x, False))
        spread = spread_along(x.ndim, integers.axis)
        step, zero = (spread(part.astype(np.float64)) for part in (integers.scales, integers.zero_points))
        low, high = (self.fmt.lowest - 0.5 - zero) * step, (self.fmt.highest + 0.5 - zero) * step
        outside: NDArray[np.bool_] = np.isfinite(x) & ((x > high) | (x < low))
        return outside

    def _parameters(self, x: Array, training: bool) -> dict[str, Any]:
        """Scale and zero point of the averaged range; nothing for the tensor's own."""
        if self._average is None:
            return {}
        if training or not self._average.state():
            self._average.observe(x)
        scale, zero_point = self._average.parameters(self.fmt)
        return {"scale": scale, "zero_point": zero_point}

    def operand(self, x: Array, source: RandomSource | None, axis: int) -> tuple[Any, Any]:
        """Not supported: an affine product is one of integers, with corrections."""
        raise Error(f"{self.fmt.name}: accumulators do not support affine integers; use accumulator = 'blas'")

    def state(self) -> dict[str, Array]:
        return {} if self._average is None else self._average.state()

    def restore(self, state: Mapping[str, Array]) -> None:
        if self._average is not None:
            self._average.restore(dict(state))


# -- watching ----------------------------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """A tensor before and after quantization. beyond: computes which finite values were beyond the largest one."""

    before: Array
    after: Array
    beyond: Callable[[], NDArray[np.bool_]]


class WatchedQuantizer(Quantizer):
    """Does what another quantizer does, and shows each tensor."""

    def __init__(self, by: Quantizer, see: Callable[[Seen], object]) -> None:
        self.fmt, self.policy, self.by_product = by.fmt, by.policy, by.by_product
        self._by, self._see = by, see

    def values(self, x: Array, source: RandomSource | None, axis: int = -1, training: bool = True) -> Array:
        values = self._by.values(x, source, axis, training)
        self._see(Seen(x, values, lambda: self._by.beyond(x, source, axis)))
        return values

    def operand(self, x: Array, source: RandomSource | None, axis: int) -> tuple[Any, Any]:
        operand = self._by.operand(x, source, axis)
        if self.by_product:  # values in a scalar format were quantized, and seen, before
            self._see(Seen(x, operand[0].decode(), lambda: self._by.beyond(x, source, axis)))
        return operand

    def beyond(self, x: Array, source: RandomSource | None, axis: int = -1) -> NDArray[np.bool_]:
        return self._by.beyond(x, source, axis)

    def largest(self) -> float:
        return self._by.largest()

    def state(self) -> dict[str, Array]:
        return self._by.state()

    def restore(self, state: Mapping[str, Array]) -> None:
        self._by.restore(state)
