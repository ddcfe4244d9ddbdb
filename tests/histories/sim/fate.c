/* See fate.h. */
#include "histories/sim/fate.h"

#include "wire/table.h"

static bool
is_own(kw_hb_method method)
{
    return method == KW_HB_THBaseService_getThriftServerType;
}

static bool
is_compared(kw_hb_method method)
{
    return method == KW_HB_THBaseService_checkAndPut || method == KW_HB_THBaseService_checkAndDelete ||
           method == KW_HB_THBaseService_checkAndMutate;
}

bool
sim_is_write(kw_hb_method method)
{
    switch ((int)method) {
    case KW_HB_THBaseService_put:
    case KW_HB_THBaseService_putMultiple:
    case KW_HB_THBaseService_deleteSingle:
    case KW_HB_THBaseService_deleteMultiple:
    case KW_HB_THBaseService_mutateRow:
    case KW_HB_THBaseService_increment:
        return true;
    default:
        return is_compared(method);
    }
}

/* How many rows of a table that is not Keyway's own the call reads or writes; 0: other calls, and scans. */
static uint32_t
rows_of(kw_hb_method method, const void *args)
{
    static const char own[] = "keyway_";
    if (!sim_is_write(method) && method != KW_HB_THBaseService_get &&
        method != KW_HB_THBaseService_getMultiple)
        return 0;
    kw_bytes table =
        *(const kw_bytes *)((const uint8_t *)args + kw_hb_methods[method].args->fields[0].offset);
    if (kw_bytes_starts_with(table, kw_bytes_of_text(own)))
        return 0;
    switch ((int)method) {
    case KW_HB_THBaseService_putMultiple:
        return ((const kw_hb_THBaseService_putMultiple_args *)args)->tputs.count;
    case KW_HB_THBaseService_deleteMultiple:
        return ((const kw_hb_THBaseService_deleteMultiple_args *)args)->tdeletes.count;
    case KW_HB_THBaseService_getMultiple:
        return ((const kw_hb_THBaseService_getMultiple_args *)args)->tgets.count;
    default:
        return 1;
    }
}

/* Calls for more rows are those of copies, which would take too long. */
#define HELD_ROWS_MOST 8
#define HELD_READS_RARER 5

static bool
can_be_held(kw_hb_method method, const void *args)
{
    uint32_t rows = rows_of(method, args);
    return rows > 0 && rows <= HELD_ROWS_MOST;
}

/* With such a get, a gateway learns of the present policy. */
static bool
is_catalog_get(kw_hb_method method, const void *args)
{
    return method == KW_HB_THBaseService_get &&
           kw_bytes_equal(((const kw_hb_THBaseService_get_args *)args)->table,
                          KW_BYTES_LITERAL("keyway_catalog"));
}

static int
draw_below(GRand *random, int most)
{
    return most > 0 ? g_rand_int_range(random, 0, most) : 0;
}

/* How long the call waits before it is applied, while its connection stays open. */
static int
draw_wait_us(const sim_faults *faults, GRand *random, sim_placements *placements, kw_hb_method method,
             const void *args)
{
    bool few = can_be_held(method, args), second = few && sim_placements_note(placements, method, args);
    double stuck = sim_is_write(method) ? faults->stuck : faults->stuck / HELD_READS_RARER;
    int most_ms = 0;
    if (second && g_rand_double(random) < faults->apart)
        most_ms = faults->apart_ms;
    if (few && g_rand_double(random) < stuck)
        most_ms = MAX(most_ms, faults->stuck_ms);
    return (most_ms - draw_below(random, most_ms / 2)) * 1000;
}

sim_fate
sim_fate_draw(const sim_faults *faults, GRand *random, sim_placements *placements, int patience_ms,
              kw_hb_method method, const void *args)
{
    sim_fate drawn = {0};
    double chance = g_rand_double(random);
    if (!is_own(method)) {
        drawn.drop = chance < faults->drop;
        drawn.lose = !drawn.drop && chance < faults->drop + faults->lose;
        drawn.late = !drawn.drop && !drawn.lose && chance < faults->drop + faults->lose + faults->late;
        drawn.repeat = is_compared(method) && g_rand_double(random) < faults->repeat;
    }
    drawn.before_us = draw_below(random, faults->delay_us);
    drawn.after_us = draw_below(random, faults->delay_us);
    if (!is_own(method) && g_rand_double(random) < faults->slow)
        *(g_rand_boolean(random) ? &drawn.before_us : &drawn.after_us) +=
            draw_below(random, faults->slow_ms) * 1000;
    double held = sim_is_write(method) ? faults->held : faults->held / HELD_READS_RARER;
    if (g_rand_double(random) < held && can_be_held(method, args))
        drawn.after_us += draw_below(random, faults->held_ms) * 1000;
    if (is_catalog_get(method, args) && g_rand_double(random) < faults->blind)
        drawn.after_us += draw_below(random, faults->blind_ms) * 1000;
    if (patience_ms && sim_is_write(method))
        drawn.before_us = MIN(drawn.before_us, patience_ms * 500);
    drawn.before_us += draw_wait_us(faults, random, placements, method, args);
    drawn.late_ms = draw_below(random, faults->late_ms);
    return drawn;
}
