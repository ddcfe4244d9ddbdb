/* Rows with gone cells as text, for tests of store/order: "d:a=1@10 v:b=2@11 gone=20 gone:d:a=21" are cells
 * with timestamps, and removals up to a timestamp of the record, a family or a column, whose gone cells have
 * the next timestamp. */
#pragma once

#include "contract/fixture.h"

/* That of a table while its key rule changes. Control cells are in family d. */
extern const kw_ordering kw_ordered;

/* Writes the cells and the removals, with their delete markers. */
void kw_put_row(kw_fixture *f, const char *row, const char *text);
/* The stored row: all versions, with gone cells. */
char *kw_stored_text(kw_fixture *f, const char *row);
void kw_expect_stored(kw_fixture *f, const char *row, const char *text);
