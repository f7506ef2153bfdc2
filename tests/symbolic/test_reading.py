"""What is read from the oracle's functions is what these compute."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from exports import SETS
from exports import cases as lines_of
from requantize_definition import drawn_rules

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.affine import get_affine_format
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.oracle.policies import POLICIES
from softfloat_ref.oracle.requantization import RULES as REQUANTIZE_RULES
from softfloat_ref.symbolic.build import or_
from softfloat_ref.symbolic.cases import cases
from softfloat_ref.symbolic.integers import bits
from softfloat_ref.symbolic.paths import Unsupported
from softfloat_ref.symbolic.reader import call
from softfloat_ref.symbolic.reading import Collection, reading
from softfloat_ref.symbolic.terms import TRUE, evaluator
from softfloat_ref.symbolic.units import circuit, inputs_of
from softfloat_ref.units import Unit, make_unit
from softfloat_ref.units.affine import AffineDequantizeUnit, AffineQuantizeUnit
from softfloat_ref.units.approximation import ApproximationUnit
from softfloat_ref.units.block_operation import BlockOperationUnit
from softfloat_ref.units.dequantize import DequantizeUnit
from softfloat_ref.units.dot import DotUnit
from softfloat_ref.units.matmul import MatmulUnit
from softfloat_ref.units.operation import OperationUnit
from softfloat_ref.units.quantize import QuantizeUnit

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
FORMATS = ("fp16", "fp8_e4m3", "fp8_e5m2fnuz", "binary8p4se", "fp4_e2m1", "ue4m3", "int8")


def draw(rnd: random.Random, fmt: Format | None, width: int) -> int:
    """A code: any, or one beside an edge of the format, or with few bits."""
    edges = [0, 1, (1 << width) - 1]
    if fmt is not None:
        edges += [
            fmt.max_code,
            fmt.min_code,
            fmt.inf_code,
            fmt.canonical_nan,
            fmt.bias << fmt.mantissa_bits,
            fmt.sign_bit,
        ]
    way = rnd.random()
    if way < 0.4:
        return rnd.getrandbits(width)
    if way < 0.75:
        return (max(rnd.choice(edges), 0) + rnd.randint(-1, 1)) % (1 << width) ^ rnd.choice((0, 1 << (width - 1)))
    return rnd.getrandbits(width) >> rnd.randrange(width) << rnd.randrange(width) & ((1 << width) - 1)


def check(unit: Unit, count: int, seed: int = 0, draw: Callable[..., int] = draw) -> None:
    whole = circuit(unit)
    run, undefined = whole.function(), evaluator([whole.undefined])
    rnd = random.Random(seed)
    names = [name for port in whole.inputs for name in port.names]
    fields = [f for f in unit.inputs for _ in range(f.lanes)]
    for _ in range(count):
        codes = [draw(rnd, f.fmt, f.width) for f in fields]
        try:
            want = list(unit.answer(codes))
        except Undefined:
            assert undefined(dict(zip(names, codes, strict=True))) == [1], codes
            continue
        assert run(codes) == want, [hex(x) for x in codes]
        assert undefined(dict(zip(names, codes, strict=True))) == [0], codes


REAL = [op.name for op in OPERATIONS.values() if op.curve and op.formula is None]
LONG = {"dot4", "clamp", "rsqrtps_zen4", "vrcp14", "vrsqrt14"}  # read in seconds: of one narrow format


@pytest.mark.full(keep=1, gate=15)
@pytest.mark.parametrize("op", [name for name in OPERATIONS if name not in REAL])
def test_every_operation_of_integers_is_read(op: str) -> None:
    read = 0
    for fmt in ("fp8_e4m3",) if op in LONG else FORMATS:
        if op in LONG and read:
            break
        try:
            unit = OperationUnit.make(op, fmt)
        except Error:  # an operation that this format does not have
            continue
        check(unit, 60)
        read += 1
    assert read, op


@pytest.mark.parametrize("op", ["exp", "tanh", "gelu", "log2", "sinpi"])
def test_functions_of_few_bits_are_tables(op: str) -> None:
    check(OperationUnit.make(op, "fp8_e4m3"), 256)
    check(OperationUnit.make(op, "fp4_e2m1", "fp16"), 16)


@pytest.mark.parametrize(("op", "fmt"), [("exp", "fp16"), ("hypot", "fp8_e4m3")])
def test_what_is_no_bounded_arithmetic_is_refused_in_one_line(op: str, fmt: str) -> None:
    with pytest.raises(Unsupported) as refused:
        circuit(OperationUnit.make(op, fmt))
    assert "\n" not in str(refused.value)


@pytest.mark.full(keep=6)
@pytest.mark.parametrize("mode", ["rna", "rtz", "rup", "rdn", "rto", "rnu", "rhz", "sr", "sr-b", "sr-c"])
@pytest.mark.parametrize(
    ("op", "fmt", "out"), [("convert", "fp32", "fp8_e5m2"), ("fma", "fp8_e4m3", "bf16"), ("div", "fp16", None)]
)
def test_every_rounding_is_read(op: str, fmt: str, out: str | None, mode: str) -> None:
    policy: dict[str, Any] = {"rounding": mode, **({"sr_bits": 5} if mode.startswith("sr") else {})}
    check(OperationUnit.make(op, fmt, out, policy), 150)


@pytest.mark.full(keep=5)
@pytest.mark.parametrize(
    "policy",
    [
        {"flush_inputs": True, "flush_outputs": True},
        {"tininess": "before", "overflow": "sat-finite"},
        {"nan": "propagate"},
        {"nan": "propagate-signaling,addend-first", "like": "riscv"},
        {"like": "arm", "flush_outputs": True},
        {"like": "x86-sse"},
    ],
)
@pytest.mark.parametrize("op", ["add", "mul", "fma", "convert", "maximum"])
def test_policies_are_read(op: str, policy: dict[str, Any]) -> None:
    out = "fp8_e5m2" if op == "convert" else None
    check(OperationUnit.make(op, "fp16", out, policy), 150)


@pytest.mark.full(keep=19)
@pytest.mark.parametrize("policy", list(POLICIES))
@pytest.mark.parametrize(("fmt", "out"), [("bf16", "fp32"), ("bf16", "bf16"), ("fp16", "fp32"), ("fp8_e5m2", "fp16")])
def test_conversions_of_named_policies_are_read(fmt: str, out: str, policy: str) -> None:
    """Some append zeros and do nothing else."""
    check(OperationUnit.make("convert", fmt, out, policy), 400)


@pytest.mark.full(keep=4)
@pytest.mark.parametrize("out", ["e8m0", "fp8_e4m3"])
@pytest.mark.parametrize("policy", ["cuda-nosat", "ml-dtypes", "torch-e8m0", "onnx-e8m0", "openvino-e8m0"])
def test_conventions_of_narrow_formats_are_read(policy: str, out: str) -> None:
    check(OperationUnit.make("convert", "fp32", out, policy), 400)
    check(OperationUnit.make("convert", "fp16", out, policy), 400)


@pytest.mark.parametrize("op", ["add", "fma", "div", "sqrt"])
def test_formats_whose_infinities_have_one_sign(op: str) -> None:
    check(OperationUnit.make(op, "binary8p3ue"), 400)


@pytest.mark.full(keep=7)
@pytest.mark.parametrize(
    "out", ["fp64", "fp32", "bf16", "tf32", "e8m0", "i8", "u16", "i32", "fp6_e3m2", "binary8p1uf", "s1e6m1b46"]
)
def test_conversions_are_read(out: str) -> None:
    check(OperationUnit.make("convert", "fp32", out), 200)
    check(OperationUnit.make("convert", out, "fp16"), 200)


def small(name: str, size: int) -> Any:
    return replace(get_block_format(name), size=size)


def value(rnd: random.Random, fmt: Format | None, width: int) -> int:
    """A value of a block: most within a few binades of 1."""
    if fmt is None or fmt.width < 16 or rnd.random() < 0.15:
        return draw(rnd, fmt, width)
    near = fmt.bias + rnd.randint(-9, 3)
    return rnd.getrandbits(1) << (width - 1) | near << fmt.mantissa_bits | rnd.getrandbits(fmt.mantissa_bits)


@pytest.mark.full(keep=1, gate=3)
@pytest.mark.parametrize(
    ("name", "keywords"),
    [
        ("mxfp8", {}),
        ("mxfp8", {"profile": "microxcaling"}),
        ("mxfp4", {"policy": {"rounding": "sr", "sr_bits": 4}}),
        ("mxint8", {}),
        ("mxfp6_e2m3", {"values": "bf16", "profile": "torchao-rceil"}),
        ("nvfp4", {}),
        ("nvfp4", {"profile": "nvfp4-torchao"}),
        ("nvfp4", {"profile": "modelopt-nvfp4"}),
        ("nvfp4", {"profile": "compressed-tensors-nvfp4"}),
        ("mxfp4", {"profile": "modelopt-mxfp4"}),
        ("mxfp4", {"profile": "gguf-mxfp4"}),
        ("mxfp8", {"profile": "compressed-tensors-mxfp8"}),
    ],
)
def test_block_quantizers_are_read(name: str, keywords: dict[str, Any]) -> None:
    check(QuantizeUnit.make(small(name, 3), **keywords), 150, draw=value)


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("name", ["mxfp8", "nvfp4", "mxint8"])
def test_block_dequantizers_are_read(name: str) -> None:
    check(DequantizeUnit.make(small(name, 3)), 150)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(("name", "rule"), [("qint8", "exact"), ("quint8", "torch")])
def test_affine_quantizers_are_read(name: str, rule: str) -> None:
    check(AffineQuantizeUnit.make(name, rule=rule), 150, draw=value)
    check(AffineDequantizeUnit(get_affine_format(name)), 100, draw=value)


def test_an_approximation_is_read() -> None:
    check(ApproximationUnit.make(str(EXAMPLES / "tanh_bf16" / "tanh_bf16.toml")), 300)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("fmt", "acc", "k"),
    [
        ("fp8_e4m3", "exact", 3),
        ("fp16", "fp32-sequential", 2),
        ("fp16", "nvidia-v100", 4),
        ("bf16", "x86-vdpbf16ps", 2),
    ],
)
def test_dot_products_are_read(fmt: str, acc: str, k: int) -> None:
    check(DotUnit.make(fmt, acc=acc, k=k), 100)


@pytest.mark.full
@pytest.mark.parametrize("name", ["mxfp8", "mxfp8_e5m2", "mxfp4", "mxint8", "nvfp4"])
def test_dot_products_of_blocks_are_read(name: str) -> None:
    check(DotUnit.make(small(name, 2), k=2), 60)
    check(DotUnit.make(small(name, 2), k=4), 30)  # two steps, with scales of their own
    check(DotUnit.make(small(name, 2), k=2, acc="exact"), 30)


def test_a_sum_that_is_not_rounded_at_once_is_exact() -> None:
    """A sticky bit for the number far below another one would not do there: that one is taken away again."""
    tree = "fuse(fuse(c + fuse(p[:1]) -> fp32:rne) + p[1:2]) -> fp32:rne"
    unit = DotUnit.make("fp16", acc={"tree": tree, "step": "all"}, k=2)
    codes = [0x0003, 0xE400, 0x0001, 0x6400, 0x49800000]  # 3 * 2^-24 * 2^-24 - 1024 * 1024 + 2^20
    assert unit.answer(codes) == (0x28400000, 0)
    assert circuit(unit).function()(codes) == [0x28400000, 0]
    check(unit, 60)


@pytest.mark.full
def test_cases_of_a_dot_product_are_read_right() -> None:
    """By the distance of the rounded sum of products from c; what is rounded is that sum."""
    unit = DotUnit.make(small("mxfp8", 2), k=2)
    split, names = cases(unit), [n for p in circuit(unit).inputs for n in p.names]
    lines = [dict(zip(names, x, strict=True)) for x in VectorSet(unit, 300).inputs()]
    complete = evaluator([or_(*(case.assumption for case in split if not case.inside))])
    assert all(complete(x) == [1] for x in lines)
    (rounded,) = circuit(unit).rounded
    plain = evaluator([rounded.where, rounded.code.node])
    for x in lines:
        number, code = plain(x)
        assert not number or code == unit.answer(list((x | {"c": 1 << 31}).values()))[0]
    seen = set()
    for case in (*split[:4], *split[4:-2:9], *split[-2:]):
        within, run = evaluator([case.assumption]), evaluator(circuit(unit, case).roots)
        for x in lines:
            if within(x) == [1]:
                seen.add(case.name)
                assert run(x) == list(unit.answer(list(x.values()))), (case.name, x)
    assert len(seen) >= 8


@pytest.mark.full(keep=3)
@pytest.mark.parametrize("name", REQUANTIZE_RULES)
def test_requantizers_are_read(name: str) -> None:
    fmt = "i48" if REQUANTIZE_RULES[name].accumulator_bits == 48 else "i32"
    check(make_unit("requantize", fmt, rule=name, clamped=name == "tosa"), 300)


def test_drawn_requantizers_are_read() -> None:
    for n, rule in enumerate(drawn_rules(5, 25)):
        check(make_unit("requantize", ("i8", "u8", "i11")[n % 3], ("i6", "u6", "i13")[n // 3 % 3], rule=rule), 20)


@pytest.mark.full
def test_matrix_products_and_conversions_of_blocks_are_read() -> None:
    check(make_unit("matmul", "fp8_e5m2", m=2, n=1, k=2), 50)
    check(make_unit("convert_from_block", "fp4_e2m1@e8m0/3"), 100)


@pytest.mark.full
@pytest.mark.parametrize("name", ["mixed", "roundings"])
def test_several_operations_are_read(name: str) -> None:
    """Also where no result is defined: codes of no part, operands that a part does not have, too many random bits."""
    unit = SETS[name].unit
    check(unit, 300)
    run = circuit(unit).function()
    for inputs, outputs in lines_of(SETS[name], 600):
        assert run(inputs) == outputs, inputs
    for case in (c for c in cases(unit) if c.part is not None and c.of_part is None):
        within = circuit(unit, case)
        run, undefined = within.function(), evaluator([within.undefined])
        for inputs, outputs in lines_of(SETS[name], 300):
            names = [n for p in within.inputs for n in p.names]
            selected = unit.selected(inputs)[0] == unit.parts[case.part]
            assert undefined(dict(zip(names, inputs, strict=True))) == [not selected], (case.name, inputs)
            assert not selected or run(inputs) == outputs, (case.name, inputs)


@pytest.mark.full
@pytest.mark.parametrize(
    ("op", "fmt"), [("add", "fp8_e5m2"), ("sub", "fp16"), ("fma", "fp8_e4m3"), ("add", "fp6_e3m2"), ("mul", "fp6_e2m3")]
)
def test_cases_hold_all_inputs_and_are_read_right(op: str, fmt: str) -> None:
    unit = OperationUnit.make(op, fmt)
    split, names = cases(unit), "abc"[: len(unit.formats)]
    assert len(split) > 5
    rnd, width = random.Random(1), get_format(fmt).width
    inputs = [dict(zip(names, (draw(rnd, unit.formats[0], width) for _ in names), strict=True)) for _ in range(300)]
    complete = evaluator([or_(*(case.assumption for case in split))])
    assert all(complete(x) == [1] for x in inputs)
    for case in split[:: max(1, len(split) // 8)]:
        within, run = evaluator([case.assumption]), evaluator(circuit(unit, case).roots)
        for x in inputs:
            assert within(x) == [0] or run(x) == list(unit.answer(list(x.values()))), (case.name, x)


def looped(x: int) -> int:
    while x > 1:
        x = x >> 1
    return x


def looked_up(x: int) -> int:
    return {0: 5, 1: 7}[x]


def raised(x: int) -> int:
    if x == 3:
        raise ValueError
    return x + 1


def set_of(x: int) -> int:
    return len({x, 3})


def imported(x: int) -> int:
    import math

    return math.isqrt(x)


def changed(x: int) -> int:
    items = [1]
    if x > 7:
        items.extend([2])
    return len(items)


def stored(x: int) -> int:
    table = {1: 1}
    if x > 7:
        table[1] = 2
    return table[1]


def unbound(x: int) -> int:
    if x > 7:
        FORMATS = 1  # noqa: N806  (the module has the name, too)
    return x + FORMATS


def rebound(x: int) -> int:
    y = x

    def inner() -> int:
        return y + 1

    y = 0
    return inner() + y


@pytest.mark.parametrize("function", [looped, looked_up, set_of, imported, changed, stored, unbound, rebound])
def test_what_cannot_be_read_is_refused(function: Callable[[int], int]) -> None:
    unit = OperationUnit.make("convert", "fp8_e4m3", "fp16")
    with pytest.raises(Unsupported):
        call(function, inputs_of(unit)[0])


def quotient_on_one_way(x: int) -> int:
    """The bounds of a quotient that hold on one way only must not reach the other."""
    y = x >> 2 if x < 16 else 0
    return x + y


def lengths(x: int) -> int:
    if x & 1:
        if x < 40:
            return (x >> 3 << 3) + x.bit_length()
        return x - 40
    return min(x, 77) + max(x >> 1, 9) - abs(x - 100)


@pytest.mark.parametrize("function", [quotient_on_one_way, lengths])
def test_functions_of_a_byte(function: Callable[[int], int]) -> None:
    read = bits(call(function, inputs_of(OperationUnit.make("convert", "fp8_e4m3", "fp16"))[0]), 12)
    run = evaluator([read])
    assert [run({"a": x}) for x in range(256)] == [[function(x) % (1 << 12)] for x in range(256)]


def test_a_place_that_raises_is_recorded_with_its_inputs() -> None:
    code = inputs_of(OperationUnit.make("convert", "fp8_e4m3", "fp16"))[0]
    with reading(Collection()) as collected:
        result = call(raised, code)
    undefined = evaluator([collected.undefined])
    assert [x for x in range(256) if undefined({"a": x}) == [1]] == [3]
    assert collected.undefined is not TRUE
    assert evaluator([result.node])({"a": 7}) == [8]


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    "unit",
    [
        BlockOperationUnit.make("block_reduce_add", "binary4p2se@binary3p1ue/2", "binary4p2se"),
        BlockOperationUnit.make("block_dot_product", "fp4_e2m1@e8m0/2", "fp4_e2m1"),
        BlockOperationUnit.make("convert_to_block_max_abs_finite", "fp4_e2m1", "fp4_e2m1@e8m0/2"),
        DotUnit.make("fp4_e2m1", "fp32", "fp32-sequential", 2, steps=True),
        MatmulUnit(DotUnit.make("fp4_e2m1", "fp32", "fp32-sequential", 2), 1, 2),
    ],
    ids=lambda unit: unit.name,
)
def test_reductions_of_blocks_and_running_results_are_read(unit: Unit) -> None:
    check(unit, 200)
