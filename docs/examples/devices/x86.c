/* SPDX-License-Identifier: 0BSD

   Instructions of x86 processors as devices.

     gcc -O1 -shared -fPIC -o x86.so x86.c       --dut-lib x86.so:f16c, fma32, sqrt32, bf16 (flags as MXCSR has them)
     gcc -O1 -o x86 x86.c                        --dut ./x86: dot products by VDPBF16PS, a line of a, b, c in fp32

   F16C: VCVTPS2PH; FMA3: VFMADD132SS; AVX512-BF16: VCVTNEPS2BF16, which has no flags, and VDPBF16PS. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t MASKED = 0x1f80;

static uint8_t raised(uint32_t mxcsr) {
    return (mxcsr & 0x01 ? 0x10 : 0) | (mxcsr & 0x04 ? 0x08 : 0) | (mxcsr & 0x08 ? 0x04 : 0) |
           (mxcsr & 0x10 ? 0x02 : 0) | (mxcsr & 0x20 ? 0x01 : 0);
}

#define RUN(instruction)                                                                                     \
    __asm__ volatile("ldmxcsr %[masked]\n\tmovd %[x], %%xmm0\n\tmovd %[y], %%xmm1\n\tmovd %[z], %%xmm2\n\t"      \
                     instruction "\n\tstmxcsr %[state]\n\tmovd %%xmm0, %[out]"                                 \
                     : [out] "=r"(out), [state] "=m"(state)                                                   \
                     : [masked] "m"(MASKED), [x] "r"(x), [y] "r"(y), [z] "r"(z)                                \
                     : "xmm0", "xmm1", "xmm2")

static uint32_t one(int which, uint32_t x, uint32_t y, uint32_t z, uint8_t *flags) {
    uint32_t out, state;
    switch (which) {
    case 0: RUN("vcvtps2ph $4, %%xmm0, %%xmm0"); break;
    case 1: RUN("vfmadd132ss %%xmm1, %%xmm2, %%xmm0"); break;
    case 2: RUN("sqrtss %%xmm0, %%xmm0"); break;
    case 3: RUN("vcvtneps2bf16 %%xmm0, %%xmm0"); break;
    default: RUN("vdpbf16ps %%xmm1, %%xmm2, %%xmm0"); break; /* x is c, y and z the pairs, low half first */
    }
    if (flags) *flags = raised(state);
    return out;
}

void f16c(size_t n, const uint64_t *a, uint64_t *result, uint8_t *flags) {
    for (size_t i = 0; i < n; i++) result[i] = one(0, (uint32_t)a[i], 0, 0, flags + i) & 0xffff;
}

void fma32(size_t n, const uint64_t *a, const uint64_t *b, const uint64_t *c, uint64_t *result, uint8_t *flags) {
    for (size_t i = 0; i < n; i++) result[i] = one(1, (uint32_t)a[i], (uint32_t)b[i], (uint32_t)c[i], flags + i);
}

void sqrt32(size_t n, const uint64_t *a, uint64_t *result, uint8_t *flags) {
    for (size_t i = 0; i < n; i++) result[i] = one(2, (uint32_t)a[i], 0, 0, flags + i);
}

void bf16(size_t n, const uint64_t *a, uint64_t *result, uint8_t *flags) {
    (void)flags;
    for (size_t i = 0; i < n; i++) result[i] = one(3, (uint32_t)a[i], 0, 0, 0) & 0xffff;
}

int main(void) {
    static char line[1 << 16];
    static uint32_t codes[1 << 12];
    while (fgets(line, sizeof line, stdin)) {
        size_t n = 0;
        for (char *word = strtok(line, " \n"); word && n < sizeof codes / sizeof *codes; word = strtok(NULL, " \n"))
            codes[n++] = (uint32_t)strtoul(word, NULL, 16);
        if (n < 3) continue;
        size_t k = (n - 1) / 2;
        uint32_t sum = codes[n - 1];
        for (size_t i = 0; i + 1 < k; i += 2)
            sum = one(4, sum, codes[k + i] | codes[k + i + 1] << 16, codes[i] | codes[i + 1] << 16, NULL);
        printf("%08x\n", sum);
    }
    return 0;
}
