/* SPDX-License-Identifier: 0BSD
 * Elements rounded stochastically, with the caller's random bits (IEEE P3109's A, B and C). */
#ifndef CORE_BLOCK_RANDOM_H
#define CORE_BLOCK_RANDOM_H

/* Whether a magnitude goes up: `below`, the n + 1 bits below the kept ones; rest: whether any bit below these is set. */
CORE_INLINE uint64_t core_random_up(int rounding, uint64_t below, uint64_t rest, int n, uint64_t random)
{
    const uint64_t half = UINT64_C(1) << n, floor = below >> 1;
    if (rounding == CORE_SR) return floor + random >= half;
    if (rounding == CORE_SR_B) return below + 2 * random + 1 >= 2 * half;
    return floor + (below & 1 & (rest | floor)) + random >= half;
}

/* A number, not zero, its last bit set if there are others below. */
CORE_INLINE core_result_32 core_random_pack(uint32_t sign, core_exact x, uint32_t random, const core_block *b)
{
    const core_format f = core_block_element_format(sign << 31, b);
    const int n = b->random_bits, m = f.mantissa;
    const int64_t top = 63 - core_clz_64(x.sig) + x.e, least = 1 - f.bias, at = top > least ? top : least;
    const uint64_t bits = random & ((UINT64_C(1) << n) - 1);
    uint64_t kept[2], up[2], inexact = 0;
    for (int k = 0; k < 2; k++) { /* in the format; and for tininess, as if its exponent had no limit */
        const int64_t s = (k ? top : at) - m - n - 1 - x.e;
        const uint64_t wide = s > 63 ? 0 : s > 0 ? x.sig >> s : x.sig << -s;
        const uint64_t rest = s > 63 || (s > 0 && wide << s != x.sig), below = wide & ((UINT64_C(2) << n) - 1);
        kept[k] = wide >> (n + 1);
        up[k] = core_random_up(b->mode.rounding, below, rest, n, bits);
        if (k == 0) inexact = below != 0 || rest;
    }
    const uint64_t code = ((uint64_t)(at - least) << m) + kept[0] + up[0];
    const int carries = !b->mode.before && top == least - 1 && kept[1] + up[1] == UINT64_C(2) << m;
    const uint32_t tiny = top < least && !carries;
    if (at - least > (int64_t)(f.largest >> m) || code > f.largest)
        return core_make_32((uint32_t)(sign ? f.beyond_negative : f.beyond_positive), CORE_OVERFLOW | CORE_INEXACT);
    return core_make_32(core_signed_32(sign, (uint32_t)code, f), inexact ? CORE_INEXACT | tiny << 1 : 0);
}

/* A value over the scale. */
CORE_INLINE core_result_32 core_block_random(uint32_t x, uint32_t scale, core_divisor d, uint32_t random,
                                             const core_block *b)
{
    const uint32_t m = x & 0x7fffffff;
    core_format from = core_f32;
    uint32_t code = x;
    if (b->power) {
        from.bias += (int32_t)scale - b->scale.bias;
        if (m == 0 || m >= 0x7f800000) return core_block_shifted(x, (int32_t)scale, b);
        if (b->steps != CORE_STEPS_EXACT) code = core_convert_32(x, from, core_f32, core_nearest).code, from = core_f32;
    } else {
        if (m == 0 || m >= 0x7f800000 || d.zero) return core_block_divided(x, d, b);
        if (b->steps == CORE_STEPS_PRODUCT || b->steps == CORE_STEPS_INVERSE) code = core_f32_div(x, d.code);
        else if (d.infinite) code = (x & 0x80000000) | 0x3f800000;
        else if (b->steps == CORE_STEPS_RECIPROCAL) code = core_f32_mul(x, d.code);
    }
    if (b->steps != CORE_STEPS_EXACT && b->steps != CORE_STEPS_RECIPROCAL) code = core_block_zero(code, b);
    if ((code & 0x7fffffff) == 0 || (code & 0x7fffffff) >= 0x7f800000) return core_block_rounded(code, core_f32, b);
    core_exact q = core_exactly(code & 0x7fffffff, from);
    if (!b->power && b->steps == CORE_STEPS_EXACT && !d.infinite) q = core_exact_quotient(q, d.exact);
    return core_block_element(core_random_pack(x >> 31, q, random, b), b);
}

#endif
