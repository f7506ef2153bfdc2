"""Read arrays from untrusted .npz and .npy files: nothing is unpickled, and the size in a header is checked against the
file before memory is allocated. Needs numpy."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from softfloat_ref.base import limits
from softfloat_ref.base.archives import archive, member_bytes
from softfloat_ref.base.errors import Error, errors_of, escaped

if TYPE_CHECKING:
    from numpy.typing import NDArray

CODES: Final = "u"  # kinds of numpy types: bit patterns
NUMBERS: Final = "biuf"
PLAIN: Final = "biufcSUmM"
_KIND_NAMES: Final = {CODES: "of bit patterns, as uint32", NUMBERS: "of numbers", PLAIN: "of plain values"}
_MAX_DIMENSIONS: Final = 32
_MAGIC: Final = b"\x93NUMPY"

Header = tuple[tuple[int, ...], bool, Any]


def load(path: str | Path, names: Iterable[str] | None = None, kinds: str = CODES) -> dict[str, NDArray[Any]]:
    """The file's arrays by name: those of `names` that exist, or all. kinds: CODES, NUMBERS or PLAIN. Raises Error."""
    try:
        with errors_of(path), archive(path) as zip_file:
            members = {e.filename.removesuffix(".npy"): e for e in zip_file.infolist() if e.filename.endswith(".npy")}
            wanted = members if names is None else [name for name in names if name in members]
            return {name: read_array(zip_file, members[name], fortran=True, kinds=kinds) for name in wanted}
    except Error:
        raise
    except OSError as e:
        raise Error(f"{path}: {e.strerror or 'not a readable .npz file'}") from None
    except Exception:  # zipfile and numpy's header parser raise anything on broken input
        raise Error(f"{path}: not a readable .npz file of plain arrays") from None


def names(path: str | Path) -> list[str]:
    """The names of the arrays in a file that `load` has read."""
    with archive(path) as zip_file:
        return [e.filename.removesuffix(".npy") for e in zip_file.infolist() if e.filename.endswith(".npy")]


def read_array(
    zip_file: zipfile.ZipFile, entry: zipfile.ZipInfo, fortran: bool = False, kinds: str = CODES
) -> NDArray[Any]:
    """A member as an array in native byte order. fortran: whether Fortran order is allowed. kinds: the allowed kinds.

    Raises Error if the member is not such an array, and what zipfile and numpy's header parser raise on broken input.
    """
    import numpy as np

    name = escaped(entry.filename)
    with zip_file.open(entry) as member:
        shape, by_columns, dtype = header(member, name)
        if dtype.kind not in kinds or dtype.itemsize == 0 or (by_columns and not fortran):
            order = "" if fortran else ", in C order"
            raise Error(f"{name}: an array of {dtype}, not {_KIND_NAMES[kinds]}{order}")
        size, held = prod(shape) * dtype.itemsize, entry.file_size - member.tell()
        if held != size:
            raise Error(f"{name}: {held} bytes of data do not fit shape {shape} of {dtype}")
        data = member_bytes(member, size)
    if len(data) != size:
        raise Error(f"{name}: ends after {len(data)} of {size} bytes")
    array = np.frombuffer(data, dtype).reshape(shape, order="F" if by_columns else "C")
    return array.astype(dtype.newbyteorder("="))


def header(member: IO[bytes], name: str) -> Header:
    """The shape, whether the order is Fortran's, and the dtype that a .npy stream begins with. Raises Error, and what
    numpy's header parser raises on broken input. name: for errors; "" of a file."""
    import numpy as np

    where = f"{name}: " if name else ""
    start = member.read(8)
    if start[:6] != _MAGIC:
        raise Error(f"{where}does not begin with the header that numpy.save writes (a pickle is never unpickled)")
    version = tuple(start[6:])
    if version not in ((1, 0), (2, 0)):
        raise Error(f"{where}.npy version {version} is not supported")
    length = member.read(2 * version[0])
    size = int.from_bytes(length, "little")
    if size > limits.ARRAY_HEADER:
        raise Error(f"{where}a header of {size} bytes; the limit is {limits.ARRAY_HEADER}")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy warns about odd headers; wrong ones are rejected anyway
        text = member.read(size).replace(b"'<f1'", b"'|V1'")  # ml_dtypes' E5M2, a type that numpy does not know
        shape, by_columns, dtype = read(io.BytesIO(length + text), max_header_size=limits.ARRAY_HEADER)
    if len(shape) > _MAX_DIMENSIONS or any(type(n) is not int or not 0 <= n < 1 << 62 for n in shape):
        raise Error(f"{where}shape {str(shape)[:60]}")
    return shape, by_columns, dtype
