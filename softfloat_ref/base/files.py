"""Files are written under a temporary name and renamed, so that no incomplete file has its final name; and read within
limits."""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final, Literal, cast

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.search import find_first


def write_file(path: str | Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file through a function that writes to its binary stream. Raises Error if that fails."""
    with new_file(path) as stream:
        write(stream)


def write_data(path: str | Path, data: bytes | str) -> None:
    """Write a file of this content; text in UTF-8. Raises Error if that fails."""
    with new_file(path) as stream:
        stream.write(data.encode() if isinstance(data, str) else data)


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
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        if path.is_dir():
            raise Error(f"{path}: is a directory; give a file name")
        if path.exists() and not path.is_file():  # a device, pipe or terminal, which no file replaces
            with open(path, "wb") as stream:
                yield stream
            return
        try:
            with open(temporary, "xb") as stream:
                yield stream
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as e:
        raise Error(f"{path}: cannot be written: {e.strerror or e}") from None


def make_folder(path: str | Path) -> Path:
    """The folder, created if necessary. Raises Error."""
    with new_folder(path) as folder:
        return folder


@contextmanager
def new_folder(path: str | Path) -> Iterator[Path]:
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


# -- reading -----------------------------------------------------------------------------------------------------------
# Every file is opened here (tests/test_architecture.py), so that a pipe or a device in its place is refused, not waited
# for, and so that no file is read without a limit.


def open_file(path: str | Path) -> io.BufferedReader:
    """A regular file, for reading. Raises Error, also for a folder, a pipe or a device."""
    return cast(io.BufferedReader, _regular(path, os.O_RDONLY, "rb"))


def open_to_append(path: str | Path, mode: Literal["ab", "a+b"] = "ab") -> IO[bytes]:
    """A regular file, created if necessary, for appending; with a+b for reading too. Raises Error, as `opened` does."""
    return _regular(path, os.O_APPEND | os.O_CREAT | (os.O_WRONLY if mode == "ab" else os.O_RDWR), mode)


def _regular(path: str | Path, flags: int, mode: str) -> IO[bytes]:
    path = os.fspath(path)
    try:
        # Without waiting: a pipe has no other end yet. Windows has no such flag, but one against newlines.
        number = os.open(
            path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | _CLOSE_ON_EXEC, 0o666
        )
        try:
            kind = os.fstat(number).st_mode
            if not stat.S_ISREG(kind):
                what = next((word for test, word in _SPECIAL_FILES if test(kind)), "a special file")
                raise Error(f"{path}: is {what}, not a file")
            return os.fdopen(number, mode)
        except BaseException:
            os.close(number)
            raise
    except (OSError, ValueError) as e:  # ValueError: a null character in the path
        if isinstance(e, Error):
            raise
        raise Error(f"{path}: {getattr(e, 'strerror', None) or e}") from None


_BLOCK: Final = 1 << 16
_CLOSE_ON_EXEC: Final = getattr(os, "O_CLOEXEC", 0)
_SPECIAL_FILES: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def make_pipe(path: str | Path) -> None:
    """Make a named pipe, in place of one of that name. Raises Error."""
    Path(path).unlink(missing_ok=True)
    try:
        os.mkfifo(path)
    except (OSError, AttributeError) as failure:
        raise Error(f"{path}: no named pipe can be made here: {failure}") from None


@contextmanager
def pipe_end(path: str | Path, flags: int) -> Iterator[None]:
    """Hold an end of a named pipe, without waiting for the other one. Raises OSError if nobody reads what this end
    would write."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | _CLOSE_ON_EXEC)
    try:
        yield
    finally:
        os.close(descriptor)


def read_bytes(path: str | Path, limit: int) -> bytes:
    """The content of a file of at most so many bytes. Raises Error."""
    with open_file(path) as stream, _reading(path):
        return rest_of(stream, path, limit)


def rest_of(stream: IO[bytes], path: str | Path, limit: int) -> bytes:
    """The rest of an open file, of at most so many bytes; memory is taken as they arrive. Raises Error."""
    size = os.fstat(stream.fileno()).st_size
    parts, held = [], 0
    while size <= limit and (part := stream.read(max(_BLOCK, size - held) if held <= limit else 0)):
        parts.append(part)
        held += len(part)  # a file may grow, and one of /proc claims to be empty
    if max(size, held) > limit:
        raise Error(f"{path}: {max(size, held)} bytes; the limit for such a file is {limit}")
    return b"".join(parts)


def read_text(path: str | Path, limit: int, encoding: str = "utf-8", errors: str = "strict") -> str:
    """The text of a file of at most so many bytes, its ends of lines as \\n. Raises Error."""
    try:
        text = read_bytes(path, limit).decode(encoding, errors)
    except UnicodeDecodeError as e:
        raise Error(f"{path}: byte {e.start} is not {encoding.removesuffix('-sig').upper()}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def text_lines(path: str | Path, encoding: str = "ascii") -> Iterator[str]:
    """The lines of a text of any size, each of at most `limits.LINE` characters; what is no text becomes U+FFFD. Raises
    Error."""
    with open_file(path) as raw, io.TextIOWrapper(raw, encoding, "replace") as stream, _reading(path):
        yield from stream_lines(stream, path)


def stream_lines(stream: IO[str], name: str | Path) -> Iterator[str]:
    """The lines of an open text of any size, each of at most `limits.LINE` characters. Raises Error, with that name."""
    number = 0
    while line := stream.readline(limits.LINE + 1):
        number += 1
        if len(line) > limits.LINE:
            raise Error(f"{name}:{number}: a line of more than {limits.LINE} characters")
        yield line


def sha256(path: str | Path) -> hashlib._Hash:
    """The SHA-256 of a file of any size. Raises Error."""
    with open_file(path) as stream, _reading(path):
        return hashlib.file_digest(stream, "sha256")


@contextmanager
def _reading(path: str | Path) -> Iterator[None]:
    """Turn an OSError within into an Error that names the file."""
    try:
        yield
    except OSError as e:
        raise Error(f"{path}: {e.strerror or e}") from None
