/* Shared by the tests of the contract: a store with a store handle, one table with many families, and rows as
 * text.
 *
 *   d  defaults (one version)        v  three versions         k  five versions, keeps deleted cells
 *   t  a TTL of an hour              m  the same, two versions, at least one kept
 *
 * A row's text is "d:a@5=x v:q@3=y": family, qualifier, timestamp, value, in order; "" for no cells. The rows
 * of a range scan are "row1{...} row2{...}". Unprintable bytes are \xNN.
 */
#pragma once

#include "contract/sync.h"

typedef struct kw_fixture {
    kw_sync sync;
    kw_bytes table;
} kw_fixture;

typedef void (*kw_contract_test)(kw_fixture *fixture);

/* Adds /PREFIX/group/name. */
void kw_fixture_add(const char *group, const char *name, kw_contract_test test);

/* The name with the prefix of this run. The table is dropped at the end. */
kw_bytes kw_fixture_table(const char *name);
/* Creates a table with some of the families above, such as "dv", and returns its name. It can exist already.
 */
kw_bytes kw_fixture_make_table(kw_fixture *fixture, const char *name, const char *families);

#define B(text) kw_bytes_of_text(text)

/* Writes; they must succeed. */
void kw_put(kw_fixture *fixture, const char *row, const char *column, const char *value, int64_t timestamp);
/* column is "f:q", or "f" for the family, or NULL for the row. */
void kw_remove(kw_fixture *fixture, const char *row, const char *column, int64_t timestamp);

/* A get from the fixture's table. columns: up to four, such as "d:a" or "v", then NULL. */
typedef struct kw_asking {
    kw_get get;
    kw_column columns[4];
} kw_asking;
kw_asking *kw_ask(kw_asking *asking, const kw_fixture *fixture, const char *row, const char *const *columns);

/* The row as text; free it with g_free. */
char *kw_row_text(const kw_row *row);
char *kw_rows_text(const kw_rows *rows);

/* Reads the whole row (one version), or what the get selects, and compares. */
void kw_expect_row(kw_fixture *fixture, const char *row, const char *text);
void kw_expect(kw_fixture *fixture, const kw_get *get, const char *text);

/* Reads the range scan to its end, `page` rows per fetch, and compares. Sets the spec's table. */
void kw_expect_range_scan(kw_fixture *fixture, kw_range_scan_spec spec, uint32_t page, const char *text);

/* Checks that the error has this code and that its text contains `names`. */
void kw_expect_error(const kw_error *error, kw_code code, const char *names);

/* The groups of tests. */
void kw_contract_add_points(void);
void kw_contract_add_versions(void);
void kw_contract_add_deletes(void);
void kw_contract_add_conditions(void);
void kw_contract_add_record_rows(void);
void kw_contract_add_derived(void);
void kw_contract_add_copies(void);
/* Not one of the suite: for store/order over a store. */
void kw_contract_add_ordered_copies(void);
void kw_contract_add_ordered_atomics(void);
void kw_contract_add_ordered_derived(void);
void kw_contract_add_range_scans(void);
void kw_contract_add_patterns(void);
void kw_contract_add_tables(void);
void kw_contract_add_refusals(void);
void kw_contract_add_concurrent(void);
