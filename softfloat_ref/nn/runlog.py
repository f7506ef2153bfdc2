"""A run's log: one JSON object per line. A line that was cut short is dropped when the run is resumed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import IO, Any, Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import open_to_append, read_bytes, write_file
from softfloat_ref.base.trees import parse_json


class RunLog:
    """A log that is appended to and flushed to disk after each line. Raises Error if it cannot be written.

    Infinite numbers and NaN, which JSON lacks, stand as "inf", "-inf" and "nan".
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._stream: IO[bytes] | None = None

    def write(self, **fields: Any) -> None:
        """Append one line of these fields: numbers, text, and lists and tables of them."""
        line = json.dumps(to_json(fields), allow_nan=False, separators=(", ", ": ")) + "\n"
        try:
            if self._stream is None:
                self._stream = open_to_append(self.path)
            self._stream.write(line.encode())
            self._stream.flush()
        except OSError as e:
            raise Error(f"{self.path}: cannot be written: {e.strerror or e}") from None

    def truncate_after(self, step: int) -> None:
        """Keep the lines up to this step, and those without a step before them; later lines will be written again."""
        self.close()
        if not self.path.exists():
            return
        lines: list[bytes] = []
        for line in read_bytes(self.path, limits.LOG).splitlines(keepends=True):
            fields = _parsed(line)
            if fields is None or (isinstance(fields.get("step"), int) and fields["step"] > step):
                break
            lines.append(line)
        write_file(self.path, lambda stream: stream.write(b"".join(lines)))

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
    lines = read_bytes(path, limits.LOG).splitlines(keepends=True)
    entries = []
    for number, line in enumerate(lines, 1):
        fields = _parsed(line)
        if fields is not None:
            entries.append(fields)
        elif number < len(lines) or line.endswith(b"\n"):
            raise Error(f"{path}:{number}: not a line of a log; expected a JSON object")
    return entries


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The fields of a whole line."""
    try:
        fields = parse_json(line, "a line") if line.endswith(b"\n") else None
    except Error:
        return None
    return from_json(fields) if isinstance(fields, dict) else None


# -- numbers in JSON ---------------------------------------------------------------------------------------------------

_NOT_FINITE: Final = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def to_json(value: Any) -> Any:
    """What JSON has: numpy's numbers become Python's."""
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(v) for v in value]
    if hasattr(value, "tolist"):
        return to_json(value.tolist())
    if isinstance(value, float) and not isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return str(value) if isinstance(value, Path) else value


def from_json(value: Any) -> Any:
    """What `to_json` was given, of numbers, text, lists and tables."""
    if isinstance(value, dict):
        return {k: from_json(v) for k, v in value.items()}
    if isinstance(value, list):
        return [from_json(v) for v in value]
    return _NOT_FINITE.get(value, value) if isinstance(value, str) else value


def is_number(value: object) -> bool:
    """Whether this is a number that fits a double: no integer of thousands of digits, no truth value."""
    return isinstance(value, float) or (type(value) is int and abs(value) < 1 << 1023)
