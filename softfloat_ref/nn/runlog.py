"""A run's log: one JSON object a line. A line that a kill cut short is dropped when the run goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import IO, Any, Final

from softfloat_ref.errors import Error
from softfloat_ref.files import read_bytes, write_file

_NOT_FINITE: Final = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


class RunLog:
    """A log that is appended to, and on disk after each line. Raises Error where it cannot be written.

    Infinite numbers and NaN, which JSON lacks, stand as "inf", "-inf" and "nan".
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._stream: IO[bytes] | None = None

    def write(self, **fields: Any) -> None:
        """Append one line of these fields: numbers, text, and lists and tables of them."""
        line = json.dumps(_plain(fields), allow_nan=False, separators=(", ", ": ")) + "\n"
        try:
            if self._stream is None:
                self._stream = open(self.path, "ab")  # noqa: SIM115 (stays open from line to line)
            self._stream.write(line.encode())
            self._stream.flush()
        except OSError as e:
            raise Error(f"{self.path}: cannot be written: {e.strerror or e}") from None

    def truncate_after(self, step: int) -> None:
        """Keep the lines up to this step, and those without a step before them; what follows will be written anew."""
        self.close()
        if not self.path.exists():
            return
        kept: list[bytes] = []
        for line in read_bytes(self.path).splitlines(keepends=True):
            fields = _parsed(line)
            if fields is None or (isinstance(fields.get("step"), int) and fields["step"] > step):
                break
            kept.append(line)
        write_file(self.path, lambda stream: stream.write(b"".join(kept)))

    def close(self) -> None:
        """Close the file; the next line opens it again."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_log(path: str | Path) -> list[dict[str, Any]]:
    """The lines of a log. A last line that was cut short is left out. Raises Error for any other that is not JSON."""
    lines = read_bytes(path).splitlines(keepends=True)
    found = []
    for number, line in enumerate(lines, 1):
        fields = _parsed(line)
        if fields is not None:
            found.append(fields)
        elif number < len(lines) or line.endswith(b"\n"):
            raise Error(f"{path}:{number}: no line of a log: a JSON object was expected")
    return found


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The fields of a whole line."""
    try:
        fields = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        return None
    return {k: _number(v) for k, v in fields.items()} if isinstance(fields, dict) else None


def _number(value: Any) -> Any:
    return _NOT_FINITE.get(value, value) if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    """What JSON has: numpy's numbers become Python's."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return str(value) if isinstance(value, Path) else value
