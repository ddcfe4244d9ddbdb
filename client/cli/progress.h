/* A progress line on standard error, if that is a terminal. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct kw_progress {
    const char *name;
    bool shown;
    gint64 started_us;
    gint64 next_us; /* not redrawn before this time */
} kw_progress;

void kw_progress_start(kw_progress *progress, const char *name);
/* size 0: unknown. */
void kw_progress_show(kw_progress *progress, guint64 position, guint64 size, guint64 records);
/* The same with a rate that the gateway has measured. */
void kw_progress_show_rate(kw_progress *progress, guint64 position, guint64 size, guint64 records,
                           double rate);
/* Removes the line. */
void kw_progress_end(kw_progress *progress);
double kw_progress_seconds(const kw_progress *progress);
