/* Changes of key rules in the catalog: the cell `changes` in the row of facts, a JSON array with a record for
 * each path whose key rule was changed while it was served.
 *
 *   a change is under way    the path has two placements, in which the version of the change defines what is
 *                            written and read (change/chain.h)
 *   it has ended             the record remains, because the policy's text still names the layout and the
 * store table that the path had before its first change
 *
 * The cell is written in the same conditional put as the facts of the table, so both change at once.
 */
#pragma once

#include "catalog/version.h"
#include "change/chain.h"

#define KW_CATALOG_CHANGES KW_BYTES_LITERAL("changes")
/* Maximum number of records, and of bytes of the cell. */
#define KW_CHANGES_MAX 1000
#define KW_CHANGES_BYTES_MAX ((size_t)512 * 1024)

typedef struct kw_placed_rule {
    uint32_t layout;
    const char *store_table;
} kw_placed_rule;

/* Everything lives in one arena. Texts are never NULL. */
typedef struct kw_change_record {
    const char *table;
    const char *path;
    kw_placed_rule given; /* what the policy's text says */
    kw_placed_rule now;   /* the placement of the text's key rule */
    bool under_way;
    /* The rest is only used while the change is under way. */
    kw_placed_rule old;
    kw_placed_rule old_given;    /* what the text of old_version says */
    kw_version_name old_version; /* the policy version with the old key rule */
    int64_t new_version;         /* number of the policy version that began the change */
    kw_chain_id version;
    int64_t version_at_ms; /* wall clock; when `version` was set */
    int64_t started_ms;
    const char *author;
    const char *reason;
    bool paused;
    bool completing;          /* to be completed when cursors of the old key rule have expired */
    uint64_t rows_per_second; /* limit of the copy; 0: none */
    bool copied;              /* all rows were copied under this version or an earlier one */
    bool compared;            /* no row differed, or all that did were repaired */
    uint64_t rows_copied;
    uint64_t rows_compared;
    uint64_t missing, different, extra, repaired;
    uint64_t foreign;        /* rows that cannot be decoded under the old key rule */
    const char *example;     /* the first of them; "": none */
    kw_bytes copied_to;      /* the copy continues after this row key; empty: it has not begun */
    kw_bytes compare_cursor; /* the comparison continues here; empty: it has not begun */
} kw_change_record;

/* "[]" for no records. */
kw_bytes kw_changes_print(const kw_change_record *records, size_t count, kw_arena *arena);
/* The same for records to store. REFUSED if they are too many or too large. */
bool kw_changes_print_to_put(const kw_change_record *records, size_t count, kw_arena *arena,
                             kw_bytes *ret_cell, kw_error *ret_error);
/* An empty cell has no records. CORRUPT if the text cannot come from kw_changes_print. */
bool kw_changes_parse(kw_bytes cell, kw_arena *arena, kw_change_record **ret_records, size_t *ret_count,
                      kw_error *ret_error);

/* NULL if there is none. */
const kw_change_record *kw_changes_find(const kw_change_record *records, size_t count, const char *table,
                                        const char *path);
/* Leaves out the records of the table, or (path is not NULL) that of the path. False if there are none. */
bool kw_changes_remove(const kw_change_record *records, size_t count, const char *table, const char *path,
                       kw_arena *arena, const kw_change_record **ret_left, size_t *ret_count);
/* True if the records differ in more than the progress of copies and comparisons: then gateways must load the
 * policy again. */
bool kw_changes_differ(const kw_change_record *a, size_t a_count, const kw_change_record *b, size_t b_count);
/* The same for the records of one path; NULL: there is none. */
bool kw_change_record_differs(const kw_change_record *a, const kw_change_record *b);

/* A step of a change. The placements of paths may differ from the catalog's where the new records differ from
 * its records:
 *   - a path gets a second placement, whose store table has no rows: the change begins
 *   - roles of placements change: the next version of the change
 *   - a path keeps one of two placements: the change has ended. The other one becomes retired
 * The commit writes the records in the same put. Without a step, placements must be those of the catalog. */
typedef struct kw_change_step {
    const kw_change_record *records; /* all that the catalog will have */
    size_t count;
    const kw_change_record *base; /* those that the catalog must have now; see kw_changes_differ */
    size_t base_count;
} kw_change_step;

/* The content of the catalog that defines the policy in service. */
typedef struct kw_current {
    kw_version_name version; /* number 0: none */
    const kw_change_record *changes;
    size_t changes_count;
} kw_current;

/* Reads it with one get; it lives until done returns. */
typedef void (*kw_current_read)(void *user, const kw_current *current, const kw_error *error);
void kw_catalog_read_current_changes(kw_catalog *catalog, kw_deadline deadline, kw_current_read done,
                                     void *user);

/* Writes records whose progress, pause or limit has changed, on the condition that the catalog still has
 * records that do not differ otherwise (kw_changes_differ). BUSY: they do. One call at a time, on the
 * catalog's loop, not during an admission. */
void kw_catalog_write_progress(kw_catalog *catalog, const kw_change_record *records, size_t count,
                               kw_deadline deadline, void (*done)(void *user, const kw_error *error),
                               void *user);
