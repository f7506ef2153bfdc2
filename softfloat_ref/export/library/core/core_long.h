/* SPDX-License-Identifier: 0BSD
 * Words of 128 and 256 bits: products, shifts, quotients and roots. */

typedef struct {
    core_wide high, low;
} core_long;

CORE_INLINE core_wide core_wide_of(uint64_t high, uint64_t low)
{
    core_wide r = {high, low};
    return r;
}

CORE_INLINE uint64_t core_wide_some(core_wide x) { return (x.high | x.low) != 0; }
CORE_INLINE uint64_t core_wide_less(core_wide x, core_wide y)
{
    return x.high < y.high || (x.high == y.high && x.low < y.low);
}
CORE_INLINE core_wide core_wide_or(core_wide x, core_wide y) { return core_wide_of(x.high | y.high, x.low | y.low); }
CORE_INLINE core_wide core_wide_and(core_wide x, core_wide y) { return core_wide_of(x.high & y.high, x.low & y.low); }

/* x / 2^n, 0 <= n < 128 */
CORE_INLINE core_wide core_wide_right(core_wide x, int64_t n)
{
    uint64_t far = 0 - (uint64_t)(n >> 6);
    core_wide y = {x.high & ~far, x.low ^ ((x.high ^ x.low) & far)};
    n &= 63;
    return core_wide_of(y.high >> n, y.low >> n | y.high << 1 << (63 - n));
}

/* 2^n - 1, 0 <= n < 128 */
CORE_INLINE core_wide core_wide_ones(int64_t n)
{
    return core_wide_minus(core_wide_left(core_wide_of(0, 1), n), core_wide_of(0, 1));
}

CORE_INLINE core_wide core_wide_pick(uint64_t c, core_wide x, core_wide y) { return c ? x : y; }

CORE_INLINE core_long core_long_product(core_wide x, core_wide y)
{
    core_wide top = core_wide_product(x.high, y.high), bottom = core_wide_product(x.low, y.low);
    core_wide a = core_wide_product(x.high, y.low), b = core_wide_product(x.low, y.high);
    core_wide middle = core_wide_plus(a, b);
    uint64_t carry = core_wide_less(middle, a);
    core_wide low = core_wide_plus(bottom, core_wide_of(middle.low, 0));
    core_wide more = {carry, middle.high + core_wide_less(low, bottom)};
    more.high += more.low < middle.high;
    core_long r = {core_wide_plus(top, more), low};
    return r;
}

CORE_INLINE core_long core_long_plus(core_long x, core_long y)
{
    core_long r = {core_wide_plus(x.high, y.high), core_wide_plus(x.low, y.low)};
    r.high = core_wide_plus(r.high, core_wide_of(0, core_wide_less(r.low, x.low)));
    return r;
}

/* -x if negate is 1 */
CORE_INLINE core_long core_long_negated(core_long x, uint64_t negate)
{
    core_long r = {core_wide_of(x.high.high ^ (0 - negate), x.high.low ^ (0 - negate)),
                   core_wide_of(x.low.high ^ (0 - negate), x.low.low ^ (0 - negate))};
    const core_long one = {{0, 0}, {0, negate}};
    return core_long_plus(r, one);
}

/* Leading zeros; x is not zero. */
CORE_INLINE int64_t core_long_clz(core_long x)
{
    return core_wide_some(x.high) ? core_wide_clz(x.high) : 128 + core_wide_clz(x.low);
}

/* x * 2^n, 0 <= n < 256 */
CORE_INLINE core_long core_long_left(core_long x, int64_t n)
{
    if (n >= 128) {
        x.high = x.low, x.low = core_wide_of(0, 0);
        n -= 128;
    }
    core_wide carry = core_wide_right(core_wide_right(x.low, 1), 127 - n);
    core_long r = {core_wide_or(core_wide_left(x.high, n), carry), core_wide_left(x.low, n)};
    return r;
}

/* x / 2^n, with any lost bit in the last one; n >= 0, x < 2^255 */
CORE_INLINE core_long core_long_jam(core_long x, int64_t n)
{
    uint64_t lost = 0;
    n = n > 255 ? 255 : n;
    if (n >= 128) {
        lost = core_wide_some(x.low);
        x.low = x.high, x.high = core_wide_of(0, 0);
        n -= 128;
    }
    lost |= core_wide_some(core_wide_and(x.low, core_wide_ones(n)));
    core_wide carry = core_wide_left(core_wide_left(x.high, 1), 127 - n);
    core_long r = {core_wide_right(x.high, n), core_wide_or(core_wide_right(x.low, n), carry)};
    r.low.low |= lost;
    return r;
}

/* A little less than 2^127 / y, by at most 2^5; y >= 2^63. A step of Newton's method from 31 bits. */
CORE_INLINE uint64_t core_long_reciprocal(uint64_t y)
{
    uint64_t v = (UINT64_C(1) << 63) / ((y >> 32) + 1) << 32;
    core_wide rest = core_wide_minus(core_wide_of(UINT64_C(1) << 63, 0), core_wide_product(y, v)); /* below 2^98 */
    return v + (core_wide_product(v, rest.high << 29 | rest.low >> 35).high >> 28) - 2;
}

/* A digit of 58 bits of a quotient, at most 1 too small, and the rest, below 2 * y. rest < 2 * y, y has its leading
 * one at bit 126. reciprocal: of its first 64 bits. */
CORE_INLINE uint64_t core_long_digit(core_wide *rest, core_wide y, uint64_t reciprocal)
{
    uint64_t digit = core_wide_product(rest->high, reciprocal).high >> 4;
    core_wide whole = core_wide_product(digit, y.low);
    whole.high += digit * y.high;
    *rest = core_wide_minus(core_wide_left(*rest, 58), whole);
    return digit;
}

CORE_INLINE uint64_t core_long_first(core_wide y) { return y.high << 1 | y.low >> 63; }

/* x * 2^116 / y, the last bit set if there is a remainder; x and y have their leading ones at bit 126. */
CORE_INLINE core_wide core_long_quotient(core_wide x, core_wide y)
{
    uint64_t reciprocal = core_long_reciprocal(core_long_first(y));
    core_wide q = core_wide_left(core_wide_of(0, core_long_digit(&x, y, reciprocal)), 58);
    q = core_wide_plus(q, core_wide_of(0, core_long_digit(&x, y, reciprocal)));
    if (!core_wide_less(x, y)) {
        q = core_wide_plus(q, core_wide_of(0, 1));
        x = core_wide_minus(x, y);
    }
    q.low |= core_wide_some(x);
    return q;
}

/* The root of n * 2^104, n >= 2^126: its 116 bits, the last one set if there is a remainder. As core_wide_root, twice. */
CORE_INLINE core_wide core_long_root(core_wide n)
{
    uint64_t high = core_integer_root_64(n.high), rest = n.high - high * high; /* rest <= 2 * high < 2^33 */
    uint64_t part = rest << 31 | n.low >> 33, q = part / high, left = part - q * high;
    uint64_t root = (high << 32) + q;
    core_wide r = core_wide_left(core_wide_of(0, left), 33);
    r = core_wide_plus(r, core_wide_of(0, n.low & ((UINT64_C(1) << 33) - 1)));
    r = core_wide_minus(r, core_wide_product(q, q));
    if (r.high >> 63) {
        root--;
        r = core_wide_plus(r, core_wide_plus(core_wide_left(core_wide_of(0, root), 1), core_wide_of(0, 1)));
    }
    q = core_wide_product(r.high << 63 | r.low >> 1, core_long_reciprocal(root)).high >> 11; /* r * 2^51 / root */
    core_wide twice = core_wide_left(core_wide_of(0, root), 1);
    core_wide whole = core_wide_left(core_wide_product(root, q), 1);
    core_wide more = core_wide_minus(core_wide_left(r, 52), whole);
    if (!core_wide_less(more, twice)) {
        q++;
        more = core_wide_minus(more, twice);
    }
    core_wide all = core_wide_plus(core_wide_left(core_wide_of(0, root), 52), core_wide_of(0, q));
    core_wide remainder = core_wide_minus(core_wide_left(more, 52), core_wide_product(q, q));
    if (remainder.high >> 63) all = core_wide_minus(all, core_wide_of(0, 1));
    all.low |= core_wide_some(remainder);
    return all;
}
