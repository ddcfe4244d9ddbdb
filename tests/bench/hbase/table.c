/* See table.h. */
#include "table.h"

#include <stdio.h>

static bool all_met = true;

void
table_begin(const char *first, const char *second)
{
    printf("| measure | %s | %s | | must | aim | met |\n", first, second);
    printf("|---|---|---|---|---|---|---|\n");
}

void
table_add(const table_row *row)
{
    table_add_spread(row, 0, 0);
}

void
table_add_spread(const table_row *row, double low, double high)
{
    bool met = row->bound == NO_BOUND ||
               (row->bound == AT_LEAST ? row->value >= row->must : row->value <= row->must);
    const char *sign = row->bound == AT_LEAST ? ">=" : "<=";
    printf("| %s | %s | %s | %.2f", row->measure, row->first, row->second, row->value);
    if (high > 0)
        printf(" (%.2f to %.2f)", low, high);
    printf(" %s |", row->unit);
    if (row->bound == NO_BOUND)
        printf(" | | |\n");
    else
        printf(" %s %g | %g | %s |\n", sign, row->must, row->aim, met ? "yes" : "NO");
    fflush(stdout);
    all_met = all_met && met;
}

bool
table_met(void)
{
    return all_met;
}
