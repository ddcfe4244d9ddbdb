/* HBase's rules of which cells of a row are seen, as a machine that is fed the row's entries in key
 * order and says after each whether it wants to see the next one. It knows keys, not the engine.
 *
 * A cell of a column is seen when all of these hold:
 *   - it is among the family's max_versions newest of its column;
 *   - it is not past the TTL, or among the family's min_versions newest;
 *   - its timestamp is in the asked time range;
 *   - no delete marker of its family or column has an equal or later timestamp. In a family that keeps
 *     deleted cells, markers outside the asked time range do not count;
 *   - fewer than the asked versions of its column were seen before it.
 *
 * HBase counts versions within the time range until a compaction has dropped the surplus; here what
 * compaction may drop is never seen, so that answers do not depend on when it runs.
 */
#pragma once

#include "store/embedded/key.h"
#include "store/embedded/selection.h"

typedef enum kw_verdict {
    KW_VERSION_NEXT, /* feed the next entry */
    KW_VERSION_SKIP, /* entries below kw_version_filter_target are of no interest; feeding them is harmless */
    KW_VERSION_ROW_DONE /* nothing behind this entry matters in this row */
} kw_verdict;

typedef struct kw_version_filter {
    const kw_selection *selection;
    kw_rows *rows;          /* whose arena takes what is seen */
    int family;             /* present one; -1: none yet */
    int64_t family_deleted; /* newest marker that counts; -1: none */
    size_t next_qualifier;  /* of the selection, while the family is not whole */
    bool in_column, column_wanted, column_done;
    kw_buffer column;     /* escaped qualifier of the present column */
    kw_bytes qualifier;   /* the same in the arena, once a cell was seen */
    kw_bytes family_name; /* the same in the arena */
    int family_named;     /* which family that is; -1: none */
    int32_t versions_met, versions_seen;
    kw_cell *cells; /* seen so far */
    uint32_t cells_count, cells_room;
    size_t bytes;
    size_t most;    /* bytes of one row; 0: no limit */
    bool too_large; /* the row has more: it was not read to its end */
} kw_version_filter;

void kw_version_filter_init(kw_version_filter *view, const kw_selection *selection);
void kw_version_filter_clear(kw_version_filter *view);

/* What is seen from here on goes to these rows. */
void kw_version_filter_direct(kw_version_filter *view, kw_rows *rows);

void kw_version_filter_begin_row(kw_version_filter *view);

/* One entry: what follows its row prefix, and its value. Entries that are not of a known form are passed
 * over. */
kw_verdict kw_version_filter_take(kw_version_filter *view, kw_bytes after_row, kw_bytes value);

/* After SKIP: appends the first key (behind the row prefix) that matters. */
void kw_version_filter_target(const kw_version_filter *view, kw_buffer *to);

/* Where the row's first entry of interest may be. */
void kw_version_filter_first_target(const kw_version_filter *view, kw_buffer *to);

/* Gives the seen cells to the row (not its key); false when there are none. */
bool kw_version_filter_end_row(kw_version_filter *view, kw_row *ret_row);
