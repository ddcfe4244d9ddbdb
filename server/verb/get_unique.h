/* get by the fields of unique paths. The results of kw_verb_get (verb.h) are those of this file, too. */
#pragma once

#include "verb/verb.h"

/* True if one of the keys has all fields in the key of a unique path, and no other field. */
bool kw_unique_keys_any(const kw_table *table, const kw_item *keys, size_t count);

/* The keys have such fields, or the identity. Their number was checked against limits.batch_records. */
void kw_get_unique(kw_call *call, const kw_table *table, const kw_item *keys, size_t count,
                   const kw_pick *picks, size_t picks_count, kw_get_records_done done, void *user);
