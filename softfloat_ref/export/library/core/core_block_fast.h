/* SPDX-License-Identifier: 0BSD
 *
 * Elements by the processor's own arithmetic, without flags: for elements rounded to nearest even that saturate. The
 * quotient is a float where that is exact, or where a profile rounds it to FP32, too; else it is a double, which is on
 * the same side of each midpoint between elements as the exact quotient, since the divisor has few bits.
 */
#ifndef CORE_BLOCK_FAST_H
#define CORE_BLOCK_FAST_H

#include <float.h>

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
#define CORE_HAS_FAST 1
#else
#define CORE_HAS_FAST 0
#endif

CORE_INLINE int core_block_is_fast(const core_block *b)
{
    const uint64_t sign = UINT64_C(1) << (b->element.width - 1);
    return CORE_HAS_FAST && b->mode.rounding == CORE_RNE && b->zeros == CORE_ZEROS_SIGNED && !b->full &&
           b->element.nan_at != CORE_NAN_NEGATIVE_ZERO && b->element.flush_outputs == CORE_FLUSH_OFF &&
           b->element.beyond_positive == b->element.largest && b->element.beyond_negative == (b->element.largest | sign) &&
           b->element.bias <= 64 && (b->steps == CORE_STEPS_EXACT ? b->scale.mantissa <= 8 : !b->power) &&
           b->element.infinite_positive == b->element.largest;
}

CORE_INLINE float core_float(uint32_t code)
{
    float x;
    memcpy(&x, &code, sizeof x);
    return x;
}

CORE_INLINE uint32_t core_float_code(float x)
{
    uint32_t code;
    memcpy(&code, &x, sizeof code);
    return code;
}

CORE_INLINE uint64_t core_double_code(double x)
{
    uint64_t code;
    memcpy(&code, &x, sizeof code);
    return code;
}

/* A magnitude as an element's, with x's sign. Below the normal numbers, a sum with a number whose last bit is that of
 * the elements is rounded to a multiple of it. */
CORE_INLINE uint32_t core_fast_signed(uint32_t code, uint32_t x, const core_block *b)
{
    const uint32_t top = (uint32_t)b->element.largest, s = x >> 31;
    code ^= (code ^ top) & (0 - ((top - code) >> 31)); /* the smaller one, by a mask, so that loops become vectors */
    if (b->twos_complement) return ((code ^ (0 - s)) + s) & (core_sign_bit_32(b->element) - 1);
    return code | s << (b->element.width - 1);
}

CORE_INLINE uint32_t core_fast_of_float(float v, uint32_t x, const core_block *b)
{
    const int m = b->element.mantissa, s = 23 - m;
    const uint32_t magic = (uint32_t)(151 - b->element.bias - m) << 23, least = (uint32_t)(128 - b->element.bias) << 23;
    const uint32_t u = core_float_code(v), below = core_float_code(v + core_float(magic)) - magic;
    const uint32_t normal = ((u + ((1u << (s - 1)) - 1) + (u >> s & 1)) >> s) - ((uint32_t)(127 - b->element.bias) << m);
    const uint32_t take = b->twos_complement ? 0xffffffff : 0 - ((u - least) >> 31);
    return core_fast_signed(normal ^ ((normal ^ below) & take), x, b);
}

CORE_INLINE uint32_t core_fast_of_double(double v, uint32_t x, const core_block *b)
{
    const int m = b->element.mantissa, s = 52 - m;
    const uint64_t magic = (uint64_t)(1076 - b->element.bias - m) << 52, least = (uint64_t)(1024 - b->element.bias) << 52;
    const uint64_t u = core_double_code(v), one = 1;
    double large;
    memcpy(&large, &magic, sizeof large);
    const uint64_t below = core_double_code(v + large) - magic;
    const uint64_t normal = ((u + ((one << (s - 1)) - 1) + (u >> s & 1)) >> s) - ((uint64_t)(1023 - b->element.bias) << m);
    const uint64_t take = b->twos_complement ? ~(uint64_t)0 : 0 - ((u - least) >> 63), top = b->element.largest;
    const uint64_t code = normal ^ ((normal ^ below) & take), over = 0 - ((top - code) >> 63);
    return core_fast_signed((uint32_t)(code ^ ((code ^ top) & over)), x, b);
}

/* 2^e for -149 <= e <= 127 */
CORE_INLINE float core_float_power(int32_t e)
{
    return core_float(e < -126 ? 1u << (e + 149) : (uint32_t)(e + 127) << 23);
}

CORE_INLINE void core_fast_elements(const uint32_t *x, uint32_t scale, uint32_t flush_below, uint32_t *codes,
                                    const core_block *b, core_divisor d)
{
    const float factor = b->power ? core_float_power(b->scale.bias - (int32_t)scale) : core_float(d.code);
    double divisor = 1;
    if (!b->power && b->steps == CORE_STEPS_EXACT) {
        const uint64_t code = (uint64_t)(d.exact.e + 1023) << 52; /* 2^e; the significand has less than 53 bits */
        memcpy(&divisor, &code, sizeof divisor);
        divisor *= (double)d.exact.sig;
    }
    for (int i = 0; i < b->size; i++) {
        uint32_t magnitude = x[i] & 0x7fffffff;
        if (b->flush != CORE_NO_FLUSH) magnitude &= 0 - ((magnitude - flush_below) >> 31 ^ 1);
        const float v = core_float(magnitude);
        if (b->power || b->steps == CORE_STEPS_RECIPROCAL) codes[i] = core_fast_of_float(v * factor, x[i], b);
        else if (b->steps == CORE_STEPS_EXACT) codes[i] = core_fast_of_double((double)v / divisor, x[i], b);
        else codes[i] = core_fast_of_float(v / factor, x[i], b);
    }
}

#endif
