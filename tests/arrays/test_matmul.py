"""Matrix products: every result is the scalar oracle's dot product, whichever way it was computed."""

from __future__ import annotations

import re

import numpy as np
import pytest
from volume import FULL

from softfloat_ref import arrays, blocks
from softfloat_ref.arrays import native_products
from softfloat_ref.arrays.blocks import matmul
from softfloat_ref.arrays.convert import code_dtype, decode
from softfloat_ref.arrays.kernels import fused, nested, program
from softfloat_ref.arrays.kernels.program import NoProgram, compile_tree
from softfloat_ref.arrays.matmul import _ends, _ProductJob, operand_matrix, product
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.accumulate import ACCUMULATORS, Accumulator, dot, get_accumulator
from softfloat_ref.oracle.accumulate.dots import run, setting
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format

FP32 = CATALOGUE["fp32"]
SCALAR = [
    (name, fmt)
    for name, acc in ACCUMULATORS.items()
    for fmt in (acc.formats.split() or ["fp8_e4m3", "fp8_e5m2", "fp16", "bf16", "fp32", "fp4_e2m1"])
    if fmt != "fp64"  # whose results are FP64
]
BLOCK = [
    (name, fmt)
    for name, acc in ACCUMULATORS.items()
    if acc.scales != "none"
    for fmt in ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp4_e2m1", "mxint8", "nvfp4", "msfp12")
    if not acc.formats or get_block_format(fmt).element.name in acc.formats.split()
]


def codes(fmt: Format, shape: tuple[int, int], seed: int, kind: str) -> np.ndarray:
    """Random codes: `any`; `finite` ones; `close`, of a few binades, so that sums round and cancel; or `tiny` ones."""
    rng = np.random.default_rng(seed)
    array = rng.integers(0, 1 << fmt.width, shape, dtype=np.uint64)
    if kind == "any":
        return array
    magnitude = array & np.uint64(fmt.magnitude_mask)
    if kind == "close":
        span = np.uint64(6 << fmt.mantissa_bits)
        magnitude = np.uint64(max((fmt.max_code + 1) // 2 - (3 << fmt.mantissa_bits), 0)) + magnitude % span
    if kind == "tiny":
        magnitude %= np.uint64(2 << fmt.mantissa_bits)
    magnitude = np.minimum(magnitude, np.uint64(fmt.max_code))
    return magnitude | (array & np.uint64(fmt.sign_bit))


def same_as_the_oracle(
    a: object, b: object, acc: str | Accumulator, fmt: str | None = None, c: np.ndarray | None = None
) -> np.ndarray:
    got = matmul(a, b, acc, fmt=fmt, c=c)
    p, q = (x if fmt is None else arrays.from_codes(x, fmt) for x in (a, b))  # type: ignore[arg-type]
    x, y = operand_matrix(p, 1, "a"), operand_matrix(q, 0, "b")  # type: ignore[arg-type]
    s = setting(x.vector(0), y.vector(0), get_accumulator(acc), FP32)
    start = np.zeros(got.shape, np.uint32) if c is None else c.view(np.uint32)
    wanted = [
        [run(s, x.vector(i), y.vector(j), int(start[i, j])).bits for j in range(len(y.codes))]
        for i in range(len(x.codes))
    ]
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got.view(np.uint32), np.array(wanted, np.uint32))
    return got


@pytest.mark.full
@pytest.mark.parametrize(("acc", "fmt"), SCALAR, ids=lambda x: str(x))
@pytest.mark.parametrize("kind", ["any", "finite", "close"])
def test_scalar_operands(acc: str, fmt: str, kind: str) -> None:
    resolved = get_format(fmt)
    rows, columns = (5, 9) if FULL else (2, 4)
    a, b = codes(resolved, (rows, 67), 1, kind), codes(resolved, (67, columns), 2, kind)
    a[0], b[:, 0] = 0, resolved.sign_bit if resolved.negative_zero else 0
    same_as_the_oracle(a, b, acc, fmt)
    c = np.random.default_rng(3).integers(0, 1 << 32, (rows, columns), dtype=np.uint32)
    same_as_the_oracle(a, b, acc, fmt, c.view(np.float32))


FUSED = {
    name: (name, fmt)
    for name, fmt in SCALAR
    if name.startswith("nvidia") and "8-mma" not in name and not name.endswith("fp4") and fmt != "tf32"
}
FLOORED = ["fuse(16+c,F=6,rd,floor=-20,floor_when=always)->fp32:rne", "fuse(4+c,F=6,rz,floor=-20)->fp32:rz"]


@pytest.mark.full(keep=3)
@pytest.mark.parametrize(("acc", "fmt"), [*FUSED.values(), ("nvidia-h100", "fp16"), *((x, "fp16") for x in FLOORED)])
def test_units_with_one_sum_and_one_rounding(acc: str, fmt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the loop for many columns; a running result that is not finite, and results in FP16, too."""
    used: list[int] = []
    multiply, resolved = fused.multiply, get_format(fmt)
    unit = get_accumulator(acc).replace(zero="positive")
    monkeypatch.setattr(fused, "multiply", lambda *x: used.append(1) or multiply(*x))
    monkeypatch.setattr(program, "MIN_COLUMNS", 1)
    c = np.random.default_rng(3).integers(0, 1 << 32, (3, 5), dtype=np.uint32)
    c[0], c[1, 1:3] = [0, 1, 0x80000000, 0x7F800000, 0xFFC00000], [0x7F7FFFFF, 0x80000001]
    for kind in ("finite", "close", "tiny"):
        a, b = codes(resolved, (3, 35), 1, kind), codes(resolved, (35, 5), 2, kind)
        a[0], b[:, 0], a[1, :8] = 0, resolved.sign_bit if resolved.negative_zero else 0, 0
        a[2] |= np.uint64(resolved.sign_bit)
        same_as_the_oracle(a, b, unit, fmt, c.view(np.float32))
        same_as_the_oracle(a, b, unit, fmt, (c & np.uint32(0x80FFFFFF)).view(np.float32))
    a, b = codes(resolved, (20, 99), 1, "finite"), codes(resolved, (99, 70), 2, "finite")
    got = [matmul(a, b, unit, fmt=fmt, to=to) for to in ("fp32", "fp16")]
    assert len(used) == 8
    monkeypatch.setattr(program.Program, "is_fused", lambda *x: False)
    for x, to in zip(got, ("fp32", "fp16"), strict=True):
        np.testing.assert_array_equal(x, matmul(a, b, unit, fmt=fmt, to=to))


NESTED = [
    *((name, fmt) for name, fmt in SCALAR if name.startswith("amd-cdna3")),
    ("fuse(fuse(4, F=9, rz) @ 12:rd + c @ 10:rd:9, F=12, rd) -> fp32:rdn:28 -> fp32:rne", "fp16"),
    (
        "fuse(fuse(8, F=5, rz) @ 7:rd + c @ 5:rd, F=7, rd, floor=-20, floor_when=always) -> fp32:rdn:31 -> fp32:rne",
        "bf16",
    ),
]


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("zero", ["ieee", "positive"])
@pytest.mark.parametrize(("acc", "fmt"), NESTED, ids=str)
def test_units_with_sums_in_a_sum(acc: str, fmt: str, zero: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the loop for many columns; zeros of both signs, running results of every kind, and sums that cancel."""
    used: list[int] = []
    multiply, resolved = nested.multiply, get_format(fmt)
    unit = get_accumulator(acc).replace(zero=zero)
    monkeypatch.setattr(nested, "multiply", lambda *x: used.append(1) or multiply(*x))
    monkeypatch.setattr(program, "MIN_COLUMNS", 1)
    c = np.random.default_rng(3).integers(0, 1 << 32, (4, 5), dtype=np.uint32)
    c[0], c[1, 1:3] = [0, 1, 0x80000000, 0x7F800000, 0xFFC00000], [0x7F7FFFFF, 0x80000001]
    c[3] = [0x80000000, 0, 0x80000000, 0x80000001, 0xBF800000]
    minus = np.uint64(resolved.sign_bit if resolved.negative_zero else 0)
    for kind in ("finite", "close", "tiny"):
        a, b = codes(resolved, (4, 35), 1, kind), codes(resolved, (35, 5), 2, kind)
        a[0], b[:, 0], a[1, :8], a[3], b[:, 2] = 0, minus, 0, minus, b[:, 2] & np.uint64(resolved.magnitude_mask)
        same_as_the_oracle(a, b, unit, fmt, c.view(np.float32))
        same_as_the_oracle(a, b, unit, fmt, (c & np.uint32(0x80FFFFFF)).view(np.float32))
    a, b = codes(resolved, (20, 99), 1, "finite"), codes(resolved, (99, 70), 2, "finite")
    got = matmul(a, b, unit, fmt=fmt)
    assert used if not resolved.negative_zero else len(used) == 7  # -0 is NaN in some formats
    monkeypatch.setattr(program.Program, "nested", lambda *x: None)
    np.testing.assert_array_equal(got, matmul(a, b, unit, fmt=fmt))


@pytest.mark.parametrize(("acc", "fmt"), SCALAR, ids=lambda x: str(x))
def test_nan_that_the_unit_makes(acc: str, fmt: str) -> None:
    """0 x Inf and Inf - Inf, in the first step, in the middle and in the last."""
    resolved = get_format(fmt)
    if not resolved.infinity:
        pytest.skip(f"{fmt} has no Inf")
    one, minus = resolved.bias << resolved.mantissa_bits, resolved.sign_bit
    a = np.full((3, 67), one, np.uint64)
    a[0], a[1, ::2] = 0, one | minus
    b = np.full((67, 6), one, np.uint64)
    for column, places in enumerate([(0,), (33,), (66,), (0, 66), (64, 66), ()]):
        for sign, place in enumerate(places):
            b[place, column] = resolved.inf_code | minus * sign
    got = same_as_the_oracle(a.astype(code_dtype(resolved)), b.astype(code_dtype(resolved)), acc, fmt)
    assert np.isnan(got[0, :5]).all()
    assert not np.isnan(got[:, 5]).any()


def block_array(fmt: str, shape: tuple[int, int], axis: int, seed: int, kind: str) -> blocks.BlockArray:
    resolved = get_block_format(fmt)
    element = codes(resolved.element, shape, seed, kind).astype(np.uint8)
    count = list(shape)
    count[axis] = -(-shape[axis] // resolved.size)
    rng = np.random.default_rng(seed + 10)
    scales = rng.integers(0, 1 << resolved.scale.width, count, dtype=np.uint8)
    if kind != "any":
        scales = rng.integers(resolved.scale.max_code // 2 - 6, resolved.scale.max_code // 2 + 6, count).astype(
            np.uint8
        )
    return blocks.BlockArray(element, scales, resolved, axis)


@pytest.mark.full(keep=46)
@pytest.mark.parametrize(("acc", "fmt"), BLOCK, ids=lambda x: str(x))
@pytest.mark.parametrize("kind", ["any", "finite", "close"])
def test_block_operands(acc: str, fmt: str, kind: str) -> None:
    rows = 5 if FULL else 2
    a, b = block_array(fmt, (rows, 80), 1, 1, kind), block_array(fmt, (80, 9), 0, 2, kind)
    same_as_the_oracle(a, b, acc)


def test_scales_at_the_ends() -> None:
    """Results that are subnormal, and beyond FP32."""
    for fmt in ("mxfp8_e4m3", "mxfp8_e5m2", "mxint8"):
        a, b = block_array(fmt, (6, 64), 1, 1, "close"), block_array(fmt, (64, 6), 0, 2, "close")
        for scale in (0, 52, 56, 60, 66, 190, 200, 254):
            a.scales[:], b.scales[:] = scale, scale
            b.scales[1] = 254 - scale
            same_as_the_oracle(a, b, "mx-fp32")


def test_long_sums_of_e5m2_are_rounded_once() -> None:
    """The widest exact sums there are: large, small and nothing between, so that only a sticky bit is left."""
    element = np.zeros((64, 32), np.uint8)
    rng = np.random.default_rng(5)
    for row in element:
        row[0] = 0x7B - rng.integers(0, 3) | rng.integers(0, 2) << 7
        row[1] = rng.integers(1, 4) | rng.integers(0, 2) << 7
        row[2] = 0x38 + rng.integers(0, 8) | rng.integers(0, 2) << 7
    one = np.full((64, 1), 127, np.uint8)
    a = blocks.BlockArray(element, one, get_block_format("mxfp8_e5m2"), 1)
    b = blocks.BlockArray(np.ascontiguousarray(element[:16].T), one[:16].T.copy(), get_block_format("mxfp8_e5m2"), 0)
    same_as_the_oracle(a, b, "mx-fp32")


def test_real_data_of_a_quantized_layer() -> None:
    rng = np.random.default_rng(3)
    for fmt in ("mxfp8_e4m3", "mxfp8_e5m2", "nvfp4"):
        a = blocks.encode(rng.standard_normal((3, 64)).astype(np.float32), fmt)
        b = blocks.encode(rng.standard_normal((64, 2)).astype(np.float32), fmt, axis=0)
        for acc in ("mx-fp32", "exact", "fp32-pairwise"):
            same_as_the_oracle(a, b, acc)
        exact = a.decode().astype(np.float64) @ b.decode().astype(np.float64)
        np.testing.assert_allclose(blocks.matmul(a, b), exact, rtol=1e-5, atol=1e-4)


def test_second_level_scales_are_factors() -> None:
    rng = np.random.default_rng(4)
    a = blocks.encode(rng.standard_normal((4, 32)).astype(np.float32), "nvfp4")
    b = blocks.encode(rng.standard_normal((32, 4)).astype(np.float32), "nvfp4", axis=0)
    for acc in ("mx-fp32", "exact", "fp32-pairwise"):
        same_as_the_oracle(a, b, acc)


@pytest.mark.parametrize(
    "acc",
    [
        "fuse(p[8:])->fp32",
        "fuse(p[8:]+c,F=9,rz,floor=4)->fp32",
        "chain(p[8:])->fp32",
        "pairs(p[5:2]+c)->fp32",
        "fuse(pairs(p[8:])->fp32+c)->fp32",
    ],
)
def test_sums_of_no_products_are_zero(acc: str) -> None:
    a = codes(get_format("fp16"), (2, 3), 1, "finite")
    size = 2.0 if "c" in acc.replace("chain", "") else 0.0
    got = same_as_the_oracle(a, a.T.copy(), acc, "fp16", np.full((2, 2), size, np.float32))
    assert set(got.ravel()) == {size}
    assert not np.signbit(got).any()


def test_no_c_is_dropped() -> None:
    a, acc = codes(get_format("fp16"), (2, 3), 1, "finite"), "fuse(3)->fp32"
    same_as_the_oracle(a, a.T.copy(), acc, "fp16")
    c = np.zeros((2, 2), np.float32)
    c[1, 0] = 2
    with pytest.raises(Error, match="does not add c, so 40000000 would be lost"):
        matmul(a, a.T.copy(), acc, fmt="fp16", c=c)
    with pytest.raises(Error, match="of 2 steps only the last would count"):
        matmul(a, a.T.copy(), "fuse(2)->fp32", fmt="fp16")


def test_what_has_a_fast_way() -> None:
    """No accumulator falls back to the oracle unnoticed."""
    slow = set()
    for name, fmt in SCALAR:
        x = operand_matrix(arrays.from_codes(np.ones((1, 64), np.uint8), fmt), 1, "a")
        s = setting(x.vector(0), x.vector(0), get_accumulator(name), FP32)
        try:
            compile_tree(s, 64, 2 * get_format(fmt).precision)
        except NoProgram:
            slow.add((name, fmt))
    assert not slow
    assert _ends(*[CATALOGUE["fp8_e5m2"]] * 2, 32) is not None
    a = block_array("mxfp8_e5m2", (2, 32), 1, 1, "close")
    x, y = operand_matrix(a, 1, "a"), operand_matrix(a, 1, "b")
    s = setting(x.vector(0), y.vector(0), get_accumulator("mx-fp32"), FP32)
    assert _ProductJob(x, y, s, np.zeros((2, 2), np.uint32))._panels() is not None


def test_bad_operands() -> None:
    a, b = block_array("mxfp8", (4, 32), 1, 1, "any"), block_array("mxfp8", (32, 4), 0, 1, "any")
    for x, y, more in (
        (b, b, {}),
        (a, a, {}),
        (a.codes, b.codes, {}),
        (a.codes, b.codes, {"fmt": "mxfp8"}),
        (a.codes, b.codes[:16], {"fmt": "fp8_e4m3"}),
        (a.codes[0, 0], b.codes, {"fmt": "fp8_e4m3"}),
        (a, b, {"fmt": "mxfp8"}),
        (a, b, {"fmt": (None, None, None)}),
        (a.codes.astype(np.int64) * 1000, b.codes, {"fmt": "fp8_e4m3"}),
        (a, b, {"acc": "nvidia-h100"}),
        (a, b, {"acc": "no-such"}),
    ):
        with pytest.raises(Error):
            matmul(x, y, **more)
    assert matmul(a.codes[:0], b.codes, fmt="fp8_e4m3").shape == (0, 4)
    assert not matmul(a.codes[:, :0], b.codes[:0], fmt="fp8_e4m3").any()


# Every kind of format: integers, and those without sign, NaN, infinity, zero or mantissa.
KINDS = (*CATALOGUE, "i8", "u16", "i32", "i64", "u64", "s1e4m3finite", "s1e3m0b3", "s0e4m4b7", "s1e5m40b15")
SMALL = sorted(name for name in KINDS if get_format(name).width <= 64)


def small(fmt: Format, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Codes next to zero and to the ends of a format, one NaN in three arrays."""
    ends = {0, 1, 2, 3, fmt.max_code - 1, fmt.max_code, fmt.sign_bit | 2, 1 << fmt.width - 1}
    some = [x & ((1 << fmt.width) - 1) for x in sorted(ends) if not fmt.is_nan(x)]
    array = rng.choice(np.array(some, code_dtype(fmt)), shape)
    if fmt.has_nan and not rng.integers(3):
        array[0, 0] = fmt.canonical_nan
    return array


@pytest.mark.full(keep=26)
@pytest.mark.parametrize("acc", ACCUMULATORS)
@pytest.mark.parametrize("fmt", SMALL if FULL else ["fp4_e2m1", "fp8_e5m2", "i16", "u64", "s1e4m3finite"])
def test_operands_and_results_of_every_kind_of_format(acc: str, fmt: str) -> None:
    """Equal to the oracle, or refused in the same words."""
    resolved, rng = get_format(fmt), np.random.default_rng(len(acc) + len(fmt))
    for to in (x for x in SMALL if x not in ("i64", "u64")):  # which values in float64 do not hold
        out, k = get_format(to), int(rng.integers(1, 40))
        a, b = small(resolved, (2, k), rng), small(resolved, (k, 2), rng)
        try:
            wanted = [[dot(x, y, fmt, acc=acc, to=to, extrapolate=True).bits for y in b.T] for x in a]
        except Error as e:
            with pytest.raises(Error, match=re.escape(str(e))):
                matmul(a, b, acc, fmt=fmt, to=to, extrapolate=True)
            continue
        values = decode(np.array(wanted, code_dtype(out)), out)
        got = matmul(a, b, acc, fmt=fmt, to=to, extrapolate=True)
        assert got.dtype == values.dtype
        assert got.tobytes() == values.tobytes(), (to, got, values)


def test_integers_into_integers() -> None:
    a = np.array([[-1, -2], [-3, 6]], np.int8).view(np.uint8)
    assert matmul(a, a, "exact", fmt="i8", to="i32").tolist() == [[7, -10], [-15, 42]]


def test_sums_that_no_alignment_holds_are_the_oracles() -> None:
    """Sums whose exponent is that of their scales, of integers: their significands have 30 bits and more before it."""
    rng = np.random.default_rng(5)
    for fmt in ("i13", "i16", "u16", "i24", "fp4_e2m1", "fp8_e4m3"):
        a, b = codes(get_format(fmt), (2, 40), 1, "finite"), codes(get_format(fmt), (40, 2), 2, "finite")
        a, b = (np.minimum(x, np.uint64(rng.integers(2, get_format(fmt).max_code + 1))) for x in (a, b))
        values = [[dot(x, y, fmt, acc="nvidia-b200-fp4", extrapolate=True).bits for y in b.T] for x in a]
        got = matmul(a, b, "nvidia-b200-fp4", fmt=fmt, extrapolate=True)
        assert got.view(np.uint32).tolist() == values, fmt


def test_a_running_result_without_a_sign() -> None:
    a, b = (np.array([x], np.uint8) for x in ([0x3E, 0x39], [0x3B, 0x37]))  # 1.75, 1.125; 1.375, 0.9375
    assert matmul(a, b.T, "fma-chain", fmt="fp8_e4m3", to="s0e4m4b7").tolist() == [[3.375]]


NATIVE = [
    ("fp32-sequential", "bf16", "fp32"),
    ("fp32-sequential", "fp32", "fp16"),
    ("fp32-pairwise", "fp32", "fp32"),
    ("fuse(chain(p->out:rne)->out:rne+c)->out:rne", "fp16", "fp64"),
    ("fuse(c+p->fp64:rne)->fp64:rne", "fp64", "fp64"),
    ("fuse(p[3]->fp32:rne+fuse(p[0]->fp32:rne+c)->fp32:rne)->fp32:rne", "fp8_e4m3", "fp32"),
    ("fuse(c+pairs(p[:5]->fp32:rne)->fp32:rne)->fp32:rne;nan=propagate", "fp8_e5m2", "fp32"),
]


@pytest.mark.parametrize(("acc", "fmt", "to"), NATIVE)
@pytest.mark.parametrize("kind", ["any", "close", "tiny"])
def test_units_of_the_processors_operations(acc: str, fmt: str, to: str, kind: str) -> None:
    """Products and sums of two, each rounded: every kind of number, more products than a step takes, and a last step
    with missing ones."""
    source, out, unit = get_format(fmt), get_format(to), get_accumulator(acc)
    a, b = codes(source, (3, 23), 1, kind), codes(source, (23, 5), 2, kind)
    a[0, ::2], b[:, 0] = source.sign_bit, 0
    c = decode(codes(out, (3, 5), 3, kind), out)
    x, y = (operand_matrix(arrays.from_codes(m, source), axis, "") for m, axis in ((a, 1), (b, 0)))
    s = setting(x.vector(0), y.vector(0), unit, out)
    native = native_products.native_type(s)
    assert native == (None if s.c != s.result else decode(np.zeros(1, np.uint64), s.result).dtype)
    start = arrays.encode(c, out)
    wanted = [[run(s, x.vector(i), y.vector(j), int(start[i, j])).bits for j in range(5)] for i in range(3)]
    got = product(x, y, s, start)
    np.testing.assert_array_equal(got, np.array(wanted, got.dtype))


@pytest.mark.parametrize(
    "acc",
    [
        "fma-chain",
        "nvidia-h100",
        "amd-cdna2",
        "fp16-sequential",
        "fuse(c+p->fp32:rtz)->fp32:rne;step=1",
        "fuse(c+p->fp32:rne,F=30,rz)->fp32:rne;step=1",
        "fuse(c+p->fp32:rne:20)->fp32:rne;step=1",
        "fuse(c+p->fp32:rne)->fp32:rne;step=1;zero=positive",
        "fuse(c+p->fp32:rne)->fp32:rne;step=2",
    ],
)
def test_units_that_do_something_else(acc: str) -> None:
    """A fused sum, another rounding, flushes, an aligned sum, fewer bits, a sum of three."""
    x = operand_matrix(arrays.from_codes(np.ones((2, 4), np.uint16), "fp16"), 1, "a")
    s = setting(x.vector(0), x.vector(0), get_accumulator(acc), FP32)
    if native_products.native_type(s) is not None:
        with pytest.raises(native_products.NotNative):
            native_products.program_of(s.accumulator.root, s.accumulator.step_for(s.formats, s.result, 32, 4))


def test_a_long_chain_has_a_program() -> None:
    unit = get_accumulator("fuse(chain(p->fp32:rne)->fp32:rne+c)->fp32:rne")
    assert len(native_products.program_of(unit.root, 5000)) == 10_000
