/* What a scan leaves to the store: conditions that no row range meets, as a filter in HBase's language, and
 * the columns that need not come.
 *
 *   (caller's filter AND SingleColumnValueFilter (...) ...)     fewer rows      rows are still judged by
 * kw_plan_matches columns, or FirstKeyOnlyFilter () OR QualifierFilter (...)  fewer cells     every row still
 * shows that it exists
 * kw_plan_patterns: of the keys' bytes         fewer rows, without reading them
 *
 * A filter lets through every row that can match, and may let through more. Nothing is added to a caller's
 * filter that counts across rows, since it would count others then; and what a caller's filter is shown is
 * always the whole row.
 */
#pragma once

#include "verb/reader.h"
#include "verb/verb.h"

typedef struct kw_push {
    kw_bytes filter;          /* empty: none */
    kw_prepared *prepared;    /* the same, the owner's; its expressions may still have to be compiled */
    bool narrows;             /* it leaves out cells only */
    const kw_column *columns; /* none: all */
    size_t columns_count;
    bool by_patterns;     /* keys are sifted by the plan's patterns, too */
    const char *notes[2]; /* for explain */
    size_t notes_count;
} kw_push;

/* A filter for these columns, the marker last, and the row's first cell; empty: there are too many columns.
 */
kw_bytes kw_push_first_or(const kw_column *columns, size_t count, kw_arena *arena);

/* A reader of what the request returns and its question needs. */
kw_reader *kw_push_reader(kw_call *call, const kw_scan_request *request, const kw_plan *plan,
                          kw_arena *scratch);

/* INVALID when the caller's filter is malformed. In the call's arena, but for what is prepared. */
bool kw_push_make(kw_call *call, const kw_scan_request *request, const kw_plan *plan, const kw_reader *reader,
                  kw_push *ret_push, kw_error *ret_error);
void kw_push_clear(kw_push *push);
