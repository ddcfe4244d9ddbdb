/* The name of a policy version: its number and its ID. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

/* Number and ID of a version, as in the cell `policy` and in the key of the version's row. */
typedef struct kw_version_name {
    int64_t number; /* 0: none */
    char id[33];    /* 32 hex digits */
} kw_version_name;

/* True for 32 hexadecimal digits. */
bool kw_version_is_id(const char *text);

/* Number 0 for an empty cell. CORRUPT if the cell cannot come from kw_version_print. */
bool kw_version_parse(kw_bytes cell, kw_version_name *ret_name, kw_error *ret_error);
kw_bytes kw_version_print(const kw_version_name *name, kw_arena *arena);
