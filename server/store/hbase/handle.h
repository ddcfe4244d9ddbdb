/* The store as one loop sees it: its pool, and one file per kind of operation. */
#pragma once

#include "store/hbase/batch_queue.h"
#include "store/hbase/pool.h"

/* How many bytes a row of some table had lately: how many rows a fetch asks for. */
typedef struct kw_hbase_size {
    uint64_t table_hash;
    size_t row_bytes;
} kw_hbase_size;

typedef struct kw_hbase_handle {
    kw_store_handle base;
    kw_hbase_pool pool;
    kw_hbase_coalescer *coalescer;
    GHashTable *questions; /* get.c: gets that wait, by what they ask */
    GHashTable *families;  /* families.c */
    uint32_t runs;         /* not freed yet; they keep this memory */
    bool gone;             /* closed was called */
    kw_task close_task;
    void (*closed)(void *user);
    void *user;
    kw_hbase_size sizes[64];
    kw_hbase_heartbeats *heartbeats; /* clock.c; NULL: another store handle of the process sends them */
} kw_hbase_handle;

static inline kw_hbase_handle *
kw_hbase_handle_of(kw_store_handle *handle)
{
    return (kw_hbase_handle *)handle;
}

kw_store_handle *kw_hbase_handle_new(kw_hbase_store *store, kw_loop *loop);

/* A run is gone: frees the store handle when it was the last and the store handle is closed. */
void kw_hbase_handle_release(kw_hbase_handle *handle);

/* 0: none of the table's rows was seen. */
size_t kw_hbase_row_bytes(kw_hbase_handle *handle, kw_bytes table);
void kw_hbase_saw_rows(kw_hbase_handle *handle, kw_bytes table, size_t row_bytes);

/* write.c */
void kw_hbase_write(kw_store_handle *handle, const kw_write *write, kw_write_done done, void *user);
/* Fills the call's method, args and flags from a write; what it allocates is the arena's. */
void kw_hbase_write_prepare(kw_arena *arena, const kw_write *write, kw_durability durability,
                            kw_hbase_call *ret_call);
kw_outcome kw_hbase_outcome(const kw_hbase_failure *failure);
/* Puts that are never sent twice leave together only if the store will not refuse one of them: what it then
 * says of a call of several holds for none of them. */
static inline bool
kw_hbase_is_once(const kw_write *write)
{
    return write->timestamp == KW_TIMESTAMP_NONE || write->once;
}
/* May it share a call with others? */
bool kw_hbase_write_may_ride(kw_hbase_handle *handle, const kw_write *write);
/* families.c: has the table all the families of the put? False: it is not known (and is asked), or no. */
GHashTable *kw_hbase_families_new(void);
bool kw_hbase_families_allow(kw_hbase_handle *handle, const kw_write *put);
/* The store refused something: the table may have changed. */
void kw_hbase_families_forget(kw_hbase_handle *handle, kw_bytes table);
/* write_many.c */
void kw_hbase_write_many(kw_store_handle *handle, const kw_write *const *writes, size_t count,
                         kw_written *results, void (*done)(void *user), void *user);
/* The same; ret_left (NULL: not wanted) becomes true when some of it may have reached a server. */
void kw_hbase_write_together(kw_store_handle *handle, const kw_write *const *writes, size_t count,
                             kw_written *results, bool *ret_left, void (*done)(void *user), void *user);
/* check.c */
void kw_hbase_write_if(kw_store_handle *handle, const kw_write *write, const kw_check *check,
                       kw_write_if_done done, void *user);
void kw_hbase_increment(kw_store_handle *handle, const kw_increment *increment, kw_increment_done done,
                        void *user);
/* get.c, get_many.c */
void kw_hbase_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user);
void kw_hbase_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done,
                       void *user);
GHashTable *kw_hbase_questions_new(void);
/* As many rows as gets? Else CORRUPT. */
bool kw_hbase_rows_are_all(const kw_hb_THBaseService_getMultiple_result *answer, size_t gets,
                           kw_hbase_failure *ret_failure);
void kw_hbase_take_row(kw_rows *rows, const kw_get *get, const kw_hb_TResult *result, kw_row *ret_row);
/* A filter that HBase cannot parse is only told as "internal error": says so. */
void kw_hbase_blame_filter(kw_bytes filter, const kw_hbase_failure *failure, kw_error *ret_error);
/* run.c */
kw_range_scan *kw_hbase_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec);
void kw_hbase_scan_run_fetch(kw_range_scan *run, uint32_t max_rows, size_t max_bytes, bool more_hint,
                             kw_deadline deadline, kw_get_done done, void *user);
void kw_hbase_scan_run_close(kw_range_scan *run);
/* table.c, describe.c */
void kw_hbase_create_table(kw_store_handle *handle, const kw_table_spec *spec, kw_create_done done,
                           void *user);
void kw_hbase_drop_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_simple_done done,
                         void *user);
void kw_hbase_describe_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline,
                             kw_table_facts_done done, void *user);
void kw_hbase_regions(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_regions_done done,
                      void *user);
/* probe.c: asks, once in the process, whether FuzzyRowFilter gives the right rows, of a row that is there. */
void kw_hbase_probe(kw_hbase_handle *handle, kw_bytes table, kw_bytes row);
/* It does. */
bool kw_hbase_probe_seeks(const kw_hbase_handle *handle);
/* clock.c: sends heartbeats if no other store handle of the process does. */
void kw_hbase_clock_tick(kw_hbase_handle *handle);
void kw_hbase_clock_stop(kw_hbase_handle *handle);
/* Any thread. */
void kw_hbase_clock_use(kw_hbase_clock *clock);
bool kw_hbase_clock_time(kw_hbase_clock *clock, bool about, kw_span *ret_span);
bool kw_hbase_clock_offset(kw_hbase_clock *clock, int64_t *ret_offset_ms);
