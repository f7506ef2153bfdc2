"""`bench arrays`: which works are compared; not how long they take."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from bench import arrays, quantized


def test_quantized_arrays_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SIDE", 256), ("CALLS", 1), ("PRODUCT", (2, 32, 2))):
        monkeypatch.setattr(quantized, name, value)

    def each(*works: Callable[[], object]) -> list[float]:
        for work in works:
            work()
        return [2.0**-10 * 256**2] * len(works)

    lines = list(quantized.report(each))
    assert re.fullmatch(r"fp8_e4m3@fp32/axis +976562\.50 ns a value, 1\.00 x mxfp8(, torch .*)?", lines[0])
    assert all("ns a value" in line or "G MAC/s" in line for line in lines)
    assert [line.split()[1] for line in lines if line.startswith("matmul")] == [unit for unit, _ in quantized.UNITS]


def test_the_first_call_is_measured() -> None:
    assert re.search(r"first call of a process: -?\d", arrays._first_call())
