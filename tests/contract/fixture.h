/* What the contract's tests share: a store with its store handle, one table of many families, and rows as
 * text.
 *
 *   d  defaults (one version)        v  three versions         k  five versions, keeps deleted cells
 *   t  a TTL of 60 s                 m  the same, two versions, at least one kept
 *
 * A row reads "d:a@5=x v:q@3=y": family, qualifier, timestamp, value, in order; no cells reads "". Rows of
 * a run read "row1{...} row2{...}". Bytes that are not printable read \xNN.
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

/* The name with the run's prefix; it is dropped at the end. */
kw_bytes kw_fixture_table(const char *name);

#define B(text) kw_bytes_of_text(text)

/* Writes that must succeed. */
void kw_put(kw_fixture *fixture, const char *row, const char *column, const char *value, int64_t timestamp);
/* column "f:q", "f" for the family, NULL for the row. */
void kw_remove(kw_fixture *fixture, const char *row, const char *column, int64_t timestamp);

/* A get of the fixture's table, with columns out of text: "d:a", "v"; at most four; NULL ends. */
typedef struct kw_asking {
    kw_get get;
    kw_column columns[4];
} kw_asking;
kw_asking *kw_ask(kw_asking *asking, const kw_fixture *fixture, const char *row, const char *const *columns);

/* The row as text, to be freed. */
char *kw_row_text(const kw_row *row);
char *kw_rows_text(const kw_rows *rows);

/* Reads the whole row (one version), or as asked, and compares. */
void kw_expect_row(kw_fixture *fixture, const char *row, const char *text);
void kw_expect(kw_fixture *fixture, const kw_get *get, const char *text);

/* Reads the run to its end, `page` rows a fetch, and compares. The spec's table is filled in. */
void kw_expect_run(kw_fixture *fixture, kw_range_scan_spec spec, uint32_t page, const char *text);

/* The error has this code and its text names `names`. */
void kw_expect_error(const kw_error *error, kw_code code, const char *names);

/* The groups. */
void kw_contract_add_points(void);
void kw_contract_add_versions(void);
void kw_contract_add_deletes(void);
void kw_contract_add_conditions(void);
void kw_contract_add_runs(void);
void kw_contract_add_patterns(void);
void kw_contract_add_tables(void);
void kw_contract_add_refusals(void);
void kw_contract_add_concurrent(void);
