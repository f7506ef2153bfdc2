"""Operands for a wanted exact result: candidates by construction, each to be checked with the exact model; or a proof
that there are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from softfloat_ref.base.search import first_that
from softfloat_ref.coverage.classes import complete
from softfloat_ref.coverage.codes import below, near, operand
from softfloat_ref.coverage.engine.framework import Line, significands, word
from softfloat_ref.coverage.operation.curves import on_curve
from softfloat_ref.coverage.operation.factors import no_pair, pairs, product_between, quotient
from softfloat_ref.coverage.operation.reach import excluded, inside, precisions, refined, span, terms_of
from softfloat_ref.coverage.operation.setting import MONOTONE, OperationSetting
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, Value, finite
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import formula as formulas
from softfloat_ref.oracle.operations.formula import Formula

TRIES: Final = 24


def solve(where: OperationSetting, region: Value, seed: int = 0) -> Iterator[Line]:
    """Candidates for operands whose exact result lies in a region. seed: other numbers give other ones.

    Where `where.unary` holds, as of roots, all operands are found, or a selection of all.
    """
    if where.curve is not None:
        return on_curve(where, region, seed)
    solver = _SOLVERS.get(where.formula) if where.formula is not None else None
    return iter(()) if solver is None else solver(where, region, seed)


# -- one operand: the operation is monotone, so the code is found by bisection -----------------------------------------


def _unary(where: OperationSetting, region: Value, seed: int) -> Iterator[Line]:
    fmt, formula = where.formats[0], where.formula
    assert formula is not None
    sign, falling = region.sign, formula.divisor is not None
    if sign and (not fmt.signed or formula.root):
        return
    low = max(fmt.min_code, 1 if fmt.zero else 0)
    if where.flushes and fmt.subnormals == "gradual" and not fmt.twos_complement:
        low = max(low, fmt.min_normal_code)
    high = fmt.max_negative_code if sign else fmt.max_code
    if fmt.symmetric and sign:
        high += 1
    if where.converts:
        first, last = _codes_inside(fmt, region)
        first, last = max(first, low), min(last, high)
    else:
        first, last = _ends(where, region, *_bracket(where, formula, region, low, high))
    count = abs(last - first) + 1
    listed = [first, last, (first + last) // 2] if count > 2 * TRIES else []
    listed += [min(first, last) + word(seed, i) % count for i in range(TRIES)] if listed else []
    step = 1 if not falling else -1
    for code in dict.fromkeys((*listed, *range(first, first + 2 * TRIES * step, step))):
        if low <= code <= high:
            codes = (complete(fmt, sign, code),)
            if inside(where.exactly(codes), region):
                yield codes
            elif not listed:
                return


def _codes_inside(fmt: Format, region: Value) -> tuple[int, int]:
    """The first and the last magnitude code whose values may lie in a region."""
    code, _ = below(fmt, finite(region.sign, region.significand, region.exponent))
    if not region.sticky:
        return code, code
    last, end = below(fmt, finite(region.sign, region.significand + 1, region.exponent))
    return code + 1, last - end


def _bracket(where: OperationSetting, formula: Formula, region: Value, low: int, high: int) -> tuple[int, int]:
    """Magnitude codes between which all lie whose result may be in a region, and one more to each side."""
    fmt, codes = where.formats[0], []
    for significand in (region.significand, region.significand + region.sticky):
        x = finite(0, significand, region.exponent)
        if significand == 0 and formula.divisor is not None:
            codes.append(high)
            continue
        if formula.root:
            x = exact.multiply(x, x)
        if formula.divisor is not None:
            x = exact.divide(finite(0, 1, 0), x, 2 * fmt.precision)
        codes.append(below(fmt, x)[0])
    a, b = (min(max(code, low), high) for code in (min(codes) - 1, max(codes) + 2))
    return a, b


def _ends(where: OperationSetting, region: Value, low: int, high: int) -> tuple[int, int]:
    """The first and the last code, in the results' order, whose results are neither below nor above a region."""
    falling = where.formula is not None and where.formula.divisor is not None

    def side(code: int) -> int:
        x = where.exactly((complete(where.formats[0], region.sign, code),))
        order = 0 if x.kind != FINITE or inside(x, region) else _compare(x, region)
        return -order if falling else order

    smallest = first_that(low, high, lambda code: side(code) >= 0)
    largest = first_that(low + 1, high + 1, lambda code: side(code) > 0) - 1
    return (largest, smallest) if falling else (smallest, largest)


def _compare(x: Value, region: Value) -> int:
    """-1 or 1: whether a magnitude outside a region is below or above it."""
    order = exact.compare(exact.magnitude(x), finite(0, region.significand, region.exponent))
    return order or (1 if x.sticky else -1)


# -- sums --------------------------------------------------------------------------------------------------------------


def _add(where: OperationSetting, region: Value, seed: int) -> Iterator[Line]:
    least = span(where.formats[1], where.flushes).low
    for v in refined(region):
        for a, b in (*_splits(v, seed), *_beside(v, least)):
            yield from terms_as_codes(where, a, b)
            yield from terms_as_codes(where, b, a)
    yield from _absorbed(where, region, seed, least)


def terms_as_codes(where: OperationSetting, first: Value, second: Value, seed: int = 0) -> Iterator[Line]:
    """The operands of a sum whose terms are two given values; of an fma the product is the first."""
    if where.fused:
        c = operand(where.formats[2], where.addend(second))
        if c is not None:
            for x, y in islice(pairs(first.significand, *precisions(where)), 2):
                yield from ((*ab, c) for ab in islice(exponents(where, x, y, first.exponent, first.sign, seed), 2))
        return
    a = operand(where.formats[0], first)
    if a is None:
        return
    b = operand(where.formats[1], exact.negate(second) if where.formula == formulas.DIFFERENCE else second)
    if b is not None:
        yield a, b


def _absorbed(where: OperationSetting, region: Value, seed: int, least: Value) -> Iterator[Line]:
    """A number at the region's lower end, or above it, and the smallest ones of either sign beside it."""
    for end in (region.significand, region.significand + 1):
        first = operand(where.formats[0], finite(region.sign, end, region.exponent))
        for sign in (0, 1):
            for scale in (0, 1 + word(seed, sign) % 5):
                second = operand(where.formats[1], least._replace(sign=sign, exponent=least.exponent + scale))
                if first is not None and second is not None:
                    yield first, second


def _splits(v: Value, seed: int) -> Iterator[tuple[Value, Value]]:
    """Two numbers whose sum is v: its upper and lower bits at every place, the lower ones negative too."""
    s = v.significand
    ks = range(1, s.bit_length() + 1)
    if seed:
        ks = range(1 + word(seed, 0) % len(ks), len(ks) + 1) if len(ks) > 1 else ks
    for k in ks:
        low = s & ((1 << k) - 1)
        if low and s - low:
            yield finite(v.sign, s - low, v.exponent), finite(v.sign, low, v.exponent)
        up = s - low + (1 << k)
        yield finite(v.sign, up, v.exponent), finite(v.sign ^ 1, up - s, v.exponent)
    for i in range(4 + seed % 4):
        y = 1 + word(seed, i) % (2 * s)
        yield exact.add(v, finite(v.sign ^ 1, y, v.exponent)), finite(v.sign, y, v.exponent)
    yield v, exact.zero(v.sign)


def _beside(v: Value, least: Value) -> Iterator[tuple[Value, Value]]:
    """Two numbers whose sum is v, one of them about as small as the operands get."""
    for scale in (0, 1, 2):
        for sign in (v.sign, v.sign ^ 1):
            x = finite(sign, least.significand, least.exponent + scale)
            rest = exact.add(v, exact.negate(x))
            if rest.significand:
                yield rest, x


def _add_three(where: OperationSetting, region: Value, seed: int) -> Iterator[Line]:
    third = where.formats[2]
    for v in refined(region):
        for i in range(6):
            for x in near(third, finite(i & 1, v.significand | 1, v.exponent - (word(seed, i) % 8) + 2)):
                c = where.decode(2, x)
                rest = exact.add(v, exact.negate(c))
                for a, b in islice(_splits(rest, seed), 12) if rest.significand else ():
                    yield from ((*codes, x) for codes in terms_as_codes(where, a, b))
    zero = operand(third, exact.zero(0))
    if zero is not None:
        yield from ((*codes, zero) for codes in _add(where, region, seed))


# -- products and quotients --------------------------------------------------------------------------------------------


def exponents(
    where: OperationSetting, x: int, y: int, total: int, sign: int, seed: int, divide: bool = False
) -> Iterator[Line]:
    """Codes of two significands with the exponents shared out, so that x*y*2^total (or x/y*2^total) is their result.

    sign: of the result; of the term that a product is in a sum.
    """
    fa, fb = where.formats[:2]
    sign ^= where.minus[0]
    a, b = (span(f, where.flushes) for f in (fa, fb))
    lx, ly = x.bit_length() - 1, y.bit_length() - 1
    low, high = a.least - lx, a.most - lx  # exponents of the first
    if divide:
        low, high = max(low, b.least - ly + total), min(high, b.most - ly + total)
    else:
        low, high = max(low, total - b.most + ly), min(high, total - b.least + ly)
    if low > high:
        return
    middle = (low + high) // 2
    for i in dict.fromkeys((middle, low + word(seed, x & 63) % (high - low + 1), high, low, high - 1, low + 1)):
        turn = word(seed, i & 255) & 1
        for s in (turn, 1 - turn):
            first = operand(fa, finite(s, x, i))
            second = operand(fb, finite(s ^ sign, y, i - total if divide else total - i))
            if first is not None and second is not None:
                yield first, second
                break


def _factors(where: OperationSetting, region: Value, seed: int) -> Iterator[tuple[int, int, int]]:
    """Two significands and an exponent: their product lies in a region."""
    pa, pb = precisions(where)
    if not region.sticky or region.significand == 0:
        for v in islice(refined(region), 12):
            yield from ((x, y, v.exponent) for x, y in pairs(v.significand, pa, pb))
        if not region.sticky:
            return
    s = max(region.significand, 0)
    for x in islice(significands(seed, pa), TRIES):
        shift = max(0, pb + x.bit_length() - max(s, 1).bit_length() - 1)
        for extra in (shift, shift + 1):
            y = (s << extra) // x + 1
            if y.bit_length() <= pb and s << extra < x * y < (s + 1) << extra:
                yield x, y, region.exponent - extra


def _mul(where: OperationSetting, region: Value, seed: int) -> Iterator[Line]:
    for x, y, total in _factors(where, region, seed):
        yield from exponents(where, x, y, total, region.sign, seed)


def _div(where: OperationSetting, region: Value, seed: int) -> Iterator[Line]:
    pa, pb = precisions(where)
    regions = [region] if region.significand else list(islice(refined(region), 6))
    for c in regions:
        s = c.significand
        if c.sticky and (simple := quotient(s, pa, pb)) is not None:
            x, y, t = simple
            yield from exponents(where, x, y, c.exponent + t, c.sign, seed, divide=True)
        small = (1, 3, 5, 7, 9, 11, 13) if seed % 2 == 0 else ()
        for y in (*small, *islice(significands(seed, pb), TRIES)):
            if y.bit_length() > pb:
                continue
            if not c.sticky:
                yield from exponents(where, s * y, y, c.exponent, c.sign, seed, divide=True)
                continue
            cut = (s * y).bit_length() - pa
            up, down = max(cut, 0), max(-cut, 0)
            x = (s * y << down >> up) + 1
            for above in (x, x + 1):
                if s * y << down < above << up < (s + 1) * y << down:
                    yield from exponents(where, above, y, c.exponent + cut, c.sign, seed, divide=True)


def _fma(where: OperationSetting, region: Value, seed: int) -> Iterator[Line]:
    if excluded(where, region):
        return
    yield from islice(_fma_absorbed(where, region, seed), 4)
    products, addends = terms_of(where)
    pa, pb = precisions(where)
    for turn, v in enumerate(islice(refined(region), 35 if seed else 9)):
        if v.significand == 0:
            continue
        split = islice(_splits(v, seed), 3 + 2 * v.significand.bit_length())
        for a, b in (*split, *_beside(v, addends.low)):
            for product, addend in ((a, b), (b, a)):
                if product.significand and products.least <= exact.top(product) <= products.most:
                    yield from terms_as_codes(where, product, addend, seed)
        for x, y in islice(zip(significands(seed + turn, pa), significands(seed + turn + 7, pb), strict=False), 8):
            yield from _completed(where, v, region, x, y, seed)


def _fma_absorbed(where: OperationSetting, region: Value, seed: int) -> Iterator[Line]:
    """A product at an end of the region, and a small addend; or an addend there, and a small product, or none."""
    if not region.sticky and where.formats[0].zero:
        c = operand(where.formats[2], where.addend(region))
        if c is not None:
            yield 0, complete(where.formats[1], 0, where.formats[1].min_normal_code), c
    if not region.sticky or region.significand == 0:
        return
    sa, sb, sc = (span(f, where.flushes) for f in where.formats)
    for end, sign in ((region.significand, region.sign), (region.significand + 1, region.sign ^ 1)):
        for x, y in islice(pairs(end, sa.bits, sb.bits), 2):
            for ab in islice(exponents(where, x, y, region.exponent, region.sign, seed), 2):
                for e in (sc.low.exponent, region.exponent - 2, region.exponent - 5 - seed):
                    c = operand(where.formats[2], where.addend(finite(sign, 1, e)))
                    if c is not None and inside(where.exactly((*ab, c)), region):
                        yield (*ab, c)
        c = operand(where.formats[2], where.addend(finite(region.sign, end, region.exponent)))
        for e in (sa.least + sb.least, region.exponent - 2, region.exponent - 5 - seed) if c else ():
            for ab in islice(exponents(where, 1, 1, e, sign, seed), 1):
                if c is not None and inside(where.exactly((*ab, c)), region):
                    yield (*ab, c)


def _completed(where: OperationSetting, v: Value, region: Value, x: int, y: int, seed: int) -> Iterator[Line]:
    """A product near v in size, and the addend that brings the sum into the region, if there is one."""
    products = terms_of(where)[0]
    for distance in (0, 1, -1, 2, -where.out.precision, where.out.precision):
        if not products.least <= exact.top(v) + distance <= products.most:
            continue
        total = exact.top(v) + distance - (x * y).bit_length() + 1
        for sign in (v.sign, v.sign ^ 1):
            product = finite(sign, x * y, total)
            for c in near(where.formats[2], where.addend(exact.add(v, exact.negate(product)))):
                if inside(exact.add(product, where.addend(where.decode(2, c))), region):
                    yield from ((*ab, c) for ab in islice(exponents(where, x, y, total, sign, seed), 1))


def _scaleb(where: OperationSetting, region: Value, seed: int) -> Iterator[Line]:
    fmt, integer = where.formats
    for v in refined(region):
        if v.significand == 0:
            continue
        size = exact.top(v)
        a = span(fmt, where.flushes)
        for t in (0, a.most, a.least, word(seed, 1) % 7 - 3):
            n = operand(integer, finite(int(size - t < 0), abs(size - t), 0))
            for code in near(fmt, finite(v.sign, v.significand, v.exponent - size + t)):
                if n is not None:
                    yield code, n


_SOLVERS: Final[dict[Formula, Callable[[OperationSetting, Value, int], Iterator[Line]]]] = {
    **dict.fromkeys(MONOTONE, _unary),
    formulas.SUM: _add,
    formulas.DIFFERENCE: _add,
    formulas.SUM_OF_THREE: _add_three,
    formulas.PRODUCT: _mul,
    formulas.QUOTIENT: _div,
    **dict.fromkeys(formulas.MULTIPLY_ADDS, _fma),
    formulas.SCALED: _scaleb,
}


def unreachable(where: OperationSetting, region: Value) -> str:
    """Why no operands have their exact result in a region; '' if there is no proof."""
    if reason := excluded(where, region):
        return reason
    if where.unary:
        nothing = next(solve(where, region), None) is None
        return "no operand lies between the two neighbours" if nothing else ""
    s = region.significand
    if where.product and not region.sticky and no_pair(s, *precisions(where)):
        return "the significand is not a product of two significands of the operands' precision"
    if where.product and region.sticky and s and not product_between(s, *precisions(where)):
        return "no product of two significands of the operands' precision lies there"
    if where.quotient and region.sticky and s and quotient(s, *precisions(where)) is None:
        return "no quotient of two significands of the operands' precision lies there"
    return ""
