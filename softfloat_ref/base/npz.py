"""Read arrays from untrusted .npz files: nothing is unpickled, and the size in a header is checked against the file
before memory is allocated. Needs numpy."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from softfloat_ref.base.errors import Error

if TYPE_CHECKING:
    from numpy.typing import NDArray

CODES: Final = "u"  # kinds of numpy types: bit patterns
NUMBERS: Final = "biuf"
PLAIN: Final = "biufcSUmM"
_MEANT: Final = {CODES: "of bit patterns, as uint32", NUMBERS: "of numbers", PLAIN: "of plain values"}
_MAX_DIMENSIONS: Final = 32
_LOCAL: Final = 30  # bytes of a zip member's local header before its name
_MAX_HEADER: Final = 10_000
_DEFLATE: Final = 1032  # largest expansion of one byte by deflate (zlib's technical details)


def load(path: str | Path, names: Iterable[str] | None = None, kinds: str = CODES) -> dict[str, NDArray[Any]]:
    """The file's arrays by name: those of `names` that exist, or all. kinds: CODES, NUMBERS or PLAIN. Raises Error."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {e.filename.removesuffix(".npy"): e for e in archive.infolist() if e.filename.endswith(".npy")}
            wanted = members if names is None else [name for name in names if name in members]
            return {name: read_array(archive, members[name], fortran=True, kinds=kinds) for name in wanted}
    except Error as e:
        raise Error(f"{path}: {e}") from None
    except OSError as e:
        raise Error(f"{path}: {e.strerror or 'not a readable .npz file'}") from None
    except Exception:  # zipfile and numpy's header parser raise anything on broken input
        raise Error(f"{path}: not a readable .npz file of plain arrays") from None


def names(path: str | Path) -> list[str]:
    """The names of the arrays in a file that `load` has read."""
    with zipfile.ZipFile(path) as archive:
        return [e.filename.removesuffix(".npy") for e in archive.infolist() if e.filename.endswith(".npy")]


def read_array(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, fortran: bool = False, kinds: str = CODES
) -> NDArray[Any]:
    """A member as an array in native byte order. fortran: whether Fortran order is allowed. kinds: the allowed kinds.

    Raises Error if the member is not such an array, and what zipfile and numpy's header parser raise on broken input.
    """
    import numpy as np

    if entry.file_size > (_DEFLATE * entry.compress_size if entry.compress_type else entry.compress_size):
        raise Error(
            f"{entry.filename}: {entry.compress_size} compressed bytes with a declared size of {entry.file_size}"
        )
    with archive.open(entry) as member, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy warns about odd headers; wrong ones are rejected anyway
        shape, by_columns, dtype = header(member, entry.filename)
        if dtype.kind not in kinds or dtype.itemsize == 0 or (by_columns and not fortran):
            order = "" if fortran else ", in C order"
            raise Error(f"{entry.filename}: an array of {dtype}, not {_MEANT[kinds]}{order}")
        count = 1
        for n in shape:
            if type(n) is not int or n < 0:
                raise Error(f"{entry.filename}: shape {shape}")
            count *= n
        rest = member.read()
        if len(shape) > _MAX_DIMENSIONS or len(rest) != count * dtype.itemsize or max(shape, default=0) > 1 << 62:
            raise Error(f"{entry.filename}: {len(rest)} bytes of data do not fit shape {shape} of {dtype}")
    found = np.frombuffer(rest, dtype).reshape(shape, order="F" if by_columns else "C")
    return found.astype(dtype.newbyteorder("="))


def data_offset(stream: IO[bytes], entry: zipfile.ZipInfo) -> int:
    """The position in a zip file of a member's first byte. Raises Error if no member is there."""
    stream.seek(entry.header_offset)
    head = stream.read(_LOCAL)
    if len(head) < _LOCAL or head[:4] != b"PK\3\4":
        raise Error(f"{entry.filename}: not where the zip file's directory says")
    return entry.header_offset + _LOCAL + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")


def header(member: IO[bytes], name: str) -> tuple[tuple[Any, ...], bool, Any]:
    """The shape, whether the order is Fortran's, and the dtype that a .npy stream begins with. Raises Error, and what
    numpy's header parser raises on broken input."""
    import numpy as np

    version = np.lib.format.read_magic(member)
    if version not in ((1, 0), (2, 0)):
        raise Error(f"{name}: .npy version {version} is not supported")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(member, max_header_size=_MAX_HEADER)
