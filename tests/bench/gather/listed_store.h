/* A store over a sorted list of row keys. Every row has the same three cells of 100 bytes, copied as any
 * store must. Range scans only. One loop. */
#pragma once

#include "store/store.h"

kw_store *listed_store_new(const kw_bytes *keys, size_t count, const char *const *qualifiers);
