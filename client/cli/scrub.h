/* What a scrub has done so far: in memory, and in a file from which it can be continued. */
#pragma once

#include "keyway.h"

typedef struct kw_scrub_state {
    GBytes *cursor; /* NULL: at the beginning */
    gint64 rows;
    gint64 missing;
    gint64 different;
    gint64 orphans;
    gint64 foreign_rows;
    gint64 repaired;
    gint64 unsettled;
} kw_scrub_state;

void kw_scrub_state_clear(kw_scrub_state *state);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(kw_scrub_state, kw_scrub_state_clear)

/* Adds a slice, and takes its cursor. */
void kw_scrub_state_add(kw_scrub_state *state, const kw_scrubbed *slice);

/* A file that does not exist is the beginning. False: it belongs to another table, or cannot be read. */
bool kw_scrub_state_read(kw_scrub_state *state, const char *file, const char *table, GError **error);
/* Replaces the file in one step. */
bool kw_scrub_state_write(const kw_scrub_state *state, const char *file, const char *table, GError **error);
