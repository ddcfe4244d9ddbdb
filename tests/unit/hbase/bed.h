/* A test bed: one HBase store, one store handle, one loop on the test's own thread. Each function starts an
 * operation and runs the loop until it is done, so that tests read from top to bottom. A test fails if an
 * operation takes longer than three minutes. */
#pragma once

#include "store/hbase/hbase.h"

typedef struct bed {
    kw_hbase_tuning tuning; /* set before bed_open */
    uint8_t form;           /* the same: the form that is tried first (store/hbase/link/forms.h) */
    kw_loop *loop;
    kw_store *store;
    kw_store_handle *handle;
} bed;

/* The result of an operation. answer_clear frees the rows. */
typedef struct answer {
    bool done;
    kw_outcome outcome;
    bool flag; /* applied, created */
    kw_rows *rows;
    kw_table_facts *facts;
    kw_regions *regions;
    kw_error error; /* code KW_OK: no error */
} answer;

void answer_clear(answer *got);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(answer, answer_clear)

/* Defaults for tests: short times. */
extern const kw_hbase_tuning bed_tuning;
/* Two channels. */
kw_model_hbase bed_settings(const kw_model_server *servers, size_t count);

void bed_open(bed *in, const kw_model_hbase *settings);
void bed_close(bed *in);

/* Run the loop until *done, or for a number of iterations that takes at least ms. The number of iterations
 * counts, so that a loop on a stalled machine still handles everything that has arrived. */
void bed_await(bed *in, const bool *done);
void bed_run_loop(bed *in, int64_t ms);
/* Runs the loop until the condition holds. */
#define BED_UNTIL(in, condition)                                                                             \
    do {                                                                                                     \
        for (int rounds = 0; rounds < 6000 && !(condition); rounds++)                                        \
            bed_run_loop((in), 10);                                                                          \
        g_assert_true(condition);                                                                            \
    } while (0)
/* Runs the loop until the store is ready. */
void bed_await_ready(bed *in);

/* --- completions, for tests that start several at once; user is an answer --------------------- */
void bed_on_write(void *user, kw_outcome outcome, const kw_error *error);
void bed_on_write_if(void *user, kw_outcome outcome, bool applied, const kw_error *error);
void bed_on_rows(void *user, kw_rows *rows, const kw_error *error);
void bed_on_simple(void *user, const kw_error *error);
void bed_on_done(void *user);

/* --- whole operations ------------------------------------------------------------------------- */
/* timestamp KW_TIMESTAMP_NONE: unstamped; timeout_ms 0: no deadline. */
answer bed_put(bed *in, const char *table, const char *row, const char *family, const char *qualifier,
               const char *value, int64_t timestamp, int64_t timeout_ms);
answer bed_write(bed *in, const kw_write *write);
answer bed_write_if(bed *in, const kw_write *write, const kw_check *check);
answer bed_increment(bed *in, const char *table, const char *row, const char *qualifier, int64_t amount);
answer bed_get(bed *in, const char *table, const char *row, int64_t timeout_ms);
answer bed_get_full(bed *in, const kw_get *get);
answer bed_fetch(bed *in, kw_range_scan *scan, uint32_t max_rows, size_t max_bytes, bool more_hint,
                 int64_t timeout_ms);
answer bed_create(bed *in, const char *table, const char *family, const char *const *splits,
                  size_t splits_count);
answer bed_drop(bed *in, const char *table);
/* Bypasses the store handle, as an operator's tool does. */
void bed_disable(bed *in, const char *table);
answer bed_describe(bed *in, const char *table);
answer bed_regions(bed *in, const char *table);

/* One put of family f, for write_many. `to` must outlive the write. */
typedef struct bed_cell_write {
    kw_write write;
    kw_cell cell;
} bed_cell_write;
void bed_cell_write_init(bed_cell_write *to, const char *table, const char *row, const char *family,
                         const char *value, int64_t timestamp);
