/* Determines the split keys of a new store table: from the request, otherwise from the policy. Pure, except
 * for kw_splits_read_file, which blocks. */
#pragma once

#include "verb/verb.h"

typedef struct kw_split_keys {
    const kw_bytes *keys; /* sorted, without duplicates or empty keys */
    size_t count;
} kw_split_keys;

/* `text`: content of the policy's split file, if it names one. The error names the table, path and
 * problem. */
bool kw_splits_for_placement(kw_call *call, const kw_create_request *request, const kw_placement *placement,
                             kw_bytes text, kw_split_keys *ret_splits, kw_error *ret_error);

/* The file whose content kw_splits_for_placement needs; NULL: none. Relative names refer to the policy file's
 * directory. The caller frees it with g_free. */
char *kw_splits_file(const kw_call *call, const kw_create_request *request, const kw_placement *placement);

/* For worker threads. NULL with ret_error INVALID on failure; the caller frees the result with g_free. */
char *kw_splits_read_file(const char *file, size_t *ret_size, kw_error *ret_error);
