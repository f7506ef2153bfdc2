"""The random Hadamard transform of weight gradients' operands, against its definition."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import softfloat_ref as sf
from softfloat_ref.base.errors import Error
from softfloat_ref.nn import hadamard
from softfloat_ref.nn import layers as nn
from softfloat_ref.nn.models import Input, build
from softfloat_ref.nn.numerics import Numerics, RunState
from softfloat_ref.nn.tensor_format import TensorFormat
from softfloat_ref.nn.training_recipe import load_recipe, read_recipe

FORMATS = {role: TensorFormat("nvfp4") for role in ("weight", "activation", "error")}


def words_of(seed: int, n: int = 16) -> Any:
    return RunState(seed).signs().array(1, 0, n)


def matrix_of(words: Any) -> list[list[int]]:
    """Times sqrt(n): entry (i, j) is -1 to the number of bits in common, with the sign of row j of the operand."""
    return [[(-1) ** ((i & j).bit_count() + int(word)) for j, word in enumerate(words)] for i in range(len(words))]


@pytest.mark.parametrize("rows", [1, 15, 16, 17, 40])
@pytest.mark.parametrize("size", hadamard.SIZES)
def test_the_transform_is_the_sum_that_defines_it(size: int, rows: int) -> None:
    """Of integers, whose sums are exact in FP32; rows that are missing from the last `size` are zeros."""
    x = np.random.default_rng(rows).integers(-99, 100, (rows, 3))
    words = words_of(rows, size)
    transformed = hadamard.transform(x.astype(np.float32), words)
    whole = [*x.tolist(), *[[0] * 3] * (-rows % size)]
    root = {4: 2, 16: 4, 64: 8, 256: 16}[size]
    expected = [
        [Fraction(sum(h * whole[first + j][c] for j, h in enumerate(line)), root) for c in range(3)]
        for first in range(0, len(whole), size)
        for line in matrix_of(words)
    ]
    assert [[Fraction(float(v)) for v in row] for row in transformed] == expected


@pytest.mark.parametrize("rows", [3, 16, 50])
def test_the_product_is_unchanged(rows: int) -> None:
    """In exact arithmetic, since the transform is orthogonal."""
    a, b = (np.random.default_rng(rows + i).integers(-50, 50, (rows, 5)).astype(np.float32) for i in (0, 1))
    words = words_of(7)
    x, y = (hadamard.transform(m, words).astype(np.float64) for m in (a, b))
    np.testing.assert_array_equal(x.T @ y, a.T.astype(np.float64) @ b)


@pytest.mark.parametrize(("x", "expected"), [((2, 2.0**26, 2, -(2.0**26)), 0), ((2, 2, 2.0**26, -(2.0**26)), 2)])
def test_sums_are_of_neighbours_in_fp32(x: tuple[float, ...], expected: float) -> None:
    """(1 + 2^25) + (1 - 2^25), each bracket rounded, and (1 + 1) + (2^25 - 2^25)."""
    rows = np.array(x, np.float32)[:, np.newaxis]
    assert hadamard.transform(rows, np.zeros(4, np.uint8))[0, 0] == expected


def layer_of(size: int, run: RunState) -> nn.Linear:
    layer = nn.Linear(6, 5)
    layer.numerics = Numerics("linear", FORMATS, run=run, hadamard=size)
    return layer


def operands() -> list[Any]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal((32, n)).astype(np.float32) for n in (6, 5)]


def gradients(size: int, run: RunState) -> tuple[Any, Any, Any]:
    x, dy = operands()
    layer = layer_of(size, run)
    y = layer.forward(x)
    return layer.grads, y, layer.backward(dy)


def test_only_the_weight_gradient_is_transformed() -> None:
    plain, transformed = gradients(0, RunState(3)), gradients(16, RunState(3))
    np.testing.assert_array_equal(plain[1], transformed[1])
    np.testing.assert_array_equal(plain[2], transformed[2])
    assert (plain[0]["weight"] != transformed[0]["weight"]).any()
    np.testing.assert_array_equal(plain[0]["bias"], transformed[0]["bias"])
    error, x = (sf.quantize(hadamard.transform(m, words_of(3)), "nvfp4", axis=0) for m in operands()[::-1])
    np.testing.assert_array_equal(transformed[0]["weight"], error.T @ x)


def test_signs_depend_on_the_seed_alone() -> None:
    first = gradients(16, RunState(3))[0]["weight"]
    np.testing.assert_array_equal(gradients(16, RunState(3, step=9))[0]["weight"], first)
    assert (gradients(16, RunState(4))[0]["weight"] != first).any()


def test_the_recipe_and_its_overrides() -> None:
    table: dict[str, Any] = {
        "model": {"kind": "mlp", "hidden": [16, 16, 16]},
        "data": {"name": "blobs"},
        "formats": {"activation": "nvfp4", "error": "nvfp4", "hadamard": 16},
        "override": [{"layers": ["first"], "exempt": True}, {"layers": ["last"], "hadamard": 0}],
    }
    recipe = read_recipe(table)
    network = build(recipe.model, Input((8,), 3, 1))
    recipe.assign(network, RunState())
    sizes = [layer.numerics.hadamard_size for _, layer in network.walk() if layer.products]
    assert sizes == [0, 16, 16, 0]
    assert load_recipe("nvfp4-transformer").hadamard == 16
    recipe = read_recipe(table | {"formats": {"activation": "fp16", "error": "nvfp4", "hadamard": 16}})
    with pytest.raises(Error, match="hadamard = 16: linear2's role activation needs a block format"):
        recipe.assign(network, RunState())


@pytest.mark.parametrize("size", [8, 32, -16, 16.5, True, "16"])
def test_a_size_that_is_none(size: object) -> None:
    with pytest.raises(Error, match=f"formats: hadamard = {size!r} is not a size: use 4, 16, 64, 256"):
        read_recipe({"model": {"kind": "mlp"}, "data": {}, "formats": {"hadamard": size}})
