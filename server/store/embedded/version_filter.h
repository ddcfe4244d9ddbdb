/* Decides which cells of a row a read can see, by HBase's rules. The caller passes the entries of the row in
 * key order; after each entry the filter returns which one it needs next. It depends on the key format, but
 * not on RocksDB.
 *
 * A cell is visible if all of these hold:
 *   - It is among the max_versions newest cells of its column.
 *   - It is within the TTL of its family, or among the min_versions newest cells of its column.
 *   - Its timestamp is in the requested time range.
 *   - No delete marker of its family or column has an equal or later timestamp. In a family that keeps
 *     deleted cells, markers outside the requested time range do not count.
 *   - The requested number of versions is not reached by newer visible cells of its column.
 *
 * HBase counts max_versions within the time range until a compaction has dropped the surplus. Here a cell
 * that compaction can drop is never visible, so results do not depend on when compaction runs.
 */
#pragma once

#include "store/embedded/key.h"
#include "store/embedded/selection.h"

typedef enum kw_version_verdict {
    KW_VERSION_NEXT,    /* needs the next entry */
    KW_VERSION_SKIP,    /* entries below kw_version_filter_skip_target are not needed, but can be passed */
    KW_VERSION_ROW_DONE /* needs no more entries of this row */
} kw_version_verdict;

/* Receives a visible cell (or a marker, if passes_markers is set): its key after the row prefix, and its
 * value. Returns false if it does not need the rest of the row. */
typedef bool (*kw_version_sink)(void *user, kw_bytes after_row, kw_bytes value);

typedef struct kw_version_filter {
    const kw_selection *selection;
    kw_rows *rows;        /* visible cells are copied to its arena */
    kw_version_sink sink; /* receives the visible cells instead; NULL: none */
    void *sink_user;
    /* The sink also receives the markers that hide cells or can hide later ones: the newest marker of each
     * family, and of each column if it is newer. In a family that keeps deleted cells, it receives all
     * markers and the cells that they hide. */
    bool passes_markers;
    bool keeps_removed;     /* a row without visible cells is kept if it has a marker */
    bool has_marker;        /* the current row has a marker */
    kw_bytes after_row;     /* key of the current entry */
    int family;             /* of the last entry; -1: none yet */
    int64_t family_deleted; /* timestamp of its newest marker that counts; -1: none */
    size_t next_qualifier;  /* index in the selection, unless the whole family is selected */
    bool in_column, column_wanted, column_is_finished;
    kw_buffer column;                    /* escaped qualifier of the last entry, if in_column */
    kw_bytes qualifier;                  /* copy of `column` in the arena, unescaped; empty: none yet */
    kw_bytes family_name;                /* copy of the name of named_family in the arena */
    int named_family;                    /* index of a family; -1: none */
    int32_t puts_seen, versions_visible; /* numbers of entries of the column */
    kw_cell *cells;                      /* the visible cells of the row */
    uint32_t cells_count, cells_capacity;
    size_t bytes;
    size_t max_bytes;  /* of one row; 0: no limit */
    size_t max_memory; /* the same, of the memory that the row needs */
    bool too_large;    /* the row exceeds one of them and was not read to its end */
} kw_version_filter;

void kw_version_filter_init(kw_version_filter *filter, const kw_selection *selection);
void kw_version_filter_clear(kw_version_filter *filter);

/* Limits the size of a row, and the memory that it needs while it is read to what one call can use. Without a
 * filter the size is `most`. With a filter it can be larger, because the filter can remove a large part of
 * the row. most 0: no limits, as after kw_version_filter_init. */
void kw_version_filter_limit_rows(kw_version_filter *filter, const kw_account *account, size_t most,
                                  bool filters);

/* Copies the cells that become visible from now on to the arena of these rows. */
void kw_version_filter_set_output(kw_version_filter *filter, kw_rows *rows);

void kw_version_filter_begin_row(kw_version_filter *filter);

/* Passes the next entry: its key after the row prefix, and its value. An entry of an unknown format is
 * ignored. */
kw_version_verdict kw_version_filter_feed(kw_version_filter *filter, kw_bytes after_row, kw_bytes value);

/* After SKIP: appends the least key (after the row prefix) that the next needed entry can have. */
void kw_version_filter_skip_target(const kw_version_filter *filter, kw_buffer *to);

/* At the start of a row: appends the least key (after the row prefix) of the first needed entry. */
void kw_version_filter_first_target(const kw_version_filter *filter, kw_buffer *to);

/* Sets the visible cells of the row, but not its key. False if there are none (unless keeps_removed), or if
 * the row is too large. */
bool kw_version_filter_end_row(kw_version_filter *filter, kw_row *ret_row);
