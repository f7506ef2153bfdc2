"""The errors of formats that a run's statistics hold, of every kind of format, against numbers worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from softfloat_ref.nn.numerics import Numerics, RunState
from softfloat_ref.nn.statistics import TensorTally
from softfloat_ref.nn.tensor_format import TensorFormat
from softfloat_ref.nn.train import TrainingRun, load_data
from softfloat_ref.nn.training_recipe import read_recipe

X = [7.9, 4.0, -5.0, 0.2, 0.0, 3.0, -6.5, 1.0]


def figures(fmt: str, x: list[float], first: list[float] | None = None, **settings: Any) -> dict[str, float]:
    """Of a tensor that one product takes as an operand; first: what the format sees before."""
    numerics, tally = Numerics("layer", {"error": TensorFormat(fmt, **settings)}, run=RunState(1)), TensorTally()
    if first is not None:
        numerics.hold(np.array([first], np.float32), "error")
    numerics.watch(lambda role, seen: tally.add(seen))
    numerics.hold(np.array([x], np.float32), "error").along(1)
    return tally.figures()


def test_blocks() -> None:
    """MXFP4 with a scale of 1: 7.9 and -6.5 are beyond 6, -5 is a tie to -4, 0.2 becomes zero."""
    relative = [1.9 / 7.9, 0.5 / 6.5, 1 / 5, 0, 0, 0]
    shares = figures("mxfp4", X)
    assert {k: shares[k] for k in ("zero", "flushed", "overflowed", "saturated")} == {
        "zero": 1 / 8, "flushed": 1 / 8, "overflowed": 0, "saturated": 2 / 8,
    }  # fmt: skip
    assert shares["mean_relative_error"] == pytest.approx(sum(relative) / 6, rel=1e-6)
    assert shares["largest_relative_error"] == pytest.approx(1.9 / 7.9, rel=1e-6)
    noise = 1.9**2 + 0.5**2 + 1 + 0.2**2
    assert shares["sqnr"] == pytest.approx(10 * math.log10(sum(v * v for v in X) / noise), rel=1e-6)


def test_an_infinity_spoils_its_block() -> None:
    shares = figures("mxfp4", [math.inf, *X[1:]])
    assert (shares["overflowed"], shares["saturated"]) == (7 / 8, 0)


def test_affine_integers() -> None:
    """Of a tensor's own range nothing is beyond; of a moving average, what the range has not followed."""
    assert figures("qint8", X)["saturated"] == 0
    small = [x / 4 for x in X]
    shares = figures("qint8", X, first=small, observer="moving-average", momentum=1e-6)
    assert shares["saturated"] == 5 / 8  # a range of -1.625 to 1.975
    assert shares["largest_relative_error"] == pytest.approx((7.9 - 1.975) / 7.9, abs=0.01)
    assert shares["zero"] == 1 / 8


@pytest.mark.parametrize(
    ("policy", "saturated", "overflowed"), [(None, 0, 1 / 8), ({"overflow": "sat-finite"}, 1 / 8, 0)]
)
def test_scalar_formats(policy: Any, saturated: float, overflowed: float) -> None:
    shares = figures("fp16", [1e6, 1e-9, 1.0, 0, 2, 3, 4, 5], policy=policy)
    assert (shares["saturated"], shares["overflowed"], shares["flushed"]) == (saturated, overflowed, 1 / 8)


def test_a_shared_exponent() -> None:
    """flexfp_e4m3: the bias follows the largest; a value 30 binades below it becomes zero."""
    shares = figures("flexfp_e4m3", [1.0, 1e-9, 0.5, 0.25])
    assert (shares["flushed"], shares["saturated"], shares["mean_relative_error"]) == (1 / 4, 0, 0)


SR = {"rounding": "sr", "sr_bits": 16}
FORMATS: dict[str, dict[str, Any]] = {
    "blocks": {"weight": "mxfp8", "activation": "mxfp4", "error": {"format": "mxfp8_e5m2", "policy": SR}},
    "bit-exact blocks": {"weight": "mxfp8", "activation": "mxfp4", "error": "mxfp8", "accumulator": "mx-fp32"},
    "affine": {"weight": "qint8", "activation": {"format": "qint8", "observer": "moving-average"}, "error": "qint8"},
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_watched_run_has_the_same_bits(name: str) -> None:
    """And every operand of a product is seen, by layer and role."""
    recipe = read_recipe(
        {
            "model": {"kind": "mlp", "hidden": [32]},
            "data": {"name": "blobs", "train": 24, "test": 8, "features": 32},
            "training": {"epochs": 1, "batch": 8},
            "formats": FORMATS[name],
        },
        name,
    )
    runs = [TrainingRun(recipe, load_data(recipe), count=count) for count in (False, True)]
    for run in runs:
        run.run()
    plain, watched = (run.trainer.arrays() for run in runs)
    assert plain.keys() == watched.keys()
    assert all(plain[k].tobytes() == watched[k].tobytes() for k in plain)
    assert runs[1].statistics is not None
    tensors = runs[1].statistics.take()
    assert tensors.keys() == {f"{layer}.{role}" for layer in ("linear1", "output")
                            for role in ("weight", "activation", "error")}  # fmt: skip
    assert all(0 < each["mean_relative_error"] < 1 for each in tensors.values())
    assert runs[1].statistics.take() == {}
    assert set(runs[1].statistics.gradients()) == {"linear1.error", "output.error"}
