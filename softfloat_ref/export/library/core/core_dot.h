/* SPDX-License-Identifier: 0BSD
 *
 * Dot products as units of hardware compute them: products are aligned, cut, added and rounded by rules that are
 * constants of the caller. A term is (-1)^sign * sig * 2^e. `exponent`: that of the binade in which it is encoded; of a
 * product, the sum of its factors'; `scale`: the part of it that comes from the scales of blocks.
 */
#ifndef CORE_DOT_H
#define CORE_DOT_H

enum { CORE_IS_PLUS_INF = 1, CORE_IS_MINUS_INF = 2, CORE_IS_NAN = 4, CORE_IS_SIGNALING = 8, CORE_IS_INVALID = 16 };

typedef struct {
    uint64_t sig;
    int32_t e, exponent, scale;
    uint32_t sign, empty, special; /* empty: of zeros only, without an exponent */
} core_term;

static const core_term core_no_term = {0, 0, 0, 0, 0, 1, 0};

CORE_INLINE core_term core_term_of(uint32_t special)
{
    core_term x = core_no_term;
    x.special = special;
    x.sign = special == CORE_IS_MINUS_INF;
    x.empty = 0;
    return x;
}

CORE_INLINE int32_t core_length(uint64_t x) { return x ? 64 - (int32_t)core_clz_64(x) : 0; }

/* -- operands ------------------------------------------------------------------------------------------------------ */

/* Zeros of operands: with their signs, or +0. */
typedef struct {
    core_format a;
    int twos_complement, positive_zeros, wide, wide_emin; /* wide: held in a format with that smallest exponent */
} core_operand_rule;

CORE_INLINE core_term core_number_term(uint64_t a, core_format f)
{
    const uint64_t sign = core_sign_64(a, f);
    if (core_is_nan_64(a, f)) return core_term_of(CORE_IS_NAN | (core_is_signaling_64(a, f) ? CORE_IS_SIGNALING : 0));
    if (core_is_inf_64(a, f)) return core_term_of(sign ? CORE_IS_MINUS_INF : CORE_IS_PLUS_INF);
    core_term x = core_no_term;
    a = core_operand_64(a, f);
    x.sig = core_significand_64(a, f);
    x.exponent = (int32_t)core_exponent_64(a, f) - f.bias;
    x.e = x.exponent - f.mantissa;
    x.sign = (uint32_t)sign;
    x.empty = x.sig == 0;
    return x;
}

CORE_INLINE core_term core_operand_term(uint32_t a, core_operand_rule r)
{
    if (r.twos_complement) {
        const uint32_t sign = a >> (r.a.width - 2) & 1, bits = (1u << (r.a.width - 1)) - 1;
        a = (((a ^ (0 - sign)) + sign) & bits) | sign << (r.a.width - 1);
    }
    core_term x = core_number_term(a, r.a);
    if (r.positive_zeros && x.empty) x.sign = 0;
    if (r.wide && x.sig) {
        const int32_t top = core_length(x.sig) - 1 + x.e, e = (top > r.wide_emin ? top : r.wide_emin) - r.a.mantissa;
        x.sig <<= x.e - e;
        x.e = e;
        x.exponent = e + r.a.mantissa;
    }
    return x;
}

/* The scale of a block; without mantissa bits, every code but NaN is a power of two. */
CORE_INLINE core_term core_scale_term(uint32_t a, core_format f)
{
    core_term x = core_no_term;
    if (f.mantissa) return core_number_term(a, f);
    if (a > f.largest) return core_term_of(CORE_IS_NAN);
    x.sig = 1;
    x.e = x.exponent = (int32_t)a - f.bias;
    x.empty = 0;
    return x;
}

/* The product of two scales. */
CORE_INLINE core_term core_scales(core_term a, core_term b)
{
    core_term x = core_no_term;
    if (a.special | b.special) {
        if (((a.special | b.special) & CORE_IS_NAN) || a.empty || b.empty) return core_term_of(CORE_IS_NAN);
        return core_term_of(a.sign ^ b.sign ? CORE_IS_MINUS_INF : CORE_IS_PLUS_INF);
    }
    x.sig = a.sig * b.sig;
    x.e = a.e + b.e;
    x.exponent = a.exponent + b.exponent;
    x.sign = a.sign ^ b.sign;
    x.empty = a.empty | b.empty;
    return x;
}

/* a * b * scale; magnitudes of 2^limit and above are Inf. */
CORE_INLINE core_term core_product_term(core_term a, core_term b, core_term scale, int has_limit, int32_t limit)
{
    core_term x = core_no_term;
    x.sign = a.sign ^ b.sign ^ scale.sign;
    if (CORE_UNLIKELY(a.special | b.special | scale.special)) {
        const uint32_t any = a.special | b.special | scale.special, infinite = CORE_IS_PLUS_INF | CORE_IS_MINUS_INF;
        const uint32_t invalid = ((a.special & infinite) && b.empty) || ((b.special & infinite) && a.empty);
        if (any & CORE_IS_NAN) return core_term_of((any & ~infinite) | (invalid ? CORE_IS_INVALID : 0));
        if (a.empty | b.empty | scale.empty) return core_term_of(CORE_IS_INVALID);
        return core_term_of(x.sign ? CORE_IS_MINUS_INF : CORE_IS_PLUS_INF);
    }
    x.scale = scale.exponent;
    x.sig = a.sig * b.sig * scale.sig;
    if (x.sig == 0) return x;
    x.empty = 0;
    x.e = a.e + b.e + scale.e;
    x.exponent = a.exponent + b.exponent + scale.exponent;
    if (has_limit && x.e + core_length(x.sig) > limit)
        return core_term_of(x.sign ? CORE_IS_MINUS_INF : CORE_IS_PLUS_INF);
    return x;
}

/* -- sums ---------------------------------------------------------------------------------------------------------- */

enum { CORE_NO_FLOOR, CORE_FLOOR_OF_ZEROS, CORE_FLOOR_ALWAYS };
#define CORE_SUM_PARTS 4
#define CORE_SUM_WORDS 24

/* A sum of parts, each of `count` terms. Aligned: a part's terms are multiples of 2^(M - bits), what is below cut off or,
 * if down, floored; terms more than `drop` below M are left out; M is the largest exponent, and `floor`. Exact: in
 * `words` words of 64 bits, multiples of 2^unit, times the one scale of its products if relative. */
typedef struct {
    int parts, count[CORE_SUM_PARTS], bits[CORE_SUM_PARTS], down[CORE_SUM_PARTS], drop[CORE_SUM_PARTS];
    int exact, words, unit, relative;
    int has_floor, floor;
    int by_scale; /* the sum's exponent is the largest of its products' scales */
} core_sum_rule;

/* A NaN or Inf as the sum of terms with these. */
CORE_INLINE core_term core_special_sum(uint32_t special, int quiet, uint32_t *flags)
{
    const uint32_t both = CORE_IS_PLUS_INF | CORE_IS_MINUS_INF;
    if (special & CORE_IS_NAN) {
        if ((special & CORE_IS_SIGNALING) || ((special & CORE_IS_INVALID) && !quiet)) *flags |= CORE_INVALID;
        return core_term_of(CORE_IS_NAN);
    }
    if ((special & CORE_IS_INVALID) || (special & both) == both) {
        *flags |= CORE_INVALID;
        return core_term_of(CORE_IS_NAN);
    }
    return core_term_of(special);
}

/* a + b, any lost bit in the last one. */
CORE_INLINE core_term core_sum_of_two(core_term a, core_term b)
{
    core_term x = core_no_term;
    x.sign = a.sign & b.sign;
    if (a.sig == 0 || b.sig == 0) {
        if (a.sig) x = a;
        if (b.sig) x = b;
        return x;
    }
    const int64_t up = core_clz_64(a.sig) - 2, vp = core_clz_64(b.sig) - 2;
    core_term high = a, low = b;
    high.sig = up < 0 ? core_jam_64(a.sig, -up) : a.sig << up, high.e -= (int32_t)up;
    low.sig = vp < 0 ? core_jam_64(b.sig, -vp) : b.sig << vp, low.e -= (int32_t)vp;
    if (low.e > high.e || (low.e == high.e && low.sig > high.sig)) {
        const core_term swapped = high;
        high = low, low = swapped;
    }
    low.sig = core_jam_64(low.sig, high.e - low.e);
    x.sig = high.sign ^ low.sign ? high.sig - low.sig : high.sig + low.sig;
    x.sign = x.sig ? high.sign : 0;
    x.e = high.e;
    x.empty = 0;
    return x;
}

/* The sum of all terms in words; of more than 63 bits, any lost bit in the last one. */
CORE_INLINE core_term core_sum_in_words(const core_term *t, int n, int unit, int words)
{
    uint64_t sum[CORE_SUM_WORDS] = {0}, negative;
    core_term x = core_no_term;
    x.sign = 1;
    for (int i = 0; i < n; i++) {
        const int32_t at = t[i].sig ? t[i].e - unit : 0;
        const uint64_t s = 0 - (uint64_t)t[i].sign, low = t[i].sig << (at & 63);
        const uint64_t high = t[i].sig >> 1 >> (63 - (at & 63));
        uint64_t carry = t[i].sign;
        x.sign &= t[i].sign;
        x.empty &= t[i].empty;
        if (words == 1) {
            sum[0] += (low ^ s) + carry;
            continue;
        }
        for (int k = 0; k < words; k++) {
            const uint64_t add = (k == at >> 6 ? low : k == (at >> 6) + 1 ? high : 0) ^ s, first = sum[k] + carry;
            carry = first < carry;
            sum[k] = first + add;
            carry |= sum[k] < add;
        }
    }
    negative = sum[words - 1] >> 63;
    uint64_t carry = negative, rest = 0;
    for (int k = 0; k < words; k++) {
        sum[k] = (sum[k] ^ (0 - negative)) + carry;
        carry &= sum[k] == 0;
    }
    int k = words - 1;
    while (k > 0 && sum[k] == 0) k--;
    x.sig = sum[k];
    x.e = unit + 64 * k;
    if (words > 1 && (k > 0 || x.sig >> 63)) {
        const int32_t up = (int32_t)core_clz_64(x.sig);
        const uint64_t next = k > 0 ? sum[k - 1] : 0, wide = x.sig << up | next >> 1 >> (63 - up);
        for (int i = 0; i < k - 1; i++) rest |= sum[i];
        rest |= next << up | (wide & 1);
        x.sig = wide >> 1 | (rest != 0);
        x.e += 1 - up;
    }
    if (x.sig) x.sign = (uint32_t)negative;
    return x;
}

/* A term as a multiple of 2^unit. */
CORE_INLINE int64_t core_aligned(core_term t, int32_t unit, int down, uint32_t *lost)
{
    const int32_t s = unit - (t.sig ? t.e : unit);
    uint64_t kept = t.sig << (s < 0 ? -s : 0), cut;
    if (s > 0) {
        kept = s > 63 ? 0 : t.sig >> s;
        cut = s > 63 ? t.sig : t.sig & ((UINT64_C(1) << s) - 1);
        *lost |= cut != 0;
        kept += (uint64_t)(t.sign && down && cut);
    }
    return t.sign ? -(int64_t)kept : (int64_t)kept;
}

CORE_INLINE core_term core_aligned_sum(const core_term *t, core_sum_rule r, int32_t largest, uint32_t *flags)
{
    core_term x = core_no_term;
    uint32_t lost = 0, sign = 1;
    int32_t lowest = largest - r.bits[0];
    int64_t sum = 0;
    for (int p = 1; p < r.parts; p++) lowest = largest - r.bits[p] < lowest ? largest - r.bits[p] : lowest;
    for (int p = 0, i = 0; p < r.parts; p++) {
        int64_t part = 0;
        for (int k = 0; k < r.count[p]; k++, i++) {
            sign &= t[i].sign;
            x.empty &= t[i].empty;
            if (r.drop[p] >= 0 && t[i].exponent < largest - r.drop[p]) lost |= t[i].sig != 0;
            else part += core_aligned(t[i], largest - r.bits[p], r.down[p], &lost);
        }
        sum += part * ((int64_t)1 << (largest - r.bits[p] - lowest));
    }
    *flags |= lost; /* inexact */
    x.sign = sum ? sum < 0 : sign;
    x.sig = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
    x.e = lowest;
    return x;
}

CORE_INLINE core_term core_sum(const core_term *t, core_sum_rule r, int quiet, uint32_t *flags)
{
    int n = 0, some = 0;
    int32_t largest = 0, scale = 0;
    uint32_t special = 0, zeros = 0, scaled = 0;
    for (int p = 0; p < r.parts; p++) n += r.count[p];
    for (int i = 0; i < n; i++) {
        special |= t[i].special;
        zeros |= t[i].empty;
        if (t[i].empty) continue;
        if (!some || t[i].exponent > largest) largest = t[i].exponent;
        if (!scaled || t[i].scale > scale) scale = t[i].scale;
        some = 1, scaled = 1;
    }
    if (CORE_UNLIKELY(special)) return core_special_sum(special, quiet, flags);
    if (r.has_floor == CORE_FLOOR_ALWAYS || (r.has_floor == CORE_FLOOR_OF_ZEROS && zeros)) {
        if (!some || r.floor > largest) largest = r.floor;
        some = 1;
    }
    core_term x;
    if (!r.exact) x = core_aligned_sum(t, r, largest, flags);
    else if (n == 1) x = t[0];
    else if (n == 2 && r.words > 1) x = core_sum_of_two(t[0], t[1]);
    else x = core_sum_in_words(t, n, r.unit + (r.relative ? scale : 0), r.words);
    x.empty = !scaled;
    x.exponent = r.by_scale ? scale : largest;
    x.scale = 0;
    return x;
}

/* -- roundings ----------------------------------------------------------------------------------------------------- */

/* A sum rounded to a format; its code is moved up into the one that holds it. infinite: overflow is Inf in every
 * rounding. */
typedef struct {
    core_format f;
    core_mode mode;
    int infinite, positive_zero, up;
    uint64_t nan; /* of the format that holds it */
} core_rounding;

CORE_INLINE core_term core_round_term(core_term x, core_rounding r, int quiet, uint64_t *code, uint32_t *flags)
{
    core_result_64 z;
    if (CORE_UNLIKELY(x.special)) {
        const core_term y = core_special_sum(x.special, quiet, flags);
        *code = y.special & CORE_IS_NAN ? r.nan : core_infinite_64(y.sign, r.f) << r.up;
        return y;
    }
    z = core_normalize_pack_64(x.sign, x.e + r.f.bias + 62, x.sig, x.sign, r.f, r.mode);
    if (r.infinite && (z.flags & CORE_OVERFLOW)) z.code = core_infinite_64(x.sign, r.f);
    if (r.positive_zero && z.code == core_sign_bit_64(r.f)) z.code = 0;
    *flags |= (uint32_t)z.flags;
    *code = z.code << r.up;
    return core_number_term(z.code, r.f);
}

/* Terms added one by one, each sum rounded; or neighbours, level by level. The result is in t[0]. */
CORE_INLINE void core_chain(core_term *t, int n, core_rounding r, int quiet, uint64_t *code, uint32_t *flags)
{
    const core_sum_rule two = {1, {2}, {0}, {0}, {0}, 1, 2, 0, 0, CORE_NO_FLOOR, 0, 0};
    if (n == 1) t[0] = core_round_term(t[0], r, quiet, code, flags);
    for (int i = 1; i < n; i++) {
        const core_term pair[2] = {t[0], t[i]};
        t[0] = core_round_term(core_sum(pair, two, quiet, flags), r, quiet, code, flags);
    }
}

CORE_INLINE void core_pairs(core_term *t, int n, core_rounding r, int quiet, uint64_t *code, uint32_t *flags)
{
    const core_sum_rule two = {1, {2}, {0}, {0}, {0}, 1, 2, 0, 0, CORE_NO_FLOOR, 0, 0};
    if (n == 1) t[0] = core_round_term(t[0], r, quiet, code, flags);
    for (; n > 1; n = (n + 1) / 2) {
        for (int i = 0; i < n / 2; i++)
            t[i] = core_round_term(core_sum(t + 2 * i, two, quiet, flags), r, quiet, code, flags);
        if (n % 2) t[n / 2] = t[n - 1];
    }
}

#endif
