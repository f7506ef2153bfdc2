"""BE: the elements of quantized blocks: every code, and how each value was rounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import product
from typing import Final

from softfloat_ref.base.errors import Undefined
from softfloat_ref.coverage.classes import magnitude_of
from softfloat_ref.coverage.codes import TailPlace
from softfloat_ref.coverage.engine.framework import BITS, SIGNS, Bins, Cell, Line, cross
from softfloat_ref.coverage.quantize.setting import BlockEvents, BlockModel, BlockSetting, ScaleStretch
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.quantize import special_element
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.exact import FINITE, Value

_TIE_DEPTH: Final = 30  # bits below the guard bit that are looked at one by one
_ENUMERATED_BITS: Final = 8  # bits of values that are all looked at
_BYTE_BITS: Final = 8
_TIE_PLUS: Final = "tie-plus"
_EVENTS: Final = ("saturated", "to-zero", "carry", "subnormal-to-normal")
_NO_BITS: Final = "the values do not have these bits"


class Elements(BlockModel):
    """BE: every element code; and how its value was rounded."""

    id = "BE"
    title = "element codes; sign, lsb, guard and sticky of their rounding; saturation, flush, carries"

    def bins(self, where: BlockSetting) -> Bins:
        """Codes, values and midpoints if codes are bytes; sixteen bins per kind of number; ties plus a bit; events."""
        byte = where.element.width <= _BYTE_BITS
        most = where.target.max_code if byte else 0
        return (
            cross("{kind}{code:02x}", kind=["code"], code=range(1 << where.element.width if byte else 0))
            | cross(
                "{size}.{sign}.lsb{lsb}.guard{guard}.sticky{sticky}",
                size=("sub", "norm"), sign=SIGNS, lsb=BITS, guard=BITS, sticky=BITS,
            )
            | cross("{kind}{code:02x}", kind=["value"], code=range(1, most + 1 if byte else 0))
            | cross("{kind}{code:02x}", kind=["tie"], code=range(most))
            | {(size, kind, j): f"{size}.{kind}{j}" for size, kind, j in _pluses(where)}
            | cross("{event}.{sign}", sign=SIGNS, event=_EVENTS)
        )  # fmt: skip

    def never(self, where: BlockSetting, cell: Cell) -> str:
        match cell:
            case "code", code:
                why = _no_code(where, code)
            case ("value" | "tie") as kind, code:
                why = _no_point(where, code, kind == "tie")
            case _, kind, _ if kind == _TIE_PLUS:
                why = ""
            case _, event if event in _EVENTS:
                why = _no_event(where, *cell)
            case _:
                why = _no_round(where, *cell)
        if why or where.values.width > _ENUMERATED_BITS:
            return why
        every = where.once("BE.every", lambda: self._every(where))
        return "" if cell in every else "every value under every scale was tried"

    def _every(self, where: BlockSetting) -> set[Cell]:
        """The cells of a value beside the largest one that has some scale; and those of specials."""
        blocks, signs = list(_special_blocks(where)), {0, where.sign_bit}
        for s in where.stretches:
            blocks += [where.filled([s.last, x | y]) for x in range(s.last + 1) for y in signs]
            blocks += [where.filled([x | where.sign_bit]) for x in range(s.first, s.last + 1)]
        return {cell for block in blocks for cell in self.hits(BlockEvents(where, where.line(block)))}

    def hits(self, e: BlockEvents) -> Iterable[Cell]:
        try:
            codes = e.result[1]
        except Undefined:
            return
        yield from (("code", c) for c in set(codes))
        for x, place, code in zip(e.values, e.places, codes, strict=True):
            if place is not None:
                yield from _of_element(e.where, x.sign, place, code)

    def cases(self, where: BlockSetting, cell: Cell) -> Iterator[Line]:
        """Values in halves, quarters and a little of an element's last place, beside the largest element."""
        match cell:
            case "code", code:
                value = decoder(where.element)(code)
                if value.kind == FINITE:
                    yield from _beside_largest(where, value.sign, [value._replace(sign=0)])
                else:
                    yield from _special_blocks(where)
            case ("value" | "tie") as kind, code:
                for sign in SIGNS:
                    yield from _beside_largest(where, sign, [_point(where, code, kind == "tie")])
            case _, kind, _ if kind == _TIE_PLUS:
                for sign in SIGNS:
                    yield from _beside_largest(where, sign, [_pluses(where)[cell]])
            case _:
                for quotients in _fractions(where):
                    yield from _beside_largest(where, cell[0] if len(cell) == 2 else cell[1], quotients)


def _of_element(where: BlockSetting, sign: int, place: TailPlace, code: int) -> Iterator[Cell]:
    element, limit = where.element, where.target
    largest = limit.max_negative_code if sign else limit.max_code
    magnitude = (1 << element.width) - code if element.twos_complement and sign else code
    magnitude &= element.magnitude_mask
    if place.code > largest or (place.code == largest and not place.is_exact and magnitude == largest):
        yield sign, "saturated"
        return
    if not place.sticky:
        yield "tie" if place.guard else "value", place.code
    size = "norm" if element.twos_complement or place.code >= element.min_normal_code else "sub"
    if place.guard and not place.kept & 1 and place.tail and not place.tail & (place.tail - 1) and not place.rest:
        yield size, _TIE_PLUS, place.zeros + 1
    yield size, sign, place.kept & 1, place.guard, place.sticky
    if magnitude == 0:
        yield sign, "to-zero"
    if magnitude == place.code + 1:
        if place.kept + 1 == 2 << element.mantissa_bits and not element.twos_complement:
            yield sign, "carry"
        if magnitude == element.min_normal_code and size == "sub":
            yield sign, "subnormal-to-normal"


# -- what cannot be ----------------------------------------------------------------------------------------------------


def _no_code(where: BlockSetting, code: int) -> str:
    element, value = where.element, decoder(where.element)(code)
    if value.kind != FINITE:
        return "" if code in _special_codes(where) else "no block gives this special code"
    if code == element.sign_bit and value.is_zero:
        return "" if where.profile.negative_zero == "keep" else "no element is -0 under this profile"
    beyond = where.target.max_negative_code if value.sign else where.target.max_code
    return "" if magnitude_of(element, code) <= beyond else "the profile leaves this code out"


def _no_point(where: BlockSetting, code: int, tie: bool) -> str:
    if where.scale.mantissa_bits or where.element.twos_complement:
        return ""
    s = _point(where, code, tie).significand
    return "" if (s // (s & -s)).bit_length() <= where.values.precision else _NO_BITS


def _no_round(where: BlockSetting, size: str, sign: int, lsb: int, guard: int, sticky: int) -> str:
    element = where.element
    if size == "sub" and (element.subnormals != "gradual" or not element.mantissa_bits or element.twos_complement):
        return "elements have no subnormals"
    if size == "sub" and _all_are_normal(where):
        return "no value is that small under any scale"
    if size == "sub":
        return "that is zero" if element.mantissa_bits == 1 and not (lsb or guard or sticky) else ""
    if element.mantissa_bits == 0 and not lsb:
        return "a significand of one bit is always odd"
    spare = where.values.mantissa_bits - element.mantissa_bits
    shifted = where.scale.mantissa_bits or element.twos_complement
    missing = (lsb and spare < 0) or (guard and spare < 1) or (sticky and spare < 2)
    return "the values do not have this bit" if missing and not shifted else ""


def _no_event(where: BlockSetting, sign: int, event: str) -> str:
    if event == "saturated":
        return _can_saturate(where)
    small = "no value is that small under any scale" if _all_are_normal(where) else ""
    if event == "to-zero":
        down = _decides(where, sign, larger=False)
        return small or ("" if down else "this rounding never makes such a value zero")
    if where.element.twos_complement:
        return "fixed point has no binades"
    if event == "subnormal-to-normal" and (why := small if where.element.mantissa_bits else "no subnormals"):
        return why
    spare = where.values.mantissa_bits - where.element.mantissa_bits
    if not where.scale.mantissa_bits and spare < (1 if event == "carry" else 0):
        return _NO_BITS
    return "" if _decides(where, sign, larger=True) else "this rounding never enlarges such a value"


@lru_cache(maxsize=64)
def _can_saturate(where: BlockSetting) -> str:
    """'' if some stretch's last magnitude lies beyond scale times the largest element."""
    for s in where.stretches:
        x = where.factor(s.scale)
        if x.kind == FINITE and exact.compare(where.decode(s.last), exact.multiply(x, where.largest_element)) > 0:
            return ""
    which = "" if where.has_all_stretches else " of the scales looked at"
    return f"no value lies beyond scale times the largest element{which}"


def _decides(where: BlockSetting, sign: int, larger: bool) -> bool:
    """Whether some fraction of the smallest element is rounded up (or down to zero), tested with the encoder."""
    element = where.element
    encode = encoder(element, where.policy)
    exponent = element.emin - element.mantissa_bits
    words = {0, (1 << where.policy.random_count) - 1}
    nonzero = set()
    for n, word in product((1, 16, 32, 33, 63), words):
        code = encode(exact.finite(sign, n, exponent - 6), word)[0]
        nonzero.add(not decoder(element)(code).is_zero)
    return larger in nonzero


def _all_are_normal(where: BlockSetting) -> bool:
    """Whether the smallest value that no profile flushes is not subnormal when divided by the largest scale."""
    if where.two_levels or where.element.twos_complement:
        return False
    scale = where.factor(where.stretches[-1].scale)
    least = exact.finite(0, *where.element.magnitude(where.element.min_normal_code))
    return (
        scale.kind == FINITE and exact.compare(where.decode(where.smallest_beside), exact.multiply(least, scale)) >= 0
    )


# -- blocks for a cell -------------------------------------------------------------------------------------------------


def _point(where: BlockSetting, code: int, tie: bool) -> Value:
    """An element's magnitude, or the midpoint to the next one."""
    return _fraction(where, code, 2, tie)


def _fraction(where: BlockSetting, code: int, parts: int, n: int) -> Value:
    """An element's magnitude and n parts of its last place."""
    element, shift = where.element, parts.bit_length() - 1
    significand, exponent = element.magnitude(code) if code else (0, element.emin - element.mantissa_bits)
    return exact.finite(0, (significand << shift) + n, exponent - shift)


@lru_cache(maxsize=64)
def _pluses(where: BlockSetting) -> dict[Cell, Value]:
    """Ties at an even element plus one bit, at a distance below the guard bit, if some value allows it."""
    element, pluses = where.element, dict[Cell, Value]()
    if where.scale.mantissa_bits:
        return pluses  # quotients are not short numbers
    spare = where.values.mantissa_bits - element.mantissa_bits
    kinds = [] if element.twos_complement else [("norm", element.min_normal_code & ~1 or 2, spare - 1)]
    if element.twos_complement or (element.subnormals == "gradual" and element.mantissa_bits):
        kinds.append(("norm" if element.twos_complement else "sub", 0, where.values.mantissa_bits))
    for size, code, most in kinds:
        for j in range(1, min(most, _TIE_DEPTH) + 1):
            x = _fraction(where, code, 2 << j, (1 << j) + 1)
            if _some_value_is(where, x):
                pluses[size, _TIE_PLUS, j] = x
    return pluses


def _some_value_is(where: BlockSetting, quotient: Value) -> bool:
    """Whether a value is that many times an ordinary scale, exactly."""
    for s in _ordinary_stretches(where):
        wanted = exact.multiply(quotient, where.factor(s.scale))
        code = where.code(wanted)
        if where.smallest_beside <= code <= s.last and exact.compare(where.decode(code), wanted) == 0:
            return True
    return False


@lru_cache(maxsize=64)
def some_tie(where: BlockSetting) -> tuple[int, int] | None:
    """The codes of a largest value and of a smaller one, halfway between an even element and the next."""
    if where.size < 2:
        return None
    for code in range(0, min(where.target.max_code, 256), 2):
        for line in _beside_largest(where, 0, [_point(where, code, True)]):
            second = BlockEvents(where, where.line(line)).places[1]
            if second is not None and second.is_tie:
                return line[0], line[1]
    return None


def _special_blocks(where: BlockSetting) -> Iterator[Line]:
    fmt = where.values
    specials = [fmt.canonical_nan] if fmt.has_nan else []
    specials += [fmt.magnitude_mask] if fmt.nan == "ieee" else []
    specials += [fmt.inf_code] if fmt.infinity else []
    for x, rest, sign in product(specials, (where.one, 0), (0, where.sign_bit)):
        yield where.filled([x | sign], rest)
        yield where.filled([], x | sign)


@lru_cache(maxsize=64)
def _special_codes(where: BlockSetting) -> set[int]:
    """The element codes that blocks with specials give: those depend only on the kinds and signs."""
    codes = set[int]()
    for line in _special_blocks(where):
        with suppress(Undefined):
            codes.update(BlockEvents(where, where.line(line)).result[1])
    if where.scale.has_nan and where.profile.scale_high == "nan":
        codes.add(special_element(where.fmt, where.policy, where.profile))
    return codes


def _beside_largest(where: BlockSetting, sign: int, quotients: Sequence[Value]) -> Iterator[Line]:
    """Blocks of values with that quotient by the scale, under several scales."""
    negative = where.sign_bit if sign else 0
    for s in _ordinary_stretches(where):
        factor = where.factor(s.scale)
        for amax in dict.fromkeys((s.last, s.first)):
            for x in quotients:
                code = where.code(exact.multiply(x, factor))
                if (code & where.values.magnitude_mask) <= amax:
                    yield where.filled([amax, code | negative])
                    yield where.filled([code | negative])


def _ordinary_stretches(where: BlockSetting) -> list[ScaleStretch]:
    stretches = where.stretches
    middle = len(stretches) // 2
    picked = [middle, middle + 1, 3 * len(stretches) // 4, len(stretches) - 1, 0, 1]
    if not where.has_all_stretches:
        picked.insert(0, len(stretches) // 3)  # where the scale is about one, a short number
    return [stretches[i] for i in dict.fromkeys(picked) if i < len(stretches)]


def _fractions(where: BlockSetting) -> Iterator[list[Value]]:
    """Quotients with those last bits: an element, and halves, quarters and 2^-6 of its last place above it."""
    element = where.element
    past = [_fraction(where, element.max_code, 64, n) for n in (1, 16, 33, 63, 64, 127)]
    codes: Iterable[int] = range(element.max_code + 1)
    if element.width > _BYTE_BITS:  # those next to the smallest normal number, and in the middle, before all others
        low, middle, ones = element.min_normal_code, element.max_code // 2, (1 << element.mantissa_bits) - 1
        codes = dict.fromkeys([max(low - 1, 0), low, low + 1, middle, middle + 1, low | ones, *codes])
        yield past
    for code in codes:
        yield [_fraction(where, code, 64, n) for n in (0, 1, 16, 31, 32, 33, 48, 63)]
    yield past
