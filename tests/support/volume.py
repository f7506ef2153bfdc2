"""How many cases: the usual number, so that all tests take minutes; with SOFTFLOAT_FULL=1 several times as many."""

from __future__ import annotations

import os
from typing import Final

FULL: Final = bool(os.environ.get("SOFTFLOAT_FULL"))


def cases(usual: int, full: int) -> int:
    """A number of cases."""
    return full if FULL else usual
