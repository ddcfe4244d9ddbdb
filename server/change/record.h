/* Changes of key rules in the catalog: the cell `changes` in the row of facts, a JSON array with a record for
 * each path whose key rule was changed while it was served, and for each change that adds or drops paths of a
 * table, or allows or forbids atomic operations.
 *
 *   a change is under way    the path has two placements, in which the place of the change on its ladder
 *                            defines what is written and read (change/ladder.h); or paths are being added
 *   it has ended             the record remains, because the policy's text still names the layout and the
 *                            store table that the path had before its first change
 *
 * The cell is written in the same conditional put as the facts of the table, so both change at once.
 */
#pragma once

#include "change/ladder.h"
#include "change/version_name.h"

/* Maximum number of records, and of bytes of the cell. */
#define KW_CHANGES_MAX 1000
#define KW_CHANGES_BYTES_MAX ((size_t)512 * 1024)

typedef enum kw_change_writers {
    KW_CHANGE_ONE_WRITER,     /* the embedded store */
    KW_CHANGE_SEVERAL_WRITERS /* stores that several gateways use */
} kw_change_writers;

/* The work of a pass or sweep, in this order. The position is kw_change_record.copied_to. */
typedef enum kw_change_pass {
    KW_CHANGE_PASS_FIRST,  /* records with a row in the placement that scans read */
    KW_CHANGE_PASS_SECOND, /* records with a row in the other placement */
    KW_CHANGE_PASS_ENDED
} kw_change_pass;

/* A path that is added together with another one. */
typedef struct kw_added_path {
    const char *path;
    kw_placed_rule rule;
} kw_added_path;

/* Maximum number of paths that are added at once. */
#define KW_CHANGE_PATHS_MAX 64

/* Everything lives in one arena. Texts are never NULL. */
typedef struct kw_change_record {
    const char *table;
    const char *path;     /* of paths that are added together: the first one */
    kw_placed_rule given; /* the layout and the store table that the policy's text names; outdated after the
                             first change */
    kw_placed_rule now;   /* the layout and the store table of the rows under the text's key rule */
    bool under_way;
    /* Used only while the change is under way. */
    kw_placed_rule old;
    kw_placed_rule old_given;    /* those in the text of old_version */
    kw_version_name old_version; /* the policy version with the old key rule */
    int64_t new_version;         /* the policy version that began the change */
    kw_change_place place;
    bool adds; /* the path is added; `old` is the placement of the primary path, from which rows are copied */
    bool drops; /* the path is dropped, as if its addition were cancelled; `adds` or `atomics` is set, too */
    bool atomics; /* increments and conditional writes are allowed on the table; with `drops`, they are
                     forbidden. No row moves: `path` is the primary path, and `old` and `now` are the same.
                     `adds` is not set */
    bool hints;   /* with `adds`: of hint paths. The table keeps its order of writes */
    const kw_added_path *more; /* the other paths that are added or dropped */
    size_t more_count;
    uint64_t part; /* of the present work: the index of the added path, or the number of placements that were
                      swept */
    kw_change_writers writers;
    /* Used only with KW_CHANGE_SEVERAL_WRITERS, while the change is under way. */
    uint64_t step;     /* the number of the last step, from 1. Each step sets a place */
    uint64_t rounds;   /* how often this place was set again since, for another pass or sweep */
    int64_t set_at_ms; /* timestamps of calls at this place, or at a later one, are not lower; 0: unknown */
    /* The place that the operator wants to reach: one gateway, the holder, sets one place after another until
     * it is reached. At the lowest place of a side, the change then ends with the placement of this side. A
     * path that is added and whose rows could all be copied is complete without a command
     * (change/progress.h). */
    kw_change_place goal;
    kw_change_pass pass; /* used if the next place needs KW_CHANGE_NEEDS_PASS or KW_CHANGE_NEEDS_SWEEP */
    const char *holder;  /* the registration of the gateway that sets places and copies rows; "": none */
    bool store_order;    /* the table had order: store before the change, and gets it back, unless paths are
                            added */
    /* Passes have given both placements the same cells with timestamps below this one; 0: no pass has visited
     * all records. */
    int64_t settled_ms;
    /* Sweeps have removed the control cells with lower timestamps; 0: no sweep has visited all records. */
    int64_t swept_ms;
    bool short_round; /* the last pass or sweep left little for the next one */
    /* The present copy, comparison, pass or sweep, so that every gateway can show it. */
    uint64_t work_ppm;             /* 0 to 1,000,000 */
    uint64_t work_rows_per_second; /* 0: unknown, or it does not run */
    uint64_t work_left_ms;         /* 0: unknown */
    /* Used with one writer and with several, while the change is under way. */
    int64_t place_at_ms; /* wall clock; when `place` was set */
    int64_t started_ms;
    const char *author;
    const char *reason;
    bool paused;
    bool completing;          /* to be completed when cursors of the old key rule have expired */
    uint64_t rows_per_second; /* limit of the copy; 0: none */
    uint64_t share_percent;   /* of the time that slices can take beside callers; 0: the default */
    bool copied;              /* all rows were copied at this place or an earlier one */
    bool compared;            /* all rows were compared; some can still differ (`missing`, ...) */
    uint64_t rows_copied;
    uint64_t rows_compared;
    uint64_t missing, different, extra, repaired;
    uint64_t undecodable; /* rows that were not copied: the old rule cannot decode their key, or the new rule
                            cannot encode their record */
    const char *example;  /* the first of them; "": none */
    kw_bytes copied_to;   /* the present copy, pass or sweep continues after this row key; empty: it has not
                             begun */
    kw_bytes compare_cursor; /* the comparison continues here; empty: it has not begun */
} kw_change_record;

/* What the record says about its place; see change/ladder.h. */
kw_change_ladder kw_change_ladder_of(const kw_change_record *record);
kw_change_rules kw_change_rules_of(const kw_change_record *record);
kw_change_move kw_change_next_move(const kw_change_record *record, kw_change_direction direction);
/* The regime of the table, if its policy allows atomic operations. While the key rule of a path other than
 * the primary one changes, atomic operations never wait: they read only the primary path, and write to the
 * changing path as puts do. */
kw_regime kw_change_regime_of(const kw_change_record *record);
/* True if the goal is that the change ends with the old placement. */
bool kw_change_is_cancelled(const kw_change_record *record);

/* "[]" for no records. */
kw_bytes kw_changes_print(const kw_change_record *records, size_t count, kw_arena *arena);
/* The same for records to store. REFUSED if they are too many or too large. */
bool kw_changes_print_to_put(const kw_change_record *records, size_t count, kw_arena *arena,
                             kw_bytes *ret_cell, kw_error *ret_error);
/* An empty cell has no records. CORRUPT if the text cannot come from kw_changes_print. */
bool kw_changes_parse(kw_bytes cell, kw_arena *arena, kw_change_record **ret_records, size_t *ret_count,
                      kw_error *ret_error);

/* The record of the path, which can be one of several that are added together. NULL if there is none. */
const kw_change_record *kw_changes_find(const kw_change_record *records, size_t count, const char *table,
                                        const char *path);
/* Leaves out the records of the table, or (path is not NULL) that of the path. False if no record was left
 * out. */
bool kw_changes_remove(const kw_change_record *records, size_t count, const char *table, const char *path,
                       kw_arena *arena, const kw_change_record **ret_left, size_t *ret_count);
/* The number of paths of the record, and the name of one of them. */
size_t kw_change_paths_count(const kw_change_record *record);
const char *kw_change_path_name(const kw_change_record *record, size_t index);
/* True if the record is that of the path. */
bool kw_change_has_path(const kw_change_record *record, const char *path);

/* True if gateways must load the policy again. Does not compare what is written between two steps: progress,
 * pause, limit, `completing`, goal, holder and pass. */
bool kw_changes_differ(const kw_change_record *a, size_t a_count, const kw_change_record *b, size_t b_count);
/* The same for the records of one path; NULL: there is none. */
bool kw_change_record_differs(const kw_change_record *a, const kw_change_record *b);

/* --- several writers: what gateways report ---------------------------------------------------------- */

/* A gateway's report about one change, in its registration: it serves the place that the step with this
 * number set, and all its calls at earlier places have ended. A gateway that gave up on a write reports the
 * next place only when that write can no longer be applied (store.late). */
typedef struct kw_change_report {
    const char *table;
    const char *path;
    int64_t started_ms; /* of the change */
    uint64_t step;
} kw_change_report;

/* A registered gateway, as far as changes of a table need it. */
typedef struct kw_change_follower {
    const char *instance; /* the name of its registration */
    const char *id;       /* of the gateway, for people */
    bool itself;
    bool dead; /* its lease has expired; a step removes its registration first */
    bool has_callers;
    uint64_t step; /* number of the step that it has reported; 0: none yet */
} kw_change_follower;
