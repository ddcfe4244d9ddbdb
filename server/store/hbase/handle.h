/* The store handle of one loop: its pool, and one file per kind of operation. */
#pragma once

#include "store/hbase/batch/batch_queue.h"
#include "store/hbase/link/pool.h"

/* The average size of a table's recent rows. A fetch uses it to request as many rows as fit into its byte
 * limit. */
typedef struct kw_hbase_row_size {
    uint64_t table_hash;
    size_t row_bytes; /* 0: unknown */
} kw_hbase_row_size;

typedef struct kw_hbase_handle {
    kw_store_handle base;
    kw_hbase_pool pool;
    kw_hbase_coalescer *coalescer;
    GHashTable *shared_gets; /* get.c: gets that are not sent yet; equal gets share one */
    GHashTable *families;    /* families.c */
    kw_task close_task;
    void (*closed)(void *user);
    void *user;
    kw_hbase_row_size row_sizes[64];
    kw_hbase_heartbeats *heartbeats; /* NULL: another store handle of the process sends them */
} kw_hbase_handle;

static inline kw_hbase_handle *
kw_hbase_handle_of(kw_store_handle *handle)
{
    return (kw_hbase_handle *)handle;
}

kw_store_handle *kw_hbase_handle_new(kw_hbase_store *store, kw_loop *loop);

/* The average size of a row; 0: unknown. */
size_t kw_hbase_row_bytes(kw_hbase_handle *handle, kw_bytes table);
void kw_hbase_note_row_bytes(kw_hbase_handle *handle, kw_bytes table, size_t row_bytes);

/* write.c */
void kw_hbase_write(kw_store_handle *handle, const kw_write *write, kw_write_done done, void *user);
/* Sets the call's method, args and flags for a write; allocates in the arena. */
void kw_hbase_write_prepare(kw_arena *arena, const kw_write *write, kw_durability durability,
                            kw_hbase_call *ret_call);
kw_outcome kw_hbase_outcome(const kw_hbase_failure *failure);
/* True if the write must not be sent twice. */
static inline bool
kw_hbase_is_once(const kw_write *write)
{
    return write->timestamp == KW_TIMESTAMP_NONE || write->once;
}
/* True if the write can be part of a multi-call. For a put that must not be sent twice, this also requires
 * that the table has all families of the put: if HBase rejects a multi-call, it does not say which puts were
 * applied. */
bool kw_hbase_write_can_batch(kw_hbase_handle *handle, const kw_write *write);
/* families.c */
GHashTable *kw_hbase_families_new(void);
/* True if the table has all families of the put. False: it lacks one, or its families are unknown and are now
 * requested. */
bool kw_hbase_families_include(kw_hbase_handle *handle, const kw_write *put);
/* The store rejected a write: the table may have changed. */
void kw_hbase_families_forget(kw_hbase_handle *handle, kw_bytes table);
/* write_many.c */
void kw_hbase_write_many(kw_store_handle *handle, const kw_write *const *writes, size_t count,
                         kw_written *results, void (*done)(void *user), void *user);
/* The same, but does not count failed writes for the metrics; the caller does. *ret_sent (NULL: not needed)
 * becomes true when one of the writes may have reached a server. */
void kw_hbase_write_together(kw_store_handle *handle, const kw_write *const *writes, size_t count,
                             kw_written *results, bool *ret_sent, void (*done)(void *user), void *user);
/* check.c */
/* Sets the call's method and args for a conditional write; allocates in the arena. */
void kw_hbase_check_prepare(kw_arena *arena, const kw_write *write, const kw_check *check,
                            kw_hbase_call *call);
bool kw_hbase_check_was_applied(const kw_hbase_call *call, const void *result);
void kw_hbase_write_if(kw_store_handle *handle, const kw_write *write, const kw_check *check,
                       kw_write_if_done done, void *user);
void kw_hbase_increment(kw_store_handle *handle, const kw_increment *increment, kw_increment_done done,
                        void *user);
/* get.c, get_many.c */
void kw_hbase_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user);
void kw_hbase_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done,
                       void *user);
GHashTable *kw_hbase_shared_gets_new(void);
/* CORRUPT unless the result has one row for each get. */
bool kw_hbase_check_row_count(const kw_hb_THBaseService_getMultiple_result *answer, size_t gets,
                              kw_hbase_failure *ret_failure);
/* kw_hbase_from_result for a get: a missing row gets the key of the get. CORRUPT also if the result is
 * another row. */
bool kw_hbase_from_get_result(kw_rows *rows, const kw_get *get, const kw_hb_TResult *result, kw_row *ret_row,
                              kw_error *ret_error);
/* Sets the failure's error. But if the call had a filter and HBase failed with "internal error", sets
 * INVALID, because HBase has no other answer to a filter that it cannot parse. */
void kw_hbase_explain_filter_failure(kw_bytes filter, const kw_hbase_failure *failure, kw_error *ret_error);
/* range_scan.c */
kw_range_scan *kw_hbase_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec);
void kw_hbase_range_scan_fetch(kw_range_scan *scan, uint32_t max_rows, size_t max_bytes, bool more_hint,
                               kw_deadline deadline, kw_get_done done, void *user);
void kw_hbase_range_scan_close(kw_range_scan *scan);
/* table.c, describe.c */
void kw_hbase_create_table(kw_store_handle *handle, const kw_table_spec *spec, kw_create_done done,
                           void *user);
void kw_hbase_drop_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_simple_done done,
                         void *user);
void kw_hbase_describe_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline,
                             kw_table_facts_done done, void *user);
void kw_hbase_regions(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_regions_done done,
                      void *user);
/* probe.c: tests once in the process, with an existing row, if FuzzyRowFilter returns the right rows. The row
 * key must have at least two bytes. */
void kw_hbase_probe(kw_hbase_handle *handle, kw_bytes table, kw_bytes row);
/* True if the test has succeeded. */
bool kw_hbase_probe_allows_fuzzy(const kw_hbase_handle *handle);
/* clock.c: starts the heartbeats unless another store handle of the process sends them. */
void kw_hbase_clock_tick(kw_hbase_handle *handle);
void kw_hbase_clock_stop(kw_hbase_handle *handle);
/* These can be called on any thread. */
void kw_hbase_clock_use(kw_hbase_clock *clock);
bool kw_hbase_clock_time(kw_hbase_clock *clock, bool estimate, kw_span *ret_span);
bool kw_hbase_clock_offset(kw_hbase_clock *clock, int64_t *ret_offset_ms);
