"""Formats that are taken for each other: those of the same fields with other special codes, and those of the same
width."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.defects import Faulty, defective, in_parts, replaced
from softfloat_ref.diagnosis.hypotheses import Hypothesis
from softfloat_ref.diagnosis.roundings import to_format
from softfloat_ref.oracle.codec import Decoder, decoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.rounding_steps import read
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import SteppedUnit

_SHARE: Final = 0.5  # of some mismatches, that another format must explain
_WIDEST_BITS: Final = 8  # bits of formats that have twins in use
_KINDS: Final = (
    ("its IEEE twin", "with the codes of the largest exponent for Inf and NaN", "ieee", True, "inf"),
    ("its fn twin", "without Inf, and with NaN only at the largest code", "top", False, "nan"),
    ("its finite twin", "without Inf and NaN", "none", False, "max"),
)
TWINS: Final = tuple(name for name, *_ in _KINDS)


class Twin(NamedTuple):
    """A format with other special codes. difference: how it differs."""

    name: str
    difference: str
    fmt: Format


def twins(fmt: Format) -> Iterator[Twin]:
    """The formats of the same fields with other special codes."""
    if fmt.width > _WIDEST_BITS or not fmt.exponent_bits or fmt.p3109 or not fmt.zero or fmt.nan == "negative-zero":
        return
    for name, difference, nan, infinity, overflow in _KINDS:
        if nan != fmt.nan:
            fields = {"nan": nan, "infinity": infinity, "overflow": overflow, "signaling": False}
            twin = dataclasses.replace(fmt, name=f"{fmt.name}-{nan}", **fields)  # type: ignore[arg-type]
            yield Twin(name, f"{name}, {difference}", twin)


def siblings(fmt: Format) -> Iterator[Twin]:
    """The formats of the catalogue of the same width that a device may take for this one."""
    for name, other in CATALOGUE.items():
        alike = other.is_integer == fmt.is_integer and bool(other.exponent_bits) == bool(fmt.exponent_bits)
        if other.width == fmt.width and other != fmt and alike and (fmt.is_integer or other.signed == fmt.signed):
            yield Twin(name, name, other)


def others(fmt: Format) -> Iterator[Twin]:
    """Its twins and its siblings."""
    return chain(twins(fmt), siblings(fmt))


# -- where they are read -----------------------------------------------------------------------------------------------


def read_as(other: Decoder, fmt: Format) -> Change:
    """Operands of a format read by another decoder."""

    def wrong(here: Traced, right: Function, code: int, decode: Decoder, own: Format) -> Value:
        return right(code, other if own == fmt else decode, own)  # type: ignore[no-any-return]

    return replaced(read, wrong)


def format_readings(unit: SteppedUnit, fmt: Format, parts: Mapping[str, Sequence[object]]) -> Iterator[Hypothesis]:
    """Operands of a format read as in its siblings, in some parts of the computation, by the words for these."""
    for name, text, sibling in siblings(fmt):
        for where, some in parts.items():
            changes = in_parts(some, read_as(decoder(sibling), fmt))
            yield defective(unit, f"{where} as {name}", f"reads {where} as {text}", *changes, share=_SHARE)


def format_exchanged(unit: SteppedUnit, fmt: Format) -> Iterator[Hypothesis]:
    """Operands of a format and results of it read and rounded as in its siblings."""
    for name, _, sibling in siblings(fmt):
        result = to_format(partial(_if_same, fmt, sibling))
        text = f"takes {fmt.name} for {name}, in operands and results"
        yield defective(unit, f"{name} for {fmt.name}", text, read_as(decoder(sibling), fmt), *result, share=_SHARE)


def _if_same(fmt: Format, sibling: Format, to: Format) -> Format | None:
    return sibling if to == fmt else None


def other_elements(unit: Any) -> Iterator[Hypothesis]:
    """Elements of blocks taken for another format, in everything that the unit does; and scales."""
    for field, some in (("element", others(unit.block.element)), ("scale", siblings(unit.block.scale))):
        for name, text, other in some:
            try:
                model = Faulty(dataclasses.replace(unit, block=dataclasses.replace(unit.block, **{field: other})))
            except Error:
                continue
            yield Hypothesis(f"{field}s as {name}", f"takes the {field}s' format for {text}", model, share=_SHARE)
