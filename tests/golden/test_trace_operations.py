"""Operations of traces: over arrays, each against the oracle."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import softfloat_ref as sf
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.case import NodeCase
from softfloat_ref.golden.trace.model import CodeTensor
from softfloat_ref.golden.trace.operations import OPERATIONS
from softfloat_ref.oracle.accumulate import get_accumulator
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.blocks.profiles import get_profile
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.units.dot import stored_format

FP32 = get_format("fp32")
SPECIALS = [0, 0x80000000, 1, 0x80000001, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0x3F800000, 0x00800000]

# -- operations --------------------------------------------------------------------------------------------------------


def numbers(*shape: int, seed: int = 1, special: bool = True) -> np.ndarray:
    random = np.random.default_rng(seed)
    codes = (random.normal(size=shape) * np.exp2(random.integers(-6, 6, shape))).astype(np.float32).view(np.uint32)
    if special:
        flat = codes.reshape(-1)
        places = random.permutation(flat.size)[: len(SPECIALS)]
        flat[places] = SPECIALS[: len(places)]
    return codes


def case(
    shapes: list[tuple[tuple[int, ...], Format]], *inputs: Any, formats: tuple[Format, ...] = (), **options: Any
) -> NodeCase:
    outputs = tuple(CodeTensor(f"out{i}", fmt, shape) for i, (shape, fmt) in enumerate(shapes))
    known = formats or (FP32,) * len(inputs)
    return NodeCase(tuple(map(np.asarray, inputs)), known, outputs, options)


def policy(**fields: Any) -> dict[str, Any]:
    return Policy(**fields).to_dict()


MX = stored_format(get_block_format("mxfp8"))
E4M3 = get_format("fp8_e4m3")
WORDS = np.random.default_rng(5).integers(0, 256, (6, 40)).astype(np.uint8)
SIGNS = [0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1]
CASES: dict[str, list[NodeCase]] = {
    "add": [
        case([((5, 7), FP32)], numbers(5, 7), numbers(7, seed=2)),
        case([((10, 10), FP32)], np.array(SPECIALS, np.uint32)[:, None], np.array(SPECIALS, np.uint32)),
    ],
    "sub": [case([((10, 10), FP32)], np.array(SPECIALS, np.uint32)[:, None], np.array(SPECIALS, np.uint32))],
    "mul": [case([((10, 10), FP32)], np.array(SPECIALS, np.uint32)[:, None], np.array(SPECIALS, np.uint32)),
            case([((4, 3, 3, 2), FP32)], numbers(4, 1, 1, 2), numbers(1, seed=7, special=False).reshape(()))],
    "div": [case([((10, 10), FP32)], np.array(SPECIALS, np.uint32)[:, None], np.array(SPECIALS, np.uint32))],
    **{name: [case([((40,), FP32)], numbers(40, seed=3))] for name in ("erf", "gelu", "gelu_tanh", "silu")},
    "transpose": [case([((4, 2, 3), FP32)], numbers(2, 3, 4), axes=[2, 0, 1]),
                  case([((5, 3), E4M3)], np.arange(15, dtype="u1").reshape(3, 5), formats=(E4M3,), axes=[1, 0])],
    "causal": [case([((2, 4, 5), FP32)], numbers(2, 4, 5)),
               case([((4, 4), FP32)], np.arange(16, dtype="u1").reshape(4, 4), formats=(E4M3,))],
    "relu": [case([((20,), FP32)], numbers(20)),
             case([((256,), FP32)], np.arange(256, dtype=np.uint8), formats=(E4M3,))],
    "relu_gradient": [case([((10, 10), FP32)], np.repeat(SPECIALS, 10).astype("u4"),
                           np.tile(SPECIALS, 10).astype("u4"))],
    "row_sum": [case([((6,), FP32)], numbers(9, 6)), case([((3,), FP32)], numbers(1, 3, special=False))],
    "hadamard": [
        case([((16, 5), FP32)], numbers(16, 5), np.array(SIGNS[:16], "u1"), formats=(FP32, get_format("u1"))),
        case([((8, 3), FP32)], numbers(7, 3), np.array(SIGNS[:4], "u1"), formats=(FP32, get_format("u1"))),
    ],
    "pixel_sum": [case([((2, 3), FP32)], numbers(2, 3, 4, 3))],
    "patches": [
        case([((2, 5, 4, 3, 3, 2), E4M3)], np.arange(80).reshape(2, 5, 4, 2), formats=(E4M3,),
             kernel=3, stride=1, padding=1),
        case([((1, 3, 3, 3, 3, 1), FP32)], numbers(1, 6, 6, 1), kernel=3, stride=2, padding=1),
        case([((2, 2, 2, 1, 1, 2), FP32)], numbers(2, 3, 3, 2), kernel=1, stride=2, padding=0),
    ],
    "patch_sum": [
        case([((2, 5, 4, 2), FP32)], numbers(40, 18), kernel=3, stride=1, padding=1, image=[2, 5, 4, 2]),
        case([((1, 6, 6, 1), FP32)], numbers(9, 9), kernel=3, stride=2, padding=1, image=[1, 6, 6, 1]),
    ],
    "max_pool": [case([((2, 2, 2, 3), FP32)], np.where(numbers(2, 5, 4, 3) == 0x7FC00000, 1, numbers(2, 5, 4, 3)),
                      size=2)],
    "max_pool_gradient": [
        case([((1, 5, 4, 2), FP32)], numbers(1, 2, 2, 2), numbers(1, 5, 4, 2, special=False) >> 24 << 24,
             size=2),
        case([((1, 2, 2, 1), FP32)], numbers(1, 1, 1, 1),
             np.array([0x80000000, 0, 0, 0x80000000], "u4").reshape(1, 2, 2, 1), size=2),
    ],
    "gather": [case([((3, 4), FP32)], numbers(5, 4), np.array([4, 0, 4], np.uint32),
                    formats=(FP32, get_format("u32")))],
    "scatter_sum": [
        case([((6, 4), FP32)], numbers(9, 4), np.array([5, 0, 5, 5, 2, 0, 2, 2, 4], np.uint32),
             formats=(FP32, get_format("u32")), count=6),
    ],
    "slice": [case([((3, 2, 4), E4M3)], np.arange(60).reshape(3, 5, 4), formats=(E4M3,), axis=1, start=2, stop=4),
              case([((2, 7), FP32)], numbers(5, 7), axis=0, start=3, stop=5)],
    "concatenate": [
        case([((3, 9), E4M3)], *(np.arange(3 * n).reshape(3, n) for n in (2, 3, 4)), formats=(E4M3,) * 3, axis=1),
        case([((5, 4), FP32)], numbers(2, 4), np.arange(12).reshape(3, 4), formats=(FP32, E4M3), axis=0),
    ],
    "inside": [case([((6, 7), FP32)], numbers(6, 7), np.array(0x3F800000, "u4")),
               case([((10,), FP32)], np.array(SPECIALS, "u4"), np.array(0x7F800000, "u4"))],
    "keep": [case([((6, 40), FP32)], WORDS, np.array(0x3FA00000, "u4"), formats=(get_format("u8"), FP32),
                  threshold=77)],
    "leak": [case([((6, 7), FP32)], numbers(6, 7), np.array(0x3E4CCCCD, "u4")),
             case([((256,), FP32)], np.arange(256), np.array(0x3E4CCCCD, "u4"), formats=(E4M3, FP32))],
    "uniform": [case([((4,), FP32)], np.array([0, 1, 1 << 23, (1 << 24) - 1], "u4"), formats=(get_format("u24"),),
                     bits=24),
                case([((256,), FP32)], np.arange(256, dtype=np.uint8), formats=(get_format("u8"),), bits=8)],
    "random": [case([((3, 5), get_format("u8"))], source="philox:seed=3"),
               case([((3, 5), get_format("u8"))], source="philox:seed=3", transposed=True)],
    "convert": [
        case([((40,), E4M3)], numbers(40), policy=policy()),
        case([((40,), get_format("bf16"))], numbers(40), policy=sf.get_policy("tpu-bf16").to_dict()),
        case([((6, 40), get_format("s1e5m2"))], numbers(6, 40), WORDS, formats=(FP32, get_format("u8")),
             policy=policy(rounding="sr", sr_bits=8)),
        case([((256,), FP32)], np.arange(256), formats=(E4M3,), policy=policy()),
    ],
    "dequantize": [
        case([((6, 40), FP32)], np.arange(240).reshape(6, 40),
             np.array([0, 1, 127, 128, 250, 254, 255, 3, 9, 120, 20, 60], "u1").reshape(6, 2),
             formats=(E4M3, get_format("e8m0")), format=MX, profile=get_profile("ocp").to_dict()),
    ],
    "sqrt": [case([((30,), FP32)], numbers(30))],
    "exp": [case([((40,), FP32)], numbers(40)),
            case([((3,), FP32)], np.array([0x42B17218, 0xC2CFF1B5, 0xC2AEAC50], "u4"))],
    "sigmoid": [case([((40,), FP32)], numbers(40)), case([((2,), FP32)], np.array([0xC2AEAC50, 0x41880000], "u4"))],
    "tanh": [case([((40,), FP32)], numbers(40)), case([((2,), FP32)], np.array([0x41102CB4, 0x00000003], "u4"))],
    "last_sum": [case([((3, 1), FP32)], numbers(3, n)) for n in (1, 7, 8)]
    + [case([((10, 1), FP32)], np.array(list(zip(SPECIALS, SPECIALS[::-1], strict=True)), "u4"))],
    "last_max": [case([((4, 1), FP32)], numbers(4, 9)),
                 case([((3, 1), FP32)], np.array([[0x80000000, 0], [0, 0x80000000], [0x7FC00000, 0x7F800000]], "u4"))],
    "one_hot": [case([((2, 3, 4), FP32)], np.array([[0, 3, 1], [2, 3, 0]]), formats=(get_format("u32"),), count=4)],
    "window_sum": [case([((2, 2, 2, 3), FP32)], numbers(2, 5, 4, 3), size=2)],
    "window_fill": [case([((2, 5, 4, 3), FP32)], numbers(2, 2, 2, 3), size=2)],
    "affine_range": [
        case([((), FP32), ((), get_format("i8"))], numbers(4, 6), format="qint8", axis=None),
        case([((4,), FP32), ((4,), get_format("u4"))], numbers(4, 6), format="quint4", axis=0),
        case([((6,), FP32), ((6,), get_format("i8"))], numbers(4, 6), format="qint8_sym", axis=1),
    ],
    "affine": [
        case([((4, 6), get_format("i8"))], numbers(4, 6), np.array(0x3D000000, "u4"), np.array(250, "u1"),
             format="qint8", formats=(FP32, FP32, get_format("i8")), axis=None, policy=policy()),
        case([((6, 40), get_format("u4"))], numbers(6, 40), numbers(6, special=False) & 0x7FFFFFFF,
             np.arange(6, dtype="u1"), WORDS, format="quint4", axis=0,
             formats=(FP32, FP32, get_format("u4"), get_format("u8")), policy=policy(rounding="sr", sr_bits=8)),
    ],
    "affine_values": [
        case([((256,), FP32)], np.arange(256), np.array(0x3D100001, "u4"), np.array(250, "u1"), format="qint8",
             formats=(get_format("i8"), FP32, get_format("i8")), axis=None),
        case([((2, 16), FP32)], np.arange(32).reshape(2, 16) % 16, np.array([1, 0x7F000000], "u4"),
             np.array([3, 15], "u1"), format="quint4", formats=(get_format("u4"), FP32, get_format("u4")), axis=0),
    ],
    "quantize": [
        case([((6, 40), E4M3), ((6, 2), get_format("e8m0"))], numbers(6, 40), axis=1, format=MX, policy=policy(),
             profile=get_profile("ocp").to_dict()),
        case([((40, 6), E4M3), ((40, 1), get_format("e8m0"))], numbers(6, 40), axis=0, format=MX, policy=policy(),
             profile=get_profile("ocp").to_dict()),
        case([((6, 40), E4M3), ((6, 2), get_format("e8m0"))], numbers(6, 40), WORDS, axis=1, format=MX,
             formats=(FP32, get_format("u8")), policy=policy(rounding="sr", sr_bits=8),
             profile=get_profile("ocp").to_dict()),
    ],
    "matmul": [
        case([((4, 5), FP32)], numbers(4, 7), numbers(5, 7, seed=2), blocks=[None, None], axes=[1, 1],
             accumulator=get_accumulator("fp32-sequential").to_dict()),
        case([((7, 5), FP32)], numbers(4, 7, special=False), np.arange(20).reshape(4, 5), formats=(FP32, E4M3),
             blocks=[None, None], axes=[0, 0], accumulator=get_accumulator("nvidia-h100").to_dict()),
        case([((2, 3), FP32)], np.arange(80).reshape(2, 40), np.array([[120, 127], [1, 130]]),
             np.arange(120).reshape(3, 40),
             np.array([[127, 127], [3, 9], [120, 255]]), formats=(E4M3, get_format("e8m0")) * 2, blocks=[MX, MX],
             axes=[1, 1], accumulator=get_accumulator("mx-fp32").to_dict()),
        case([((3, 2, 4), FP32)], numbers(6, 7), numbers(12, 7, seed=2), blocks=[None, None], axes=[1, 1], batch=3,
             accumulator=get_accumulator("fp32-sequential").to_dict()),
        case([((2, 1, 2), FP32)], np.arange(80).reshape(2, 40), np.array([[120, 127], [1, 130]]),
             np.arange(160).reshape(4, 40), np.arange(120, 128).reshape(4, 2), batch=2, blocks=[MX, MX],
             formats=(E4M3, get_format("e8m0")) * 2, axes=[1, 1], accumulator=get_accumulator("mx-fp32").to_dict()),
    ],
}  # fmt: skip


def test_every_operation_has_a_case() -> None:
    assert CASES.keys() == OPERATIONS.keys()


@pytest.mark.full(keep=17)
@pytest.mark.parametrize(("op", "node_case"), [(op, c) for op, cases in CASES.items() for c in cases])
def test_arrays_are_the_oracle(op: str, node_case: NodeCase) -> None:
    """Every code, on special values too; the units are all the codes, each once."""
    operation = OPERATIONS[op]
    outputs = [x.reshape(-1) for x in operation.compute(node_case)]
    assert [x.size for x in outputs] == [t.size for t in node_case.outputs]
    seen = [np.zeros(x.size, int) for x in outputs]
    for unit in range(operation.units(node_case)):
        for part in operation.one(node_case, unit):
            assert [int(outputs[part.output][i]) for i in part.places] == part.codes, unit
            seen[part.output][part.places] += 1
    assert all((x == 1).all() for x in seen)


@pytest.mark.parametrize(("op", "change"), [("patches", {"kernel": 0}), ("patches", {"kernel": 9}),
                                            ("max_pool", {"size": "2"}),
                                            ("one_hot", {"count": 0}), ("window_fill", {"size": 0}),
                                            ("patch_sum", {"image": [1, 2]}), ("quantize", {"axis": 2}),
                                            ("convert", {"policy": None}), ("matmul", {"axes": [2, 0]}),
                                            ("random", {"source": "dice"}),
                                            ("slice", {"axis": 3}), ("slice", {"stop": 6}), ("slice", {"start": 5}),
                                            ("concatenate", {"axis": 2}), ("scatter_sum", {"count": 5}),
                                            ("transpose", {"axes": [0, 1]}), ("transpose", {"axes": [0, 0, 1]}),
                                            ("matmul", {"batch": 3}), ("matmul", {"batch": 0}),
                                            ("keep", {"threshold": -1}), ("uniform", {"bits": 25}),
                                            ("quantize", {"format": {}})])  # fmt: skip
def test_bad_options(op: str, change: dict[str, Any]) -> None:
    node_case = CASES[op][0]
    with pytest.raises((Error, KeyError)):
        OPERATIONS[op].compute(dataclasses.replace(node_case, options={**node_case.options, **change}, _known={}))
