"""Quantized arrays in .npz files: codes, scales, and the full definition as JSON. Loading a file executes no code.

Members are stored uncompressed, and their headers are checked against their sizes before memory is allocated: a file
cannot request more memory than its own size. Format and profile are stored in full, so a file needs no other file.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import convert
from softfloat_ref.arrays.convert import Codes
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import write_file
from softfloat_ref.base.npz import read_array
from softfloat_ref.base.tables import in_full
from softfloat_ref.oracle.blocks.formats import BlockFormat, define_block_format
from softfloat_ref.oracle.blocks.profiles import Profile, define_profile
from softfloat_ref.oracle.codec import decode
from softfloat_ref.oracle.formats import CATALOGUE

KIND: Final = "softfloat_ref blocks 1"
MEMBERS: Final = ("codes", "scales", "tensor_scale", "definition")
_MAX_DEFINITION: Final = 1 << 16


class Parts(NamedTuple):
    """The contents of a file: the fields of a BlockArray."""

    codes: Codes
    scales: Codes
    fmt: BlockFormat
    axis: int
    profile: Profile
    tensor_scale: int


def save(path: str | Path, parts: Parts) -> None:
    """Write an .npz; the same parts give the same bytes. Raises Error if writing fails."""
    definition = {
        "kind": KIND,
        "format": parts.fmt.to_dict(),
        "profile": parts.profile.to_dict(),
        "axis": parts.axis,
    }
    if ".toml" in parts.fmt.profile:  # the profile that was used is stored in full anyway
        definition["format"]["profile"] = "ocp"  # type: ignore[index]
    members: dict[str, NDArray[Any]] = {
        "codes": _little(parts.codes),
        "scales": _little(parts.scales),
        "tensor_scale": np.array(parts.tensor_scale, "<u4"),
        "definition": np.frombuffer(json.dumps(definition, sort_keys=True).encode(), np.uint8),
    }
    write_file(path, lambda stream: np.savez(stream, **members))  # type: ignore[arg-type]


def _little(codes: Codes) -> NDArray[Any]:
    return np.ascontiguousarray(codes, codes.dtype.newbyteorder("<")).reshape(codes.shape)


def load(path: str | Path) -> Parts:
    """Read a file that `save` wrote. Raises Error for any other content."""
    try:
        with open(path, "rb") as stream:
            members = _members(stream)
        return _parts(members)
    except Error as e:
        raise Error(f"{path}: {e}") from None
    except OSError as e:
        raise Error(f"{path}: {e.strerror or e}") from None
    except Exception as e:  # zipfile and numpy's header parser raise anything on broken input
        reason = str(e).split("\n")[0]
        raise Error(f"{path}: not a readable .npz of blocks: {reason or type(e).__name__}") from None


def _members(stream: IO[bytes]) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(stream) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        wanted = {f"{name}.npy" for name in MEMBERS}
        if set(entries) != wanted or len(archive.infolist()) != len(wanted):
            raise Error(f"an .npz of blocks holds {', '.join(MEMBERS)} and nothing else")
        size = stream.seek(0, 2)
        if any(e.compress_type != zipfile.ZIP_STORED for e in entries.values()):
            raise Error("its members are compressed; those of an .npz of blocks are not compressed")
        if sum(e.file_size for e in entries.values()) > size:
            raise Error(f"its members declare more bytes than the file has: {size}")
        return {name: read_array(archive, entries[f"{name}.npy"]) for name in MEMBERS}


def _parts(members: dict[str, NDArray[Any]]) -> Parts:
    text = members["definition"]
    if text.dtype != np.uint8 or text.ndim != 1 or text.size > _MAX_DEFINITION:
        raise Error("definition.npy: not JSON text")
    fmt, profile, axis = _definition(text.tobytes())
    codes, scales, second = members["codes"], members["scales"], members["tensor_scale"]
    for name, array, part in (("codes", codes, fmt.element), ("scales", scales, fmt.scale)):
        if array.dtype != convert.code_dtype(part):
            raise Error(f"{name}.npy: {array.dtype}, where codes of {part.name} are {convert.code_dtype(part)}")
    if second.shape != () or second.dtype != np.uint32:
        raise Error("tensor_scale.npy: not an FP32 code")
    factor = decode(int(second), CATALOGUE["fp32"])
    if not factor.is_finite or factor.is_zero or factor.sign:
        raise Error("tensor_scale.npy: not a positive finite number")
    return Parts(codes, scales, fmt, axis, profile, int(second))


def _definition(text: bytes) -> tuple[BlockFormat, Profile, int]:
    try:
        table = json.loads(text.decode())
    except (ValueError, RecursionError):
        raise Error("definition.npy: not JSON text") from None
    if not isinstance(table, dict) or table.get("kind") != KIND:
        raise Error(f"definition.npy: kind is not {KIND!r}")
    fmt, profile, axis = table.get("format"), table.get("profile"), table.get("axis")
    if not isinstance(fmt, dict) or not isinstance(profile, dict) or type(axis) is not int:
        raise Error("definition.npy: format, profile or axis missing")
    if "name" not in profile:
        raise Error("definition.npy: the profile is not given in full")
    with in_full():
        return define_block_format(fmt), define_profile(profile), axis
