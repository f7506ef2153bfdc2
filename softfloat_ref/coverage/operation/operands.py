"""Models of the operands: their classes, significands, exponents, and NaN payloads."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from softfloat_ref.base.errors import Undefined
from softfloat_ref.coverage.classes import coarse, complete, members
from softfloat_ref.coverage.codes import operand
from softfloat_ref.coverage.engine.framework import SIGNS, Bins, Cell, Line, bits, cross, signs_of, word
from softfloat_ref.coverage.operation.reach import span
from softfloat_ref.coverage.operation.setting import OperationEvents, OperationModel, OperationSetting
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, finite
from softfloat_ref.oracle.formats import Format
from softfloat_ref.units.unit import LETTERS

_CLASS_MEMBERS: Final = 64  # members of a class that are crossed with those of other operands
UNDEFINED: Final = "no result is defined under this policy"


def ordinary(fmt: Format, i: int, e: int | None = None, sign: int | None = None) -> int:
    """The i-th ordinary number: of exponent e, or near 1; with mixed significand."""
    if not fmt.exponent_bits:
        width = max(1, 1 + i % max(fmt.mantissa_bits - 1, 1))
        magnitude = min(1 + bits(17, i, width), fmt.max_code)
        return complete(fmt, (sign if sign is not None else i & 1) if fmt.signed else 0, magnitude)
    a = span(fmt)
    e = i % 3 - 1 if e is None else e
    e = min(max(e, a.least), a.most)
    p = min(fmt.precision, e - (fmt.emin - fmt.mantissa_bits) + 1)
    for significand in (1 << (p - 1) | bits(23, i, p - 1), 1 << (p - 1)):
        code = operand(
            fmt, finite((sign if sign is not None else i >> 1 & 1) if fmt.signed else 0, significand, e - p + 1)
        )
        if code is not None:
            return code
    return fmt.min_code


def beside_ordinary(where: OperationSetting, i: int, code: int, turn: int) -> Line:
    """A code as operand i, beside ordinary numbers."""
    others = [ordinary(f, turn + j) for j, f in enumerate(where.formats)]
    return (*others[:i], code, *others[i + 1 :])


class Classes(OperationModel):
    """B1: every class of operand crossed with every other."""

    id = "B1"
    title = "basic types: every class of each operand, crossed"

    def _table(self, where: OperationSetting) -> list[dict[str, tuple[int, ...]]]:
        return [members(f, len(where.formats) > 2) for f in where.formats]

    def bins(self, where: OperationSetting) -> Bins:
        """The crossed classes; with more than three operands, each operand separately."""
        table = self._table(where)
        if len(table) > 3:
            return {(i, name): f"{LETTERS[i]}.{name}" for i, t in enumerate(table) for name in t}
        return {names: ",".join(names) for names in itertools.product(*table)}

    def never(self, where: OperationSetting, cell: Cell) -> str:
        if where.policy.nan_missing != "error":
            return ""
        for codes in self.cases(where, cell):
            try:
                where.run(codes, 0)
            except Undefined:
                continue
            return ""
        return UNDEFINED

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        table = self._table(where)
        if len(table) > 3:
            i, name = cell
            return (beside_ordinary(where, i, code, turn) for turn, code in enumerate(table[i][name]))
        listed = [t[n] for t, n in zip(table, cell, strict=True)]
        return _diagonally(listed if len(listed) == 1 else [x[:_CLASS_MEMBERS] for x in listed])

    def operand_classes(self, where: OperationSetting, cell: Cell) -> Mapping[int, str]:
        return dict(enumerate(cell)) if len(where.formats) <= 3 else dict([cell])

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        classes = tuple(map(coarse, e.classes)) if len(e.classes) > 2 else e.classes
        return enumerate(classes) if len(classes) > 3 else [classes]


def _diagonally(listed: Sequence[Sequence[int]]) -> Iterator[Line]:
    """Every combination; those where all of them change come first."""
    sizes = [len(x) for x in listed]
    seen = set()
    for i in range(max(sizes)):
        codes = tuple(x[i % n] for x, n in zip(listed, sizes, strict=True))
        seen.add(codes)
        yield codes
    yield from (codes for codes in itertools.product(*listed) if codes not in seen)


# -- significand patterns ------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def patterns(m: int) -> dict[str, int]:
    """Significand fields of m bits by name: runs of ones from either end, one bit, all but one bit, alternating."""
    if m == 0:
        return {}
    mask = (1 << m) - 1
    fields = {"zeros": 0, "ones": mask}
    if m >= 4:
        fields["alternating10"] = sum(1 << i for i in range(m - 1, -1, -2))
        fields["alternating01"] = mask ^ fields["alternating10"]
    places = range(1, m) if m <= 24 else sorted({1, 2, 3, m // 4, m // 2, 3 * m // 4, m - 3, m - 2, m - 1})
    for k in places:
        fields[f"leading{k}"] = mask ^ mask >> k
        fields[f"trailing{k}"] = (1 << k) - 1
    for k in {0, *places} if m > 1 else ():
        fields[f"one{k}"] = 1 << k
        fields[f"allbut{k}"] = mask ^ 1 << k
    unique: dict[int, str] = {}
    for name, field in fields.items():
        unique.setdefault(field, name)
    return {name: field for field, name in unique.items()}


@lru_cache(maxsize=64)
def _by_field(m: int) -> dict[int, str]:
    return {field: name for name, field in patterns(m).items()}


def field_name(fmt: Format, code: int) -> str | None:
    """The pattern of a finite normal code's significand field, if it has one."""
    if not fmt.exponent_bits or fmt.is_nan(code):
        return None
    magnitude = code & fmt.magnitude_mask
    if not fmt.min_normal_code <= magnitude <= fmt.max_code:
        return None
    return _by_field(fmt.mantissa_bits).get(magnitude & (1 << fmt.mantissa_bits) - 1)


class Patterns(OperationModel):
    """B9: significand patterns of each operand."""

    id = "B9"
    title = "significand patterns of each operand: runs of ones, one bit, all but one, alternating"

    def applies(self, where: OperationSetting) -> bool:
        return any(f.exponent_bits and f.mantissa_bits and f.has_normals for f in where.formats)

    def bins(self, where: OperationSetting) -> Bins:
        """The patterns that normal numbers of an operand's format can have."""
        return {
            (i, name): f"{LETTERS[i]}.{name}"
            for i, f in enumerate(where.formats)
            if f.exponent_bits and f.has_normals
            for name, field in patterns(f.mantissa_bits).items()
            if any(_is_normal(f, e << f.mantissa_bits | field) for e in range(1 << min(f.exponent_bits, 4)))
        }

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        """The pattern with several exponents and signs, beside ordinary numbers."""
        i, name = cell
        fmt = where.formats[i]
        one = max(ordinary(fmt, 0, 0, 0) & fmt.magnitude_mask, fmt.min_normal_code) >> fmt.mantissa_bits
        for turn in range(24):
            exponent = one + (0, 1, -1, 2, -2, 3)[turn] if turn < 6 else word(5, turn) % (1 << fmt.exponent_bits)
            code = exponent << fmt.mantissa_bits | patterns(fmt.mantissa_bits)[name] if exponent >= 0 else -1
            if _is_normal(fmt, code):
                code |= fmt.sign_bit if turn & 1 else 0
                yield beside_ordinary(where, i, code, word(7, turn) % 1000)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        return ((i, field_name(f, code)) for i, (f, code) in enumerate(zip(e.where.formats, e.codes, strict=True)))


def _is_normal(fmt: Format, magnitude: int) -> bool:
    return fmt.min_normal_code <= magnitude <= fmt.max_code


# -- exponents of one operand --------------------------------------------------------------------------------------


class OperandExponents(OperationModel):
    """B22, B28: the operand's exponent, for results in units of integers."""

    LOW: Final = -3

    def __init__(self, name: str, title: str) -> None:
        self.id = name
        self.title = title

    def applies(self, where: OperationSetting) -> bool:
        """B22: conversions of floats to integers; B28: roundings to integral values."""
        if self.id == "B28":
            return where.integral and not where.modular
        return where.to_integer and where.formats[0].exponent_bits > 0

    def _high(self, where: OperationSetting) -> int:
        fraction = where.formats[0].mantissa_bits
        if where.modular:  # as long as a bit of the operand is among the result's
            return where.out.width + fraction + 2
        return (where.out.width if self.id == "B22" else fraction) + 2

    def bins(self, where: OperationSetting) -> Bins:
        """Each exponent from -3 to 3 beyond the last that has a fraction, or that fits, or leaves a bit of the result;
        and those below and above."""
        low, high = self.LOW, self._high(where)
        exponents = {e: f"2^{e}" for e in range(low, high + 1)}
        named = {low - 1: f"below2^{low}", **exponents, high + 1: f"above2^{high}"}
        return cross("{sign}.{exponent}", sign=signs_of(where.formats[0]), exponent=named)

    def never(self, where: OperationSetting, cell: Cell) -> str:
        e, a = cell[1], span(where.formats[0], where.flushes)
        outside = (a.least > e and e <= self._high(where)) or (a.most < e and e >= self.LOW)
        return "the operand's format has no such exponent" if outside else ""

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        sign, e = cell
        below, above = e < self.LOW, e > self._high(where)
        for i in range(16):
            far = word(3, i) % 40 if below or above else 0
            yield (ordinary(where.formats[0], i, e - far if below else e + far, sign),)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        x = e.operands[0]
        if x.kind == FINITE and x.significand:
            yield x.sign, min(max(exact.top(x), self.LOW - 1), self._high(e.where) + 1)


class IntegerEnds(OperationModel):
    """B25: the ends of the range, as operands of conversions of integers."""

    id = "B25"
    title = "conversion of integers: 0, +-1, +-2 and the ends of the range"

    def applies(self, where: OperationSetting) -> bool:
        return where.converts and where.formats[0].is_integer

    def bins(self, where: OperationSetting) -> Bins:
        fmt, bins = where.formats[0], Bins()
        for sign in signs_of(fmt):
            most = fmt.max_negative_code if sign else fmt.max_code
            ends = {"one": 1, "max": most, "max-1": most - 1, "two": 2}
            bins |= {(sign, x, name): f"{SIGNS[sign]}.{name}" for name, x in ends.items() if 0 < x <= most}
        return {(0, 0, "zero"): "zero", **bins}

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        yield (complete(where.formats[0], *cell[:2]),)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """By the magnitude of the operand, which may have several names."""
        x = e.operands[0]
        return ((x.sign if x.significand else 0, x.significand, n) for n in ("zero", "one", "max", "max-1", "two"))


class IntegerLengths(IntegerEnds):
    """B26: the lengths of operands of conversions of integers."""

    id = "B26"
    title = "conversion of integers: every number of significant bits"

    def bins(self, where: OperationSetting) -> Bins:
        fmt, bins = where.formats[0], Bins()
        for sign in signs_of(fmt):
            most = fmt.max_negative_code if sign else fmt.max_code
            bins |= cross("{sign}.bits{k}", sign={sign: SIGNS[sign]}, k=range(1, most.bit_length() + 1))
        return bins

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        """The smallest number of as many bits, the largest, and others."""
        (sign, k), fmt = cell, where.formats[0]
        yield (complete(fmt, sign, 1 << (k - 1)),)
        for i in range(12):
            magnitude = 1 << (k - 1) | ((1 << (k - 1)) - 1 if i == 0 else bits(11, i, k - 1))
            if magnitude <= (fmt.max_negative_code if sign else fmt.max_code):
                yield (complete(fmt, sign, magnitude),)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        return [(e.operands[0].sign, e.operands[0].significand.bit_length())]


class NanNarrowing(OperationModel):
    """B27: NaN payloads in conversions."""

    id = "B27"
    title = "NaN operands of conversions: quiet and signalling, the payload's ends and what a narrower format keeps"

    def applies(self, where: OperationSetting) -> bool:
        return where.converts and where.formats[0].signaling

    def bins(self, where: OperationSetting) -> Bins:
        fmt, bins = where.formats[0], Bins()
        lost, room = fmt.mantissa_bits - max(where.out.mantissa_bits, 1), fmt.mantissa_bits - 1
        payloads = {"zero": 0, "lowest": 1, "highest": 1 << (room - 1), "ones": (1 << room) - 1}
        if lost > 0:
            payloads |= {"lost": (1 << lost) - 1, "last-kept": 1 << min(lost, room - 1)}
        quiet = {"quiet": fmt.quiet_bit, "signaling": 0}
        for sign, kind, name in itertools.product(signs_of(fmt), quiet, payloads):
            code = fmt.inf_code | quiet[kind] | payloads[name] | (fmt.sign_bit if sign else 0)
            if fmt.is_nan(code):
                bins.setdefault((code,), f"{SIGNS[sign]}.{kind}.{name}")
        return bins

    def never(self, where: OperationSetting, cell: Cell) -> str:
        return UNDEFINED if where.policy.nan_missing == "error" and not where.out.has_nan else ""

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        yield cell

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        return [e.codes]


class DivideByZero(OperationModel):
    """B21: every class divided by zero."""

    id = "B21"
    title = "division by zero: every class of the dividend, each sign of zero"

    def applies(self, where: OperationSetting) -> bool:
        return where.sig.operation.pole

    def bins(self, where: OperationSetting) -> Bins:
        """The classes crossed with the zeros."""
        *dividends, divisor = (list(members(f)) for f in where.formats)
        zeros = [name for name in divisor if name.endswith(".zero")]
        return {names: ",".join(names) for names in itertools.product(*dividends, zeros)}

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        return _diagonally([members(f)[n] for f, n in zip(where.formats, cell, strict=True)])

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        return [e.classes]


class Flushed(OperationModel):
    """DAZ: subnormal operands under a policy that flushes them."""

    id = "DAZ"
    title = "flushed operands: the smallest, the largest and other subnormals in each place, of each sign"

    def applies(self, where: OperationSetting) -> bool:
        return where.flushes and bool(self.bins(where))

    def bins(self, where: OperationSetting) -> Bins:
        """An operand's position, and its class."""
        return {
            (i, name): f"{LETTERS[i]}.{name}"
            for i, f in enumerate(where.formats)
            for name in members(f)
            if name.endswith("sub")
        }

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        i, name = cell
        codes = members(where.formats[i])[name]
        for turn in range(2 * len(codes)):
            yield beside_ordinary(where, i, codes[turn % len(codes)], turn)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """By the operands' classes, if the others are numbers."""
        return enumerate(e.classes) if e.numbers else ()
