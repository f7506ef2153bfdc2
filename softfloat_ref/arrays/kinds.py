"""Arrays of every kind of format through one entry: encode, quantize; saved and loaded."""

from __future__ import annotations

from types import NoneType
from typing import Any, Final

from numpy.typing import ArrayLike

from softfloat_ref.arrays import affine, blocks, convert
from softfloat_ref.arrays.affine_array import AffineArray
from softfloat_ref.arrays.block_array import BlockArray
from softfloat_ref.arrays.convert import Floats
from softfloat_ref.arrays.exponents import AnyFormat, find_format
from softfloat_ref.arrays.random_bits import RandomBits
from softfloat_ref.arrays.scalar_array import ScalarArray
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.affine import AffineFormat
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.formats import Format, warn_of_spelling
from softfloat_ref.oracle.policies import Policy

# The options that each kind of format takes, besides rounding, random bits and buffers.
OPTIONS: Final[dict[type[AnyFormat], tuple[str, tuple[str, ...]]]] = {
    Format: ("a scalar format", ()),
    BlockFormat: ("a block format", ("axis", "profile", "tensor_scale")),
    AffineFormat: ("an affine format", ("axis", "profile", "scale", "zero_point")),
}


def check_options(fmt: AnyFormat, **options: Any) -> dict[str, Any]:
    """The options that are not None. Raises Error for one that has no effect on this kind of format."""
    kind, taken = OPTIONS[type(fmt)]
    chosen = {k: v for k, v in options.items() if v is not None}
    for name in chosen:
        if name not in taken:
            raise Error(f"{name} has no effect on {fmt.name}, which is {kind}; leave it out")
    return chosen


def encode(
    x: ArrayLike,
    fmt: str | AnyFormat,
    policy: Policy | str | None = None,
    random_bits: RandomBits | None = None,
    *,
    seed: int | None = None,
    key: str | None = None,
    axis: int | None = None,
    profile: Any = None,
    tensor_scale: float | None = None,
    scale: ArrayLike | None = None,
    zero_point: ArrayLike | None = None,
    out: Any = None,
) -> ScalarArray | BlockArray | AffineArray:
    """The codes of an array in a scalar, block or affine format, with the format (`softfloat_ref.encode`).

    random_bits, seed, key: for stochastic rounding, as for `arrays.encode`: key is the tensor's name, so that tensors
    under one seed do not share bits. axis: of the blocks (default: the last), or of the channels of an affine format
    (default: per tensor). profile: a block profile, or an affine format's rule. tensor_scale: the second-level scale of
    a block format. scale, zero_point: of an affine format. out: an earlier result, whose arrays are overwritten. Raises
    Error as the encode of the kind does, and for options without effect.
    """
    fmt = find_format(fmt)
    options = check_options(
        fmt, axis=axis, profile=profile, tensor_scale=tensor_scale, scale=scale, zero_point=zero_point
    )
    if isinstance(fmt, AffineFormat):
        return affine.encode(x, fmt, policy, random_bits, seed=seed, key=key, out=out, **options)
    if isinstance(fmt, BlockFormat):
        return blocks.encode(x, fmt, policy, random_bits, seed=seed, key=key, out=out, **options)
    if not isinstance(out, (ScalarArray, NoneType)):
        raise Error(f"out must be a ScalarArray, not {type(out).__name__}")
    codes = None if out is None else out.codes
    return ScalarArray(convert.encode(x, fmt, policy, random_bits, seed=seed, key=key, out=codes), fmt)


def quantize(
    x: ArrayLike,
    fmt: str | AnyFormat,
    policy: Policy | str | None = None,
    random_bits: RandomBits | None = None,
    *,
    seed: int | None = None,
    key: str | None = None,
    axis: int | None = None,
    profile: Any = None,
    tensor_scale: float | None = None,
    scale: ArrayLike | None = None,
    zero_point: ArrayLike | None = None,
    out: Floats | None = None,
) -> Floats:
    """The values of an array after quantization to a scalar, block or affine format (`softfloat_ref.quantize`).

    Arguments as for `encode`. out: the buffer for the result. Raises Error as `encode` does.
    """
    warn_of_spelling(fmt)
    fmt = find_format(fmt)
    options = check_options(
        fmt, axis=axis, profile=profile, tensor_scale=tensor_scale, scale=scale, zero_point=zero_point
    )
    if isinstance(fmt, AffineFormat):
        return affine.quantize(x, fmt, policy, random_bits, seed=seed, key=key, out=out, **options)
    if isinstance(fmt, BlockFormat):
        return blocks.quantize(x, fmt, policy, random_bits, seed=seed, key=key, out=out, **options)
    return convert.quantize(x, fmt, policy, random_bits, seed=seed, key=key, out=out)
