"""Accumulators against definitions in exact rationals, captures of hardware and each other."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest
from dot_inputs import fractions, vectors
from hypothesis import given, settings
from hypothesis import strategies as st

import softfloat_ref as sf
from softfloat_ref.arrays.captures import capture_of, replay
from softfloat_ref.oracle.accumulate import define_accumulator
from softfloat_ref.oracle.accumulate.grammar import parse_tree, tree_text
from softfloat_ref.oracle.accumulate.model import STATUSES
from softfloat_ref.oracle.accumulate.probes import COLUMNS, PROBES, answer
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE
from softfloat_ref.oracle.flags import INEXACT, INVALID
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.operations import evaluate
from softfloat_ref.oracle.rounding import align

CAPTURES = Path(__file__).parents[2] / ".." / "shared" / "data" / "matrix_units"
NAMES = [
    "exact",
    "mx-fp32",
    "fp32-sequential",
    "fp32-pairwise",
    "fp16-sequential",
    "chunked-fp16",
    "fma-chain",
    "nvidia-fp64",
    "nvidia-v100",
    "nvidia-t4",
    "nvidia-a100",
    "nvidia-ada-fp8",
    "nvidia-h100",
    "nvidia-h100-fp8-wgmma",
    "nvidia-h100-fp8-mma",
    "nvidia-b200",
    "nvidia-b200-fp8",
    "nvidia-b200-fp8-mma",
    "nvidia-b200-fp4",
    "amd-cdna1",
    "amd-cdna2",
    "amd-cdna3",
    "amd-cdna3-fp8",
    "x86-vdpbf16ps",
    "x86-amx-bf16",
    "arm-bfdot",
    "arm-bfdot-ebf",
    "arm-fp8-fdot",
]


# -- the registry ------------------------------------------------------------------------------------------------------


def test_names() -> None:
    assert list(sf.ACCUMULATORS) == NAMES


@pytest.mark.parametrize("acc", sf.ACCUMULATORS.values(), ids=lambda a: a.name)
def test_definition_is_complete(acc: sf.Accumulator) -> None:
    """A stored definition gives the same accumulator, and its tree's text the same tree."""
    assert acc.status in STATUSES
    assert acc.status != "user definition"
    assert acc.source
    assert define_accumulator(acc.to_dict()) == acc
    assert define_accumulator({k: v for k, v in acc.to_dict().items() if k != "name"}, acc.name) == acc
    assert parse_tree(tree_text(acc.root)) == acc.root


def test_inline_is_named() -> None:
    """Named units in the grammar of one line."""
    a, b = [0x3C00, 0x4200, 0x0001] * 11, [0x3555, 0xC123, 0x7BFF] * 11
    for text, name in (
        ("fuse(16+c,F=25,rz,floor=-133)->fp32:rz; nan=ones; overflow=inf; zero=positive; flags=false", "nvidia-h100"),
        ("fuse(1+c)->fp32:rne", "fma-chain"),
        ("fuse(c + 1->fp32:rne)->fp32:rne", "fp32-sequential"),
        ("fuse(4+c)->fp32:rne; flags=false", "amd-cdna1"),
        ("fuse(8+c,F=24,rz,floor=-132)->fp32:rz; like=nvidia-a100", "nvidia-a100"),
    ):
        assert sf.dot(a, b, "fp16", 0x3F800001, text) == sf.dot(a, b, "fp16", 0x3F800001, name), text


# -- captures ----------------------------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.skipif(not CAPTURES.is_dir(), reason="needs captures: those of arXiv 2512.07004, in MATLAB-tensor-core")
def test_captures() -> None:
    """Every captured result of V100, A100, A2, Ada, L40S, H100, H200 and B200."""
    total = 0
    units = set()
    for path in sorted(CAPTURES.glob("*.npz")):
        capture = capture_of(path.name)
        assert capture is not None, path
        count, wrong = replay(
            str(path), sf.get_accumulator(capture.accumulator), capture.fmt, capture.out, use_c=capture.use_c
        )
        assert not wrong, (path.name, len(wrong), wrong[:3])
        total += count
        units.add(capture.accumulator)
    assert total == 48 * 400
    verified = {a.name for a in sf.ACCUMULATORS.values() if a.status == "hardware-verified"}
    assert verified - {"x86-vdpbf16ps", "nvidia-fp64"} <= units  # which other tests verify


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="needs captures")
def test_captures_tell_hopper_units_apart() -> None:
    """H100's FP8 to FP32 results are the native unit's, and not those of the emulation."""
    path = str(CAPTURES / "H100_e4m3_fp32.npz")
    count, wrong = replay(path, sf.get_accumulator("nvidia-h100-fp8-mma"), "fp8_e4m3", "fp32", use_c=False)
    assert (count, len(wrong)) == (400, 244)


# -- probes ------------------------------------------------------------------------------------------------------------

# From the published models of MMA-Sim 2.1.1 (arXiv 2511.10909), Khattak & Mikaitis (arXiv 2512.07004), Fasi et al.
# (PeerJ cs-330) and the Intel SDM: what each unit of COLUMNS does with each probe.
TABLE = """
y y y n y y y y y
n y y n y y y y n
n n y n y y n y n
12 8 0 0 15 12 8 14 8
0 2 2 0 2 2 2 0 2
0 0 0 0 -2 -2 -2 -2 -2
1 1 1 1 1 1 1-2^-24 1 1
y y y n y n y n n
0 0 0 0 0 NaN NaN -Inf NaN
y y y n y y y y y
"""


def test_probes() -> None:
    expected = [line.split() for line in TABLE.strip().splitlines()]
    assert [[answer(p, sf.get_accumulator(name)) for name in COLUMNS] for p in PROBES] == expected


# -- definitions in exact rationals ------------------------------------------------------------------------------------


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("fmt", ["fp8_e4m3", "fp8_e5m2", "bf16", "fp16", "int8", "fp6_e3m2"])
@pytest.mark.parametrize("out", ["fp32", "fp16", "bf16"])
@settings(max_examples=50)
@given(data=st.data())
def test_exact_is_the_sum_rounded_once(fmt: str, out: str, data: st.DataObject) -> None:
    a, b = data.draw(vectors(fmt))
    c = data.draw(st.integers(0, (1 << get_format(out).width) - 1))
    x, y, z = fractions(a, fmt), fractions(b, fmt), fractions([c], out)
    got = sf.dot(a, b, fmt, c, "exact", out)
    if x is None or y is None or z is None:
        assert decoder(get_format(out))(got.bits).kind != FINITE
        return
    total = sum((p * q for p, q in zip(x, y, strict=True)), z[0])
    expected = sf.encode(total, out)
    if total == 0:  # -0 only where every addend is -0
        signs = [decoder(get_format(f))(k).sign for f, codes in ((fmt, a), (fmt, b)) for k in codes]
        negative = [p ^ q for p, q in zip(signs[: len(a)], signs[len(a) :], strict=True)]
        every = (
            all(negative) and decoder(get_format(out))(c).sign and all(p * q == 0 for p, q in zip(x, y, strict=True))
        )
        expected = sf.Encoded(get_format(out).sign_bit if every else 0, expected.flags)
    assert got == expected


@given(vectors("fp8_e5m2"), st.randoms(use_true_random=False))
def test_exact_in_any_order(pair: tuple[list[int], ...], rng: random.Random) -> None:
    a, b = pair
    order = list(range(len(a)))
    rng.shuffle(order)
    shuffled = sf.dot([a[i] for i in order], [b[i] for i in order], "fp8_e5m2", 0, "exact")
    assert shuffled == sf.dot(a, b, "fp8_e5m2", 0, "exact")


def encoded_exponent(code: int, fmt: Format) -> int:
    """Of the binade: the field less the bias, a subnormal's being emin."""
    field = (code & fmt.magnitude_mask) >> fmt.mantissa_bits
    return max(field, 1) - fmt.bias


def toward_zero(x: Fraction, bits: int, emin: int) -> Fraction:
    """x cut to so many fraction bits (of an FP32-like format)."""
    if x == 0:
        return x
    e = max(abs(x).numerator.bit_length() - abs(x).denominator.bit_length(), emin)
    e += abs(x) >= Fraction(2) ** (e + 1)
    e -= e > emin and abs(x) < Fraction(2) ** e
    unit = Fraction(2) ** (max(e, emin) - bits)
    return int(x / unit) * unit


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("acc", "fmt", "step", "bits", "floor", "kept"),
    [
        ("nvidia-v100", "fp16", 4, 23, -131, 23),
        ("nvidia-t4", "fp16", 8, 24, -132, 23),
        ("nvidia-a100", "bf16", 8, 24, -132, 23),
        ("nvidia-a100", "tf32", 4, 24, -132, 23),
        ("nvidia-ada-fp8", "fp8_e5m2", 16, 13, -132, 13),
        ("nvidia-h100", "tf32", 8, 25, -133, 23),
        ("nvidia-h100", "bf16", 16, 25, -133, 23),
        ("nvidia-h100-fp8-wgmma", "fp8_e4m3", 32, 13, -133, 13),
        ("nvidia-b200", "tf32", 8, 25, -133, 23),
        ("nvidia-b200-fp8", "fp6_e3m2", 32, 25, -133, 23),
    ],
)
@given(data=st.data())
def test_fused_units_as_defined(
    acc: str, fmt: str, step: int, bits: int, floor: int, kept: int, data: st.DataObject
) -> None:
    """The definition of an aligned, truncating unit, in exact rationals; K need not be a multiple of the step."""
    f, fp32 = get_format(fmt), get_format("fp32")
    a, b = data.draw(vectors(fmt))
    total = data.draw(st.integers(0, (1 << 32) - 1))
    x, y, z = fractions(a, fmt), fractions(b, fmt), fractions([total], "fp32")
    if x is None or y is None or z is None:
        return
    running, code = z[0], total
    for k in range(0, len(a), step):
        terms = [(running, encoded_exponent(code, fp32))]
        terms += [
            (x[i] * y[i], encoded_exponent(a[i], f) + encoded_exponent(b[i], f)) if i < len(a) else (Fraction(0), 0)
            for i in range(k, k + step)
        ]
        largest = max(e if v else floor for v, e in terms)
        unit = Fraction(2) ** (largest - bits)
        running = toward_zero(sum((int(v / unit) * unit for v, _ in terms), Fraction(0)), kept, -126)
        if abs(running) >= Fraction(2) ** 128:
            code = 0x7F800000 | (running < 0) << 31
            break
        code = sf.encode(running, "fp32").bits
    got = sf.dot(a, b, fmt, total, acc)
    if code & 0x7FFFFFFF == 0x7F800000:
        assert got.bits & 0x7FFFFFFF >= 0x7F800000 or len(a) > step
    else:
        assert got == (code if running else 0, 0)


@given(vectors("fp8_e4m3", st.integers(1, 100)), st.data())
def test_mx_fp32_as_defined(pair: tuple[list[int], ...], data: st.DataObject) -> None:
    """Each block's exact sum times both scales, rounded to FP32; these added to an FP32 accumulator from +0."""
    a, b = pair
    blocks = -(-len(a) // 32)
    scale = st.one_of(st.integers(100, 150), st.integers(0, 254))
    sa, sb = (data.draw(st.lists(scale, min_size=blocks, max_size=blocks)) for _ in range(2))
    x, y = fractions(a, "fp8_e4m3"), fractions(b, "fp8_e4m3")
    got = sf.dot(a, b, "mxfp8", acc="mx-fp32", scales=(sa, sb))
    if x is None or y is None:
        assert got.bits == 0x7FC00000
        return
    code, flags = 0, 0
    for k in range(blocks):
        block = sum((p * q for p, q in zip(x[32 * k : 32 * k + 32], y[32 * k : 32 * k + 32], strict=True)), Fraction(0))
        part = sf.encode(block * Fraction(2) ** (sa[k] + sb[k] - 254), "fp32")
        added = evaluate("add", (code, part.bits), "fp32")
        code, flags = added.bits, flags | part.flags | added.flags
    assert got == (code, flags)


def test_nan_scale() -> None:
    assert get_block_format("mxfp8").size == 32
    one = [0x38] * 32
    for acc in ("mx-fp32", "exact", "fp32-sequential", "nvidia-b200-fp8"):
        nan = 0x7FFFFFFF if "nvidia" in acc else 0x7FC00000
        assert sf.dot(one, one, "mxfp8", acc=acc, scales=([0xFF], [0x7F])).bits == nan
        assert sf.dot(one, one, "mxfp8", acc=acc, scales=([0x7F], [0x80])).bits == 0x42800000


# Floor and F of each fused unit, and a format whose products go below the floor (MMA-Sim 2.1.1).
FLOORS = [
    ("nvidia-v100", "fp32", -131, 23),
    ("nvidia-t4", "fp32", -132, 24),
    ("nvidia-a100", "fp32", -132, 24),
    ("nvidia-h100", "fp32", -133, 25),
    ("nvidia-h100-fp8-mma", "fp32", -133, 25),
    ("nvidia-b200", "fp32", -133, 25),
    ("nvidia-b200-fp8", "fp32", -133, 25),
    ("nvidia-v100", "fp16", -19, 23),
    ("nvidia-t4", "fp16", -20, 24),
    ("nvidia-a100", "fp16", -20, 24),
    ("nvidia-h100", "fp16", -21, 25),
    ("nvidia-h100-fp8-mma", "fp16", -21, 25),
    ("nvidia-b200", "fp16", -21, 25),
    ("nvidia-b200-fp8", "fp16", -21, 25),
]


@pytest.mark.parametrize(("acc", "out", "floor", "bits"), FLOORS)
def test_floor_of_a_zero_term(acc: str, out: str, floor: int, bits: int) -> None:
    """Beside a zero c, a term of one unit below 2^(floor - F) is cut, one of that unit is not.

    The results hang on it: the smallest FP32, less the term, goes to zero; half the smallest FP16, and the term, go up.
    """
    first, sign = (-149, -1) if out == "fp32" else (-25, 1)
    for exponent, counts in ((floor - bits, True), (floor - bits - 1, False)):
        terms = [(Fraction(2) ** (first // 2), Fraction(2) ** (first - first // 2))]
        terms.append((sign * Fraction(2) ** (exponent // 2), Fraction(2) ** (exponent - exponent // 2)))
        a, b = ([sf.encode(x, "bf16").bits for x in column] for column in zip(*terms, strict=True))
        expected = int(not counts) if out == "fp32" else int(counts)
        assert sf.dot(a, b, "bf16", 0, acc, out, extrapolate=True).bits == expected, exponent


def test_floor_of_fp4() -> None:
    """The same for nvidia-b200-fp4, floor -139, F = 35: groups of 0.5 * 0.5 under scales of two powers of two."""
    a, b = [0] * 64, [0] * 64
    a[0], b[0], a[32], b[32] = 1, 1, 1, 9
    first = [127 - 73, 127 - 74]  # a quarter of 2^-147
    for exponent, counts in ((-139 - 35, True), (-139 - 36, False)):
        rest = [127 + (exponent + 2) // 2, 127 + (exponent + 2) - (exponent + 2) // 2]
        scales = [first[0], rest[0]], [first[1], rest[1]]
        assert sf.dot(a, b, "mxfp4", 0, "nvidia-b200-fp4", scales=scales).bits == int(not counts)


def codes(values: list[Fraction | int], fmt: str) -> list[int]:
    return [sf.encode(x, fmt).bits for x in values]


def test_fp4_groups_have_their_scales_exponent() -> None:
    """36 - 36 + 2^-33: the groups' exponent is 0, not the products' 4, so 2^-33 is above the unit 2^-35."""
    a, b = [0] * 64, [0] * 64
    a[0] = b[0] = a[16] = 7
    b[16] = 0xF
    for power, expected in ((33, 0x2F000000), (35, 0x2E000000), (36, 0)):
        c = sf.encode(Fraction(1, 1 << power), "fp32").bits
        assert sf.dot(a, b, "fp4_e2m1", c, "nvidia-b200-fp4").bits == expected


@pytest.mark.parametrize(
    ("acc", "fmt", "survivors"),
    [
        ("nvidia-a100", "tf32", 12),
        ("nvidia-h100", "tf32", 8),
        ("nvidia-b200", "tf32", 8),
        ("amd-cdna3", "tf32", 12),
        ("nvidia-t4", "fp16", 8),
        ("nvidia-h100", "fp16", 0),
        ("nvidia-b200", "fp16", 0),
    ],
)
def test_products_a_step(acc: str, fmt: str, survivors: int) -> None:
    """c = U, -U, then 15 terms of 2^-26 U: those of the first step are cut."""
    a = codes([-(1 << 14), *[Fraction(1, 1 << 12)] * 15], fmt)
    got = sf.dot(a, codes([1] * 16, fmt), fmt, sf.encode(1 << 14, "fp32").bits, acc)
    assert got.bits == sf.encode(Fraction(survivors, 1 << 12), "fp32").bits


def test_scales_move_the_alignment() -> None:
    """2^20 - 2^20 + c, the 2^20 being the scales': F = 25 ends at 2^-5."""
    for power, expected in ((5, 0x3D000000), (6, 0)):
        c = sf.encode(Fraction(1, 1 << power), "fp32").bits
        assert sf.dot([0x38] * 2, [0x38, 0xB8], "mxfp8", c, "nvidia-b200-fp8", scales=([137], [137])).bits == expected


def test_cdna3_keeps_31_bits() -> None:
    """1 + 2^-24 and a little more: a tie where the little is below 2^-31, else not."""
    for power, expected in ((31, 0x3F800001), (32, 0x3F800000)):
        a = codes([Fraction(1, 1 << 12), Fraction(1, 1 << 16)], "bf16")
        b = codes([Fraction(1, 1 << 12), Fraction(1, 1 << (power - 16))], "bf16")
        assert sf.dot(a, b, "bf16", 0x3F800000, "amd-cdna3").bits == expected


def test_cdna3_fp8_leaves_out_a_distant_c() -> None:
    """Where the 16-bit units floor -2^-100 to one unit, the FP8 unit takes nothing; at 25 below it still does."""
    one = codes([1], "fp8_e4m3fnuz")
    assert (
        sf.dot(one, one, "fp8_e4m3fnuz", *(sf.encode(Fraction(-1, 1 << 100), "fp32").bits, "amd-cdna3-fp8")).bits
        == 0x3F800000
    )
    near = sf.encode(Fraction(-1, 1 << 25), "fp32").bits
    assert sf.dot(one, one, "fp8_e4m3fnuz", near, "amd-cdna3-fp8").bits == 0x3F7FFFFF
    half = codes([1], "bf16")
    assert sf.dot(half, half, "bf16", sf.encode(Fraction(-1, 1 << 100), "fp32").bits, "amd-cdna3").bits == 0x3F7FFFFF


def test_cdna2_reads_small_numbers_as_plus_zero() -> None:
    """-0 * 1 is -0 elsewhere; subnormal results are flushed with their sign."""
    assert sf.dot([0x8000], [0x3F80], "bf16", 0x80000000, "amd-cdna2").bits == 0
    assert sf.dot([0x0001], [0x7F00], "bf16", 0, "amd-cdna2").bits == 0
    assert sf.dot([0x0001], [0x7F00], "bf16", 0, "amd-cdna1").bits == 0x3C800000  # 2^-133 * 2^127


# -- the alignment -----------------------------------------------------------------------------------------------------


@given(st.booleans(), st.integers(0, 1 << 60), st.integers(-40, 40), st.integers(-80, 80), st.booleans())
def test_align(negative: bool, significand: int, exponent: int, unit: int, down: bool) -> None:
    exact = Fraction(-significand if negative else significand) * Fraction(2) ** (exponent - unit)
    kept, lost = align(int(negative), significand, exponent, significand.bit_length(), unit, int(down))
    assert kept == (exact.__floor__() if down else exact.__trunc__())
    assert lost == (kept != exact)


def test_align_compiles() -> None:
    numba = pytest.importorskip("numba")
    fast = numba.njit(align)
    rng = random.Random(0)
    for _ in range(2000):
        significand = rng.getrandbits(rng.randrange(40))
        case = rng.getrandbits(1), significand, rng.randrange(-90, 3), significand.bit_length(), rng.randrange(-20, 60)
        for down in (0, 1):
            assert fast(*case, down) == align(*case, down)


# -- flags and zeros ---------------------------------------------------------------------------------------------------


def test_flags() -> None:
    assert sf.dot([0x7C00], [0], "fp16", acc="exact") == (0x7FC00000, INVALID)
    assert sf.dot([0x7C00], [0], "fp16", acc="nvidia-h100") == (0x7FFFFFFF, 0)
    assert sf.dot([0x7C00, 0xFC00], [0x3C00] * 2, "fp16", acc="fma-chain") == (0x7FC00000, INVALID)
    assert sf.dot([0x3C00] * 2, [0x3C00, 0x0001], "fp16", acc="fuse(2+c,F=3,rz)->fp32:rne").flags == INEXACT
    assert sf.dot([0x3C00], [0x3C00], "fp16", to="fp16", c=0x0001, acc="exact").flags == INEXACT


def test_zeros() -> None:
    """-0 * 1 + -0: -0 where IEEE's rule holds, +0 from NVIDIA's units."""
    case = [0x8000] * 32, [0x3C00] * 32, "fp16", 0x80000000
    for acc in ("exact", "fma-chain", "fp32-sequential", "fp32-pairwise", "amd-cdna1"):
        assert sf.dot(*case, acc).bits == 0x80000000
    for acc in ("nvidia-v100", "nvidia-h100", "amd-cdna2"):  # CDNA2 reads -0 as +0
        assert sf.dot(*case, acc).bits == 0


def test_overflow_goes_to_infinity() -> None:
    big = [0x7F7F] * 2
    assert sf.dot(big, big, "bf16", acc="nvidia-h100").bits == 0x7F800000
    assert sf.dot(big, big, "bf16", acc="fuse(2+c,F=24,rz)->fp32:rz").bits == 0x7F7FFFFF
    assert sf.dot(big, [0xFF7F] * 2, "bf16", acc="arm-bfdot").bits == 0xFF800000
