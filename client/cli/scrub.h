/* The progress of a scrub: in memory, and in a file from which it can be continued. */
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

/* Adds a slice, and takes ownership of its cursor. */
void kw_scrub_state_add(kw_scrub_state *state, const kw_scrubbed *slice);

/* If the file does not exist, starts at the beginning. False: it belongs to another table, or cannot be
 * read. */
bool kw_scrub_state_read(kw_scrub_state *state, const char *file, const char *table, GError **error);
/* Replaces the file atomically. */
bool kw_scrub_state_write(const kw_scrub_state *state, const char *file, const char *table, GError **error);
