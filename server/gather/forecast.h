/* Forecasts which streams of a group will run out of rows before the page is full. It merges the rows that
 * are already buffered, because their keys predict this better than the numbers of rows taken so far. The
 * real merge is not changed. */
#pragma once

#include "gather/gather_internal.h"

/* A forecast reads at most this many rows. */
#define KW_FORECAST_ROWS 1024

/* Sets ret_left[i] to the number of rows of the page that follow after the last buffered row of stream i.
 * Sets it to 0 if the page will be full before that, if the stream has no further rows, or if it has none
 * buffered. Rows that have not arrived yet are estimated. wanted: rows that the page still needs, at most
 * KW_FORECAST_ROWS. ret_left has group->count entries. */
void kw_forecast(const kw_group *group, uint64_t wanted, uint64_t *ret_left);
