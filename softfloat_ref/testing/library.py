"""Devices under test that are C functions of arrays, in a shared library that a separate process loads."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.testing.devices import DeviceError, Late, close_all, end_group, how_ended

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.unsignedinteger[Any]]

_HOST: Final = Path(__file__).with_name("library_host.py")
_CHUNK: Final = 1 << 20


class LibraryDevice:
    """The C function of `PATH.so:NAME`, as a function of arrays. Use as a context manager: its process ends with it.

    void NAME(size_t n, const uint64_t *a, ..., uint64_t *result, uint8_t *flags), one pointer per operand; flags are
    preset to FF, and a device that does not change them has no flags.
    """

    def __init__(self, spec: str, operands: int, timeout_s: float = 10.0) -> None:
        """Load the library. Raises Error if it has no such function."""
        path, _, name = spec.rpartition(":")
        if not path:
            raise Error(f"--dut-lib {spec}: give PATH.so:FUNCTION")
        self.timeout_s = timeout_s
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(_HOST), str(Path(path).resolve()), name, str(operands)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            why = self._line()
        except DeviceError as e:
            self.close()
            raise Error(f"--dut-lib {spec}: cannot be loaded: {e}") from None
        if why:
            self.close()
            raise Error(f"--dut-lib {spec}: {why}")

    def __enter__(self) -> LibraryDevice:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        end_group(self._process)
        close_all(self._process.stdin, self._process.stdout)

    def __call__(self, *columns: Codes) -> tuple[Codes, Codes] | Codes:
        """Results, and flags if the device has any. Raises DeviceError if it crashes, ends, or takes too long."""
        import numpy as np

        n, deadline = columns[0].size, time.monotonic() + self.timeout_s
        request = n.to_bytes(8, "little") + b"".join(np.ascontiguousarray(c, "<u8").tobytes() for c in columns)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died: reported when its answer is missing
            self._process.stdin.write(request)
            self._process.stdin.flush()
        answer = self._read(9 * n, deadline)
        result, flags = np.frombuffer(answer[: 8 * n], "<u8"), np.frombuffer(answer[8 * n :], np.uint8)
        return result if (flags == 0xFF).all() else (result, flags)

    def _line(self) -> str:
        line, deadline = b"", time.monotonic() + self.timeout_s
        while not line.endswith(b"\n"):
            line += self._read(1, deadline)
        return line.decode("utf-8", "replace").strip()

    def _read(self, size: int, deadline: float) -> bytes:
        assert self._process.stdout is not None
        descriptor, data = self._process.stdout.fileno(), bytearray()
        while len(data) < size:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise Late(f"a call did not return within {self.timeout_s:g} s")
            chunk = os.read(descriptor, min(_CHUNK, size - len(data)))
            if not chunk:
                raise DeviceError(f"a call did not return; {how_ended(self._process)}")
            data += chunk
        return bytes(data)
