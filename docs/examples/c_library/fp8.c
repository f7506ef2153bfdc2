/* SPDX-License-Identifier: 0BSD */
/* A sum in FP8, rounded upward, and four values as a block of MXFP8. */
#include <stdio.h>
#include <string.h>
#include "softfloat.h"

static float32_t f32(float x)
{
    float32_t z;
    memcpy(&z.v, &x, sizeof x);
    return z;
}

int main(void)
{
    const float x[4] = {0.3f, 1.5f, -448, 1000};
    float8_e4m3_t a = f32_to_f8_e4m3(f32(0.3f)), b = f32_to_f8_e4m3(f32(1.6f));
    float32_t amax = {0}, scale;
    softfloat_roundingMode = softfloat_round_max;
    softfloat_exceptionFlags = 0;
    printf("%02x + %02x = %02x", a.v, b.v, f8_e4m3_add(a, b).v);
    printf(", flags %02x\n", (unsigned)softfloat_exceptionFlags);
    softfloat_roundingMode = softfloat_round_near_even;
    for (int i = 0; i < 4; i++) {
        float32_t magnitude = {f32(x[i]).v & 0x7fffffff};
        if (f32_lt(amax, magnitude)) amax = magnitude;
    }
    scale.v = (amax.v & 0x7f800000) - (8u << 23); /* the power of two below amax, by that below 448 */
    printf("scale %02x, elements", (unsigned)(scale.v >> 23));
    for (int i = 0; i < 4; i++) printf(" %02x", f32_to_f8_e4m3(f32_div(f32(x[i]), scale)).v);
    printf("\n");
    return 0;
}
