/* SPDX-License-Identifier: 0BSD */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#ifdef __cplusplus
extern "C"
#endif
/* Seconds on the wall's clock: SystemVerilog has only the simulation's. */
double wall_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
