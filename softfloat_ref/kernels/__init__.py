"""Compiled loops over arrays: the scalar oracle's own rounding functions, run by Numba on 64-bit integers."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
# What the loops compile in. Numba looks at the time of the loop's own file only, to see whether its cache is stale.
_SHARED = (_PACKAGE / "rounding.py", _PACKAGE / "golden" / "cases.py")
_LOOPS = (*_PACKAGE.glob("kernels/*.py"), _PACKAGE / "golden" / "compiled.py")


def renew() -> None:
    """Give every file of loops the time of the newest file that is compiled into any: then no stale code is run."""
    with contextlib.suppress(OSError):  # an installation that cannot be written is not edited either
        times = {path: path.stat().st_mtime_ns for path in (*_SHARED, *_LOOPS)}
        newest = max(times.values())
        for path in _LOOPS:
            if times[path] != newest:
                os.utime(path, ns=(newest, newest))


renew()
