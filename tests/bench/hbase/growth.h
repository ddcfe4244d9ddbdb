/* Growth of cost, as CSV on stdout (plot.py draws it), with a line per point on stderr. Every point is the
 * median of rounds in which the two ways alternate. Every reply is checked, as in the other measures. */
#pragma once

#include "bench.h"

void growth_by_callers(bench *all);
void growth_by_size(bench *all);
void growth_by_buckets(bench *all);
void growth_by_rows(bench *all);
