/* A progress line on standard error, when that is a terminal; else nothing. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct kw_progress {
    const char *name;
    bool shown;
    gint64 started_us;
    gint64 next_us; /* not drawn before */
} kw_progress;

void kw_progress_start(kw_progress *progress, const char *name);
/* size 0: not known. */
void kw_progress_show(kw_progress *progress, guint64 position, guint64 size, guint64 records);
/* Takes the line away. */
void kw_progress_end(kw_progress *progress);
double kw_progress_seconds(const kw_progress *progress);
