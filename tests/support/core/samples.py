"""Samples of what the core says: generators by name, and the formats, policies and numbers they take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import CATALOGUE, define_format, get_format
from softfloat_ref.oracle.policies import POLICIES, Policy
from softfloat_ref.oracle.rounding import Rounding

Sample = Iterator[object]
SAMPLES: dict[str, Callable[[], Sample]] = {}


def sample(function: Callable[[], Sample]) -> Callable[[], Sample]:
    SAMPLES[function.__name__] = function
    return function


def said(function: Callable[..., object], *args: Any, **more: Any) -> object:
    """What a function returns, or the error's words."""
    try:
        return function(*args, **more)
    except Error as e:
        return f"error: {e}"


ODD = [
    get_format(f)
    for f in (
        "s1e3m0",
        "s0e4m2",
        "s1e2m3finite",
        "s1e3m2fnuz",
        "s1e4m1fn",
        "binary4p1se",
        "binary5p3uf",
        "binary6p3sf",
        "binary4p4ue",
        "i3",
        "u3",
        "s1e1m2",
        "s1e4m3b20",
        "s0e3m3fn",
        "s1e3m1",
        "binary5p3se",
    )
]
ODD += [
    define_format({"like": "fp6_e2m3", "subnormals": "none"}, "no_subnormals"),
    define_format({"like": "fp6_e2m3", "subnormals": "normal"}, "all_normal"),
    define_format({"like": "fp6_e2m3", "subnormals": "normal", "zero": False, "signed": False}, "no_zero"),
    define_format({"like": "e8m0", "overflow": "max"}, "no_zero_max"),
]
FORMATS = [*CATALOGUE.values(), *ODD]
SMALL = [f for f in FORMATS if f.width <= 8]
NAMED = list(POLICIES.values())
MODES = [Policy(m) for m in Rounding if m < Rounding.SR] + [Policy(m, sr_bits=3) for m in Rounding if m >= Rounding.SR]
MORE = [
    *(
        Policy(m, overflow=o, tininess="before")
        for m in ("rne", "rtz", "rup", "rto")
        for o in ("sat-none", "sat-propagate", "sat-finite")
    ),
    *(Policy(m, flush_outputs=True, flush_rule=r) for m in ("rne", "rdn", "rna") for r in ("after", "before")),
    Policy(overflow="sat-narrow"),
    Policy(nan_missing="zero", integers="x86"),
    Policy("rna", nan_missing="error", integers="arm"),
    Policy("rdn", nan="propagate", integers="ptx"),
    Policy("rup", nan="negative", flush_inputs=True),
    Policy("rtz", nan="ones"),
]


def numbers(fmt: Any) -> list[Value]:
    """On and around a format's codes: ends, the smallest normal, ties, and just beside them."""
    found = []
    codes = {
        fmt.min_code,
        fmt.min_code + 1,
        fmt.max_code - 1,
        fmt.max_code,
        fmt.min_normal_code,
        fmt.min_normal_code - 1,
        fmt.max_code // 2,
    }
    for code in sorted(c for c in codes if 0 <= c <= fmt.max_code):
        s, e = fmt.magnitude(code)
        found += [
            exact.finite(0, n, e - 3)
            for n in (8 * s - 4, 8 * s - 1, 8 * s, 8 * s + 1, 8 * s + 3, 8 * s + 4, 8 * s + 5)
            if n > 0
        ]
    top = exact.finite(0, *fmt.magnitude(fmt.max_code))
    found += [
        exact.finite(0, 1, exact.top(top) + 1),
        exact.finite(0, 5, exact.top(top) + 300),
        exact.finite(0, 1, fmt.emin - fmt.mantissa_bits - 9),
    ]
    return found + [exact.negate(x) for x in found] + SPECIAL


SPECIAL = [
    exact.zero(0),
    exact.zero(1),
    exact.inf(0),
    exact.inf(1),
    exact.GENERATED,
    Value(exact.NAN, 1, 5, 10, 0, True),
    Value(exact.NAN, 0, (1 << 51) + 3, 51),
    Value(exact.NAN, 1, 1, 0),
    Value(exact.NAN, 0, 0, 6, 0, True),
]
