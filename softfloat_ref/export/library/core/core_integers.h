/* SPDX-License-Identifier: 0BSD
 * Integers of up to 64 bits, to and from every format; with words of 64 bits. */

/* (-1)^sign * x */
CORE_INLINE core_result_64 core_from_integer_64(uint64_t sign, uint64_t x, core_format f, core_mode mode)
{
    if (x == 0) return core_zero_64(0, f);
    int64_t up = core_clz_64(x);
    x <<= up;
    return core_round_pack_64(sign, f.bias + 63 - up, x >> 1 | (x & 1), f, mode);
}

/* An integer type: its largest magnitude of each sign, and the results of what it cannot hold. */
typedef struct {
    uint64_t most, least;
    uint64_t above, below, nan;
} core_integer;

/* a, rounded to an integer, as two's complement. exact: inexact is raised. */
CORE_INLINE core_result_64 core_to_integer_64(uint64_t a, core_format f, core_integer to, int rounding, uint64_t exact)
{
    if (core_is_nan_64(a, f)) return core_make_64(to.nan, CORE_INVALID);
    uint64_t x = core_operand_64(a, f), sign = core_sign_64(x, f), sig = core_significand_64(x, f), inexact = 0;
    int64_t up = core_exponent_64(x, f) - f.bias - f.mantissa; /* the value is sig * 2^up */
    const core_result_64 out = core_make_64(sign ? to.below : to.above, CORE_INVALID);
    if (core_is_inf_64(a, f)) return out;
    if (up >= 0) {
        if (sig != 0 && up > 63 - f.mantissa) return out;
        sig = up > 63 ? 0 : sig << up;
    } else {
        if (up < -f.mantissa - 2) { /* less than a quarter: as any such number */
            sig = sig != 0;
            up = -f.mantissa - 2;
        }
        inexact = (sig & ((UINT64_C(1) << -up) - 1)) != 0;
        sig = core_rounded_64(sig, -up, sign, rounding);
    }
    if (sig > (sign ? to.least : to.most)) return out;
    return core_make_64(sign ? 0 - sig : sig, inexact & exact);
}
