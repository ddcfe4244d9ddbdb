/* What a scan delegates to the store: conditions that row ranges do not express, as a filter in HBase's
 * language, and the columns that it does not need.
 *
 *   caller's filter AND SingleColumnValueFilter (...)     fewer rows; kw_plan_matches still checks each row
 *   columns, or FirstKeyOnlyFilter OR QualifierFilter     fewer cells; each row still shows that it exists
 *   kw_plan_patterns, on the bytes of the keys            fewer rows, without reading them
 *
 * A filter passes every row that can match, and can pass more. A caller's filter that counts across rows is
 * sent unchanged: after another filter, it would count other rows. A caller's filter always gets whole rows.
 */
#pragma once

#include "path/reader.h"
#include "verb/verb.h"

typedef struct kw_pushdown {
    kw_bytes filter;          /* empty: none */
    kw_prepared *prepared;    /* the same filter, owned by the caller of kw_pushdown_make; possibly not
                                 compiled yet */
    bool filters_cells_only;  /* true if the filter removes only cells, never rows */
    const kw_column *columns; /* none: all columns */
    size_t columns_count;
    bool by_patterns;     /* the store also filters keys by the plan's patterns */
    const char *notes[2]; /* for explain */
    size_t notes_count;
} kw_pushdown;

/* A filter that passes the row's first cell and these columns without the last one, which is the marker;
 * empty if there are no columns or too many. */
kw_bytes kw_pushdown_first_or(const kw_column *columns, size_t count, kw_arena *arena);

/* Returns a reader of the fields that the request returns and its query needs. For a hint path, it reads rows
 * of the primary path, and also needs the fields of the tuple. */
kw_reader *kw_pushdown_reader(kw_call *call, const kw_scan_request *request, const kw_plan *plan,
                              kw_arena *scratch);

/* INVALID if the caller's filter is malformed, is for a hint path, or removes values that the query needs.
 * Allocates in the call's arena, except for the prepared filter, which *ret_push owns as soon as it exists:
 * an allocation after that can leave a guard. If the filter removes values, the reader omits these fields. */
bool kw_pushdown_make(kw_call *call, const kw_scan_request *request, const kw_plan *plan, kw_reader *reader,
                      kw_pushdown *ret_push, kw_error *ret_error);
void kw_pushdown_clear(kw_pushdown *push);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(kw_pushdown, kw_pushdown_clear)
