/* SPDX-License-Identifier: 0BSD
 * Arrays of blocks: the loops around the functions of core_block.h. */
#ifndef CORE_BLOCK_LOOPS_H
#define CORE_BLOCK_LOOPS_H

/* n values as blocks of SIZE, the last one as if filled with zeros. value: the FP32 code of x[i]; S: the type of a
 * scale's code; store: what an element's code is stored as. */
#define CORE_QUANTIZE(SIZE, S, value, tensor, store) \
    CORE_QUANTIZE_WITH(SIZE, S, value, tensor, store, const uint32_t *const words = NULL, (void)0)
#define CORE_QUANTIZE_RANDOM(SIZE, S, value, tensor, store) \
    CORE_QUANTIZE_WITH(SIZE, S, value, tensor, store, uint32_t words[SIZE] = {0}, \
                       (memcpy(words, random, m * sizeof words[0]), random += m))
#define CORE_QUANTIZE_WITH(SIZE, S, value, tensor, store, declared, copied) \
    do { \
        uint8_t raised = 0; \
        while (n > 0) { \
            const size_t m = n < SIZE ? n : SIZE; \
            uint32_t values[SIZE], out[SIZE]; \
            uint8_t own[SIZE]; \
            declared; \
            copied; \
            if (m < SIZE) memset(values, 0, sizeof values); \
            for (size_t i = 0; i < m; i++) values[i] = value; \
            scales->v = (S)quantize(values, m, out, own, tensor, words, !flags); \
            for (size_t i = 0; i < m; i++) store out[i]; \
            if (flags) { \
                for (size_t i = 0; i < m; i++) raised |= own[i]; \
                memcpy(flags, own, m); \
                flags += m; \
            } \
            x += m, codes += m, scales++, n -= m; \
        } \
        CORE_RAISE(raised); \
    } while (0)

#define CORE_DEQUANTIZE(SIZE, code, tensor) \
    do { \
        while (n > 0) { \
            const size_t m = n < SIZE ? n : SIZE; \
            uint32_t elements[SIZE], out[SIZE]; \
            for (size_t i = 0; i < m; i++) elements[i] = code; \
            core_block_dequantize(elements, m, scales->v, out, &values_of, tensor); \
            for (size_t i = 0; i < m; i++) z[i].v = out[i]; \
            z += m, codes += m, scales++, n -= m; \
        } \
    } while (0)

#endif
