"""A slice of `python -m tests.campaigns.differ`, and that it sees a difference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from differ import checks
from differ.checks import CHECKS
from volume import cases


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("name", CHECKS)
def test_what_is_fast_is_what_is_slow(name: str) -> None:
    assert sum(CHECKS[name](number) for number in range(cases(40, 2000))) > 100


def compare(name: str) -> None:
    for number in range(20):
        CHECKS[name](number)


def _changed(result: Any) -> Any:
    """With one bit of one code turned over."""
    codes = result[0] if isinstance(result, tuple) else getattr(result, "codes", result)
    codes.reshape(-1).view(f"u{codes.itemsize}")[-1] ^= 1
    return result


@pytest.mark.parametrize(
    ("name", "module", "function"),
    [
        ("conversions", checks.arrays, "encode"),
        ("conversions", checks.arrays, "encode_flags"),
        ("conversions", checks.arrays, "quantize"),
        ("conversions", checks.arrays, "decode"),
        ("blocks", checks.blocks, "encode"),
        ("products", checks, "matmul"),
    ],
)
def test_a_changed_bit_is_seen(name: str, module: Any, function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = getattr(module, function)
    monkeypatch.setattr(module, function, lambda *args, **more: _changed(right(*args, **more)))
    with pytest.raises(AssertionError, match=f"{name} .* the oracle has|{name} .*values at"):
        compare(name)


def test_a_changed_flag_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = checks.Bulk.__call__

    def wrong(self: Any, *args: Any) -> Any:
        codes, flags = right(self, *args)
        return codes, np.asarray(flags) ^ 16

    monkeypatch.setattr(checks.Bulk, "__call__", wrong)
    with pytest.raises(AssertionError, match="flags at"):
        compare("operations")
