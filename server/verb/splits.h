/* Where a new store table is cut into regions: what the request says, else what the policy says. Pure, but
 * for kw_splits_read_file, which blocks. */
#pragma once

#include "verb/verb.h"

typedef struct kw_split_keys {
    const kw_bytes *keys; /* in order, no duplicates, none empty */
    size_t count;
} kw_split_keys;

/* `text`: content of the policy's split file, when it names one. INVALID naming the table, path and what is
 * wrong. */
bool kw_splits_for_path(kw_call *call, const kw_create_request *request, const kw_path *path, kw_bytes text,
                        kw_split_keys *ret_splits, kw_error *ret_error);

/* The file that kw_splits_for_path needs the content of; NULL: none. Relative names are beside the policy
 * file. The caller frees it with g_free. */
char *kw_splits_file(const kw_call *call, const kw_create_request *request, const kw_path *path);

/* Worker threads. NULL after an INVALID; the caller frees it with g_free. */
char *kw_splits_read_file(const char *file, size_t *ret_size, kw_error *ret_error);
