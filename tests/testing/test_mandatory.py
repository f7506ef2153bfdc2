"""What P3109 requires of every implementation: the set is complete, right, and the check of it can fail."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter

import pytest

from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations.p3109 import own_name
from softfloat_ref.testing import declaration, mandatory
from softfloat_ref.units import BlockOperationUnit, OperationUnit

REQUIRED = list(mandatory.required())
NAMES = [declaration.specialization(one.unit) for one in REQUIRED]


def test_the_set_is_complete() -> None:
    """4.5, counted: of formats, of pairs of formats, of pairs with a result."""
    counts = Counter(name.partition("<")[0] for name in NAMES)
    extrema = {
        f"{m}{kind}"
        for m in ("Minimum", "Maximum")
        for kind in ("", "Number", "Magnitude", "MagnitudeNumber", "Finite")
    }
    compares = {f"Compare{x}" for x in ("Less", "LessEqual", "Equal", "Greater", "GreaterEqual")}
    predicates = {f"Is{x}" for x in ("Zero", "One", "NaN", "Infinite", "Finite", "SignMinus", "Normal", "Subnormal")}
    assert counts == {
        **dict.fromkeys(("Convert", "Recip"), 36),
        **dict.fromkeys(("Negate", "Abs", *extrema, *compares, *predicates, "NextGreaterThan", "NextLessThan"), 3),
        **dict.fromkeys((f"{scaled}{x}" for scaled in ("", "Scaled") for x in ("Add", "Subtract", "Multiply")), 45),
        **dict.fromkeys(("FMA", "FAA"), 27),
    }
    assert len(set(NAMES)) == len(NAMES) == 477
    assert "Add<Binary4p2sf, Binary8p3se, BFloat16, (NearestTiesToEven, SatNone)>" in NAMES
    scaled = "(Binary8p1uf, Binary8p4se), (Binary8p1uf, Binary4p2sf), binary32"
    assert f"ScaledAdd<{scaled}, (NearestTiesToEven, SatNone)>" in NAMES
    assert all(right for *_, right in mandatory.format_operations())
    assert len(list(mandatory.format_operations())) == 72


@pytest.mark.parametrize("first", range(4))
def test_a_sample_is_right(first: int) -> None:
    for one in REQUIRED[first::12]:
        assert not mandatory.check_specialization(one, 64).wrong, one.unit.name


def test_small_specializations_are_checked_on_every_case() -> None:
    one = REQUIRED[NAMES.index("Negate<Binary8p4se, Binary8p4se, (NearestTiesToEven, SatNone)>")]
    assert mandatory.check_specialization(one, 256)[1:] == (256, True, ())
    assert mandatory.check_specialization(one, 255)[1:3] == (255, False)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("Convert<binary16, Binary8p3se,", {"rounding": "rna"}),
        ("Convert<binary16, Binary8p4se,", {"rounding": "rtz"}),
        ("Convert<binary16, Binary8p4se,", {"overflow": "sat-finite"}),
        ("Convert<binary16, Binary4p2sf,", {"rounding": "rup"}),
        ("Convert<binary32, binary16,", {"specials": "ieee"}),  # a zero with a sign
        ("Recip<Binary8p4se, BFloat16,", {"specials": "ieee"}),
        ("Multiply<Binary8p3se, Binary8p3se, binary16,", {"specials": "ieee"}),
        ("FMA<Binary8p4se, Binary8p4se, binary16,", {"rounding": "rdn"}),
        (
            "ScaledMultiply<(Binary8p1uf, Binary8p3se), (Binary8p1uf, Binary8p3se), BFloat16,",
            {"overflow": "sat-propagate"},
        ),
    ],
)
def test_another_policy_is_wrong(name: str, change: dict[str, str]) -> None:
    one = REQUIRED[next(i for i, x in enumerate(NAMES) if x.startswith(name))]
    assert isinstance(one.unit, OperationUnit | BlockOperationUnit)
    other = dataclasses.replace(one.unit, policy=one.unit.policy.replace(**change))
    assert not mandatory.check_specialization(one, 300).wrong
    assert mandatory.check_specialization(one._replace(unit=other), 300).wrong


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("MinimumFinite", "MinimumNumber"),
        ("MaximumMagnitude", "Maximum"),
        ("CompareGreater", "CompareGreaterEqual"),
        ("IsNormal", "IsFinite"),
        ("IsSubnormal", "IsZero"),
        ("NextGreaterThan", "NextLessThan"),
        ("Abs", "Convert"),
        ("FAA", "FMA"),
    ],
)
def test_another_operation_is_wrong(name: str, other: str) -> None:
    one = REQUIRED[next(i for i, x in enumerate(NAMES) if x.startswith(f"{name}<Binary8p4se"))]
    assert isinstance(one.unit, OperationUnit)
    changed = dataclasses.replace(one.unit, op=own_name(other))
    assert mandatory.check_specialization(one._replace(unit=changed), 300).wrong


@pytest.mark.parametrize("name", ["binary4p2sf", "binary8p4se", "binary8p3se"])
def test_a_neighbour_is_not_projected(name: str) -> None:
    """Of the numbers at and beside values and midpoints, one code is right, or at a tie the even one."""
    fmt = get_format(name)
    finite = [mandatory.value(c, fmt) for c in range(fmt.max_code + 1)]
    for x in itertools.chain(finite, (mandatory.Fraction(a + b, 2) for a, b in itertools.pairwise(finite))):
        right = [c for c in range(1 << fmt.width) if mandatory.is_projected(x, c, fmt)]
        assert len(right) == 1
    assert not mandatory.is_projected(mandatory.Fraction(0), fmt.sign_bit, fmt)


@pytest.mark.parametrize(
    ("name", "size", "code"),
    [
        ("binary8p4se", 232, 0x7E),  # between 224, which is even, and 240
        ("binary8p4se", 233, 0x7F),
        ("fp16", 65520, 0x7C00),  # between 65504, which is odd, and 65536
        ("fp16", 65519, 0x7BFF),
        ("binary4p2sf", 100, 0x7),
    ],
)
def test_beyond_the_largest(name: str, size: int, code: int) -> None:
    fmt = get_format(name)
    for sign, bit in ((1, 0), (-1, fmt.sign_bit)):
        near = range(1 << fmt.width) if fmt.width < 9 else [c | s for c in range(code - 3, code + 3) for s in (0, bit)]
        codes = [c for c in dict.fromkeys(near) if mandatory.is_projected(mandatory.Fraction(sign * size), c, fmt)]
        assert codes == [code | bit]
