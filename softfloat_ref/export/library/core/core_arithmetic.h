/* SPDX-License-Identifier: 0BSD
 * Sum, product and fused multiply-add; for words W of CORE_BITS bits. */

/* a + b, or a - b if negate is 1, where a or b is NaN or Inf. */
CORE_INLINE N(result) N(add_special)(W a, W b, W negate, core_format f)
{
    W nan = N(is_nan)(a, f) | N(is_nan)(b, f), subtract = N(sign)(a ^ b, f) ^ negate;
    W sign = PICK(N(is_inf)(a, f), N(sign)(a, f), N(sign)(b, f) ^ negate);
    N(result) r = N(make)(N(infinite)(sign, f), 0);
    r = N(choose)(N(is_inf)(a, f) & N(is_inf)(b, f) & subtract, N(invalid)(f), r);
    return N(choose)(nan, N(nan)(a, b, f), r);
}

CORE_INLINE N(result) N(add)(W a, W b, W negate, core_format f, core_mode mode)
{
    W special = N(is_special)(a, f) | N(is_special)(b, f);
    if (BRANCH(special)) return N(add_special)(a, b, negate, f);
    W x = N(operand)(a, f), y = N(operand)(b, f), mx = N(magnitude)(x, f), my = N(magnitude)(y, f);
    W swap = LESS(mx, my), subtract = N(sign)(x ^ y, f) ^ negate;
    W sign = N(sign)(x, f) ^ (swap & subtract), large = PICK(swap, my, mx), small = mx ^ my ^ large;
    I e = N(exponent)(large, f);
    W high = N(significand)(large, f) << (TOP - 1 - f.mantissa);
    W low = N(jam)(N(significand)(small, f) << (TOP - 1 - f.mantissa), e - N(exponent)(small, f));
    W sum = high + ((low ^ (0 - subtract)) + subtract);
    W zero_sign = PICK(subtract, (W)(mode.rounding == CORE_RDN), sign);
    N(result) r = N(normalize_pack)(sign, e + 1, sum, zero_sign, f, mode);
    return VECTOR ? N(choose)(special, N(add_special)(a, b, negate, f), r) : r;
}

CORE_INLINE N(result) N(mul_special)(W a, W b, core_format f)
{
    W x = N(operand)(a, f), y = N(operand)(b, f);
    W zero = ZERO(N(magnitude)(x, f)) | ZERO(N(magnitude)(y, f));
    N(result) r = N(choose)(zero, N(invalid)(f), N(make)(N(infinite)(N(sign)(a ^ b, f), f), 0));
    return N(choose)(N(is_nan)(a, f) | N(is_nan)(b, f), N(nan)(a, b, f), r);
}

/* The product of two normalized significands: its leading one at bit TOP or TOP - 1. */
CORE_INLINE W N(product)(W x, W y, core_format f)
{
    if (2 * f.mantissa + 2 > TOP + 1) {
        x <<= TOP - f.mantissa, y <<= TOP + 1 - f.mantissa;
#if CORE_BITS == 64
        core_wide p = core_wide_product(x, y);
        return p.high | SOME(p.low);
#else
        uint64_t p = (uint64_t)x * y;
        return (W)(p >> 32) | SOME((W)p >> 1); /* y is even */
#endif
    }
    return (x << (2 * f.mantissa + 2 > TOP + 1 ? 0 : TOP - 1 - 2 * f.mantissa)) * y;
}

CORE_INLINE N(result) N(mul)(W a, W b, core_format f, core_mode mode)
{
    W special = N(is_special)(a, f) | N(is_special)(b, f), sign = N(sign)(a ^ b, f);
    if (BRANCH(special)) return N(mul_special)(a, b, f);
    W ma = N(magnitude)(N(operand)(a, f), f), mb = N(magnitude)(N(operand)(b, f), f), zero = ZERO(ma) | ZERO(mb);
    N(number) x = N(normal)(ma, f), y = N(normal)(mb, f);
    if (VECTOR || CORE_UNLIKELY(LESS(ma, ONE << f.mantissa) | LESS(mb, ONE << f.mantissa))) {
        if (BRANCH(zero)) return N(zero)(sign, f);
        x = N(normalized)(ma, f), y = N(normalized)(mb, f);
    }
    W product = N(product)(x.sig, y.sig, f), up = product >> TOP ^ 1;
    N(result) r = N(round_pack)(sign, x.e + y.e - f.bias + 1 - (I)up, product << up, f, mode);
    return VECTOR ? N(choose)(special, N(mul_special)(a, b, f), N(choose)(zero, N(zero)(sign, f), r)) : r;
}

/* The NaN of fma. */
CORE_INLINE N(result) N(nan_of_three)(W a, W b, W c, W zero_times_inf, core_format f)
{
    W signaling = N(is_signaling)(a, f) | N(is_signaling)(b, f) | N(is_signaling)(c, f);
    W flags = (signaling | (zero_times_inf & (W)!f.fma_quiet)) << 4;
    if (f.propagate == CORE_NAN_GENERATED) return N(make)((W)f.nan, flags);
    W c_first = f.fma_order == CORE_FMA_CAB || f.fma_order == CORE_FMA_SIGNALING_C;
    W first = c_first ? c : f.fma_order == CORE_FMA_BCA ? b : a, last = c_first ? b : f.fma_order == CORE_FMA_BCA ? a : c;
    W nan = N(nan_of_two)(N(nan_of_two)(first, a ^ b ^ c ^ first ^ last, f), last, f);
    if (f.fma_order == CORE_FMA_SIGNALING_C) {
        W ab = N(nan_of_two)(a, b, f), some = N(is_nan)(a, f) | N(is_nan)(b, f);
        nan = PICK(some & (N(is_signaling)(c, f) ^ 1), ab, c);
    }
    W generated = f.fma_generated == CORE_GENERATED_IF_QUIET ? signaling ^ 1 : f.fma_generated == CORE_GENERATED_NAN;
    return N(make)(PICK(zero_times_inf & generated, (W)f.nan, N(quieted)(nan, f)), flags);
}

CORE_INLINE N(result) N(fma_special)(W a, W b, W c, core_format f)
{
    W x = N(operand)(a, f), y = N(operand)(b, f);
    W infinite = N(is_inf)(a, f) | N(is_inf)(b, f), sign = N(sign)(a ^ b, f);
    W zero_times_inf = infinite & (ZERO(N(magnitude)(x, f)) | ZERO(N(magnitude)(y, f)));
    W nan = N(is_nan)(a, f) | N(is_nan)(b, f) | N(is_nan)(c, f);
    W invalid = zero_times_inf | (infinite & N(is_inf)(c, f) & (sign ^ N(sign)(c, f)));
    N(result) r = N(make)(N(infinite)(PICK(infinite, sign, N(sign)(c, f)), f), 0);
    r = N(choose)(invalid, N(invalid)(f), r);
    return N(choose)(nan, N(nan_of_three)(a, b, c, zero_times_inf, f), r);
}

#if CORE_BITS == 64
/* The sum of a product and an addend, whose ones are at bit 124 and at exponents ep and ec; sign: of the product;
 * subtract: whether their signs differ. */
CORE_INLINE core_result_64 core_fma_wide(core_wide product, int64_t ep, uint64_t sign, core_wide addend, int64_t ec,
                                         uint64_t subtract, core_format f, core_mode mode)
{
    uint64_t higher = LESS(ec, ep), swap = 0 - higher;
    core_wide low = {PICK(higher, addend.high, product.high), PICK(higher, addend.low, product.low)};
    core_wide high = {addend.high ^ product.high ^ low.high, addend.low ^ product.low ^ low.low};
    int64_t d = ec - ep, e = ec ^ ((ec ^ ep) & (int64_t)swap);
    low = core_wide_jam(low, (int64_t)(((uint64_t)d ^ swap) - swap));
    core_wide sum = core_wide_plus(high, core_wide_negated(low, subtract));
    uint64_t below = subtract & sum.high >> 63;
    sum = core_wide_negated(sum, below);
    sign ^= below ^ (subtract & (higher ^ 1));
    if (CORE_UNLIKELY((sum.high | sum.low) == 0)) return core_zero_64(subtract ? mode.rounding == CORE_RDN : sign, f);
    int64_t up = core_wide_clz(sum) - 1;
    sum = core_wide_left(sum, up);
    return core_round_pack_64(sign, e + 2 - up, sum.high | SOME(sum.low), f, mode);
}
#endif

CORE_INLINE N(result) N(fma)(W a, W b, W c, core_format f, core_mode mode)
{
    W special = N(is_special)(a, f) | N(is_special)(b, f) | N(is_special)(c, f);
    if (BRANCH(special)) return N(fma_special)(a, b, c, f);
    W ma = N(magnitude)(N(operand)(a, f), f), mb = N(magnitude)(N(operand)(b, f), f), z = N(operand)(c, f);
    W product_sign = N(sign)(a ^ b, f), subtract = product_sign ^ N(sign)(z, f);
    N(number) x = N(normal)(ma, f), y = N(normal)(mb, f);
    I ez = N(exponent)(z, f), ep = x.e + y.e - f.bias;
    W sz = N(significand)(z, f);
    if (VECTOR || CORE_UNLIKELY(LESS(ma, ONE << f.mantissa) | LESS(mb, ONE << f.mantissa))) {
        x = N(normalized)(ma, f), y = N(normalized)(mb, f);
        ep = x.e + y.e - f.bias;
        ep = (I)PICK(ZERO(ma) | ZERO(mb), (W)(I)(-2 * f.bias - CORE_BITS), (W)ep);
    }
    /* 1 is at bit TOP - 2. The product is below 4, so numbers of exponents more than two apart cancel one bit at most;
     * a shift by two loses nothing, since a product has zeros below its 2 * mantissa + 2 bits. */
#if CORE_BITS == 64
    if (2 * f.mantissa + 6 > CORE_BITS) {
        core_wide p = core_wide_product(x.sig << (TOP - f.mantissa), y.sig << (TOP - f.mantissa));
        core_wide addend = {sz << (TOP - 2 - f.mantissa), 0};
        return core_fma_wide(p, ep, product_sign, addend, ez, subtract, f, mode);
    }
#endif
    W product = (x.sig << (2 * f.mantissa + 6 > CORE_BITS ? 0 : TOP - 2 - 2 * f.mantissa)) * y.sig;
    W addend = sz << (TOP - 2 - f.mantissa);
    I d = ep - ez;
    W higher = LESS(0, d), high = PICK(higher, product, addend);
    I e = (I)PICK(higher, (W)ep, (W)ez);
    W low = N(jam)(product ^ addend ^ high, (I)PICK(higher, (W)d, (W)-d));
    W sum = high + ((low ^ (0 - subtract)) + subtract), below = subtract & LESS(high, low);
    sum = (sum ^ (0 - below)) + below;
    W sign = product_sign ^ (subtract & (higher ^ 1)) ^ below;
    W zero_sign = PICK(subtract, (W)(mode.rounding == CORE_RDN), product_sign);
    N(result) r = N(normalize_pack)(sign, e + 2, sum, zero_sign, f, mode);
    return VECTOR ? N(choose)(special, N(fma_special)(a, b, c, f), r) : r;
}
