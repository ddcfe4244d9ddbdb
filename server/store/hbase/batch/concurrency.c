#include "store/hbase/batch/concurrency.h"

#include <glib.h>

#define FIRST 2
/* A window lasts at least 15 ms (a quarter of it while settling) and 12 calls, for a steady rate. A window of
 * 150 ms can have fewer calls. Every window has at least twice as many calls as the concurrency. */
#define WINDOW_NS (UINT64_C(15) * 1000 * 1000)
#define WINDOW_CALLS 12
#define SLOW_NS (UINT64_C(150) * 1000 * 1000)
#define TRY_EVERY 5 /* windows between two tries of a neighbour */
#define WEIGHT 0.25 /* of the newest window in the average rate */
#define WORTH 1.02  /* the higher of two values must be better by this factor */
/* A window that was paused and took longer than this is ignored. */
#define STALE_NS (UINT64_C(500) * 1000 * 1000)

void
kw_hbase_concurrency_init(kw_hbase_concurrency *self, uint32_t max)
{
    *self = (kw_hbase_concurrency){.max = CLAMP(max, 1, KW_HBASE_CONCURRENCY_MAX)};
    self->now = self->best = MIN(FIRST, self->max);
}

static double
rate_of(const kw_hbase_concurrency *self, uint32_t concurrency)
{
    return concurrency >= 1 && concurrency <= self->max ? self->rates[concurrency] : 0;
}

/* Sets the best of the present value and its neighbours; the lower one if they are almost equal (WORTH). */
static void
update_best(kw_hbase_concurrency *self)
{
    uint32_t best = self->best;
    double here = rate_of(self, best), below = rate_of(self, best - 1), above = rate_of(self, best + 1);
    g_assert(best >= 1 && best <= self->max);
    if (above > here * WORTH && above > below)
        self->best = best + 1;
    else if (below * WORTH > here && below > 0)
        self->best = best - 1;
}

/* Every TRY_EVERY windows it is a neighbour of the best value, alternately the higher and the lower one. */
static uint32_t
next_concurrency(const kw_hbase_concurrency *self)
{
    if (self->windows % TRY_EVERY)
        return self->best;
    bool up = self->windows / TRY_EVERY % 2;
    if ((up && self->best < self->max) || self->best == 1)
        return MIN(self->best + 1, self->max);
    return self->best - 1;
}

static void
close_window(kw_hbase_concurrency *self, uint64_t now_ns)
{
    uint64_t took_ns = now_ns - self->window_start_ns;
    bool under_load = self->calls_under_load * 2 > self->calls, stale = self->paused && took_ns >= STALE_NS;
    if (under_load && !stale && !self->settling) {
        double rate = (double)self->operations * 1e9 / (double)took_ns;
        double *kept = &self->rates[self->now];
        *kept = *kept > 0 ? *kept + (rate - *kept) * WEIGHT : rate;
        update_best(self);
    }
    uint32_t before = self->now;
    if (under_load && !self->settling) {
        self->windows++; /* counts stale windows too, so that no neighbour stays in use */
        self->now = next_concurrency(self);
    }
    self->settling = self->now != before;
    self->window_start_ns = 0;
}

void
kw_hbase_concurrency_answered(kw_hbase_concurrency *self, uint64_t now_ns, size_t operations, bool waiting)
{
    if (self->window_start_ns == 0) {
        self->window_start_ns = now_ns;
        self->operations = 0;
        self->calls = 0;
        self->calls_under_load = 0;
        self->paused = !waiting;
        return;
    }
    uint64_t took_ns = now_ns - self->window_start_ns;
    self->operations += operations;
    self->calls++;
    self->calls_under_load += waiting;
    bool enough = self->calls >= 2 * self->now && (self->calls >= WINDOW_CALLS || took_ns >= SLOW_NS);
    if (took_ns >= (self->settling ? WINDOW_NS / 4 : WINDOW_NS) && enough)
        close_window(self, now_ns);
    self->paused |= !waiting;
}
