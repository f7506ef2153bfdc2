"""Probes: small dot products whose results distinguish accumulators. Operands are bf16, K = 16, the result is FP32."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final, NamedTuple

from softfloat_ref.oracle.accumulate.dots import Operand, run, setting
from softfloat_ref.oracle.accumulate.model import Accumulator
from softfloat_ref.oracle.codec import decoder, encode
from softfloat_ref.oracle.exact import FINITE, NAN, Value
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.literals import shortest

COUNT: Final = 16
U: Final = Fraction(1 << 14)
ULP: Final = Fraction(1, 1 << 24)
Pair = tuple[Fraction | int, Fraction | int]

# The columns of the table: one unit of each kind.
COLUMNS: Final = (
    "nvidia-v100",
    "nvidia-a100",
    "nvidia-h100",
    "nvidia-h100-fp8-wgmma",
    "amd-cdna1",
    "amd-cdna2",
    "amd-cdna3",
    "x86-vdpbf16ps",
    "x86-amx-bf16",
)


class Probe(NamedTuple):
    """c and the operands at positions 0, 1, ... (0 elsewhere). shows: what the result reveals; read: how to read it."""

    name: str
    shows: str
    c: Fraction | int
    pairs: tuple[Pair, ...]
    read: Callable[[Value], str]


def _yes_if(wanted: Fraction | int) -> Callable[[Value], str]:
    return lambda x: "y" if x.kind == FINITE and x.as_fraction() == wanted else "n"


def _survives(x: Value) -> str:
    return "n" if x.is_zero else "y"


def _units(unit: Fraction | int, origin: Fraction | int = 0) -> Callable[[Value], str]:
    return lambda x: str((x.as_fraction() - origin) / unit) if x.kind == FINITE else shortest(x)


def _one_less(x: Value) -> str:
    """1 or 1-2^-k as text, else the value."""
    if x.kind != FINITE:
        return shortest(x)
    below = 1 - x.as_fraction()
    if below == 0:
        return "1"
    power = below.denominator.bit_length() - 1
    return f"1-2^-{power}" if below == Fraction(1, 1 << power) else shortest(x)


def _plain(x: Value) -> str:
    """0, NaN, Inf, -Inf, or the value."""
    if x.kind == FINITE:
        return "0" if x.is_zero else shortest(x)
    return "NaN" if x.kind == NAN else "-Inf" if x.sign else "Inf"


def _cancel(power: int) -> Probe:
    tiny = U / (1 << power)
    return Probe(f"U - U + 2^-{power} U survives", "F", 0, ((U, 1), (-U, 1), (tiny, 1)), _survives)


_HUGE: Final = Fraction(1 << 127)
PROBES: Final = (
    _cancel(23),
    _cancel(24),
    _cancel(25),
    Probe(
        "c = U, -U at k0, 15 terms of 2^-26 U: how many survive",
        "products a step, order",
        U,
        ((-U, 1), *((U / (1 << 26), 1),) * 15),
        _units(U / (1 << 26)),
    ),
    Probe("c = 2^24, +1, +1: gain", "tree", 1 << 24, ((1, 1), (1, 1)), _units(1, 1 << 24)),
    Probe(
        "c = -1, add -1.5 * 2^-24: change in units of 2^-24",
        "rz or rne",
        -1,
        ((Fraction(-3, 2), ULP),),
        _units(ULP, -1),
    ),
    Probe("1*1, c = -2^-100", "rd", Fraction(-1, 1 << 100), ((1, 1),), _one_less),
    Probe("c = 2^-149 kept", "FTZ", Fraction(1, 1 << 149), (), _yes_if(Fraction(1, 1 << 149))),
    Probe("2^127*2 - 2^127*2", "product overflow", 0, ((_HUGE, 2), (-_HUGE, 2)), _plain),
    Probe("1 + 2^-14 exact", "kept bits", 0, ((1, 1), (Fraction(1, 1 << 14), 1)), _yes_if(1 + Fraction(1, 1 << 14))),
)


def answer(probe: Probe, accumulator: Accumulator) -> str:
    """The result of a probe. The model is applied to bf16 even if the unit does not support it."""
    fmt, fp32 = get_format("bf16"), get_format("fp32")
    rest = (0,) * (COUNT - len(probe.pairs))
    a, b = (Operand(fmt, (*(encode(pair[i], fmt).bits for pair in probe.pairs), *rest)) for i in (0, 1))
    s = setting(a, b, accumulator, fp32, extrapolate=True)
    return probe.read(decoder(fp32)(run(s, a, b, encode(probe.c, fp32).bits).bits))
