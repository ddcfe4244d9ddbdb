/* Numbers 0..count-1 of which few are frequent, as YCSB draws its keys: zipfian with theta 0.99 after Gray et
 * al., "Quickly Generating Billion-Record Synthetic Databases" (SIGMOD 1994). A hash scatters the ranks, so
 * that frequent numbers are not adjacent. */
#pragma once

#include <stdint.h>

typedef struct zipf {
    uint64_t count;
    double zeta, eta, alpha, half;
} zipf;

zipf zipf_of(uint64_t count);
/* Uses kw_random_u64. */
uint64_t zipf_next(const zipf *of);
