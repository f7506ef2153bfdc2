"""The processor's own x87 instructions: results and flags of the 80-bit extended format, in its four roundings and
three precisions, of canonical operands and of all others. `compare_extf80.py` compares more, and Berkeley SoftFloat."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

import pytest
import volume
from compare_extf80 import OPERATIONS, Device, build, cases, differences, is_canonical, kinds, x87

CASES = volume.cases(40, 5000)  # per operation
NAMES = x87(Path()).operations

pytestmark = [
    pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="needs an x86-64 processor"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc"),
]


@pytest.fixture(scope="module")
def processor(tmp_path_factory: pytest.TempPathFactory) -> Device:
    return x87(build(tmp_path_factory.mktemp("x87")))


@pytest.mark.parametrize("op", NAMES)
def test_agrees_with_the_processor(op: str, processor: Device) -> None:
    rows = list(cases(processor._replace(operations=[op]), CASES))
    assert list(differences(processor, rows)) == []


def test_the_comparison_sees_other_rules(processor: Device) -> None:
    """Tininess before rounding, the values of unnormals, and positive NaNs are not the processor's."""
    one = processor._replace(operations=["add", "mul"])
    rows = list(cases(one, 1500))
    assert 0 < sum(map(is_canonical, rows)) < len(rows)
    unnormals = [case for case, *_ in differences(one, rows, unnormals="value")]
    assert unnormals
    assert not any(map(is_canonical, unnormals))
    assert any("pseudo-nan" in kinds(case) for case in unnormals)
    assert list(differences(one, rows, nan="canonical"))
    assert set(OPERATIONS) > set(NAMES)
