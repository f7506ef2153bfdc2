"""Formats, policies, profiles and values, drawn at random; hard ones more often than others."""

from __future__ import annotations

import random
from typing import Any, Final

import numpy as np

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.affine import CHOICES as RULE_CHOICES
from softfloat_ref.oracle.affine import RULES, AffineFormat, Rule
from softfloat_ref.oracle.blocks.formats import AXIS, BLOCK_FORMATS, TENSOR, BlockFormat
from softfloat_ref.oracle.blocks.profile import CHOICES, Profile
from softfloat_ref.oracle.blocks.profiles import PROFILES, get_profile
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE
from softfloat_ref.oracle.formats import CATALOGUE, Format, define_format, get_format
from softfloat_ref.oracle.policies import POLICIES, ROUNDINGS, Policy, get_policy

SCALES: Final = ("e8m0", "e8m0", "ue4m3", "ue5m3", "fp8_e4m3", "bf16", "fp32", "s0e5m2", "s1e3m4", "fp16")
SIZES: Final = (1, 2, 5, 8, 16, 32, 32, 33, 64, AXIS, TENSOR)
DTYPES: Final = (np.float32, np.float32, np.float64, np.float16)


def a_format(rng: random.Random, widest: int = 32) -> Format:
    """Of the catalogue, of P3109, integers as MX's of any width, or by the grammar."""
    while True:
        name: str | dict[str, Any]
        match rng.randrange(10):
            case 0 | 1 | 2 | 3:
                name = rng.choice(list(CATALOGUE))
            case 4:
                name = CATALOGUE["int8"].to_dict() | {"name": "integers", "mantissa_bits": rng.randint(1, 15)}
                name["bias"] = rng.choice((0, rng.randint(-20, 20)))
            case 5 | 6:
                k = rng.randint(3, 16)
                name = f"binary{k}p{rng.randint(1, k)}{rng.choice('su')}{rng.choice('ef')}"
            case _:
                bits = rng.randint(0, 4 if rng.random() < 0.5 else 20)
                name = f"s{rng.choice('1110')}e{rng.randint(1, 11)}m{bits}"
                name += rng.choice(("", "", "fn", "fnuz", "finite", f"b{rng.randint(-40, 300)}", f"b{_any_bias(rng)}"))
        try:
            fmt = get_format(name) if isinstance(name, str) else define_format(name)
        except Error:
            continue
        if fmt.width <= widest:
            return fmt


def _any_bias(rng: random.Random) -> int:
    """Also such that no value is a number of FP32, or of float64."""
    return rng.choice((rng.randint(-150, 150), rng.randint(-1200, 1200)))


def a_block_format(rng: random.Random) -> BlockFormat:
    """Of the catalogue, or of drawn elements and scales. Raises Error for an element that is none."""
    if rng.random() < 0.4:
        return BLOCK_FORMATS[rng.choice(list(BLOCK_FORMATS))]
    scale = a_format(rng, 16) if rng.random() < 0.4 else get_format(rng.choice(SCALES))
    return BlockFormat("drawn", a_format(rng, rng.choice((8, 10, 16))), scale, rng.choice(SIZES), "ocp")


def a_policy(rng: random.Random) -> Policy:
    """A named one with some fields changed."""
    while True:
        mode = rng.choice((None, *ROUNDINGS))
        fields: dict[str, Any] = {} if mode is None else {"rounding": mode}
        if mode is not None and mode.startswith("sr"):
            fields["sr_bits"] = rng.choice((1, 2, 5, 8, 13, 16, 24, 32))
        for key, values in (
            ("overflow", ("sat-none", "sat-propagate", "sat-finite", "sat-narrow")),
            ("flush_inputs", (True,)),
            ("flush_outputs", (True,)),
            ("flush_rule", ("before",)),
            ("tininess", ("before",)),
            ("nan", ("canonical", "ptx", "propagate")),
            ("nan_missing", ("zero",)),
        ):
            if rng.random() < 0.2:
                fields[key] = rng.choice(values)
        try:
            policy = get_policy(rng.choice(("ieee", "ieee", *POLICIES)), **fields)
            policy.random_count  # noqa: B018  (refused here where the number of bits is missing)
        except Error:
            continue
        return policy


def a_profile(rng: random.Random) -> Profile:
    """A named one with some choices changed."""
    while True:
        changes = {key: rng.choice(values) for key, values in CHOICES.items() if rng.random() < 0.12}
        if rng.random() < 0.05:
            changes["flush_below"] = rng.choice((-149, -127, -20, 0, 128))
        try:
            return get_profile(rng.choice(list(PROFILES))).replace(**changes)
        except Error:
            continue


def a_tensor_scale(rng: random.Random) -> float | None:
    """A second-level scale: any positive FP32 number, often a moderate one; or none."""
    if rng.random() < 0.6:
        return None
    scale = np.uint32(rng.choice((rng.randint(1, CATALOGUE["fp32"].max_code), rng.randint(0x3F000000, 0x40400000))))
    return float(scale.view(np.float32))


def an_affine_format(rng: random.Random) -> AffineFormat:
    """Of any kind, mostly of the widths that the compiled loops have."""
    bits = rng.choice((2, 4, 5, 8, 8, 8, rng.randint(2, 16)))
    signed, symmetric, narrow = (rng.random() < share for share in (0.6, 0.3, 0.2))
    return AffineFormat("drawn", bits, signed, symmetric, narrow)


def a_rule(rng: random.Random) -> Rule:
    """A named rule with some choices changed."""
    while True:
        changes = {key: rng.choice(values) for key, values in RULE_CHOICES.items() if rng.random() < 0.12}
        try:
            return rng.choice(list(RULES.values())).replace(**changes)
        except Error:
            continue


def words(rng: random.Random, policy: Policy, shape: tuple[int, ...]) -> np.ndarray | None:
    """Random bits for each value, with the ends among them."""
    n = policy.random_count
    if not n:
        return None
    random_words = np.random.default_rng(rng.getrandbits(40)).integers(0, 1 << n, shape, dtype=np.uint64)
    random_words.reshape(-1)[::7] = 0
    random_words.reshape(-1)[3::7] = (1 << n) - 1
    return random_words


def near(rng: random.Random, fmt: Format, dtype: Any, count: int) -> np.ndarray:
    """Values of a type: on and beside codes and midpoints of a format, at its ends, special ones, and any bits."""
    decode = decoder(fmt)
    points = []
    ends = (0, fmt.max_code, fmt.min_normal_code, 1)
    while len(points) < count // 4:
        code = max(0, min(rng.choice(ends) + rng.randint(-3, 3), fmt.max_code))
        if rng.random() < 0.6:
            code = rng.randint(0, fmt.max_code)
        pair = [decode(c) for c in (code, max(0, code - 1))]
        numbers = [x.as_fraction() for x in pair if x.kind == FINITE]
        points.append(rng.choice((*numbers, sum(numbers) / max(len(numbers), 1))) * rng.choice((1, 1, -1)))
    with np.errstate(all="ignore"):
        on = np.array([_to_float(x) for x in points]).astype(dtype)
        code_type = np.dtype(f"u{on.itemsize}")
        around = on.view(code_type)[:, None] + np.array([0, 1, -1], np.int64).astype(code_type)
    bits = np.random.default_rng(rng.getrandbits(40)).integers(0, 1 << 63, count, dtype=np.uint64).astype(code_type)
    bits = bits << code_type.type(1) | (bits & code_type.type(1))
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], dtype).view(code_type)
    values = np.concatenate([around.reshape(-1), special, bits])[:count]
    return np.random.default_rng(rng.getrandbits(40)).permutation(values).view(dtype)


def _to_float(x: Any) -> float:
    try:
        return float(x)
    except OverflowError:
        return float("inf") if x > 0 else -float("inf")
