"""The conformance suites: the library passes its own, and each planted error breaks the property made for it."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from command import run
from hypothesis import Phase, settings

import softfloat_ref as sf
from softfloat_ref import testing
from softfloat_ref.oracle.blocks.quantize import quantize_block
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import evaluate
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.testing.conformance.suite import ConformanceSuite

FP16 = get_format("fp16")
EIGHT = ("rne", "rna", "rtz", "rup", "rdn", "rto", "rnu", "rhz")


@pytest.fixture(autouse=True)
def quick() -> Iterator[None]:
    """The same cases every time, and no search for simpler ones."""
    before = settings.default
    assert before is not None
    settings.register_profile("quick", deadline=None, derandomize=True, database=None, phases=[Phase.generate])
    settings.load_profile("quick")
    yield
    settings.register_profile("before", before)
    settings.load_profile("before")


def oracle(suite: Any, *operands: int, rounding: str | None = None, **changed: Any) -> tuple[int, int]:
    """The library's own answer, under the suite's policy but for what is changed."""
    policy = get_policy(suite.policy, **({"rounding": rounding} if rounding else {}))
    words = {"random_bits": operands[-1]} if policy.random_count else {}
    codes = operands[:-1] if words else operands
    encoded = sf.evaluate(suite.op, codes, suite.fmt, suite.out, policy.replace(**changed), **words)
    return encoded.bits, int(encoded.flags)


def suite(base: type[ConformanceSuite[Any]], model: Callable[..., Any], **attributes: Any) -> ConformanceSuite[Any]:
    planted: ConformanceSuite[Any] = type("Planted", (base,), {"model": model, "max_examples": 400, **attributes})()
    return planted


def dot(self: Any, a: list[int], b: list[int], c: int) -> tuple[int, int]:
    result = sf.dot(a, b, self.fmt, c, self.acc, self.out)
    return result.bits, int(result.flags)


def integer_dot(self: Any, a: list[int], b: list[int], c: int) -> tuple[int, ...]:
    return tuple(sf.unit("integer_dot", self.fmt, self.out, acc=self.acc, k=self.k).answer((*a, *b, c)))


def _reads_unsigned(self: Any, a: list[int], b: list[int], c: int) -> int:
    return sf.unit("integer_dot", "a=u8,b=i8,c=i32").answer((*a, *b, c))[0]


def _saturates_each(self: Any, a: list[int], b: list[int], c: int) -> tuple[int, ...]:
    return tuple(sf.unit("integer_dot", "i8", acc="saturate/1").answer((*a, *b, c)))


def block(self: Any, values: list[int]) -> tuple[int, tuple[int, ...]]:
    quantized = quantize_block([decoder(get_format(self.source))(x) for x in values], self.fmt, self.profile)
    return quantized.scale, quantized.codes


# -- what is right passes ----------------------------------------------------------------------------------------------

RIGHT = [
    (testing.AddConformance, {"fmt": "fp16", "roundings": EIGHT}),
    (testing.SubConformance, {"fmt": "fp8_e4m3fnuz", "policy": Policy("sr", sr_bits=3)}),
    (testing.MulConformance, {"fmt": "fp8_e4m3", "policy": "arm", "roundings": EIGHT}),
    (testing.MulConformance, {"fmt": "fp128", "policy": "x86-sse"}),
    (testing.MulConformance, {"fmt": "extf80", "policy": "x87", "roundings": EIGHT}),
    (testing.AddConformance, {"fmt": "extf80", "policy": "softfloat-8086"}),
    (testing.DivConformance, {"fmt": "extf80", "policy": Policy(rounding_precision=64), "roundings": EIGHT}),
    (testing.ConvertConformance, {"fmt": "extf80", "out": "fp64", "policy": "x87", "roundings": EIGHT}),
    (testing.CompareConformance, {"fmt": "extf80", "op": "le", "policy": "softfloat-8086"}),
    (testing.MinMaxConformance, {"fmt": "extf80", "op": "maximum_number"}),
    (testing.DivConformance, {"fmt": "binary8p3se", "roundings": EIGHT}),
    (testing.SqrtConformance, {"fmt": "bf16", "policy": Policy("sr-c", sr_bits=4)}),
    (testing.FmaConformance, {"fmt": ("fp8_e5m2", "fp8_e4m3", "fp16"), "out": "fp16", "policy": "ptx"}),
    (testing.FmaConformance, {"fmt": "bf16", "policy": "tpu-bf16", "roundings": EIGHT}),
    (testing.FmaConformance, {"fmt": "fp16", "op": "fnmadd", "roundings": EIGHT}),
    (testing.FmaConformance, {"fmt": "fp8_e5m2", "out": "fp16", "op": "fmsub"}),
    (testing.FmaConformance, {"fmt": "bf16", "op": "power_fnmadd", "roundings": ("rne", "rup", "rdn", "rtz")}),
    (testing.ConvertConformance, {"fmt": "fp32", "out": "e8m0", "roundings": EIGHT}),
    (testing.ConvertConformance, {"fmt": "fp16", "out": "i8", "policy": "x86-sse", "roundings": EIGHT}),
    (testing.ConvertConformance, {"fmt": "fp4_e2m1", "out": "fp8_e5m2", "policy": Policy("sr-b", sr_bits=5)}),
    (testing.QuantizeConformance, {"fmt": "fp32", "out": "fp6_e2m3", "policy": "riscv", "roundings": EIGHT}),
    (testing.CompareConformance, {"fmt": "fp16", "op": "le"}),
    (testing.CompareConformance, {"fmt": "bf16", "op": "eq"}),
    (testing.MinMaxConformance, {"fmt": "fp8_e5m2", "op": "maximum_number"}),
    (testing.FunctionConformance, {"fmt": "bf16", "roundings": EIGHT}),
    (testing.FunctionConformance, {"fmt": "fp8_e5m2", "out": "bf16", "op": "cosh", "policy": Policy("sr", sr_bits=3)}),
    (testing.FunctionConformance, {"fmt": "binary8p4se", "op": "hypot"}),
    (testing.FunctionConformance, {"fmt": "fp16", "out": "fp8_e4m3", "op": "sinpi"}),
    (testing.OperationConformance, {"fmt": "bf16", "op": "scaleb"}),
    (testing.OperationConformance, {"fmt": "fp8_e4m3", "op": "neg"}),
    (testing.BlockQuantizeConformance, {"fmt": "mxfp4", "profile": "torchao-even"}),
    (testing.BlockQuantizeConformance, {"fmt": "nvfp4"}),
    (testing.DotConformance, {"fmt": "fp8_e4m3", "acc": "nvidia-h100-fp8-wgmma", "k": 32}),
    (testing.DotConformance, {"fmt": "fp16", "acc": "exact", "k": 4}),
    (testing.IntegerDotConformance, {"fmt": "i8"}),
    (testing.IntegerDotConformance, {"fmt": "i4", "out": "i9", "acc": "saturate"}),
]


def _model(base: type[ConformanceSuite[Any]]) -> Callable[..., Any]:
    return {
        testing.IntegerDotConformance: integer_dot,
        testing.DotConformance: dot,
        testing.BlockQuantizeConformance: block,
    }.get(base, oracle)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(("base", "attributes"), RIGHT, ids=[f"{b.__name__}-{i}" for i, (b, _) in enumerate(RIGHT)])
def test_the_library_passes(base: type[ConformanceSuite[Any]], attributes: dict[str, Any]) -> None:
    conforming = suite(base, _model(base), **{"max_examples": 6, **attributes})
    reasons = type(conforming).applicable()
    assert sum(1 for reason in reasons.values() if not reason) >= min(6, len(reasons))
    for name, reason in reasons.items():
        if reason:
            with pytest.raises(unittest.SkipTest, match=name):
                conforming.check(name)
        else:
            conforming.check(name)


# -- what is wrong fails -----------------------------------------------------------------------------------------------


class Planted(NamedTuple):
    """A wrong model; the properties that must catch it, and some that it does not break."""

    base: type[ConformanceSuite[Any]]
    attributes: dict[str, Any]
    model: Callable[..., Any]
    caught: tuple[str, ...]
    unbroken: tuple[str, ...] = ()


def _truncates(self: Any, *x: int) -> Any:
    return oracle(self, *x, rounding="rtz")


def _no_sticky(self: Any, a: int) -> Any:
    """Of an FP32 operand the guard bit is the last that counts."""
    return oracle(self, a & ~0xFFF)


def _ties_up(self: Any, *x: int) -> Any:
    return oracle(self, *x, rounding="rnu")


def _ties_away(self: Any, *x: int) -> Any:
    return oracle(self, *x, rounding="rna")


def _flushes(self: Any, *x: int) -> Any:
    return oracle(self, *x, flush_outputs=True)


def _own_nan(self: Any, *x: int) -> Any:
    bits, flags = oracle(self, *x)
    return (0x7E01 if FP16.is_nan(bits) else bits), flags


def _unfused(self: Any, a: int, b: int, c: int) -> Any:
    product = sf.evaluate("mul", (a, b), "fp16")
    total = sf.evaluate("add", (product.bits, c), "fp16")
    return total.bits, int(product.flags | total.flags)


def _minus_zero(self: Any, *x: int) -> Any:
    bits, flags = oracle(self, *x)
    return (bits or 0x8000), flags


def _biased(self: Any, a: int, r: int) -> Any:
    return oracle(self, a, min(r + 1, 15))


def _same_word(self: Any, a: int, r: int) -> Any:
    return oracle(self, a, 8)


def _saturates(self: Any, *x: int) -> Any:
    return oracle(self, *x, overflow="sat-finite")


def _never_inexact(self: Any, *x: int) -> Any:
    bits, flags = oracle(self, *x)
    return bits, flags & ~1


def _always_underflow(self: Any, *x: int) -> Any:
    bits, flags = oracle(self, *x)
    return bits, flags | 2 if flags else flags


def _flushes_second(self: Any, a: int, b: int) -> Any:
    return oracle(self, a, b & 0x8000 if not b & 0x7C00 else b)


def _swapped_directions(self: Any, *x: int, rounding: str = "rne") -> Any:
    return oracle(self, *x, rounding={"rup": "rdn", "rdn": "rup"}.get(rounding, rounding))


def _drops_carry(self: Any, *x: int) -> Any:
    bits, flags = oracle(self, *x)
    cut, _ = oracle(self, *x, rounding="rtz")
    return (cut & ~0x3FF if (bits ^ cut) & 0x400 and not bits & 0x3FF else bits), flags


def _off_by_one(self: Any, *x: int) -> Any:
    bits, flags = oracle(self, *x)
    return (bits + 1 if flags & 1 and bits & 3 == 3 else bits), flags


def _twice(self: Any, a: int) -> Any:
    """From FP64 by way of FP32."""
    first = sf.evaluate("convert", (a,), "fp64", "fp32")
    second = sf.evaluate("convert", (first.bits,), "fp32", "fp16")
    return second.bits, int(first.flags | second.flags)


def _as_integers(self: Any, a: int, b: int) -> Any:
    right, flags = oracle(self, a, b)
    return (int(a < b) if a & b & 0x8000 and not flags else right), flags


def _first_of_zeros(self: Any, a: int, b: int) -> Any:
    return (a, 0) if not (a | b) & 0x7FFF else oracle(self, a, b)


def _half_the_block(self: Any, values: list[int]) -> Any:
    """The scale of the first half, applied to all."""
    half = block(self, [*values[:16], *[0] * 16])
    return half[0], block(self, values)[1]


def _rounds_down(self: Any, values: list[int]) -> Any:
    numbers = [decoder(get_format("fp32"))(x) for x in values]
    quantized = quantize_block(numbers, self.fmt, None, "ieee" if self.policy is None else Policy("rdn"))
    return quantized.scale, quantized.codes


def _ceil_at_one(self: Any, values: list[int]) -> Any:
    """Another scale rule where the scale would be 1."""
    scale, codes = block(self, values)
    if scale != 127:
        return scale, codes
    quantized = quantize_block([decoder(get_format("fp32"))(x) for x in values], self.fmt, "torchao-ceil")
    return quantized.scale, quantized.codes


def _chain(self: Any, a: list[int], b: list[int], c: int) -> Any:
    return dot(type("Chain", (), {"fmt": self.fmt, "acc": "fma-chain", "out": self.out}), a, b, c)


def _forgets_last(self: Any, a: list[int], b: list[int], c: int) -> Any:
    return dot(self, [*a[:-1], 0], b, c)


def _function(self: Any, a: int) -> tuple[int, int]:
    return tuple(evaluate(self.op, (a,), self.fmt))  # type: ignore[return-value]


def _not_odd(self: Any, a: int) -> tuple[int, int]:
    """Ordinary negative operands give one ulp more."""
    code, flags = _function(self, a)
    return code + (a >> 15 and 0x3000 < a & 0x7FFF < 0x4400), flags


def _past_one(self: Any, a: int) -> tuple[int, int]:
    code, flags = _function(self, a)
    return code + (code & 0x7FFF == 0x3C00), flags


def _negative_zero(self: Any, a: int) -> tuple[int, int]:
    """Zero for the exponential of a large negative number, with its sign."""
    code, flags = _function(self, a)
    return code or a & 0x8000, flags


ADD, MUL, FMA, CONVERT = (
    testing.AddConformance,
    testing.MulConformance,
    testing.FmaConformance,
    testing.ConvertConformance,
)
FROM_FP32 = {"fmt": "fp32", "out": "fp16"}
STOCHASTIC = {**FROM_FP32, "policy": Policy("sr", sr_bits=4)}
PLANTED = {
    "truncation": Planted(
        ADD, {"fmt": "fp16"}, _truncates, ("oracle", "half_ulp"), ("one_ulp", "monotonic", "sterbenz")
    ),
    "no sticky": Planted(CONVERT, FROM_FP32, _no_sticky, ("oracle", "half_ulp"), ("one_ulp", "idempotent")),
    "ties up": Planted(ADD, {"fmt": "fp16"}, _ties_up, ("oracle", "sign_symmetry"), ("half_ulp",)),
    "ties away": Planted(CONVERT, FROM_FP32, _ties_away, ("oracle",), ("half_ulp", "sign_symmetry")),
    "flush to zero": Planted(
        ADD, {"fmt": "fp16"}, _flushes, ("sterbenz", "exact_where_representable"), ("commutative",)
    ),
    "another NaN": Planted(MUL, {"fmt": "fp16"}, _own_nan, ("nan", "special_values"), ("half_ulp", "flags")),
    "two roundings in an FMA": Planted(FMA, {"fmt": "fp16"}, _unfused, ("fused", "oracle"), ("commutative",)),
    "x - x = -0": Planted(ADD, {"fmt": "fp16"}, _minus_zero, ("oracle", "special_values"), ("half_ulp",)),
    "sr with a bias": Planted(CONVERT, STOCHASTIC, _biased, ("unbiased",), ("one_ulp", "idempotent")),
    "sr without its word": Planted(CONVERT, STOCHASTIC, _same_word, ("unbiased",), ("one_ulp", "monotonic")),
    "saturation": Planted(MUL, {"fmt": "fp16"}, _saturates, ("special_values",), ("half_ulp", "monotonic")),
    "inexact forgotten": Planted(MUL, {"fmt": "fp16"}, _never_inexact, ("flags",), ("half_ulp", "nan")),
    "underflow too often": Planted(ADD, {"fmt": "fp16"}, _always_underflow, ("flags",), ("half_ulp",)),
    "one operand flushed": Planted(MUL, {"fmt": "fp16"}, _flushes_second, ("commutative",)),
    "up is down": Planted(
        CONVERT, {**FROM_FP32, "roundings": ("rup", "rdn", "rne")}, _swapped_directions, ("side", "order_of_roundings")
    ),
    "carry dropped": Planted(CONVERT, FROM_FP32, _drops_carry, ("one_ulp", "monotonic"), ("idempotent",)),
    "elements of a unsigned": Planted(
        testing.IntegerDotConformance,
        {"fmt": "i8"},
        _reads_unsigned,
        ("oracle", "sum_of_products", "commutative"),
        ("permutation", "nothing_added"),
    ),
    "saturated after each product": Planted(
        testing.IntegerDotConformance,
        {"fmt": "i8", "acc": "saturate"},
        _saturates_each,
        ("oracle", "sum_of_products", "permutation"),
        ("nothing_added", "commutative"),
    ),
    "off by one": Planted(MUL, {"fmt": "fp16"}, _off_by_one, ("half_ulp", "oracle")),
    "rounded twice": Planted(CONVERT, {"fmt": "fp64", "out": "fp16"}, _twice, ("half_ulp", "oracle"), ("one_ulp",)),
    "order of codes": Planted(
        testing.CompareConformance,
        {"fmt": "fp16", "op": "lt"},
        _as_integers,
        ("order_reversed_by_sign",),
        ("unordered",),
    ),
    "first of two zeros": Planted(
        testing.MinMaxConformance, {"fmt": "fp16", "op": "minimum"}, _first_of_zeros, ("commutative", "special_values")
    ),
    "largest of half a block": Planted(
        testing.BlockQuantizeConformance, {"fmt": "mxfp8"}, _half_the_block, ("permutation", "oracle"), ("zeros",)
    ),
    "elements rounded down": Planted(
        testing.BlockQuantizeConformance,
        {"fmt": "mxfp4", "policy": "ieee"},
        _rounds_down,
        ("sign_symmetry", "oracle"),
        ("permutation", "monotonic"),
    ),
    "one scale otherwise": Planted(
        testing.BlockQuantizeConformance, {"fmt": "mxfp8"}, _ceil_at_one, ("scaling", "oracle"), ("sign_symmetry",)
    ),
    "sums in order": Planted(
        testing.DotConformance,
        {"fmt": "fp16", "acc": "exact", "k": 6},
        _chain,
        ("permutation",),
        ("exact_small_integers",),
    ),
    "tanh of negatives": Planted(
        testing.FunctionConformance, {"fmt": "fp16"}, _not_odd, ("sign_symmetry", "oracle"), ("bounded", "nan")
    ),
    "tanh above one": Planted(
        testing.FunctionConformance, {"fmt": "fp16"}, _past_one, ("bounded", "half_ulp"), ("sign_symmetry",)
    ),
    "cosh of negatives": Planted(
        testing.FunctionConformance, {"fmt": "fp16", "op": "cosh"}, _not_odd, ("even_symmetry",), ("nan",)
    ),
    "a negative exponential": Planted(
        testing.FunctionConformance, {"fmt": "fp16", "op": "exp"}, _negative_zero, ("bounded", "oracle"), ("monotonic",)
    ),
    "a lane short": Planted(
        testing.DotConformance, {"fmt": "fp8_e4m3", "acc": "exact", "k": 3}, _forgets_last, ("permutation", "nan")
    ),
}


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("name", PLANTED)
def test_planted_errors_are_caught(name: str) -> None:
    planted = PLANTED[name]
    model = suite(planted.base, planted.model, **planted.attributes)
    for item in planted.caught:
        with pytest.raises(testing.NotConforming, match=f"^{item}: "):
            model.check(item)
    for item in planted.unbroken:
        suite(planted.base, planted.model, **{**planted.attributes, "max_examples": 20}).check(item)


# -- what is said ------------------------------------------------------------------------------------------------------


def test_a_failure_shows_the_case_and_the_command_that_explains_it() -> None:
    settings.load_profile("before" if "before" in settings._profiles else "default")
    model = suite(ADD, _truncates, fmt="fp16", max_examples=50)
    settings.register_profile("shrinks", deadline=None, derandomize=True, database=None)
    settings.load_profile("shrinks")
    with pytest.raises(testing.NotConforming) as caught:
        model.check("half_ulp")
    lines = str(caught.value).splitlines()
    assert lines[0] == "half_ulp: The error is at most half an ulp."
    assert lines[1] == "add fp16_fp16 to fp16, rne"
    assert [line.split()[0] for line in lines[2:6]] == ["a", "b", "got", "oracle"]
    assert "at most 1/2 ulp" in lines[-1]
    shown = run(*lines[6].split()[1:])
    assert "matches rounding = rtz" in shown.stdout


def test_a_model_must_be_a_model() -> None:
    with pytest.raises(sf.Error, match="set the class attribute fmt"):
        suite(ADD, oracle).check("oracle")
    with pytest.raises(sf.Error, match="unknown property 'orakle'; did you mean oracle"):
        suite(ADD, oracle, fmt="fp16").check("orakle")
    with pytest.raises(sf.Error, match=r"returned 1\.5 as the result"):
        suite(ADD, lambda self, a, b: 1.5, fmt="fp16").check("oracle")
    with pytest.raises(sf.Error, match="at most 1f"):
        suite(ADD, lambda self, a, b: (0, 99), fmt="fp16").check("oracle")
    with pytest.raises(testing.NotConforming, match="expected by this property: a result of 16 bits"):
        suite(ADD, lambda self, a, b: 1 << 16, fmt="fp16").check("commutative")
    for base in (ADD, testing.DotConformance):
        with pytest.raises(sf.Error, match="unknown comparison of NaNs 'foo'; known: exact, quiet, any"):
            suite(base, oracle, fmt="fp16", compare_nan="foo").check("oracle")
    with pytest.raises(sf.Error, match="define model"):
        type("Empty", (ADD,), {"fmt": "fp16"})().check("oracle")
    with pytest.raises(ZeroDivisionError) as caught:
        suite(ADD, lambda self, a, b: 1 // 0, fmt="fp16").check("oracle")
    assert any("the model was asked add " in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("base", "name", "value", "message"),
    [
        (ADD, "rounding", "rtz", r"set policy = Policy\(rounding=...\) or roundings = "),
        (ADD, "tininess", "before", r"tininess is a field of the policy; set policy = Policy\(tininess=...\)$"),
        (ADD, "roundigs", ("rtz",), "no setting 'roundigs'; did you mean roundings?"),
        (ADD, "compare_nans", "any", "did you mean compare_nan?"),
        (ADD, "flag", False, "did you mean flags?"),
        (ADD, "max_example", 5, "did you mean max_examples?"),
        (testing.DotConformance, "compare_nn", "any", "did you mean compare_nan?"),
        (testing.BlockQuantizeConformance, "profil", "ocp", "did you mean profile?"),
    ],
)
def test_misspelt_settings_are_refused(base: Any, name: str, value: Any, message: str) -> None:
    with pytest.raises(sf.Error, match=message):
        suite(base, oracle, fmt="fp16", **{name: value})


def test_other_attributes_are_the_users_own() -> None:
    own = {"fmt2": "fp8_e4m3", "gain": 3, "_rounding": "rtz", "specials": [1], "flag": lambda self: 1, "maxDiff": None}
    assert suite(ADD, oracle, fmt="fp16", max_examples=2, **own).check("oracle") is None
    assert suite(testing.DotConformance, dot, fmt="fp16", rounding="rtz").rounding == "rtz"  # no policy, no field


def test_a_failure_in_a_wide_format_is_shown() -> None:
    def model(self: Any, a: int, b: int) -> int:
        return 0

    for name in ("half_ulp", "one_ulp", "exact_where_representable"):
        with pytest.raises(testing.NotConforming, match=r"got      0{32} = 0\.0"):
            suite(testing.MulConformance, model, fmt="fp128").check(name)


def test_every_property_says_what_it_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "property-tests.md").read_text()
    bases = [getattr(testing, name) for name in testing.__all__ if name.endswith("Conformance")]
    for base in bases:
        for name, item in base.properties.items():
            assert item.statement.endswith(".")
            assert getattr(base, f"test_{name}").__doc__ == item.statement
            assert f"`{name}`" in page
        assert f"`{base.__name__}`" in page
