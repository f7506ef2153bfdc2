/* SPDX-License-Identifier: 0BSD
 *
 * Blocks of values that share a scale: quantized and dequantized, for block formats and profiles that are constants of
 * the caller. Values are FP32 codes, which have those of FP16, BF16 and TF32, too. The file that includes this one
 * defines core_f32, which is FP32 under IEEE 754's rules.
 */
#ifndef CORE_BLOCK_H
#define CORE_BLOCK_H

enum { CORE_NO_FLUSH, CORE_FLUSH_ELEMENTS, CORE_FLUSH_BLOCKS };

/* What a NaN or an Inf does: a scale of NaN, the largest scale, the next power of two; or nothing but an element. */
enum { CORE_SCALE_NAN, CORE_SCALE_LARGEST, CORE_SCALE_BINADE, CORE_SCALE_UNCHANGED };

/* The zeros of a block: with their signs, +0, +0 only of zeros that the block has, or -0 of these. */
enum { CORE_ZEROS_SIGNED, CORE_ZEROS_DROP, CORE_ZEROS_DROP_GIVEN, CORE_ZEROS_SET_GIVEN };

/* A quotient by the scale: exact, or by steps in FP32: by the scales' product, by the scale over the tensor's, by a
 * reciprocal. */
enum { CORE_STEPS_EXACT, CORE_STEPS_PRODUCT, CORE_STEPS_INVERSE, CORE_STEPS_RECIPROCAL };

/* A block format under a profile. Scales are formats with a sign that is 0. */
typedef struct {
    int size;
    core_format element; /* two's complement: of sign and magnitude, the sign above the bits of a code */
    int twos_complement, full; /* full: the most negative code is used */
    core_mode mode;
    int random_bits; /* of a stochastic rounding */
    int steps, zeros, flush;
    uint32_t flush_below; /* magnitudes below are zeros */
    int nan, infinite;
    int quantized;              /* under a scale of NaN, elements are quantized by that of the numbers; else they are */
    uint32_t special_element;   /* this one */
    int no_number;              /* a block of NaN and Inf only has a scale of its own: */
    uint32_t scale_infinite;    /* that of blocks with an Inf; or NaN */
    core_format scale;
    uint32_t scale_nan, scale_of_zeros;
    /* A scale without mantissa bits: the exponent of the largest magnitude, one more from the significand `up_from`. */
    int power;
    uint32_t up_from;
    int32_t offset, lowest, highest;
    uint32_t above; /* the scale beyond the highest */
    /* Any other: the largest magnitude over this number, limit * 2^limit_e */
    uint64_t limit;
    int64_t limit_e;
    uint32_t limit_code; /* in FP32 */
    int scale_steps;
    core_mode scale_mode;
    int scale_nan_above;     /* NaN beyond the largest */
    uint32_t scale_tiny;     /* in place of a zero */
    uint32_t scale_least;    /* no scale is smaller, but NaN */
} core_block;

static const core_mode core_nearest = {CORE_RNE, 0};

CORE_INLINE uint32_t core_f32_div(uint32_t a, uint32_t b) { return (uint32_t)core_div_64(a, b, core_f32, core_nearest).code; }
CORE_INLINE uint32_t core_f32_mul(uint32_t a, uint32_t b) { return core_mul_32(a, b, core_f32, core_nearest).code; }

/* A code as one of a format that has all numbers of its format; a NaN is as signaling as it was. */
CORE_INLINE uint32_t core_widened(uint32_t a, core_format from, core_format f)
{
    const core_mode exact = {CORE_RTZ, 0};
    if (from.bias == f.bias && from.nan_at == f.nan_at) return a << (f.mantissa - from.mantissa);
    if (core_is_special_32(a, from)) {
        uint32_t payload = a & ((1u << from.mantissa) - 1), sign = core_sign_32(a, from) << (f.width - 1);
        return sign | ((uint32_t)f.largest + 1) | payload << (f.mantissa - from.mantissa);
    }
    return core_convert_32(a, from, f, exact).code;
}

/* -- exact quotients ----------------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t sig;
    int64_t e; /* sig * 2^e */
} core_exact;

CORE_INLINE core_exact core_exactly(uint32_t a, core_format f)
{
    core_exact x = {core_significand_32(a, f), core_exponent_32(a, f) - f.bias - f.mantissa};
    return x;
}

CORE_INLINE core_exact core_times(core_exact x, core_exact y)
{
    core_exact r = {x.sig * y.sig, x.e + y.e};
    return r;
}

/* x / y, the last bit set if there is a remainder; neither is zero. y < 2^48, x < 2^62 */
CORE_INLINE core_exact core_exact_quotient(core_exact x, core_exact y)
{
    const int64_t up = core_clz_64(x.sig) - 1;
    const uint64_t q = (x.sig << up) / y.sig;
    core_exact r = {q | (q * y.sig != x.sig << up), x.e - up - y.e};
    return r;
}

CORE_INLINE core_result_64 core_exact_pack(uint64_t sign, core_exact x, core_format f, core_mode mode)
{
    return core_normalize_pack_64(sign, x.e + f.bias + 62, x.sig, sign, f, mode);
}

/* -- the scale ----------------------------------------------------------------------------------------------------- */

/* The largest magnitude in FP32's steps over the limit and the tensor's scale. */
CORE_INLINE uint32_t core_block_ratio(uint32_t amax, const core_block *b, uint32_t tensor)
{
    if (b->scale_steps == CORE_STEPS_PRODUCT) return core_f32_div(amax, core_f32_mul(b->limit_code, tensor));
    amax = core_f32_div(amax, b->limit_code);
    return b->scale_steps == CORE_STEPS_INVERSE ? core_f32_mul(amax, tensor) : core_f32_div(amax, tensor);
}

CORE_INLINE uint32_t core_block_power(uint32_t amax, const core_block *b, uint32_t above)
{
    const core_number_32 x = core_normalized_32(amax, core_f32);
    const int32_t e = x.e + (int32_t)(x.sig >= b->up_from) - b->offset;
    if (e > b->highest) return above;
    return (uint32_t)(e < b->lowest ? b->lowest : e);
}

/* The scale of a largest magnitude. above: the scale beyond the highest. */
CORE_INLINE uint32_t core_block_scale(uint32_t amax, const core_block *b, uint32_t tensor, int nan_above, uint32_t above)
{
    core_result_64 r;
    int infinite = 0;
    if (amax == 0) return b->scale_of_zeros;
    if (b->power) return core_block_power(amax, b, above);
    if (b->scale_steps == CORE_STEPS_EXACT) {
        const core_exact limit = {b->limit, b->limit_e};
        r = core_exact_pack(0, core_exact_quotient(core_exactly(amax, core_f32),
                                                   core_times(limit, core_exactly(tensor, core_f32))),
                            b->scale, b->scale_mode);
    } else {
        const uint32_t ratio = core_block_ratio(amax, b, tensor);
        if (ratio == 0) return b->scale_of_zeros;
        infinite = ratio == 0x7f800000;
        r = core_convert_64(ratio, core_f32, b->scale, b->scale_mode);
    }
    if (nan_above && (r.flags & CORE_OVERFLOW || infinite)) return b->scale_nan;
    if (core_is_special_64(r.code, b->scale)) return (uint32_t)r.code;
    if (r.code == 0) return b->scale_tiny;
    return (uint32_t)r.code < b->scale_least ? b->scale_least : (uint32_t)r.code;
}

/* -- elements ------------------------------------------------------------------------------------------------------ */

CORE_INLINE uint32_t core_block_zero(uint32_t x, const core_block *b)
{
    const uint32_t zero = 0 - (((x & 0x7fffffff) - 1) >> 31);
    if (b->zeros == CORE_ZEROS_DROP_GIVEN) return x & ~zero;
    return b->zeros == CORE_ZEROS_SET_GIVEN ? x | (zero & 0x80000000) : x;
}

/* A rounded quotient as an element. */
CORE_INLINE core_result_32 core_block_element(core_result_32 r, const core_block *b)
{
    const uint32_t sign = core_sign_bit_32(b->element), low = sign - 1;
    if (b->twos_complement) {
        const uint32_t s = 0 - (r.code >> (b->element.width - 1));
        return core_make_32(((r.code ^ s) - s) & low, r.flags & ~(uint32_t)CORE_UNDERFLOW);
    }
    if (b->zeros == CORE_ZEROS_DROP && b->element.nan_at != CORE_NAN_NEGATIVE_ZERO)
        r.code &= ~(sign & (0 - (((r.code & low) - 1) >> 31)));
    return r;
}

CORE_INLINE core_format core_block_element_format(uint32_t x, const core_block *b)
{
    core_format f = b->element;
    if (b->full) f.largest += x >> 31;
    return f;
}

CORE_INLINE core_result_32 core_block_rounded(uint32_t x, core_format from, const core_block *b)
{
    return core_block_element(core_convert_32(x, from, core_block_element_format(x, b), b->mode), b);
}

/* A value over a scale that is a power of two: the exponents differ by the scale's. */
CORE_INLINE core_result_32 core_block_shifted(uint32_t x, int32_t scale, const core_block *b)
{
    core_format from = core_f32;
    from.bias += scale - b->scale.bias;
    if (b->steps == CORE_STEPS_EXACT) return core_block_rounded(x, from, b);
    x = core_convert_32(x, from, core_f32, core_nearest).code;
    return core_block_rounded(b->steps == CORE_STEPS_RECIPROCAL ? x : core_block_zero(x, b), core_f32, b);
}

/* What values are divided by: exactly, or in FP32's steps as the code of a divisor or a factor. */
typedef struct {
    uint32_t zero, infinite, code;
    core_exact exact;
} core_divisor;

CORE_INLINE core_divisor core_block_divisor(uint32_t scale, const core_block *b, uint32_t tensor)
{
    const core_exact one = {1, 0};
    core_divisor d = {scale == 0, core_is_inf_32(scale, b->scale), core_widened(scale, b->scale, core_f32), one};
    if (b->steps == CORE_STEPS_EXACT && !d.zero) {
        d.exact = core_times(core_exactly(scale, b->scale), core_exactly(tensor, core_f32));
    } else if (b->steps == CORE_STEPS_PRODUCT) {
        d.code = core_f32_mul(d.code, tensor);
    } else if (b->steps == CORE_STEPS_INVERSE) {
        d.code = core_f32_div(d.code, tensor);
    } else if (b->steps == CORE_STEPS_RECIPROCAL) {
        d.code = core_f32_div(core_f32_div(0x3f800000, tensor), d.code);
    }
    return d;
}

CORE_INLINE core_result_32 core_block_divided(uint32_t x, core_divisor d, const core_block *b)
{
    const uint32_t m = x & 0x7fffffff, sign = x & 0x80000000;
    if (m > 0x7f800000) return core_block_rounded(x, core_f32, b);
    if (d.zero) return core_block_rounded(sign, core_f32, b);
    if (b->steps == CORE_STEPS_PRODUCT || b->steps == CORE_STEPS_INVERSE)
        return core_block_rounded(core_block_zero(core_f32_div(x, d.code), b), core_f32, b);
    if (d.infinite) return core_block_rounded(m ? sign | 0x3f800000 : x, core_f32, b);
    if (m == 0x7f800000) return core_block_rounded(x, core_f32, b);
    if (b->steps == CORE_STEPS_RECIPROCAL) return core_block_rounded(core_f32_mul(x, d.code), core_f32, b);
    if (m == 0) return core_block_rounded(x, core_f32, b);
    const core_result_64 r = core_exact_pack(x >> 31, core_exact_quotient(core_exactly(m, core_f32), d.exact),
                                             core_block_element_format(x, b), b->mode);
    return core_block_element(core_make_32((uint32_t)r.code, (uint32_t)r.flags), b);
}

#include "core_block_fast.h"
#include "core_block_random.h"

/* fast: flags are not wanted, and all values are numbers. */
CORE_INLINE void core_block_elements(const uint32_t *x, uint32_t scale, uint32_t flush_below, uint32_t *codes,
                                     uint8_t *flags, const core_block *b, uint32_t tensor, const uint32_t *random,
                                     int fast)
{
    const core_divisor d = core_block_divisor(b->power ? 1 : scale, b, tensor);
    const int usual = b->power || b->steps == CORE_STEPS_EXACT || d.code - 1 < 0x7f800000 - 1; /* a divisor or factor */
    if (fast && core_block_is_fast(b) && !d.zero && !d.infinite && usual) {
        core_fast_elements(x, scale, flush_below, codes, b, d);
        return;
    }
    for (int i = 0; i < b->size; i++) {
        uint32_t a = x[i];
        if (b->flush != CORE_NO_FLUSH) a &= 0x80000000 | (0 - (((a & 0x7fffffff) - flush_below) >> 31 ^ 1));
        a = core_block_zero(a, b);
        core_result_32 r;
        if (b->random_bits) r = core_block_random(a, scale, d, random[i], b);
        else r = b->power ? core_block_shifted(a, (int32_t)scale, b) : core_block_divided(a, d, b);
        codes[i] = r.code;
        flags[i] = (uint8_t)r.flags;
    }
}

/* -- blocks -------------------------------------------------------------------------------------------------------- */

enum { CORE_HAS_NAN = 1, CORE_HAS_INF = 2, CORE_HAS_NUMBER = 4 };

/* The scale of a block of m values, and its elements; from m to the size, x is 0. fast: flags are not wanted. random: a
 * word for each value, if the rounding is stochastic. */
CORE_INLINE uint32_t core_block_quantize(const uint32_t *x, size_t m, uint32_t *codes, uint8_t *flags, const core_block *b,
                                         uint32_t tensor, const uint32_t *random, int fast)
{
    uint32_t top = 0, number, scale, kinds = CORE_HAS_NUMBER;
    for (int i = 0; i < b->size; i++) {
        const uint32_t magnitude = x[i] & 0x7fffffff;
        top = magnitude > top ? magnitude : top;
    }
    number = top;
    if (CORE_UNLIKELY(top >= 0x7f800000)) {
        number = 0, kinds = 0;
        for (size_t i = 0; i < m; i++) {
            const uint32_t magnitude = x[i] & 0x7fffffff;
            kinds |= magnitude > 0x7f800000 ? CORE_HAS_NAN : magnitude == 0x7f800000 ? CORE_HAS_INF : CORE_HAS_NUMBER;
            if (magnitude < 0x7f800000 && magnitude > number) number = magnitude;
        }
    }
    const uint32_t below = b->flush == CORE_FLUSH_BLOCKS && top >= b->flush_below ? 0 : b->flush_below;
    uint32_t amax = b->flush != CORE_NO_FLUSH && number < below ? 0 : number;
    if ((kinds & CORE_HAS_NAN && b->nan == CORE_SCALE_NAN) || (kinds & CORE_HAS_INF && b->infinite == CORE_SCALE_NAN)) {
        scale = b->scale_nan;
    } else if (kinds & CORE_HAS_INF && b->infinite == CORE_SCALE_LARGEST) {
        scale = (uint32_t)b->scale.largest;
    } else if (kinds & CORE_HAS_INF && b->infinite == CORE_SCALE_BINADE) {
        scale = core_block_scale(0x7f800000, b, tensor, b->scale_nan_above, b->above);
    } else if (b->no_number && !(kinds & CORE_HAS_NUMBER)) {
        scale = kinds & CORE_HAS_INF ? b->scale_infinite : b->scale_nan;
    } else {
        scale = core_block_scale(amax, b, tensor, b->scale_nan_above, b->above);
    }
    uint32_t used = scale;
    if (CORE_UNLIKELY(scale == b->scale_nan)) {
        if (!b->quantized) {
            for (int i = 0; i < b->size; i++) codes[i] = b->special_element, flags[i] = 0;
            return scale;
        }
        amax = b->flush != CORE_NO_FLUSH && number < b->flush_below ? 0 : number;
        used = core_block_scale(amax, b, tensor, 0, (uint32_t)b->scale.largest);
    }
    core_block_elements(x, used, below, codes, flags, b, tensor, random, fast && top < 0x7f800000);
    return scale;
}

/* The largest magnitude of the numbers among values. */
CORE_INLINE uint32_t core_block_largest(uint32_t largest, uint32_t x)
{
    const uint32_t magnitude = x & 0x7fffffff;
    return magnitude < 0x7f800000 && magnitude > largest ? magnitude : largest;
}

/* An FP32 scale for all blocks of a tensor: the largest magnitude of its numbers over the largest magnitude of a block
 * format, limit * 2^limit_e; 1 in place of zero. */
CORE_INLINE uint32_t core_block_tensor_scale(uint32_t amax, uint64_t limit, int64_t limit_e, int inverse)
{
    const core_exact reach = {limit, limit_e};
    core_format f = core_f32;
    uint32_t code;
    if (amax == 0) return 0x3f800000;
    if (inverse) {
        const uint32_t x = core_f32_div(0x3f800000, amax);
        if (x == 0x7f800000) return 0x3f800000;
        code = (uint32_t)core_exact_pack(0, core_times(core_exactly(x, core_f32), reach), f, core_nearest).code;
        return code == 0 || code == 0x7f800000 ? 0x3f800000 : code;
    }
    f.beyond_positive = f.largest;
    code = (uint32_t)core_exact_pack(0, core_exact_quotient(core_exactly(amax, core_f32), reach), f, core_nearest).code;
    return code ? code : 0x3f800000;
}

CORE_INLINE int core_block_bad_tensor_scale(uint32_t tensor) { return tensor - 1 >= 0x7f800000 - 1; }

/* -- values of blocks ---------------------------------------------------------------------------------------------- */

/* How elements become FP32: the formats of element and scale, the result's, which may saturate. */
typedef struct {
    core_format element, scale, to;
    int twos_complement, power, steps;
} core_block_values;

CORE_INLINE uint32_t core_block_sign_and_magnitude(uint32_t code, const core_block_values *b)
{
    const int width = b->element.width - 1;
    const uint32_t sign = code >> (width - 1) & 1, bits = (1u << width) - 1;
    return b->twos_complement ? (((code ^ (0 - sign)) + sign) & bits) | sign << width : code;
}

/* The product of the magnitudes of a block's scale and the tensor's. code: in FP32's steps. */
CORE_INLINE core_exact core_block_factor(uint32_t scale, const core_block_values *b, uint32_t tensor, uint32_t *code)
{
    const core_exact none = {0, 0};
    *code = core_widened(core_magnitude_32(scale, b->scale), b->scale, core_f32);
    if (*code >= 0x7f800000) return none;
    if (b->steps == CORE_STEPS_PRODUCT) *code = core_f32_mul(*code, tensor);
    if (b->steps == CORE_STEPS_INVERSE) *code = core_f32_div(*code, tensor);
    if (b->steps == CORE_STEPS_PRODUCT || b->steps == CORE_STEPS_INVERSE) return core_exactly(*code, core_f32);
    return core_times(core_exactly(scale, b->scale), core_exactly(tensor, core_f32));
}

CORE_INLINE uint32_t core_block_value(uint32_t a, core_exact factor, uint32_t code, uint32_t negative, const core_block_values *b)
{
    const uint32_t m = core_magnitude_32(a, b->element), sign = core_sign_32(a, b->element) << 31;
    const int infinite = core_is_inf_32(a, b->element) != 0;
    if (core_is_nan_32(a, b->element) || code > 0x7f800000) return (uint32_t)core_f32.nan;
    if ((code == 0x7f800000 && m == 0) || (infinite && code == 0)) return (uint32_t)core_f32.nan;
    if (code == 0x7f800000 || infinite) return (sign ^ negative << 31) | 0x7f800000;
    const core_exact x = core_times(core_exactly(a, b->element), factor);
    return (uint32_t)core_exact_pack(sign >> 31 ^ negative, x, b->to, core_nearest).code;
}

CORE_INLINE void core_block_dequantize(const uint32_t *codes, size_t m, uint32_t scale, uint32_t *z, const core_block_values *b,
                                       uint32_t tensor)
{
    uint32_t code = 0;
    const uint32_t negative = core_sign_32(scale, b->scale);
    const core_exact factor = b->power ? (core_exact){0, 0} : core_block_factor(scale, b, tensor, &code);
    core_format from = b->element;
    if (b->power) {
        if (scale > b->scale.largest) { /* NaN */
            for (size_t i = 0; i < m; i++) z[i] = (uint32_t)core_f32.nan;
            return;
        }
        from.bias -= (int)scale - b->scale.bias;
    }
    for (size_t i = 0; i < m; i++) {
        const uint32_t a = core_block_sign_and_magnitude(codes[i], b);
        z[i] = b->power ? core_convert_32(a, from, b->to, core_nearest).code : core_block_value(a, factor, code, negative, b);
    }
}

#endif
