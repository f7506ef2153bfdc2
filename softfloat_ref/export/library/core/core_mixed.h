/* SPDX-License-Identifier: 0BSD
 * Operands of a format as those of a wider one. */
#ifndef CORE_MIXED_H
#define CORE_MIXED_H

/* A code as one of an IEEE format that has all numbers of its own; a NaN is as signaling as it was. */
CORE_INLINE uint64_t core_widened_64(uint64_t a, core_format from, core_format f)
{
    const core_mode exact = {CORE_RTZ, 0};
    const uint64_t sign = core_sign_64(a, from) << (f.width - 1), infinite = f.largest + 1;
    if (core_is_nan_64(a, from)) {
        if (from.nan_at == CORE_NAN_IEEE)
            return sign | infinite | (a & ((UINT64_C(1) << from.mantissa) - 1)) << (f.mantissa - from.mantissa);
        return (from.nan_at == CORE_NAN_TOP ? sign : 0) | infinite | f.quiet_bit;
    }
    if (core_is_inf_64(a, from)) return sign | infinite;
    f.flush_outputs = CORE_FLUSH_OFF;
    return core_convert_64(core_operand_64(a, from), from, f, exact).code;
}

#endif
