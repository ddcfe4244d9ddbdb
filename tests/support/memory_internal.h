/* Types and functions that the files of the memory store share. */
#pragma once

#include "filter/machine.h"
#include "support/memory_store.h"

#include "store/class.h"

#include <glib.h>

typedef struct memory_cell {
    kw_bytes family, qualifier, value; /* malloc'ed */
    int64_t timestamp;
} memory_cell;

typedef struct memory_row {
    kw_bytes table, key;
    GArray *cells; /* sorted */
} memory_row;

typedef struct memory_table {
    kw_bytes name;
    GPtrArray *families; /* kw_family_spec: name and ttl_seconds */
    GArray *splits;      /* kw_bytes */
} memory_table;

typedef struct memory_store {
    kw_store base;
    GPtrArray *rows;   /* memory_row, by table and key */
    GPtrArray *tables; /* memory_table */
    kw_memory_control control;
    GPtrArray *kept; /* copies for last_write */
} memory_store;

typedef enum answer_kind {
    ANSWER_WRITE,
    ANSWER_MANY,
    ANSWER_WRITE_IF,
    ANSWER_INCREMENT,
    ANSWER_GET,
    ANSWER_CREATE,
    ANSWER_FACTS,
    ANSWER_SIMPLE,
    ANSWER_REGIONS
} answer_kind;

typedef struct memory_range_scan memory_range_scan;

typedef struct memory_answer {
    answer_kind kind;
    void (*done)(void);
    void *user;
    bool failed;
    kw_error error;
    kw_outcome outcome;
    bool applied;
    kw_rows *rows;
    kw_table_facts *facts;
    kw_regions *regions;
    memory_range_scan *run;
} memory_answer;

typedef struct memory_handle {
    kw_store_handle base;
    memory_store *store;
    GPtrArray *answers;
    kw_task task;
    bool posted;
    void (*closed)(void *user);
    void *closed_user;
} memory_handle;

struct memory_range_scan {
    kw_range_scan base;
    kw_range_scan_spec spec; /* slices malloc'ed */
    kw_column *columns;
    kw_arena *arena; /* of the filter's tree; NULL: no filter */
    kw_filter_machine *machine;
    kw_bytes at; /* the last row read: the next fetch continues after it (reversed: before it); malloc'ed */
    bool has_at;
    bool closed, on_way;
};

static inline memory_store *
memory_store_of(const kw_store_handle *handle)
{
    return ((const memory_handle *)handle)->store;
}

/* --- memory_rows.c --------------------------------------------------------------------------------- */

kw_bytes memory_copy(kw_bytes bytes); /* malloc'ed */
void memory_drop(kw_bytes bytes);
int memory_compare_place(const memory_row *at, kw_bytes table_name, kw_bytes key);
/* The position of the first row at or after the key. */
guint memory_lower_bound(const memory_store *store, kw_bytes table_name, kw_bytes key);
memory_row *memory_find_row(const memory_store *store, kw_bytes table_name, kw_bytes key);
memory_row *memory_make_row(memory_store *store, kw_bytes table_name, kw_bytes key);
void memory_free_row(gpointer data);
memory_cell *memory_find_cell(const memory_row *in, kw_bytes family, kw_bytes qualifier);
void memory_set_cell(memory_row *in, kw_bytes family, kw_bytes qualifier, kw_bytes value, int64_t timestamp);
void memory_apply(memory_store *store, const kw_write *write);
/* Copies the selected cells of the row; false if there are none. */
/* Removes the cells of other times; false: none is left. Both 0: all times. */
bool memory_limit_times(int64_t from, int64_t to, kw_row *row);
bool memory_read_row(const memory_row *from, const kw_column *columns, size_t columns_count, kw_rows *into,
                     kw_row *to);

/* --- memory_store.c -------------------------------------------------------------------------------- */

/* Counts the operation and schedules its reply. Sets `failed` if the operation must fail. */
/* Call it when a read of rows has started. */
void memory_note_reads(kw_store_handle *base);
memory_answer *memory_start(kw_store_handle *base, answer_kind kind, void (*done)(void), void *user);

/* --- memory_runs.c --------------------------------------------------------------------------------- */

kw_range_scan *memory_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec);
void memory_range_scan_fetch(kw_range_scan *base, uint32_t max_rows, size_t max_bytes, bool more_hint,
                             kw_deadline deadline, kw_get_done done, void *user);
void memory_range_scan_close(kw_range_scan *base);
void memory_free_range_scan(memory_range_scan *run);

/* --- memory_tables.c ------------------------------------------------------------------------------- */

void memory_create_table(kw_store_handle *handle, const kw_table_spec *spec, kw_create_done done, void *user);
void memory_describe_table(kw_store_handle *handle, kw_bytes name, kw_deadline deadline,
                           kw_table_facts_done done, void *user);
void memory_drop_table(kw_store_handle *handle, kw_bytes name, kw_deadline deadline, kw_simple_done done,
                       void *user);
void memory_regions(kw_store_handle *handle, kw_bytes name, kw_deadline deadline, kw_regions_done done,
                    void *user);
void memory_free_table(gpointer data);
