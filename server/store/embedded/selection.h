/* The cells that a read requests of each row: columns, versions and times, resolved against a table. It is
 * created once per read, does not change (except for kw_selection_refresh), and holds a reference to the
 * table. */
#pragma once

#include "filter/prepared.h"
#include "store/embedded/tables.h"

typedef struct kw_selected_family {
    bool wanted;
    bool whole;
    size_t first, count;    /* range in `qualifiers`, unless whole */
    int64_t expired_before; /* cells with a smaller timestamp exceed the TTL; INT64_MIN: there is no TTL */
} kw_selected_family;

typedef struct kw_selection {
    kw_stored_table *table;
    kw_selected_family *families; /* one per family of the table */
    kw_bytes *qualifiers;         /* escaped, sorted within a family, without duplicates */
    kw_buffer bytes;              /* the memory of the qualifiers */
    int32_t versions;
    int64_t time_from;
    int64_t time_to; /* exclusive; INT64_MAX: all */
    bool filtered;   /* the filter gets all stored versions and counts them itself */
    bool first_only; /* the filter keeps only the first cell of each row, so no other has to be read */
} kw_selection;

typedef struct kw_read_request {
    kw_bytes table;
    const kw_column *columns; /* none: all */
    size_t columns_count;
    int32_t max_versions;
    int64_t time_from, time_to;
    kw_bytes filter;
    kw_prepared *prepared; /* the compiled filter; NULL: it is not compiled yet */
} kw_read_request;

/* NOT_FOUND if the table does not exist, INVALID for an unknown family. Does not check the filter. */
bool kw_selection_init(kw_selection *selection, kw_embedded_tables *tables, const kw_read_request *request,
                       kw_error *ret_error);
/* As above, for a table that the caller has looked up. */
bool kw_selection_init_on(kw_selection *selection, kw_stored_table *table, const kw_read_request *request,
                          kw_error *ret_error);
void kw_selection_clear(kw_selection *selection); /* a zeroed selection is allowed */

/* Computes expired_before for the current time. */
void kw_selection_refresh(kw_selection *selection);

/* Set the error for an unknown family or table, and return false. */
bool kw_unknown_family(const kw_stored_table *table, kw_bytes family, kw_error *ret_error);
bool kw_unknown_table(kw_bytes table, kw_error *ret_error);
