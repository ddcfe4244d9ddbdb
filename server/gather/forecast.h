/* Which streams of a group will run out of rows before the page is full. A merge over the rows that are
 * already buffered shows it: their keys say more than the number of rows taken so far. The real merge is not
 * changed. */
#pragma once

#include "gather/gather_internal.h"

/* A forecast reads at most this many rows. */
#define KW_FORECAST_ROWS 1024

/* Sets ret_left[i] to the number of rows of the page that follow after the last buffered row of stream i, or
 * to 0 if the page is full before, if the stream has no rows left, or if it has none buffered. Rows that are
 * not here yet are estimated. wanted: rows that the page still needs, at most KW_FORECAST_ROWS; ret_left has
 * group->count entries. */
void kw_forecast(const kw_group *group, uint64_t wanted, uint64_t *ret_left);
