/* An embedded store in a temporary folder, with one store handle, for tests that execute one operation at a
 * time. */
#pragma once

#include "contract/sync.h"
#include "store/embedded/embedded.h"

typedef struct embedded_fixture {
    char *folder;
    kw_store *store;
    kw_sync sync;
} embedded_fixture;

void embedded_fixture_init(embedded_fixture *fixture);
/* Closes the store and opens it again, as a restart does. */
void embedded_fixture_reopen(embedded_fixture *fixture);
void embedded_fixture_clear(embedded_fixture *fixture);

/* Creates a temporary folder. Remove it with temporary_folder_remove. */
char *temporary_folder_new(void);
void temporary_folder_remove(const char *folder);

kw_store *embedded_fixture_open_store(const char *folder, kw_error *ret_error);

/* A family with default options. */
kw_family_spec default_family(const char *name);
void embedded_fixture_create_table(embedded_fixture *fixture, const char *table,
                                   const kw_family_spec *families, size_t count);

/* Puts one cell; deletes a row; compares all cells of a row with a text as kw_row_text writes it. */
void embedded_fixture_put(embedded_fixture *fixture, const char *table, const char *row, const char *family,
                          const char *qualifier, const char *value, int64_t timestamp);
void embedded_fixture_delete_row(embedded_fixture *fixture, const char *table, const char *row,
                                 int64_t timestamp);
void embedded_fixture_expect_row(embedded_fixture *fixture, const char *table, const char *row,
                                 const char *text);
