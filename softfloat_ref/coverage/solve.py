"""Operands for a wanted exact result: candidates by construction, each to be checked with the exact model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from softfloat_ref import exact
from softfloat_ref.codec import target
from softfloat_ref.coverage.cells import inside, point, refined
from softfloat_ref.coverage.classes import complete
from softfloat_ref.coverage.draw import significands, word
from softfloat_ref.coverage.events import Setting
from softfloat_ref.coverage.factors import pairs
from softfloat_ref.coverage.quotients import quotient
from softfloat_ref.coverage.reach import excluded, span, two_terms_of
from softfloat_ref.exact import FINITE, Value, finite
from softfloat_ref.formats import Format
from softfloat_ref.policies import POLICIES
from softfloat_ref.rounding import position

Codes = tuple[int, ...]
TRIES: Final = 24
UNARY: Final = ("convert", "sqrt", "recip", "rsqrt")  # monotone: between two neighbours there is nothing


def below(fmt: Format, x: Value) -> tuple[int, bool]:
    """The magnitude code at or below |x|, and whether it is |x|. -1 below all."""
    if x.significand == 0:
        return (0 if fmt.zero else -1), fmt.zero
    t = target(fmt, POLICIES["ieee"])
    code, _, guard, rest = position(x.significand, x.exponent, x.significand.bit_length(), x.sticky, 0, t)
    largest = fmt.max_negative_code if x.sign and fmt.signed else fmt.max_code
    if code > largest:
        return largest, False
    return max(code, -1), guard == 0 and rest == 0


def operand(fmt: Format, x: Value) -> int | None:
    """The code of a number; None where the format does not have it."""
    if x.sign and not fmt.signed:
        return None
    if x.significand == 0:
        return complete(fmt, x.sign, 0) if fmt.zero and (not x.sign or fmt.negative_zero) else 0 if fmt.zero else None
    code, same = below(fmt, x)
    return complete(fmt, x.sign, code) if same else None


def near(fmt: Format, x: Value) -> Iterator[int]:
    """The codes at, just below and just above a number, of its sign."""
    if x.sign and not fmt.signed:
        return
    code, _ = below(fmt, x)
    largest = fmt.max_negative_code if x.sign else fmt.max_code
    for c in (code, code + 1, code - 1, code + 2):
        if fmt.min_code <= c <= largest:
            yield complete(fmt, x.sign, c)


def solve(where: Setting, cell: Value, seed: int = 0) -> Iterator[Codes]:
    """Candidates for operands whose exact result lies in a cell. seed: other numbers give other ones."""
    solver = _SOLVERS.get(where.name)
    return iter(()) if solver is None else solver(where, cell, seed)


def decided(where: Setting) -> bool:
    """Whether `solve` finds operands wherever there are any."""
    return where.name in UNARY


# -- one operand: the operation is monotone, so the code is found by bisection -----------------------------------------


def _unary(where: Setting, cell: Value, seed: int) -> Iterator[Codes]:
    fmt = where.formats[0]
    sign = cell.sign
    if sign and (not fmt.signed or where.name in ("sqrt", "rsqrt")):
        return
    low = max(fmt.min_code, 1 if fmt.zero else 0)
    if where.policy.flush_inputs and fmt.subnormals == "gradual" and not fmt.twos_complement:
        low = max(low, fmt.min_normal_code)
    high = fmt.max_negative_code if sign else fmt.max_code
    if fmt.symmetric and sign:
        high += 1
    falling = where.name in ("recip", "rsqrt")
    if where.name == "convert":
        first, last = _codes_inside(fmt, cell)
        first, last = max(first, low), min(last, high)
    else:
        a, b = _bracket(where, cell, low, high)
        first, last = (_bisect(where, cell, a, b, sign, falling, last=end) for end in (False, True))
    count = abs(last - first) + 1
    listed = [first, last, (first + last) // 2] if count > 2 * TRIES else []
    listed += [min(first, last) + word(seed, i) % count for i in range(TRIES)] if listed else []
    step = 1 if not falling else -1
    for code in dict.fromkeys((*listed, *range(first, first + 2 * TRIES * step, step))):
        if low <= code <= high:
            codes = (complete(fmt, sign, code),)
            if inside(where.exactly(codes), cell):
                yield codes
            elif not listed:
                return


def _codes_inside(fmt: Format, cell: Value) -> tuple[int, int]:
    """The first and the last magnitude code whose values may lie in a cell."""
    code, _ = below(fmt, finite(cell.sign, cell.significand, cell.exponent))
    if not cell.sticky:
        return code, code
    last, end = below(fmt, finite(cell.sign, cell.significand + 1, cell.exponent))
    return code + 1, last - end


def _bracket(where: Setting, cell: Value, low: int, high: int) -> tuple[int, int]:
    """Magnitude codes between which all lie whose result may be in a cell, and one more to each side."""
    fmt, found = where.formats[0], []
    for significand in (cell.significand, cell.significand + cell.sticky):
        x = finite(0, significand, cell.exponent)
        if significand == 0 and where.name != "sqrt":
            found.append(high)
            continue
        if where.name != "recip":
            x = exact.multiply(x, x)
        if where.name != "sqrt":
            x = exact.divide(finite(0, 1, 0), x, 2 * fmt.precision)
        found.append(below(fmt, x)[0])
    a, b = (min(max(code, low), high) for code in (min(found) - 1, max(found) + 2))
    return a, b


def _bisect(where: Setting, cell: Value, low: int, high: int, sign: int, falling: bool, last: bool = False) -> int:
    """The first code (or the last) whose result is not below (or not above) the cell, in the results' order."""

    def side(code: int) -> int:
        x = where.exactly((complete(where.formats[0], sign, code),))
        return 0 if x.kind != FINITE or inside(x, cell) else _compare(x, cell)

    a, b = low, high
    while a < b:
        middle = (a + b + (1 if last ^ falling else 0)) // 2
        s = side(middle)
        if last ^ falling:  # the largest code that is not past the cell
            past = s > 0 if not falling else s < 0
            a, b = (a, middle - 1) if past else (middle, b)
        else:  # the smallest code that is not before the cell
            before = s < 0 if not falling else s > 0
            a, b = (middle + 1, b) if before else (a, middle)
    return a


def _compare(x: Value, cell: Value) -> int:
    """-1 or 1: whether a magnitude outside a cell is below or above it."""
    a, b = x._replace(sign=0), finite(0, cell.significand, cell.exponent)
    if a.significand == 0:
        return -1
    if b.significand == 0:
        return 1
    order = exact.compare(a, b)
    return order if order else (1 if x.sticky else -1)


# -- sums --------------------------------------------------------------------------------------------------------------


def _add(where: Setting, cell: Value, seed: int) -> Iterator[Codes]:
    fa, fb = where.formats
    flip = int(where.name == "sub")
    least = span(fb, where.policy.flush_inputs).low
    for v in refined(cell):
        for a, b in (*_splits(v, seed), *_beside(v, least)):
            for x, y in ((a, b), (b, a)):
                first, second = operand(fa, x), operand(fb, exact.negate(y) if flip else y)
                if first is not None and second is not None:
                    yield first, second
    yield from _absorbed(where, cell, seed)


def _absorbed(where: Setting, cell: Value, seed: int) -> Iterator[Codes]:
    """A number at the cell's lower end, or above it, and the smallest ones of either sign beside it."""
    fa, fb = where.formats
    least = span(fb, where.policy.flush_inputs).low
    for low in (
        finite(cell.sign, cell.significand, cell.exponent),
        finite(cell.sign, cell.significand + 1, cell.exponent),
    ):
        for sign in (0, 1):
            for scale in (0, 1 + word(seed, sign) % 5):
                first, second = (
                    operand(fa, low),
                    operand(fb, least._replace(sign=sign, exponent=least.exponent + scale)),
                )
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


def _faa(where: Setting, cell: Value, seed: int) -> Iterator[Codes]:
    third = where.formats[2]
    for v in refined(cell):
        for i in range(6):
            for x in near(third, finite(i & 1, v.significand | 1, v.exponent - (word(seed, i) % 8) + 2)):
                c = where.decode(2, x)
                rest = exact.add(v, exact.negate(c))
                for a, b in islice(_splits(rest, seed), 12) if rest.significand else ():
                    first, second = operand(where.formats[0], a), operand(where.formats[1], b)
                    if first is not None and second is not None:
                        yield first, second, x
    zero = operand(third, exact.zero(0))
    if zero is not None:
        two = Setting(where.sig._replace(formats=where.formats[:2]), where.policy)
        yield from ((*codes, zero) for codes in _add(two, cell, seed))


# -- products and quotients --------------------------------------------------------------------------------------------


def exponents(
    where: Setting, x: int, y: int, total: int, sign: int, seed: int, divide: bool = False
) -> Iterator[Codes]:
    """Codes of two significands with the exponents shared out, so that x*y*2^total (or x/y*2^total) is their result."""
    fa, fb = where.formats[:2]
    a, b = (span(f, where.policy.flush_inputs) for f in (fa, fb))
    lx, ly = x.bit_length() - 1, y.bit_length() - 1
    low, high = exact.top(a.low) - lx, exact.top(a.high) - lx  # exponents of the first
    if divide:
        low, high = max(low, exact.top(b.low) - ly + total), min(high, exact.top(b.high) - ly + total)
    else:
        low, high = max(low, total - exact.top(b.high) + ly), min(high, total - exact.top(b.low) + ly)
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


def _factors(where: Setting, cell: Value, seed: int) -> Iterator[tuple[int, int, int]]:
    """Two significands and an exponent: their product lies in a cell."""
    pa, pb = (span(f).bits for f in where.formats[:2])
    if not cell.sticky or cell.significand == 0:
        for v in islice(refined(cell), 12):
            yield from ((x, y, v.exponent) for x, y in pairs(v.significand, pa, pb))
        if not cell.sticky:
            return
    s = max(cell.significand, 0)
    for x in islice(significands(seed, pa), TRIES):
        shift = max(0, pb + x.bit_length() - max(s, 1).bit_length() - 1)
        for extra in (shift, shift + 1):
            y = (s << extra) // x + 1
            if y.bit_length() <= pb and s << extra < x * y < (s + 1) << extra:
                yield x, y, cell.exponent - extra


def _mul(where: Setting, cell: Value, seed: int) -> Iterator[Codes]:
    for x, y, total in _factors(where, cell, seed):
        yield from exponents(where, x, y, total, cell.sign, seed)


def _div(where: Setting, cell: Value, seed: int) -> Iterator[Codes]:
    pa, pb = (span(f).bits for f in where.formats[:2])
    cells = [cell] if cell.significand else list(islice(refined(cell), 6))
    for c in cells:
        s = c.significand
        if c.sticky and (simple := quotient(s, pa, pb)) is not None:
            x, y, t = simple
            yield from exponents(where, x, y, c.exponent + t, c.sign, seed, divide=True)
        small = (1, 3, 5, 7, 9, 11, 13)
        for y in (
            (*small, *islice(significands(seed, pb), TRIES)) if seed % 2 == 0 else islice(significands(seed, pb), TRIES)
        ):
            if y.bit_length() > pb:
                continue
            if not c.sticky:
                yield from exponents(where, s * y, y, c.exponent, c.sign, seed, divide=True)
                continue
            cut = (s * y).bit_length() - pa
            x = ((s * y) >> cut) + 1 if cut > 0 else (s * y << -cut) + 1
            for up in (0, 1):
                scaled = (x + up) << cut if cut > 0 else x + up
                ends = (s * y, (s + 1) * y) if cut > 0 else (s * y << -cut, (s + 1) * y << -cut)
                if ends[0] < scaled < ends[1]:
                    yield from exponents(where, x + up, y, c.exponent + cut, c.sign, seed, divide=True)


def _fma(where: Setting, cell: Value, seed: int) -> Iterator[Codes]:
    fc = where.formats[2]
    least = span(fc, where.policy.flush_inputs).low
    pa, pb = (span(f).bits for f in where.formats[:2])
    if excluded(where, cell):
        return
    yield from islice(_fma_absorbed(where, cell, seed), 4)
    lowest, highest = two_terms_of(where)[0][2:]
    for turn, v in enumerate(islice(refined(cell), 35 if seed else 9)):
        if v.significand == 0:
            continue
        split = islice(_splits(v, seed), 3 + 2 * v.significand.bit_length())
        for a, b in (*split, *_beside(v, least)):
            for product, addend in ((a, b), (b, a)):
                if not product.significand or not lowest <= exact.top(product) <= highest:
                    continue
                c = operand(fc, addend)
                if c is not None:
                    for x, y in islice(pairs(product.significand, pa, pb), 2):
                        yield from (
                            (*ab, c) for ab in islice(exponents(where, x, y, product.exponent, product.sign, seed), 2)
                        )
        for x, y in zip(
            islice(significands(seed + turn, pa), 8), islice(significands(seed + turn + 7, pb), 8), strict=True
        ):
            yield from _completed(where, v, cell, x, y, seed)


def _fma_absorbed(where: Setting, cell: Value, seed: int) -> Iterator[Codes]:
    """A product at an end of the cell, and a small addend; or an addend there, and a small product, or none."""
    if not cell.sticky and where.formats[0].zero:
        c = operand(where.formats[2], cell)
        if c is not None:
            yield 0, complete(where.formats[1], 0, where.formats[1].min_normal_code), c
    if not cell.sticky or cell.significand == 0:
        return
    sa, sb, sc = (span(f, where.policy.flush_inputs) for f in where.formats)
    for end, sign in ((cell.significand, cell.sign), (cell.significand + 1, cell.sign ^ 1)):
        for x, y in islice(pairs(end, sa.bits, sb.bits), 2):
            for ab in islice(exponents(where, x, y, cell.exponent, cell.sign, seed), 2):
                for e in (sc.low.exponent, cell.exponent - 2, cell.exponent - 5 - seed):
                    c = operand(where.formats[2], finite(sign, 1, e))
                    if c is not None and found(where, cell, (*ab, c)):
                        yield (*ab, c)
        c = operand(where.formats[2], finite(cell.sign, end, cell.exponent))
        for e in (exact.top(sa.low) + exact.top(sb.low), cell.exponent - 2, cell.exponent - 5 - seed) if c else ():
            for ab in islice(exponents(where, 1, 1, e, sign, seed), 1):
                if c is not None and found(where, cell, (*ab, c)):
                    yield (*ab, c)


def _completed(where: Setting, v: Value, cell: Value, x: int, y: int, seed: int) -> Iterator[Codes]:
    """A product near v in size, and the addend that brings the sum into the cell, if there is one."""
    fc = where.formats[2]
    lowest, highest = two_terms_of(where)[0][2:]
    for distance in (0, 1, -1, 2, -where.out.precision, where.out.precision):
        if not lowest <= exact.top(v) + distance <= highest:
            continue
        total = exact.top(v) + distance - (x * y).bit_length() + 1
        for sign in (v.sign, v.sign ^ 1):
            product = finite(sign, x * y, total)
            for c in near(fc, exact.add(v, exact.negate(product))):
                if inside(exact.add(product, where.decode(2, c)), cell):
                    yield from ((*ab, c) for ab in islice(exponents(where, x, y, total, sign, seed), 1))


def _scaleb(where: Setting, cell: Value, seed: int) -> Iterator[Codes]:
    fmt, integer = where.formats
    for v in refined(cell):
        if v.significand == 0:
            continue
        size = exact.top(v)
        a = span(fmt, where.policy.flush_inputs)
        for t in (0, exact.top(a.high), exact.top(a.low), word(seed, 1) % 7 - 3):
            n = operand(integer, finite(int(size - t < 0), abs(size - t), 0))
            for code in near(fmt, finite(v.sign, v.significand, v.exponent - size + t)):
                if n is not None:
                    yield code, n


_SOLVERS: Final[dict[str, Callable[[Setting, Value, int], Iterator[Codes]]]] = {
    **dict.fromkeys(UNARY, _unary),
    "add": _add,
    "sub": _add,
    "faa": _faa,
    "mul": _mul,
    "div": _div,
    "fma": _fma,
    "scaleb": _scaleb,
}


def found(where: Setting, cell: Value, codes: Sequence[int]) -> bool:
    """Whether operands have their exact result in a cell."""
    return inside(where.exactly(codes), cell)


def exactly_at(where: Setting, sign: int, significand: int, exponent: int) -> Iterator[Codes]:
    """Candidates for one exact value."""
    return solve(where, point(sign, significand, exponent))
