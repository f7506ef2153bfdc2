"""The latency of a module without a handshake, from the results of a bench that supposed another one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from operator import eq
from typing import Final

from softfloat_ref.rtl.port_map import PortMap

MOST: Final = 64  # rising edges
SUPPOSED: Final = 1
_FEWEST: Final = 16  # results that must be right
_CLEARLY: Final = 2  # times as many as for any other latency


def trial(ports: PortMap) -> PortMap:
    """The port map for the bench that finds the latency: an operation in each cycle, so that another latency than the
    one supposed shifts the results."""
    handshake = replace(ports.handshake, stalls=0)
    return replace(ports, latency=SUPPOSED, handshake=handshake)


def find_latency(expected: Sequence[Hashable], got: Sequence[Hashable]) -> int | None:
    """The latency at which most results are right, of 0 to `MOST`; None if none stands out."""
    right = {latency: _matches(expected, got, latency - SUPPOSED) for latency in range(min(MOST, len(got) // 2) + 1)}
    best, *others = sorted(right, key=lambda latency: (-right[latency], latency))
    second = right[others[0]] if others else 0
    return best if right[best] >= max(_FEWEST, _CLEARLY * second) else None


def _matches(expected: Sequence[Hashable], got: Sequence[Hashable], late: int) -> int:
    """How many results are right if they come that many cycles later than supposed."""
    return sum(map(eq, expected, got[late:]) if late >= 0 else map(eq, expected[-late:], got))
