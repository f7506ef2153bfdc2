/* SPDX-License-Identifier: 0BSD
 * Operations on values of every format: an exact result, or one with a sticky last bit, that is rounded once. */

CORE_INLINE core_result_128 core_flagged(core_result_128 r, uint64_t flags)
{
    r.flags |= flags;
    return r;
}

CORE_INLINE core_result_128 core_invalid_128(core_format_128 f)
{
    return core_flagged(core_encode_nan(core_generated_nan(), f), CORE_INVALID);
}

CORE_INLINE core_result_128 core_zero_128(uint64_t sign, core_format_128 f)
{
    return core_encode(core_value_of(CORE_ZERO, sign), f, core_plain_mode);
}

CORE_INLINE core_result_128 core_infinite_128(uint64_t sign, core_format_128 f)
{
    return core_encode(core_value_of(CORE_INF, sign), f, core_plain_mode);
}

/* -- NaNs ---------------------------------------------------------------------------------------------------------- */

CORE_INLINE uint64_t core_signaling_128(core_value x) { return x.kind == CORE_NAN && x.signaling; }

/* Whether the NaN y is taken before the NaN x, which comes first: x87's rule. */
CORE_INLINE uint64_t core_is_larger(core_value y, core_value x)
{
    if (x.signaling != y.signaling) return x.signaling;
    if (core_wide_less(x.sig, y.sig)) return 1;
    return !core_wide_less(y.sig, x.sig) && y.sign < x.sign;
}

CORE_INLINE core_value core_nan_of_values(core_value x, core_value y, core_format_128 f)
{
    if (x.kind != CORE_NAN) return y;
    if (y.kind != CORE_NAN) return x;
    if (f.propagate == CORE_NAN_SIGNALING && y.signaling && !x.signaling) return y;
    if (f.propagate == CORE_NAN_LARGER && core_is_larger(y, x)) return y;
    return x;
}

CORE_INLINE core_result_128 core_nan_result(core_value x, uint64_t flags, core_format_128 f)
{
    x.signaling = 0;
    return core_flagged(core_encode_nan(x, f), flags);
}

CORE_INLINE core_result_128 core_nan_of_two(core_value x, core_value y, core_format_128 f)
{
    uint64_t signaling = core_signaling_128(x) | core_signaling_128(y);
    if ((core_signaling_128(x) && x.generated) || (core_signaling_128(y) && y.generated)) return core_invalid_128(f);
    core_value nan = f.first_last ? core_nan_of_values(y, x, f) : core_nan_of_values(x, y, f);
    return core_nan_result(nan, signaling << 4, f);
}

CORE_INLINE core_result_128 core_nan_of_three(core_value x, core_value y, core_value z, uint64_t zero_times_inf,
                                              core_format_128 f)
{
    uint64_t signaling = core_signaling_128(x) | core_signaling_128(y) | core_signaling_128(z);
    uint64_t flags = (signaling | (zero_times_inf & (uint64_t)!f.fma_quiet)) << 4;
    if ((core_signaling_128(x) && x.generated) || (core_signaling_128(y) && y.generated) ||
        (core_signaling_128(z) && z.generated))
        return core_invalid_128(f);
    core_value nan;
    switch (f.fma_order) {
    case CORE_FMA_CAB: nan = core_nan_of_values(core_nan_of_values(z, x, f), y, f); break;
    case CORE_FMA_BCA: nan = core_nan_of_values(core_nan_of_values(y, z, f), x, f); break;
    case CORE_FMA_SIGNALING_C:
        nan = core_nan_of_values(x, y, f);
        if (nan.kind != CORE_NAN || core_signaling_128(z)) nan = z;
        break;
    default: nan = core_nan_of_values(core_nan_of_values(x, y, f), z, f);
    }
    uint64_t generated = f.fma_generated == CORE_GENERATED_IF_QUIET ? signaling ^ 1 : f.fma_generated == CORE_GENERATED_NAN;
    return core_nan_result(zero_times_inf & generated ? core_generated_nan() : nan, flags, f);
}

/* -- arithmetic ---------------------------------------------------------------------------------------------------- */

CORE_INLINE core_result_128 core_add_128(core_wide a, core_wide b, uint64_t negate, core_format_128 f,
                                         core_mode_128 mode)
{
    core_value x = core_decode(a, f), y = core_decode(b, f);
    if (CORE_UNLIKELY(x.kind != CORE_FINITE || y.kind != CORE_FINITE)) {
        if (x.kind == CORE_NAN || y.kind == CORE_NAN) return core_nan_of_two(x, y, f);
        y.sign ^= negate;
        if (x.kind == CORE_INF && y.kind == CORE_INF && x.sign != y.sign) return core_invalid_128(f);
        if (x.kind == CORE_INF || y.kind == CORE_INF) return core_infinite_128(x.kind == CORE_INF ? x.sign : y.sign, f);
        if (x.kind == CORE_ZERO && y.kind == CORE_ZERO)
            return core_zero_128(x.sign == y.sign ? x.sign : mode.rounding == CORE_RDN, f);
        return core_encode(x.kind == CORE_ZERO ? y : x, f, mode);
    }
    y.sign ^= negate;
    uint64_t subtract = x.sign ^ y.sign;
    core_value high = x, low = y;
    if (x.e < y.e || (x.e == y.e && core_wide_less(x.sig, y.sig))) high = y, low = x;
    core_wide half = core_wide_right(high.sig, 1); /* significands end in zeros */
    core_wide other = core_wide_jam(core_wide_right(low.sig, 1), high.e - low.e);
    core_wide sum = core_wide_plus(half, core_wide_negated(other, subtract));
    return core_encode(core_normalized_value(high.sign, high.e + 1, sum, mode.rounding == CORE_RDN), f, mode);
}

CORE_INLINE core_result_128 core_mul_128(core_wide a, core_wide b, core_format_128 f, core_mode_128 mode)
{
    core_value x = core_decode(a, f), y = core_decode(b, f);
    uint64_t sign = x.sign ^ y.sign;
    if (CORE_UNLIKELY(x.kind != CORE_FINITE || y.kind != CORE_FINITE)) {
        if (x.kind == CORE_NAN || y.kind == CORE_NAN) return core_nan_of_two(x, y, f);
        if (x.kind != CORE_INF && y.kind != CORE_INF) return core_zero_128(sign, f);
        if (x.kind == CORE_ZERO || y.kind == CORE_ZERO) return core_invalid_128(f);
        return core_infinite_128(sign, f);
    }
    core_wide product;
    if (f.mantissa < 64) { /* significands of one word each */
        product = core_wide_product(x.sig.high << 1 | x.sig.low >> 63, y.sig.high << 1 | y.sig.low >> 63);
    } else {
        core_long all = core_long_product(core_wide_left(x.sig, 1), core_wide_left(y.sig, 1));
        product = all.high;
        product.low |= core_wide_some(all.low);
    }
    /* below 2^128: the ones are at bit 127 or 126 */
    return core_round_pack_128(core_nearly_normal(sign, x.e + y.e, product), f, mode);
}

CORE_INLINE core_result_128 core_fma_128(core_wide a, core_wide b, core_wide c, core_format_128 f, core_mode_128 mode)
{
    core_value x = core_decode(a, f), y = core_decode(b, f), z = core_decode(c, f);
    uint64_t sign = x.sign ^ y.sign, subtract = sign ^ z.sign;
    if (CORE_UNLIKELY(x.kind != CORE_FINITE || y.kind != CORE_FINITE || z.kind != CORE_FINITE)) {
        uint64_t zero = x.kind == CORE_ZERO || y.kind == CORE_ZERO, infinite = x.kind == CORE_INF || y.kind == CORE_INF;
        if (x.kind == CORE_NAN || y.kind == CORE_NAN || z.kind == CORE_NAN)
            return core_nan_of_three(x, y, z, zero & infinite, f);
        if ((zero & infinite) || (infinite && z.kind == CORE_INF && subtract)) return core_invalid_128(f);
        if (infinite) return core_infinite_128(sign, f);
        if (z.kind == CORE_INF) return core_infinite_128(z.sign, f);
        if (zero && z.kind == CORE_ZERO) return core_zero_128(subtract ? mode.rounding == CORE_RDN : sign, f);
        if (zero) return core_encode(z, f, mode);
    }
    /* The product's one is at bit 252, its exponent x.e + y.e; the addend's is at 252, too, of which 124 are below it. */
    core_long product = core_long_product(x.sig, y.sig), addend = {core_wide_right(z.sig, 2), {0, 0}};
    if (z.kind == CORE_ZERO) {
        addend.high = core_wide_of(0, 0);
        z.e = x.e + y.e;
        subtract = 0; /* the product is not zero */
    }
    uint64_t higher = x.e + y.e > z.e;
    int64_t e = higher ? x.e + y.e : z.e;
    core_long high = higher ? product : addend;
    core_long low = core_long_jam(higher ? addend : product, higher ? x.e + y.e - z.e : z.e - x.e - y.e);
    core_long sum = core_long_plus(high, core_long_negated(low, subtract));
    uint64_t below = subtract & sum.high.high >> 63;
    sum = core_long_negated(sum, below);
    sign ^= below ^ (subtract & (higher ^ 1));
    if (!core_wide_some(sum.high) && !core_wide_some(sum.low)) return core_zero_128(mode.rounding == CORE_RDN, f);
    int64_t up = core_long_clz(sum) - 1;
    sum = core_long_left(sum, up);
    core_value r = {CORE_FINITE, sign, e + 2 - up, sum.high, 0, 0};
    r.sig.low |= core_wide_some(sum.low);
    return core_round_pack_128(r, f, mode);
}

CORE_INLINE core_result_128 core_div_128(core_wide a, core_wide b, core_format_128 f, core_mode_128 mode)
{
    core_value x = core_decode(a, f), y = core_decode(b, f);
    uint64_t sign = x.sign ^ y.sign;
    if (CORE_UNLIKELY(x.kind != CORE_FINITE || y.kind != CORE_FINITE)) {
        if (x.kind == CORE_NAN || y.kind == CORE_NAN) return core_nan_of_two(x, y, f);
        if ((f.p3109 && y.kind == CORE_ZERO) || x.kind == y.kind) return core_invalid_128(f);
        if (x.kind == CORE_ZERO || y.kind == CORE_INF) return core_zero_128(sign, f);
        return core_flagged(core_infinite_128(sign, f), x.kind == CORE_FINITE ? CORE_INFINITE : 0);
    }
    core_wide q = core_wide_left(core_long_quotient(x.sig, y.sig), TOP_128 - 115);
    return core_round_pack_128(core_nearly_normal(sign, x.e - y.e - 1, q), f, mode);
}

CORE_INLINE core_result_128 core_sqrt_128(core_wide a, core_format_128 f, core_mode_128 mode)
{
    core_value x = core_decode(a, f);
    if (x.kind == CORE_NAN) return core_nan_of_two(x, x, f);
    if (x.kind == CORE_ZERO) return core_zero_128(x.sign, f);
    if (x.sign) return core_invalid_128(f);
    if (x.kind == CORE_INF) return core_infinite_128(0, f);
    uint64_t odd = (uint64_t)x.e & 1;
    x.sig = core_wide_left(core_long_root(core_wide_left(x.sig, (int64_t)odd)), TOP_128 - 115);
    x.e = (x.e - (int64_t)odd) / 2;
    return core_round_pack_128(x, f, mode);
}

/* IEEE remainder: a - b * n, n the integer nearest a / b, even in a tie. Exact. */
CORE_INLINE core_result_128 core_rem_128(core_wide a, core_wide b, core_format_128 f, core_mode_128 mode)
{
    core_value x = core_decode(a, f), y = core_decode(b, f);
    if (x.kind == CORE_NAN || y.kind == CORE_NAN) return core_nan_of_two(x, y, f);
    if (x.kind == CORE_INF || y.kind == CORE_ZERO) return core_invalid_128(f);
    if (x.kind == CORE_ZERO || y.kind == CORE_INF || x.e < y.e - 1) return core_encode(x, f, mode);
    uint64_t sign = x.sign, q = 0, reciprocal = core_long_reciprocal(core_long_first(y.sig));
    core_wide rest = x.sig;
    int64_t d = x.e - y.e, e = y.e;
    if (d < 0) {
        y.sig = core_wide_left(y.sig, 1); /* below 2^128 */
        e = x.e;
    }
    for (; d > 58; d -= 58) { /* the last step has the quotient's last bit */
        core_long_digit(&rest, y.sig, reciprocal);
        if (!core_wide_less(rest, y.sig)) rest = core_wide_minus(rest, y.sig);
    }
    for (; d >= 0; d--) {
        q = !core_wide_less(rest, y.sig);
        if (q) rest = core_wide_minus(rest, y.sig);
        if (d > 0) rest = core_wide_left(rest, 1);
    }
    core_wide other = core_wide_minus(y.sig, rest);
    if (core_wide_less(other, rest) || (q && !core_wide_less(rest, other))) {
        rest = other;
        sign ^= 1;
    }
    return core_encode(core_normalized_value(sign, e, rest, x.sign), f, mode);
}

/* -- conversions and integers -------------------------------------------------------------------------------------- */

CORE_INLINE core_result_128 core_convert_128(core_wide a, core_format_128 from, core_format_128 f, core_mode_128 mode)
{
    core_value x = core_decode(a, from);
    if (x.kind != CORE_NAN) return core_encode(x, f, mode);
    return core_nan_of_two(x, x, f);
}

/* (-1)^sign * x */
CORE_INLINE core_result_128 core_from_integer_128(uint64_t sign, uint64_t x, core_format_128 f, core_mode_128 mode)
{
    return core_encode(core_normalized_value(sign, TOP_128, core_wide_of(0, x), 0), f, mode);
}

/* The magnitude of a number below 2^65, rounded to an integer. */
CORE_INLINE core_wide core_integral(core_value x, core_mode_128 mode, uint64_t *inexact)
{
    int64_t s = TOP_128 - x.e;
    if (s > TOP_128) { /* less than 1: shift it so that s is TOP_128 */
        x.sig = core_wide_jam(x.sig, s - TOP_128);
        s = TOP_128;
    }
    *inexact = s > 0 && core_wide_some(core_wide_and(x.sig, core_wide_ones(s)));
    if (s <= 0) return x.sig;
    return core_rounded_128(x.sig, s, x.sign, core_wide_right(x.sig, s).low & 1, mode);
}

/* a, rounded to an integer. exact: inexact is raised. */
CORE_INLINE core_result_128 core_round_to_int_128(core_wide a, core_format_128 f, core_mode_128 mode, uint64_t exact)
{
    core_value x = core_decode(a, f);
    uint64_t inexact;
    if (x.kind == CORE_NAN) return core_nan_of_two(x, x, f);
    if (x.kind != CORE_FINITE || x.e >= TOP_128) return core_encode(x, f, mode);
    core_wide whole = core_integral(x, mode, &inexact);
    return core_flagged(core_encode(core_normalized_value(x.sign, TOP_128, whole, x.sign), f, mode), inexact & exact);
}

/* a, rounded to an integer, as two's complement. exact: inexact is raised. */
CORE_INLINE core_result_64 core_to_integer_128(core_wide a, core_format_128 f, core_integer to, int rounding,
                                               uint64_t exact)
{
    core_value x = core_decode(a, f);
    const core_mode_128 mode = {rounding, 0, 0, 0, 0};
    uint64_t inexact;
    if (x.kind == CORE_NAN) return core_make_64(to.nan, CORE_INVALID);
    if (x.kind == CORE_ZERO) return core_make_64(0, 0);
    const core_result_64 out = core_make_64(x.sign ? to.below : to.above, CORE_INVALID);
    if (x.kind == CORE_INF || x.e > 64) return out;
    core_wide whole = core_integral(x, mode, &inexact);
    if (whole.high || whole.low > (x.sign ? to.least : to.most)) return out;
    return core_make_64(x.sign ? 0 - whole.low : whole.low, inexact & exact);
}

/* -- comparisons --------------------------------------------------------------------------------------------------- */

CORE_INLINE int core_order_128(core_value x, core_value y) /* -1, 0, 1 */
{
    int below = 0;
    if (x.kind == CORE_ZERO && y.kind == CORE_ZERO) return 0;
    if (x.kind == CORE_ZERO) return y.sign ? 1 : -1;
    if (y.kind == CORE_ZERO || x.sign != y.sign) return x.sign ? -1 : 1;
    if (x.kind == CORE_INF || y.kind == CORE_INF) {
        if (x.kind == y.kind) return 0;
        below = y.kind == CORE_INF;
    } else {
        if (x.e == y.e && !core_wide_less(x.sig, y.sig) && !core_wide_less(y.sig, x.sig)) return 0;
        below = x.e < y.e || (x.e == y.e && core_wide_less(x.sig, y.sig));
    }
    return below == (int)x.sign ? 1 : -1;
}

/* kind: 0 equal, 1 less, 2 less or equal. signaling: any NaN raises invalid, not only a signaling one. */
CORE_INLINE core_result_64 core_compare_128(core_wide a, core_wide b, core_format_128 f, uint64_t signaling, int kind)
{
    core_value x = core_decode(a, f), y = core_decode(b, f);
    if (CORE_UNLIKELY(x.kind == CORE_NAN || y.kind == CORE_NAN))
        return core_make_64(0, (signaling | core_signaling_128(x) | core_signaling_128(y)) << 4);
    int order = core_order_128(x, y);
    return core_make_64((uint64_t)(kind == 0 ? order == 0 : order < kind - 1), 0);
}

CORE_INLINE core_result_64 core_eq_128(core_wide a, core_wide b, core_format_128 f, uint64_t signaling)
{
    return core_compare_128(a, b, f, signaling, 0);
}

CORE_INLINE core_result_64 core_lt_128(core_wide a, core_wide b, core_format_128 f, uint64_t signaling)
{
    return core_compare_128(a, b, f, signaling, 1);
}

CORE_INLINE core_result_64 core_le_128(core_wide a, core_wide b, core_format_128 f, uint64_t signaling)
{
    return core_compare_128(a, b, f, signaling, 2);
}

CORE_INLINE uint64_t core_is_signaling_128(core_wide a, core_format_128 f)
{
    f.unnormals = 1; /* by the bits of the code alone */
    return core_signaling_128(core_decode(a, f));
}
