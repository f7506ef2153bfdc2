"""Coverage of operations on extf80: every bin is hit by a case, encodings that are not canonical have bins of their
own, and the others are those of the format that hides the integer bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.coverage.operation.models import operations
from softfloat_ref.coverage.operation.sv_covergroups import package
from softfloat_ref.golden.cases import random_cases, specials
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import verify
from softfloat_ref.oracle.encodings import KINDS, kind_of
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import signature
from softfloat_ref.oracle.policies import Policy, get_policy

F = get_format("extf80")
X87 = get_policy("x87")


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    ("op", "fmt", "out", "policy"),
    [
        ("sqrt", "extf80", None, X87),
        ("convert", "extf80", "i32", X87),
        ("lt", "extf80", None, get_policy("softfloat-8086")),
        ("mul", "extf80", None, X87.replace(rounding_precision=32)),
        ("add", "extf80", None, X87),
        ("div", "extf80", None, X87.replace(rounding_precision=64, rounding="rup")),
        ("convert", "fp128", "extf80", X87),
        ("convert", "extf80", "fp64", Policy("sr", sr_bits=5)),
    ],
)
def test_every_bin_is_hit(op: str, fmt: str, out: str | None, policy: Policy) -> None:
    coverage = operations(signature(op, fmt, out), policy)
    for listed in coverage.names().values():
        for name in listed:
            case = next(coverage.cases(name), None)
            assert case is not None, name
            assert name in coverage.hits(case)


def test_encodings_hit_bins_of_their_own_only() -> None:
    coverage = operations(signature("add", "extf80"), X87)
    bins = coverage.names()["X87"]
    assert len(bins) == 2 * len(KINDS) * 2 * 5
    for name in bins[::7]:
        case = next(coverage.cases(name))
        assert sum(bool(kind_of(F, x)) for x in case) == 1
        assert {x.partition("/")[0] for x in coverage.hits(case)} == {"X87"}
    canonical = next(coverage.cases("B1/pos.one,neg.max"))
    assert canonical == (0x3FFF << 64 | 1 << 63, F.max_code | F.sign_bit)
    assert not any(x.startswith("X87") for x in coverage.hits(canonical))


def test_the_other_bins_are_those_of_the_format_that_hides_the_bit() -> None:
    own, hidden = (operations(signature("mul", f), Policy("rto")).names() for f in ("extf80", "s1e15m63"))
    assert {k: v for k, v in own.items() if k != "X87"} == hidden


@pytest.mark.full
def test_sets_have_every_kind_of_code(tmp_path: Path) -> None:
    vectors = VectorSet.make("add", "extf80", 3000, policy="softfloat-8086")
    generate(vectors, tmp_path, formats=["tv", "memh", "npz", "c", "svpkg"])
    assert verify(tmp_path).passed
    counts = dict.fromkeys((*KINDS, ""), 0)
    for codes in random_cases([F, F], 5, 4000):
        for x in codes:
            counts[kind_of(F, x)] += 1
    assert 100 < sum(n for kind, n in counts.items() if kind) < 500
    assert all(counts.values())
    assert {kind_of(F, x) for x in specials(F)} == {*KINDS, ""}


def test_covergroups_are_refused() -> None:
    with pytest.raises(Error, match="covergroups take formats that hide the integer bit"):
        package(operations(signature("add", "extf80"), X87), "add")
