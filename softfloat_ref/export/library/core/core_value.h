/* SPDX-License-Identifier: 0BSD
 * Codes of up to 128 bits of any format as values, and values, rounded once, as codes. */

/* A format under a policy, whose results are the oracle's. Codes have a sign at bit width - 1, and a magnitude in order
 * of value; the codes here hide a stored integer bit, but for `nan` and `nan_base`. */
typedef struct {
    int width, mantissa, bias;
    int has_sign, explicit_bit, nan_at, infinity, signaling;
    int has_zero, low_normal; /* low_normal: exponent field 0 has normal numbers; */
    int gap;                  /* there is nothing between zero and `least` */
    int emin, emax, offset;   /* of the exponents of values; offset: that of code 0, if it were no zero, above emin */
    int drop_sign, code_parity, negative_zero, odd_beyond;
    core_wide least, min_code, max_code, max_negative, largest; /* largest: the last code that is a number */
    core_wide limited_positive, limited_negative, beyond_positive, beyond_negative;
    core_wide infinite_positive, infinite_negative, zero_positive, zero_negative;
    int zero_flags;
    core_wide nan, nan_base; /* the generated NaN or what stands for it; the quiet NaN without a payload */
    int propagate, first_last, no_payload;
    int fma_order, fma_generated, fma_quiet;
    int flush_inputs, flush_outputs;
    int unnormals, p3109; /* unnormals: are values; p3109: x / 0 is NaN */
} core_format_128;

/* shorter: mantissa bits that are left 0. random: of a stochastic rounding, `count` bits. */
typedef struct {
    int rounding, before, shorter, count;
    uint64_t random;
} core_mode_128;

static const core_mode_128 core_plain_mode = {CORE_RNE, 0, 0, 0, 0};

CORE_INLINE core_mode_128 core_stochastic_mode(core_mode mode, int count, uint64_t random, int shorter)
{
    core_mode_128 r = {mode.rounding, mode.before, shorter, count, random};
    return r;
}

CORE_INLINE core_mode_128 core_long_mode(core_mode mode, int shorter)
{
    core_mode_128 r = {mode.rounding, mode.before, shorter, 0, 0};
    return r;
}

enum { CORE_ZERO, CORE_FINITE, CORE_INF, CORE_NAN };

/* (-1)^sign * sig * 2^(e - TOP_128), the leading one of sig at bit TOP_128; of a NaN sig is the payload, below bit 127. */
typedef struct {
    int kind;
    uint64_t sign;
    int64_t e;
    core_wide sig;
    uint64_t signaling, generated; /* of a NaN; generated: it has no payload that could be propagated */
} core_value;

typedef struct {
    core_wide code;
    uint64_t flags;
} core_result_128;

#define TOP_128 126
#define ONE_128 core_wide_of(0, 1)

CORE_INLINE core_result_128 core_make_128(core_wide code, uint64_t flags)
{
    core_result_128 r;
    r.code = code;
    r.flags = flags;
    return r;
}

CORE_INLINE core_value core_value_of(int kind, uint64_t sign)
{
    core_value x = {kind, sign, 0, {0, 0}, 0, 0};
    return x;
}

CORE_INLINE core_value core_generated_nan(void)
{
    core_value x = {CORE_NAN, 0, 0, {0, 0}, 0, 1};
    return x;
}

/* sig * 2^(e - TOP_128) with its leading one at bit TOP_128 or the next one, and with a sticky last bit. */
CORE_INLINE core_value core_nearly_normal(uint64_t sign, int64_t e, core_wide sig)
{
    uint64_t down = sig.high >> 63;
    core_value x = {CORE_FINITE, sign, e + (int64_t)down, {0, 0}, 0, 0};
    x.sig.low = sig.low >> down | (sig.low & down) | (sig.high & down) << 63;
    x.sig.high = sig.high >> down;
    return x;
}

/* sig * 2^(e - TOP_128) with its leading one anywhere; zero_sign: of zero. */
CORE_INLINE core_value core_normalized_value(uint64_t sign, int64_t e, core_wide sig, uint64_t zero_sign)
{
    core_value x = {CORE_FINITE, sign, e, sig, 0, 0};
    if (!core_wide_some(sig)) return core_value_of(CORE_ZERO, zero_sign);
    int64_t up = core_wide_clz(sig) - 1;
    x.sig = up < 0 ? core_wide_of(sig.high >> 1, sig.high << 63 | sig.low >> 1 | (sig.low & 1)) : core_wide_left(sig, up);
    x.e = e - up;
    return x;
}

/* -- decoding ------------------------------------------------------------------------------------------------------ */

CORE_INLINE uint64_t core_is_nan_128(core_wide code, core_wide magnitude, core_format_128 f)
{
    if (f.nan_at == CORE_NAN_NONE) return 0;
    if (f.nan_at == CORE_NAN_NEGATIVE_ZERO)
        return !core_wide_some(magnitude) && core_wide_some(core_wide_right(code, f.width - 1));
    core_wide last = core_wide_plus(f.largest, core_wide_of(0, (uint64_t)f.infinity));
    return core_wide_less(last, magnitude);
}

CORE_INLINE core_value core_decode_nan(uint64_t sign, core_wide mantissa, core_format_128 f)
{
    core_value x = {CORE_NAN, sign, 0, {0, 0}, 0, 0};
    if (f.nan_at == CORE_NAN_NEGATIVE_ZERO) x.sign = 0;
    if (f.nan_at != CORE_NAN_IEEE) return x;
    x.sig = core_wide_left(mantissa, 128 - f.mantissa);
    x.signaling = (uint64_t)f.signaling & (x.sig.high >> 63 ^ 1);
    x.sig.high &= ~(UINT64_C(1) << 63);
    return x;
}

/* As a value. A code whose integer bit is stored: */
CORE_INLINE core_value core_decode_explicit(core_wide code, core_format_128 f)
{
    uint64_t sign = code.high >> (f.width - 65) & 1;
    int64_t field = (int64_t)(code.high & ((UINT64_C(1) << (f.width - 65)) - 1)), top = INT64_C(2) * f.bias + 1;
    core_wide sig = {code.low, 0};
    if (CORE_UNLIKELY(field && !(code.low >> 63) && !f.unnormals)) {
        core_value x = core_generated_nan();
        x.signaling = 1;
        return x;
    }
    if (CORE_UNLIKELY(field == top)) {
        if (code.low << 1) return core_decode_nan(sign, core_wide_of(0, code.low & ~(UINT64_C(1) << 63)), f);
        return core_value_of(CORE_INF, sign);
    }
    int64_t e = (field ? field : 1) - f.bias;
    core_value x = {CORE_FINITE, sign, e, core_wide_right(sig, 1), 0, 0};
    if (CORE_UNLIKELY(!(code.low >> 63))) x = core_normalized_value(sign, e, x.sig, sign);
    if (f.flush_inputs && x.kind == CORE_FINITE && x.e < f.emin) return core_value_of(CORE_ZERO, sign);
    return x;
}

CORE_INLINE core_value core_decode(core_wide code, core_format_128 f)
{
    if (f.explicit_bit) return core_decode_explicit(code, f);
    uint64_t sign = f.has_sign ? core_wide_right(code, f.width - 1).low & 1 : 0;
    core_wide magnitude = core_wide_and(code, core_wide_ones(f.width - f.has_sign));
    core_wide mantissa = core_wide_and(magnitude, core_wide_ones(f.mantissa));
    if (CORE_UNLIKELY(core_is_nan_128(code, magnitude, f))) return core_decode_nan(sign, mantissa, f);
    if (CORE_UNLIKELY(core_wide_less(f.largest, magnitude))) return core_value_of(CORE_INF, sign);
    int64_t field = (int64_t)core_wide_right(magnitude, f.mantissa).low;
    core_wide sig = core_wide_left(mantissa, TOP_128 - f.mantissa), one = {UINT64_C(1) << (TOP_128 - 64), 0};
    core_value x = {CORE_FINITE, sign, field - f.bias, core_wide_or(sig, one), 0, 0};
    if (f.low_normal) {
        if (f.has_zero && !core_wide_some(magnitude)) return core_value_of(CORE_ZERO, sign);
    } else if (CORE_UNLIKELY(field == 0)) {
        if (f.gap || f.flush_inputs) return core_value_of(CORE_ZERO, sign);
        return core_normalized_value(sign, 1 - f.bias, sig, sign);
    }
    return x;
}

/* -- encoding ------------------------------------------------------------------------------------------------------ */

/* The code of a format that may store its integer bit, for the code that hides it. */
CORE_INLINE core_wide core_stored(core_wide code, core_format_128 f)
{
    if (!f.explicit_bit) return code;
    uint64_t high = code.high << 1 | code.low >> 63;
    return core_wide_of(high, (code.low & ~(UINT64_C(1) << 63)) | (uint64_t)((high & 0x7fff) != 0) << 63);
}

CORE_INLINE core_result_128 core_encode_nan(core_value x, core_format_128 f)
{
    uint64_t flags = f.nan_at == CORE_NAN_NONE || x.signaling ? CORE_INVALID : 0;
    if (f.propagate == CORE_NAN_GENERATED || x.generated || f.nan_at == CORE_NAN_NONE ||
        f.nan_at == CORE_NAN_NEGATIVE_ZERO)
        return core_make_128(f.nan, flags);
    core_wide sign = x.sign && f.has_sign ? core_wide_left(ONE_128, f.width - 1) : core_wide_of(0, 0);
    if (f.no_payload) return core_make_128(core_wide_or(f.nan, sign), flags);
    core_wide payload = {0, 0};
    if (f.nan_at == CORE_NAN_IEEE) payload = core_wide_right(x.sig, 128 - f.mantissa);
    return core_make_128(core_wide_or(core_wide_or(f.nan_base, payload), sign), flags);
}

/* What is added to sig before its last s bits are cut; 1 <= s <= TOP_128, of a stochastic rounding more than `count`. */
CORE_INLINE core_wide core_increment(core_wide sig, int64_t s, uint64_t sign, uint64_t odd, core_mode_128 mode)
{
    const core_wide none = {0, 0}, all = core_wide_ones(s), half = core_wide_left(ONE_128, s - 1);
    const int64_t fine = s - mode.count;
    switch (mode.rounding) {
    case CORE_RNE: return core_wide_minus(half, core_wide_of(0, odd ^ 1));
    case CORE_RNA: return half;
    case CORE_RUP: return sign ? none : all;
    case CORE_RDN: return sign ? all : none;
    case CORE_RTO: return odd ? none : all;
    case CORE_SR: return core_wide_left(core_wide_of(0, mode.random), fine);
    case CORE_SR_B:
        return core_wide_left(core_wide_of(mode.random >> 63, mode.random << 1 | 1), fine - 1);
    case CORE_SR_C: {
        uint64_t last = core_wide_right(sig, fine).low & 1;
        core_wide nearest = core_wide_plus(sig, core_wide_minus(core_wide_left(ONE_128, fine - 1), core_wide_of(0, last ^ 1)));
        nearest = core_wide_left(core_wide_right(nearest, fine), fine);
        nearest = core_wide_plus(nearest, core_wide_left(core_wide_of(0, mode.random), fine));
        return core_wide_minus(nearest, sig);
    }
    default: return none;
    }
}

CORE_INLINE core_wide core_rounded_128(core_wide sig, int64_t s, uint64_t sign, uint64_t odd, core_mode_128 mode)
{
    return core_wide_right(core_wide_plus(sig, core_increment(sig, s, sign, odd, mode)), s);
}

/* sig / 2^s of the smallest normal number `least`, rounded to 0 or 1; the first bits of the quotient say which. */
CORE_INLINE uint64_t core_rounded_in_gap(core_wide sig, int64_t s, uint64_t sign, core_format_128 f, core_mode_128 mode)
{
    const int64_t most = TOP_128 - 1 - f.mantissa;
    if (s > most) {
        sig = core_wide_jam(sig, s - most);
        s = most;
    }
    core_wide unit = core_wide_left(f.least, s), q = {0, 0};
    for (int i = 0; i <= mode.count; i++) {
        uint64_t bit;
        sig = core_wide_left(sig, 1);
        bit = !core_wide_less(sig, unit);
        if (bit) sig = core_wide_minus(sig, unit);
        q = core_wide_or(core_wide_left(q, 1), core_wide_of(0, bit));
    }
    q = core_wide_or(core_wide_left(q, 1), core_wide_of(0, core_wide_some(sig)));
    return core_rounded_128(q, mode.count + 2, sign, 0, mode).low;
}

/* Whether a number is below all normals, before or after rounding. */
CORE_INLINE uint64_t core_is_tiny(core_value x, int before, core_format_128 f, core_mode_128 mode)
{
    if (x.e > f.emin) return 0;
    if (x.e < f.emin - 1) return 1;
    const int64_t m = f.mantissa - mode.shorter, s = TOP_128 - m;
    core_wide kept = core_wide_right(x.sig, s), least = core_wide_right(f.least, mode.shorter);
    uint64_t odd = kept.low & 1;
    if (f.code_parity && m == 0) odd ^= (uint64_t)(x.e - f.emin - f.offset) & 1;
    if (!before) kept = core_rounded_128(x.sig, s, x.sign, odd, mode);
    return core_wide_less(core_wide_left(kept, x.e - f.emin + 1), core_wide_left(least, 1));
}

CORE_INLINE core_wide core_signed_128(uint64_t sign, core_wide code, core_format_128 f)
{
    if (!f.has_sign || !sign || (!f.negative_zero && !core_wide_some(code))) return code;
    return core_wide_or(code, core_wide_left(ONE_128, f.width - 1 - f.explicit_bit));
}

CORE_INLINE uint64_t core_goes_beyond(uint64_t sign, core_format_128 f, core_mode_128 mode)
{
    switch (mode.rounding) {
    case CORE_RTZ: return 0;
    case CORE_RTO: return (unsigned)f.odd_beyond >> sign & 1;
    case CORE_RUP: return sign ^ 1;
    case CORE_RDN: return sign;
    default: return 1;
    }
}

CORE_INLINE core_result_128 core_overflow_128(uint64_t sign, core_format_128 f, core_mode_128 mode)
{
    core_wide beyond = core_wide_pick(sign, f.beyond_negative, f.beyond_positive);
    core_wide limited = core_wide_pick(sign, f.limited_negative, f.limited_positive);
    core_wide code = core_wide_pick(core_goes_beyond(sign, f, mode), beyond, limited);
    code = core_wide_left(core_wide_right(code, mode.shorter), mode.shorter);
    return core_make_128(core_stored(code, f), CORE_OVERFLOW | CORE_INEXACT);
}

/* A number, rounded once. */
CORE_INLINE core_result_128 core_round_pack_128(core_value x, core_format_128 f, core_mode_128 mode)
{
    const int64_t m = f.mantissa - mode.shorter;
    const int64_t below = x.e < f.emin ? f.emin - x.e : 0;
    int64_t s = TOP_128 - m + below;
    core_wide sig = x.sig;
    if (f.drop_sign) x.sign = 0;
    if (!f.code_parity && !CORE_UNLIKELY(x.e <= f.emin || x.e >= f.emax)) {
        const int64_t drop = TOP_128 - m, field = x.e - f.emin - f.offset;
        core_wide code = core_rounded_128(sig, drop, x.sign, core_wide_right(sig, drop).low & 1, mode);
        uint64_t inexact = core_wide_some(core_wide_and(sig, core_wide_ones(drop)));
        code = core_wide_plus(code, core_wide_left(core_wide_of(0, (uint64_t)field), m));
        if (f.has_sign || !x.sign) {
            code = core_wide_left(code, mode.shorter);
            return core_make_128(core_stored(core_signed_128(x.sign, code, f), f), inexact);
        }
    }
    if (f.flush_outputs == CORE_FLUSH_BEFORE && core_is_tiny(x, 1, f, mode))
        return core_make_128(core_stored(core_signed_128(x.sign, core_wide_of(0, 0), f), f), CORE_UNDERFLOW);
    if (CORE_UNLIKELY(x.e > f.emax)) return core_overflow_128(x.sign, f, mode);
    if (s > TOP_128) {
        sig = core_wide_jam(sig, s - TOP_128);
        s = TOP_128;
    }
    const int64_t steps = x.e + below - f.emin - f.offset;
    core_wide code = core_wide_left(core_wide_of(0 - (uint64_t)(steps < 0), (uint64_t)steps), m);
    core_wide kept = core_wide_right(sig, s);
    uint64_t odd = (kept.low ^ (f.code_parity ? code.low : 0)) & 1, inexact;
    inexact = core_wide_some(core_wide_and(sig, core_wide_ones(s)));
    if (f.gap && x.e <= f.emin && core_wide_less(kept, f.least)) {
        code = core_rounded_in_gap(sig, s, x.sign, f, mode) ? f.min_code : core_wide_of(0, 0);
        inexact = 1;
    } else {
        code = core_wide_plus(code, core_rounded_128(sig, s, x.sign, odd, mode));
    }
    if (mode.shorter) code = core_wide_left(code, mode.shorter);
    const core_wide top = {UINT64_C(1) << 63, 0}; /* signed comparisons: the code may be below that of the smallest value */
    core_wide biased = core_wide_plus(code, top), most = core_wide_pick(x.sign, f.max_negative, f.max_code);
    if (CORE_UNLIKELY(core_wide_less(core_wide_plus(most, top), biased))) return core_overflow_128(x.sign, f, mode);
    if (!f.has_zero && core_wide_less(biased, core_wide_plus(f.min_code, top))) {
        code = f.min_code;
        inexact = 1;
    }
    uint64_t flags = inexact;
    if (CORE_UNLIKELY(x.e <= f.emin) && (inexact || f.flush_outputs) && core_is_tiny(x, mode.before, f, mode)) {
        flags |= inexact << 1;
        if (f.flush_outputs == CORE_FLUSH_AFTER) {
            code = core_wide_of(0, 0);
            flags = CORE_UNDERFLOW | CORE_INEXACT;
        }
    }
    return core_make_128(core_stored(core_signed_128(x.sign, code, f), f), flags);
}

CORE_INLINE core_result_128 core_encode(core_value x, core_format_128 f, core_mode_128 mode)
{
    if (x.kind == CORE_FINITE) return core_round_pack_128(x, f, mode);
    if (x.kind == CORE_ZERO)
        return core_make_128(core_wide_pick(x.sign, f.zero_negative, f.zero_positive), (uint64_t)f.zero_flags);
    if (x.kind == CORE_INF)
        return core_make_128(core_stored(core_wide_pick(x.sign, f.infinite_negative, f.infinite_positive), f), 0);
    return core_encode_nan(x, f);
}
