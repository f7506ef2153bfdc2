"""Quantized arrays in .npz files: codes, scales, and the full definition as JSON. Loading a file executes no code.

Members are stored uncompressed, and their headers are checked against their sizes before memory is allocated: a file
cannot request more memory than its own size. Format and profile are stored in full, so a file needs no other file.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.affine_array import AffineArray
from softfloat_ref.arrays.affine_array import from_codes as affine_array
from softfloat_ref.arrays.block_array import BlockArray
from softfloat_ref.arrays.block_array import from_codes as block_array
from softfloat_ref.arrays.convert import code_dtype
from softfloat_ref.arrays.quantized import QuantizedArray
from softfloat_ref.arrays.scalar_array import ScalarArray
from softfloat_ref.arrays.scalar_array import from_codes as scalar_array
from softfloat_ref.base.archives import archive
from softfloat_ref.base.errors import Error, errors_of
from softfloat_ref.base.files import write_file
from softfloat_ref.base.npz import NUMBERS, read_array
from softfloat_ref.base.tables import in_full
from softfloat_ref.base.trees import parse_json
from softfloat_ref.oracle.affine import define_rule, get_affine_format
from softfloat_ref.oracle.blocks.formats import define_block_format
from softfloat_ref.oracle.blocks.profiles import define_profile
from softfloat_ref.oracle.formats import define_format

KIND: Final = "softfloat_ref array 2"
_KIND_OF_BLOCKS: Final = "softfloat_ref blocks 1"  # files of earlier versions, whose tensor scale is an FP32 code
# The members of a file by the kind of its format, besides the definition.
MEMBERS: Final = {
    "scalar": ("codes",),
    "block": ("codes", "scales", "tensor_scale"),
    "affine": ("codes", "scales", "zero_points"),
}
_CLASSES: Final[dict[str, type[QuantizedArray]]] = {"scalar": ScalarArray, "block": BlockArray, "affine": AffineArray}
_MAX_DEFINITION: Final = 1 << 16


def save(path: str | Path, array: QuantizedArray) -> None:
    """Write an array with its definition in full to an .npz file; equal arrays give equal bytes. Raises Error if
    writing fails."""
    kind = next((k for k, c in _CLASSES.items() if isinstance(array, c)), None)
    if kind is None:
        raise Error(f"{type(array).__name__} is not an array of codes with a format; use from_codes")
    members = {name: _member(array, name) for name in MEMBERS[kind]}
    text = json.dumps({"kind": KIND, "array": kind, **_defined(array)}, sort_keys=True)
    members["definition"] = np.frombuffer(text.encode(), np.uint8)
    write_file(path, lambda stream: np.savez(stream, **members))  # type: ignore[arg-type]


def _member(array: Any, name: str) -> NDArray[Any]:
    """An array of the file, low byte first."""
    value = getattr(array, name)
    if name == "tensor_scale":
        value = np.array(1 if value is None else value, np.float32)
    return np.ascontiguousarray(value, value.dtype.newbyteorder("<")).reshape(value.shape)


def _defined(array: Any) -> dict[str, Any]:
    """Format, axis and profile as JSON has them."""
    if isinstance(array, ScalarArray):
        return {"format": array.fmt.to_dict()}
    rest = {"axis": array.axis, "profile": array.profile.to_dict()}
    if isinstance(array, AffineArray):
        return {"format": array.fmt.name, **rest}
    fmt = array.fmt.to_dict()
    if ".toml" in array.fmt.profile:  # the profile that was used is stored in full anyway
        fmt["profile"] = "ocp"
    return {"format": fmt, **rest}


def load(path: str | Path) -> QuantizedArray:
    """Read a file that `save` wrote. Raises Error for any other content."""
    try:
        with errors_of(path), archive(path) as members:
            return _array(_members(members))
    except Error:
        raise
    except OSError as e:
        raise Error(f"{path}: {e.strerror or e}") from None
    except Exception as e:  # zipfile and numpy's header parser raise anything on broken input
        reason = str(e).split("\n")[0]
        raise Error(f"{path}: not a readable .npz of codes: {reason or type(e).__name__}") from None


def load_kind(path: str | Path, kind: str) -> Any:
    """`load` of a file whose format is of a kind: scalar, block or affine. Raises Error for another."""
    array = load(path)
    if not isinstance(array, _CLASSES[kind]):
        raise Error(f"{path}: {array!r} where a {_CLASSES[kind].__name__} is expected; arrays.load reads every kind")
    return array


def _members(members: zipfile.ZipFile) -> dict[str, NDArray[Any]]:
    entries = {entry.filename: entry for entry in members.infolist()}
    kinds = [{f"{name}.npy" for name in (*names, "definition")} for names in MEMBERS.values()]
    if set(entries) not in kinds:
        wanted = "; or ".join(", ".join((*names, "definition")) for names in MEMBERS.values())
        raise Error(f"an .npz of codes holds {wanted}; and nothing else")
    if any(e.compress_type != zipfile.ZIP_STORED for e in entries.values()):
        raise Error("its members are compressed; those of an .npz of codes are not compressed")
    return {name.removesuffix(".npy"): read_array(members, entry, kinds=NUMBERS) for name, entry in entries.items()}


def _array(members: dict[str, NDArray[Any]]) -> QuantizedArray:
    table = _definition(members.pop("definition"))
    kind = table.pop("array")
    if set(members) != set(MEMBERS[kind]):
        raise Error(f"definition.npy: the array is {kind}, but the file holds {', '.join(members)}")
    with in_full():
        match kind:
            case "scalar":
                return _scalar(members, **table)
            case "block":
                return _block(members, **table)
            case _:
                return _affine(members, **table)


def _definition(text: NDArray[Any]) -> dict[str, Any]:
    """Kind of array, format, axis and profile. Raises Error."""
    if text.dtype != np.uint8 or text.ndim != 1 or text.size > _MAX_DEFINITION:
        raise Error("definition.npy: not JSON text")
    table = parse_json(text.tobytes(), "definition.npy")
    if isinstance(table, dict) and table.get("kind") == _KIND_OF_BLOCKS:
        table |= {"kind": KIND, "array": "block"}
    if not isinstance(table, dict) or table.pop("kind", None) != KIND or table.get("array") not in MEMBERS:
        raise Error(f"definition.npy: kind is not {KIND!r}, or array is none of {', '.join(MEMBERS)}")
    wanted = {"array", "format"} | (set() if table["array"] == "scalar" else {"axis", "profile"})
    if set(table) != wanted:
        raise Error(f"definition.npy: its entries must be {', '.join(sorted(wanted))}; one is missing, or unknown")
    if "profile" in table and (not isinstance(table["profile"], dict) or "name" not in table["profile"]):
        raise Error("definition.npy: the profile is not given in full")
    return table


def _scalar(members: dict[str, NDArray[Any]], format: Any) -> ScalarArray:  # noqa: A002  (the name in files)
    fmt = define_format(format)
    _check_types(members, codes=code_dtype(fmt))
    return scalar_array(members["codes"], fmt)


def _block(members: dict[str, NDArray[Any]], format: Any, axis: Any, profile: Any) -> BlockArray:  # noqa: A002
    if type(axis) is not int or not isinstance(format, dict):
        raise Error("definition.npy: format or axis missing")
    fmt, profile, second = define_block_format(format), define_profile(profile), members["tensor_scale"]
    _check_types(members, codes=code_dtype(fmt.element), scales=code_dtype(fmt.scale))
    if second.shape != () or second.dtype not in (np.uint32, np.float32):
        raise Error("tensor_scale.npy: not an FP32 number")
    number = float(second.view(np.float32))
    if not 0 < number < np.inf:
        raise Error("tensor_scale.npy: not a positive finite number")
    return block_array(members["codes"], members["scales"], fmt, axis=axis, profile=profile, tensor_scale=number)


def _affine(members: dict[str, NDArray[Any]], format: Any, axis: Any, profile: Any) -> AffineArray:  # noqa: A002
    if axis is not None and type(axis) is not int:
        raise Error("definition.npy: axis missing")
    fmt = get_affine_format(format)
    codes = np.dtype(np.uint8 if fmt.bits <= 8 else np.uint16)
    _check_types(members, codes=codes, scales=np.dtype(np.float32), zero_points=np.dtype(np.int32))
    shape = () if axis is None else members["scales"].shape[:1]
    if members["scales"].shape != shape or members["zero_points"].shape != shape:
        raise Error("scales.npy, zero_points.npy: not one number, or one for each channel of the axis")
    parts = members["codes"], members["scales"], members["zero_points"]
    return affine_array(*parts, fmt, axis=axis, profile=define_rule(profile))


def _check_types(members: dict[str, NDArray[Any]], **wanted: np.dtype[Any]) -> None:
    for name, dtype in wanted.items():
        if members[name].dtype != dtype:
            raise Error(f"{name}.npy: {members[name].dtype}, where its format has {dtype}")
