"""Models of block quantization: what a block holds, its scale at every threshold, its elements' rounding, its lanes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final

from softfloat_ref import exact
from softfloat_ref.block_formats import special_element
from softfloat_ref.codec import decoder, encoder, target
from softfloat_ref.coverage.block_events import FINITE, INF, NAN, BlockEvents, BlockSetting, Line
from softfloat_ref.coverage.events import Place
from softfloat_ref.coverage.model import SIGNS, Bin
from softfloat_ref.errors import Undefined
from softfloat_ref.exact import Value

_SPREADS: Final = (1, 2, 4, 8, 12, 16, 24, 40)
_TRIES: Final = 64


class BlockModel(ABC):
    """A coverage model of quantization; as coverage.model.Model, for blocks."""

    id: str
    title: str

    def applies(self, where: BlockSetting) -> bool:
        """Whether the model says anything of a format under a profile."""
        return True

    @abstractmethod
    def bins(self, where: BlockSetting) -> tuple[Bin, ...]:
        """The bins, in a fixed order."""

    @abstractmethod
    def hits(self, e: BlockEvents) -> Iterable[str]:
        """The names of the bins a block hits."""

    @abstractmethod
    def cases(self, where: BlockSetting, name: str) -> Iterator[Line]:
        """Codes of values for a bin, most of which hit it."""


def filled(where: BlockSetting, first: Sequence[int], rest: int = 0) -> Line:
    """A block that starts so; the rest is one code."""
    size = where.fmt.size
    return (*first, *[rest] * size)[:size]


def shrunk(where: BlockSetting, magnitude: int) -> list[int]:
    """Codes below a magnitude's: of other significands and signs, ever smaller."""
    m, sign = where.values.mantissa_bits, where.values.sign_bit
    steps = (magnitude - (i * 0x2545F491 % (1 << m)) - (i // 3 << m) for i in range(1, where.fmt.size))
    return [max(x, 0) | (sign if i % 3 == 1 else 0) for i, x in enumerate(steps)]


class ScaleThresholds(BlockModel):
    """BS: the scale, at the ends of the stretch of largest magnitudes that gives it, and within."""

    id = "BS"
    title = "the scale: largest magnitudes at, just below and just above each threshold of the rule"

    def bins(self, where: BlockSetting) -> tuple[Bin, ...]:
        """First, last and other magnitudes of every scale that some block has."""
        return tuple(Bin(name, self._never(where, name)) for name in self._names(where))

    def _names(self, where: BlockSetting) -> dict[str, tuple[int, int]]:
        known = where.memo.get(self.id)
        if known is None:
            known = {}
            for s in where.stretches:
                ends = (("first", s.first, s.first), ("last", s.last, s.last), ("inside", s.first + 1, s.last - 1))
                known |= {f"BS/{s.scale:02x}.{at}": (low, high) for at, low, high in ends}
            where.memo[self.id] = known
        assert isinstance(known, dict)
        return known

    def _never(self, where: BlockSetting, name: str) -> str:
        low, high = self._names(where)[name]
        return "no largest magnitude lies between the two" if low > high else ""

    def hits(self, e: BlockEvents) -> Iterable[str]:
        """The stretch's bin of a block without specials."""
        if not e.plain or e.amax is None:
            return
        stretch = next((s for s in e.where.stretches if s.first <= e.amax_code <= s.last), None)
        if stretch is not None:
            at = "first" if e.amax_code == stretch.first else "last" if e.amax_code == stretch.last else ""
            if stretch.first == stretch.last:
                yield f"BS/{stretch.scale:02x}.last"
            yield f"BS/{stretch.scale:02x}.{at or 'inside'}"

    def cases(self, where: BlockSetting, name: str) -> Iterator[Line]:
        """The magnitude in each lane in turn, of either sign, smaller values around it."""
        low, high = self._names(where)[name]
        size, sign = where.fmt.size, where.values.sign_bit if where.values.signed else 0
        for turn in range(_TRIES if low <= high else 0):
            amax = low + turn * 0x9E3779B1 % (high - low + 1)
            others = shrunk(where, amax)
            lane = turn * 7 % size
            yield (*others[:lane], amax | (sign if turn & 1 else 0), *others[lane:])


class OtherRules(BlockModel):
    """BR: thresholds of every rule of the kind, the profile's or not: what tells the rules apart."""

    id = "BR"
    title = "largest magnitudes at, just below and just above the thresholds of each scale rule"

    def _names(self, where: BlockSetting) -> dict[str, int]:
        known = where.memo.get(self.id)
        if known is None:
            known = {}
            top = where.values.max_code >> where.values.mantissa_bits
            one = where.code(exact.finite(0, 1, 0)) >> where.values.mantissa_bits
            for rule, (label, binade) in product(where.rules, (("low", 1), ("one", one), ("high", top - 1))):
                for i, threshold in enumerate(where.thresholds(rule, binade)[:2]):
                    for step, at in ((-1, "below"), (0, "at"), (1, "above")):
                        known[f"BR/{rule}.{label}{i}.{at}"] = threshold + step
            where.memo[self.id] = known
        assert isinstance(known, dict)
        return known

    def bins(self, where: BlockSetting) -> tuple[Bin, ...]:
        """Two thresholds at most of each rule in the lowest normal binade, that of one, and the highest but one."""
        return tuple(Bin(name) for name in self._names(where))

    def hits(self, e: BlockEvents) -> Iterable[str]:
        """The thresholds that the largest magnitude is at."""
        if e.plain and e.amax is not None:
            yield from (name for name, amax in self._names(e.where).items() if amax == e.amax_code)

    def cases(self, where: BlockSetting, name: str) -> Iterator[Line]:
        """That magnitude first, or last, smaller ones around it."""
        amax = self._names(where)[name]
        yield (amax, *shrunk(where, amax))
        yield (*shrunk(where, amax), amax)


class Contents(BlockModel):
    """BC: kinds of blocks."""

    id = "BC"
    title = "what a block holds: zeros, subnormals, specials, mixtures, spread"

    def _wanted(self, where: BlockSetting) -> dict[str, str]:
        """Why a bin cannot be hit, by name."""
        fmt = where.values
        no_zero = "" if fmt.negative_zero else "no negative zero"
        no_sub = "" if fmt.subnormals == "gradual" and fmt.mantissa_bits else "no subnormals"
        if where.policy.flush_inputs and not no_sub:
            no_sub = "subnormals are read as zeros"
        no_inf, no_nan = "" if fmt.infinity else "no infinity", "" if fmt.has_nan else "no NaN"
        wide = fmt.emax - (fmt.emin - fmt.mantissa_bits)
        found = {"zeros": "", "negative-zeros": no_zero, "zeros-of-both-signs": no_zero, "one-value": "", "equal": ""}
        found |= {"largest-of-both-signs": "", "largest-negative": "", "negative": "", "all-largest": ""}
        found |= {"subnormals": no_sub, "subnormals-and-normals": no_sub}
        found |= {"nan": no_nan, "nans": no_nan, "nan-and-zeros": no_nan, "inf": no_inf, "neg-inf": no_inf}
        found |= {"infs-of-both-signs": no_inf, "infs": no_inf, "nan-and-inf": no_nan or no_inf}
        found |= {f"spread{n}": "" if n <= wide else "the format's range is smaller" for n in _SPREADS}
        return {f"BC/{name}": why for name, why in found.items()}

    def bins(self, where: BlockSetting) -> tuple[Bin, ...]:
        """Some twenty kinds, and binades between the smallest and the largest."""
        return tuple(Bin(name, why) for name, why in self._wanted(where).items())

    def hits(self, e: BlockEvents) -> Iterable[str]:
        """The kinds a block is of."""
        return (f"BC/{name}" for name in _contents(e))

    def cases(self, where: BlockSetting, name: str) -> Iterator[Line]:
        """Blocks made so."""
        for found in _made(where, name.partition("/")[2]):
            if len(found) == where.fmt.size:
                yield found


def _contents(e: BlockEvents) -> Iterator[str]:
    values, zeros = e.values, [x for x in e.values if x.is_zero]
    finite = [x for x in values if x.kind == FINITE and x.significand]
    if len(zeros) == len(values):
        signs = {x.sign for x in zeros}
        yield "zeros" if signs == {0} else "negative-zeros" if signs == {1} else "zeros-of-both-signs"
    if NAN in e.kinds:
        nans = sum(x.kind == NAN for x in values)
        yield "nans" if nans == len(values) else "nan"
        if INF in e.kinds:
            yield "nan-and-inf"
        elif not finite and nans < len(values):
            yield "nan-and-zeros"
    elif INF in e.kinds:
        signs = {x.sign for x in values if x.kind == INF}
        yield "infs-of-both-signs" if len(signs) == 2 else "neg-inf" if signs == {1} else "inf"
        if FINITE not in e.kinds:
            yield "infs"
    elif finite:
        yield from _of_numbers(e, finite)


def _of_numbers(e: BlockEvents, finite: list[Value]) -> Iterator[str]:
    fmt, amax = e.where.values, max(finite, key=lambda x: (exact.top(x), x.significand << 4096 >> x.significand.bit_length()))
    alike = [x for x in finite if exact.compare(exact.magnitude(x), exact.magnitude(amax)) == 0]
    if len(finite) == 1:
        yield "one-value"
    if len(alike) == len(e.values):
        yield "equal"
        if e.amax_code == fmt.max_code:
            yield "all-largest"
    signs = {x.sign for x in alike}
    if len(signs) == 2:
        yield "largest-of-both-signs"
    elif signs == {1}:
        yield "largest-negative"
    if all(x.sign for x in finite):
        yield "negative"
    small = [exact.top(x) < fmt.emin for x in finite]
    if all(small):
        yield "subnormals"
    elif any(small):
        yield "subnormals-and-normals"
    spread = exact.top(amax) - min(map(exact.top, finite))
    yield from (f"spread{n}" for n in _SPREADS if spread == n)


def _made(where: BlockSetting, name: str) -> Iterator[Line]:
    fmt, size = where.values, where.fmt.size
    sign, m = fmt.sign_bit if fmt.signed else 0, fmt.mantissa_bits
    one, least, most = where.code(exact.finite(0, 1, 0)), fmt.min_code, fmt.max_code
    nan, inf = max(fmt.canonical_nan, 0), fmt.inf_code
    ends = (0, size // 2, size - 1)

    def placed(code: int, rest: int) -> Iterator[Line]:
        return ((*[rest] * i, code, *[rest] * (size - 1 - i)) for i in ends)

    def alternating(x: int, y: int) -> Line:
        return tuple(y if i & 1 else x for i in range(size))

    subnormals = [1 + i * 37 % max((1 << m) - 1, 1) for i in range(size)]
    simple = {
        "zeros": [filled(where, [])],
        "negative-zeros": [filled(where, [], sign)],
        "zeros-of-both-signs": [alternating(0, sign), *placed(sign, 0)],
        "one-value": [b for x in (one, most, least, one | sign) for b in placed(x, 0)],
        "equal": [filled(where, [], x) for x in (one, one | sign, one + 1, least)],
        "all-largest": [filled(where, [], most), filled(where, [], most | sign), alternating(most, most | sign)],
        "largest-of-both-signs": [alternating(one + 1, (one + 1) | sign), (one | sign, one, *[least] * (size - 2))],
        "largest-negative": [(*b[:-1], (one + 9) | sign) for b in placed(one, 0)],
        "negative": [filled(where, [one + i | sign for i in range(size)]), filled(where, [least | sign])],
        "subnormals": [tuple(subnormals), tuple(x | sign for x in subnormals), filled(where, [least])],
        "subnormals-and-normals": [(*subnormals[:-1], one), (1 << m, *subnormals[1:]), (most, *subnormals[1:])],
        "nan": [*placed(nan, one), *placed(nan, most), *placed(nan | sign, one | sign)],
        "nans": [filled(where, [], nan)],
        "nan-and-zeros": [*placed(nan, 0), *placed(nan, sign)],
        "inf": [*placed(inf, one), *placed(inf, 0)],
        "neg-inf": [*placed(inf | sign, one), *placed(inf | sign, 0)],
        "infs-of-both-signs": [alternating(inf, inf | sign), (inf, inf | sign, *[one] * (size - 2))],
        "infs": [filled(where, [], inf), filled(where, [], inf | sign)],
        "nan-and-inf": [(nan, inf, *[one] * (size - 2)), (*[one] * (size - 2), inf | sign, nan)],
    }  # fmt: skip
    if name in simple:
        yield from simple[name]
        return
    n = int(name.removeprefix("spread"))
    for top in (one, most, one + (7 << m)):
        x = where.decode(top)
        low = where.code(exact.finite(0, 1, exact.top(x) - n))
        yield (top, *[low] * (size - 1))
        yield (*[low | sign] * (size - 1), top)


class Lanes(BlockModel):
    """BL: no lane goes unseen."""

    id = "BL"
    title = "each lane alone holds the largest value, a NaN, or the only nonzero value"

    def bins(self, where: BlockSetting) -> tuple[Bin, ...]:
        """Three bins a lane."""
        no_nan = "" if where.values.has_nan else "no NaN"
        lanes = range(where.fmt.size)
        named = [(f"BL/{kind}{i}", no_nan if kind == "nan" else "") for kind in ("amax", "alone", "nan") for i in lanes]
        return tuple(Bin(*x) for x in named)

    def hits(self, e: BlockEvents) -> Iterable[str]:
        """The lanes that stand out."""
        special = [i for i, x in enumerate(e.values) if x.kind == NAN]
        if len(special) == 1:
            yield f"BL/nan{special[0]}"
        if not e.plain or e.amax is None:
            return
        largest = [i for i, x in enumerate(e.values) if x.significand and exact.compare(exact.magnitude(x), e.amax) == 0]
        if len(largest) == 1:
            yield f"BL/amax{largest[0]}"
        if sum(not x.is_zero for x in e.values) == 1:
            yield f"BL/alone{largest[0]}"

    def cases(self, where: BlockSetting, name: str) -> Iterator[Line]:
        """The lane against one value everywhere else."""
        kind, lane = name[3:].rstrip("0123456789"), int(name[3:].lstrip("abcdefghijklmnopqrstuvwxyz"))
        one = where.code(exact.finite(0, 3, -1))
        special = {"amax": one + 5, "alone": one, "nan": max(where.values.canonical_nan, 0)}[kind]
        for rest in (0,) if kind == "alone" else (one, 0, one - 3):
            yield (*[rest] * lane, special, *[rest] * (where.fmt.size - 1 - lane))


class Elements(BlockModel):
    """BE: every element code; and how its value was rounded."""

    id = "BE"
    title = "element codes; sign, lsb, guard and sticky of their rounding; saturation, flush, carries"

    def _codes(self, where: BlockSetting) -> dict[str, int]:
        element = where.fmt.element
        return {f"BE/code{c:02x}": c for c in range(1 << element.width)} if element.width <= 8 else {}

    def _rounds(self) -> tuple[str, ...]:
        sizes = ("sub", "norm")
        return tuple(
            f"BE/{size}.{s}.lsb{b}.guard{g}.sticky{t}" for size, s, b, g, t in product(sizes, SIGNS, *[(0, 1)] * 3)
        )

    def bins(self, where: BlockSetting) -> tuple[Bin, ...]:
        """A bin a code where codes are bytes; sixteen a kind of number; and events."""
        codes = tuple(Bin(name, self._no_code(where, c)) for name, c in self._codes(where).items())
        rounds = tuple(Bin(name, self._no_round(where, name)) for name in self._rounds())
        events = tuple(Bin(f"BE/{name}", why) for name, why in self._events(where).items())
        return (*codes, *rounds, *events)

    def _no_code(self, where: BlockSetting, code: int) -> str:
        element, value = where.fmt.element, decoder(where.fmt.element)(code)
        if value.kind != FINITE:
            return "" if code in _special_codes(where) else "no block gives this special code"
        if code == element.sign_bit and value.is_zero:
            kept = where.profile.negative_zero == "keep"
            return "" if kept and where.values.signed else "no element is -0 under this profile"
        t = target(element, where.policy)
        beyond = t.max_negative_code if value.sign else t.max_code
        magnitude = (1 << element.width) - code if element.twos_complement and value.sign else code & element.magnitude_mask
        if value.sign and not where.values.signed:
            return "no value is negative"
        return "" if magnitude <= beyond else "the profile leaves this code out"

    def _no_round(self, where: BlockSetting, name: str) -> str:
        element, size = where.fmt.element, name[3:6]
        if size == "sub" and (element.subnormals != "gradual" or not element.mantissa_bits or element.twos_complement):
            return "elements have no subnormals"
        if "neg" in name and not where.values.signed:
            return "no value is negative"
        if size == "sub" and element.mantissa_bits == 1 and "lsb0" in name and "guard0.sticky0" in name:
            return "that is zero"
        if size == "nor" and element.mantissa_bits == 0 and "lsb0" in name:
            return "a significand of one bit is odd"
        return ""

    def _events(self, where: BlockSetting) -> dict[str, str]:
        limited = _can_saturate(where)
        fixed = "fixed point has no binades" if where.fmt.element.twos_complement else ""
        subnormal = fixed or ("" if where.fmt.element.mantissa_bits else "no subnormals")
        signs = [("pos", ""), ("neg", "" if where.values.signed else "no value is negative")]
        found = {}
        for sign, why in signs:
            found[f"saturated.{sign}"] = why or limited
            found[f"to-zero.{sign}"] = why or _goes_down(where, sign == "neg")
            found[f"carry.{sign}"] = why or fixed or _goes_up(where, sign == "neg")
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
        magnitude = (1 << element.width) - code & element.magnitude_mask if element.twos_complement and sign else code & element.magnitude_mask
        if place.code > largest or (place.code == largest and (place.guard or place.sticky) and magnitude == largest):
            yield f"BE/saturated.{name}"
            return
        size = "norm" if element.twos_complement or place.code >= element.min_normal_code else "sub"
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
        sign = 1 if "neg" in name else 0
        for tenths in _fractions(where, name):
            yield from _beside_largest(where, sign, tenths)

    def _for_code(self, where: BlockSetting, code: int) -> Iterator[Line]:
        value = decoder(where.fmt.element)(code)
        if value.kind == FINITE:
            yield from _beside_largest(where, value.sign, [value._replace(sign=0)])
            return
        yield from _special_blocks(where)


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
    known = where.memo.get("specials")
    if known is None:
        known = set()
        for line in _special_blocks(where):
            try:
                known |= set(BlockEvents(where, (*line, *_tail(where))).result[1])
            except Undefined:
                continue
        if where.fmt.scale.has_nan and where.profile.scale_high == "nan":
            known.add(special_element(where.fmt, where.policy))
        where.memo["specials"] = known
    assert isinstance(known, set)
    return known


def _tail(where: BlockSetting) -> Line:
    """What follows the values where nothing is random: a tensor scale of one."""
    return (0x3F800000,) if where.two_levels else ()


def _largest(where: BlockSetting) -> Value:
    element = where.fmt.element
    return exact.finite(0, *element.magnitude(element.max_code))


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


def _ordinary_stretches(where: BlockSetting) -> list[object]:
    stretches = where.stretches
    middle = len(stretches) // 2
    picked = [middle, middle + 1, 3 * len(stretches) // 4, len(stretches) - 1, 0, 1]
    return [stretches[i] for i in dict.fromkeys(picked) if i < len(stretches)]


def _fractions(where: BlockSetting, name: str) -> Iterator[list[Value]]:
    """Quotients with those last bits: an element, and halves, quarters and 2^-6 of its last place above it."""
    element = where.fmt.element
    steps = [Value(FINITE, 0, n, -6) for n in (0, 1, 16, 31, 32, 33, 48, 63)]
    for code in range(0, element.max_code + 1):
        significand, exponent = element.magnitude(code) if code else (0, element.emin - element.mantissa_bits)
        yield [exact.finite(0, (significand << 6) + n.significand, exponent - 6) for n in steps]
    significand, exponent = element.magnitude(element.max_code)
    yield [exact.finite(0, (significand << 6) + n, exponent - 6) for n in (1, 16, 33, 63, 64, 127)]


def _can_saturate(where: BlockSetting) -> str:
    """'' where some stretch's last magnitude lies beyond scale times the largest element."""
    most = _largest(where)
    for s in where.stretches:
        factor = decoder(where.fmt.scale)(s.scale)
        if factor.kind == FINITE and exact.compare(where.decode(s.last), exact.multiply(factor, most)) > 0:
            return ""
    return "no value lies beyond scale times the largest element"


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


class Clamps(BlockModel):
    """BK: scales at the ends of the scale format."""

    id = "BK"
    title = "scales held at the ends of the scale format, and blocks that vanish there"

    def bins(self, where: BlockSetting) -> tuple[Bin, ...]:
        """Low, low with every element zero, high, and NaN from a finite block."""
        names = ("low", "low-all-zero", "high", "nan")
        return tuple(Bin(f"BK/{n}", "" if self._example(where, n) is not None else "no block does that") for n in names)

    def _example(self, where: BlockSetting, name: str) -> int | None:
        """A largest magnitude that does it: one at an end of a stretch, since each end is a threshold's."""
        known = where.memo.setdefault(self.id, {})
        assert isinstance(known, dict)
        if name not in known:
            ends = [x for s in where.stretches for x in (s.first, s.last)]
            chosen = ends[:8] + ends[-8:] + [1, 2, 3]
            hits = (x for x in chosen if f"BK/{name}" in self.hits(BlockEvents(where, (*filled(where, [x]), *_tail(where)))))
            known[name] = next(hits, None)
        found = known[name]
        assert found is None or isinstance(found, int)
        return found

    def hits(self, e: BlockEvents) -> Iterable[str]:
        """What the largest magnitude asked for, against what there is."""
        found = list[str]()
        if not e.plain or e.amax is None:
            return found
        where, scale = e.where, decoder(e.where.fmt.scale)(e.scale)
        if scale.kind == NAN:
            return ["BK/nan"]
        if scale.kind != FINITE:
            return found
        most = exact.multiply(scale, _largest(where)) if scale.significand else scale
        if e.scale == where.lowest and exact.compare(exact.multiply(most, exact.finite(0, 1, -1)), e.amax) > 0:
            found.append("BK/low")
            if all(decoder(where.fmt.element)(c).is_zero for c in e.result[1]):
                found.append("BK/low-all-zero")
        if e.scale == where.stretches[-1].scale and exact.compare(e.amax, exact.multiply(most, exact.finite(0, 2, 0))) > 0:
            found.append("BK/high")
        return found

    def cases(self, where: BlockSetting, name: str) -> Iterator[Line]:
        """The example, alone and with smaller values."""
        amax = self._example(where, name[3:])
        if amax is not None:
            yield filled(where, [amax])
            yield (amax, *shrunk(where, amax))
            sign = where.values.sign_bit if where.values.signed else 0
            yield filled(where, [], amax | sign)


BLOCK_MODELS: Final[dict[str, BlockModel]] = {
    m.id: m for m in (Contents(), ScaleThresholds(), OtherRules(), Clamps(), Elements(), Lanes())
}
