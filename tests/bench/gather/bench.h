/* Shared by the parts of bench_gather. */
#pragma once

#include "base/loop.h"

#include <stdbool.h>

/* CPU time of this thread, on which the store also works. Independent of other load on the machine. */
double bench_cpu_ns(void);
/* Prints a missed target; with check, the program then fails. */
void bench_target(bool check, bool met, const char *what);

/* records.c: rows as callers get them, from tables with 16 and 256 salt buckets. */
void bench_records(kw_loop *loop, bool check);
