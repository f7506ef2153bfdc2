"""Codes as arrays of ml_dtypes, as tensors of torch and as numpy's long doubles: the same bits under another type,
never converted.

ml_dtypes and torch are imported only when needed.
"""

from __future__ import annotations

import sys
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays import packing
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import check_code
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format

__all__ = [
    "Tensors",
    "from_longdouble",
    "from_ml_dtypes",
    "from_torch",
    "ml_dtype",
    "to_longdouble",
    "to_ml_dtypes",
    "to_torch",
    "torch_dtype",
]

Codes = NDArray[np.unsignedinteger[Any]]

_NUMPY_TYPES: Final = ("float16", "float32", "float64")
_ML_DTYPES_TYPES: Final = (
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
)
_TORCH_TYPES: Final = (
    *_NUMPY_TYPES,
    "bfloat16",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
_FP4_PAIRS: Final = "float4_e2m1fn_x2"  # torch's type for two FP4 codes in a byte, the even one in the low half
# UE4M3 is E4M3 without a sign, with the same codes and values, so NVFP4's scales use the type of E4M3.
_SAME_CODES: Final = {"ue4m3": "fp8_e4m3"}
_BYTES: Final = 10  # of a long double's code


def _dtype_name(fmt: Format, names: tuple[str, ...], package: str) -> str:
    wanted = CATALOGUE.get(_SAME_CODES.get(fmt.name, ""), fmt)
    for name in names:
        if get_format(name) == wanted:
            return name
    known = ", ".join(get_format(name).name for name in names)
    raise Error(f"{package} has no type for {fmt.name}; it has types for {known}")


def _unsigned(codes: Codes, fmt: Format, itemsize: int) -> Codes:
    array = np.asarray(codes)
    if array.dtype.kind != "u" or (array.size and int(array.max()) >> fmt.width):
        raise Error(f"codes of {fmt.name} are unsigned integers of {fmt.width} bits; this is an array of {array.dtype}")
    return np.ascontiguousarray(array, f"u{itemsize}").reshape(array.shape)


def ml_dtype(fmt: str | Format) -> np.dtype[Any]:
    """The type of ml_dtypes or numpy with the codes of a format. Raises Error if there is none."""
    name = _dtype_name(get_format(fmt), (*_NUMPY_TYPES, *_ML_DTYPES_TYPES), "ml_dtypes")
    return np.dtype(name) if name in _NUMPY_TYPES else np.dtype(getattr(_imported("ml_dtypes"), name))


def torch_dtype(fmt: str | Format) -> Any:
    """The type of torch with the codes of a format: of FP4, pairs of them. Raises Error if there is none."""
    fmt = get_format(fmt)
    name = _FP4_PAIRS if fmt == CATALOGUE["fp4_e2m1"] else _dtype_name(fmt, _TORCH_TYPES, "torch")
    torch = _imported("torch")
    if not hasattr(torch, name):
        raise Error(f"this torch has no {name}")
    return getattr(torch, name)


def to_ml_dtypes(codes: Codes, fmt: str | Format) -> NDArray[Any]:
    """Codes as an array of the format's ml_dtypes (or numpy) type, in their shape.

    Raises Error if there is no such type, or if ml_dtypes is not installed.
    """
    fmt, dtype = get_format(fmt), ml_dtype(fmt)
    return _unsigned(codes, fmt, dtype.itemsize).view(dtype)


def from_ml_dtypes(array: NDArray[Any], fmt: str | Format | None = None) -> tuple[Codes, Format]:
    """The codes of an array of ml_dtypes or numpy floats, and their format, which must match `fmt` if given.

    Raises Error for other types, and if a byte has bits set beyond the format's width.
    """
    array = np.asarray(array)
    name = array.dtype.name
    if name not in (*_NUMPY_TYPES, *_ML_DTYPES_TYPES):
        raise Error(f"array of {array.dtype}: not a float type of ml_dtypes or numpy")
    native = array.astype(array.dtype.newbyteorder("="), copy=False) if name in _NUMPY_TYPES else array
    codes = np.ascontiguousarray(native).view(f"u{array.dtype.itemsize}").reshape(array.shape)
    return _as_format(codes, get_format(name), fmt)


def from_longdouble(array: ArrayLike) -> NDArray[np.object_]:
    """The codes of extf80 that an array of numpy's long doubles has, as an array of Python's integers in its shape.

    Raises Error for other types, and where long doubles are not x87's.
    """
    values = np.asarray(array)
    size = _longdouble_size()
    if values.dtype != np.longdouble:
        raise Error(f"array of {values.dtype}: not numpy.longdouble")
    stored = np.ascontiguousarray(values, np.longdouble).tobytes()
    codes = [int.from_bytes(stored[i : i + _BYTES], "little") for i in range(0, len(stored), size)]
    return np.array([*codes, None], np.object_)[:-1].reshape(values.shape)  # None: not a numeric type


def to_longdouble(codes: ArrayLike) -> NDArray[np.longdouble]:
    """Codes of extf80, integers of any type, as an array of numpy's long doubles in their shape.

    Raises Error for anything else, and where long doubles are not x87's.
    """
    array: NDArray[Any] = np.asarray(codes, np.object_)
    size = _longdouble_size()
    stored = b"".join(check_code(x, CATALOGUE["extf80"]).to_bytes(size, "little") for x in array.flat)
    return np.frombuffer(bytearray(stored), np.longdouble).reshape(array.shape)


def _longdouble_size() -> int:
    """The bytes of a long double. Raises Error unless it is x87's format, in its first bytes."""
    size = np.dtype(np.longdouble).itemsize
    if size < _BYTES or sys.byteorder != "little" or np.finfo(np.longdouble).nmant != CATALOGUE["extf80"].mantissa_bits:
        raise Error("numpy.longdouble is not the 80-bit extended format on this machine; only on x86 is it that")
    return size


def to_torch(codes: Codes, fmt: str | Format) -> Any:
    """Codes as a torch tensor of the format's type; FP4 becomes float4_e2m1fn_x2, whose last axis is half as long.

    Raises Error if torch lacks the type or is not installed, and for an odd number of FP4 codes in a row.
    """
    fmt, dtype = get_format(fmt), torch_dtype(fmt)
    if fmt == CATALOGUE["fp4_e2m1"]:
        if codes.ndim == 0 or codes.shape[-1] % 2:
            raise Error(f"torch stores FP4 in pairs along the last axis; its length in shape {codes.shape} is not even")
        whole = packing.ELEMENT_LAYOUTS["low-first"].pack(_unsigned(codes, fmt, 1), fmt.width)
    else:
        whole = _unsigned(codes, fmt, dtype.itemsize)
    # torch supports few operations on its wide unsigned types; the signed types of that size have the same bits
    signed = whole if whole.dtype.itemsize == 1 else whole.view(f"i{whole.dtype.itemsize}")
    return array_to_torch(signed).view(dtype)


def from_torch(tensor: Any, fmt: str | Format | None = None) -> tuple[Codes, Format]:
    """The codes of a torch tensor of floats, on any device, and their format, which must match `fmt` if given.

    Raises Error for anything else.
    """
    torch = _imported("torch")
    if not isinstance(tensor, torch.Tensor):
        raise Error(f"{type(tensor).__name__} is not a torch tensor")
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in (*_TORCH_TYPES, _FP4_PAIRS):
        raise Error(f"tensor of {name}: use one of {', '.join(_TORCH_TYPES)}, {_FP4_PAIRS}")
    size = tensor.element_size()
    signed = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size]
    whole = _dense(tensor).contiguous().view(signed).numpy()
    codes: Codes = whole.view(f"u{size}").copy()
    if name == _FP4_PAIRS:
        codes = packing.ELEMENT_LAYOUTS["low-first"].unpack(codes, 2 * codes.shape[-1], 4)
        return _as_format(codes, CATALOGUE["fp4_e2m1"], fmt)
    return _as_format(codes, get_format(name), fmt)


def _dense(tensor: Any) -> Any:
    """A tensor's numbers in this machine's memory. Raises Error for a tensor that is not an array of numbers."""
    wrong = {
        "a meta tensor has no values": tensor.is_meta,
        "a nested tensor; call .to_padded_tensor(), or take its parts": tensor.is_nested,
        "a quantized tensor; call .dequantize(), or .int_repr() for its integers": tensor.is_quantized,
        "a sparse tensor; call .to_dense()": str(tensor.layout) != "torch.strided",
    }
    for problem, found in wrong.items():
        if found:
            raise Error(problem)
    return tensor.detach().resolve_conj().resolve_neg().cpu()


def as_codes(x: Any, fmt: Format) -> NDArray[Any]:
    """An array of codes as it is given: integers of numpy or torch, or a type of ml_dtypes or torch that holds codes of
    the format. Raises Error for a type of another format."""
    if is_torch(x):
        name = str(x.dtype).removeprefix("torch.")
        held = x.is_floating_point() and not x.is_quantized and name not in _NUMPY_TYPES
        return from_torch(x, fmt)[0] if held else array_from_torch(x)
    array = np.asarray(x)
    return from_ml_dtypes(array, fmt)[0] if array.dtype.name in _ML_DTYPES_TYPES else array


class Tensors(NamedTuple):
    """A quantized array as tensors of torch: what it has of them, None for the rest."""

    elements: Any
    scales: Any = None
    zero_points: Any = None
    tensor_scale: Any = None


def torch_parts(tensors: Any, *names: str) -> list[Any]:
    """The tensors of a quantized array: those of `Tensors`, which must have exactly these names, or a tuple of them in
    this order. A name that begins with "?" may be missing, as None. Raises Error."""
    wanted = [name.removeprefix("?") for name in names]
    if isinstance(tensors, Tensors):
        parts = [getattr(tensors, name) for name in wanted]
        spare = [k for k, v in tensors._asdict().items() if v is not None and k not in wanted]
    else:
        sequence = tensors if isinstance(tensors, (tuple, list)) else (tensors,)
        parts = [*sequence[: len(names)], *[None] * (len(names) - len(sequence))]
        spare = [f"{len(sequence)} tensors"] * (len(sequence) > len(names))
    missing = [name for name, x in zip(names, parts, strict=True) if x is None and not name.startswith("?")]
    if spare or missing:
        has = f"not {', '.join(spare)}" if spare else f"{', '.join(missing)} missing"
        raise Error(f"give the tensors {', '.join(wanted)}: {has}")
    return parts


def number_from_torch(tensor: Any, name: str) -> float:
    """A tensor of one FP32 number. Raises Error for another type or several numbers."""
    array = array_from_torch(tensor)
    if array.dtype != np.float32 or array.size != 1:
        raise Error(f"{name} is one float32, not a tensor of {array.dtype} of shape {array.shape}")
    return float(array.reshape(()))


def array_to_torch(array: NDArray[Any]) -> Any:
    """A copy of an array of numbers as a tensor of the same type."""
    return _imported("torch").from_numpy(np.array(array))


def array_from_torch(tensor: Any) -> NDArray[Any]:
    """A copy of a tensor of numbers, on any device, as an array of the same type. Raises Error."""
    torch = _imported("torch")
    if not isinstance(tensor, torch.Tensor):
        raise Error(f"{type(tensor).__name__} is not a torch tensor")
    try:
        return np.array(_dense(tensor).numpy())
    except TypeError:
        raise Error(f"a tensor of {tensor.dtype}; use a type that numpy has, too") from None


def is_torch(x: object) -> bool:
    """Whether x is a torch tensor. Does not import torch."""
    return type(x).__module__.partition(".")[0] == "torch" and hasattr(x, "element_size")


def _as_format(codes: Codes, own: Format, wanted: str | Format | None) -> tuple[Codes, Format]:
    fmt = own if wanted is None else get_format(wanted)
    if CATALOGUE.get(_SAME_CODES.get(fmt.name, ""), fmt) != own:
        raise Error(f"an array of {own.name} where {fmt.name} is expected")
    if codes.size and int(codes.max()) >> fmt.width:
        raise Error(f"code {int(codes.max()):x} does not fit {fmt.name}, which has {fmt.width} bits")
    return codes, fmt


def _imported(package: str) -> Any:
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError:
        raise Error(f"{package} is not installed; pip install {package}") from None


def __dir__() -> list[str]:
    return sorted(__all__)
