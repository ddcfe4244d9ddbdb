/* A filter that is parsed once, compiled once, and then used by any number of reads on any thread.
 *
 *   text --> kw_prepared_new             parses; fast, on any thread
 *        --> kw_prepared_compile         compiles the expressions, if there are any, on a worker
 *        --> kw_filter_machine_prepared  one machine for each read
 *
 * Immutable after compilation; reference counted.
 */
#pragma once

#include "filter/filter.h"

typedef struct kw_prepared kw_prepared;

/* NULL with INVALID or LIMIT, like kw_filter_parse. */
kw_prepared *kw_prepared_new(kw_bytes text, kw_error *ret_error);
kw_prepared *kw_prepared_ref(kw_prepared *prepared);
/* NULL is allowed. */
void kw_prepared_unref(kw_prepared *prepared);

kw_bytes kw_prepared_text(const kw_prepared *prepared);
const kw_filter *kw_prepared_tree(const kw_prepared *prepared);

/* True if it has regular expressions that are not compiled yet. */
bool kw_prepared_needs_compiling(const kw_prepared *prepared);
/* Compiles the expressions. INVALID for one that is wrong in Java, too; one that only PCRE2 rejects is
 * reported when a machine uses it. Call this before other threads use the filter. */
bool kw_prepared_compile(kw_prepared *prepared, kw_error *ret_error);

/* True if applying the filter to a row can be slow for the row's size: regular expressions, substrings, many
 * filters. */
bool kw_prepared_is_slow(const kw_prepared *prepared);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_prepared, kw_prepared_unref)
