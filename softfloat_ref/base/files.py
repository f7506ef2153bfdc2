"""Files are written under a temporary name and renamed, so that no incomplete file has its final name."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from softfloat_ref.base.errors import Error
from softfloat_ref.base.search import find_first


def write_file(path: str | Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file through a function that writes to its binary stream. Raises Error if that fails."""
    with new_file(path) as stream:
        write(stream)


def check_place(path: str | Path) -> None:
    """Raise Error if `write_file` could not write here, as far as can be checked in advance."""
    path = Path(os.path.realpath(path))
    if path.is_dir():
        raise Error(f"{path}: is a directory; give a file name")
    if not path.parent.is_dir():
        raise Error(f"{path}: cannot be written: no such folder: {path.parent}")
    if not os.access(path if path.exists() and not path.is_file() else path.parent, os.W_OK):
        raise Error(f"{path}: cannot be written: no permission")


def check_folder(path: str | Path) -> None:
    """Raise Error if `make_folder` could not make this folder, as far as can be checked in advance."""
    whole = Path(os.path.realpath(path))
    near = find_first(p for p in (whole, *whole.parents) if p.exists())
    if not near.is_dir():
        raise Error(f"{path}: cannot be created: {near.name} is a file")
    if not os.access(near, os.W_OK):
        raise Error(f"{path}: cannot be written: no permission")


@contextmanager
def new_file(path: str | Path) -> Iterator[IO[bytes]]:
    """A binary stream to a file that gets its final name only if the block succeeds. Raises Error."""
    path = Path(os.path.realpath(path))  # follow a symbolic link, so that it remains one
    if path.exists() and not path.is_file() and not path.is_dir():
        with _special_file(path) as stream:
            yield stream
        return
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        if path.is_dir():
            raise Error(f"{path}: is a directory; give a file name")
        try:
            with open(temporary, "xb") as stream:
                yield stream
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as e:
        raise Error(f"{path}: cannot be written: {e.strerror or e}") from None


@contextmanager
def _special_file(path: Path) -> Iterator[IO[bytes]]:
    """A stream to a device, pipe or terminal, which is written directly instead of being replaced by a file."""
    try:
        with open(path, "wb") as stream:
            yield stream
    except OSError as e:
        raise Error(f"{path}: cannot be written: {e.strerror or e}") from None


def make_folder(path: str | Path) -> Path:
    """The folder, created if necessary. Raises Error."""
    with made_folder(path) as folder:
        return folder


@contextmanager
def made_folder(path: str | Path) -> Iterator[Path]:
    """The folder, created if necessary. If it was created here and the block fails, it is removed unless it has files.
    Raises Error."""
    folder = Path(path)
    existed = folder.exists()
    try:  # a signal may arrive as soon as the folder exists
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise Error(f"{folder}: cannot be created: {e.strerror or e}") from None
        yield folder
    except BaseException:
        if not existed:
            with suppress(OSError):
                folder.rmdir()
        raise


def read_bytes(path: str | Path) -> bytes:
    """The content of a file. Raises Error."""
    try:
        return Path(path).read_bytes()
    except OSError as e:
        raise Error(f"{path}: {e.strerror or e}") from None
