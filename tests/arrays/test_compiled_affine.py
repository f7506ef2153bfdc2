"""The compiled loops of affine integers against the conversions in numpy, which test_affine checks with the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from softfloat_ref.arrays import affine, affine_array
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.affine import RULES
from softfloat_ref.oracle.policies import Policy

pytestmark = pytest.mark.usefixtures("compiled")

SHAPE = (3, 20, 9)
FORMATS = ("qint8", "quint8", "qint8_sym", "qint8_sym_narrow", "qint4", "quint8_sym", "qint2", "qint5_narrow")
CHANGED = (
    "exact,order=outside",
    "exact,nan=zero-point",
    "exact,nan=smallest",
    "torch-fake,inf=error",
    "torch,nan=error",
)
ROUNDINGS = ("rne", "rna", "rup", "rdn", "rtz", "rto", "rnu", "rhz", "sr", "sr-b", "sr-c")


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    normal = rng.standard_normal(SHAPE, np.float32)
    special = normal.copy()
    for value in (np.nan, np.inf, -np.inf):
        special[rng.random(SHAPE) < 0.02] = value
    return {
        "normal": normal,
        "any bits": rng.integers(0, 1 << 32, SHAPE, np.uint32).view(np.float32),
        "ties": (rng.integers(-300, 300, SHAPE) * 0.5 * rng.choice([1, 3, 0.25])).astype(np.float32),
        "zeros": np.zeros(SHAPE, np.float32),
        "specials": special,
        "subnormal": (normal * 1e-38).astype(np.float32),
        "far apart": np.where(rng.random(SHAPE) < 0.5, normal, normal * np.float32(1e-20)),
    }


def outcome(x: np.ndarray, fmt: str, axis: int | None, **options: Any) -> Any:
    """Everything that encode and decode return, as bytes, or the error."""
    with np.errstate(invalid="ignore", over="ignore"):  # signalling NaNs; the products of wild values
        try:
            result = affine.encode(x, fmt, axis=axis, **options)
        except Error as e:
            return str(e)
        parts = (result.integers, result.scales, result.zero_points, result.decode())
    return [(part.shape, str(part.dtype), part.tobytes()) for part in parts]


def check(x: np.ndarray, fmt: str, axis: int | None, **options: Any) -> None:
    compiled = outcome(x, fmt, axis, **options)
    with pytest.MonkeyPatch.context() as patched:
        for module in (affine, affine_array):
            patched.setattr(module, "is_compiled", lambda _: False)
        assert compiled == outcome(x, fmt, axis, **options)


@pytest.mark.full(keep=35)
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("rule", [*RULES, *CHANGED])
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_formats_rules_and_axes(fmt: str, rule: str, axis: int | None) -> None:
    rng = np.random.default_rng(4)
    for x in inputs(rng).values():
        check(x, fmt, axis, profile=rule)
        scale = 0.037 if axis is None else rng.random(SHAPE[axis]) + 1e-3
        check(x, fmt, axis, profile=rule, scale=np.float32(scale), zero_point=int(rng.integers(0, 2)))


@pytest.mark.full(keep=9)
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_roundings(rounding: str, axis: int | None) -> None:
    rng = np.random.default_rng(5)
    for bits in (1, 9, 17) if rounding.startswith("sr") else (None,):
        policy = Policy(rounding=rounding, sr_bits=bits)  # type: ignore[arg-type]
        for x in inputs(rng).values():
            words = None if bits is None else rng.integers(0, 1 << bits, SHAPE)
            check(x, "quint8", axis, policy=policy, random_bits=words)


@pytest.mark.parametrize(("scale", "zero"), [(0.1, 3), (2.0**-149, 0), (3e38, -128), (1 / 3, 127)])
def test_every_bf16(scale: float, zero: int) -> None:
    """All 2^16 inputs of BF16 and their neighbours in FP32."""
    bits = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    for near in (0, 1, 0xFFFF):
        check((bits + np.uint32(near)).view(np.float32), "qint8", None, scale=np.float32(scale), zero_point=zero)


def test_every_half_step_and_its_neighbours() -> None:
    """Quotients at, just above and just below every half integer, for scales of 24 bits."""
    rng = np.random.default_rng(6)
    for scale in (rng.random(40) + 0.5).astype(np.float32):
        steps = (np.arange(-600, 600) * 0.5 * np.float64(scale)).astype(np.float32)
        around = np.stack([np.nextafter(steps, np.float32(-np.inf)), steps, np.nextafter(steps, np.float32(np.inf))])
        check(around, "qint8", None, scale=scale, zero_point=int(rng.integers(-128, 128)))


def test_ranges_choose_the_oracles_parameters() -> None:
    """Many channels: near ties of the zero point, spans that float64 does not hold, and ordinary ones."""
    rng = np.random.default_rng(7)
    low, high = rng.standard_normal((2, 2000)).astype(np.float32)
    low[::3] = -high[::3]
    low[1::7] *= np.float32(2.0**-60)
    high[::11] = np.float32(255) * np.round(high[::11], 1)
    low[::11] = np.float32(-0.5)
    check(np.stack([low, high]), "qint8", 1)
    check(np.stack([low, high]).T.copy(), "quint8", 0)


@pytest.mark.parametrize("ends", [(1.0, 2.5), (-3.0, -1.0), (-1.0, 2.0), (0.0, 0.0), (1e-40, 3e-40), (-2e38, 3e38)])
@pytest.mark.parametrize("axis", [None, 0])
def test_values_are_those_of_the_oracle_s_range(ends: tuple[float, float], axis: int | None) -> None:
    """A range reaches to zero, whichever loop finds it; so few values that `encode` leaves it to the oracle."""
    x = np.linspace(*ends, 24).astype(np.float32).reshape(4, 6)
    for name in ("qint8", "quint8", "qint4"):
        wanted = affine.encode(x, name, axis=axis).decode()
        assert affine.quantize(x, name, axis=axis).tobytes() == wanted.tobytes()
