/* Compares rows in slices, for keyway scrub and keyway change diff.
 *
 *   scrub_run.c     fetches the slices, prints differences and progress
 *   scrub_state.c   keeps the position and the counts in memory, and in a file from which a later run resumes
 */
#pragma once

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/progress.h"

typedef struct kw_scrub_state {
    GBytes *cursor; /* NULL: at the beginning */
    gint64 rows;
    gint64 missing;
    gint64 different;
    gint64 extra;
    gint64 foreign_rows;
    gint64 repaired;
    gint64 stale_hints;
    gint64 unsettled;
} kw_scrub_state;

void kw_scrub_state_clear(kw_scrub_state *state);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(kw_scrub_state, kw_scrub_state_clear)

/* Adds the counts of a slice, and keeps a reference to its cursor. */
void kw_scrub_state_add(kw_scrub_state *state, const kw_scrubbed *slice);

/* Reads the state. If the file does not exist, the state is that of the beginning. False: the file cannot be
 * read, or it belongs to another table or to another command, which has another group. */
bool kw_scrub_state_read(kw_scrub_state *state, const char *file, const char *group, const char *table,
                         GError **error);
/* Replaces the file atomically. */
bool kw_scrub_state_write(const kw_scrub_state *state, const char *file, const char *group, const char *table,
                          GError **error);

/* --- scrub_run.c ------------------------------------------------------------------------------ */

#define KW_SCRUB_CELLS_MAX 8

typedef struct kw_scrub_run kw_scrub_run;

/* "missing", "different", "extra" or "foreign". */
const char *kw_scrub_kind_text(kw_difference_kind kind);

/* The differences between the two commands. */
typedef struct kw_scrub_command {
    const char *name;  /* "scrub", "change diff" */
    const char *noun;  /* "scrub", "comparison" */
    const char *group; /* the group of the state file that has the state */
    const char *again; /* how to repeat the command: "scrub again" */
    const kw_output_column *columns;
    gsize columns_count;
    kw_scrubbed *(*next)(kw_client *client, const char *table, const kw_scrub_options *options,
                         GError **error);
    /* Fills one cell per column. record: the text of the record, or of the row key. */
    void (*fill)(const kw_scrub_run *run, const kw_difference *difference, const char *record,
                 kw_value *cells);
} kw_scrub_command;

struct kw_scrub_run {
    const kw_scrub_command *command;
    kw_cli *cli;
    const char *table;
    kw_table_info *info;
    bool reads_new; /* change diff: queries read the rows under the new key rule */
    /* Options; see kw_scrub_parse. */
    char *state_file; /* NULL: the state is not kept */
    gboolean repair;
    int rows_per_second; /* 0: no limit */
    int show_left;       /* number of differences that can still be printed */
    /* Private to scrub_run.c. */
    kw_scrub_state state;
    gint64 rows_before; /* state.rows when this run began */
    kw_output *output;
    kw_progress progress;
};

void kw_scrub_run_clear(kw_scrub_run *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(kw_scrub_run, kw_scrub_run_clear)

/* Parses TABLE and the options, connects and describes the table. False: *ret_exit is set. */
bool kw_scrub_parse(kw_scrub_run *run, const char *about, const char *repair_about, int argc, char **argv,
                    int *ret_exit);

/* Compares all slices, and returns the exit status. */
int kw_scrub_run_all(kw_scrub_run *run);
