/* See width.h. */
#include "store/hbase/width.h"

#include <glib.h>

#define FIRST_WIDTH 2
#define WINDOW_NS (UINT64_C(15) * 1000 * 1000)
#define WINDOW_CALLS 12                        /* ... and at least so many, for a steady rate ... */
#define SLOW_NS (UINT64_C(150) * 1000 * 1000)  /* ... unless that takes as long */
#define TRY_EVERY 5                            /* windows between two tries of a neighbour */
#define WEIGHT 0.25                            /* of the newest window in a width's rate */
#define WORTH 1.02                             /* a neighbour must be better by as much */
#define STALE_NS (UINT64_C(500) * 1000 * 1000) /* a longer window says nothing, if nobody waited in it */

void
kw_hbase_width_init(kw_hbase_width *width, uint32_t most)
{
    *width = (kw_hbase_width){.most = CLAMP(most, 1, KW_HBASE_WIDTH_MAX)};
    width->now = width->home = MIN(FIRST_WIDTH, width->most);
}

static double
rate_of(const kw_hbase_width *width, uint32_t of)
{
    return of >= 1 && of <= width->most ? width->rates[of] : 0;
}

/* The best of home and its neighbours; the narrower one when they are alike. */
static void
move_home(kw_hbase_width *width)
{
    uint32_t home = width->home;
    double here = rate_of(width, home), below = rate_of(width, home - 1), above = rate_of(width, home + 1);
    if (above > here * WORTH && above > below)
        width->home = home + 1;
    else if (below * WORTH > here && below > 0)
        width->home = home - 1;
}

/* Neighbours take turns; one that does not exist is left out. */
static uint32_t
next_width(const kw_hbase_width *width)
{
    if (width->windows % TRY_EVERY)
        return width->home;
    bool up = width->windows / TRY_EVERY % 2;
    if ((up && width->home < width->most) || width->home == 1)
        return MIN(width->home + 1, width->most);
    return width->home - 1;
}

static void
close_window(kw_hbase_width *width, uint64_t now_ns)
{
    uint64_t took_ns = now_ns - width->window_start_ns;
    bool pressed = width->pressed * 2 > width->calls, stale = width->paused && took_ns >= STALE_NS;
    if (pressed && !stale && !width->settling) {
        double rate = (double)width->operations * 1e9 / (double)took_ns;
        double *kept = &width->rates[width->now];
        *kept = *kept > 0 ? *kept + (rate - *kept) * WEIGHT : rate;
        move_home(width);
    }
    uint32_t before = width->now;
    if (pressed && !width->settling) {
        width->windows++; /* also one that said nothing: no neighbour is held on to */
        width->now = next_width(width);
    }
    width->settling = width->now != before;
    width->window_start_ns = 0;
}

void
kw_hbase_width_answered(kw_hbase_width *width, uint64_t now_ns, size_t operations, bool waiting)
{
    if (width->window_start_ns == 0) {
        width->window_start_ns = now_ns;
        width->operations = 0;
        width->calls = 0;
        width->pressed = 0;
        width->paused = !waiting;
        return;
    }
    uint64_t took_ns = now_ns - width->window_start_ns;
    width->operations += operations;
    width->calls++;
    width->pressed += waiting;
    bool enough = width->calls >= 2 * width->now && (width->calls >= WINDOW_CALLS || took_ns >= SLOW_NS);
    if (took_ns >= (width->settling ? WINDOW_NS / 4 : WINDOW_NS) && enough)
        close_window(width, now_ns);
    width->paused |= !waiting;
}
