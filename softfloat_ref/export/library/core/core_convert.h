/* SPDX-License-Identifier: 0BSD
 * Other formats, integral values, comparisons; for words W of CORE_BITS bits. */

/* A NaN of a format as one of another format. */
CORE_INLINE N(result) N(convert_nan)(W a, core_format from, core_format f)
{
    W flags = f.nan_at == CORE_NAN_NONE ? (W)CORE_INVALID : N(is_signaling)(a, from) << 4;
    W sign = from.nan_at == CORE_NAN_NEGATIVE_ZERO ? 0 : N(sign)(a, from) << (f.width - 1);
    if (f.propagate == CORE_NAN_GENERATED || f.nan_at == CORE_NAN_NONE || f.nan_at == CORE_NAN_NEGATIVE_ZERO)
        return N(make)((W)f.nan, flags);
    if (f.no_payload) return N(make)((W)f.nan | sign, flags);
    if (f.nan_at == CORE_NAN_TOP) return N(make)((N(sign_bit)(f) - 1) | sign, flags);
    W payload = from.quiet_bit ? a & ((W)from.quiet_bit - 1) : 0;
    const I up = f.mantissa - from.mantissa;
    payload = up > 0 ? payload << (up > 0 ? up : 0) : payload >> (up > 0 ? 0 : -up);
    return N(make)(((W)f.largest + 1) | (W)f.quiet_bit | payload | sign, flags);
}

CORE_INLINE N(result) N(convert_special)(W a, core_format from, core_format f)
{
    N(result) r = N(make)(N(infinite)(N(sign)(a, from), f), 0);
    return N(choose)(N(is_nan)(a, from), N(convert_nan)(a, from, f), r);
}

CORE_INLINE N(result) N(convert)(W a, core_format from, core_format f, core_mode mode)
{
    W special = N(is_special)(a, from), sign = N(sign)(a, from), m = N(magnitude)(N(operand)(a, from), from);
    if (BRANCH(special)) return N(convert_special)(a, from, f);
    N(number) x = N(normal)(m, from);
    if (VECTOR || CORE_UNLIKELY(LESS(m, ONE << from.mantissa))) {
        if (BRANCH(ZERO(m))) return N(zero)(sign, f);
        x = N(normalized)(m, from);
    }
    N(result) r = N(round_pack)(sign, x.e - from.bias + f.bias, x.sig << (TOP - from.mantissa), f, mode);
    if (!VECTOR) return r;
    return N(choose)(special, N(convert_special)(a, from, f), N(choose)(ZERO(m), N(zero)(sign, f), r));
}

/* a, rounded to an integer. exact: inexact is raised. */
CORE_INLINE N(result) N(round_to_int)(W a, core_format f, core_mode mode, W exact)
{
    W x = N(operand)(a, f), sign = N(sign)(x, f), m = N(magnitude)(x, f);
    if (N(is_nan)(a, f)) return N(nan)(a, a, f);
    if (N(is_inf)(a, f)) return N(make)(N(infinite)(sign, f), 0);
    I e = N(exponent)(x, f), s = f.bias + f.mantissa - e;
    W sig = N(significand)(x, f), flags = 0;
    if (s > 0) {
        if (s > f.mantissa + 2) { /* less than a quarter: as any such number */
            sig = SOME(m);
            s = f.mantissa + 2;
        }
        flags = SOME(sig & ((ONE << s) - 1)) & exact;
        sig = N(rounded)(sig, s, sign, mode.rounding);
        e = f.bias + f.mantissa;
    }
    N(result) r = N(normalize_pack)(sign, e + TOP - f.mantissa, sig, sign, f, mode);
    r.flags |= flags;
    return r;
}

/* -- comparisons --------------------------------------------------------------------------------------------------- */

CORE_INLINE I N(order)(W a, core_format f) /* as an integer in the order of values */
{
    W x = N(operand)(a, f), s = N(sign)(x, f);
    return (I)((N(magnitude)(x, f) ^ (0 - s)) + s);
}

/* signaling: any NaN raises invalid, not only a signaling one. */
CORE_INLINE W N(unordered)(W a, W b, core_format f, W signaling, W *flags)
{
    W nan = N(is_nan)(a, f) | N(is_nan)(b, f);
    *flags = ((nan & signaling) | N(is_signaling)(a, f) | N(is_signaling)(b, f)) << 4;
    return nan;
}

CORE_INLINE N(result) N(eq)(W a, W b, core_format f, W signaling)
{
    W flags, nan = N(unordered)(a, b, f, signaling, &flags);
    return N(make)((nan ^ 1) & (N(order)(a, f) == N(order)(b, f)), flags);
}

CORE_INLINE N(result) N(lt)(W a, W b, core_format f, W signaling)
{
    W flags, nan = N(unordered)(a, b, f, signaling, &flags);
    return N(make)((nan ^ 1) & (N(order)(a, f) < N(order)(b, f)), flags);
}

CORE_INLINE N(result) N(le)(W a, W b, core_format f, W signaling)
{
    W flags, nan = N(unordered)(a, b, f, signaling, &flags);
    return N(make)((nan ^ 1) & (N(order)(a, f) <= N(order)(b, f)), flags);
}

#undef VECTOR
#undef BRANCH
#undef TOP
#undef ONE
#undef PICK
#undef LESS
#undef ZERO
#undef SOME
