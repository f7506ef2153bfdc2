"""Kappa of P3109 4.4: by its definition on sets of values, its rules for NaNs and infinities, and its declaration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.codec import decode
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import evaluator, signature
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.testing import declaration
from softfloat_ref.testing.check import check_arrays
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.judge import CheckReport, Judge
from softfloat_ref.testing.kappa import Allowance, Kappas, intervals, kappa_of, largest_kappa, text_of


def finite_codes(name: str) -> Iterator[int]:
    fmt = get_format(name)
    return (code for code in range(1 << fmt.width) if decode(code, fmt).is_finite)


@pytest.mark.full(keep=3)
@pytest.mark.parametrize("name", ["binary5p3se", "binary4p2uf", "s1e2m2", "fp4_e2m1", "s1e3m2fnuz", "e8m0"])
def test_kappa_is_its_definition(name: str) -> None:
    """#([defined, given) or (given, defined]) of the format's values, on the given side closed."""
    fmt = get_format(name)
    values = sorted({decode(code, fmt).as_fraction() for code in finite_codes(name)})
    step = 3 if fmt.width < 8 else 17
    for right, came in itertools.product(itertools.islice(finite_codes(name), 0, None, step), finite_codes(name)):
        x, y = decode(right, fmt).as_fraction(), decode(came, fmt).as_fraction()
        assert kappa_of(right, came, fmt) == sum(x < v <= y or y <= v < x for v in values)


def test_nans_and_infinities() -> None:
    fmt = get_format("binary8p4se")
    nan, inf, negative = 0x80, 0x7F, 0xFF
    assert kappa_of(nan, nan, fmt) == kappa_of(inf, inf, fmt) == 0
    assert math.isnan(kappa_of(nan, inf, fmt))
    assert math.isnan(kappa_of(0, nan, fmt))
    assert kappa_of(inf, negative, fmt) == kappa_of(inf, 0x7E, fmt) == kappa_of(0, inf, fmt) == math.inf
    assert math.isnan(kappa_of(0, 0x100, fmt))  # no code of the format
    assert kappa_of(0x7E01, 0xFE00, get_format("fp16")) == 0  # any NaN matches any


def test_the_largest() -> None:
    assert largest_kappa([1, 3, 2]) == 3
    assert largest_kappa([1, math.inf]) == math.inf
    assert math.isnan(largest_kappa([math.inf, math.nan, 3]))
    assert list(map(text_of, (3, math.inf, math.nan))) == ["3", "Inf", "NaN"]


def test_intervals() -> None:
    parts = intervals("[-inf, -1) [-1, 0.5], (1/2, inf]")
    assert [p.text for p in parts] == ["[ -Inf, -1 )", "[ -1, 0.5 ]", "( 1/2, Inf ]"]
    x = {v: [p.holds(decode(c, "fp16")) for p in parts] for v, c in (("-1", 0xBC00), ("1/2", 0x3800), ("inf", 0x7C00))}
    assert x == {"-1": [False, True, False], "1/2": [False, True, False], "inf": [False, False, True]}


@pytest.mark.parametrize("text", ["", "1", "[1, 2", "[2, 1]", "[0, 1] [1, 2]", "[0, 2] (1, 3]", "[nan, 1]", "[a, 1]"])
def test_wrong_intervals(text: str) -> None:
    with pytest.raises(Error):
        intervals(text)


Change = Callable[[int], int]
RUN = evaluator(signature("exp", "binary8p4se"), Policy())
RESULTS = [RUN((code,), 0)[0] for code in range(256)]
HIGH, LOW = range(0x41, 0x45), 0x30
HIGHS, LOWS = sum(x in HIGH for x in RESULTS), RESULTS.count(LOW)


def wrong(code: int) -> int:
    """Two values high for results from 1.125 to 1.5, one low for 0.25."""
    return code + 2 * (code in HIGH) - (code == LOW)


def measured(change: Change, allowed: Allowance) -> CheckReport:
    """An exp of binary8p4se with changed results."""
    vectors = VectorSet.make("exp", "binary8p4se", level="exhaustive")
    return check_arrays(vectors, lambda a: np.array([change(RESULTS[x]) for x in a.tolist()]), kappa=allowed)


def kappas(report: CheckReport) -> Kappas:
    assert isinstance(report.errors, Kappas)
    return report.errors


def test_a_device_is_measured() -> None:
    report = measured(wrong, Allowance(None, intervals("[-inf, -1) [-1, 0] (0, inf]")))
    assert report.passed
    result = kappas(report)
    assert (result.compared, result.kappa) == (256, 2)
    assert result.declared == [("[ -Inf, -1 )", 1), ("[ -1, 0 ]", 0), ("( 0, Inf ]", 2)]
    assert result.counts == {"0": 256 - HIGHS - LOWS, "1": LOWS, "2": HIGHS}
    assert result.text()[-1] == "worst 2: exp 29 = 43, defined 41"
    assert result.summary() == "; kappa 2"


@pytest.mark.parametrize(("limit", "count"), [(2, 0), (1, HIGHS), (0, HIGHS + LOWS)])
def test_a_kappa_allowed(limit: int, count: int) -> None:
    report = measured(wrong, Allowance(limit))
    assert dict(report.kinds) == ({f"kappa above {limit}": count} if count else {})
    assert report.passed == (not count)


@pytest.mark.parametrize(
    ("change", "kind", "kappa"),
    [
        ({0x80: 0}, "no NaN", "NaN"),
        ({0x40: 0x80}, "NaN", "NaN"),
        ({0x7F: 0x7E}, "kappa above 9", "Inf"),
    ],
)
def test_what_does_not_match(change: dict[int, int], kind: str, kappa: str) -> None:
    report = measured(lambda code: change.get(code, code), Allowance(9, intervals("[-inf, inf]")))
    assert list(report.kinds) == [kind]
    assert [(where, text_of(k)) for where, k in kappas(report).declared] == [("[ -Inf, Inf ]", kappa)]


def test_several_results() -> None:
    """Of a block, the largest of its lanes counts: one is one low, the scale is as it is."""
    vectors = VectorSet.make("BlockAdd", "binary8p4se@binary8p1uf/2", 200)
    judge = Judge(vectors, kappa=Allowance(0))
    for inputs in vectors.inputs():
        line = vectors.line(inputs)
        assert line is not None
        *right, last = line[-3:]
        judge.compare(line, Answer((*right, last - (1 < last < 0x70))))
    report = judge.report
    assert kappas(report).kappa == 1
    assert set(report.kinds) == {"kappa above 0"}
    text = declaration.kappas(kappas(report), "BlockAddFast", "sampling", declaration.Provider())
    assert 'Approximates: "BlockAdd<' in text
    assert "kappa: 1" in text


def test_a_declaration() -> None:
    report = measured(lambda code: code - (code == LOW), Allowance(None, intervals("[-inf, 0) [0, inf]")))
    text = declaration.kappas(kappas(report), "ExpFast", "exhaustive", declaration.Provider(provider='a "b"'))
    assert text == declaration.kappas(kappas(report), "ExpFast", "exhaustive", declaration.Provider(provider='a "b"'))
    for line in (
        '  provider: "a \\"b\\""',
        '    Approximates: "Exp<fx, fr, ρ>(x) -> r"',
        '      - { interval: "[ -Inf, 0 )", kappa: 1 }',
        '      - { interval: "[ 0, Inf ]", kappa: 0 }',
        '      - "fx in [Binary8p4se]"',
        "      RoundingMode: [ NearestTiesToEven ]",
        "      SaturationMode: [ SatNone ]",
        "      method: exhaustive",
        '      note: "256 cases compared"',
    ):
        assert line in text.splitlines()
    named = declaration.kappas(kappas(report), "ExpFast", "exhaustive", declaration.Provider(), "my file.yaml")
    assert '  file: "my file.yaml"' in named.splitlines()
    for name in ("Exp", "exp", "Tanh", "tanh"):
        with pytest.raises(Error, match="a name of its own"):
            declaration.kappas(kappas(report), name, "exhaustive", declaration.Provider())


@pytest.mark.parametrize(("op", "fmt", "parts"), [("lt", "fp16", ""), ("add", "fp16", "[0, 1]"), ("convert", "i8", "")])
def test_units_without_kappa(op: str, fmt: str, parts: str) -> None:
    vectors = VectorSet.make(op, fmt, 10)
    allowed = Allowance(1, intervals(parts) if parts else ())
    with pytest.raises(Error, match="--kappa"):
        Judge(vectors, kappa=allowed)
