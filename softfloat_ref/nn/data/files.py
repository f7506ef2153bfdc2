"""A user's files: found in a folder, plain or compressed, read whole. Errors are one line."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from pathlib import Path
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_bytes

_CHUNK: Final = 1 << 20


def find_file(root: Path, *names: str, advice: str = "") -> Path:
    """The first of these files that exists in the folder. Raises Error."""
    if not root.is_dir():
        raise Error(f"{root}: no such folder")
    for name in names:
        if (root / name).is_file():
            return root / name
    raise Error(f"{root}: has no {names[0]}{advice}")


def read_unpacked(path: Path) -> bytes:
    """The bytes of a file, unpacked where its name ends in .gz. Raises Error."""
    data = read_bytes(path, limits.DATA)
    if path.suffix != ".gz":
        return data
    unpacked = io.BytesIO()
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            while unpacked.tell() <= limits.DATA and (part := packed.read(_CHUNK)):
                unpacked.write(part)
    except (OSError, EOFError, zlib.error):
        raise Error(f"{path}: incomplete or damaged gzip file; download it again") from None
    if unpacked.tell() > limits.DATA:
        raise Error(f"{path}: decompresses to more than {limits.DATA} bytes; unpack it and give the file without .gz")
    return unpacked.getvalue()


def read_utf8(path: Path) -> str:
    """The text of a UTF-8 file. Raises Error."""
    try:
        return read_unpacked(path).decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise Error(f"{path}: byte {e.start} is not UTF-8; convert the file") from None


def digest(*parts: bytes) -> str:
    """SHA-256 of files, one after the other, as a log names them."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part)
    return f"sha256 {whole.hexdigest()}"
