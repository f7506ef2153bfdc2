"""Selftest of the identification: every named choice and every single change of the default must be identified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.asking import ask_model
from softfloat_ref.diagnosis.candidates import Candidate
from softfloat_ref.diagnosis.identify import Examiner, Identification
from softfloat_ref.diagnosis.kinds import confirming, examiner
from softfloat_ref.golden.sets import VectorSet

CONFIRM: Final = 20
# The subjects: operation, format, output.
SUBJECTS: Final = (
    ("fma", "fp16", None),
    ("add", "bf16", None),
    ("mul", "fp8_e5m2", None),
    ("convert", "fp32", "fp16"),
    ("convert", "fp32", "fp8_e4m3"),
    ("convert", "fp32", "fp8_e5m2"),
    ("convert", "bf16", "fp32"),
    ("convert", "fp32", "i32"),
    ("quantize", "mxfp8_e4m3", None),
    ("quantize", "mxfp4_e2m1", None),
    ("quantize", "mxint8", None),
    ("quantize", "nvfp4", None),
    ("quantize", "qint8", None),
    ("dot", "fp16", None),
    ("dot", "bf16", None),
    ("dot", "fp8_e4m3", None),
    ("dot", "fp8_e4m3fnuz", None),
    ("dot", "fp4_e2m1", None),
    ("dot", "mxfp8_e4m3", None),
)
DOT_K: Final = 64  # elements of a dot product by default


def subject(
    op: str,
    fmt: str | None,
    out: str | None,
    *,
    k: int | None = None,
    sr_bits: int | None = None,
    **parameters: Any,
) -> VectorSet:
    """The subject with default choices of policy, profile, accumulator or rule. parameters: such as a length.

    Raises Error.
    """
    if k is not None and op != "dot":
        raise Error("--k is for dot")
    if sr_bits and op == "dot":
        raise Error(f"--sr-bits is for operations that round stochastically, not for {op}")
    options: dict[str, Any] = {"k": DOT_K if k is None else k} if op == "dot" else {}
    options |= {"policy": {"rounding": "sr", "sr_bits": sr_bits}} if sr_bits else {}
    return VectorSet.make(op, fmt, 1, out=out, **options, **parameters)


@dataclass(frozen=True)
class IdentifiedDevice:
    """A device made from a model of the library, and its identification."""

    name: str
    result: Identification[Any]
    recovered: bool


@dataclass
class SelftestSummary:
    """The devices of one subject. same: groups of names that no operands distinguish."""

    subject: str
    devices: list[IdentifiedDevice]
    same: list[list[str]]

    @property
    def questions(self) -> tuple[int, float, int]:
        """Fewest, mean and most questions."""
        asked = [d.result.questions for d in self.devices]
        return min(asked), sum(asked) / len(asked), max(asked)

    @property
    def recovered(self) -> int:
        """The number identified correctly."""
        return sum(d.recovered for d in self.devices)


def selftest(op: str, fmt: str, out: str | None, k: int | None = None) -> SelftestSummary:
    """Identify every candidate of a subject as if it were a device."""
    vectors = subject(op, fmt, out, k=k)
    e: Examiner[Any] = examiner(vectors)
    confirm = confirming(vectors, CONFIRM, 1)
    title = f"{op} {fmt}" + (f" to {out}" if out else "")
    devices, candidates = [], e.candidates.values()
    for c in candidates:
        result = e.identify(ask_model(vectors.unit, c.model), confirm)
        devices.append(IdentifiedDevice(c.name, result, _recovered(e, c, result)))
    return SelftestSummary(title, devices, [c.names for c in candidates if len(c.names) > 1])


def _recovered(e: Examiner[Any], c: Candidate[Any], result: Identification[Any]) -> bool:
    """Whether the device itself was found, or one that no operands distinguish from it."""
    wanted = e.space.key(c.point)
    return any(wanted == e.space.key(x.point) or c.name in x.names for x in result.candidates)


def everything() -> Iterator[SelftestSummary]:
    """Every subject."""
    for op, fmt, out in SUBJECTS:
        yield selftest(op, fmt, out)
