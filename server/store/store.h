/* The interface of every store: reads and writes of rows, and administration of tables.
 *
 * A kw_store exists once per process (an open database, a list of servers). A kw_store_handle is the store
 * as one event loop sees it. Callers start every operation on the handle's loop. Its completion runs on the
 * same loop, but never inside the call that started it. Every operation completes exactly once. The only
 * exception: a fetch in flight does not complete if its range scan is closed.
 *
 * Ownership: the argument of an operation (its struct and every slice in it) must live until the completion.
 * Range scans copy their spec. A completion owns the kw_rows that it receives and frees them with
 * kw_rows_free. It must copy an error that it wants to keep.
 *
 * Order: operations on records name the ordering of their table. The embedded store orders all writes
 * itself; for HBase, store/order does. An operation without an ordering is executed unchanged; Keyway uses
 * such operations for its own tables.
 *
 * Batching: store/hbase can send several single writes or gets in one call. Callers do not notice.
 */
#pragma once

#include "base/arena.h"
#include "base/cell.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fence.h"
#include "base/loop.h"
#include "base/ordering.h"
#include "base/pattern.h"
#include "filter/prepared.h"
#include "store/known_time.h"

typedef struct kw_store kw_store;
typedef struct kw_store_handle kw_store_handle;
typedef struct kw_range_scan kw_range_scan;

/* HBase's limits. The wrappers in store.c enforce them for every store. */
#define KW_STORE_ROW_KEY_MAX 32767
#define KW_STORE_VALUE_MAX (10 * 1024 * 1024)

/* Stores keep each cell together with its row key. Maximum bytes of these keys in the cells that one call
 * writes to the rows of a record: a small request with a long key could otherwise need gigabytes. */
#define KW_STORE_ROW_KEYS_MAX (16 * 1024 * 1024)

/* The filter of a read that needs only the first cell of each row. */
#define KW_STORE_FIRST_CELL KW_BYTES_LITERAL("FirstKeyOnlyFilter ()")

/* Maximum number of rows that are written together for one record: 33 paths, with two rows each while the key
 * rules change, and some more. */
#define KW_STORE_RECORD_ROWS_MAX 128

/* The timestamp of a write whose timestamp the store assigns (HBase's LATEST_TIMESTAMP). */
#define KW_TIMESTAMP_NONE INT64_MAX

/* Why a row of a point read has no cells although the store can hold some. */
typedef enum kw_omission {
    KW_OMITTED_NOT,
    KW_OMITTED_TOO_LARGE,    /* the row alone exceeds max_bytes */
    KW_OMITTED_LIMIT_REACHED /* the rows before it used up max_bytes */
} kw_omission;

typedef struct kw_row {
    kw_bytes key;
    kw_cell *cells;       /* in HBase's order: family, qualifier, newest first */
    uint32_t cells_count; /* 0: the row does not exist (point reads), or it was omitted */
    kw_omission omitted;
} kw_row;

/* The result of a read, with the memory that holds it. */
typedef struct kw_rows {
    kw_arena *arena;
    kw_row *rows;
    size_t count;
    size_t bytes;     /* keys, qualifiers and values */
    uint64_t scanned; /* rows that the store examined (can exceed count if there is a filter) */
    bool end;         /* range scans: these are the last rows */
} kw_rows;

/* The part of kw_rows.bytes that belongs to the row. */
size_t kw_row_bytes(const kw_row *row);

kw_rows *kw_rows_new(void); /* empty, in a new arena */
/* Charges the memory to the account, which must outlive the rows. */
kw_rows *kw_rows_new_for(kw_account *account);
void kw_rows_free(kw_rows *rows);

typedef enum kw_durability {
    KW_DURABILITY_DEFAULT = 0,
    KW_DURABILITY_SKIP_WAL = 1,
    KW_DURABILITY_ASYNC_WAL = 2,
    KW_DURABILITY_SYNC_WAL = 3,
    KW_DURABILITY_FSYNC_WAL = 4
} kw_durability;

typedef struct kw_column {
    kw_bytes family;
    kw_bytes qualifier;
    bool whole_family; /* qualifier is ignored */
} kw_column;

/* --- writes ----------------------------------------------------------------------------------- */

typedef enum kw_write_kind { KW_WRITE_PUT, KW_WRITE_DELETE } kw_write_kind;

typedef struct kw_row_target {
    kw_bytes table;
    kw_bytes row;
    uint8_t step; /* of write_if and increments: as kw_write.step, for the rows after the first one */
} kw_row_target;

/* A delete marker: it deletes the cells of a column, a family or the row that have this timestamp or a lower
 * one. */
typedef struct kw_marker {
    kw_column column; /* ignored for a whole row */
    bool whole_row;
    int64_t until_ms;
} kw_marker;

/* A write to one row. It is atomic. */
typedef struct kw_write {
    kw_write_kind kind;
    kw_bytes table;       /* "ns:name" or "name" */
    kw_bytes row;         /* 1 .. 32,767 bytes */
    const kw_cell *cells; /* PUT: at least one */
    size_t cells_count;
    const kw_column *columns; /* DELETE: the columns (all versions up to the timestamp); none: the row */
    size_t columns_count;
    int64_t timestamp; /* KW_TIMESTAMP_NONE: set by the store; such a write is not retried once it was sent */
    kw_durability durability;
    kw_deadline deadline;
    const kw_ordering *ordering; /* NULL: execute the write unchanged. With a timestamp: see order/order.h */
    size_t counters;             /* PUT with an ordering: the number of leading cells that are counters */
    /* In write_many with an ordering: adjacent writes with the same number are rows of one record and get the
     * same timestamp. A store with one writer writes all of them or none. 0: the write is a record of its
     * own. */
    uint32_t record;
    /* In write_many with an ordering: a row of a record is written after the record's rows with lower steps
     * have been written, and only if that succeeded; otherwise it fails. A store that writes all rows of a
     * record at once ignores it. */
    uint8_t step;
    bool once;    /* never sent twice, even with a timestamp */
    bool fenced;  /* of a record: not sent while the fence is shut (kw_store_set_fence) */
    uint64_t era; /* the fence's era when its call began; a fenced write is not sent in another era */
    /* In write_if: the further rows of the record, all different. */
    const kw_row_target *others;
    size_t others_count;
    /* Cells that are put in the same atomic step, with their own timestamps; KW_TIMESTAMP_NONE: the store
     * sets it. */
    const kw_cell *extra_cells;
    size_t extra_cells_count;
    int64_t extra_cells_ttl_ms; /* 0: the cells do not expire */
    size_t lasting_cells_count; /* the number of leading extra cells that never expire */
    /* PUT, in a shared store: each cell has its own timestamp, and the markers are written in the same atomic
     * step; with markers, it needs no cells. `timestamp` must not be KW_TIMESTAMP_NONE; it is not used
     * otherwise. */
    bool own_timestamps;
    const kw_marker *markers;
    size_t markers_count;
} kw_write;

typedef enum kw_outcome {
    KW_OUTCOME_OK = 0,
    KW_OUTCOME_FAILED = 1, /* certainly not applied */
    KW_OUTCOME_UNKNOWN = 2 /* possibly applied */
} kw_outcome;

typedef void (*kw_write_done)(void *user, kw_outcome outcome, const kw_error *error);

/* error is set unless the outcome is OK. */
void kw_store_handle_write(kw_store_handle *handle, const kw_write *write, kw_write_done done, void *user);

typedef struct kw_written {
    kw_outcome outcome;
    kw_error error;
} kw_written;

/* `results` is the caller's array of `count` elements. It receives one result per write, in the same order,
 * before done is called. Writes can go to different tables. An invalid write does not make the writes of
 * other records fail. The first write's deadline and durability apply to all. */
void kw_store_handle_write_many(kw_store_handle *handle, const kw_write *const *writes, size_t count,
                                kw_written *results, void (*done)(void *user), void *user);

typedef enum kw_compare {
    KW_COMPARE_LESS = 0,
    KW_COMPARE_LESS_OR_EQUAL = 1,
    KW_COMPARE_EQUAL = 2,
    KW_COMPARE_NOT_EQUAL = 3,
    KW_COMPARE_GREATER_OR_EQUAL = 4,
    KW_COMPARE_GREATER = 5
} kw_compare;

/* "stored value OP value"; values are compared as unsigned bytes. Without a value, EQUAL requires that the
 * cell does not exist or has an empty value, and NOT_EQUAL that it has a value that is not empty; the other
 * operators need a value. For checks with an empty value see kw_check_is_met (check.h). */
typedef struct kw_check {
    kw_bytes family;
    kw_bytes qualifier;
    kw_compare compare;
    bool has_value;
    kw_bytes value;
    bool counter; /* the cell is a counter */
} kw_check;

typedef void (*kw_write_if_done)(void *user, kw_outcome outcome, bool applied, const kw_error *error);

/* Atomically executes the write if the newest cell of the checked column meets the check. Not retried once it
 * was sent. With `others`, the check reads only write->row; if it is met, the same write with the same
 * timestamp reaches all rows. At most KW_STORE_RECORD_ROWS_MAX rows. In a store with one writer, it reaches
 * all of them in one commit, or none of them. A shared store (kw_store_is_shared) has no commit over several
 * rows: it writes the first row, then the others. With `others`, it returns REFUSED unless the ordering is
 * STAMP with atomics. If a row is not certainly written, the outcome is UNKNOWN. */
void kw_store_handle_write_if(kw_store_handle *handle, const kw_write *write, const kw_check *check,
                              kw_write_if_done done, void *user);

/* --- derived writes ---------------------------------------------------------------------------- */

/* A row that a derived write reads in addition to its own. */
typedef struct kw_lookup {
    kw_bytes table;
    kw_bytes row;
    const kw_column *columns; /* as in kw_derivation */
    size_t columns_count;
} kw_lookup;

/* What a derived write has read: the newest visible cells of the columns, in HBase's order. */
typedef struct kw_seen {
    const kw_row *row;
    const kw_row *others; /* of the first lookups */
    size_t others_count;
} kw_seen;

/* What a derived write writes, in addition to the cells of its kw_write. */
typedef struct kw_derived {
    /* Rows to read. If there are more than kw_seen.others_count, the store reads them and derives again, and
     * the other members are ignored; those that were read come first again. At most KW_STORE_LOOKUPS_MAX.
     * Only in a store with one writer: there, everything that is read belongs to the same moment as the
     * write. */
    const kw_lookup *lookups;
    size_t lookups_count;
    bool is_met; /* false: nothing is written, and the other members are ignored */
    /* Cells of columns that were read, each column once; the store sets their timestamps. */
    const kw_cell *cells;
    size_t cells_count;
    /* Columns that were read and have no cell. In a store with several writers, cells of these columns with
     * lower timestamps than the write stay hidden, even if they arrive later. */
    const kw_column *absent;
    size_t absent_count;
    /* Puts of other rows, without an ordering and without timestamps. They are in the store before the write
     * is. In a store with one writer, all is one commit, with one timestamp; a put of a row that was looked
     * up gets a later one if cells that it replaces have it. Otherwise, they can stay although the write
     * fails or is derived again. At most KW_STORE_RECORD_ROWS_MAX. */
    const kw_write *preceding;
    size_t preceding_count;
} kw_derived;

/* Pure: can be called on any thread, and several times for one write. Allocates in `arena`, which lives as
 * long as `seen`. False: the write is FAILED with this error. */
typedef bool (*kw_derive)(void *user, const kw_seen *seen, kw_arena *arena, kw_derived *ret_derived,
                          kw_error *ret_error);

typedef struct kw_derivation {
    const kw_column
        *columns; /* to read: 1 to KW_STORE_DERIVED_COLUMNS_MAX, all different; no whole families */
    size_t columns_count;
    kw_derive derive;
    void *user;
} kw_derivation;

#define KW_STORE_DERIVED_COLUMNS_MAX 80
#define KW_STORE_LOOKUPS_MAX KW_STORE_RECORD_ROWS_MAX
/* Maximum bytes of the cells that a derived write reads of one row; otherwise it is FAILED with LIMIT. */
#define KW_STORE_DERIVED_BYTES_MAX (16 * 1024 * 1024)

/* Atomically reads columns of write->row, derives what to write from them, and writes it to all rows of the
 * record (`others`), as kw_store_handle_write_if does. The write must be a put without a timestamp. A shared
 * store returns REFUSED unless every write of the ordering leaves kw:w (kw_writes_writer). There, the write
 * is derived again if other writes of the row come in between; after many times, it is FAILED with BUSY. */
void kw_store_handle_write_derived(kw_store_handle *handle, const kw_write *write,
                                   const kw_derivation *derivation, kw_write_if_done done, void *user);

/* --- increments ------------------------------------------------------------------------------- */

typedef struct kw_increment {
    kw_bytes table;
    kw_bytes row;
    const kw_column *columns;
    const int64_t *amounts; /* one per column */
    size_t columns_count;
    kw_durability durability;
    kw_deadline deadline;
    const kw_ordering *ordering; /* NULL: execute the increment unchanged */
    bool fenced;                 /* see kw_write */
    uint64_t era;                /* the same */
    /* The further rows of the record, all different, as in kw_store_handle_write_if: the old values are read
     * from `row`, and all rows get the same new cells. */
    const kw_row_target *others;
    size_t others_count;
} kw_increment;

/* rows: one row with the new values as 8-byte big-endian cells (NULL unless OK), in HBase's order. Fails with
 * INVALID if a stored value does not have 8 bytes, or a sum does not fit into 64 bits. HBase lets such a sum
 * wrap around: there, the store subtracts the amounts again, and other callers can see the wrong value for a
 * moment. Not retried once it was sent. */
typedef void (*kw_increment_done)(void *user, kw_outcome outcome, kw_rows *rows, const kw_error *error);
void kw_store_handle_increment(kw_store_handle *handle, const kw_increment *increment, kw_increment_done done,
                               void *user);

/* --- copies ----------------------------------------------------------------------------------- */

/* Copies one row to a row of another store table, with the timestamps. A store with one writer:
 *
 * Copies all cells that a read of all versions sees, and the delete markers that can hide cells put later
 * with older timestamps. In a family that keeps deleted cells, it copies those too. So a row without cells,
 * whose record was removed, can be copied. Cells and delete markers of the target stay; copied markers hide
 * cells of the target as they do in the source. A cell in a family that the target's table lacks makes the
 * copy FAILED with INVALID; markers of such a family are not copied. The copy of a column is atomic: no write
 * to either row happens between its read and its write, so a copy never replaces a cell by an older one with
 * the same timestamp. Copies are acknowledged before they are durable. Any later durable write makes them
 * durable too.
 *
 * A store with several writers, which needs the ordering of the table:
 *
 * Copies all cells that a read of all versions sees, and removals, whose readable control cells ("gone
 * cells") are copied with delete markers. Other writes can happen meanwhile; those with greater timestamps
 * win. A copy can replace a cell of the target with equal timestamp. Delete markers without a gone cell,
 * cells that they have deleted, and other control cells are not copied, with one exception: in tables with
 * kw:w, a copy both ways that changes `row` writes the newer kw:w of `to_row` there, too. The copy of a row
 * is atomic if the row has at most about a megabyte. No two copies of one call can have a row in common. */
typedef struct kw_row_copy {
    kw_bytes table, row;
    kw_bytes to_table, to_row;
    const kw_ordering *ordering; /* ignored by a store with one writer */
    /* With an ordering: gives both rows the cells and removals of both; nothing is written if both have the
     * same. Of cells with equal timestamps, those of `row` replace those of `to_row`. */
    bool both_ways;
    /* Not NULL: the whole row as a read without an ordering returns it, with all versions. Then the store
     * does not read it; it must live until done. Ignored by a store with one writer. */
    const kw_row *stored, *to_stored;
    /* With both_ways, only cells with time_from <= timestamp < time_to are read; both 0: all. Both rows must
     * have the same older cells. `stored` and `to_stored` need not have the others. */
    int64_t time_from, time_to;
    uint64_t era; /* of its writes; see kw_write */
} kw_row_copy;

/* `results` is the caller's array of `count` elements, with one result per copy before done is called. An
 * invalid copy makes all of them fail. Copies can be repeated. REFUSED (every result) by a store with several
 * writers for a copy without an ordering. */
void kw_store_handle_copy_rows(kw_store_handle *handle, const kw_row_copy *copies, size_t count,
                               kw_deadline deadline, kw_written *results, void (*done)(void *user),
                               void *user);

/* Removes gone cells with timestamps up to the given one from rows, together with all cells that they hide,
 * and traces of puts. For a store with several writers; every write with a lower timestamp must have ended.
 * Can be repeated. */
typedef struct kw_row_sweep {
    kw_bytes table, row;
    const kw_ordering *ordering;
    int64_t until_ms;
    uint64_t era; /* of its writes; see kw_write */
} kw_row_sweep;
/* As kw_store_handle_copy_rows. REFUSED (every result) by a store with one writer, which has no gone cells.
 */
void kw_store_handle_sweep_rows(kw_store_handle *handle, const kw_row_sweep *sweeps, size_t count,
                                kw_deadline deadline, kw_written *results, void (*done)(void *user),
                                void *user);

/* --- point reads ------------------------------------------------------------------------------ */

typedef struct kw_get {
    kw_bytes table;
    kw_bytes row;
    /* Not NULL: the record has a second row, in the other placement of a changing path. The result has the
     * newest cells of both rows, under the key `row`; of cells with equal timestamps, those of `row`, which
     * must be in the placement that scans read. Before the result is returned, each row gets the cells
     * that it lacks; if that fails, the get fails. Needs an ordering with STAMP. In get_many, all second rows
     * are in the same table. */
    const kw_row_target *other;
    uint64_t era;             /* of the writes that give each row the cells that it lacks; see kw_write */
    const kw_column *columns; /* none: all */
    size_t columns_count;
    int32_t max_versions; /* per column; 0 means 1 */
    int64_t time_from;    /* cells with time_from <= timestamp < time_to; both 0: all */
    int64_t time_to;
    kw_bytes filter;     /* HBase's filter language (filter/filter.h); empty: none, malformed: INVALID */
    size_t max_bytes;    /* of the row; for get_many the first get's limit applies to all rows; 0: no limit */
    kw_account *account; /* of the caller; NULL: none. If its connection closes, the read can be cancelled */
    uint64_t call;       /* number of the call in its account; older calls are served first */
    kw_prepared *prepared;   /* the same filter, compiled; NULL: the store parses the text */
    bool filters_cells_only; /* the filter removes cells only: every row that exists keeps at least one */
    bool filter_is_safe;     /* every store accepts the filter: the get can share a call with others */
    /* One of many gets that must not evict other blocks. In get_many, all have the same value. */
    bool keep_blocks_out_of_cache;
    kw_deadline deadline;
    const kw_ordering *ordering; /* NULL: control cells are returned like other cells */
} kw_get;

/* rows->count is 1 for a single get. A missing row has no cells. rows is NULL if and only if error is set. */
typedef void (*kw_get_done)(void *user, kw_rows *rows, const kw_error *error);
void kw_store_handle_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user);

/* All gets must name the same table; the first one's deadline, account and max_bytes apply to all.
 * rows->count == count, in the order of the gets. A row that alone exceeds max_bytes is omitted. As soon as
 * a row does not fit together with the rows before it, that row and all later ones are omitted. */
void kw_store_handle_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count,
                              kw_get_done done, void *user);

/* --- range scans ------------------------------------------------------------------------------ */

/* The sorted rows of one range. `start` is inclusive and `stop` exclusive; an empty `stop` is the end of the
 * table. If reversed, the rows are returned from the last one before `stop` down to `start`. */
typedef struct kw_range_scan_spec {
    kw_bytes table;
    kw_bytes start;
    kw_bytes stop;
    bool reversed;
    const kw_column *columns;
    size_t columns_count;
    int32_t max_versions;
    int64_t time_from;
    int64_t time_to;
    kw_bytes filter;
    kw_prepared *prepared;   /* as in kw_get; the scan holds a reference and does not copy the text */
    bool filters_cells_only; /* as in kw_get */
    /* A hint: a store can skip rows whose keys match no pattern. Must be empty if the filter spans rows
     * (kw_filter_spans_rows). */
    kw_patterns patterns;
    /* Also returns rows of removed records, without cells: in a store with one writer those that have delete
     * markers only, whatever the filter is; in a store with several writers, with order: stamp, those that
     * have control cells only, if the filter removes cells only. */
    bool with_removed;
    bool keep_blocks_out_of_cache; /* a long scan that must not evict other blocks */
    size_t max_row_bytes;          /* a larger row fails the fetch with LIMIT; 0: no limit */
    bool
        omit_large_rows; /* a row above max_row_bytes does not fail the fetch: it is returned without cells,
                          * as KW_OMITTED_TOO_LARGE. A store can still fail if it cannot read the row's key */
    kw_account *account; /* as in kw_get; the scan holds a reference */
    uint64_t call;       /* as in kw_get */
    const kw_ordering *ordering; /* NULL: control cells are returned like other cells */
} kw_range_scan_spec;

/* Copies the spec. Sends nothing; the first fetch does. */
kw_range_scan *kw_store_handle_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec);

/* Fetches the next rows: at most max_rows, and about max_bytes. A fetch returns at least one row unless the
 * scan is at its end. But with a filter, patterns or an ordering it can return no rows although `end` is
 * false. Only one fetch per scan at a time. more_hint: the caller expects to fetch again, so a store can keep
 * a scanner open. */
void kw_range_scan_fetch(kw_range_scan *scan, uint32_t max_rows, size_t max_bytes, bool more_hint,
                         kw_deadline deadline, kw_get_done done, void *user);

/* Closes the scan. A fetch in flight does not complete. NULL is allowed. */
void kw_range_scan_close(kw_range_scan *scan);

/* --- pauses ----------------------------------------------------------------------------------- */

/* Calls done after this time; or earlier, with UNAVAILABLE, if the store handle is closed. A call that waits
 * between two operations uses this instead of a timer of its own, so that it ends as operations do. */
typedef void (*kw_simple_done)(void *user, const kw_error *error);
void kw_store_handle_pause(kw_store_handle *handle, uint64_t delay_ms, kw_simple_done done, void *user);

/* --- tables ----------------------------------------------------------------------------------- */

/* A setting of a family under the store's own name. */
typedef struct kw_family_setting {
    kw_bytes name;
    kw_bytes value;
    bool configures; /* HBase: one of the family's configuration, not an attribute */
} kw_family_setting;

typedef struct kw_family_spec {
    const char *name;
    const char *compression;    /* NONE SNAPPY LZ4 ZSTD LZO GZ; NULL: default; the same for the next two */
    const char *bloom_filter;   /* NONE ROW ROWCOL */
    const char *block_encoding; /* NONE PREFIX DIFF FAST_DIFF ROW_INDEX_V1 */
    int32_t ttl_seconds;        /* 0: cells do not expire */
    int32_t max_versions;       /* 0 means 1 */
    int32_t min_versions;
    int32_t block_size; /* 0: default */
    int8_t block_cache; /* 0: no, 1: yes, -1: default; the same for the next two */
    int8_t in_memory;
    int8_t keep_deleted_cells;
    int32_t replication_scope; /* -1: default */
    /* HBase: compactions keep delete markers until they are this old; a new table keeps them at least for
     * kw_hbase_markers_ms. Other stores ignore it. */
    int64_t markers_ms;
    /* HBase: everything that it reports about a family, for another table like it. The members above replace
     * settings with the same meaning. */
    const kw_family_setting *settings;
    size_t settings_count;
} kw_family_spec;

typedef struct kw_table_spec {
    kw_bytes name; /* a missing namespace is created */
    const kw_family_spec *families;
    size_t families_count;
    const kw_bytes *split_keys; /* sorted, without duplicates and without empty keys */
    size_t split_keys_count;
    kw_deadline deadline;
} kw_table_spec;

/* created is false if the table existed; then nothing was changed, and error is not set. */
typedef void (*kw_create_done)(void *user, bool created, const kw_error *error);
void kw_store_handle_create_table(kw_store_handle *handle, const kw_table_spec *spec, kw_create_done done,
                                  void *user);

/* Everything is allocated in `arena`. */
typedef struct kw_table_facts {
    kw_arena *arena;
    bool exists;
    const kw_family_spec *families;
    size_t families_count;
} kw_table_facts;
void kw_table_facts_free(kw_table_facts *facts);

/* The receiver owns facts, which is NULL if and only if error is set. exists is false for a missing table. */
typedef void (*kw_table_facts_done)(void *user, kw_table_facts *facts, const kw_error *error);
void kw_store_handle_describe_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline,
                                    kw_table_facts_done done, void *user);

/* Drops the table with its rows (and disables it first if the store requires that). */
void kw_store_handle_drop_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline,
                                kw_simple_done done, void *user);

typedef struct kw_region {
    kw_bytes start;  /* empty: the first region */
    kw_bytes stop;   /* empty: the last region */
    kw_bytes server; /* "host:port"; empty for embedded */
} kw_region;

typedef struct kw_regions {
    kw_arena *arena;
    const kw_region *regions; /* in order */
    size_t count;
} kw_regions;
void kw_regions_free(kw_regions *regions);

typedef void (*kw_regions_done)(void *user, kw_regions *regions, const kw_error *error);
void kw_store_handle_regions(kw_store_handle *handle, kw_bytes table, kw_deadline deadline,
                             kw_regions_done done, void *user);

/* --- backups ---------------------------------------------------------------------------------- */

/* Makes a backup of the whole store in a folder of its own, NAME, in the folder of its settings. The name has
 * 1 to KW_BACKUP_NAME_MAX letters, digits, '.', '_' and '-', and does not begin with a '.'. The backup has
 * every write that was acknowledged before the call. Writes go on meanwhile. REFUSED: the name exists, or the
 * store makes no backups. UNAVAILABLE: nothing is left of the backup. BUSY: another one is being made. */
#define KW_BACKUP_NAME_MAX 100
typedef void (*kw_backup_done)(void *user, int64_t bytes, const kw_error *error);
void kw_store_handle_backup(kw_store_handle *handle, kw_bytes name, kw_backup_done done, void *user);

/* --- the store itself ------------------------------------------------------------------------- */

/* A description in one line: "embedded store in DIR", "hbase via 2 Thrift2 servers". */
const char *kw_store_about(const kw_store *store);

/* True if the store can serve calls now; otherwise ret_error contains the reason. Used by /readyz. Any
 * thread. */
bool kw_store_ready(kw_store *store, kw_error *ret_error);

/* The store's clock minus this machine's wall clock, for display. False while it is not known. Any thread. */
bool kw_store_clock_offset_ms(kw_store *store, int64_t *ret_offset_ms);

/* An interval that certainly contains the store's current time, so that writes can be ordered by it. False if
 * no such interval is known now. Any thread. */
bool kw_store_time(kw_store *store, kw_span *ret_span);
/* An estimate of the store's current time from its last answer, however old that is. Any thread. */
bool kw_store_time_estimate(kw_store *store, kw_span *ret_span);
/* Reads that begin now do not miss a write of the store's own that gets a lower timestamp than this: every
 * write that they do not see gets this one or a later one, as far as the clocks of the store's servers agree.
 * False if the store's time is not known now. Any thread. */
bool kw_store_earliest_ms(kw_store *store, int64_t *ret_ms);
/* Asks the store to read its clock soon and regularly for a while, so that kw_store_time succeeds. Any
 * thread. */
void kw_store_keep_time_known(kw_store *store);

/* expected: true if the gateway serves tables whose writes are ordered by gateway timestamps
 * (KW_WRITE_ORDER_STAMP, KW_WRITE_ORDER_RAISED). The store is then ready only while its clock is known. Any
 * thread. */
void kw_store_expect_stamps(kw_store *store, bool expected);

/* kw_clock_boot_ns of the last moment at which an attempt of a write of this process ended without an answer,
 * or its outcome UNKNOWN was reported, so that the store may still apply it; 0: never. Any thread. */
uint64_t kw_store_last_doubt_ns(const kw_store *store);

/* Sets the fence of the gateway's lease; NULL: none. A store that other processes use does not send a fenced
 * write while the fence is shut: the write fails with UNAVAILABLE, and its outcome is FAILED unless an
 * earlier attempt was sent. So a gateway that was suspended until its lease ended does not write rows under
 * its old policy, even after it has got another lease. The fence must live until the store handles are closed
 * or another one is set. Any thread. */
void kw_store_set_fence(kw_store *store, const kw_fence *fence);

/* True if other processes can read and write the store. Any thread. */
bool kw_store_is_shared(const kw_store *store);

/* Opens a store handle on a loop. Call it on the loop's thread or before the loop runs. */
kw_store_handle *kw_store_open_handle(kw_store *store, kw_loop *loop);

/* Ends the operations in flight (those that cannot finish soon fail with UNAVAILABLE) and the pauses, closes
 * everything that belongs to the loop, then calls closed on the loop. Operations started after this call fail
 * with UNAVAILABLE, even after closed was called, as long as the loop runs. */
void kw_store_handle_close(kw_store_handle *handle, void (*closed)(void *user), void *user);

/* Frees the store and its handles. Call it after every store handle was closed, and when nothing uses one of
 * them any more. NULL is allowed. */
void kw_store_free(kw_store *store);

/* Reads certificates and similar files again (SIGHUP). Any thread. */
void kw_store_reload(kw_store *store);
