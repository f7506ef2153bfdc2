/* SPDX-License-Identifier: 0BSD
 * Parts of a code, NaNs, rounding and packing; for words W of CORE_BITS bits. */

#if CORE_VECTOR && CORE_BITS == 32 /* loops over words of 64 bits gain nothing without branches */
#define VECTOR 1
#else
#define VECTOR 0
#endif
#define BRANCH(c) (!VECTOR && CORE_UNLIKELY(c))
#define TOP (CORE_BITS - 2)
#define ONE ((W)1)

/* Choices by a bit c, without jumps; comparisons as bits, of numbers whose difference is less than 2^(CORE_BITS - 1).
 * GCC does not vectorize loops in which truth values meet & and |. */
#define PICK(c, x, y) ((y) ^ (((x) ^ (y)) & (0 - (W)(c))))
#if VECTOR
#define LESS(x, y) ((W)((W)(x) - (W)(y)) >> (CORE_BITS - 1))
#define ZERO(x) ((W)((W)(x) - 1) >> (CORE_BITS - 1)) /* of x < 2^(CORE_BITS - 1) */
#else
#define LESS(x, y) ((W)((I)(x) < (I)(y)))
#define ZERO(x) ((W)((x) == 0))
#endif
#define SOME(x) (ZERO(x) ^ 1)

typedef struct {
    W code, flags;
} N(result);

CORE_INLINE N(result) N(make)(W code, W flags)
{
    N(result) r;
    r.code = code;
    r.flags = flags;
    return r;
}

CORE_INLINE N(result) N(choose)(W c, N(result) x, N(result) y)
{
    return N(make)(PICK(c, x.code, y.code), PICK(c, x.flags, y.flags));
}

/* -- the parts of a code ------------------------------------------------------------------------------------------- */

CORE_INLINE W N(sign_bit)(core_format f) { return ONE << (f.width - 1); }
CORE_INLINE W N(sign)(W a, core_format f) { return a >> (f.width - 1) & 1; }
CORE_INLINE W N(magnitude)(W a, core_format f) { return a & (N(sign_bit)(f) - 1); }

CORE_INLINE W N(is_nan)(W a, core_format f)
{
    if (f.nan_at == CORE_NAN_NEGATIVE_ZERO) return ZERO(a ^ N(sign_bit)(f));
    return LESS((W)f.largest + (W)f.infinity, N(magnitude)(a, f));
}

CORE_INLINE W N(is_signaling)(W a, core_format f)
{
    return f.signaling ? N(is_nan)(a, f) & SOME((a & (W)f.quiet_bit) ^ (W)f.quiet_bit) : 0;
}

CORE_INLINE W N(is_inf)(W a, core_format f)
{
    return f.infinity ? ZERO(N(magnitude)(a, f) ^ ((W)f.largest + 1)) : 0;
}

/* Whether it is NaN or Inf. */
CORE_INLINE W N(is_special)(W a, core_format f)
{
    if (f.nan_at == CORE_NAN_NEGATIVE_ZERO) return N(is_nan)(a, f) | N(is_inf)(a, f);
    return LESS((W)f.largest, N(magnitude)(a, f));
}

CORE_INLINE W N(is_subnormal)(W a, core_format f) { return LESS(N(magnitude)(a, f), ONE << f.mantissa); } /* or zero */

/* The operand that an operation reads: subnormals may be zeros. */
CORE_INLINE W N(operand)(W a, core_format f)
{
    return f.flush_inputs ? a & (N(sign_bit)(f) | (0 - (N(is_subnormal)(a, f) ^ 1))) : a;
}

CORE_INLINE I N(exponent)(W a, core_format f)
{
    W e = N(magnitude)(a, f) >> f.mantissa;
    return (I)(e + ZERO(e));
}

/* The significand, its hidden bit at bit `mantissa`. */
CORE_INLINE W N(significand)(W a, core_format f)
{
    return (a & ((ONE << f.mantissa) - 1)) | SOME(N(magnitude)(a, f) >> f.mantissa) << f.mantissa;
}

/* A magnitude as a significand with its leading one at bit `mantissa`, and an exponent. */
typedef struct {
    W sig;
    I e;
} N(number);

CORE_INLINE N(number) N(normal)(W m, core_format f)
{
    N(number) x = {(m & ((ONE << f.mantissa) - 1)) | ONE << f.mantissa, (I)(m >> f.mantissa)};
    return x;
}

CORE_INLINE N(number) N(normalized)(W m, core_format f) /* subnormals, too; of zero, sig is 0 */
{
    W sig = N(significand)(m, f);
    I up = N(clz)(sig | 1) - (CORE_BITS - 1 - f.mantissa);
    N(number) x = {sig << up, N(exponent)(m, f) - up};
    return x;
}

CORE_INLINE W N(signed)(W sign, W magnitude, core_format f)
{
    if (f.nan_at == CORE_NAN_NEGATIVE_ZERO) sign &= SOME(magnitude); /* -0 would be NaN */
    return sign << (f.width - 1) | magnitude;
}

CORE_INLINE N(result) N(zero)(W sign, core_format f) { return N(make)(N(signed)(sign, 0, f), 0); }

/* What an infinite result is in this format. */
CORE_INLINE W N(infinite)(W sign, core_format f)
{
    return PICK(sign, (W)f.infinite_negative, (W)f.infinite_positive);
}

/* -- NaNs ---------------------------------------------------------------------------------------------------------- */

CORE_INLINE N(result) N(invalid)(core_format f) { return N(make)((W)f.nan, CORE_INVALID); }

CORE_INLINE W N(quieted)(W a, core_format f)
{
    if (f.no_payload) return (W)f.nan | (a & N(sign_bit)(f));
    return a | (W)f.quiet_bit;
}

/* Whether the second of two NaNs is taken: a quiet one, that with the larger significand, or the positive one. */
CORE_INLINE W N(is_larger)(W second, W first, core_format f)
{
    W x = N(magnitude)(second, f) & ~(W)f.quiet_bit, y = N(magnitude)(first, f) & ~(W)f.quiet_bit;
    W more = LESS(y, x) | (ZERO(x ^ y) & N(sign)(first, f) & (N(sign)(second, f) ^ 1));
    W quiet = N(is_signaling)(second, f) ^ 1, differ = quiet ^ N(is_signaling)(first, f) ^ 1;
    return PICK(differ, quiet, more);
}

/* The NaN result of operands at least one of which is NaN. */
CORE_INLINE W N(nan_of_two)(W first, W second, core_format f)
{
    W take = N(is_nan)(first, f);
    if (f.propagate == CORE_NAN_SIGNALING) take &= (N(is_signaling)(second, f) ^ 1) | N(is_signaling)(first, f);
    if (f.propagate == CORE_NAN_LARGER) take &= (N(is_nan)(second, f) & N(is_larger)(second, first, f)) ^ 1;
    return PICK(take, first, second);
}

CORE_INLINE N(result) N(nan)(W a, W b, core_format f)
{
    W flags = (N(is_signaling)(a, f) | N(is_signaling)(b, f)) << 4;
    if (f.propagate == CORE_NAN_GENERATED) return N(make)((W)f.nan, flags);
    return N(make)(N(quieted)(f.first_last ? N(nan_of_two)(b, a, f) : N(nan_of_two)(a, b, f), f), flags);
}

/* -- rounding ------------------------------------------------------------------------------------------------------ */

/* x / 2^d, with any lost bit in the last one. */
CORE_INLINE W N(jam)(W x, I d)
{
    d = d > CORE_BITS - 1 ? CORE_BITS - 1 : d;
    return x >> d | SOME(x & ((ONE << d) - 1));
}

/* sig / 2^s, rounded to an integer; 1 <= s < CORE_BITS, sig < 2^(CORE_BITS - 1). */
CORE_INLINE W N(rounded)(W sig, I s, W sign, int rounding)
{
    W half = ONE << (s - 1), rest = (half << 1) - 1;
    switch (rounding) {
    case CORE_RNE: return (sig + (half - 1) + (sig >> s & 1)) >> s;
    case CORE_RNA: return (sig + half) >> s;
    case CORE_RHZ: return (sig + (half - 1)) >> s;
    case CORE_RUP: return (sig + (rest & (sign - 1))) >> s;
    case CORE_RDN: return (sig + (rest & (0 - sign))) >> s;
    case CORE_RTO: return sig >> s | SOME(sig & rest);
    default: return sig >> s;
    }
}

/* A number whose magnitude, rounded, is beyond `largest`. */
CORE_INLINE N(result) N(overflow)(W sign, core_format f, core_mode mode)
{
    W limited = 0;
    if (mode.rounding == CORE_RTZ || mode.rounding == CORE_RTO) limited = 1;
    if (mode.rounding == CORE_RUP) limited = sign;
    if (mode.rounding == CORE_RDN) limited = sign ^ 1;
    W beyond = PICK(sign, (W)f.beyond_negative, (W)f.beyond_positive);
    return N(make)(PICK(limited, N(signed)(sign, (W)f.largest, f), beyond), CORE_OVERFLOW | CORE_INEXACT);
}

/* As round_pack, for every exponent. */
CORE_INLINE N(result) N(round_pack_any)(W sign, I e, W sig, core_format f, core_mode mode)
{
    const I drop = TOP - f.mantissa, emax = (I)(f.largest >> f.mantissa);
    W subnormal = LESS(e, 1), far = LESS(e, -f.mantissa);
    I s = drop + (I)((W)(1 - e) & (0 - subnormal));
    W kept = PICK(far, 1, sig); /* too small for any bit but the sticky one */
    s = (I)PICK(far, CORE_BITS - 1, (W)s);
    W code = N(rounded)(kept, s, sign, mode.rounding) + ((W)(e - 1) << f.mantissa & (0 - (subnormal ^ 1)));
    W inexact = SOME(kept & ((ONE << s) - 1));
    W normal = N(rounded)(sig, drop, sign, mode.rounding) >> (f.mantissa + 1); /* 1: the next power of two */
    W tiny = mode.before ? subnormal : subnormal & (LESS(e, 0) | (normal ^ 1));
    N(result) r = N(make)(N(signed)(sign, code, f), inexact | (inexact & tiny) << 1);
    if (f.flush_outputs) {
        W flags = f.flush_outputs == CORE_FLUSH_BEFORE ? CORE_UNDERFLOW : CORE_UNDERFLOW | CORE_INEXACT;
        W zero = f.flush_outputs == CORE_FLUSH_BEFORE ? subnormal : tiny;
        r = N(choose)(zero, N(make)(N(signed)(sign, 0, f), flags), r);
    }
    return N(choose)(LESS(emax, e) | LESS((W)f.largest, code), N(overflow)(sign, f, mode), r);
}

/* A number, not zero, its leading one at bit TOP. The carry of the rounding goes into the exponent. */
CORE_INLINE N(result) N(round_pack)(W sign, I e, W sig, core_format f, core_mode mode)
{
    const I drop = TOP - f.mantissa, emax = (I)(f.largest >> f.mantissa);
    if (VECTOR || CORE_UNLIKELY((W)(e - 1) >= (W)(emax - 1))) return N(round_pack_any)(sign, e, sig, f, mode);
    W code = N(rounded)(sig, drop, sign, mode.rounding) + ((W)(e - 1) << f.mantissa);
    return N(make)(N(signed)(sign, code, f), SOME(sig & ((ONE << drop) - 1)));
}

/* A number with its leading one at any bit up to TOP, or zero. zero_sign: the sign of that zero. */
CORE_INLINE N(result) N(normalize_pack)(W sign, I e, W sig, W zero_sign, core_format f, core_mode mode)
{
    I up = N(clz)(sig | 1) - 1;
    if (BRANCH(sig == 0)) return N(zero)(zero_sign, f);
    return N(choose)(ZERO(sig), N(zero)(zero_sign, f), N(round_pack)(sign, e - up, sig << up, f, mode));
}
