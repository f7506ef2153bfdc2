/* SPDX-License-Identifier: 0BSD
 *
 * Binary floating point in integer arithmetic, for formats and policies that are constants of the caller: after
 * inlining, nothing is left of what a format does not need. C99; also compiles as C++.
 *
 * core_round.h      parts of a code, NaNs, rounding and packing
 * core_arithmetic.h add, mul, fma
 * core_divide.h     div, sqrt, rem
 * core_convert.h    other formats, integers, comparisons
 * core_values.h     all of these for formats of up to 128 bits, and for any kind of format
 *
 * Each is included twice, for words of 32 and of 64 bits; names end in the size. A number is
 * sig * 2^(e - bias - TOP): e is the exponent field of a code if the leading one of sig is at bit TOP.
 */
#ifndef CORE_H
#define CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef CORE_VECTOR
#define CORE_VECTOR 0 /* 1: add, mul, fma, div and convert in words of 32 bits have no branches, for loops */
#endif

#if defined(__GNUC__)
#if defined(__OPTIMIZE__)
#define CORE_INLINE static inline __attribute__((always_inline, unused))
#else
#define CORE_INLINE static inline __attribute__((unused)) /* inlined, all of it is large if it is not optimized */
#endif
#define CORE_COLD __attribute__((cold, noinline))
#define CORE_UNLIKELY(c) __builtin_expect(!!(c), 0)
#else
#define CORE_INLINE static inline
#define CORE_COLD
#define CORE_UNLIKELY(c) (c)
#endif

/* Roundings, with SoftFloat's numbers. RHZ, of blocks only: to nearest, ties toward zero. */
enum { CORE_RNE = 0, CORE_RTZ = 1, CORE_RDN = 2, CORE_RUP = 3, CORE_RNA = 4, CORE_RTO = 6, CORE_RHZ = 7 };
enum { CORE_SR = 8, CORE_SR_B = 9, CORE_SR_C = 10 }; /* stochastic: IEEE P3109's A, B and C */

enum { CORE_INEXACT = 1, CORE_UNDERFLOW = 2, CORE_OVERFLOW = 4, CORE_INFINITE = 8, CORE_INVALID = 16 };

/* Where the NaNs of a format are: above Inf, at the largest magnitude, in place of -0, nowhere. */
enum { CORE_NAN_IEEE, CORE_NAN_TOP, CORE_NAN_NEGATIVE_ZERO, CORE_NAN_NONE };

/* Which operand a NaN result comes from: none, the first NaN, the first signaling NaN before any other; a quiet one, then
 * that with the larger significand, then the positive one (x87). */
enum { CORE_NAN_GENERATED, CORE_NAN_FIRST, CORE_NAN_SIGNALING, CORE_NAN_LARGER };

/* The operand of fma that is checked first for NaNs: a, c, or c if it is signaling; b, c, a. */
enum { CORE_FMA_ABC, CORE_FMA_CAB, CORE_FMA_SIGNALING_C, CORE_FMA_BCA };

/* Whether fma(0, Inf, NaN) is the generated NaN: never, if c is not signaling, always. */
enum { CORE_ADDEND_NAN, CORE_GENERATED_IF_QUIET, CORE_GENERATED_NAN };

enum { CORE_FLUSH_OFF, CORE_FLUSH_AFTER, CORE_FLUSH_BEFORE };

/* A format under a policy. Codes are a sign at bit width - 1 and a magnitude, in order of value up to `largest`. */
typedef struct {
    int width, mantissa, bias;
    int nan_at, infinity; /* infinity: 1 if there is one, above `largest` */
    uint64_t largest, quiet_bit;
    int signaling; /* 1: a NaN without quiet_bit is signaling */
    uint64_t nan;  /* the generated NaN, or what stands for it */
    uint64_t beyond_positive, beyond_negative;     /* results beyond `largest`, */
    uint64_t infinite_positive, infinite_negative; /* and of Inf */
    int propagate, first_last, no_payload;
    int fma_order, fma_generated, fma_quiet; /* fma_quiet: fma(0, Inf, quiet NaN) is not invalid */
    int flush_inputs, flush_outputs;
} core_format;

/* What may be known at run time only. before: tininess is detected before rounding. */
typedef struct {
    int rounding, before;
} core_mode;

#if CORE_VECTOR
CORE_INLINE int32_t core_clz_32(uint32_t x) /* x < 2^31: by the exponent of a float that is no larger than x */
{
    float y = (float)(int32_t)(x & ~(x >> 8));
    uint32_t code;
    memcpy(&code, &y, sizeof code);
    return 158 - (int32_t)(code >> 23);
}
#elif defined(__GNUC__)
CORE_INLINE int32_t core_clz_32(uint32_t x) { return __builtin_clzl(x) - (int32_t)(8 * sizeof(long) - 32); }
#else
CORE_INLINE int32_t core_clz_32(uint32_t x)
{
    int32_t n = 0;
    for (; !(x >> 31); x <<= 1) n++;
    return n;
}
#endif
#if defined(__GNUC__)
CORE_INLINE int64_t core_clz_64(uint64_t x) { return __builtin_clzll(x); }
#else
CORE_INLINE int64_t core_clz_64(uint64_t x)
{
    int64_t n = 0;
    for (; !(x >> 63); x <<= 1) n++;
    return n;
}
#endif

#define CORE_CAT_(a, b) a##b
#define CORE_CAT(a, b) CORE_CAT_(a, b)
#define N(name) CORE_CAT(CORE_CAT(core_, name), CORE_CAT(_, CORE_BITS))

#include "core_wide.h"

#define CORE_BITS 32
#define W uint32_t
#define I int32_t
#include "core_round.h"
#include "core_arithmetic.h"
#include "core_divide.h"
#include "core_convert.h"
#undef CORE_BITS
#undef W
#undef I

#define CORE_BITS 64
#define W uint64_t
#define I int64_t
#include "core_round.h"
#include "core_arithmetic.h"
#include "core_divide.h"
#include "core_convert.h"
#include "core_integers.h"

#undef N
#endif
