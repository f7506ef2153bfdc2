/* SPDX-License-Identifier: 0BSD */
/* A sum in FP8, rounded upward; four values as a block of MXFP8, and the dot product of the block with itself. */
#include <stdio.h>
#include <string.h>
#include "softfloat_units.h"

int main(void)
{
    const float x[4] = {0.3f, 1.5f, -448, 1000};
    float32_t values[4], back[4];
    float8_e4m3_t codes[4], a, b;
    float32_t sum = {0};
    e8m0_t scale;
    memcpy(values, x, sizeof x);
    softfloat_roundingMode = softfloat_round_max;
    softfloat_exceptionFlags = 0;
    a = f32_to_f8_e4m3(values[0]);
    b = f32_to_f8_e4m3(values[1]);
    printf("%02x + %02x = %02x", a.v, b.v, f8_e4m3_add(a, b).v);
    printf(", flags %02x\n", (unsigned)softfloat_exceptionFlags);
    f32_to_mxfp8_e4m3(4, values, &scale, codes, NULL);
    mxfp8_e4m3_to_f32(4, &scale, codes, back);
    printf("scale %02x, elements", scale.v);
    for (int i = 0; i < 4; i++) printf(" %02x", codes[i].v);
    printf(", the last one %08x\n", (unsigned)back[3].v);
    sum = mxfp8_e4m3_dot_mx_fp32_f32(4, &scale, codes, &scale, codes, sum);
    printf("sum of squares %08x\n", (unsigned)sum.v);
    return 0;
}
