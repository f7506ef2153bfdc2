"""Affine integers: the oracle against the definition in rationals, arrays against the oracle, rules against torch."""

from __future__ import annotations

import itertools
import re
import warnings
from fractions import Fraction
from math import floor, inf, nan
from pathlib import Path

import numpy as np
import pytest
import volume

import softfloat_ref as sf
from softfloat_ref import affine
from softfloat_ref.base.errors import Error
from softfloat_ref.base.tables import in_full
from softfloat_ref.oracle.affine import (
    CHOICES,
    RULES,
    AffineFormat,
    Parameters,
    Rule,
    choose,
    define_rule,
    dequantize_value,
    get_affine_format,
    get_rule,
    quantize_value,
)
from softfloat_ref.oracle.codec import decode, encode, to_value
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.sources import Philox

FORMATS = ["qint8", "quint8", "qint4", "quint4", "qint2", "qint8_sym", "qint8_sym_narrow", "quint8_sym", "qint8_narrow",
           "qint16", "quint16", "qint12"]  # fmt: skip
ROUND = {
    "rne": lambda x: round(x),
    "rtz": lambda x: int(x),
    "rdn": lambda x: floor(x),
    "rup": lambda x: -floor(-x),
    "rna": lambda x: floor(abs(x) + Fraction(1, 2)) * (1 if x > 0 else -1),
}


def limits(name: str) -> tuple[int, int]:
    bits = int(re.findall(r"\d+", name)[0])
    low, high = (0, 2**bits - 1) if name.startswith("qu") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return low + name.endswith("narrow"), high


def fp32(x: Fraction) -> Fraction:
    return decode(encode(x, "fp32")[0], "fp32").as_fraction()


def defined(x: Fraction, scale: Fraction, z: int, name: str, rule: Rule, rounding: str = "rne") -> int:
    """q from the formulas, in rationals."""
    low, high = limits(name)
    number, own = x / scale, ROUND[rounding]
    if rule.arithmetic == "fp32":
        number = fp32(x * fp32(1 / scale))
        q = own(fp32(number + z)) if rule.order == "inside" else own(number) + z
    elif rule.arithmetic == "fp32-division":
        number = fp32(number)
        q = own(fp32(number + z)) if rule.order == "inside" else own(number) + z
    elif rule.arithmetic == "fp32-fma":
        q = own(fp32(x * fp32(1 / scale) + z))
    else:
        q = own(number + z) if rule.order == "inside" else own(number) + z
    return min(max(q, low), high)


def samples(scale: float, z: int, rng: np.random.Generator, count: int = 60) -> np.ndarray:
    """FP32 values around ties, and anywhere."""
    reach = np.where(np.arange(count) % 4, 300, 70000)  # of 8 bits, and of 16
    steps = rng.integers(-reach, reach) - z + rng.choice([0.5, 0.0, 0.25], count)
    near = (steps * scale).astype(np.float32)
    up, down = np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))
    tiny = np.array([0.0, -0.0, 1e-45, -1e-45, 1e-30, -1e-30], np.float32)
    spread = (rng.standard_normal(count) * 2.0 ** rng.integers(-40, 40, count)).astype(np.float32)
    return np.concatenate([near, up, down, tiny, spread])


RULES_AND_MORE = [*RULES.values(), get_rule("exact,order=outside")]


@pytest.mark.full(keep=6)
@pytest.mark.parametrize("rule", RULES_AND_MORE, ids=lambda r: r.name)
@pytest.mark.parametrize("name", FORMATS)
def test_oracle_and_arrays_are_the_definition(name: str, rule: Rule) -> None:
    rng = np.random.default_rng(len(name))
    low, high = limits(name)
    for trial in range(volume.cases(3, 6)):
        scale = np.float32(rng.uniform(0.5, 1) * 2.0 ** rng.integers(-20, 4)) if trial else np.float32(0.25)
        z = int(rng.integers(low, high + 1)) if trial > 1 else low | 1
        x = samples(float(scale), z, rng)
        for rounding in ("rne", "rtz", "rup", "rdn", "rna") if trial < volume.cases(1, 2) else ("rne",):
            got = affine.encode(x, name, profile=rule, policy=Policy(rounding), scale=scale, zero_point=z)
            parameters = Parameters(int(scale.view(np.uint32)), z)
            for v, q in zip(x.tolist(), got.integers.tolist(), strict=True):
                expected = defined(Fraction(v), Fraction(float(scale)), z, name, rule, rounding)
                assert quantize_value(to_value(v, 0), parameters, name, rule, Policy(rounding)) == expected == q


def test_orders_differ_on_ties_where_the_zero_point_is_odd() -> None:
    x = np.array([2.5, -2.5, 0.5], np.float32)
    got = [affine.encode(x, "quint8", profile=f"exact,order={o}", scale=1.0, zero_point=5).integers.tolist()
           for o in ("inside", "outside")]  # fmt: skip
    assert got == [[8, 2, 6], [7, 3, 5]]
    even = [affine.encode(x, "quint8", profile=f"exact,order={o}", scale=1.0, zero_point=4).integers.tolist()
            for o in ("inside", "outside")]  # fmt: skip
    assert even == [[6, 2, 4]] * 2


@pytest.mark.parametrize("rule", ["torch", "torch-channel", "torch-fake"])
def test_only_inputs_are_flushed(rule: str) -> None:
    """Not a quotient that is subnormal in FP32, the arithmetic of its steps."""
    policy = Policy("rup", flush_inputs=True)
    scale, x = np.float32(2.0**20), np.array([2.0**-120, 2.0**-130, -(2.0**-120)], np.float32)
    got = affine.encode(x, "qint8", profile=rule, policy=policy, scale=scale, zero_point=0)
    assert got.integers.tolist() == [1, 0, 0]
    parameters = Parameters(int(scale.view(np.uint32)), 0)
    assert quantize_value(to_value(float(x[0]), 0), parameters, "qint8", rule, policy) == 1


@pytest.mark.parametrize("rule", ["exact", "exact,order=outside"])
def test_rationals_and_short_values(rule: str) -> None:
    """Values that are cut, a hair from ties; and values of few bits, whose quotients need more."""
    scale = np.float32(0.1)
    for z, name, hair in itertools.product((0, 5, -6), ("qint8", "qint16"), (3**300, -(3**300), 3)):
        p = Parameters(int(scale.view(np.uint32)), z)
        for steps in (Fraction(5, 2), Fraction(-7, 2), Fraction(41, 2), Fraction(99), Fraction(20001, 2)):
            x = steps * Fraction(float(scale)) + Fraction(1, hair)
            expected = defined(x, Fraction(float(scale)), z, name, get_rule(rule))
            assert quantize_value(to_value(x, 256), p, name, rule) == expected
        for short in range(1, 400, 7):
            expected = defined(Fraction(short), Fraction(float(scale)), z, name, get_rule(rule))
            assert quantize_value(to_value(Fraction(short), 1), p, name, rule) == expected


@pytest.mark.parametrize(
    ("sign", "z", "scale", "x"),
    [
        (1, 40000, "0x1.0023f40000000p+23", "0x1.0124180000000p+22"),
        (-1, -30000, "0x1.0040040000000p+23", "0x1.00c0240000000p+22"),
    ],
)
def test_a_fused_multiply_add_rounds_once(sign: int, z: int, scale: str, x: str) -> None:
    """x / scale + z lies just beyond an FP32 tie, by less than float64 shows; the tie itself would go the other way."""
    name = "quint16" if z > 0 else "qint16"
    number, step = sign * float.fromhex(x), np.float32(float.fromhex(scale))
    got = affine.encode(np.float32([number]), name, profile="torch", scale=step, zero_point=z).integers.tolist()
    assert got == [z + sign] == [defined(Fraction(number), Fraction(float(step)), z, name, RULES["torch"])]


def test_float64_and_other_sources() -> None:
    """A value a hair beside a tie, that FP32 would put on it."""
    hair = 2.5 + 2.0**-40
    assert affine.encode(np.array([hair, 2.5, -hair]), "qint8", scale=1.0, zero_point=0).integers.tolist() == [
        3,
        2,
        -3,
    ]
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)]
    for z in (0, -7):
        got = affine.encode(halves, "qint8", scale=0.0625, zero_point=z).integers
        assert got.tolist() == [
            defined(Fraction(v), Fraction(1, 16), z, "qint8", RULES["exact"]) for v in halves.tolist()
        ]
    big = np.array([1e300, -1e300, 5e-324, -5e-324])
    assert affine.encode(big, "qint16", scale=2.0**-100, zero_point=3).integers.tolist() == [32767, -32768, 3, 3]
    assert affine.encode(np.arange(-5, 5), "qint4", scale=1.0, zero_point=0).integers.tolist() == list(range(-5, 5))


def test_stochastic() -> None:
    rng = np.random.default_rng(3)
    x = samples(0.01, 3, rng)
    policy = Policy("sr", sr_bits=7)
    got = affine.encode(x, "qint8", policy=policy, random_bits=Philox(4), scale=np.float32(0.01), zero_point=3)
    words = Philox(4).bits(7, 0, x.size)
    scale = Fraction(float(np.float32(0.01)))
    for v, r, q in zip(x.tolist(), words, got.integers.tolist(), strict=True):
        number = Fraction(v) / scale + 3
        # away from zero where the first 7 bits of the fraction and r carry
        size, part = divmod(abs(number), 1)
        size += floor(part * 128) + r >= 128
        assert q == min(max(int(size) * (1 if number > 0 else -1), -128), 127)


@pytest.mark.parametrize("name", FORMATS)
def test_parameters_are_the_definition(name: str) -> None:
    rng = np.random.default_rng(9)
    fmt, (low, high) = get_affine_format(name), limits(name)
    for trial in range(200):
        a, b = sorted((rng.standard_normal(2) * 2.0 ** rng.integers(-30, 30, 2)).astype(np.float32).tolist())
        if trial % 4 == 0:
            a, b = min(a, 0.0), 0.0
        chosen = choose(to_value(a, 0), to_value(b, 0), fmt)
        bottom, top = min(Fraction(a), Fraction(0)), max(Fraction(b), Fraction(0))
        if "sym" in name:
            scale = fp32(2 * max(-bottom, top) / (high - low))
            z = 0 if name.startswith("qi") else 2 ** (fmt.bits - 1)
        else:
            scale = fp32((top - bottom) / (high - low))
            z = min(max(low - round(bottom / scale), low), high) if scale else low
        if scale == 0:
            continue
        assert (decode(chosen.scale, "fp32").as_fraction(), chosen.zero_point) == (scale, z)
        # what the range is for: its ends are hardly clamped, zero is exact
        assert dequantize_value(z, chosen) == 0
    other = choose(to_value(-1.0, 0), to_value(2.0, 0), "qint8_sym", "exact,symmetric_scale=highest")
    assert decode(other.scale, "fp32").as_fraction() == fp32(Fraction(2, 127))


def test_small_ranges() -> None:
    zeros = np.zeros((2, 3), np.float32)
    assert affine.encode(zeros, "quint8").scales == 1
    assert affine.encode(zeros, "quint8", profile="torch").scales == 2.0**-23
    least = choose(to_value(-300 * 2.0**-149, 0), to_value(0.0, 0), "quint8")  # 300 steps: the scale has no smaller one
    assert least == Parameters(1, 255)
    smallest = affine.encode(np.array([1e-45], np.float32), "quint8")
    assert smallest.scales.view(np.uint32) == 1
    assert affine.encode(np.zeros((0, 3), np.float32), "qint8", axis=1).scales.tolist() == [1, 1, 1]
    assert affine.encode(np.zeros((0, 3), np.float32), "qint8").integers.shape == (0, 3)
    assert affine.encode(np.float32(3.0), "quint8").decode() == np.float32(3.0)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
@pytest.mark.parametrize("name", ["qint8", "quint4", "qint8_sym"])
def test_channels(name: str, axis: int | None) -> None:
    rng = np.random.default_rng(2)
    x = (rng.standard_normal((3, 4, 5)) * 2.0 ** rng.integers(-6, 6, (3, 4, 5))).astype(np.float32)
    got = affine.encode(x, name, axis=axis)
    back = got.decode()
    slices = [(...,)] if axis is None else [
        tuple(c if i == axis % 3 else slice(None) for i in range(3)) for c in range(x.shape[axis])
    ]  # fmt: skip
    for c, part in enumerate(slices):
        values = x[part].reshape(-1).tolist()
        p = choose(to_value(min(values), 0), to_value(max(values), 0), name)
        at = () if axis is None else c
        assert (int(got.scales[at].view(np.uint32)), int(got.zero_points[at])) == p
        q = [quantize_value(to_value(v, 0), p, name) for v in values]
        assert got.integers[part].reshape(-1).tolist() == q
        assert back[part].reshape(-1).view(np.uint32).tolist() == [dequantize_value(i, p) for i in q]
    again = affine.encode(x, name, axis=axis, scale=got.scales, zero_point=got.zero_points)
    assert (again.integers == got.integers).all()
    bits = get_affine_format(name).bits
    assert (got.codes == got.integers % (1 << bits)).all()


def test_dequantize_is_rounded_once() -> None:
    rng = np.random.default_rng(8)
    for _ in range(300):
        scale = np.float32(rng.uniform(1, 2) * 2.0 ** rng.integers(-149, 100))
        z, q = (int(v) for v in rng.integers(-32768, 32768, 2))
        p = Parameters(int(scale.view(np.uint32)), z)
        expected = encode(Fraction(float(scale)) * (q - z), "fp32")[0]
        assert dequantize_value(q, p) & 0x7FFFFFFF == expected & 0x7FFFFFFF
        array = affine.AffineArray(
            np.array([q], np.int32), np.array(scale), np.array(z, np.int32), get_affine_format("qint16")
        )
        assert array.decode().view(np.uint32)[0] == expected


def test_special_values() -> None:
    x = np.array([nan, inf, -inf, 1.0, -1.0], np.float32)
    expected = {"largest": 127, "smallest": -128, "zero": 0, "zero-point": 7}
    for choice, q in expected.items():
        rule = get_rule(f"exact,nan={choice}")
        got = affine.encode(x, "qint8", profile=rule, scale=1.0, zero_point=7).integers.tolist()
        assert got == [q, 127, -128, 8, 6]
        p = Parameters(0x3F800000, 7)
        assert [quantize_value(to_value(v, 0), p, "qint8", rule) for v in x.tolist()] == got
    assert affine.encode(x, "qint8").scales == np.float32(2 / 255)  # the finite ones have the say
    for field, message in (("nan", "a NaN"), ("inf", "an Inf"), ("range", "a NaN or Inf")):
        with pytest.raises(Error, match=message):
            affine.encode(x, "qint8", profile=f"exact,{field}=error")
    for value, field in ((nan, "nan"), (inf, "inf")):
        with pytest.raises(Error, match="refuses"):
            quantize_value(to_value(value, 0), Parameters(0x3F800000, 0), "qint8", f"exact,{field}=error")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: affine.encode([1.0], "qint1"), "2 to 16 bits, not 1"),
        (lambda: affine.encode([1.0], "qint17"), "2 to 16 bits, not 17"),
        (lambda: affine.encode([1.0], "qintx"), "unknown affine format 'qintx'; use qintN"),
        (lambda: affine.encode([1.0], None), "unknown affine format"),
        (lambda: affine.encode([1.0], "qint8", profile="pytorch"), "did you mean torch"),
        (lambda: affine.encode([1.0], "qint8", profile="torch,ordr=inside"), "did you mean order"),
        (lambda: affine.encode([1.0], "qint8", profile="exact,nan=0"), "unknown nan of affine rule"),
        (lambda: affine.encode([1.0], "qint8", profile="torch,order=outside"), "its order is inside"),
        (lambda: affine.encode([1.0], "qint8", profile="torch"), "FP32 or narrower, not fp64"),
        (lambda: affine.encode([1.0], "qint8", axis=1), "axis 1 is out of range"),
        (lambda: affine.encode(1.0, "qint8", axis=0), "0-dimensional"),
        (lambda: affine.encode([1.0], "qint8", scale=1.0), "give both scale and zero_point"),
        (lambda: affine.encode([1.0], "qint8", zero_point=1), "give both scale and zero_point"),
        (lambda: affine.encode([1.0], "qint8", scale=-1.0, zero_point=0), "positive finite"),
        (lambda: affine.encode([1.0], "qint8", scale=0.0, zero_point=0), "positive finite"),
        (lambda: affine.encode([1.0], "qint8", scale=nan, zero_point=0), "positive finite"),
        (lambda: affine.encode([1.0], "qint8", scale=inf, zero_point=0), "positive finite"),
        (lambda: affine.encode([1.0], "qint8", scale=1.0, zero_point=128), "integers from -128 to 127"),
        (lambda: affine.encode([1.0], "qint8", scale=1.0, zero_point=0.5), "integers from -128 to 127"),
        (lambda: affine.encode([1.0], "qint8", axis=0, scale=[1.0, 1.0], zero_point=0), "have shape () or (1,)"),
        (lambda: affine.encode(np.float32([1]), "qint8", profile="torch", scale=1e-40, zero_point=0), "beyond FP32"),
        (
            lambda: affine.encode(np.float32([1]), "qint8", profile="torch", scale=2.0**-140, zero_point=0),
            "beyond FP32",
        ),
        (lambda: affine.encode(np.float32([3e38, -3e38]), "qint8", profile="torch"), "range overflows FP32"),
        (lambda: affine.encode([1e300], "qint8", profile="exact,parameters=fp32"), "range overflows FP32"),
        (lambda: affine.encode(["a"], "qint8"), "array of"),
        (lambda: quantize_value(to_value(0.1, 0), Parameters(0x3F800000, 0), "qint8", "torch"), "take FP32 values"),
        (lambda: quantize_value(to_value(1, 0), Parameters(0, 0), "qint8"), "positive finite FP32 number"),
        (lambda: sf.quantize([1.0], "qint0"), "2 to 16 bits"),
    ],
)
def test_refused(call: object, message: str) -> None:
    with pytest.raises(Error) as e:
        call()  # type: ignore[operator]
    assert message in str(e.value)
    assert "\n" not in str(e.value)


def test_every_choice_of_every_field_is_taken() -> None:
    x = np.float32([1.5, -2.25, 0.0])
    for field, choices in CHOICES.items():
        for choice in choices:
            stochastic = choice.startswith("sr")
            policy = Policy(choice, sr_bits=4) if stochastic else None
            rule = get_rule("exact" if stochastic else f"exact,{field}={choice}")
            assert affine.encode(x, "qint8", profile=rule, policy=policy, random_bits=Philox(1) if stochastic else None)


def test_rules_are_defined_in_toml(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text('[affine_rules.mine]\nlike = "torch"\nnan = "zero"\n[affine_rules.plain]\norder = "outside"\n')
    assert get_rule(f"{path}:mine") == get_rule("torch").replace(name="mine", nan="zero")
    assert get_rule(f"{path}:plain,nan=smallest") == get_rule("exact,order=outside,nan=smallest").replace(
        name="plain,nan=smallest"
    )
    for rule in RULES.values():
        assert define_rule(rule.to_dict()) == rule
    path.write_text('[affine_rules.mine]\nodrer = "outside"\n')
    with pytest.raises(sf.Error, match=r"r\.toml: unknown field 'odrer'; did you mean order"):
        get_rule(str(path))
    with pytest.raises(sf.Error, match="given in full"), in_full():
        define_rule({"like": "torch"}, "mine")


def test_the_top_level() -> None:
    x = np.linspace(-1, 2, 12, dtype=np.float32).reshape(3, 4)
    assert (sf.quantize(x, "quint8") == affine.encode(x, "quint8").decode()).all()
    assert (sf.quantize(x, "qint4_sym", axis=0) == affine.encode(x, "qint4_sym", axis=0).decode()).all()
    torch_like = affine.encode(x, "qint8", profile="torch").decode()
    assert (sf.quantize(x, "qint8", profile="torch") == torch_like).all()
    assert (sf.quantize(x, AffineFormat("mine", 3)) == affine.encode(x, "qint3").decode()).all()
    assert (sf.quantize(x, "mxfp8") == sf.blocks.encode(x, "mxfp8").decode()).all()
    assert (sf.quantize(x, "fp8_e4m3") == sf.arrays.quantize(x, "fp8_e4m3")).all()


# -- torch -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def torch() -> object:
    module = pytest.importorskip("torch")
    if module.backends.quantized.engine not in ("x86", "fbgemm"):
        pytest.skip("needs an x86-64 processor; the rules are those of torch there")
    return module


def torch_cases(signed: bool, seed: int, count: int):
    rng = np.random.default_rng(seed)
    for i in range(count):
        scale = np.float32(rng.uniform(0.5, 1) * 2.0 ** rng.integers(-12, 6))
        z = int(rng.integers(0, 256)) - 128 * signed
        x = samples(float(scale), z, rng, 200)
        yield scale, z, np.concatenate([x, np.float32([nan, inf, -inf, 3e38, -3e38])])[: None if i % 3 else 7 + i]


@pytest.mark.extra
@pytest.mark.parametrize("signed", [False, True])
def test_torch_quantize(torch: object, signed: bool) -> None:
    """quantize_per_tensor, quantize_per_channel and fake_quantize, bit for bit; and dequantize."""
    t: object = torch
    dtype, name = (t.qint8, "qint8") if signed else (t.quint8, "quint8")  # type: ignore[attr-defined]
    low, high = limits(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for scale, z, x in torch_cases(signed, 1, 120):
            parameters = {"scale": scale, "zero_point": z}
            tensor = t.from_numpy(x)  # type: ignore[attr-defined]
            q = t.quantize_per_tensor(tensor, float(scale), z, dtype)  # type: ignore[attr-defined]
            ours = affine.encode(x, name, profile="torch", **parameters)
            assert (q.int_repr().numpy() == ours.integers).all()
            assert (q.dequantize().numpy().view(np.uint32) == ours.decode().view(np.uint32)).all()
            scales, zeros = t.full((2,), float(scale), dtype=t.float64), t.full((2,), z)  # type: ignore[attr-defined]
            two = t.stack([tensor, -tensor])  # type: ignore[attr-defined]
            for axis, array in ((0, two), (1, two.T.contiguous())):
                q = t.quantize_per_channel(array, scales, zeros, axis, dtype)  # type: ignore[attr-defined]
                ours = affine.encode(
                    array.numpy(),
                    name,
                    axis=axis,
                    profile="torch-channel",
                    scale=np.full(2, scale),
                    zero_point=np.full(2, z),
                )
                assert (q.int_repr().numpy() == ours.integers).all()
            fake = t.fake_quantize_per_tensor_affine(tensor, float(scale), z, low, high)  # type: ignore[attr-defined]
            assert np.array_equal(fake.numpy(), affine.encode(x, name, profile="torch-fake", **parameters).decode())


@pytest.mark.extra
def test_torch_observers(torch: object) -> None:
    observer = pytest.importorskip("torch.ao.quantization.observer")
    t: object = torch
    rng = np.random.default_rng(4)
    kinds = itertools.product((False, True), (False, True))
    for signed, symmetric in kinds:
        name = ("qint8" if signed else "quint8") + ("_sym" if symmetric else "")
        dtype = t.qint8 if signed else t.quint8  # type: ignore[attr-defined]
        scheme = t.per_tensor_symmetric if symmetric else t.per_tensor_affine  # type: ignore[attr-defined]
        for _ in range(300):
            x = (rng.standard_normal(3) * 2.0 ** rng.integers(-30, 20)).astype(np.float32)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                seen = observer.MinMaxObserver(dtype=dtype, qscheme=scheme)
                seen(t.from_numpy(x))  # type: ignore[attr-defined]
                scale, zero = seen.calculate_qparams()
            ours = affine.encode(x, name, profile="torch")
            assert (float(scale), int(zero)) == (float(ours.scales), int(ours.zero_points))


@pytest.mark.extra
def test_torchao(torch: object) -> None:
    primitives = pytest.importorskip("torchao.quantization.quant_primitives")
    t: object = torch
    for scale, z, x in torch_cases(True, 7, 40):
        x = x[np.isfinite(x)]
        tensor = t.from_numpy(x)  # type: ignore[attr-defined]
        theirs = primitives.quantize_affine(tensor, (x.size,), t.tensor(scale), t.tensor(z), t.int8, -128, 127)  # type: ignore[attr-defined]
        ours = affine.encode(x, "qint8", profile="torch-fake", scale=scale, zero_point=z)
        assert (theirs.numpy() == ours.integers).all()


# -- the page --------------------------------------------------------------------------------------------------------


def test_the_tables_are_the_registries() -> None:
    text = (Path(__file__).parents[2] / "docs" / "affine.md").read_text()
    rows = {
        cells[0].strip(" `"): [c.strip().strip("`") for c in cells[1:]]
        for cells in (line.strip("|").split("|") for line in text.splitlines() if line.startswith("|"))
    }
    names = rows["field"]
    assert names == list(RULES)
    for field in CHOICES:
        assert rows[field] == [getattr(rule, field) for rule in RULES.values()]


@pytest.mark.parametrize(
    ("x", "scale", "exact", "theirs"),
    [
        (0xC281494E, 0x3F951643, -52, -53),
        (0xBFA0AC97, 0x3E69B539, -2, -3),
        (0xC15F560E, 0x3F8458EC, -10, -11),
    ],
)
def test_a_quotient_that_fp32_makes_a_tie(x: int, scale: int, exact: int, theirs: int) -> None:
    """Zero point 3; the integers of onnxruntime 1.32.0's QuantizeLinear, and those of the exact quotient."""
    value, step = (np.array([code], np.uint32).view(np.float32) for code in (x, scale))
    for rule, q in (("exact,order=outside", exact), ("onnxruntime", theirs)):
        array = affine.encode(value, "qint8", profile=rule, scale=float(step[0]), zero_point=3)
        assert array.codes.view(np.int8).tolist() == [q]
        assert quantize_value(to_value(float(value[0]), 0), Parameters(scale, 3), "qint8", rule) == q


def test_onnxruntime_specials() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 2.5, 3.5, -2.5], np.float32)
    q = affine.encode(x, "qint8", profile="onnxruntime", scale=1.0, zero_point=5)
    assert q.codes.view(np.int8).tolist() == [-128, 127, -128, 7, 9, 3]
