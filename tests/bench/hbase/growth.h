/* How cost grows, as CSV on stdout (plot.py draws it) and a line for each point on stderr. Every point is the
 * median of rounds in which the two ways alternate, each answer checked as in the table's measures. */
#pragma once

#include "bench.h"

void growth_by_callers(bench *all);
void growth_by_size(bench *all);
void growth_by_buckets(bench *all);
void growth_by_rows(bench *all);
