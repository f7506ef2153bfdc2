"""Operations on arrays of codes: every way (table, compiled loop, distinct cases) is the scalar oracle, bit for bit."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys

import numpy as np
import pytest
from volume import FULL, cases

from softfloat_ref import array_ops
from softfloat_ref.arrays.kernels import opcodes
from softfloat_ref.arrays.kernels.op_plans import class_of, plan
from softfloat_ref.arrays.operations import Bulk, by_oracle, evaluate, loop_for
from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.golden.cases import boundaries, crossed, random_cases
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import CATALOGUE, get_format
from softfloat_ref.oracle.operations import OPERATIONS, Signature, evaluator, signature
from softfloat_ref.oracle.operations.table import Loop
from softfloat_ref.oracle.policies import POLICIES, ROUNDINGS, Policy, get_policy
from softfloat_ref.oracle.sources import Philox

COMPILED = [name for name, row in OPERATIONS.items() if row.loop and row.loop is not Loop.SEGMENTS]
EIGHT_BITS = ("fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "binary8p4se", "e8m0", "int8", "s1e4m3b7")
PAIRED = ("add", "sub", "mul", "div", "scaleb", "min", "maximum_magnitude", "lt", "total_order")
WIDE = ("fp16", "bf16", "tf32", "fp32", "dlfloat16", "fp64")
POLICIES_TRIED = [
    *(Policy(m, sr_bits=5 if m.startswith("sr") else None) for m in ROUNDINGS),
    Policy(overflow="sat-finite", tininess="before"),
    Policy(flush_inputs=True, flush_outputs=True),
    Policy(flush_outputs=True, flush_rule="before", tininess="before"),
    *POLICIES.values(),
]


def compiled(sig: Signature, policy: Policy, case_arrays, words=None):  # type: ignore[no-untyped-def]
    """The compiled loop, whatever the number of elements; None where it has no plan."""
    way = Bulk(sig, policy, 1 << 30)
    way._table, way._run = None, loop_for(sig, policy)
    return None if way._run is None else way(case_arrays, words)


def columns(listed, arity: int) -> list[np.ndarray]:  # type: ignore[no-untyped-def,type-arg]
    return list(np.array(listed, np.uint64).reshape(-1, arity).T.copy().view(np.int64))


def differences(sig: Signature, policy: Policy, listed, words=None) -> int:  # type: ignore[no-untyped-def]
    """Compare the compiled loop with the oracle on a list of cases; returns how many were compared."""
    arrays = columns(listed, len(sig.formats))
    results = compiled(sig, policy, arrays, words)
    if results is None:
        return 0
    expected = by_oracle(sig, policy, arrays, words)
    wrong = np.flatnonzero((results[0] != expected[0]) | (results[1] != expected[1]))
    shown = [
        (*(hex(x[i]) for x in arrays), *(hex(y[0][i]) + f"/{y[1][i]:x}" for y in (results, expected)))
        for i in wrong[:3]
    ]
    assert not wrong.size, (sig.operation.name, [f.name for f in sig.formats], sig.out.name, policy, shown)
    return len(listed)


def random_words(policy: Policy, count: int):  # type: ignore[no-untyped-def]
    n = policy.random_count
    return Philox(7).array(n, 0, count).view(np.int64) if n else None


@pytest.mark.full
@pytest.mark.parametrize("op", PAIRED)
@pytest.mark.parametrize("fmt", EIGHT_BITS)
def test_all_pairs_of_eight_bits(fmt: str, op: str) -> None:
    """All 65,536 pairs, or every fifth, under one policy after the other, by the compiled loop."""
    kinds = OPERATIONS[op].operands
    formats = tuple(get_format(fmt if kind == "float" else "i8") for kind in kinds)
    every = list(itertools.product(range(256), range(256)))
    number = PAIRED.index(op) * len(EIGHT_BITS) + EIGHT_BITS.index(fmt)
    if not FULL:
        every = every[number % 5 :: 5]
    policy = POLICIES_TRIED[number % len(POLICIES_TRIED)]
    assert differences(signature(op, formats), policy, every, random_words(policy, len(every))) == len(every)


@pytest.mark.full(keep=28)
@pytest.mark.parametrize("policy", POLICIES_TRIED, ids=str)
@pytest.mark.parametrize("op", COMPILED)
def test_wide_formats(op: str, policy: Policy) -> None:
    """Special values crossed, and random ones, of two wide formats; and between formats."""
    if OPERATIONS[op].negated and policy.rounding.opposite is None:
        with pytest.raises(Error, match="no rounding is the opposite of rnu"):
            evaluator(signature(op, "fp16"), policy)
        return
    compared = 0
    number = COMPILED.index(op) + POLICIES_TRIED.index(policy)
    for fmt in WIDE[number % 3 :: 3]:
        sig = signature(op, fmt)
        compared += compare_some(sig, policy, cases(150, 300))
    if op in ("convert", "add", "fma", "min", "mul"):
        arity = len(OPERATIONS[op].operands)
        for formats, out in (
            (("fp32", "fp16", "bf16"), "fp8_e4m3"),
            (("fp8_e4m3", "fp8_e5m2", "fp32"), "fp32"),
            (("fp16", "i8", "fp32"), "i32"),
            (("bf16", "bf16", "fp16"), "e8m0"),
            (("fp32", "tf32", "u8"), "dlfloat16"),
            (("i32", "fp32", "fp16"), "fp4_e2m1"),
        ):
            compared += compare_some(signature(op, formats[:arity], out), policy, cases(100, 200))
    assert compared >= (0 if policy.bare_widening and op == "convert" else 150)


@pytest.mark.parametrize("mode", ["rne", "rup", "rdn"])
@pytest.mark.parametrize("op", ["power_fnmadd", "power_fnmsub"])
def test_what_is_negated_after_the_rounding(op: str, mode: str) -> None:
    assert compare_some(signature(op, "fp16"), get_policy({"rounding": mode}), cases(600, 6000)) >= 600


def compare_some(sig: Signature, policy: Policy, count: int) -> int:
    directed = list(crossed(sig.formats, cases(300, 1200)))
    if sig.operation.name == "convert":
        directed += list(boundaries(sig.formats[0], sig.out))[: cases(200, 500)]
    listed = directed + list(random_cases(sig.formats, 5, count))
    return differences(sig, policy, listed, random_words(policy, len(listed)))


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    ("op", "fmt", "out"),
    [
        ("add", "fp16", None),
        ("fma", "fp16", None),
        ("fma", "fp32", None),
        ("fmsub", "fp32", None),
        ("fnmadd", "bf16", None),
        ("arm_fmsub", "fp16", "fp32"),
        ("faa", "bf16", None),
        ("faa", "fp32", None),
        ("add", "tf32", None),
        ("add", "fp64", None),
        ("div", "fp64", None),
        ("sqrt", "fp64", None),
        ("sqrt", "fp32", None),
        ("convert", "fp32", "fp16"),
        ("convert", "fp64", "fp32"),
    ],
)
def test_many_random_cases(op: str, fmt: str, out: str | None) -> None:
    sig, count = signature(op, fmt, out), cases(20_000, 100_000)
    assert differences(sig, Policy(), list(random_cases(sig.formats, 11, count))) == count


FORMATS_DRAWN = ("fp16", "bf16", "tf32", "fp32", "fp64", "dlfloat16", "fp8_e4m3", "e8m0", "ue4m3", "fp4_e2m1", "int8")
MORE_DRAWN = ("i32", "u16", "s1e6m1b46", "binary8p1ue", "binary16p7se", "s1e5m10fn", "s1e11m20", "binary8p3sf")


@pytest.mark.full(keep=10)
@pytest.mark.parametrize("seed", range(40))
def test_any_formats_and_policy(seed: int) -> None:
    """Operations, formats of each operand and of the result, and policies drawn at random."""
    draw = random.Random(seed)
    compared = 0
    while compared < 2000:
        op = draw.choice(COMPILED)
        kinds = OPERATIONS[op].operands
        formats = [draw.choice(FORMATS_DRAWN + MORE_DRAWN if kind == "float" else ("i8", "i32")) for kind in kinds]
        out = draw.choice(FORMATS_DRAWN + MORE_DRAWN) if OPERATIONS[op].result == "float" else None
        mode = draw.choice([m for m in ROUNDINGS if m != "rnu" or not OPERATIONS[op].negated])  # which has no opposite
        policy = get_policy(
            draw.choice(list(POLICIES)),
            rounding=mode,
            sr_bits=draw.randint(1, 25) if mode.startswith("sr") else None,
            overflow=draw.choice((None, "sat-none", "sat-propagate", "sat-finite")),
            flush_outputs=draw.choice((True, False, False)),
            nan_missing=draw.choice(("max", "zero", "error")),
        )
        compared += compare_some(signature(op, formats, out), policy, 300)


@pytest.mark.full(keep=3)
@pytest.mark.parametrize("fmt", ["fp16", "fp32"])
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "fma", "sqrt", "convert", "lt", "round_to_integral_exact"])
def test_agrees_with_softfloat(op: str, fmt: str) -> None:
    """Berkeley SoftFloat's results and flags, in its five roundings, with no oracle between."""
    soft = pytest.importorskip("softfloatpy")
    modes = {"rne": "NEAR_EVEN", "rtz": "MIN_MAG", "rdn": "MIN", "rup": "MAX", "rna": "NEAR_MAX_MAG"}
    prefix, other = ("f16", "f32") if fmt == "fp16" else ("f32", "f16")
    name = {"fma": "mul_add", "convert": f"to_{other}", "round_to_integral_exact": "round_to_int"}.get(op, op)
    function, more = getattr(soft, f"{prefix}_{name}"), (None, True) if op.startswith("round") else ()
    make, size = (soft.Float16 if fmt == "fp16" else soft.Float32).from_bytes, 2 if fmt == "fp16" else 4
    sig = signature(op, fmt, {"fp16": "fp32", "fp32": "fp16"}[fmt] if op == "convert" else None)
    listed = [*crossed(sig.formats, 3000), *random_cases(sig.formats, 21, 10_000)]
    soft.set_tininess_mode(soft.TininessMode.AFTER_ROUNDING)
    for rounding, mode in modes.items():
        soft.set_rounding_mode(getattr(soft.RoundingMode, mode))
        results = compiled(sig, Policy(rounding), columns(listed, len(sig.formats)))
        assert results is not None
        for case, code, flags in zip(listed, results[0].tolist(), results[1].tolist(), strict=True):
            soft.set_exception_flags(0)
            result = function(*(make(x.to_bytes(size, "big")) for x in case), *more)
            bits = int(result) if isinstance(result, bool) else int.from_bytes(result.to_bytes(), "big")
            assert (code, flags) == (bits, int(soft.get_exception_flags())), (rounding, *map(hex, case))


def test_long_significands_leave_no_room_for_many_random_bits() -> None:
    """An fp64 number and a half, to an integer, with 13 random bits: 66 bits, which the compiled loop must not take."""
    policy = Policy("sr-c", sr_bits=13)
    sig = signature("round_to_integral_exact", "fp64")
    assert plan(sig, policy) is None
    assert plan(sig, Policy("rne")) is not None
    codes, words = np.full(70_000, 0xC320000000100001, np.uint64), np.arange(70_000) % (1 << 13)
    results = evaluate("round_to_integral_exact", [codes], "fp64", None, policy, words, flags="each")
    run = evaluator(sig, policy)
    for i in range(0, 9000, 100):
        assert (int(results[0][i]), int(results[1][i])) == run((0xC320000000100001,), int(words[i]))


@pytest.mark.full
def test_every_fp16_code() -> None:
    """Operations of one operand, all codes, by the table that public calls use."""
    codes = np.arange(1 << 16, dtype=np.uint16)
    for op in ("sqrt", "round_to_integral_exact", "logb", "next_up", "class", "neg", "rsqrt"):
        sig = signature(op, "fp16")
        run = evaluator(sig, Policy())
        results, flags = evaluate(op, [codes], "fp16", flags="each")
        assert list(zip(results.tolist(), flags.tolist(), strict=True)) == [run((c,), 0) for c in range(1 << 16)]


@pytest.mark.full(keep=18)
@pytest.mark.parametrize("op", OPERATIONS)
def test_every_operation(op: str) -> None:
    """The public call on small and large arrays gives what `ops.evaluate` gives."""
    for fmt in ("fp16", "fp8_e4m3", "fp32"):
        sig = signature(op, fmt)
        listed = list(itertools.islice(crossed(sig.formats, 5000), 2000)) + list(random_cases(sig.formats, 3, 300))
        run = evaluator(sig, get_policy(None))
        expected = [run(case, 0) for case in listed]
        results, flags = evaluate(op, columns(listed, len(sig.formats)), fmt, flags="each")
        assert list(zip(results.tolist(), flags.tolist(), strict=True)) == expected
        assert results.dtype == array_ops.code_dtype(sig.out)


def test_the_three_ways_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 256, (2, 70_000)).astype(np.uint8)
    by_table = evaluate("div", [a, b], "fp8_e5m2", flags="each")
    monkeypatch.setattr(array_ops, "_TABLE_BITS", 0)
    by_loop = evaluate("div", [a, b], "fp8_e5m2", flags="each")
    monkeypatch.setattr(array_ops, "plan", lambda sig, policy: None)
    by_cases = evaluate("div", [a, b], "fp8_e5m2", flags="each")
    for other in (by_loop, by_cases):
        assert np.array_equal(by_table[0], other[0])
        assert np.array_equal(by_table[1], other[1])


@pytest.mark.full(keep=21)
@pytest.mark.parametrize("fmt", [f for f in CATALOGUE.values() if f.width <= 16], ids=lambda f: f.name)
@pytest.mark.parametrize("flush", [False, True])
def test_codes_are_read_as_the_oracle_reads_them(fmt, flush: bool) -> None:  # type: ignore[no-untyped-def]
    """A field's row, applied to each of its codes, is the decoder's value and class."""
    sig = signature("convert", fmt, "fp64" if fmt.mantissa_bits < 50 else fmt)
    tables = plan(sig, Policy(flush_inputs=flush))
    assert tables is not None
    first, shift, mask, quiet = (int(x) for x in tables.layouts[0])
    decode = decoder(fmt, flush)
    for code in range(1 << fmt.width):
        value, row = decode(code), tables.fields[first + (code >> shift)]
        kind, low = int(row[opcodes.CLASS]), code & mask
        significand = int(row[opcodes.BASE] + row[opcodes.FACTOR] * low)
        if kind >= opcodes.FIRST_SPECIAL:
            kind = (6 if low & quiet else 7) if low else kind
        else:
            kind -= 2 if significand == 0 else 0
            assert significand == value.significand
            assert not significand or int(row[opcodes.EXPONENT]) == value.exponent
        assert kind == class_of(value), hex(code)


# -- the call ------------------------------------------------------------------------------------------------------


def test_shapes_and_strides() -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 1 << 16, (60, 40), dtype=np.uint16)
    b = rng.integers(0, 1 << 16, (60, 40), dtype=np.uint16)
    whole, flags = evaluate("add", [a, b], "fp16", flags="each")
    assert whole.shape == flags.shape == (60, 40)
    for cut in (np.s_[::2, ::-3], np.s_[5], np.s_[:, 7], np.s_[:0], np.s_[3:4, ::5]):
        results, raised = evaluate("add", [a[cut], b[cut]], "fp16", flags="each")
        assert np.array_equal(results, whole[cut])
        assert np.array_equal(raised, flags[cut])
    assert np.array_equal(evaluate("add", [a.T, b.T], "fp16"), whole.T)
    assert np.array_equal(evaluate("add", [np.asfortranarray(a), b], "fp16"), whole)
    assert np.array_equal(evaluate("add", [a.astype(">u2"), b.astype(np.int32)], "fp16"), whole)
    assert np.array_equal(evaluate("add", [a, 0], "fp16"), evaluate("add", [a, np.zeros_like(a)], "fp16"))
    assert np.array_equal(evaluate("add", [a[:, :1], b[:1]], "fp16")[3, 5], evaluate("add", [a[3, 0], b[0, 5]], "fp16"))
    point = evaluate("add", [np.uint16(0x3C00), 0x4000], "fp16", flags="any")
    assert (point[0].shape, int(point[0]), point[1]) == ((), 0x4200, 0)
    assert evaluate("add", [[], []], "fp16").shape == (0,)


def test_large_arrays_with_strides() -> None:
    """More than one chunk, not contiguous, with random words: position counts in C order."""
    rng = np.random.default_rng(2)
    a = rng.integers(0, 1 << 32, (300, 301), dtype=np.uint32)
    policy = Policy("sr", sr_bits=9)
    words = Philox(4).array(9, 0, a.size).reshape(a.shape)
    results = evaluate("convert", [a], "fp32", "fp16", policy, words)
    drawn = evaluate("convert", [a], "fp32", "fp16", policy, Philox(4))
    turned = evaluate("convert", [a.T], "fp32", "fp16", policy, words.T)
    assert np.array_equal(results, drawn)
    assert np.array_equal(results, turned.T)
    run = evaluator(signature("convert", "fp32", "fp16"), policy)
    for i in range(0, a.size, 997):
        assert results.flat[i] == run((int(a.flat[i]),), int(words.flat[i]))[0]


def test_flags_modes() -> None:
    a = np.array([0x7BFF, 0x3C00, 0x0001], np.uint16)
    codes = evaluate("mul", [a, a], "fp16")
    same, any_flag = evaluate("mul", [a, a], "fp16", flags="any")
    _, each = evaluate("mul", [a, a], "fp16", flags="each")
    assert codes.tolist() == same.tolist() == [0x7C00, 0x3C00, 0]
    assert each.tolist() == [5, 0, 3]
    assert any_flag == 7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluate("add", [[1]], "fp16"), "add takes 2 operands, not 1"),
        (lambda: evaluate("add", [[1], [0x10000]], "fp16"), "code 10000 does not fit fp16, which has 16 bits"),
        (lambda: evaluate("add", [[-1], [1]], "fp16"), "code -1 does not fit fp16, which has 16 bits"),
        (lambda: evaluate("add", [[1.0], [1]], "fp16"), "codes must be integers, not float64"),
        (
            lambda: evaluate("add", [[1, 2], [1, 2, 3]], "fp16"),
            r"operands of shapes (2,), (3,) cannot be broadcast to a common shape",
        ),
        (lambda: evaluate("add", [[1, [2]], [1]], "fp16"), "rows of different lengths do not form an array"),
        (lambda: evaluate("add", 5, "fp16"), "operands must be a sequence of arrays of codes, not int"),  # type: ignore[arg-type]
        (lambda: evaluate("add", [[1], [1]], "fp16", flags="all"), "flags = 'all': use none, any or each"),  # type: ignore[call-overload]
        (lambda: evaluate("add", [[1], [1]], "fp16", random_bits=[1]), "rounding rne takes no random bits"),
        (lambda: evaluate("add", [[1], [1]], "fp16", policy=Policy("sr", sr_bits=4)), "takes 4 random bits"),
        (lambda: evaluate("add", [[1], [1]], "fp128"), "fp128 has 128 bits; arrays hold codes of at most 64"),
        (lambda: evaluate("ad", [[1], [1]], "fp16"), "unknown operation"),
    ],
)
def test_errors(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Error) as caught:
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_case_without_result_names_its_element(size: int) -> None:
    codes = np.full(size, 0x3C003C00, np.uint32)
    codes[size - 3] = 0x7FC00000
    with pytest.raises(Undefined, match=f"element {size - 3}: fp4_e2m1 has no NaN"):
        evaluate("convert", [codes], "fp32", "fp4_e2m1", Policy(nan_missing="error"))


def test_small_arrays_load_no_compiler() -> None:
    code = (
        "import sys, numpy as np; from softfloat_ref import array_ops as o;"
        "o.evaluate('fma', [np.arange(1000)] * 3, 'fp32'); print('numba' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"
