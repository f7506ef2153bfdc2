"""Functions of many vectors at once: every code and flag is the scalar oracle's, and few vectors are left to it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from volume import cases

from softfloat_ref import arrays
from softfloat_ref.arrays import vector_functions
from softfloat_ref.golden.kinds import vector
from softfloat_ref.golden.sets import of_unit
from softfloat_ref.golden.writers.batch import Batch
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.vector_functions import VECTOR_FUNCTIONS
from softfloat_ref.units import VectorUnit
from softfloat_ref.units.unit import operand

ROUNDINGS = ("rne", "rup", "rdn", "rtz", "rto", "rna", "sr")
SETTINGS: list[tuple[str, Any, str, dict[str, Any]]] = [
    ("softmax", "bf16", "bf16", {}),
    ("softmax", "fp32", "fp32", {"policy": {"nan": "propagate"}}),
    ("softmax", "fp8_e4m3", "fp8_e5m2", {"policy": {"overflow": "sat-finite", "flush_outputs": True}}),
    ("softmax", "i8", "u8", {"length": 5}),
    ("log_softmax", "bf16", "fp32", {}),
    ("log_softmax", "fp16", "fp8_e4m3", {"policy": {"flush_inputs": True}}),
    ("log_softmax", "fp4_e2m1", "tf32", {"length": 2}),
    ("attention_scores", "fp8_e4m3,scale=fp32", "bf16", {"depth": 3, "masked": True}),
    ("attention_scores", "bf16", "fp16", {"depth": 4, "length": 3}),
    ("rms_norm", "bf16", "bf16", {"plain": True}),
    ("rms_norm", "fp32", "fp32", {"epsilon": "0"}),
    ("rms_norm", "x=fp8_e5m2,gain=fp32", "i16", {"length": 3}),
    ("layer_norm", "bf16", "bf16", {"plain": True, "epsilon": "0x1p-10"}),
    ("layer_norm", "fp16", "fp32", {"length": 2}),
    ("layer_norm", "x=fp32,gain=bf16,bias=bf16", "fp8_e4m3", {"policy": {"flush_inputs": True}}),
]


def unit_of(op: str, fmt: str, out: str, options: dict[str, Any], rounding: str = "rne") -> VectorUnit:
    own = {"length": 7, **options}
    policy = Policy(rounding, sr_bits=8 if rounding == "sr" else None, **own.pop("policy", {}))  # type: ignore[arg-type]
    if op == "attention_scores" and "," in fmt:
        first, _, rest = fmt.partition(",")
        fmt = f"q={first},k={first},{rest}"
    return VectorUnit.make(op, fmt, out, policy, **own)


def same(unit: VectorUnit, rows: np.ndarray) -> None:
    got = unit.answers(rows)
    lines = [unit.line(row) for row in rows.tolist()]
    if None in lines:
        assert got is None
        rows = rows[[line is not None for line in lines]]
        got, lines = unit.answers(rows), [line for line in lines if line is not None]
    assert got is not None
    np.testing.assert_array_equal(np.hstack([rows, got]), np.array(lines, np.uint64))


@pytest.mark.full(gate=12)
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda x: "-".join(map(str, x[:3])))
def test_every_lane_is_the_oracles(setting: tuple[str, Any, str, dict[str, Any]], rounding: str) -> None:
    """The directed cases of a set, of all classes of operands and results, and random ones."""
    unit = unit_of(*setting, rounding)
    assert vector_functions.is_fit(unit.function, unit.formats, unit.out, unit.policy)
    same(unit, np.array([*of_unit(unit, cases(60, 400), seed=len(rounding)).inputs()], np.uint64))


@pytest.mark.full
@pytest.mark.parametrize("op", ["softmax", "log_softmax", "rms_norm", "layer_norm"])
@pytest.mark.parametrize(("fmt", "length"), [("fp4_e2m1", 2), ("fp6_e3m2", 2), ("fp4_e2m1", 3)])
def test_every_vector_of_small_formats(op: str, fmt: str, length: int) -> None:
    options = {"plain": True} if op.endswith("norm") else {}
    for rounding, out in (("rne", "bf16"), ("rto", "fp8_e4m3")):
        unit = VectorUnit.make(op, fmt, out, Policy(rounding), length=length, **options)  # type: ignore[arg-type]
        codes = range(1 << get_format(fmt).width)
        same(unit, np.array([*itertools.product(codes, repeat=length)], np.uint64))


@pytest.mark.parametrize("distance", [20, 45, 200, 800, 1e30])
def test_lanes_that_all_but_vanish(distance: float) -> None:
    """Softmax just below 1 and 1/2, its logarithm just beyond a number, at every distance from it: all decided."""
    for x in ([5, 5 - distance, -distance], [3, 3, -distance, -2 * distance], [0, -distance]):
        for op, rounding in itertools.product(("softmax", "log_softmax"), ("rne", "rtz", "rup", "rdn")):
            unit = VectorUnit.make(op, "fp32", "bf16", Policy(rounding), length=len(x))  # type: ignore[arg-type]
            same(unit, arrays.encode(np.array([x], np.float32), "fp32").astype(np.uint64))


EXACT: list[tuple[str, list[float], list[float], dict[str, Any]]] = [
    ("softmax", [2, 2], [0.5, 0.5], {}),
    ("softmax", [1, 1, 1, 1, -np.inf], [0.25, 0.25, 0.25, 0.25, 0], {}),
    ("rms_norm", [3, -3, 3], [1, -1, 1], {"plain": True, "epsilon": "0"}),
    ("rms_norm", [3, 0, -0.0, 0], [2, 0, -0.0, 0], {"plain": True, "epsilon": "0"}),
    ("layer_norm", [1, 3], [-1, 1], {"plain": True, "epsilon": "0"}),
]


@pytest.mark.parametrize(("op", "x", "y", "options"), EXACT, ids=str)
def test_exact_results(op: str, x: list[float], y: list[float], options: dict[str, Any]) -> None:
    """No bound may take them for numbers beside them."""
    unit = VectorUnit.make(op, "bf16", length=len(x), **options)
    rows = arrays.encode(np.array([x]), "bf16").astype(np.uint64)
    assert unit.answers(rows).tolist() == [[*arrays.encode(np.array(y), "bf16").tolist(), 0]]  # type: ignore[union-attr]
    same(unit, rows)


@pytest.mark.parametrize("op", sorted(VECTOR_FUNCTIONS))
def test_few_vectors_are_left_to_the_oracle(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of numbers of ordinary size: none to BF16, one lane in 2^16 to FP32."""
    left, evaluate = [], vector_functions.evaluate
    rng = np.random.default_rng(1)
    for out, most in (("bf16", 2), ("fp32", 20)):
        unit = VectorUnit.make(op, "bf16", out, length=64)
        parts = [arrays.encode(rng.standard_normal((1000, f.lanes)) * 2, "bf16") for f in unit.inputs]

        def counted(*arguments: Any) -> Any:
            results = evaluate(*arguments)
            left.append(int((results.left | results.apart.any(axis=1)).sum()))
            return results._replace(left=np.zeros(len(results.left), bool), apart=np.zeros_like(results.apart))

        monkeypatch.setattr(vector_functions, "evaluate", counted)
        assert unit.answers(np.hstack(parts).astype(np.uint64)) is not None
        assert left.pop() <= most


@pytest.mark.parametrize("op", sorted(VECTOR_FUNCTIONS))
def test_single_lanes_are_left_to_the_oracle(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some lanes of each vector as if a bound had left them open, equal ones and masks among them."""
    evaluate, rng = vector_functions.evaluate, np.random.default_rng(2)

    def open_lanes(*arguments: Any) -> Any:
        results = evaluate(*arguments)
        apart = results.apart | (rng.random(results.codes.shape) < 0.4)
        return results._replace(codes=np.where(apart, np.uint64(0x7B), results.codes), apart=apart)

    unit = VectorUnit.make(op, "bf16", "fp32", length=5)
    rows = np.hstack([arrays.encode(rng.integers(-3, 4, (24, f.lanes)), "bf16") for f in unit.inputs]).astype(np.uint64)
    if op.endswith("softmax"):
        rows[::3, 2] = 0xFF80
    monkeypatch.setattr(vector_functions, "evaluate", open_lanes)
    same(unit, rows)


def test_what_the_loops_do_not_compute() -> None:
    for op, fmt, out in (("softmax", "fp64", "bf16"), ("softmax", "bf16", "fp64"), ("rms_norm", "i32", "bf16")):
        assert VectorUnit.make(op, fmt, out, length=2).answers(np.zeros((1, 4), np.uint64)[:, :2]) is None
    unit = VectorUnit.make("attention_scores", "bf16", length=2, depth=1, masked=True)
    assert unit.answers(np.array([[0, 0, 0, 0, 3]], np.uint64)) is None  # more visible keys than there are


@pytest.mark.parametrize(("op", "fmt", "options"), [
    ("softmax", "bf16", {}),
    ("rms_norm", "x=fp8_e4m3,gain=fp32", {}),
    ("layer_norm", "x=fp4_e2m1,gain=e8m0,bias=ue4m3", {}),
    ("attention_scores", "q=fp8_e5m2fnuz,k=binary8p3se,scale=fp64", {"masked": True, "depth": 2}),
])  # fmt: skip
def test_large_sets_have_the_cases_of_small_ones(
    op: str, fmt: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn in arrays, or word by word."""
    unit = VectorUnit.make(op, fmt, "bf16", length=3, **options)
    drawn = [*of_unit(unit, 700, seed=5).cases.operands(700)]
    monkeypatch.setattr(vector, "ARRAYS_FROM", 0)
    assert [*of_unit(unit, 700, seed=5).cases.operands(700)] == drawn


@pytest.mark.parametrize("op", ["rms_norm", "layer_norm"])
def test_lanes_of_a_gain_or_a_bias_that_is_not_finite(op: str) -> None:
    """The other lanes are exact, so that a flag of such a lane would show: quiet and signalling NaNs, infinities."""
    unit = VectorUnit.make(op, "bf16", length=2, epsilon="0")
    x = [[0x4040, 0x4040], [0x4040, 0xC040], [0x3F80, 0x4040], [0, 0], [0x4040, 0x3F80]]
    special = [[0x3F80, code] for code in (0x3F80, 0x7FC0, 0x7FA0, 0x7F80, 0xFF80)]
    rest = special if op == "layer_norm" else [[]]
    rows = np.array([[*a, *b[::turn], *c] for a in x for b in special for c in rest for turn in (1, -1)], np.uint64)
    same(unit, rows)


@pytest.mark.parametrize("rounding", ["rne", "sr"])
def test_rows_of_cases_are_their_inputs(rounding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directed cases, random ones, random words, across the border of directed and random cases."""
    monkeypatch.setattr(vector, "ARRAYS_FROM", 0)
    unit = unit_of("rms_norm", "x=bf16,gain=fp32", "bf16", {"length": 3}, rounding)
    cases_of = of_unit(unit, 300, seed=3).cases
    inputs = [*cases_of.inputs()]
    directed = len(cases_of.directed())
    assert cases_of.drawn_in_arrays
    assert 0 < directed < 300
    for start, count in ((0, 300), (directed - 3, 7), (directed, 5), (0, 4), (297, 3)):
        assert list(map(tuple, cases_of.rows(start, count).tolist())) == inputs[start : start + count]


def test_lines_of_codes_are_those_of_tuples() -> None:
    """Text, memory words, and the codes themselves, of lanes of one, three, five and sixteen digits."""
    formats = {"x": ("fp4_e2m1", 3), "y": ("s1e5m5", 2), "z": ("tf32", 4), "w": ("fp64", 2)}
    fields = [operand(name, get_format(fmt), lanes) for name, (fmt, lanes) in formats.items()]
    widths = [f.width for f in fields for _ in range(f.lanes)]
    codes = np.random.default_rng(1).integers(0, 1 << 64, (700, len(widths)), np.uint64, endpoint=False)
    codes &= np.array([(1 << w) - 1 for w in widths], np.uint64)
    one, other = (
        Batch(fields, [("case", 700)], **x) for x in ({"rows": [*map(tuple, codes.tolist())]}, {"codes": codes})
    )
    assert one.lines == other.lines
    assert one.count == other.count
    assert bytes(one.text) == bytes(other.text)
    assert bytes(one.words) == bytes(other.words)
    first, second = (x.of(fields[:2]) for x in (one, other))
    assert bytes(first.words) == bytes(second.words)


@pytest.mark.parametrize("rounding", ["rne", "rtz", "rup"])
def test_shares_just_below_one(rounding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of scores that are sums, with errors: the largest far above the others is below one, whatever they are."""
    left: list[int] = []
    evaluate = vector_functions.evaluate

    def counted(*arguments: Any) -> Any:
        results = evaluate(*arguments)
        left.append(int((results.left | results.apart.any(axis=1)).sum()))
        return results

    monkeypatch.setattr(vector_functions, "evaluate", counted)
    policy = Policy(rounding)  # type: ignore[arg-type]
    unit = VectorUnit.make("attention_scores", "bf16", "bf16", policy, length=3, depth=3)
    q, keys = [1.0078125, 1.5, 1.3], [[77.0, -3e-16, 9.5], [-60.0, 3e-17, 2.0], [1e-18, 40.0, -9.5]]
    rows = arrays.encode(np.array([[*q, *np.roll(keys, turn, 0).ravel(), 1.75] for turn in range(3)]), "bf16")
    same(unit, rows.astype(np.uint64))
    assert left == [0]
