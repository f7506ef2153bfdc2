"""Optimizers: every bit of some updates, by the scalar oracle in the order that the documentation states."""

from __future__ import annotations

import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import softfloat_ref as sf
from softfloat_ref.base.errors import Error
from softfloat_ref.nn.numerics import Numerics
from softfloat_ref.nn.optimizers import Updates, read_optimizer
from softfloat_ref.nn.tensor_format import TensorFormat

Array = np.ndarray[Any, Any]
FORMATS = {"master": "bf16", "optimizer": "fp16"}
STEPS = 4


def fp32(x: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", x))[0])


def op(name: str, *operands: int) -> int:
    return int(sf.evaluate(name, operands, "fp32").bits)


def stored(code: int, role: str) -> int:
    """Through the role's format, and back."""
    fmt = FORMATS[role]
    return int(sf.evaluate("convert", (sf.evaluate("convert", (code,), "fp32", to=fmt).bits,), fmt, to="fp32").bits)


def sgd(w: int, g: int, state: dict[str, int], t: int) -> int:
    """Nesterov's, with weight decay; rate 0.1, momentum 0.9, weight_decay 0.01."""
    g = op("add", g, op("mul", fp32(0.01), w))
    v = stored(op("add", op("mul", state.get("v", 0), fp32(0.9)), g), "optimizer")
    state["v"] = v
    g = op("add", g, op("mul", v, fp32(0.9)))
    return stored(op("sub", w, op("mul", fp32(0.1), g)), "master")


def adam(w: int, g: int, state: dict[str, int], t: int) -> int:
    """beta1 0.8, beta2 0.99, epsilon 1e-6, rate 0.1."""
    m = op("add", op("mul", state.get("m", 0), fp32(0.8)), op("mul", g, fp32(1 - 0.8)))
    v = op("add", op("mul", state.get("v", 0), fp32(0.99)), op("mul", op("mul", g, g), fp32(1 - 0.99)))
    m, v = stored(m, "optimizer"), stored(v, "optimizer")
    state |= {"m": m, "v": v}
    above, below = (1 - float(Fraction(x) ** t) for x in (0.8, 0.99))  # the same as by products, for such few
    divisor = op("add", op("div", op("sqrt", v), fp32(below**0.5)), fp32(1e-6))
    return stored(op("sub", w, op("mul", op("div", m, divisor), fp32(0.1 / above))), "master")


def adam_decayed(w: int, g: int, state: dict[str, int], t: int) -> int:
    return adam(w, op("add", g, op("mul", fp32(0.05), w)), state, t)


def adamw(w: int, g: int, state: dict[str, int], t: int) -> int:
    return adam(op("mul", w, fp32(1 - 0.1 * 0.05)), g, state, t)


ADAM = {"rate": 0.1, "beta1": 0.8, "beta2": 0.99, "epsilon": 1e-6, "weight_decay": 0.05}
RULES: dict[str, tuple[dict[str, Any], Any]] = {
    "sgd": ({"rate": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}, sgd),
    "adam": ({"kind": "adam", **ADAM}, adam_decayed),
    "adamw": ({"kind": "adamw", **ADAM}, adamw),
}


def numerics() -> Numerics:
    return Numerics("layer", {role: TensorFormat(fmt) for role, fmt in FORMATS.items()})


def gradients(count: int) -> list[Array]:
    rng = np.random.default_rng(3)
    return [(rng.normal(size=count) * 2.0 ** rng.integers(-12, 3, count)).astype(np.float32) for _ in range(STEPS)]


@pytest.mark.parametrize("name", RULES)
def test_every_bit_of_an_update(name: str) -> None:
    table, rule = RULES[name]
    updates, weight = Updates(read_optimizer(table)), np.linspace(-1, 1, 12).astype(np.float32)
    codes: list[int] = weight.view(np.uint32).tolist()
    states: list[dict[str, int]] = [{} for _ in codes]
    for t, gradient in enumerate(gradients(len(codes)), 1):
        slopes = gradient.view(np.uint32).tolist()
        updates.begin()
        updates.update("w", weight, gradient.copy(), 1.0, numerics())
        codes = [rule(w, g, s, t) for w, g, s in zip(codes, slopes, states, strict=True)]
        assert weight.view(np.uint32).tolist() == codes, t


@pytest.mark.parametrize("name", RULES)
def test_an_optimizer_goes_on_from_its_state(name: str) -> None:
    """Its arrays and, where it counts, the number of updates."""
    table, _ = RULES[name]
    whole, parts = (Updates(read_optimizer(table)) for _ in range(2))
    weights = np.ones(12, np.float32), np.ones(12, np.float32)
    for t, gradient in enumerate(gradients(12)):
        if t == 2:
            state, parts = parts.state(), Updates(read_optimizer(table))
            parts.restore({**state, "param/w": weights[1]}, {"w": weights[1]})
        for updates, weight in zip((whole, parts), weights, strict=True):
            updates.begin()
            updates.update("w", weight, gradient.copy(), 1.0, numerics())
    assert weights[0].tobytes() == weights[1].tobytes()


@pytest.mark.parametrize("change", ["optimizer/steps", "first_moment/w", "second_moment/w"])
def test_another_optimizer_s_state_is_refused(change: str) -> None:
    updates, weight = Updates(read_optimizer({"kind": "adam"})), np.ones(3, np.float32)
    updates.begin()
    updates.update("w", weight, np.ones(3, np.float32), 1.0, numerics())
    state = updates.state()
    del state[change]
    with pytest.raises(Error, match="belongs to another network"):
        updates.restore(state, {"w": weight})
