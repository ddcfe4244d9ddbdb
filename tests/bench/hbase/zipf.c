/* See zipf.h. */
#include "zipf.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <math.h>

#define THETA 0.99

zipf
zipf_of(uint64_t count)
{
    zipf made = {.count = count, .alpha = 1.0 / (1.0 - THETA), .half = pow(0.5, THETA)};
    for (uint64_t i = 1; i <= count; i++)
        made.zeta += 1.0 / pow((double)i, THETA);
    made.eta = (1.0 - pow(2.0 / (double)count, 1.0 - THETA)) / (1.0 - (1.0 + made.half) / made.zeta);
    return made;
}

static uint64_t
rank(const zipf *of)
{
    double unit = (double)(kw_random_u64() >> 11) / 9007199254740992.0, place = unit * of->zeta;
    if (place < 1.0)
        return 0;
    if (place < 1.0 + of->half)
        return 1;
    uint64_t found = (uint64_t)((double)of->count * pow(of->eta * unit - of->eta + 1.0, of->alpha));
    return found < of->count ? found : of->count - 1;
}

uint64_t
zipf_next(const zipf *of)
{
    uint64_t drawn = rank(of);
    return kw_bytes_hash(kw_bytes_of(&drawn, sizeof drawn)) % of->count;
}
