/* The store's store handle: where rows are, behind one vtable with asserting wrappers.
 *
 * A kw_store is the process-wide thing (an open database, a list of servers). A kw_store_handle is the store
 * as one loop sees it: every operation is started on the store handle's loop and its completion is called on
 * that loop, later, never from inside the call that started it. Every started operation completes
 * exactly once; only a run that was closed stays silent.
 *
 * Ownership: what an operation is given (its struct and every slice in it) must live until its
 * completion; runs copy their spec. What a completion receives as kw_rows is the receiver's and is
 * freed with kw_rows_free. Errors are copied values.
 *
 * Order: operations on records name the ordering of their table. The embedded store orders all writes by
 * itself; over HBase a link in the chain does (store/order). Without an ordering an operation is done as it
 * is given: so it is for Keyway's own tables.
 *
 * Coalescing (store/hbase) has its place behind kw_store_handle_write and kw_store_handle_get: callers hand
 * in single operations and do not know what they leave together with.
 */
#pragma once

#include "base/arena.h"
#include "base/cell.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/loop.h"
#include "base/ordering.h"
#include "base/pattern.h"
#include "filter/prepared.h"
#include "store/known_time.h"

typedef struct kw_store kw_store;
typedef struct kw_store_handle kw_store_handle;
typedef struct kw_range_scan kw_range_scan;

/* HBase's limits, asserted or refused here for every store. */
#define KW_STORE_ROW_KEY_MAX 32767
#define KW_STORE_VALUE_MAX (10 * 1024 * 1024)

#define KW_TIMESTAMP_NONE INT64_MAX /* "the store stamps it" on writes, HBase's LATEST_TIMESTAMP */

/* Why a row of a point read has no cells although it may be there. */
typedef enum kw_omission {
    KW_OMITTED_NOT,
    KW_OMITTED_TOO_LARGE, /* alone it has more than the bytes that were allowed */
    KW_OMITTED_NO_ROOM    /* those before it have taken them */
} kw_omission;

typedef struct kw_row {
    kw_bytes key;
    kw_cell *cells;       /* in HBase's order: family, qualifier, newest first */
    uint32_t cells_count; /* 0: no such row (point reads), or omitted */
    kw_omission omitted;
} kw_row;

/* Rows that were read, with the memory they live in. */
typedef struct kw_rows {
    kw_arena *arena;
    kw_row *rows;
    size_t count;
    size_t bytes;     /* keys, qualifiers and values */
    uint64_t scanned; /* rows the store looked at for them (>= count with a filter) */
    bool end;         /* runs: nothing comes after these */
} kw_rows;

kw_rows *kw_rows_new(void); /* empty, with an arena of its own */
/* account: that the memory is charged to; must outlive the rows. */
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

/* One row's write, atomic for the row. */
typedef struct kw_write {
    kw_write_kind kind;
    kw_bytes table;       /* "ns:name" or "name" */
    kw_bytes row;         /* 1 .. 32,767 bytes */
    const kw_cell *cells; /* PUT: at least one */
    size_t cells_count;
    const kw_column *columns; /* DELETE: these columns (all versions up to the timestamp); none: the row */
    size_t columns_count;
    int64_t timestamp; /* KW_TIMESTAMP_NONE: unstamped (then not retried after it may have left) */
    kw_durability durability;
    kw_deadline deadline;
    const kw_ordering *ordering; /* NULL, or a timestamp is given: as it is given */
    size_t counters;             /* PUT with an ordering: so many of the first cells are counters */
    /* In a many-call with an ordering: rows of one record have the same number and stand side by side; they
     * get one timestamp. 0: a record by itself. */
    uint32_t record;
    bool once; /* never sent twice, even with a timestamp */
    /* DELETE: cells that are put in the same step, with timestamps of their own. */
    const kw_cell *beside;
    size_t beside_count;
    int64_t beside_ttl_ms; /* 0: for ever */
} kw_write;

typedef enum kw_outcome {
    KW_OUTCOME_OK = 0,
    KW_OUTCOME_FAILED = 1, /* certainly not applied */
    KW_OUTCOME_UNKNOWN = 2 /* may have been applied */
} kw_outcome;

typedef void (*kw_write_done)(void *user, kw_outcome outcome, const kw_error *error);

/* error is set unless the outcome is OK. */
void kw_store_handle_write(kw_store_handle *handle, const kw_write *write, kw_write_done done, void *user);

typedef struct kw_written {
    kw_outcome outcome;
    kw_error error;
} kw_written;

/* One result per write, in order; `results` has count elements, owned by the caller, filled before done
 * is called. Writes may go to different tables; one bad write never fails its neighbours. All share the first
 * write's deadline and durability. */
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

/* "stored value OP value", by unsigned bytes; without a value EQUAL asks that the cell is absent, NOT_EQUAL
 * that it is there (the other operators need a value). */
typedef struct kw_check {
    kw_bytes family;
    kw_bytes qualifier;
    kw_compare compare;
    bool has_value;
    kw_bytes value;
    bool counter; /* the cell is a counter */
} kw_check;

typedef void (*kw_write_if_done)(void *user, kw_outcome outcome, bool applied, const kw_error *error);

/* The write, if the row's newest cell meets the check; atomic. Never retried once it may have left. */
void kw_store_handle_write_if(kw_store_handle *handle, const kw_write *write, const kw_check *check,
                              kw_write_if_done done, void *user);

typedef struct kw_increment {
    kw_bytes table;
    kw_bytes row;
    const kw_column *columns;
    const int64_t *amounts; /* one per column */
    size_t columns_count;
    kw_durability durability;
    kw_deadline deadline;
    const kw_ordering *ordering; /* NULL: as it is given */
} kw_increment;

/* rows: one row with the new values as 8-byte big-endian cells (NULL unless OK). A stored value that is
 * not 8 bytes is INVALID. Never retried once it may have left. */
typedef void (*kw_increment_done)(void *user, kw_outcome outcome, kw_rows *rows, const kw_error *error);
void kw_store_handle_increment(kw_store_handle *handle, const kw_increment *increment, kw_increment_done done,
                               void *user);

/* --- point reads ------------------------------------------------------------------------------ */

typedef struct kw_get {
    kw_bytes table;
    kw_bytes row;
    const kw_column *columns; /* none: all */
    size_t columns_count;
    int32_t max_versions; /* per column; 0 means 1 */
    int64_t time_from;    /* cells with time_from <= timestamp < time_to; both 0: all */
    int64_t time_to;
    kw_bytes filter;       /* HBase's filter language (filter/filter.h); empty: none, malformed: INVALID */
    size_t max_bytes;      /* of the row; of many gets the first's, for all rows together; 0: no limit */
    kw_account *account;   /* of whoever asks; NULL: nobody. The read may be given up when it has left */
    uint64_t call;         /* of the account: older calls are read first */
    kw_prepared *prepared; /* the same filter, compiled; NULL: the store reads the text itself */
    bool narrows;          /* the filter leaves out cells only: every row shows itself */
    bool filter_is_safe;   /* no store refuses it: the get may share a call with others */
    kw_deadline deadline;
    const kw_ordering *ordering; /* NULL: control cells come as others do */
} kw_get;

/* rows->count == 1 for one get; a missing row has no cells. rows is NULL exactly when error is set. */
typedef void (*kw_get_done)(void *user, kw_rows *rows, const kw_error *error);
void kw_store_handle_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user);

/* rows->count == count, in the order of the gets (one table; one deadline, account and max_bytes: the
 * first's). A row that alone has more than max_bytes is omitted, and so are all rows from the first one on
 * that does not fit together with those before it. */
void kw_store_handle_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count,
                              kw_get_done done, void *user);

/* --- runs ------------------------------------------------------------------------------------- */

/* The sorted rows of one range, read forward, or backward when reversed (then rows come from the
 * last before `stop` down to `start`). start is inclusive, stop exclusive, empty stop: the table's end. */
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
    kw_prepared *prepared; /* as in kw_get; runs take a reference instead of copying the text */
    bool narrows;          /* see kw_get */
    /* Rows whose keys match none of them may be left out, by any store or none; not with a filter that spans
     * rows (kw_filter_spans_rows). */
    kw_patterns patterns;
    bool keep_blocks_out_of_cache; /* a long scan that should not push others out */
    size_t max_row_bytes;          /* a row with more is LIMIT; 0: no limit */
    kw_account *account;           /* as of gets; the run holds a reference */
    uint64_t call;
    const kw_ordering *ordering; /* NULL: control cells come as others do */
} kw_range_scan_spec;

/* Nothing is sent before the first fetch. The spec is copied. */
kw_range_scan *kw_store_handle_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec);

/* The next rows, at most max_rows and about max_bytes (at least one row unless the run is at its end; with a
 * filter, patterns or an ordering a fetch may come back with none and end == false). One fetch at a time per
 * run. more_hint: the caller expects to fetch again (a store may open a scanner) */
void kw_range_scan_fetch(kw_range_scan *run, uint32_t max_rows, size_t max_bytes, bool more_hint,
                         kw_deadline deadline, kw_get_done done, void *user);

/* Ends the run; a fetch in flight stays silent. NULL is fine. */
void kw_range_scan_close(kw_range_scan *run);

/* --- tables ----------------------------------------------------------------------------------- */

typedef struct kw_family_spec {
    const char *name;
    const char *compression;    /* NONE SNAPPY LZ4 ZSTD LZO GZ; NULL: default (so the next two) */
    const char *bloom_filter;   /* NONE ROW ROWCOL */
    const char *block_encoding; /* NONE PREFIX DIFF FAST_DIFF ROW_INDEX_V1 */
    int32_t ttl_seconds;        /* 0: for ever */
    int32_t max_versions;       /* 0: 1 */
    int32_t min_versions;       /* 0 */
    int32_t block_size;         /* 0: default */
    int8_t block_cache;         /* -1: default, 0, 1 (so the next two) */
    int8_t in_memory;
    int8_t keep_deleted_cells;
    int32_t replication_scope; /* -1: default */
} kw_family_spec;

typedef struct kw_table_spec {
    kw_bytes name; /* the namespace is made when it is missing */
    const kw_family_spec *families;
    size_t families_count;
    const kw_bytes *split_keys; /* in order, no duplicates, none empty */
    size_t split_keys_count;
    kw_deadline deadline;
} kw_table_spec;

/* created is false when the table was there already (then error is not set and nothing was changed). */
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

/* facts is the receiver's; NULL exactly when error is set. A missing table is exists == false. */
typedef void (*kw_table_facts_done)(void *user, kw_table_facts *facts, const kw_error *error);
void kw_store_handle_describe_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline,
                                    kw_table_facts_done done, void *user);

/* Drops the table with its rows (disables it first where the store needs that). */
typedef void (*kw_simple_done)(void *user, const kw_error *error);
void kw_store_handle_drop_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline,
                                kw_simple_done done, void *user);

typedef struct kw_region {
    kw_bytes start;  /* empty: the first */
    kw_bytes stop;   /* empty: the last */
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

/* --- the store itself ------------------------------------------------------------------------- */

/* One line for people: "embedded store in DIR", "hbase via 2 Thrift2 servers". */
const char *kw_store_about(const kw_store *store);

/* Is it serving? For /readyz; any thread. ret_error says why not. */
bool kw_store_ready(kw_store *store, kw_error *ret_error);

/* The store's clock minus this machine's wall clock, for people; false while it is not known. Any thread. */
bool kw_store_clock_offset_ms(kw_store *store, int64_t *ret_offset_ms);

/* What is known of the store's clock now, well enough to order writes by it; false: not now. Any thread. */
bool kw_store_time(kw_store *store, kw_span *ret_span);
/* The same, as far as it can be said however long ago the store was asked. Any thread. */
bool kw_store_time_about(kw_store *store, kw_span *ret_span);
/* The clock is used: kw_store_time is to know it from now on for a while. Any thread. */
void kw_store_use_time(kw_store *store);

/* Tables whose writes are ordered by timestamps of the gateways (KW_WRITE_ORDER_STAMP) are served: the store
 * is ready only while its clock is known. Any thread. */
void kw_store_expect_stamps(kw_store *store, bool expected);

/* True if other processes read and write the store, too. Any thread. */
bool kw_store_is_shared(const kw_store *store);

/* A new store handle on a loop; called on the loop's thread, or before the loop runs. */
kw_store_handle *kw_store_open_handle(kw_store *store, kw_loop *loop);

/* Lets what is in flight complete with UNAVAILABLE, closes everything that belongs to the loop, then
 * calls closed (on the loop). What is started after it is refused with UNAVAILABLE; that may be done from
 * inside completions of the store handle (a call's next step), not any more once closed was called. */
void kw_store_handle_close(kw_store_handle *handle, void (*closed)(void *user), void *user);

/* After every store handle was closed. */
void kw_store_free(kw_store *store);

/* Certificates and the like are read again (SIGHUP); any thread. */
void kw_store_reload(kw_store *store);
