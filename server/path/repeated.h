/* Records that a list of puts has more than once. Pure. */
#pragma once

#include "schema/policy.h"

/* A put in a list. */
typedef struct kw_listed_put {
    const kw_record *record;
    size_t index; /* in the list */
} kw_listed_put;

/* Sets follows[i] to true if one of the puts `first` is of the same record as puts[i], and comes before it in
 * the list. The row of a record follows from its fields: no bucket is chosen. */
void kw_puts_find_followers(const kw_table *table, const kw_listed_put *first, size_t first_count,
                            const kw_listed_put *puts, size_t count, kw_arena *arena, bool *follows);
