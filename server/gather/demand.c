#include "gather/demand.h"

#include <glib.h>

#define ROWS_MAX ((uint64_t)1 << 20) /* of one fetch */
#define MANY_ROWS 16
#define GROUPS_AHEAD_MAX ((uint64_t)32)

static uint64_t
square_root(uint64_t value)
{
    if (value == 0)
        return 0;
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << (63 - __builtin_clzll(value)) / 2; bit; bit >>= 1)
        if ((root | bit) * (root | bit) <= value)
            root |= bit;
    return root;
}

uint64_t
kw_demand_expected(const kw_demand *demand)
{
    g_assert(demand->streams > 0);
    double share = ((double)demand->taken + 1) / ((double)demand->taken_by_all + (double)demand->streams);
    double rows = (double)MIN(demand->wanted, ROWS_MAX) * share;
    uint64_t whole = (uint64_t)rows;
    if ((double)whole < rows)
        whole++;
    return MAX(MIN(whole, demand->wanted), 1);
}

/* The margin is one standard deviation: now and then a further call is needed, which costs less than always
 * reading more rows in vain. For many rows the margin is one and a half deviations, because a further call
 * then costs more. */
static uint64_t
margin(uint64_t expected)
{
    uint64_t deviation = square_root(expected);
    return expected < MANY_ROWS ? deviation : deviation + deviation / 2;
}

uint32_t
kw_demand_rows(const kw_demand *demand, uint64_t buffered)
{
    uint64_t expected = kw_demand_expected(demand);
    uint64_t rows = demand->streams == 1 ? expected : expected + margin(expected);
    rows = MIN(MIN(rows, demand->wanted), ROWS_MAX);
    return (uint32_t)(rows > buffered ? rows - buffered : 1);
}

bool
kw_demand_ahead(const kw_demand *demand, uint64_t buffered)
{
    return demand->wanted > buffered && kw_demand_expected(demand) >= 2 * buffered + 8;
}

size_t
kw_demand_groups(uint64_t wanted, uint64_t finished_groups, uint64_t finished_rows)
{
    if (wanted == 0)
        return 0;
    /* No rows found yet: opens as many groups early as have finished. The + 1 is the group being read. */
    double needed = (double)finished_groups + 1;
    if (finished_rows)
        needed = (double)wanted * (double)finished_groups / (double)finished_rows;
    needed = MIN(needed, (double)GROUPS_AHEAD_MAX + 1);
    uint64_t whole = (uint64_t)needed;
    if ((double)whole < needed)
        whole++;
    return (size_t)(whole ? whole - 1 : 0);
}
