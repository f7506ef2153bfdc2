"""Coverage models: directed cases hit their bins, level 1 hits all that can be hit, and what is said to be
unreachable is."""

from __future__ import annotations

import functools
import hashlib
import itertools
import subprocess
import sys
from collections import Counter

import pytest
import volume

from softfloat_ref.base.errors import Error
from softfloat_ref.coverage.engine.directed import EXHAUSTIVE, LEVELS, RANDOM, stream
from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.coverage.engine.measure import set_report, summary
from softfloat_ref.coverage.operation import shapes, solve
from softfloat_ref.coverage.operation.factors import product_between, quotient, simplest
from softfloat_ref.coverage.operation.last_places import root_modulo
from softfloat_ref.coverage.operation.models import MODELS, operations
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import Operation, Signature, signature
from softfloat_ref.oracle.operations.formula import Formula, Summand
from softfloat_ref.oracle.operations.table import INVALID_OPERATION, Context, Outcome
from softfloat_ref.oracle.policies import Policy, get_policy

FULL = [
    ("add", "fp16", None, None),
    ("fma", "fp16", None, None),
    ("fmsub", "fp16", None, None),
    ("fnmadd", "bf16", None, "x86-sse"),
    ("power_fnmsub", "fp16", None, Policy("rup")),
    ("convert_modular", "fp64", "i32", Policy("rtz")),
    ("convert_modular", "fp16", "u8", None),
    ("convert", "fp32", "fp8_e4m3", None),
    ("mul", "fp8_e4m3", None, None),
    ("div", "fp16", None, None),
    ("sqrt", "fp16", None, None),
    ("sqrt", "fp32", None, None),
    ("convert", "fp32", "fp8_e5m2", Policy("sr", sr_bits=6)),
    ("mul", "fp32", None, "x86-sse"),
    ("convert", "fp16", "i16", "riscv"),
    ("convert", "i32", "fp16", None),
    ("convert", "fp16", "fp4_e2m1", Policy(nan_missing="error")),
    ("lt", "bf16", None, None),
    ("sub", "bf16", None, Policy("rup", flush_inputs=True, flush_outputs=True)),
    ("exp", "fp16", None, None),
    ("log1p", "fp32", "bf16", "riscv"),
    ("tanh", "fp32", None, Policy("sr", sr_bits=5)),
    ("sigmoid", "bf16", "fp8_e4m3", Policy("rdn", flush_inputs=True, flush_outputs=True)),
    ("gelu", "fp8_e4m3", "fp16", None),
    ("vfrec7", "fp32", None, "riscv"),
    ("frsqrte", "fp16", None, "arm"),
]


def made(op, fmt, out=None, policy=None) -> Coverage:  # type: ignore[no-untyped-def]
    return operations(signature(op, fmt, out), get_policy(policy))


@pytest.mark.full(keep=4)
@pytest.mark.parametrize("fmt", ["s1e5m3", "s1e4m3b9", *(["fp16"] if volume.FULL else [])])
@pytest.mark.parametrize("op", ["sqrt", "rsqrt", "recip", "convert", "div"])
def test_one_binade_stands_for_all(op: str, fmt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And operands are where the inverse says: the same is found by trying every binade, and bisecting all codes."""
    out = "s1e6m2" if op == "convert" else None
    settings = []
    for everywhere in (False, True):
        if everywhere:
            monkeypatch.setattr(shapes, "_as_near_one", lambda where, shape: False)
            monkeypatch.setattr(solve, "_bracket", lambda where, formula, region, low, high: (low, high))
        coverage = operations.__wrapped__(signature(op, fmt, out), get_policy(None))
        bins = [(b.id, b.unreachable) for listed in coverage.bins().values() for b in listed]
        settings.append((bins, list(itertools.islice(stream(coverage, 2), 300))))
    assert any(unreachable for _, unreachable in settings[0][0])
    assert settings[0] == settings[1]


@pytest.mark.full(gate=6, keep=1)
@pytest.mark.parametrize(("op", "fmt", "out", "policy"), FULL)
def test_level_1_hits_every_reachable_bin(op, fmt, out, policy) -> None:  # type: ignore[no-untyped-def]
    """With its directed cases alone, each of which hits the bin it is tagged with, and no two of which are the same."""
    vectors = VectorSet.make(op, fmt, level=1, out=out, policy=policy)
    coverage = vectors.coverage
    assert coverage is not None
    directed = vectors.directed()
    assert len({case for _, case in directed}) == len(directed)
    hit: Counter[str] = Counter()
    for tag, case in directed:
        hits = coverage.hits(case)
        assert tag in hits
        hit.update(hits)
    bins = [b for listed in coverage.bins().values() for b in listed]
    assert [b.id for b in bins if not b.unreachable and not hit[b.id]] == []
    assert [b.id for b in bins if b.unreachable and hit[b.id]] == []
    assert set(hit) <= {b.id for b in bins}
    totals = summary(vectors)
    assert totals is not None
    assert totals["hit"] == sum(not b.unreachable for b in bins)
    assert totals["bins"] >= totals["hit"]  # some may be out of reach by enumeration alone


SMALL = [
    *((op, fmt, None) for op in ("add", "mul", "div", "sqrt", "recip", "rsqrt") for fmt in ("fp4_e2m1", "fp6_e2m3")),
    *((op, "s1e2m2", None) for op in ("add", "sub", "mul", "div", "lt", "round_to_integral")),
    *((op, "s1e2m2" if volume.FULL else "s1e2m1", None) for op in ("faa", "fma")),
    *((op, "binary5p2se", None) for op in ("add", "mul", "div")),
    ("add", "fp6_e2m3", "fp4_e2m1"),
    ("fma", "fp4_e2m1", "fp6_e3m2"),
    *((op, "s1e2m1", None) for op in ("fmsub", "fnmadd", "fnmsub")),
    ("convert", "fp8_e5m2", "fp6_e3m2"),
    ("convert_modular", "fp8_e5m2", "i4"),
    ("convert", "fp8_e4m3", "i8"),
    ("convert", "u8", "fp6_e2m3"),
    ("convert", "fp8_e4m3", "e8m0"),
    ("convert", "int8", "fp4_e2m1"),
    # terms far apart
    ("add", ("s1e2m1b1", "s1e2m1b8"), "s1e4m3"),
    ("sub", ("fp4_e2m1", "s1e2m2b9"), "s1e5m5"),
    ("add", ("s1e3m2b3", "s1e2m1b14"), "s1e4m3b9"),
]
SMALL += [
    *((op, "fp6_e3m2", None) for op in ("exp", "log", "log2", "tan", "acos", "atanpi", "softplus", "mish", "cbrt")),
    *((op, "s1e2m2", None) for op in ("exp2", "sin", "cospi", "tanpi", "acosh", "cosh", "sigmoid", "hypot", "pow")),
    *((op, "binary5p2se", None) for op in ("log1p", "tanh", "asinpi", "gelu", "tanpi", "atan2pi", "pow")),
    ("silu", "fp8_e4m3", "fp4_e2m1"),
    ("exp10", "int8", "fp6_e2m3"),
    ("erf", "fp6_e3m2", "i5"),
    ("expm1", "u8", "fp8_e5m2"),
    ("asinh", "binary4p2ue", "e8m0"),
]
FLUSHED = ("mul", "div", "convert", "recip", "exp", "log2")  # with which subnormal operands and results are flushed too


@pytest.mark.full(gate=6, keep=1)
@pytest.mark.parametrize(
    ("op", "fmt", "out", "flush"),
    [(*request, flush) for request in SMALL for flush in (False, True) if not flush or request[0] in FLUSHED],
)
def test_unreachable_is_what_enumeration_never_hits(
    op: str, fmt: str | tuple[str, ...], out: str | None, flush: bool
) -> None:
    """Every operand of small formats: no bin is hit that a bound excludes, and none that is not listed; with the bins
    that only enumeration excludes, what is not unreachable is hit."""
    coverage = made(op, fmt, out, Policy(flush_inputs=flush, flush_outputs=flush))
    hit: set[str] = set()
    for case in itertools.product(*(range(1 << f.width) for f in coverage.where.formats)):
        hit |= coverage.hits(case)
    by_bounds = {b.id: b.unreachable for listed in coverage.listed.values() for b in listed}
    assert {name for name in hit if by_bounds[name]} == set()
    assert {b.id for listed in coverage.bins().values() for b in listed if not b.unreachable} == hit


@pytest.mark.parametrize(
    "formula",
    [
        Formula((Summand((0, 1)), Summand((2,), minus=True))),
        Formula((Summand((0,)), Summand((1,))), divisor=2),
        Formula((Summand((0, 1), minus=True),), divisor=2),
        Formula((Summand((0, 1, 2)),)),
        Formula((Summand((0, 0, 0)),)),
    ],
)
def test_bounds_hold_for_formulas_that_no_solver_knows(formula: Formula) -> None:
    """No bin of an operation with such a formula is hit that a bound excludes."""

    def function(ctx: Context, *x: Value) -> Outcome:
        if not all(v.is_finite for v in x) or (formula.divisor is not None and x[2].is_zero):
            return INVALID_OPERATION
        total = functools.reduce(exact.add, formula.values(x))
        return (total if formula.divisor is None or total.is_zero else exact.divide(total, x[2], ctx.bits)), 0

    fmt = get_format("s1e2m1")
    arity = 1 + max(i for term in formula.terms for i in (*term.factors, formula.divisor or 0))
    row = Operation("composed", ("float",) * arity, function, formula=formula, rounds=True)
    coverage = operations.__wrapped__(Signature(row, (fmt,) * arity, fmt), Policy())
    hit = set().union(*map(coverage.hits, itertools.product(range(16), repeat=arity)))
    unreachable = {b.id for listed in coverage.listed.values() for b in listed if b.unreachable}
    assert hit
    assert not hit & unreachable


@pytest.mark.full
def test_every_model_applies_somewhere() -> None:
    """And its bins have names of its own, each once."""
    wanted = [*FULL, ("round_to_integral", "fp16", None, None), ("convert", "fp32", "fp16", None)]
    wanted += [("convert", "i8", "fp16", None)]
    seen = set()
    for request in wanted:
        for model, bins in made(*request).listed.items():
            seen.add(model)
            assert len({b.id for b in bins}) == len(bins) > 0
            assert all(b.id.startswith(f"{model}/") for b in bins)
    assert seen == {m.id for m in MODELS}


def test_bins_stay_few() -> None:
    """Some thousands at most, of wide formats too."""
    for op, fmt in (("fma", "fp64"), ("div", "fp128"), ("add", "fp32"), ("fma", "bf16")):
        assert 1000 < sum(map(len, made(op, fmt).listed.values())) < 6000


def test_every_prefix_is_useful() -> None:
    """A short set has cases of every model; the longer one starts with the same cases."""
    short, long = (VectorSet.make("fma", "fp16", n).directed() for n in (80, 2000))
    assert len(short) == 40
    assert long[:40] == short
    assert len({tag.partition("/")[0] for tag, _ in short}) >= 15
    coverage = made("add", "fp16")
    listed = list(stream(coverage, 2))
    hit: set[str] = set()
    needed = 0
    for _, case in listed:
        hit |= coverage.hits(case)
        needed += len(hit) < 1320
    assert needed < 1200  # fewer cases than bins reach them all


def test_tags_follow_the_inputs() -> None:
    vectors = VectorSet.make("convert", "fp32", 3000, out="fp8_e4m3")
    tags = [tag for tag, n in vectors.tag_runs() for _ in range(n)]
    inputs = list(vectors.inputs())
    assert len(tags) == len(inputs) == 3000
    assert tags.count(RANDOM) == 1500
    assert tags.index(RANDOM) == 1500
    coverage = made("convert", "fp32", "fp8_e4m3")
    assert all(tag == RANDOM or tag in coverage.hits(case) for tag, case in zip(tags, inputs, strict=True))


def test_directed_random_bits_are_the_case_s_own() -> None:
    """Those of stochastic rounding meet its carry; cases of other models have the source's."""
    vectors = VectorSet.make("convert", "fp32", 4000, out="fp8_e4m3", policy=Policy("sr", sr_bits=5))
    tags = [tag for tag, n in vectors.tag_runs() for _ in range(n)]
    drawn = vectors.cases.random_array(0, 4000).tolist()
    own = other = 0
    for tag, inputs, word in zip(tags, vectors.inputs(), drawn, strict=True):
        if tag.startswith(("SR/", "SRT/")):
            assert tag in vectors.coverage.hits(inputs)  # type: ignore[union-attr]
            own += inputs[1] != word
        else:
            other += inputs[1] != word
    assert own > 30
    assert other == 0


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("level", LEVELS)
def test_levels(level: str) -> None:
    vectors = VectorSet.make("add", "fp16", level=level)
    assert vectors.count == LEVELS[level].cases
    assert len(vectors.directed()) <= vectors.count
    assert VectorSet.from_dict(vectors.to_dict()) == vectors
    assert VectorSet.make("add", "fp16", 7000, level=level).count == 7000


def test_exhaustive() -> None:
    """Every operand once, in order."""
    vectors = VectorSet.make("add", "fp6_e2m3", level=EXHAUSTIVE)
    assert list(vectors.inputs()) == list(itertools.product(range(64), range(64)))
    assert list(vectors.tag_runs()) == [(EXHAUSTIVE, 4096)]
    for op, fmt, count, message in (
        ("fma", "fp16", None, "2^48 cases"),
        ("add", "fp4_e2m1", 100, "omit the number"),
        ("quantize", "mxfp8", None, "scalar operations"),
    ):
        with pytest.raises(Error, match=message.replace("^", r"\^")):
            VectorSet.make(op, fmt, count, level=EXHAUSTIVE)
    with pytest.raises(Error, match="unknown level"):
        VectorSet.make("add", "fp16", level="3")
    with pytest.raises(Error, match="number of vectors is missing"):
        VectorSet.make("add", "fp16")


def test_measured_in_part() -> None:
    measured_part = set_report(VectorSet.make("add", "fp16", level=1), most=500)
    assert measured_part is not None
    assert measured_part.measured == "the first 500 of 50000 cases"
    assert 0 < measured_part.totals["empty"] == len(measured_part.empty)
    assert measured_part.totals["hit"] > 500


def test_simplest_fraction() -> None:
    """Against a search by denominators; the decisions against every pair of significands."""
    for a, b, c, d in itertools.product(range(5), range(1, 6), range(1, 7), range(1, 6)):
        if a * d < c * b:
            y = next(y for y in itertools.count(1) if (a * y // b + 1) * d < c * y)
            assert simplest(a, b, c, d) == (a * y // b + 1, y)
    from fractions import Fraction

    pairs = list(itertools.product(range(1, 8), range(1, 8)))
    scales = [Fraction(2) ** t for t in range(-6, 12)]
    quotients = {Fraction(x, y) * t for x, y in pairs for t in scales}
    products = {x * y * t for x, y in pairs for t in scales}
    for s in range(1, 128):
        assert (quotient(s, 3, 3) is not None) == any(s < q < s + 1 for q in quotients)
        assert product_between(s, 3, 3) == any(s < q < s + 1 for q in products)


def test_roots_modulo_powers_of_two() -> None:
    for k in range(3, 40):
        for n in (1, 9, 17, 12345 * 8 + 1, (1 << 30) + 1):
            s = root_modulo(n % (1 << k), k)
            assert (s * s - n) % (1 << k) == 0


DIGEST = """
import hashlib, sys
from softfloat_ref.golden.sets import VectorSet
found = hashlib.sha256()
wanted = ("fma", "fp16", None), ("convert", "fp32", "e8m0"), ("div", "fp32", None), ("minimum", "bf16", None)
for op, fmt, out in wanted:
    found.update(repr(VectorSet.make(op, fmt, 4000, out=out).directed()).encode())
print(found.hexdigest())
"""


@pytest.mark.full
def test_the_same_everywhere() -> None:
    """Whatever the order of sets and dictionaries of a process."""
    outputs = set()
    for seed in ("0", "77"):
        run = subprocess.run(
            [sys.executable, "-c", DIGEST], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        outputs.add(run.stdout)
    assert len(outputs) == 1
    assert hashlib.sha256(b"").hexdigest() not in outputs


@pytest.mark.parametrize("op", ["lt", "le", "eq", "max"])
def test_a_short_set_of_comparisons_has_equal_numbers_of_either_sign(op: str) -> None:
    """A comparator that negates operands without care for those that are equal fails on these."""
    coverage = operations(signature(op, "fp16"), Policy())
    short = [case for _, case in itertools.islice(stream(coverage, 4), 24)]
    assert {a >> 15 for a, b in short if a == b and a & 0x7FFF} == {0, 1}
    assert any((a ^ b) == 0x8000 and a & 0x7FFF for a, b in short)
