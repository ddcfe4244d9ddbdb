/* Which cells of each row a read wants: the asked columns, versions and times, resolved against a
 * table. Made once per read, then read only; holds a reference of the table. */
#pragma once

#include "filter/prepared.h"
#include "store/embedded/tables.h"

typedef struct kw_selected_family {
    bool wanted;
    bool whole;
    size_t first, count;    /* of `qualifiers`, unless whole */
    int64_t expired_before; /* cells with a smaller timestamp are past the TTL; INT64_MIN: never */
} kw_selected_family;

typedef struct kw_selection {
    kw_stored_table *table;
    kw_selected_family *families; /* one per family of the table */
    kw_bytes *qualifiers;         /* escaped, sorted within a family, without duplicates */
    kw_buffer bytes;              /* what qualifiers point into */
    int32_t versions;
    int64_t time_from;
    int64_t time_to; /* exclusive; INT64_MAX: all */
    bool filtered;   /* all versions that the family keeps go to the filter, which counts them anew */
    bool first_only; /* the filter wants each row's first cell, and no other has to be read */
} kw_selection;

typedef struct kw_asked {
    kw_bytes table;
    const kw_column *columns; /* none: all */
    size_t columns_count;
    int32_t max_versions;
    int64_t time_from, time_to;
    kw_bytes filter;
    kw_prepared *prepared; /* of the filter, if there is one */
} kw_asked;

/* NOT_FOUND without the table, INVALID for an unknown family. The filter itself is the reader's. */
bool kw_selection_init(kw_selection *selection, kw_embedded_tables *catalog, const kw_asked *asked,
                       kw_error *ret_error);
/* The same on a table that the caller has found. */
bool kw_selection_init_on(kw_selection *selection, kw_stored_table *table, const kw_asked *asked,
                          kw_error *ret_error);
void kw_selection_clear(kw_selection *selection); /* a zeroed one is fine */

/* Moves the TTL's edge to the present. */
void kw_selection_refresh(kw_selection *selection);

/* Says that the table has no such family; returns false. */
bool kw_unknown_family(const kw_stored_table *table, kw_bytes family, kw_error *ret_error);
bool kw_unknown_table(kw_bytes table, kw_error *ret_error);
