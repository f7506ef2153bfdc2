"""Models of block quantization: what a block holds, its scale at every threshold, its lanes, clamped scales."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Final

from softfloat_ref import exact
from softfloat_ref.codec import decoder
from softfloat_ref.coverage import block_elements, block_stochastic, block_tensor
from softfloat_ref.coverage.block_events import BlockEvents, BlockSetting, Line
from softfloat_ref.coverage.block_model import BlockModel, filled, largest_element, shrunk, with_tensor_scale
from softfloat_ref.coverage.memo import remembered
from softfloat_ref.coverage.model import Bin
from softfloat_ref.exact import FINITE, INF, NAN, Value

_SPREADS: Final = (1, 2, 4, 8, 12, 16, 24, 40)
_TRIES: Final = 64


class ScaleThresholds(BlockModel):
    """BS: the scale, at the ends of the stretch of largest magnitudes that gives it, and within."""

    id = "BS"
    title = "the scale: largest magnitudes at, just below and just above each threshold of the rule"

    def bins(self, where: BlockSetting) -> tuple[Bin, ...]:
        """First, last and other magnitudes of every scale that some block has."""
        return tuple(Bin(name, self._never(where, name)) for name in self._names(where))

    def _names(self, where: BlockSetting) -> dict[str, tuple[int, int]]:
        def make() -> dict[str, tuple[int, int]]:
            found: dict[str, tuple[int, int]] = {}
            for s in where.stretches:
                ends = (("first", s.first, s.first), ("last", s.last, s.last), ("inside", s.first + 1, s.last - 1))
                found |= {f"BS/{s.scale:02x}.{at}": (low, high) for at, low, high in ends}
            return found

        return remembered(where.memo, self.id, make)

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
        return remembered(where.memo, self.id, lambda: dict(self._laid_out(where)))

    def _laid_out(self, where: BlockSetting) -> Iterator[tuple[str, int]]:
        top = where.values.max_code >> where.values.mantissa_bits
        one = where.code(exact.finite(0, 1, 0)) >> where.values.mantissa_bits
        for rule, (label, binade) in product(where.rules, (("low", 1), ("one", one), ("high", top - 1))):
            for i, threshold in enumerate(islice(where.thresholds(rule, binade), 2)):
                for step, at in ((-1, "below"), (0, "at"), (1, "above")):
                    yield f"BR/{rule}.{label}{i}.{at}", threshold + step

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
    fmt, amax = (
        e.where.values,
        max(finite, key=lambda x: (exact.top(x), x.significand << 4096 >> x.significand.bit_length())),
    )
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
        why = {"nan": no_nan, "tie": "" if self._tie(where) else "no block has one"}
        named = [(f"BL/{kind}{i}", why.get(kind, "")) for kind in ("amax", "alone", "nan", "tie") for i in lanes]
        return tuple(Bin(*x) for x in named)

    def _tie(self, where: BlockSetting) -> tuple[int, int] | None:
        """The code of a block's largest value, and of one that lies halfway between two elements, the lower even."""
        return remembered(where.memo, "BL.tie", lambda: block_elements.some_tie(where))

    def hits(self, e: BlockEvents) -> Iterable[str]:
        """The lanes that stand out."""
        special = [i for i, x in enumerate(e.values) if x.kind == NAN]
        if len(special) == 1:
            yield f"BL/nan{special[0]}"
        if not e.plain or e.amax is None:
            return
        for i, place in enumerate(e.places):
            if place is not None and place.guard and not place.sticky and not place.kept & 1:
                yield f"BL/tie{i}"
        largest = [
            i for i, x in enumerate(e.values) if x.significand and exact.compare(exact.magnitude(x), e.amax) == 0
        ]
        if len(largest) == 1:
            yield f"BL/amax{largest[0]}"
        if sum(not x.is_zero for x in e.values) == 1:
            yield f"BL/alone{largest[0]}"

    def cases(self, where: BlockSetting, name: str) -> Iterator[Line]:
        """The lane against one value everywhere else."""
        kind, lane = name[3:].rstrip("0123456789"), int(name[3:].lstrip("abcdefghijklmnopqrstuvwxyz"))
        one = where.code(exact.finite(0, 3, -1))
        if kind == "tie":
            amax, tie = self._tie(where) or (0, 0)
            beside = (lane + 1) % where.fmt.size
            for x in (tie, tie | where.values.sign_bit if where.values.signed else tie):
                yield tuple(x if i == lane else amax if i == beside else 0 for i in range(where.fmt.size))
            return
        special = {"amax": one + 5, "alone": one, "nan": max(where.values.canonical_nan, 0)}[kind]
        for rest in (0,) if kind == "alone" else (one, 0, one - 3):
            yield (*[rest] * lane, special, *[rest] * (where.fmt.size - 1 - lane))


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
        return remembered(where.memo, f"BK/{name}", lambda: self._find(where, name))

    def _find(self, where: BlockSetting, name: str) -> int | None:
        ends = [x for s in where.stretches for x in (s.first, s.last)]
        for amax in ends[:8] + ends[-8:] + [1, 2, 3]:
            if f"BK/{name}" in self.hits(BlockEvents(where, with_tensor_scale(where, filled(where, [amax])))):
                return amax
        return None

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
        most = exact.multiply(scale, largest_element(where)) if scale.significand else scale
        if e.scale == where.lowest and exact.compare(exact.multiply(most, exact.finite(0, 1, -1)), e.amax) > 0:
            found.append("BK/low")
            if all(decoder(where.fmt.element)(c).is_zero for c in e.result[1]):
                found.append("BK/low-all-zero")
        if (
            e.scale == where.stretches[-1].scale
            and exact.compare(e.amax, exact.multiply(most, exact.finite(0, 2, 0))) > 0
        ):
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
    m.id: m
    for m in (
        Contents(),
        ScaleThresholds(),
        OtherRules(),
        Clamps(),
        block_elements.Elements(),
        Lanes(),
        block_tensor.TensorScales(),
        block_stochastic.ElementCarry(),
    )
}
