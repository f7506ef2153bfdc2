"""Models of a dot product's operands: lanes, codes, special values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from softfloat_ref.coverage.classes import class_of, coarse, members
from softfloat_ref.coverage.codes import nearest
from softfloat_ref.coverage.dot.setting import DotEvents, DotModel, DotSetting
from softfloat_ref.coverage.engine.framework import SIGNS, Bins, Cell, Line, cross
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, INF, NAN
from softfloat_ref.oracle.formats import Format

NO_MINUS = "no product is negative"


class DotLanes(DotModel):
    """DL: every lane is tested."""

    id = "DL"
    title = "each lane alone; with a NaN; each block's scales alone"

    def bins(self, where: DotSetting) -> Bins:
        """A kind, a lane, and the product's sign; or a kind, an operand, and a lane or block."""
        lanes = range(where.k)
        bins = {(kind, i, s): f"{kind}{i}.{SIGNS[s]}" for kind, s, i in product(["alone"], SIGNS, lanes)}
        for side, x in where.sides.items():
            bins |= cross("{kind}.{side}{lane}", kind=["nan"], side=side, lane=lanes)
            blocks = len(x.scales)
            bins |= cross("{kind}.{side}{block}", kind=["scale"], side=side, block=range(blocks if blocks > 1 else 0))
        return bins

    def never(self, where: DotSetting, cell: Cell) -> str:
        kind, lane, sign = cell
        if kind == "alone":
            return NO_MINUS if sign and not where.negative else ""
        return "no NaN" if kind == "nan" and not where.sides[lane].fmt.has_nan else ""

    def hits(self, e: DotEvents) -> Iterable[Cell]:
        alone = [(i, t.value) for i, t in enumerate(e.terms) if t.value.kind != FINITE or t.value.significand]
        if len(alone) == 1:
            i, value = alone[0]
            yield "alone", i, value.sign if value.kind == FINITE else None
        for side, x in (("a", e.a), ("b", e.b)):
            nans = [i for i, code in enumerate(x.codes) if class_of(x.fmt, code)[1:] == "nan"]
            if len(nans) == 1:
                yield "nan", side, nans[0]
            if len(set(x.scales)) == 2:
                yield from (("scale", side, j) for j, s in enumerate(x.scales) if x.scales.count(s) == 1)

    def cases(self, where: DotSetting, cell: Cell) -> Iterator[Line]:
        """One lane among zeros, or ones; one block's scale among different ones."""
        if cell[0] == "alone":
            _, lane, sign = cell
            for c in (0, where.addend(0, 1, 0) or 0):
                yield where.line({lane: where.signed(where.one, sign)}, c)
            return
        kind, letter, lane = cell
        side, i = where.sides[letter], int(letter == "b")
        if kind == "nan":
            yield where.line({lane: where.beside_one(letter, side.fmt.canonical_nan)}, 0, where.one)
            return
        assert side.scale_fmt is not None
        plain = list(where.line({}, 0, where.one))
        at = lane + (len(where.a.scales) + where.k) * i
        for step in (1, 3, -2):
            plain[at] = nearest(side.scale_fmt, exact.finite(0, 1, step))
            yield tuple(plain)


class Codes(DotModel):
    """DE: every code of elements and scales of up to 8 bits, in a product that is not zero; classes of c."""

    id = "DE"
    title = "element and scale codes, beside a nonzero finite factor; classes of c"

    def bins(self, where: DotSetting) -> Bins:
        """A field, and its code; c, and its class."""
        bins = Bins()
        for side, x in where.sides.items():
            bins |= cross("{side}.{code:02x}", side=side, code=range(1 << x.fmt.width if x.fmt.width <= 8 else 0))
            if x.scale_fmt is not None and x.scale_fmt.width <= 8:
                bins |= cross("{side}.{code:02x}", side=[f"{side}-scale"], code=range(1 << x.scale_fmt.width))
        return bins | cross("{c}.{name}", c="c", name=list(members(where.c)))

    def hits(self, e: DotEvents) -> Iterable[Cell]:
        """The codes whose other factor is a nonzero number, under scales that are numbers."""
        counts = [[_is_number(x.fmt, code) for code in x.codes] for x in (e.a, e.b)]
        for side, x, other in (("a", e.a, counts[1]), ("b", e.b, counts[0])):
            yield from {(side, code) for code, good in zip(x.codes, other, strict=True) if good}
        if any(x and y for x, y in zip(*counts, strict=True)):
            yield from {(side, code) for side, x in (("a-scale", e.a), ("b-scale", e.b)) for code in x.scales}
        yield "c", class_of(e.where.c, e.c)

    def cases(self, where: DotSetting, cell: Cell) -> Iterator[Line]:
        match cell:
            case "c", name:
                for c in members(where.c)[name]:
                    yield where.line({}, c, where.one)
            case "a-scale", code:
                yield where.line({}, 0, where.one, (code, None))
            case "b-scale", code:
                yield where.line({}, 0, where.one, (None, code))
            case side, code:
                yield where.line({code % where.k: where.beside_one(side, code)})


def _is_number(fmt: Format, code: int) -> bool:
    return coarse(class_of(fmt, code)).endswith((".sub", ".norm"))


class SpecialOperands(DotModel):
    """DX: each class of a with each class of b, and each kind of sum with each class of c."""

    id = "DX"
    title = "classes of a factor crossed with the other's; classes of c crossed with what the products are"

    def bins(self, where: DotSetting) -> Bins:
        """The classes that the formats have."""
        left, right, c = (list(members(x, True)) for x in (where.a.fmt, where.b.fmt, where.c))
        kinds = ("zero", "finite", "nan", "inf", "neg-inf", "infs")
        pairs = cross("{a}.{x}.{b}.{y}", a="a", x=left, b="b", y=right)
        return pairs | cross("{c}.{x}.products.{kind}", c="c", x=c, kind=kinds)

    def never(self, where: DotSetting, cell: Cell) -> str:
        formats, kind = (where.a.fmt, where.b.fmt), cell[2] if cell[0] == "c" else ""
        if kind == "nan":
            return "" if any(f.has_nan for f in formats) or self._inf_by_zero(where) is not None else "no NaN"
        if kind not in ("inf", "neg-inf", "infs"):
            return ""
        if not any(f.infinity for f in formats):
            return "no infinity"
        if kind != "inf" and not where.negative:
            return NO_MINUS
        return "one product" if kind == "infs" and where.k == 1 else ""

    def hits(self, e: DotEvents) -> Iterable[Cell]:
        where = e.where
        for x, y in set(zip(e.a.codes, e.b.codes, strict=True)):
            yield "a", coarse(class_of(where.a.fmt, x)), "b", coarse(class_of(where.b.fmt, y))
        values = [t.value for t in e.terms]
        signs = {x.sign for x in values if x.kind == INF}
        if any(x.kind == NAN for x in values):
            kind = "nan"
        elif signs:
            kind = "infs" if len(signs) == 2 else "neg-inf" if signs == {1} else "inf"
        else:
            kind = "finite" if any(x.significand for x in values) else "zero"
        yield "c", coarse(class_of(where.c, e.c)), kind

    def cases(self, where: DotSetting, cell: Cell) -> Iterator[Line]:
        """One such product among zeros, or ones; c beside such products."""
        match cell:
            case _, x, _, y:
                pairs = zip(members(where.a.fmt, True)[x], members(where.b.fmt, True)[y], strict=False)
                for turn, pair in enumerate(pairs):
                    yield where.line({turn * 5 % where.k: pair}, 0, (0, 0) if turn & 1 else where.one)
            case _, x, kind:
                for c in members(where.c, True)[x]:
                    yield where.line(self._products(where, kind), c)

    def _inf_by_zero(self, where: DotSetting) -> tuple[int, int] | None:
        """An infinite element beside a zero: a NaN where there is none among the elements."""
        a, b = where.a.fmt, where.b.fmt
        if a.infinity and b.zero:
            return a.inf_code, 0
        return (0, b.inf_code) if b.infinity and a.zero else None

    def _products(self, where: DotSetting, kind: str) -> dict[int, tuple[int, int]]:
        last, sides = where.k - 1, where.sides
        if kind in ("zero", "finite"):
            return {} if kind == "zero" else {last: where.one}
        if kind == "nan" and not any(side.fmt.has_nan for side in sides.values()):
            return {last: self._inf_by_zero(where) or (0, 0)}
        letter = "a" if (where.a.fmt.has_nan if kind == "nan" else where.a.fmt.infinity) else "b"
        fmt = sides[letter].fmt
        pair = where.beside_one(letter, fmt.canonical_nan if kind == "nan" else fmt.inf_code)
        negative = where.signed(pair, 1) if kind in ("neg-inf", "infs") else pair
        return {0: pair, last: negative} if kind == "infs" else {last // 2: negative}
