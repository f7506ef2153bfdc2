"""The process that loads a device's shared library: it may crash or hang without ending the check.

Run by path as `library_host.py PATH NAME OPERANDS`. It uses only the standard library, so that it starts quickly.
It first writes a line: empty, or why the function cannot be loaded. Then, for each call: 8 bytes of a count n, n words
of 8 bytes for each operand in; n words of results and n bytes of flags out.
"""

from __future__ import annotations

import ctypes
import os
import sys


def main() -> None:
    """Load the function and serve calls until the input ends."""
    path, name, operands = sys.argv[1], sys.argv[2], int(sys.argv[3])
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep what the library prints out of the answers
    try:
        function = getattr(ctypes.CDLL(path), name)
    except (OSError, AttributeError) as e:
        sink.write((str(e).splitlines() or ["cannot be loaded"])[0].encode() + b"\n")
        sink.flush()
        return
    function.restype = None
    sink.write(b"\n")
    sink.flush()
    while head := source.read(8):
        n = int.from_bytes(head, "little")
        columns = [bytearray(source.read(8 * n)) for _ in range(operands)]
        columns += [bytearray(8 * n), bytearray(b"\xff" * n)]
        function(ctypes.c_size_t(n), *((ctypes.c_char * len(c)).from_buffer(c) for c in columns))
        sink.write(columns[-2])
        sink.write(columns[-1])
        sink.flush()


if __name__ == "__main__":
    main()
