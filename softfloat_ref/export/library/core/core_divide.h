/* SPDX-License-Identifier: 0BSD
 * Quotient, root and remainder; for words W of CORE_BITS bits. */

CORE_INLINE N(result) N(div_special)(W a, W b, core_format f)
{
    W x = N(operand)(a, f), y = N(operand)(b, f), sign = N(sign)(a ^ b, f);
    W zero = ZERO(N(magnitude)(x, f)), pole = ZERO(N(magnitude)(y, f)), inf = N(is_inf)(a, f);
    N(result) r = N(make)(N(infinite)(sign, f), (pole & (inf ^ 1)) << 3);
    r = N(choose)(N(is_inf)(b, f) | (zero & (pole ^ 1)), N(zero)(sign, f), r);
    r = N(choose)((inf & N(is_inf)(b, f)) | (zero & pole), N(invalid)(f), r);
    return N(choose)(N(is_nan)(a, f) | N(is_nan)(b, f), N(nan)(a, b, f), r);
}

#if VECTOR /* a float's quotient is right before the point: an integer above it is further away than its error */
#define QUOTIENT(x, y) ((W)(I)((float)(I)(x) / (float)(I)((y) | ZERO(y))))
#else
#define QUOTIENT(x, y) ((x) / (y))
#endif

/* x / y of normalized significands: its leading one is at bit TOP, or at TOP - 1 where x < y. */
CORE_INLINE W N(quotient)(W x, W y, core_format f)
{
    const I down = TOP - f.mantissa - 3;
#if CORE_BITS == 64
    if (2 * f.mantissa + 4 > CORE_BITS) {
        return core_wide_quotient(x << (52 - f.mantissa), y << (52 - f.mantissa)) << (TOP - 55);
    }
#endif
    x <<= f.mantissa + 3;
    W q = QUOTIENT(x, y);
    return (q | SOME((q * y) ^ x)) << (down > 0 ? down : 0);
}

CORE_INLINE N(result) N(div)(W a, W b, core_format f, core_mode mode)
{
    W ma = N(magnitude)(N(operand)(a, f), f), mb = N(magnitude)(N(operand)(b, f), f), sign = N(sign)(a ^ b, f);
    W special = N(is_special)(a, f) | N(is_special)(b, f);
    if (BRANCH(special)) return N(div_special)(a, b, f);
    N(number) x = N(normal)(ma, f), y = N(normal)(mb, f);
    if (VECTOR || CORE_UNLIKELY(LESS(ma, ONE << f.mantissa) | LESS(mb, ONE << f.mantissa))) {
        special |= ZERO(ma) | ZERO(mb);
        if (BRANCH(special)) return N(div_special)(a, b, f);
        x = N(normalized)(ma, f), y = N(normalized)(mb, f);
    }
    W q = N(quotient)(x.sig, y.sig, f), up = q >> TOP ^ 1;
    N(result) r = N(round_pack)(sign, x.e - y.e + f.bias - (I)up, q << up, f, mode);
    return VECTOR ? N(choose)(special, N(div_special)(a, b, f), r) : r;
}

CORE_INLINE N(result) N(sqrt_special)(W a, core_format f)
{
    W x = N(operand)(a, f), zero = ZERO(N(magnitude)(x, f));
    N(result) r = N(choose)(N(sign)(x, f), N(invalid)(f), N(make)(N(infinite)(0, f), 0));
    r = N(choose)(zero, N(zero)(N(sign)(x, f), f), r);
    return N(choose)(N(is_nan)(a, f), N(nan)(a, a, f), r);
}

/* The root of a normalized significand, or of twice that: its leading one at bit TOP. */
CORE_INLINE W N(root)(W sig, W odd, core_format f)
{
#if CORE_BITS == 64
    if (2 * f.mantissa + 4 > CORE_BITS) return core_wide_root(sig << (TOP - f.mantissa) << odd) << (TOP - 54);
#endif
    W x = sig << (TOP - f.mantissa) << odd, q = CORE_CAT(core_integer_root_, CORE_BITS)(x);
    return (q << 1 | SOME((q * q) ^ x)) << (TOP - CORE_BITS / 2);
}

CORE_INLINE N(result) N(sqrt)(W a, core_format f, core_mode mode)
{
    W m = N(magnitude)(N(operand)(a, f), f);
    if (CORE_UNLIKELY(N(is_special)(a, f) | N(sign)(a, f))) return N(sqrt_special)(a, f);
    N(number) x = N(normal)(m, f);
    if (CORE_UNLIKELY(LESS(m, ONE << f.mantissa))) {
        if (m == 0) return N(sqrt_special)(a, f);
        x = N(normalized)(m, f);
    }
    /* e - bias = 2 h + odd: half of an even number, that is never negative before the shift */
    W biased = (W)(x.e - f.bias + 2 * (f.bias + CORE_BITS)), odd = biased & 1;
    I half = (I)(biased >> 1) - (f.bias + CORE_BITS);
    return N(round_pack)(0, half + f.bias, N(root)(x.sig, odd, f), f, mode);
}

/* IEEE remainder: a - b * n, n the integer nearest a / b, even in a tie. Exact. */
CORE_INLINE N(result) N(rem)(W a, W b, core_format f, core_mode mode)
{
    W ma = N(magnitude)(N(operand)(a, f), f), mb = N(magnitude)(N(operand)(b, f), f), sign = N(sign)(a, f);
    if (N(is_nan)(a, f) | N(is_nan)(b, f)) return N(nan)(a, b, f);
    if (N(is_inf)(a, f) | ZERO(mb)) return N(invalid)(f);
    if (ZERO(ma)) return N(zero)(sign, f);
    N(number) x = N(normalized)(ma, f), y = N(normalized)(mb, f);
    W rest = x.sig, divisor = y.sig, q = 0;
    I e = x.e, d = x.e - y.e;
    if (!N(is_inf)(b, f) && d >= -1) {
        if (d == -1) {
            divisor <<= 1;
        } else {
            e -= d;
            q = rest >= divisor;
            rest -= divisor & (0 - q);
        }
        for (const I step = CORE_BITS - 1 - f.mantissa; d > 0; d -= step) { /* long division */
            rest <<= d < step ? d : step;
            q = rest / divisor;
            rest -= q * divisor;
        }
        if (rest > divisor - rest || (rest == divisor - rest && (q & 1))) {
            rest = divisor - rest;
            sign ^= 1;
        }
    }
    return N(normalize_pack)(sign, e + TOP - f.mantissa, rest, N(sign)(a, f), f, mode);
}
#undef QUOTIENT
