/* Reads and judges all rows of paths, for keyway verify, and for keyway scrub of a table with one path.
 *
 *   verify.c         the command; fetches the slices
 *   verify_state.c   the counts of each path, in memory and in a file from which a later run continues
 *   verify_print.c   the counts for people, and as json, jsonl or csv
 */
#pragma once

#include "cli/cli.h"

/* At most so many different first bytes or buckets of a path are counted apart. */
#define KW_VERIFY_KINDS_MAX 65536
#define KW_VERIFY_SHOW_DEFAULT 20

/* The counts of one path. */
typedef struct kw_verify_state {
    const char *path; /* borrowed */
    GBytes *cursor;   /* NULL: at the beginning, or done */
    bool done;
    bool verified;                              /* the gateway has recorded it */
    kw_verified sum;                            /* the numbers; its other members are not used */
    GHashTable *fields, *first_bytes, *buckets; /* rows (gint64) by text */
    GPtrArray *examples;                        /* of texts */
} kw_verify_state;

/* A state at the beginning. */
kw_verify_state *kw_verify_state_new(const char *path);
void kw_verify_state_free(kw_verify_state *state);
/* Adds a slice. Keeps at most examples_max examples. */
void kw_verify_state_add(kw_verify_state *state, const kw_verified *slice, guint examples_max);
/* True if all rows so far fit. */
bool kw_verify_state_fits(const kw_verify_state *state);

/* Reads the states of these paths (of kw_verify_state) from the file; those that it does not have stay at the
 * beginning, all if there is no file. False: it cannot be read, or belongs to another table. */
bool kw_verify_states_read(GPtrArray *states, const char *file, const char *table, GError **error);
/* Replaces the file atomically. */
bool kw_verify_states_write(const GPtrArray *states, const char *file, const char *table, GError **error);

/* --- verify_print.c --------------------------------------------------------------------------- */

/* Prints the paths that were begun. False: writing failed, which was reported. */
bool kw_verify_print(const kw_cli *cli, const GPtrArray *states);

/* --- verify.c --------------------------------------------------------------------------------- */

typedef struct kw_verify_run {
    kw_cli *cli;
    const kw_table_info *info;
    const char *path;       /* NULL: all paths that hold records */
    const char *state_file; /* NULL: the state is not kept */
    int rows_per_second;    /* 0: no limit */
    int show;               /* number of examples of each path */
    const char *command;    /* "verify", "scrub" */
} kw_verify_run;

/* Returns the exit status. */
int kw_verify_run_all(const kw_verify_run *run);
