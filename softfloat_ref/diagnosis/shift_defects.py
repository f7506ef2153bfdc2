"""Sticky bits that miss a bit or are a parity; shifters of subnormal results that stop too early, whose distance wraps
around, or that lose what they shift out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from softfloat_ref.diagnosis.rounding_defects import RoundingDefect, not_random, short_shift_row
from softfloat_ref.diagnosis.roundings import Coded, first_bits, is_tiny, on_bits, rounding
from softfloat_ref.diagnosis.shifters import HELD, conversion_source, shift_exponent, shifted_otherwise
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.rounding_steps import Destination, place_of
from softfloat_ref.oracle.steps import Function, Traced

_SHORT_SHIFTS: Final = range(6, 107)  # places, of which a format has those of its products
_STICKY_BITS: Final = 12  # below the guard bit, of which one may be missing
_SHARE: Final = 0.5  # of the mismatches that such a sticky bit must explain
_WIDTHS: Final = range(2, 9)  # bits of a distance that wraps around


@cache
def short_shifts() -> tuple[RoundingDefect, ...]:
    """Shifters of subnormal results that hold more places than those of every diagnosis."""
    text = "has no sticky bit for what the shift of subnormal results moves out of the operand"
    lost = RoundingDefect("bits shifted out are lost", text, rounding(_shifted_out), _gradual)
    return lost, *map(short_shift_row, _SHORT_SHIFTS)


# -- sticky bits -------------------------------------------------------------------------------------------------------


@cache
def sticky_rows() -> tuple[RoundingDefect, ...]:
    """Sticky bits that miss one bit, or count the bits."""
    parity = RoundingDefect(
        "sticky is a parity", "has as sticky bit the parity of the bits below the guard bit", _PARITY
    )
    rows = [parity._replace(fits=not_random, share=_SHARE)]
    for k in range(1, _STICKY_BITS):
        which = "the bit below the guard bit" if k == 1 else f"bit {k} below the guard bit"
        bits = on_bits(lambda p, k=k: (p.guard, p.any(2, k) | p.any(k + 2, p.n + 1) | int(p.rest != 0)))  # type: ignore[misc]
        text = f"leaves {which} out of the sticky bit"
        rows.append(RoundingDefect(f"sticky without bit {k}", text, bits, not_random, 3, share=_SHARE))
    one, *_ = (row for row in rows if row.name == "sticky without bit 1")
    more = ", where a shift stops with the leading one there"
    rows.append(_held(one, f"{one.description}{more}"))
    for n in range(1, _STICKY_BITS):
        text = f"looks at only {n} bit{'s' * (n > 1)} below the guard bit{more}"
        bits = on_bits(first_bits(n, False))
        rows.append(_held(RoundingDefect(f"sticky of {n} bits", text, bits, not_random, share=_SHARE), text))
    return tuple(rows)


def _held(row: RoundingDefect, text: str) -> RoundingDefect:
    """A defect of bits below those that a shifter of subnormal results leaves: it stops with the leading one just below
    the guard bit."""
    changes = (*row.changes, *HELD)
    return row._replace(name=f"{row.name}, shift held", description=text, changes=changes, fits=_gradual, size=3)


def _of_parity(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """The parity of the bits below the guard bit in place of the sticky bit."""
    if x.kind != FINITE or not x.significand:
        return right(x, r, to)  # type: ignore[no-any-return]
    p = place_of(x, 0, to.target)
    if p.code > to.target.max_code + 1:
        return right(x, r, to)  # type: ignore[no-any-return]
    unit = max(exact.top(x), to.target.emin) - to.target.mantissa_bits
    odd = (x.significand.bit_count() + x.sticky - p.kept.bit_count() - p.guard) % 2
    return right(exact.finite(x.sign, p.kept << 2 | p.guard << 1 | odd, unit - 2), r, to)  # type: ignore[no-any-return]


_PARITY: Final = rounding(_of_parity)


# -- shifts ------------------------------------------------------------------------------------------------------------


def _shifted_out(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """Tiny numbers of a conversion without the bits that a shift moves out of their significand; the shifter stops with
    the leading one just below the guard bit."""
    source = conversion_source(here)
    if source is None or source.is_integer or not is_tiny(x, to.fmt):
        return right(x, r, to)  # type: ignore[no-any-return]
    exponent = shift_exponent(here, x)
    places = to.fmt.emin - exponent
    held = min(places, to.fmt.precision + 1)
    cut = max(exponent - source.mantissa_bits + held - x.exponent, 0)
    kept = x.significand >> cut
    if not kept:
        return right(exact.zero(x.sign), r, to)  # type: ignore[no-any-return]
    return right(x._replace(significand=kept, exponent=x.exponent + cut, sticky=0), r, to)  # type: ignore[no-any-return]


def _gradual(to: Destination) -> bool:
    return not_random(to) and to.fmt.has_normals and to.fmt.subnormals == "gradual"


@cache
def shift_rows() -> tuple[RoundingDefect, ...]:
    """Every such shifter."""
    return tuple(_rows())


def _rows() -> Iterator[RoundingDefect]:
    for name, more in (("the guard bit", 0), ("the last bit", -1)):
        yield RoundingDefect(
            f"subnormal results shifted to {name} at most",
            f"shifts subnormal results only until their leading one is {name}",
            rounding(shifted_otherwise(lambda places, precision, more=more: min(places, precision + more))),  # type: ignore[misc]
            _gradual,
        )
    for bits in _WIDTHS:
        yield RoundingDefect(
            f"subnormal shift of {bits} bits wraps",
            f"shifts subnormal results by a distance of {bits} bits, which wraps around",
            rounding(shifted_otherwise(lambda places, precision, bits=bits: places & (1 << bits) - 1)),  # type: ignore[misc]
            lambda to, bits=bits: _gradual(to) and 1 << bits > to.fmt.precision,  # type: ignore[misc]
        )
