"""BE: the elements of quantized blocks: every code, and how each value was rounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final

from softfloat_ref import exact
from softfloat_ref.block_formats import special_element
from softfloat_ref.codec import decoder, encoder, target
from softfloat_ref.coverage.block_events import BlockEvents, BlockSetting, Line, Stretch
from softfloat_ref.coverage.block_model import BlockModel, filled, largest_element, with_tensor_scale
from softfloat_ref.coverage.events import Place
from softfloat_ref.coverage.memo import remembered
from softfloat_ref.coverage.model import SIGNS, Bin
from softfloat_ref.errors import Undefined
from softfloat_ref.exact import FINITE, Value
from softfloat_ref.formats import Format

_NEEDED: Final = (("lsb1", 0), ("guard1", 1), ("sticky1", 2))  # bits of values beyond an element's
_LOWEST: Final = 30  # bits below the guard bit that are looked at one by one
_SMALL: Final = 8  # bits of values that are all looked at
_BYTE: Final = 8


class Elements(BlockModel):
    """BE: every element code; and how its value was rounded."""

    id = "BE"
    title = "element codes; sign, lsb, guard and sticky of their rounding; saturation, flush, carries"

    def _codes(self, where: BlockSetting) -> dict[str, int]:
        element = where.fmt.element
        return {f"BE/code{c:02x}": c for c in range(1 << element.width)} if element.width <= 8 else {}

    def _points(self, where: BlockSetting) -> dict[str, tuple[int, int]]:
        """Magnitude codes of elements, and whether it is the midpoint to the next one."""
        element = where.fmt.element
        if element.width > 8:
            return {}
        most = target(element, where.policy).max_code
        ties = {f"BE/tie{code:02x}": (code, 1) for code in range(most)}
        return {f"BE/value{code:02x}": (code, 0) for code in range(1, most + 1)} | ties

    def _rounds(self) -> tuple[str, ...]:
        sizes = ("sub", "norm")
        return tuple(
            f"BE/{size}.{s}.lsb{b}.guard{g}.sticky{t}" for size, s, b, g, t in product(sizes, SIGNS, *[(0, 1)] * 3)
        )

    def bins(self, where: BlockSetting) -> tuple[Bin, ...]:
        """A bin a code where codes are bytes; sixteen a kind of number; and events."""
        found = {name: self._no_code(where, c) for name, c in self._codes(where).items()}
        found |= {name: self._no_round(where, name) for name in self._rounds()}
        found |= {name: self._no_point(where, name) for name in self._points(where)}
        found |= dict.fromkeys(self._pluses(where), "")
        found |= {f"BE/{name}": why for name, why in self._events(where).items()}
        if where.values.width <= _SMALL:
            every = remembered(where.memo, "BE.every", lambda: self._every(where))
            found = {
                name: why or ("" if name in every else "every value under every scale was tried")
                for name, why in found.items()
            }
        return tuple(Bin(name, why) for name, why in found.items())

    def _every(self, where: BlockSetting) -> set[str]:
        """The bins that a value hits beside the largest one that has some scale; and those of specials."""
        blocks = list(_special_blocks(where))
        sign = where.values.sign_bit if where.values.signed else 0
        for s in where.stretches:
            blocks += [filled(where, [s.last, x | y]) for x in range(s.last + 1) for y in {0, sign}]
            blocks += [filled(where, [x | sign]) for x in range(s.first, s.last + 1)]
        events = (BlockEvents(where, with_tensor_scale(where, x)) for x in blocks)
        return {name for e in events for name in self.hits(e)}

    def _pluses(self, where: BlockSetting) -> dict[str, Value]:
        """Ties at an even element plus one bit alone, so far below the guard bit: quotients that some value has."""
        return remembered(where.memo, "BE.pluses", lambda: self._find_pluses(where))

    def _find_pluses(self, where: BlockSetting) -> dict[str, Value]:
        element = where.fmt.element
        if where.fmt.scale.mantissa_bits:
            return {}  # quotients are no short numbers
        spare, found = where.values.mantissa_bits - element.mantissa_bits, dict[str, Value]()
        even = element.min_normal_code & ~1 or 2
        kinds = [] if element.twos_complement else [("norm", even, spare - 1)]
        if element.twos_complement or (element.subnormals == "gradual" and element.mantissa_bits):
            kinds.append(("norm" if element.twos_complement else "sub", 0, where.values.mantissa_bits))
        for kind, code, most in kinds:
            point = _point(where, code, 1)
            for j in range(1, min(most, _LOWEST) + 1):
                x = exact.finite(0, (point.significand << j) + 1, point.exponent - j)
                if _some_value_is(where, x):
                    found[f"BE/{kind}.tie-plus{j}"] = x
        return found

    def _no_point(self, where: BlockSetting, name: str) -> str:
        if where.fmt.scale.mantissa_bits or where.fmt.element.twos_complement:
            return ""
        significand = _point(where, *self._points(where)[name]).significand
        bits = significand.bit_length() - (significand & -significand).bit_length() + 1
        return "" if bits <= where.values.precision else "the values have no such bits"

    def _no_code(self, where: BlockSetting, code: int) -> str:
        element, value = where.fmt.element, decoder(where.fmt.element)(code)
        if value.kind != FINITE:
            return "" if code in _special_codes(where) else "no block gives this special code"
        if code == element.sign_bit and value.is_zero:
            kept = where.profile.negative_zero == "keep"
            return "" if kept and where.values.signed else "no element is -0 under this profile"
        t = target(element, where.policy)
        beyond = t.max_negative_code if value.sign else t.max_code
        magnitude = (
            (1 << element.width) - code if element.twos_complement and value.sign else code & element.magnitude_mask
        )
        if value.sign and not where.values.signed:
            return "no value is negative"
        return "" if magnitude <= beyond else "the profile leaves this code out"

    def _no_round(self, where: BlockSetting, name: str) -> str:
        element, size = where.fmt.element, name[3:6]
        if size == "sub" and (element.subnormals != "gradual" or not element.mantissa_bits or element.twos_complement):
            return "elements have no subnormals"
        if size == "sub" and _all_are_normal(where):
            return "no value is so small under any scale"
        if "neg" in name and not where.values.signed:
            return "no value is negative"
        if size == "sub" and element.mantissa_bits == 1 and "lsb0" in name and "guard0.sticky0" in name:
            return "that is zero"
        if size == "nor" and element.mantissa_bits == 0 and "lsb0" in name:
            return "a significand of one bit is odd"
        spare = where.values.mantissa_bits - element.mantissa_bits
        shifted = where.fmt.scale.mantissa_bits or element.twos_complement
        if size == "nor" and not shifted and any(bit in name and spare < n for bit, n in _NEEDED):
            return "the values have no such bit"
        return ""

    def _events(self, where: BlockSetting) -> dict[str, str]:
        limited = _can_saturate(where)
        fixed = carry = "fixed point has no binades" if where.fmt.element.twos_complement else ""
        small = "no value is so small under any scale" if _all_are_normal(where) else ""
        subnormal = fixed or ("" if where.fmt.element.mantissa_bits else "no subnormals") or small
        spare = where.values.mantissa_bits - where.fmt.element.mantissa_bits
        if not where.fmt.scale.mantissa_bits:
            carry = fixed or ("the values have no such bits" if spare < 1 else "")
            subnormal = subnormal or ("the values have no such bits" if spare < 0 else "")
        signs = [("pos", ""), ("neg", "" if where.values.signed else "no value is negative")]
        found = {}
        for sign, why in signs:
            found[f"saturated.{sign}"] = why or limited
            found[f"to-zero.{sign}"] = why or small or _goes_down(where, sign == "neg")
            found[f"carry.{sign}"] = why or carry or _goes_up(where, sign == "neg")
            found[f"subnormal-to-normal.{sign}"] = why or subnormal or _goes_up(where, sign == "neg")
        return found

    def hits(self, e: BlockEvents) -> Iterable[str]:
        """The bins of all elements."""
        try:
            codes = e.result[1]
        except Undefined:
            return
        element = e.where.fmt.element
        yield from (f"BE/code{c:02x}" for c in set(codes) if element.width <= 8)
        for x, place, code in zip(e.values, e.places, codes, strict=True):
            if place is not None:
                yield from self._of_element(e.where, x.sign, place, code)

    def _of_element(self, where: BlockSetting, sign: int, place: Place, code: int) -> Iterator[str]:
        element, name = where.fmt.element, SIGNS[sign]
        limit = target(element, where.policy)
        largest = limit.max_negative_code if sign else limit.max_code
        magnitude = (
            (1 << element.width) - code & element.magnitude_mask
            if element.twos_complement and sign
            else code & element.magnitude_mask
        )
        if place.code > largest or (place.code == largest and (place.guard or place.sticky) and magnitude == largest):
            yield f"BE/saturated.{name}"
            return
        if not place.sticky and not place.rest:
            yield f"BE/{'tie' if place.guard else 'value'}{place.code:02x}"
        size = "norm" if element.twos_complement or place.code >= element.min_normal_code else "sub"
        if place.guard and not place.kept & 1 and place.tail and not place.tail & (place.tail - 1) and not place.rest:
            yield f"BE/{size}.tie-plus{place.zeros + 1}"
        yield f"BE/{size}.{name}.lsb{place.kept & 1}.guard{place.guard}.sticky{place.sticky}"
        if magnitude == 0:
            yield f"BE/to-zero.{name}"
        if magnitude == place.code + 1:
            if place.kept + 1 == 2 << element.mantissa_bits and not element.twos_complement:
                yield f"BE/carry.{name}"
            if magnitude == element.min_normal_code and size == "sub":
                yield f"BE/subnormal-to-normal.{name}"

    def cases(self, where: BlockSetting, name: str) -> Iterator[Line]:
        """Values in halves, quarters and a little of an element's last place, beside the largest element."""
        codes = self._codes(where)
        if name in codes:
            yield from self._for_code(where, codes[name])
            return
        if name in self._points(where):
            point = _point(where, *self._points(where)[name])
            for sign in (0, 1):
                yield from _beside_largest(where, sign, [point])
            return
        if name in self._pluses(where):
            for sign in (0, 1):
                yield from _beside_largest(where, sign, [self._pluses(where)[name]])
            return
        sign = 1 if "neg" in name else 0
        for quotients in _fractions(where):
            yield from _beside_largest(where, sign, quotients)

    def _for_code(self, where: BlockSetting, code: int) -> Iterator[Line]:
        value = decoder(where.fmt.element)(code)
        if value.kind == FINITE:
            yield from _beside_largest(where, value.sign, [value._replace(sign=0)])
            return
        yield from _special_blocks(where)


def _point(where: BlockSetting, code: int, tie: int) -> Value:
    """An element's magnitude, or the midpoint to the next one."""
    element = where.fmt.element
    significand, exponent = element.magnitude(code) if code else (0, element.emin - element.mantissa_bits)
    return exact.finite(0, 2 * significand + tie, exponent - 1)


def _some_value_is(where: BlockSetting, quotient: Value) -> bool:
    """Whether a value is that many times an ordinary scale, exactly."""
    for s in _ordinary_stretches(where):
        wanted = exact.multiply(quotient, decoder(where.fmt.scale)(s.scale))
        code = where.code(wanted)
        if where.smallest_beside <= code <= s.last and exact.compare(where.decode(code), wanted) == 0:
            return True
    return False


def _all_are_normal(where: BlockSetting) -> bool:
    """Whether the smallest value that no profile flushes is, over the largest scale, none of the subnormals."""
    if where.two_levels or where.fmt.element.twos_complement:
        return False
    scale = decoder(where.fmt.scale)(where.stretches[-1].scale)
    significand, exponent = where.fmt.element.magnitude(where.fmt.element.min_normal_code)
    smallest = where.decode(where.smallest_beside)
    return (
        scale.kind == FINITE
        and exact.compare(smallest, exact.multiply(exact.finite(0, significand, exponent), scale)) >= 0
    )


def some_tie(where: BlockSetting) -> tuple[int, int] | None:
    """The codes of a largest value and of a smaller one, halfway between an even element and the next."""
    if where.fmt.size < 2:
        return None
    for code in range(0, min(target(where.fmt.element, where.policy).max_code, 256), 2):
        for line in _beside_largest(where, 0, [_point(where, code, 1)]):
            second = BlockEvents(where, with_tensor_scale(where, line)).places[1]
            if second is not None and second.guard and not second.sticky and not second.kept & 1:
                return line[0], line[1]
    return None


def _special_blocks(where: BlockSetting) -> Iterator[Line]:
    fmt, one = where.values, where.code(exact.finite(0, 1, 0))
    specials = [fmt.canonical_nan] if fmt.has_nan else []
    specials += [fmt.magnitude_mask] if fmt.nan == "ieee" else []
    specials += [fmt.inf_code] if fmt.infinity else []
    for x, rest in product(specials, (one, 0)):
        for sign in (0, fmt.sign_bit if fmt.signed else 0):
            yield filled(where, [x | sign], rest)
            yield filled(where, [], x | sign)


def _special_codes(where: BlockSetting) -> set[int]:
    """The special element codes that blocks with specials give: those depend on the kinds and signs alone."""
    return remembered(where.memo, "specials", lambda: set(_given_by_specials(where)))


def _given_by_specials(where: BlockSetting) -> Iterator[int]:
    for line in _special_blocks(where):
        try:
            yield from BlockEvents(where, with_tensor_scale(where, line)).result[1]
        except Undefined:
            continue
    if where.fmt.scale.has_nan and where.profile.scale_high == "nan":
        yield special_element(where.fmt, where.policy)


def _beside_largest(where: BlockSetting, sign: int, quotients: Sequence[Value]) -> Iterator[Line]:
    """Blocks of values that are so much once divided by the scale, under scales of several sizes."""
    size, fmt = where.fmt.size, where.values
    negative = fmt.sign_bit if fmt.signed and sign else 0
    for s in _ordinary_stretches(where):
        factor = decoder(where.fmt.scale)(s.scale)
        for amax in dict.fromkeys((s.last, s.first)):
            for x in quotients:
                wanted = exact.multiply(x, factor)
                code = where.code(wanted)
                if (code & fmt.magnitude_mask) <= amax:
                    yield (amax, code | negative, *[0] * (size - 2))[:size]
                    yield filled(where, [code | negative])


def _ordinary_stretches(where: BlockSetting) -> list[Stretch]:
    stretches = where.stretches
    middle = len(stretches) // 2
    picked = [middle, middle + 1, 3 * len(stretches) // 4, len(stretches) - 1, 0, 1]
    if not where.has_all_stretches:
        picked.insert(0, len(stretches) // 3)  # where the scale is about one, a short number
    return [stretches[i] for i in dict.fromkeys(picked) if i < len(stretches)]


def _fractions(where: BlockSetting) -> Iterator[list[Value]]:
    """Quotients with those last bits: an element, and halves, quarters and 2^-6 of its last place above it."""
    element = where.fmt.element
    steps = [Value(FINITE, 0, n, -6) for n in (0, 1, 16, 31, 32, 33, 48, 63)]
    codes: Iterable[int] = range(element.max_code + 1)
    if element.width > _BYTE:  # those next to the smallest normal number, and in the middle, before all others
        low, middle, ones = element.min_normal_code, element.max_code // 2, (1 << element.mantissa_bits) - 1
        codes = dict.fromkeys([max(low - 1, 0), low, low + 1, middle, middle + 1, low | ones, *codes])
        yield _past_the_largest(element)
    for code in codes:
        significand, exponent = element.magnitude(code) if code else (0, element.emin - element.mantissa_bits)
        yield [exact.finite(0, (significand << 6) + n.significand, exponent - 6) for n in steps]
    yield _past_the_largest(element)


def _past_the_largest(element: Format) -> list[Value]:
    significand, exponent = element.magnitude(element.max_code)
    return [exact.finite(0, (significand << 6) + n, exponent - 6) for n in (1, 16, 33, 63, 64, 127)]


def _can_saturate(where: BlockSetting) -> str:
    """'' where some stretch's last magnitude lies beyond scale times the largest element."""
    most = largest_element(where)
    for s in where.stretches:
        factor = decoder(where.fmt.scale)(s.scale)
        if factor.kind == FINITE and exact.compare(where.decode(s.last), exact.multiply(factor, most)) > 0:
            return ""
    which = "" if where.has_all_stretches else " of the scales looked at"
    return f"no value lies beyond scale times the largest element{which}"


def _goes_up(where: BlockSetting, negative: bool) -> str:
    return "" if _decides(where, negative, True) else "this rounding never enlarges such a value"


def _goes_down(where: BlockSetting, negative: bool) -> str:
    return "" if _decides(where, negative, False) else "this rounding never makes such a value zero"


def _decides(where: BlockSetting, negative: bool, larger: bool) -> bool:
    """Whether some fraction of the smallest element goes up (or down to zero), by asking the encoder."""
    element = where.fmt.element
    encode = encoder(element, where.policy)
    exponent = element.emin - element.mantissa_bits
    words = (0, (1 << where.policy.random_count) - 1) if where.policy.random_count else (0,)
    found = set()
    for n, word in product((1, 16, 32, 33, 63), words):
        code = encode(exact.finite(int(negative), n, exponent - 6), word)[0]
        found.add(not decoder(element)(code).is_zero)
    return larger in found
