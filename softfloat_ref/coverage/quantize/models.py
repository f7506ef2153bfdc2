"""The models of block quantization: contents of a block, its scale at every threshold, its lanes, clamped scales."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby, islice, product
from typing import Final

from softfloat_ref.coverage.engine.framework import Bins, Cell, Coverage, Line, cross
from softfloat_ref.coverage.quantize.element_carry import ElementCarry
from softfloat_ref.coverage.quantize.elements import Elements, some_tie
from softfloat_ref.coverage.quantize.setting import BlockEvents, BlockModel, BlockSetting
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32
from softfloat_ref.oracle.blocks.scales import largest_magnitude
from softfloat_ref.oracle.blocks.tensor_scales import FP32_ONE
from softfloat_ref.oracle.codec import decoder, encode
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.units import QuantizeUnit

_SPREADS: Final = (1, 2, 4, 8, 12, 16, 24, 40)
_TRIES: Final = 64
_TENSOR_BINADES: Final = 24  # binades below the largest magnitude that a tensor's scale allows
_UNIT_SCALE: Final = ("one",)


class ScaleThresholds(BlockModel):
    """BS: the scale, at the ends of the stretch of largest magnitudes that gives it, and within."""

    id = "BS"
    title = "the scale: largest magnitudes at, just below and just above each threshold of the rule"

    def bins(self, where: BlockSetting) -> Bins:
        """First, last and inner magnitudes of every scale that some block has."""
        return cross("{scale:02x}.{at}", scale=[s.scale for s in where.stretches], at=("first", "last", "inside"))

    def _ends(self, where: BlockSetting, cell: Cell) -> tuple[int, int]:
        """The first and last magnitude of a cell."""
        by_scale = where.once(self.id, lambda: {s.scale: s for s in where.stretches})
        _, low, high = by_scale[cell[0]]
        return {"first": (low, low), "last": (high, high), "inside": (low + 1, high - 1)}[cell[1]]

    def never(self, where: BlockSetting, cell: Cell) -> str:
        low, high = self._ends(where, cell)
        return "no largest magnitude lies between the two" if low > high else ""

    def hits(self, e: BlockEvents) -> Iterable[Cell]:
        """The stretch's bin of a block without specials."""
        if e.plain_amax is None:
            return
        stretches, code = e.where.stretches, e.amax_code
        s = stretches[bisect(stretches, code, key=lambda s: s.first) - 1]
        if s.first < code < s.last:
            yield s.scale, "inside"
        if code == s.first:
            yield s.scale, "first"
        if code == s.last:
            yield s.scale, "last"

    def cases(self, where: BlockSetting, cell: Cell) -> Iterator[Line]:
        """The magnitude in each lane in turn, of either sign, smaller values around it."""
        low, high = self._ends(where, cell)
        for turn in range(_TRIES if low <= high else 0):
            amax = low + turn * 0x9E3779B1 % (high - low + 1)
            others = where.shrunk(amax)
            lane = turn * 7 % where.size
            yield (*others[:lane], amax | (where.sign_bit if turn & 1 else 0), *others[lane:])


class OtherRules(BlockModel):
    """BR: the thresholds of every rule of the kind, on which the rules differ."""

    id = "BR"
    title = "largest magnitudes at, just below and just above the thresholds of each scale rule"

    def bins(self, where: BlockSetting) -> Bins:
        """At most two thresholds of each rule in the lowest normal binade, that of one, and the highest but one."""
        m, bins = where.values.mantissa_bits, Bins()
        binades = {"low": 1, "one": where.one >> m, "high": (where.values.max_code >> m) - 1}
        for rule, (label, binade) in product(where.rules, binades.items()):
            for i, threshold in enumerate(islice(where.thresholds(rule, binade), 2)):
                for step, at in ((-1, "below"), (0, "at"), (1, "above")):
                    bins[threshold + step, rule, label, i, at] = f"{rule}.{label}{i}.{at}"
        return bins

    def hits(self, e: BlockEvents) -> Iterable[Cell]:
        """The thresholds that the largest magnitude is at."""
        by_amax = e.where.once(
            "BR.by_amax", lambda: {k: list(c) for k, c in groupby(sorted(self.bins(e.where)), lambda c: c[0])}
        )
        return by_amax.get(e.amax_code, ()) if e.plain_amax is not None else ()

    def cases(self, where: BlockSetting, cell: Cell) -> Iterator[Line]:
        """That magnitude first, or last, smaller ones around it."""
        yield (cell[0], *where.shrunk(cell[0]))
        yield (*where.shrunk(cell[0]), cell[0])


class Contents(BlockModel):
    """BC: kinds of blocks. A cell is a kind, or a spread in binades."""

    id = "BC"
    title = "what a block holds: zeros, subnormals, specials, mixtures, spread"

    def bins(self, where: BlockSetting) -> Bins:
        """Some twenty kinds, and binades between the smallest and the largest."""
        return cross("{kind}", kind=list(_examples(where))) | cross("{kind}{n}", kind=["spread"], n=_SPREADS)

    def never(self, where: BlockSetting, cell: Cell) -> str:
        fmt = where.values
        if len(cell) == 1:
            return _not_held(where, cell[0])
        return "" if cell[1] <= fmt.emax - (fmt.emin - fmt.mantissa_bits) else "the format's range is smaller"

    def hits(self, e: BlockEvents) -> Iterable[Cell]:
        finite = [x for x in e.values if x.kind == FINITE and x.significand]
        yield from ((kind,) for kind in _kinds_of(e, finite))
        if finite and len(e.values) == sum(x.kind == FINITE for x in e.values):
            tops = [exact.top(x) for x in finite]
            yield "spread", max(tops) - min(tops)

    def cases(self, where: BlockSetting, cell: Cell) -> Iterator[Line]:
        blocks = _examples(where)[cell[0]] if len(cell) == 1 else _spread(where, cell[1])
        return (block for block in blocks if len(block) == where.size)


def _not_held(where: BlockSetting, kind: str) -> str:
    """Why the format of values cannot have a kind of block."""
    fmt = where.values
    if kind in ("negative-zeros", "zeros-of-both-signs"):
        return "" if fmt.negative_zero else "no negative zero"
    if "subnormals" in kind and not (fmt.subnormals == "gradual" and fmt.mantissa_bits):
        return "no subnormals"
    if "subnormals" in kind and where.policy.flush_inputs:
        return "subnormals are read as zeros"
    if "nan" in kind and not fmt.has_nan:
        return "no NaN"
    return "no infinity" if "inf" in kind and not fmt.infinity else ""


def _kinds_of(e: BlockEvents, finite: list[Value]) -> Iterator[str]:
    kinds = {x.kind for x in e.values}
    zeros = {x.sign for x in e.values if x.is_zero}
    if all(x.is_zero for x in e.values):
        yield "zeros" if zeros == {0} else "negative-zeros" if zeros == {1} else "zeros-of-both-signs"
    if NAN in kinds:
        yield "nans" if kinds == {NAN} else "nan"
        if INF in kinds:
            yield "nan-and-inf"
        elif not finite and kinds != {NAN}:
            yield "nan-and-zeros"
    elif INF in kinds:
        signs = {x.sign for x in e.values if x.kind == INF}
        yield "infs-of-both-signs" if len(signs) == 2 else "neg-inf" if signs == {1} else "inf"
        if kinds == {INF}:
            yield "infs"
    elif finite:
        yield from _kinds_of_numbers(e, finite)


def _kinds_of_numbers(e: BlockEvents, finite: list[Value]) -> Iterator[str]:
    fmt, amax = e.where.values, largest_magnitude(finite)
    assert amax is not None
    alike = [x for x in finite if exact.compare(exact.magnitude(x), amax) == 0]
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
    if any(small):
        yield "subnormals" if all(small) else "subnormals-and-normals"


def _examples(where: BlockSetting) -> dict[str, list[Line]]:
    """Blocks of each kind."""
    fmt, size, sign, one = where.values, where.size, where.sign_bit, where.one
    m, least, most = fmt.mantissa_bits, fmt.min_code, fmt.max_code
    nan, inf = max(fmt.canonical_nan, 0), fmt.inf_code

    def placed(code: int, rest: int) -> list[Line]:
        return [where.alone(i, code, rest) for i in (0, size // 2, size - 1)]

    def alternating(x: int, y: int) -> Line:
        return tuple(y if i & 1 else x for i in range(size))

    subnormals = [1 + i * 37 % max((1 << m) - 1, 1) for i in range(size)]
    return {
        "zeros": [where.filled([])],
        "negative-zeros": [where.filled([], sign)],
        "zeros-of-both-signs": [alternating(0, sign), *placed(sign, 0)],
        "one-value": [b for x in (one, most, least, one | sign) for b in placed(x, 0)],
        "equal": [where.filled([], x) for x in (one, one | sign, one + 1, least)],
        "largest-of-both-signs": [alternating(one + 1, (one + 1) | sign), (one | sign, one, *[least] * (size - 2))],
        "largest-negative": [(*b[:-1], (one + 9) | sign) for b in placed(one, 0)],
        "negative": [where.filled([one + i | sign for i in range(size)]), where.filled([least | sign])],
        "all-largest": [where.filled([], most), where.filled([], most | sign), alternating(most, most | sign)],
        "subnormals": [tuple(subnormals), tuple(x | sign for x in subnormals), where.filled([least])],
        "subnormals-and-normals": [(*subnormals[:-1], one), (1 << m, *subnormals[1:]), (most, *subnormals[1:])],
        "nan": [*placed(nan, one), *placed(nan, most), *placed(nan | sign, one | sign)],
        "nans": [where.filled([], nan)],
        "nan-and-zeros": [*placed(nan, 0), *placed(nan, sign)],
        "inf": [*placed(inf, one), *placed(inf, 0)],
        "neg-inf": [*placed(inf | sign, one), *placed(inf | sign, 0)],
        "infs-of-both-signs": [alternating(inf, inf | sign), (inf, inf | sign, *[one] * (size - 2))],
        "infs": [where.filled([], inf), where.filled([], inf | sign)],
        "nan-and-inf": [(nan, inf, *[one] * (size - 2)), (*[one] * (size - 2), inf | sign, nan)],
    }


def _spread(where: BlockSetting, n: int) -> Iterator[Line]:
    """Blocks of n binades."""
    for top in (where.one, where.values.max_code, where.one + (7 << where.values.mantissa_bits)):
        low = where.code(exact.finite(0, 1, exact.top(where.decode(top)) - n))
        yield where.filled([top], low)
        yield where.alone(where.size - 1, top, low | where.sign_bit)


class BlockLanes(BlockModel):
    """BL: every lane is tested."""

    id = "BL"
    title = "each lane alone holds the largest value, a NaN, or the only nonzero value"

    def bins(self, where: BlockSetting) -> Bins:
        return cross("{kind}{lane}", kind=("amax", "alone", "nan", "tie"), lane=range(where.size))

    def never(self, where: BlockSetting, cell: Cell) -> str:
        if cell[0] == "nan" and not where.values.has_nan:
            return "no NaN"
        return "no block has such a tie" if cell[0] == "tie" and not some_tie(where) else ""

    def hits(self, e: BlockEvents) -> Iterable[Cell]:
        nans = [i for i, x in enumerate(e.values) if x.kind == NAN]
        if len(nans) == 1:
            yield "nan", nans[0]
        if e.plain_amax is None:
            return
        yield from (("tie", i) for i, place in enumerate(e.places) if place is not None and place.is_tie)
        largest = [i for i, x in enumerate(e.values) if e.is_largest(x)]
        if len(largest) == 1:
            yield "amax", largest[0]
        if sum(not x.is_zero for x in e.values) == 1:
            yield "alone", largest[0]

    def cases(self, where: BlockSetting, cell: Cell) -> Iterator[Line]:
        kind, lane = cell
        one = where.code(exact.finite(0, 3, -1))
        if kind == "tie":
            amax, tie = some_tie(where) or (0, 0)
            beside = (lane + 1) % where.size
            for x in (tie, tie | where.sign_bit):
                yield tuple(x if i == lane else amax if i == beside else 0 for i in range(where.size))
            return
        special = {"amax": one + 5, "alone": one, "nan": max(where.values.canonical_nan, 0)}[kind]
        for rest in (0,) if kind == "alone" else (one, 0, one - 3):
            yield where.alone(lane, special, rest)


class Clamps(BlockModel):
    """BK: scales at the ends of the scale format."""

    id = "BK"
    title = "scales held at the ends of the scale format, and blocks that vanish there"

    def bins(self, where: BlockSetting) -> Bins:
        """Low, low with every element zero, high, and NaN from a finite block."""
        return cross("{end}", end=("low", "low-all-zero", "high", "nan"))

    def never(self, where: BlockSetting, cell: Cell) -> str:
        return "" if self._example(where, cell) is not None else "no block does that"

    def _example(self, where: BlockSetting, cell: Cell) -> int | None:
        """A largest magnitude for the cell: an end of a stretch, since each end is at a threshold."""
        ends = [x for s in where.stretches for x in (s.first, s.last)]
        listed = (*ends[:8], *ends[-8:], 1, 2, 3)

        def does(amax: int) -> bool:
            return cell in self.hits(BlockEvents(where, where.line(where.filled([amax]))))

        return where.once((self.id, cell), lambda: next(filter(does, listed), None))

    def hits(self, e: BlockEvents) -> Iterable[Cell]:
        """Whether the largest magnitude needs a scale below or above those available, or the scale is NaN."""
        if e.plain_amax is None:
            return
        where, scale = e.where, e.where.factor(e.scale)
        if scale.kind == NAN:
            yield ("nan",)
        if scale.kind != FINITE:
            return
        most = exact.multiply(scale, where.largest_element) if scale.significand else scale
        if e.scale == where.stretches[0].scale and _is_above(most, 1, e.plain_amax):
            yield ("low",)
            if all(decoder(where.element)(c).is_zero for c in e.result[1]):
                yield ("low-all-zero",)
        if e.scale == where.stretches[-1].scale and _is_above(e.plain_amax, 1, most):
            yield ("high",)

    def cases(self, where: BlockSetting, cell: Cell) -> Iterator[Line]:
        amax = self._example(where, cell)
        if amax is not None:
            yield where.filled([amax])
            yield (amax, *where.shrunk(amax))
            yield where.filled([], amax | where.sign_bit)


def _is_above(x: Value, binades: int, y: Value) -> bool:
    """Whether x > y * 2^binades."""
    return exact.compare(x, exact.multiply(y, exact.finite(0, 1, binades))) > 0


class TensorScales(BlockModel):
    """BT: the distance of the block's largest magnitude below the tensor's; other scales than powers of two."""

    id = "BT"
    title = "the second-level scale: binades from the largest value it allows down to the block's largest"

    def applies(self, where: BlockSetting) -> bool:
        return where.two_levels

    def bins(self, where: BlockSetting) -> Bins:
        """A scale of one; each distance, one of them negative, for powers of two and for others."""
        return {_UNIT_SCALE: "one"} | cross("{kind}.{d}", kind=("power", "other"), d=range(-1, _TENSOR_BINADES + 1))

    def hits(self, e: BlockEvents) -> Iterable[Cell]:
        if e.tensor_scale == FP32_ONE:
            yield _UNIT_SCALE
        s = e.factor.significand
        if e.amax is not None and e.factor.kind == FINITE and s:
            kind = "other" if s & (s - 1) else "power"
            yield kind, exact.top(_allowed(e.where, e.factor)) - exact.top(e.amax)

    def cases(self, where: BlockSetting, cell: Cell) -> Iterator[Line]:
        """A block, and tensor scales of about that distance."""
        for amax in (where.one, where.one + 1, where.one + 3 * (1 << where.values.mantissa_bits) - 1):
            block = where.filled([amax, *where.shrunk(amax)])
            if cell == _UNIT_SCALE:
                yield (*block, FP32_ONE)
                continue
            kind, distance = cell
            unit = exact.top(where.decode(amax)) - exact.top(_allowed(where, exact.finite(0, 1, 0)))
            for step in (-1, 0, 1):
                significand, bits = (1, 0) if kind == "power" else (0xB504F3, 23)
                factor = exact.finite(0, significand, unit + distance + step - bits)
                yield (*block, encode(factor, FP32).bits)


def _allowed(where: BlockSetting, factor: Value) -> Value:
    """The largest value under a tensor scale: the product of the largest scale and the largest element."""
    scale = exact.finite(0, *where.scale.magnitude(where.scale.max_code))
    return exact.multiply(exact.multiply(factor, scale), where.largest_element)


BLOCK_MODELS: Final[tuple[BlockModel, ...]] = (
    Contents(),
    ScaleThresholds(),
    OtherRules(),
    Clamps(),
    Elements(),
    BlockLanes(),
    TensorScales(),
    ElementCarry(),
)


@lru_cache(maxsize=64)
def quantization(unit: QuantizeUnit) -> Coverage:
    """The coverage of a block quantizer."""
    return Coverage(BlockSetting(unit), BLOCK_MODELS)
