/* A store in memory for tests: sorted rows, completions through the loop; faults and random order on request.
 *
 * Keeps one version of a cell and no delete markers. Charges rows to the caller's account. One loop. The
 * control reports what happened.
 */
#pragma once

#include "store/store.h"

typedef struct kw_memory_control {
    /* set by the test */
    uint64_t fail_at;  /* the n-th operation from the start fails; 0: none */
    kw_code fail_code; /* UNAVAILABLE when KW_OK */
    bool fail_applied; /* a failing write is applied, its outcome is UNKNOWN */
    bool never_answer; /* operations complete only when the store handle closes */
    const kw_store_handle
        *stalled;      /* operations of this store handle complete only after this member was changed */
    bool shuffle;      /* completions arrive in random order */
    bool late_end;     /* a range scan reports its end only in a fetch without rows */
    bool wide_fetches; /* a fetch returns max_rows rows, however large they are */
    void (*before_gets)(void *user); /* called before each get and multi-get */
    void *before_gets_user;
    bool time_unknown;   /* of the store */
    bool time_on_demand; /* kw_store_keep_time_known ends `time_unknown` */
    bool offset_known;   /* of the store's clock */
    int64_t offset_ms;
    bool omits_large_rows; /* gets omit rows larger than max_bytes, as other stores do */
    /* counted by the store */
    uint64_t operations; /* reads, fetches, writes (a multi-call is one), tables */
    uint64_t fetches;
    uint64_t rows_read;       /* by fetches */
    uint64_t rows_given;      /* ... that the filter kept */
    uint64_t bytes_read;      /* of these rows */
    uint64_t most_bytes_read; /* by one fetch */
    uint64_t rows_got;        /* by gets, including missing rows */
    uint64_t most_rows_got;   /* by one multi-get */
    uint64_t cells_got;       /* in these rows */
    uint64_t most_in_flight;
    uint64_t most_fetches_in_flight;
    uint64_t most_gets_in_flight; /* a multi-get counts as one */
    uint64_t regions_asked;
    kw_deadline regions_deadline; /* of the last request for regions */
    uint64_t runs_open;
    uint64_t tables_made;
    kw_write last_write; /* of the last single or multi-write; slices are copies */
    int64_t last_split_keys;
} kw_memory_control;

kw_store *kw_memory_store_open(void);
/* From now on the store is one that other processes also use (kw_store_is_shared), and its time is known. */
void kw_memory_store_share(kw_store *store);
kw_memory_control *kw_memory_store_control(kw_store *store);

/* Writes a cell directly, without a loop. */
void kw_memory_store_set(kw_store *store, const char *table, kw_bytes row, const char *family,
                         const char *qualifier, kw_bytes value, int64_t timestamp);
/* data is NULL if the cell does not exist. */
kw_bytes kw_memory_store_cell(kw_store *store, const char *table, kw_bytes row, const char *family,
                              const char *qualifier);
size_t kw_memory_store_rows(kw_store *store, const char *table);
/* The index-th row key of the table, in order. */
kw_bytes kw_memory_store_key(kw_store *store, const char *table, size_t index);
