"""The example circuits, and the settings that the campaign runs each of them in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.units import Field

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
FORMATS = ("fp8_e4m3", "fp8_e5m2", "fp16", "bf16")  # fp_convert's fmt
ROUNDINGS = ("rne", "rtz", "rdn", "rup", "rna")  # RISC-V's numbers
SATURATIONS = ("sat-none", "sat-finite")
LFSR = "lfsr:width=16,taps=16.14.13.11,seed=1,bits=15:0"  # bf16_stochastic's own

DOTS = 20_000  # dot products, where only a level is asked for

Cases = VectorSet


@dataclass(frozen=True)
class Size:
    """How many cases a setting has: a number, or as many as a level of the vectors has, or so many of that level."""

    count: int | None = None
    level: str = ""

    def __str__(self) -> str:
        level = f"level {self.level}" if self.level else ""
        return ", ".join(filter(None, (level, f"{self.count} cases" if self.count else "")))


ONE = Size(1)


@dataclass(frozen=True)
class Setting:
    """An operation and how a circuit is told to do it: the values of its control inputs."""

    name: str
    op: str
    fmt: str
    out: str | None = None
    policy: Mapping[str, Any] | None = None
    source: str | None = None
    controls: Mapping[str, int] = field(default_factory=dict)

    def cases(self, size: Size) -> Cases:
        """The golden vectors for it."""
        level: dict[str, Any] = {"level": size.level} if size.level else {}
        if self.op == "dot":
            return VectorSet.make("dot", self.fmt, size.count or DOTS, **level)
        options: dict[str, Any] = {"count": size.count, **level}
        return VectorSet.make(self.op, self.fmt, out=self.out, policy=self.policy, source=self.source, **options)


@dataclass(frozen=True)
class Circuit:
    """An example circuit. fields: of its memory words, in their order, each of the widest result it has.

    latency: from in_valid to out_valid, in cycles; 0: combinational. controls: the widths of its control inputs.
    """

    name: str
    settings: tuple[Setting, ...]
    latency: int = 0
    controls: Mapping[str, int] = field(default_factory=dict)
    handshake: bool = False
    selects_bugs: bool = True  # by an input `defect`

    @property
    def source(self) -> Path:
        return EXAMPLES / self.name / f"{self.name}.sv"

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        each = [s.cases(ONE).fields for s in self.settings]
        return max(each, key=lambda fields: sum(f.digits for f in fields))

    def setting(self, name: str) -> Setting:
        return next(s for s in self.settings if s.name == name)


def _conversion(fmt: str, rounding: str, saturation: str) -> Setting:
    numbers = FORMATS.index(fmt), ROUNDINGS.index(rounding), SATURATIONS.index(saturation)
    policy = {"rounding": rounding, "overflow": saturation}
    controls = dict(zip(("fmt", "rm", "sat"), numbers, strict=True))
    return Setting(f"{fmt}-{rounding}-{saturation}", "convert", "fp32", fmt, policy, controls=controls)


def _fma(rounding: str) -> Setting:
    policy = {"rounding": rounding}
    return Setting(rounding, "fma", "fp16", policy=policy, controls={"rm": ROUNDINGS.index(rounding)})


CIRCUITS = {
    c.name: c
    for c in (
        Circuit("fp32_to_fp8_e4m3", (Setting("rne", "convert", "fp32", "fp8_e4m3"),), selects_bugs=False),
        Circuit(
            "fp_convert",
            tuple(_conversion(f, r, s) for f in FORMATS for r in ROUNDINGS for s in SATURATIONS),
            controls={"fmt": 2, "rm": 3, "sat": 1},
        ),
        Circuit("fp16_fma", tuple(map(_fma, ROUNDINGS)), latency=3, controls={"rm": 3}),
        Circuit("mxfp8_quantize", (Setting("ocp", "quantize", "mxfp8_e4m3"),), latency=1, handshake=True),
        Circuit("mxfp8_dot", (Setting("mx-fp32", "dot", "mxfp8_e4m3"),), latency=3),
        Circuit(
            "bf16_stochastic",
            (Setting("lfsr", "convert", "fp32", "bf16", {"rounding": "sr", "sr_bits": 16}, LFSR),),
            latency=1,
        ),
    )
}
