/* SPDX-License-Identifier: 0BSD
 * Numbers of two words of 64 bits; integer quotients and roots. */

typedef struct {
    uint64_t high, low;
} core_wide;

#if defined(__SIZEOF_INT128__) && !defined(CORE_PORTABLE)
__extension__ typedef unsigned __int128 core_uint128;
CORE_INLINE core_uint128 core_joined(core_wide x) { return (core_uint128)x.high << 64 | x.low; }
CORE_INLINE core_wide core_split(core_uint128 x)
{
    core_wide r = {(uint64_t)(x >> 64), (uint64_t)x};
    return r;
}
CORE_INLINE core_wide core_wide_product(uint64_t x, uint64_t y) { return core_split((core_uint128)x * y); }
CORE_INLINE core_wide core_wide_plus(core_wide x, core_wide y) { return core_split(core_joined(x) + core_joined(y)); }
CORE_INLINE core_wide core_wide_minus(core_wide x, core_wide y) { return core_split(core_joined(x) - core_joined(y)); }
#else
CORE_INLINE core_wide core_wide_product(uint64_t x, uint64_t y)
{
    const uint64_t half = UINT64_C(0xffffffff);
    uint64_t low = (x & half) * (y & half), a = (x >> 32) * (y & half), b = (x & half) * (y >> 32);
    uint64_t middle = (low >> 32) + (a & half) + (b & half);
    core_wide r = {(x >> 32) * (y >> 32) + (a >> 32) + (b >> 32) + (middle >> 32), middle << 32 | (low & half)};
    return r;
}
CORE_INLINE core_wide core_wide_plus(core_wide x, core_wide y)
{
    core_wide r = {x.high + y.high, x.low + y.low};
    r.high += r.low < x.low;
    return r;
}
CORE_INLINE core_wide core_wide_minus(core_wide x, core_wide y)
{
    core_wide r = {x.high - y.high - (x.low < y.low), x.low - y.low};
    return r;
}
#endif

/* -x if negate is 1 */
CORE_INLINE core_wide core_wide_negated(core_wide x, uint64_t negate)
{
    core_wide mask = {0 - negate, 0 - negate};
    core_wide y = {x.high ^ mask.high, x.low ^ mask.low};
    return core_wide_minus(y, mask);
}

/* Leading zeros; x is not zero. */
CORE_INLINE int64_t core_wide_clz(core_wide x) { return x.high ? core_clz_64(x.high) : 64 + core_clz_64(x.low); }

/* x * 2^n, 0 <= n < 128 */
CORE_INLINE core_wide core_wide_left(core_wide x, int64_t n)
{
    uint64_t far = 0 - (uint64_t)(n >> 6);
    core_wide y = {x.high ^ ((x.high ^ x.low) & far), x.low & ~far};
    n &= 63;
    core_wide r = {y.high << n | y.low >> 1 >> (63 - n), y.low << n};
    return r;
}

/* x / 2^n, with any lost bit in the last one; n >= 0, x < 2^127 */
CORE_INLINE core_wide core_wide_jam(core_wide x, int64_t n)
{
    n = n > 127 ? 127 : n;
    uint64_t far = 0 - (uint64_t)(n >> 6);
    uint64_t lost = x.low & far;
    core_wide y = {x.high & ~far, x.low ^ ((x.high ^ x.low) & far)};
    n &= 63;
    lost |= y.low & ((UINT64_C(1) << n) - 1);
    core_wide r = {y.high >> n, y.low >> n | y.high << 1 << (63 - n) | (lost != 0)};
    return r;
}

/* floor(x * 2^55 / y), the last bit set if there is a remainder; x and y have their leading ones at bit 52. */
CORE_INLINE uint64_t core_wide_quotient(uint64_t x, uint64_t y)
{
    uint64_t reciprocal = (UINT64_C(1) << 63) / ((y >> 21) + 1) << 32; /* a little less than 2^116 / y */
    uint64_t q = core_wide_product(x << 11, reciprocal).high >> 36; /* a little less than x * 2^27 / y */
    x = (x << 27) - q * y; /* less than 2 * y: q is at most 1 too small */
    uint64_t digit = core_wide_product(x << 8, reciprocal).high >> 32;
    x = (x << 28) - digit * y;
    q = (q << 28) + digit; /* at most 1 too small */
    uint64_t more = x >= y;
    return (q + more) | (x != (y & (0 - more)));
}

/* Roots of n / 256 for n = 64, 65, ..., times 256: 8 bits of a root. */
static const uint8_t core_root_table[192] = {
    128, 129, 130, 131, 132, 133, 134, 135, 136, 137, 138, 139, 140, 141, 142, 143,
    144, 144, 145, 146, 147, 148, 149, 150, 151, 151, 152, 153, 154, 155, 156, 156,
    157, 158, 159, 160, 160, 161, 162, 163, 164, 164, 165, 166, 167, 167, 168, 169,
    170, 170, 171, 172, 173, 173, 174, 175, 176, 176, 177, 178, 179, 179, 180, 181,
    181, 182, 183, 183, 184, 185, 186, 186, 187, 188, 188, 189, 190, 190, 191, 192,
    192, 193, 194, 194, 195, 196, 196, 197, 198, 198, 199, 200, 200, 201, 201, 202,
    203, 203, 204, 205, 205, 206, 206, 207, 208, 208, 209, 210, 210, 211, 211, 212,
    213, 213, 214, 214, 215, 216, 216, 217, 217, 218, 219, 219, 220, 220, 221, 221,
    222, 223, 223, 224, 224, 225, 225, 226, 227, 227, 228, 228, 229, 229, 230, 230,
    231, 232, 232, 233, 233, 234, 234, 235, 235, 236, 237, 237, 238, 238, 239, 239,
    240, 240, 241, 241, 242, 242, 243, 243, 244, 244, 245, 246, 246, 247, 247, 248,
    248, 249, 249, 250, 250, 251, 251, 252, 252, 253, 253, 254, 254, 255, 255, 255,
};

/* floor(sqrt(n)), n >= 2^30. A step of Newton's method doubles the number of right bits; the result is at most 1 off. */
CORE_INLINE uint32_t core_integer_root_32(uint32_t n)
{
    uint32_t u = core_root_table[(n >> 24) - 64];
    u = (u << 7) + (n >> 9) / u;
    u -= u >> 16; /* 2^16 */
    return u - (u * u > n);
}

/* floor(sqrt(n)), n >= 2^62 */
CORE_INLINE uint64_t core_integer_root_64(uint64_t n)
{
    uint32_t u = core_root_table[(n >> 56) - 64];
    u = (u << 7) + (uint32_t)(n >> 41) / u;
    uint64_t v = ((uint64_t)u << 15) + (n >> 17) / u;
    v -= v >> 32;
    return v - (v * v > n);
}

/* The root of (n * 2^46), n >= 2^62: its 55 bits, the last one set if there is a remainder. P. Zimmermann, Karatsuba
 * Square Root, INRIA RR-3805: the remainder of the root of the high half, divided by twice that root. */
CORE_INLINE uint64_t core_wide_root(uint64_t n)
{
    uint64_t high = core_integer_root_64(n), rest = n - high * high; /* rest <= 2 * high */
    uint64_t q = (rest << 23) / (2 * high), left = (rest << 23) - q * 2 * high;
    uint64_t root = (high << 23) + q;
    int64_t remainder = (int64_t)(left << 23) - (int64_t)(q * q);
    return remainder < 0 ? (root - 1) | 1 : root | (remainder != 0);
}
