/* What the parts of bench_gather share. */
#pragma once

#include "base/loop.h"

#include <stdbool.h>

/* CPU time of this thread: the store works on it, too, and a busy machine does not count. */
double bench_cpu_ns(void);
/* Prints what was missed; with check it makes the program fail. */
void bench_target(bool check, bool met, const char *what);

/* records.c: rows as callers get them, over salted tables of 16 and 256 buckets. */
void bench_records(kw_loop *loop, bool check);
