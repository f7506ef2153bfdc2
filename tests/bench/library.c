/* SPDX-License-Identifier: 0BSD */
/* Results a second of one call, its flags read, of our library (names with our_) and, with -DPEER, of SoftFloat. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "our_softfloat.h"
#ifdef PEER
#include "softfloat.h"
#endif

enum { N = COUNT, RUNS = 9 };
static uint64_t codes[3][N];
static volatile uint64_t used;

static uint64_t drawn(void)
{
    static uint64_t s = 88172645463325252u;
    s ^= s << 13;
    s ^= s >> 7;
    return s ^= s << 17;
}

/* Any codes, or numbers of all signs with exponents within 8 of that of one. */
static void draw(int width, int mantissa, int bias, int near)
{
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < N; i++) {
            uint64_t x = drawn() >> (64 - width);
            if (near) {
                x &= ((uint64_t)1 << mantissa) - 1 | (uint64_t)1 << (width - 1);
                x |= (uint64_t)(bias - 8 + (int)(drawn() % 16)) << mantissa;
            }
            codes[k][i] = x;
        }
}

static int order(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) * 2 - 1; }

static double median(double *x)
{
    qsort(x, RUNS, sizeof *x, order);
    return x[RUNS / 2];
}

#define TIME(seconds, ...)                                   \
    do {                                                     \
        clock_t start = clock();                             \
        __VA_ARGS__;                                         \
        seconds = (double)(clock() - start) / CLOCKS_PER_SEC; \
    } while (0)
#define CALLS(seconds, T, call, state)             \
    TIME(seconds, {                                \
        uint64_t sum = 0;                          \
        for (int i = 0; i < N; i++) {              \
            T a, b, c;                             \
            a.v = codes[0][i] & mask;              \
            b.v = codes[1][i];                     \
            c.v = codes[2][i];                     \
            (void)b;                               \
            (void)c;                               \
            state = 0;                             \
            sum += call.v;                         \
            sum += state;                          \
        }                                          \
        used = sum;                                \
    })
#ifdef PEER
#define BESIDE(seconds, T, call) CALLS(seconds, T, call, softfloat_exceptionFlags)
#else
#define BESIDE(seconds, T, call) seconds = 0
#endif
/* A line: what, our median, that of the peer. */
#define COMPARE(name, T, ours, theirs)                                       \
    do {                                                                     \
        double own[RUNS], peer[RUNS];                                        \
        for (int r = 0; r < RUNS; r++) {                                     \
            BESIDE(peer[r], T, theirs);                                      \
            CALLS(own[r], our_##T, ours, our_softfloat_exceptionFlags);      \
        }                                                                    \
        printf("%s %s,%g,%g\n", name, kind, median(own), median(peer));      \
    } while (0)
#define ARRAYS(name, T, P, ours, theirs)                                     \
    do {                                                                     \
        static our_##T a[N], b[N], c[N], z[N];                               \
        static uint8_t flags[N];                                             \
        double own[RUNS], peer[RUNS];                                        \
        for (int i = 0; i < N; i++) {                                        \
            a[i].v = codes[0][i];                                            \
            b[i].v = codes[1][i];                                            \
            c[i].v = codes[2][i];                                            \
        }                                                                    \
        (void)c;                                                             \
        for (int r = 0; r < RUNS; r++) {                                     \
            BESIDE(peer[r], P, theirs);                                      \
            TIME(own[r], ours);                                              \
        }                                                                    \
        printf("%s arrays %s,%g,%g\n", name, kind, median(own), median(peer)); \
    } while (0)
#define FORMAT(X, T, W, M, B)                                                                                     \
    for (int near = 0; near < 2; near++) {                                                                        \
        const char *kind = near ? "near 1" : "any codes";                                                         \
        uint64_t mask = ~(uint64_t)0;                                                                             \
        draw(W, M, B, near);                                                                                      \
        COMPARE(#X " add", T, our_##X##_add(a, b), X##_add(a, b));                                                \
        COMPARE(#X " mul", T, our_##X##_mul(a, b), X##_mul(a, b));                                                \
        COMPARE(#X " mulAdd", T, our_##X##_mulAdd(a, b, c), X##_mulAdd(a, b, c));                                 \
        COMPARE(#X " div", T, our_##X##_div(a, b), X##_div(a, b));                                                \
        mask = ((uint64_t)1 << (W - 1)) - 1;                                                                      \
        COMPARE(#X " sqrt", T, our_##X##_sqrt(a), X##_sqrt(a));                                                   \
    }
#define LOOPS(X, T, Y, P)                                                            \
    do {                                                                             \
        ARRAYS(#X " add", T, P, our_##X##_add_n(N, a, b, z, flags), Y##_add(a, b));  \
        ARRAYS(#X " mul", T, P, our_##X##_mul_n(N, a, b, z, flags), Y##_mul(a, b));  \
        ARRAYS(#X " mulAdd", T, P, our_##X##_mulAdd_n(N, a, b, c, z, flags), Y##_mulAdd(a, b, c)); \
        ARRAYS(#X " div", T, P, our_##X##_div_n(N, a, b, z, flags), Y##_div(a, b));  \
    } while (0)

int main(void)
{
    FORMAT(f32, float32_t, 32, 23, 127)
    FORMAT(f16, float16_t, 16, 10, 15)
    FORMAT(f64, float64_t, 64, 52, 1023)
    {
        const char *kind = "near 1";
        uint64_t mask = ~(uint64_t)0;
        draw(32, 23, 127, 1);
        LOOPS(f32, float32_t, f32, float32_t);
        draw(16, 10, 15, 1);
        LOOPS(f16, float16_t, f16, float16_t);
        draw(16, 10, 15, 1); /* of which FP8 takes the lower byte */
        LOOPS(f8_e4m3, float8_e4m3_t, f16, float16_t);
    }
    return 0;
}
