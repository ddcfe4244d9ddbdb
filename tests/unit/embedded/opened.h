/* An embedded store in a folder of its own, with one store handle in step with the test. */
#pragma once

#include "contract/sync.h"
#include "store/embedded/embedded.h"

typedef struct kw_opened {
    char *folder;
    kw_store *store;
    kw_sync sync;
} kw_opened;

void kw_opened_init(kw_opened *opened);
/* The same folder again, as after a restart. */
void kw_opened_reopen(kw_opened *opened);
void kw_opened_clear(kw_opened *opened);

/* A temporary folder; removed with kw_folder_remove. */
char *kw_folder_make(void);
void kw_folder_remove(const char *folder);

kw_store *kw_opened_store(const char *folder, kw_error *ret_error);

/* A plain family; set what is to be different. */
kw_family_spec kw_plain_family(const char *name);
void kw_opened_create(kw_opened *opened, const char *table, const kw_family_spec *families, size_t count);

/* One cell put; timestamps and the rest as in the contract's fixture. */
void kw_opened_put(kw_opened *opened, const char *table, const char *row, const char *family,
                   const char *qualifier, const char *value, int64_t timestamp);
void kw_opened_remove_row(kw_opened *opened, const char *table, const char *row, int64_t timestamp);
void kw_opened_expect(kw_opened *opened, const char *table, const char *row, const char *text);
