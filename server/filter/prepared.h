/* A filter that is parsed once, compiled once, and then applied by any number of reads, on any thread.
 *
 *   text --kw_prepared_new--> tree --kw_prepared_compile--> expressions          kw_filter_machine_prepared
 *          any thread, quick        a worker, when there are any; once           one machine for each read
 *
 * Immutable after that; counted.
 */
#pragma once

#include "filter/filter.h"

typedef struct kw_prepared kw_prepared;

/* NULL: INVALID or LIMIT, as from kw_filter_parse. */
kw_prepared *kw_prepared_new(kw_bytes text, kw_error *ret_error);
kw_prepared *kw_prepared_ref(kw_prepared *prepared);
/* NULL is fine. */
void kw_prepared_unref(kw_prepared *prepared);

kw_bytes kw_prepared_text(const kw_prepared *prepared);
const kw_filter *kw_prepared_tree(const kw_prepared *prepared);

/* Does it have regular expressions that are not compiled yet? */
bool kw_prepared_needs_compiling(const kw_prepared *prepared);
/* INVALID for an expression that is wrong in Java, too; one that PCRE2 does not take is
 * an error only for machines. Before other threads have the filter. */
bool kw_prepared_compile(kw_prepared *prepared, kw_error *ret_error);

/* May applying it to a row take long, for the row's size? Regular expressions, substrings, many filters. */
bool kw_prepared_is_slow(const kw_prepared *prepared);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_prepared, kw_prepared_unref)
