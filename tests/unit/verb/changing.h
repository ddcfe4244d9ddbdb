/* A table in an embedded store while the key rules of its two paths change, in each version of the change. */
#pragma once

#include "desk.h"

typedef enum changing_version {
    CHANGING_OLD,
    CHANGING_BOTH_OLD,
    CHANGING_BOTH_NEW,
    CHANGING_NEW
} changing_version;

typedef struct changing {
    desk *desk; /* its table is "t" */
    char *folder;
    GPtrArray *policies; /* kept until the end: the desk's sequences use the first one's model */
    const char *paths;   /* the paths that change: "primary", "second", or both with a space between them */
    changing_version version;
} changing;

/* Keys of table t: by id under the old rules; by hash or salted under the new rules. The new rule of the
 * primary path takes ids of at most 8 bytes. */
void changing_init(changing *self, const char *paths);
void changing_clear(changing *self);
/* Serves another version of the change, and creates the store tables that it needs. */
void changing_serve(changing *self, changing_version version);
/* Closes the store and opens it again. */
void changing_reopen(changing *self);

/* The same for a store in another process: opens the store of a folder, in version BOTH_OLD. */
void changing_open(changing *self, const char *folder, const char *paths);
void changing_close(changing *self);

/* All cells of a record in a placement with their timestamps, newest first, as one text. */
char *changing_cells(changing *self, const kw_placement *placement, const char *key);
/* Fails the test unless both placements of each changing path have the same cells of the record. Returns the
 * cells in the primary path. */
char *changing_same_cells(changing *self, const char *key);
