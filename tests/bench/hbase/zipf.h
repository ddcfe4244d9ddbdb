/* Numbers 0..count-1 of which few are popular, as YCSB draws its keys: zipfian with theta 0.99 after Gray et
 * al., "Quickly Generating Billion-Record Synthetic Databases" (SIGMOD 1994), ranks scattered by a hash so
 * that the popular ones are no neighbours. */
#pragma once

#include <stdint.h>

typedef struct zipf {
    uint64_t count;
    double zeta, eta, alpha, half;
} zipf;

zipf zipf_of(uint64_t count);
/* Takes kw_random_u64. */
uint64_t zipf_next(const zipf *of);
