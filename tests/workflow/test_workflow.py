"""The functions of the package: what the commands do, from Python, with numbers, arrays, units and sets."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import TOP, ok

import softfloat_ref as sf
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.vector_recipes import load_recipe

# -- importing ---------------------------------------------------------------------------------------------------------


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("room", ["explanation", "proof", "testing", "golden", "units"])
def test_a_room_that_is_imported_first_hides_no_function(room: str) -> None:
    code = f"import softfloat_ref.{room}, softfloat_ref as sf; print(sf.explain(1, 'fp16').data['bits'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "3c00\n"


def test_numbers_need_no_numpy() -> None:
    code = (
        "import sys, softfloat_ref as sf; u = sf.unit('fma', 'fp16'); u.answer((0, 0, 0)); sf.encode(0.3, 'fp16');"
        "sf.decode(1, 'fp16'); sf.evaluate('add', (1, 1), 'fp16'); print('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


# -- numbers and arrays ------------------------------------------------------------------------------------------------

X = np.linspace(-4, 5, 64, dtype=np.float32).reshape(2, 32)


@pytest.mark.parametrize("fmt", ["fp8_e4m3", "mxfp8", "qint8"])
@pytest.mark.parametrize("x", [X, X.tolist(), tuple(map(tuple, X.tolist()))])
def test_arrays_are_encoded_and_decoded(fmt: str, x: Any) -> None:
    encoded = sf.encode(x, fmt)
    assert encoded.fmt.name.startswith(fmt)
    assert (sf.decode(encoded) == sf.quantize(X, fmt)).all()
    with pytest.raises(Error, match="has its own format"):
        sf.decode(encoded, fmt)


def test_elements_are_numbers() -> None:
    codes = sf.encode(X, "bf16").codes
    for i in np.ndindex(X.shape):
        assert sf.encode(X[i], "bf16").bits == codes[i]
        assert sf.decode(int(codes[i]), "bf16").as_fraction() == Fraction(float(sf.decode(codes, "bf16")[i]))
    assert sf.encode(np.float32(1), "fp16") == sf.encode(Fraction(1), "fp16") == (0x3C00, 0)
    assert sf.encode(np.array(1.0), "fp16").shape == ()


def test_arrays_are_evaluated() -> None:
    a, b = sf.encode(X, "fp16"), sf.encode(X[:1] + 1, "fp8_e5m2")
    wanted = sf.array_ops.evaluate("mul", [a.codes, b.codes], ["fp16", "fp8_e5m2"], "fp32")
    products = sf.evaluate("mul", (a, b), to="fp32")
    assert (products.fmt.name, products.shape) == ("fp32", X.shape)
    assert (products.codes == wanted).all()
    products, raised = sf.evaluate("mul", (a, a), flags="each")
    assert (sf.array_ops.evaluate("mul", [a.codes] * 2, "fp16", flags="each")[1] == raised).all()
    assert (sf.evaluate("mul", (a, a.codes), "fp16").codes == products.codes).all()
    assert (sf.evaluate("mul", (a.codes, a.codes), "fp16") == products.codes).all()
    code = sf.evaluate("mul", (int(a.codes[0, 3]), int(a.codes[0, 3])), "fp16")
    assert code.bits == products.codes[0, 3]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sf.encode(1.0, "fp16", seed=3), "seed is for arrays"),
        (lambda: sf.encode(1.0, "mxfp8"), "is a block format"),
        (lambda: sf.encode([1.0], "fp16", axis=0), "axis has no effect"),
        (lambda: sf.evaluate("add", (1, 1)), "give the format"),
        (lambda: sf.evaluate("add", (1, 1), "fp16", flags="any"), "flags is for arrays"),
        (lambda: sf.evaluate("add", ([1], [1])), "give the format"),
        (lambda: sf.evaluate("add", (sf.encode(X, "mxfp8"), X)), "not a BlockArray"),
        (lambda: sf.evaluate("add", (sf.encode(X, "fp16"),) * 2, "fp16"), "leave fmt out"),
        (lambda: sf.evaluate("add", (sf.encode(X, "fp16"), [1])), "give one format"),
        (lambda: sf.decode([[1], [1, 2]], "fp16"), "different lengths"),
    ],
)
def test_what_has_no_effect_or_no_format_is_refused(call: Any, message: str) -> None:
    with pytest.raises(Error, match=message):
        call()


# -- units and vectors -------------------------------------------------------------------------------------------------


def test_a_set_is_that_of_the_command(tmp_path: Path) -> None:
    vectors = sf.vectors("quantize", "mxfp4", 20, seed=3, profile="torchao-ceil")
    assert vectors == sf.vectors(sf.unit("quantize", "mxfp4", profile="torchao-ceil"), count=20, seed=3)
    sf.generate(vectors, tmp_path / "ours")
    words = "quantize --fmt mxfp4 -n 20 --seed 3 --profile torchao-ceil -o theirs"
    ok("vectors", "generate", *words.split(), cwd=tmp_path)
    ours, theirs = (read_manifest(tmp_path / x) for x in ("ours", "theirs"))
    assert ours["files"] == theirs["files"]
    assert sf.verify_vectors(tmp_path / "ours").passed
    assert len(list(vectors.lines())) == 20


def test_recipes_and_sets_keep_their_own() -> None:
    recipe = load_recipe("fp32_to_fp8_e4m3_sr")
    assert sf.vectors("fp32_to_fp8_e4m3_sr") == recipe == sf.vectors(recipe)
    assert sf.vectors(recipe, count=5).count == 5
    assert sf.vectors(recipe, seed=7) == recipe.of_seed(7)
    assert sf.vectors(recipe, level=0) == recipe.at_level("0")
    assert sf.unit("fp32_to_fp8_e4m3_sr") == recipe.unit == sf.unit(recipe.unit)
    for what in (recipe, "fp32_to_fp8_e4m3_sr", recipe.unit):
        with pytest.raises(Error, match="has its own formats and policy; leave fmt out"):
            sf.vectors(what, "fp16")
        with pytest.raises(Error, match="leave rounding out"):
            sf.vectors(what, policy={"rounding": "rtz"})


@pytest.mark.parametrize(
    ("op", "count", "cases"),
    [("add", 10_000, 100_000), ("softmax", 2000, 2000), ("matmul", 4, 4), ("dot", 10_000, 10_000)],
)
def test_sizes_by_default(op: str, count: int, cases: int) -> None:
    from softfloat_ref.workflow.units import default_cases

    assert sf.vectors(op, "fp8_e4m3").count == count
    assert default_cases(sf.unit(op, "fp8_e4m3")) == cases


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sf.unit("fmaa", "fp16"), "unknown operation 'fmaa'; did you mean fma"),
        (lambda: sf.unit("fp16_fma", "fp16"), "did you mean fp16_fma_rne"),
        (lambda: sf.unit("fma"), "fma needs fmt"),
        (lambda: sf.unit("fma", "fp16", k=3), "k is for dot, not for fma"),
        (lambda: sf.unit("fma", "fp16", kk=3), "unknown option 'kk'"),
        (lambda: sf.unit("fma", "fp16", policy={"sr_bits": 3}), "sr_bits is for stochastic roundings"),
        (lambda: sf.unit("dot", "fp16", policy="arm"), "an accumulator has its own roundings; leave policy out"),
        (lambda: sf.unit("dequantize", "mxfp8", policy="arm"), "dequantize has its own rounding; leave policy out"),
        (lambda: sf.unit("add", "fp16", roundings="rne"), "give several modes"),
        (lambda: sf.unit("add", "fp16", roundings=["rne", "up"]), "unknown rounding 'up'"),
        (lambda: sf.unit("add", "fp16", policy={"nan": "7fffff"}), "7fffff is not a NaN of fp16"),
        (lambda: sf.unit("block_add", "mxfp8", scale_policy="arm"), "scale_policy is for convert_to_block_max_abs"),
    ],
)
def test_units_refuse_what_they_lack(call: Any, message: str) -> None:
    with pytest.raises(Error, match=message):
        call()


# -- checks ------------------------------------------------------------------------------------------------------------


def right(a: Any, b: Any) -> Any:
    return sf.evaluate("add", (a, b), "fp16", flags="each")


def truncating(a: Any, b: Any) -> Any:
    return sf.evaluate("add", (a, b), "fp16", policy=sf.Policy(rounding="rtz"), flags="each")


def test_a_device_is_checked_and_diagnosed() -> None:
    assert sf.check("add", "fp16", device=right, count=500).passed
    report = sf.check("add", "fp16", device=truncating, count=500)
    assert not report.passed
    diagnosis = sf.diagnose(report)
    assert diagnosis is not None
    assert "rounding = rtz" in "\n".join(diagnosis.lines())
    assert sf.check("add", "fp16", device=truncating, count=150, ulp=1).passed
    assert sf.diagnose(sf.check(sf.unit("add", "fp16"), device=right, count=50)) is None
    command = f"{sys.executable} -m softfloat_ref eval add --fmt fp16 -"
    assert sf.check("add", "fp16", device=f"env PYTHONPATH={TOP} {command}", count=50).passed
    with pytest.raises(Error, match="a device is a function of arrays, or a command"):
        sf.check("add", "fp16", device=3)  # type: ignore[arg-type]


# -- explanations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "words"),
    [
        (lambda: sf.explain(Fraction(3, 10), "fp8_e4m3"), "--fmt fp8_e4m3 0.3"),
        (lambda: sf.explain(465, "fp8_e4m3", got=0x7F, got_flags=5), "--fmt fp8_e4m3 465 --got 7f --got-flags 5"),
        (
            lambda: sf.explain(1.03, "fp8_e4m3", policy={"rounding": "sr", "sr_bits": 4}, random_bits=10),
            f"--fmt fp8_e4m3 {1.03.hex()} --round sr --sr-bits 4 --random-bits a",
        ),
        (lambda: sf.explain([1, 2.5, 449], "mxfp8", profile="nvidia"), "--fmt mxfp8 1 2.5 449 --profile nvidia"),
        (lambda: sf.explain([1, 449], "mxfp8", got=(0x80, [0x30, 0x76])), "--fmt mxfp8 1 449 --got 80:30,76"),
        (
            lambda: sf.explain("fma", "fp16", (0x3C00, 0x0401, 0x8001), got=0x3FF),
            "fma --fmt fp16 3c00 0401 8001 --got 03ff",
        ),
        (lambda: sf.explain("softmax", "bf16", (0, 1), lane=1, length=2), "softmax --fmt bf16 --lane 1 0 1"),
        (
            lambda: sf.explain("quantize", "qint8", (0x3FC00000, 0x3C000000, 5), profile="torch"),
            "quantize --fmt qint8 3fc00000 3c000000 05 --profile torch",
        ),
        (lambda: sf.explain("fp16_fma_rne", codes=(1, 2, 3)), "fp16_fma_rne 1 2 3"),
    ],
)  # fmt: skip
def test_an_explanation_is_that_of_the_command(ours: Any, words: str) -> None:
    assert f"{ours()}\n" == ok("explain", *words.split())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sf.explain("fma", "fp16"), "give the codes"),
        (lambda: sf.explain(1.0, "fp16", codes=(1,)), "are for operations"),
        (lambda: sf.explain(1.0), "needs a format"),
        (lambda: sf.explain(1.0, "qint8"), "is an affine format"),
        (lambda: sf.explain(1.0, "fp16", profile="ocp"), "profile has no effect on fp16"),
        (lambda: sf.explain("fma", "fp16", (1, 2)), "takes 3 codes, not 2"),
        (lambda: sf.explain("fma", "fp16", (1, 2, 3), lane=0), "^lane is for functions"),
        (lambda: sf.explain([1.0, 2.0], "mxfp8", got=(0, [1])), "2 codes"),
        (lambda: sf.explain("fma", "fp16", (1, 2, 3), got_flags=1), "^got_flags needs got"),
    ],
)
def test_explanations_refuse(call: Any, message: str) -> None:
    with pytest.raises(Error, match=message):
        call()


# -- proofs ------------------------------------------------------------------------------------------------------------


@pytest.mark.extra("bitwuzla")
def test_definitions_are_compared() -> None:
    assert sf.prove("add", "fp4_e2m1", equal=sf.unit("add", "fp4_e2m1", policy="arm"), flags=False).verdict == "proved"
    proof = sf.prove("mul", "fp8_e4m3", equal={"policy": {"rounding": "rtz"}})
    assert proof.verdict == "counterexample"
    assert isinstance(proof.counterexample.inputs, tuple)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("options", "message"),
    [({}, "prove takes equal"), ({"equal": {"k": 3}}, "k is for dot"), ({"ports": "none.toml"}, "none.toml")],
)
def test_proofs_refuse(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Error, match=message):
        sf.prove("add", "fp16", **options)
    with pytest.raises(Error, match="too large for one circuit"):
        sf.prove("matmul", "fp16", equal={})
