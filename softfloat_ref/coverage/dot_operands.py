"""Models of a dot product's operands: lanes, codes, special values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from softfloat_ref import exact
from softfloat_ref.coverage.classes import class_of, coarse, members
from softfloat_ref.coverage.dot_events import DotEvents, DotSetting, Line
from softfloat_ref.coverage.dot_model import DotModel, Names
from softfloat_ref.coverage.model import SIGNS
from softfloat_ref.coverage.nearest import nearest
from softfloat_ref.exact import FINITE, INF, NAN
from softfloat_ref.formats import Format


class Lanes(DotModel):
    """DL: no lane goes unseen."""

    id = "DL"
    title = "each lane alone; with a NaN; each block's scales alone"

    def names(self, where: DotSetting) -> Names:
        """A bin a lane and kind."""
        found, lanes = Names(), range(where.k)
        for sign in SIGNS:
            why = "" if sign == "pos" or where.negative else "no product is negative"
            found |= {f"alone{i}.{sign}": why for i in lanes}
        for side, x in (("a", where.a), ("b", where.b)):
            found |= {f"nan.{side}{i}": "" if x.fmt.has_nan else "no NaN" for i in lanes}
            found |= {f"scale.{side}{j}": "" for j in range(x.blocks if x.blocks > 1 else 0)}
        return found

    def facts(self, e: DotEvents) -> Iterable[str]:
        """The lane that stands out."""
        alone = [t for t in e.terms if t.value.kind != FINITE or t.value.significand]
        if len(alone) == 1 and alone[0].value.kind == FINITE:
            yield f"DL/alone{alone[0].label[1:]}.{SIGNS[alone[0].value.sign]}"
        for side, codes, x in (("a", e.a, e.where.a), ("b", e.b, e.where.b)):
            nans = [i for i, code in enumerate(codes) if class_of(x.fmt, code)[1:] == "nan"]
            if len(nans) == 1:
                yield f"DL/nan.{side}{nans[0]}"
        for side, scales in (("a", e.a_scales), ("b", e.b_scales)):
            odd = [j for j, s in enumerate(scales) if scales.count(s) == 1 and len(set(scales)) == 2]
            if odd and (len(scales) > 2 or odd):
                yield from (f"DL/scale.{side}{j}" for j in odd)

    def cases(self, where: DotSetting, name: str) -> Iterator[Line]:
        """The lane against zeros, or ones; the block's scale against the others'."""
        kind, _, rest = name[3:].partition(".")
        if kind.startswith("alone"):
            for c in (0, where.addend(0, 1, 0) or 0):
                yield where.line({int(kind[5:]): where.signed(where.one, int(rest == "neg"))}, c)
            return
        i, lane = int(rest[0] == "b"), int(rest[1:])
        side = (where.a, where.b)[i]
        if kind == "nan":
            nan = side.fmt.canonical_nan
            pair = (nan, where.one[1]) if i == 0 else (where.one[0], nan)
            yield where.line({lane: pair}, 0, where.one)
            return
        assert side.scale is not None
        plain = list(where.line({}, 0, where.one))
        at = lane + (where.a.blocks + where.k) * i
        for step in (1, 3, -2):
            plain[at] = nearest(side.scale, exact.finite(0, 1, step))
            yield tuple(plain)


class Codes(DotModel):
    """DE: every code of elements and scales of up to 8 bits, in a product that counts; classes of c."""

    id = "DE"
    title = "element and scale codes, beside a nonzero finite factor; classes of c"

    def names(self, where: DotSetting) -> Names:
        """A bin a code, and a class."""
        found = Names()
        for side, x in (("a", where.a), ("b", where.b)):
            found |= {f"{side}.{code:02x}": "" for code in range(1 << x.fmt.width if x.fmt.width <= 8 else 0)}
            if x.scale is not None and x.scale.width <= 8:
                found |= {f"{side}-scale.{code:02x}": "" for code in range(1 << x.scale.width)}
        return found | {f"c.{name}": "" for name in members(where.c)}

    def facts(self, e: DotEvents) -> Iterable[str]:
        """The codes whose other factor is a nonzero number, under scales that are numbers."""
        where = e.where
        counts = [[_is_number(x.fmt, code) for code in codes] for x, codes in ((where.a, e.a), (where.b, e.b))]
        for side, codes, other in (("a", e.a, counts[1]), ("b", e.b, counts[0])):
            yield from {f"DE/{side}.{code:02x}" for code, good in zip(codes, other, strict=True) if good}
        if any(x and y for x, y in zip(*counts, strict=True)):
            for side, scales in (("a", e.a_scales), ("b", e.b_scales)):
                yield from {f"DE/{side}-scale.{code:02x}" for code in scales}
        yield f"DE/c.{class_of(where.c, e.c)}"

    def cases(self, where: DotSetting, name: str) -> Iterator[Line]:
        """The code in some lane, beside one."""
        kind, _, rest = name[3:].partition(".")
        if kind == "c":
            for c in members(where.c)[rest]:
                yield where.line({}, c, where.one)
            return
        code, i = int(rest, 16), int(kind[0] == "b")
        if kind.endswith("scale"):
            yield where.line({}, 0, where.one, (code, None) if i == 0 else (None, code))
            return
        pair = (code, where.one[1]) if i == 0 else (where.one[0], code)
        yield where.line({code % where.k: pair})


def _is_number(fmt: Format, code: int) -> bool:
    return class_of(fmt, code).partition(".")[2] not in ("", "zero", "inf")


class Specials(DotModel):
    """DX: each class of a with each class of b, and each kind of sum with each class of c."""

    id = "DX"
    title = "classes of a factor crossed with the other's; classes of c crossed with what the products are"

    def names(self, where: DotSetting) -> Names:
        """The classes that the formats have."""
        left, right, c = (members(x, True) for x in (where.a.fmt, where.b.fmt, where.c))
        found = {f"a.{x}.b.{y}": "" for x, y in product(left, right)}
        nan = any(x.fmt.has_nan for x in (where.a, where.b)) or self._inf_by_zero(where) is not None
        inf = any(x.fmt.infinity for x in (where.a, where.b))
        zero = {"zero": "", "finite": "", "nan": "" if nan else "no NaN", "inf": "" if inf else "no infinity"}
        zero["neg-inf"] = zero["inf"] or ("" if where.negative else "no product is negative")
        zero["infs"] = zero["neg-inf"] or ("" if where.k > 1 else "one product")
        return found | {f"c.{x}.products.{kind}": why for x, (kind, why) in product(c, zero.items())}

    def facts(self, e: DotEvents) -> Iterable[str]:
        """Classes by lane; the products' kind."""
        where = e.where
        for x, y in set(zip(e.a, e.b, strict=True)):
            yield f"DX/a.{coarse(class_of(where.a.fmt, x))}.b.{coarse(class_of(where.b.fmt, y))}"
        kinds = {(t.value.kind, t.value.sign if t.value.kind == INF else 0) for t in e.terms}
        signs = {s for kind, s in kinds if kind == INF}
        zero = all(t.value.kind == FINITE and not t.value.significand for t in e.terms)
        kind = (
            "infs"
            if len(signs) == 2
            else "neg-inf"
            if signs == {1}
            else "inf"
            if signs
            else "zero"
            if zero
            else "finite"
        )
        if any(k == NAN for k, _ in kinds):
            kind = "nan"
        yield f"DX/c.{coarse(class_of(where.c, e.c))}.products.{kind}"

    def cases(self, where: DotSetting, name: str) -> Iterator[Line]:
        """One such product among zeros, or ones; c beside such products."""
        if name.startswith("DX/a."):
            x, _, y = name[5:].partition(".b.")
            found = zip(members(where.a.fmt, True)[x], members(where.b.fmt, True)[y], strict=False)
            for turn, pair in enumerate(found):
                yield where.line({turn * 5 % where.k: pair}, 0, (0, 0) if turn & 1 else where.one)
            return
        x, _, kind = name[5:].partition(".products.")
        for c, products in product(members(where.c, True)[x], self._products(where, kind)):
            yield where.line(products, c)

    def _inf_by_zero(self, where: DotSetting) -> tuple[int, int] | None:
        """An infinite element beside a zero: a NaN where there is none among the elements."""
        a, b = where.a.fmt, where.b.fmt
        if a.infinity and b.zero:
            return a.inf_code, 0
        return (0, b.inf_code) if b.infinity and a.zero else None

    def _products(self, where: DotSetting, kind: str) -> Iterator[dict[int, tuple[int, int]]]:
        last = where.k - 1
        if kind in ("zero", "finite"):
            yield {} if kind == "zero" else {last: where.one}
            return
        if kind == "nan" and not (where.a.fmt.has_nan or where.b.fmt.has_nan):
            yield {last: self._inf_by_zero(where) or (0, 0)}
            return
        i = int(not (where.a.fmt.has_nan if kind == "nan" else where.a.fmt.infinity))
        fmt = (where.a, where.b)[i].fmt
        special = fmt.canonical_nan if kind == "nan" else fmt.inf_code
        pair = (special, where.one[1]) if i == 0 else (where.one[0], special)
        negative = where.signed(pair, 1) if kind in ("neg-inf", "infs") else pair
        yield {0: pair, last: negative} if kind == "infs" else {last // 2: negative}
