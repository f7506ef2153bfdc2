/* SPDX-License-Identifier: 0BSD
   Operations of the 80-bit extended format, by an x87 processor or, with -DSOFTFLOAT, by Berkeley SoftFloat.
   Reads cases of 36 bytes: operation, rounding, precision, tininess, operands a and b (16 bytes each, little endian).
   Writes 17 bytes each: the result and the flags, as TestFloat has them. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ADD, SUB, MUL, DIV, SQRT, REM, INTEGRAL, EQ, LT, LE, EQ_SIGNALING, LT_QUIET, LE_QUIET,
       TO_F32, TO_F64, TO_I16, TO_I32, TO_I64, FROM_F32, FROM_F64, FROM_I16, FROM_I32, FROM_I64,
       TO_U32, TO_U64, TO_F16, TO_F128, FROM_U32, FROM_U64, FROM_F16, FROM_F128, SAME };

#ifdef SOFTFLOAT
#include "softfloat.h"

static void compute(const uint8_t *in, uint8_t *out)
{
    static const uint8_t modes[] = { softfloat_round_near_even, softfloat_round_minMag, softfloat_round_min,
                                     softfloat_round_max, softfloat_round_near_maxMag, softfloat_round_odd };
    uint8_t m = modes[in[1]];
    softfloat_roundingMode = m;
    extF80_roundingPrecision = in[2];
    softfloat_detectTininess = in[3] ? softfloat_tininess_beforeRounding : softfloat_tininess_afterRounding;
    softfloat_exceptionFlags = 0;
    extFloat80_t a, b, z;
    memset(&z, 0, sizeof z);
    a.signif = b.signif = 0;
    memcpy(&a.signif, in + 4, 8);
    memcpy(&a.signExp, in + 12, 2);
    memcpy(&b.signif, in + 20, 8);
    memcpy(&b.signExp, in + 28, 2);
    float128_t q;
    memcpy(&q, in + 4, 16);
    uint64_t w;
    memcpy(&w, in + 4, 8);
    float16_t h = { (uint16_t)w };
    float32_t f = { (uint32_t)w };
    float64_t d = { w };
    memset(out, 0, 17);
    int extended = 0;
    uint64_t r = 0;
    switch (in[0]) {
    case ADD: z = extF80_add(a, b); extended = 1; break;
    case SUB: z = extF80_sub(a, b); extended = 1; break;
    case MUL: z = extF80_mul(a, b); extended = 1; break;
    case DIV: z = extF80_div(a, b); extended = 1; break;
    case SQRT: z = extF80_sqrt(a); extended = 1; break;
    case REM: z = extF80_rem(a, b); extended = 1; break;
    case INTEGRAL: z = extF80_roundToInt(a, m, 1); extended = 1; break;
    case EQ: r = extF80_eq(a, b); break;
    case LT: r = extF80_lt(a, b); break;
    case LE: r = extF80_le(a, b); break;
    case EQ_SIGNALING: r = extF80_eq_signaling(a, b); break;
    case LT_QUIET: r = extF80_lt_quiet(a, b); break;
    case LE_QUIET: r = extF80_le_quiet(a, b); break;
    case TO_F16: r = extF80_to_f16(a).v; break;
    case TO_F32: r = extF80_to_f32(a).v; break;
    case TO_F64: r = extF80_to_f64(a).v; break;
    case TO_F128: q = extF80_to_f128(a); memcpy(out, &q, 16); out[16] = softfloat_exceptionFlags; return;
    case TO_I32: r = (uint32_t)extF80_to_i32(a, m, 1); break;
    case TO_I64: r = (uint64_t)extF80_to_i64(a, m, 1); break;
    case TO_U32: r = (uint32_t)extF80_to_ui32(a, m, 1); break;
    case TO_U64: r = extF80_to_ui64(a, m, 1); break;
    case FROM_F16: z = f16_to_extF80(h); extended = 1; break;
    case FROM_F32: z = f32_to_extF80(f); extended = 1; break;
    case FROM_F64: z = f64_to_extF80(d); extended = 1; break;
    case FROM_F128: z = f128_to_extF80(q); extended = 1; break;
    case FROM_I32: z = i32_to_extF80((int32_t)w); extended = 1; break;
    case FROM_I64: z = i64_to_extF80((int64_t)w); extended = 1; break;
    case FROM_U32: z = ui32_to_extF80((uint32_t)w); extended = 1; break;
    case FROM_U64: z = ui64_to_extF80(w); extended = 1; break;
    }
    if (extended) {
        memcpy(out, &z.signif, 8);
        memcpy(out + 8, &z.signExp, 2);
    } else {
        memcpy(out, &r, 8);
    }
    out[16] = softfloat_exceptionFlags;
}
#else
static uint8_t flags_of(uint16_t status)
{
    return (status & 1 ? 16 : 0) | (status & 4 ? 8 : 0) | (status & 8 ? 4 : 0) | (status & 16 ? 2 : 0)
         | (status & 32 ? 1 : 0);
}

/* The processor clears and reads its flags around one instruction; operands are loaded before, which raises nothing. */
#define LOADED(code, more) \
    __asm__ volatile("fldt %[b]\n\tfldt %[a]\n\tfnclex\n\t" code "\n\tfnstsw %[s]\n\t" more \
                     : [z] "+m"(z), [s] "=a"(status) : [a] "m"(*a), [b] "m"(*b) \
                     : "cc", "memory", "st", "st(1)", "st(2)", "st(3)")
#define ONE(code) LOADED(code, "fstpt %[z]\n\tfstp %%st(0)"); break
#define STORED(code) LOADED(code, "fstp %%st(0)"); break
#define COMPARED(code, test) LOADED(code, "fstp %%st(0)\n\tfstp %%st(0)"); z[0] = test; break
#define READ(code) \
    __asm__ volatile("fnclex\n\t" code " %[a]\n\tfnstsw %[s]\n\tfstpt %[z]" \
                     : [z] "+m"(z), [s] "=a"(status) : [a] "m"(*a) : "memory", "st"); break

typedef uint8_t word[16];

static void compute(const uint8_t *in, uint8_t *out)
{
    static const uint16_t roundings[] = { 0x000, 0xC00, 0x400, 0x800 };
    uint16_t precision = in[2] == 32 ? 0 : in[2] == 64 ? 0x200 : 0x300;
    uint16_t control = 0x003F | precision | roundings[in[1]], status = 0;
    __asm__ volatile("fninit\n\tfldcw %0" : : "m"(control));
    const word *a = (const word *)(in + 4), *b = (const word *)(in + 20);
    word z = { 0 };
    switch (in[0]) {
    case ADD: ONE("fadd %%st(1), %%st");
    case SUB: ONE("fsub %%st(1), %%st");
    case MUL: ONE("fmul %%st(1), %%st");
    case DIV: ONE("fdiv %%st(1), %%st");
    case SQRT: ONE("fsqrt");
    case REM: ONE("1: fprem1\n\tfnstsw %%ax\n\tsahf\n\tjp 1b");
    case INTEGRAL: ONE("frndint");
    case EQ: COMPARED("fucom", (status & 0x4500) == 0x4000);
    case LT_QUIET: COMPARED("fucom", (status & 0x4500) == 0x0100);
    case LE_QUIET: COMPARED("fucom", (status & 0x4500) == 0x0100 || (status & 0x4500) == 0x4000);
    case EQ_SIGNALING: COMPARED("fcom", (status & 0x4500) == 0x4000);
    case LT: COMPARED("fcom", (status & 0x4500) == 0x0100);
    case LE: COMPARED("fcom", (status & 0x4500) == 0x0100 || (status & 0x4500) == 0x4000);
    case TO_F32: STORED("fstps %[z]");
    case TO_F64: STORED("fstpl %[z]");
    case TO_I16: STORED("fistps %[z]");
    case TO_I32: STORED("fistpl %[z]");
    case TO_I64: STORED("fistpll %[z]");
    case FROM_F32: READ("flds");
    case FROM_F64: READ("fldl");
    case FROM_I16: READ("filds");
    case FROM_I32: READ("fildl");
    case FROM_I64: READ("fildll");
    }
    memset(out, 0, 17);
    memcpy(out, z, 10);
    out[16] = flags_of(status);
}
#endif

int main(void)
{
    static uint8_t in[36 * 4096], out[17 * 4096];
    size_t n;
    while ((n = fread(in, 36, 4096, stdin)) > 0) {
        for (size_t i = 0; i < n; i++)
            compute(in + 36 * i, out + 17 * i);
        fwrite(out, 17, n, stdout);
    }
    return 0;
}
