"""Pipelines: numpy's float32 step by step, the scalar oracle, the exact functions as a bound, definitions, devices."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import ok, refused
from numpy.typing import NDArray

import softfloat_ref as sf
from softfloat_ref.golden.sets import of_unit
from softfloat_ref.oracle.codec import decode
from softfloat_ref.oracle.steps import recording
from softfloat_ref.units import PipelineUnit, make_unit, restored, stored
from softfloat_ref.units.folds import folded
from softfloat_ref.units.pipeline_steps import part_result
from softfloat_ref.units.pipelines import named_pipelines

Floats = NDArray[np.float32]
F: Any = np.float32
CASES, LENGTH, DEPTH = 60, 7, 5


def correctly(function: Callable[[Any], Any], x: Floats) -> Floats:
    """A function that numpy has not rounded correctly: in float64, and then once."""
    rounded: Floats = function(x.astype(np.float64)).astype(np.float32)
    return rounded


def rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


def total(x: Floats) -> Floats:
    """The sums of rows, from the first lane on."""
    sums = x[:, 0].copy()
    for lane in x.T[1:]:
        sums = sums + lane
    return sums[:, None]


def softmax(x: Floats, reciprocal: bool = False) -> Floats:
    power = correctly(np.exp, x - x.max(axis=1, keepdims=True))
    return power * (F(1) / total(power)) if reciprocal else power / total(power)


def rms_norm(x: Floats, gain: Floats) -> Floats:
    above = total(x * x) / F(LENGTH) + F(1e-5)
    return x * correctly(rsqrt, above) * gain


def layer_norm(x: Floats, gain: Floats, bias: Floats) -> Floats:
    difference = x - total(x) / F(LENGTH)
    above = total(difference * difference) / F(LENGTH) + F(1e-5)
    return difference * correctly(rsqrt, above) * gain + bias


def products(a: Floats, b: Floats) -> Floats:
    """a . b[i] of each row: products and sums each rounded, in order, as fp32-sequential does."""
    sums = np.zeros(b.shape[:2], np.float32)
    for k in range(a.shape[1]):
        sums = sums + a[:, None, k] * b[:, :, k]
    return sums


def attention(q: Floats, k: Floats, v: Floats, scale: Floats, mask: Floats) -> Floats:
    rows = k.reshape(-1, LENGTH, DEPTH), v.reshape(-1, LENGTH, DEPTH)
    share = softmax(products(q, rows[0]) * scale + mask)
    return products(share, rows[1].swapaxes(1, 2))


NUMPY: dict[str, Callable[..., Floats]] = {
    "stepwise_softmax": softmax,
    "stepwise_softmax_reciprocal": lambda x: softmax(x, reciprocal=True),
    "stepwise_rms_norm": rms_norm,
    "stepwise_layer_norm": layer_norm,
    "stepwise_attention": attention,
}


def unit_of(op: str, fmt: str, **options: Any) -> PipelineUnit:
    sizes = {"length": LENGTH, "depth": DEPTH}
    unit = make_unit(op, fmt, **{k: n for k, n in sizes.items() if k in named_pipelines()[op].options}, **options)
    assert isinstance(unit, PipelineUnit)
    return unit


def drawn(unit: PipelineUnit, seed: int) -> list[Floats]:
    """Numbers for each operand; masks of 0 and -Inf."""
    rng = np.random.default_rng(seed)
    numbers = []
    for x in unit.operands:
        values = rng.normal(0, 2, (CASES, x.lanes)).astype(np.float32)
        numbers.append(np.where(rng.random(values.shape) < 0.3, F(-np.inf), F(0)) if x.role == "mask" else values)
    if unit.op == "stepwise_attention":
        numbers[-1][:, 0] = 0  # one key is seen at least
    return numbers


def bits(x: Floats) -> NDArray[np.uint64]:
    return np.ascontiguousarray(x).view(np.uint32).astype(np.uint64)


def test_every_pipeline_has_a_computation_in_numpy() -> None:
    assert NUMPY.keys() == named_pipelines().keys()


@pytest.mark.parametrize("op", NUMPY)
def test_float32_is_that_of_numpy_step_by_step(op: str) -> None:
    unit = unit_of(op, "fp32")
    numbers = drawn(unit, 1)
    rows = np.hstack([bits(x) for x in numbers])
    answers = unit.answers(rows)
    assert answers is not None
    assert (answers[:, :-1] == bits(NUMPY[op](*numbers))).all()
    assert [tuple(row) for row in answers[:8].tolist()] == [unit.answer(row) for row in rows[:8].tolist()]


@pytest.mark.parametrize("op", [op for op in NUMPY if op != "stepwise_attention"])
def test_the_exact_function_is_near(op: str) -> None:
    """Each step has an error of half an ulp; cancellation of the mean is what layer norm may lose."""
    unit = unit_of(op, "fp32")
    exact, numbers = unit.exact, drawn(unit, 2)
    assert exact is not None
    for row in np.hstack([bits(x) for x in numbers])[:20].tolist():
        own, right = unit.answer(row)[:-1], exact.answer(row)[:-1]
        values = [[decode(code, "fp32").as_fraction() for code in codes] for codes in (own, right)]
        largest = max(map(abs, values[1]))
        assert all(abs(x - y) <= largest * Fraction(2) ** -20 for x, y in zip(*values, strict=True))


@pytest.mark.extra("torch")
def test_bfloat16_is_that_of_torch_step_by_step() -> None:
    """Sums, differences, products and quotients of two numbers; the root is ours, and what follows torch's again."""
    import torch

    unit = unit_of("stepwise_layer_norm", "bf16", steps=True)
    x, gain, bias = (torch.tensor(values).bfloat16() for values in drawn(unit, 3))
    rows = np.hstack([v.view(torch.uint16).numpy().astype(np.uint64) for v in (x, gain, bias)])
    answers = unit.answers(rows)
    assert answers is not None
    sizes = [f.lanes for f in unit.outputs]
    parts = np.split(answers, np.cumsum(sizes)[:-1], axis=1)
    got = dict(zip([f.name for f in unit.outputs], parts, strict=True))

    def added(v: Any) -> Any:
        sums = v[:, :1]
        for lane in range(1, v.shape[1]):
            sums = sums + v[:, lane : lane + 1]
        return sums

    number = torch.tensor(LENGTH).bfloat16()
    steps = {"total": added(x), "mean": added(x) / number}
    steps["difference"] = x - steps["mean"]
    steps["square"] = steps["difference"] * steps["difference"]
    steps["squares"] = added(steps["square"])
    steps["variance"] = steps["squares"] / number
    steps["above"] = steps["variance"] + torch.tensor(1e-5).bfloat16()
    root = torch.tensor(got["root"].astype(np.int32)).to(torch.uint16).view(torch.bfloat16)
    steps["normal"] = steps["difference"] * root
    steps["scaled"] = steps["normal"] * gain
    steps["y"] = steps["scaled"] + bias
    for name, wanted in steps.items():
        assert (got[name] == wanted.view(torch.uint16).numpy()).all(), name


POLICIES = [
    "ieee",
    {"rounding": "rtz"},
    {"flush_inputs": True, "flush_outputs": True},
    {"rounding": "sr", "sr_bits": 4},
]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("op", NUMPY)
def test_arrays_and_the_steps_agree_with_single_cases(op: str, policy: Any) -> None:
    """Formats of every step by turns; operands of every kind; the results of all steps."""
    fmt = "q=bf16,k=fp16,steps=fp16" if op == "stepwise_attention" else "x=bf16,steps=fp16,total=bf16"
    unit = unit_of(op, fmt, policy=policy, steps=True)
    rng = np.random.default_rng(5)
    fields = [f for f in unit.inputs for _ in range(f.lanes)]
    rows = np.array([[rng.integers(1 << f.width) for f in fields] for _ in range(12)], np.uint64)
    rows[::2, : LENGTH - 1] &= np.uint64(0xBFFF)  # numbers below 2
    answers = unit.answers(rows)
    assert answers is not None
    for row, answer in zip(rows.tolist(), answers.tolist(), strict=True):
        run = recording()
        assert tuple(answer) == tuple(unit.answer(row)) == tuple(unit.computed(run, row))
        assert len([*run.all(part_result)]) == sum(s.calls(unit.sizes) for s in unit.stages)


def test_a_stored_unit_is_the_same() -> None:
    for op in NUMPY:
        unit = unit_of(op, "bf16", steps=True)
        assert restored(json.loads(json.dumps(stored(unit)))) == unit


ORDERS = {
    "sequential": "((((((0+1)+2)+3)+4)+5)+6)",
    "backward": "((((((6+5)+4)+3)+2)+1)+0)",
    "pairs": "(((0+1)+(2+3))+((4+5)+6))",
    "halves": "(((0+4)+(2+6))+((1+5)+3))",
    "interleaved/2": "((((0+2)+4)+6)+((1+3)+5))",
    "interleaved/3": "((((0+3)+6)+(1+4))+(2+5))",
    "interleaved/9": "(((0+1)+(2+3))+((4+5)+6))",
}


@pytest.mark.parametrize("order", ORDERS)
def test_orders(order: str) -> None:
    assert folded(order, [str(i) for i in range(7)], lambda a, b: f"({a}+{b})") == ORDERS[order]
    assert folded(order, ["0"], lambda a, b: f"({a}+{b})") == "0"


# -- definitions -------------------------------------------------------------------------------------------------------

BASE2 = """
[pipelines.base_two]
operands = { x = "length" }
exact = "softmax"
fmt = "x=bf16,steps=fp32"
out = "bf16"
steps = [
    { name = "largest", op = "maximum", of = ["x"], order = "halves", out = "bf16" },
    { name = "difference", op = "sub", of = ["x", "largest"] },
    { name = "scaled", op = "mul", of = ["difference", "0x1.715476p+0"] },
    { name = "power", op = "exp2", of = ["scaled"], policy = { flush_outputs = true } },
    { name = "total", op = "add", of = ["power"], order = "interleaved/2" },
    { name = "y", op = "div", of = ["power", "total"] },
]
"""


@pytest.fixture
def base2(tmp_path: Path) -> str:
    path = tmp_path / "base2.toml"
    path.write_text(BASE2)
    return str(path)


def test_a_definition_of_ones_own(base2: str, tmp_path: Path) -> None:
    unit = sf.unit(base2, length=4)
    assert [f.name for f in unit.fields] == ["x", "y", "flags"]
    assert ok("eval", base2, "3f80", "4000", "ff80", "0000") == "3e7b 3f2a 0000 3db8 01\n"
    with_steps = sf.unit(base2, length=4, steps=True)
    x = np.array([1, 2, -np.inf, 0], np.float32)
    power = correctly(np.exp2, (x - 2) * F(float.fromhex("0x1.715476p+0")))
    wanted = [np.float32([2]), x - 2, (x - 2) * F(float.fromhex("0x1.715476p+0")), power]
    answer = with_steps.answer([0x3F80, 0x4000, 0xFF80, 0])
    assert list(answer[1:13]) == [int(code) for step in wanted[1:] for code in bits(step)]
    assert answer[13] == bits((power[0] + power[2]) + (power[1] + power[3])[None])[0]
    ok("vectors", "generate", "--op", base2, "--length", "4", "-n", "60", "--steps", "-o", str(tmp_path / "v"))
    ok("vectors", "verify", str(tmp_path / "v"))


BAD = {
    'order = "halves"': ('order = "halve"', "halves"),
    '"difference", "0x1.715476p+0"': ('"differences", "1"', "differences"),
    'operands = { x = "length" }': ('operands = { x = "wide" }', "length x depth"),
    'name = "total"': ('name = "x"', "two operands or steps"),
    'name = "scaled"': ('name = "wire"', "reserved"),
    'op = "exp2"': ('op = "exp3"', "exp2"),
    'exact = "softmax"': ('exact = "rms_norm"', "base_two"),
    "flush_outputs = true": ('rounding = "up"', "rup"),
    'of = ["x"], order = "halves", out = "bf16"': ('of = ["x", "x"], order = "halves"', "a fold is of one operand"),
    'of = ["power", "total"]': ('of = ["1", "2"]', "names no operand"),
}


@pytest.mark.parametrize("right", BAD)
def test_wrong_definitions_are_refused(right: str, base2: str) -> None:
    wrong, message = BAD[right]
    path = Path(base2)
    assert right in BASE2
    path.write_text(BASE2.replace(right, wrong))
    assert message in refused("eval", base2, "0", "0")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["stepwise_softmax", "--fmt", "bf16", "--depth", "2"], "--depth"),
        (["stepwise_softmax", "--fmt", "bf16", "--acc", "fp32-sequential"], "--acc"),
        (["stepwise_softmax", "--fmt", "x=bf16,sums=fp32"], "total"),
        (["stepwise_rms_norm", "--fmt", "bf16", "--epsilon", "-1"], "negative"),
        (["stepwise_softmax"], "--fmt"),
    ],
)
def test_bad_usage(words: list[str], message: str) -> None:
    assert message in refused("eval", *words, "0", "0", "0")


# -- sets and devices --------------------------------------------------------------------------------------------------


def test_vectors_and_the_coverage_of_steps() -> None:
    unit = make_unit("stepwise_softmax", "x=bf16,steps=fp16", length=4, steps=True)
    vectors = of_unit(unit, 400, seed=2)
    hit = {name for case in vectors.inputs() for name in vectors.cases.coverage.hits(case)}  # type: ignore[union-attr]
    for event in ("power.gives.pos.sub", "power.underflow", "difference.invalid", "total.pos.lsb0.guard1.sticky0"):
        assert f"STEP/{event}" in hit, sorted(x for x in hit if x.startswith("STEP/" + event.partition(".")[0]))


def test_masks_are_zeros_and_minus_infinity() -> None:
    unit = make_unit("stepwise_attention", "bf16", length=4, depth=2)
    for count in (200, 5000):  # one by one, and in arrays
        masks = [case[-4:] for case in of_unit(unit, count, seed=1).cases.operands(count)]
        codes = [code for mask in masks for code in mask]
        assert sum(code in (0, 0xFF80) for code in codes) > 0.9 * len(codes)
        assert 0.15 < codes.count(0xFF80) / len(codes) < 0.35
