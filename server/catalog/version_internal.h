/* Private to this module: the rows of versions; see version.h. */
#pragma once

#include "catalog/catalog_internal.h"

#define KW_VERSION_TEXT KW_BYTES_LITERAL("text")
#define KW_VERSION_AUTHOR KW_BYTES_LITERAL("author")
#define KW_VERSION_REASON KW_BYTES_LITERAL("reason")
#define KW_VERSION_AT KW_BYTES_LITERAL("at")
#define KW_VERSION_PREVIOUS KW_BYTES_LITERAL("previous")

/* Writes the row of the version after `previous`, unless an earlier attempt wrote it. done can be called
 * before this returns; draft and arena must live until then. After an error, the row can exist, but it
 * belongs to no version. */
void kw_catalog_write_version(kw_catalog *catalog, const kw_version_draft *draft,
                              const kw_version_name *previous, kw_arena *arena, kw_deadline deadline,
                              kw_simple_done done, void *user);

/* The key of the version's row. */
kw_bytes kw_version_row(const kw_version_name *name, kw_arena *arena);
/* False if the key cannot come from kw_version_row with a valid name. */
bool kw_version_parse_row(kw_bytes key, kw_arena *arena, kw_version_name *ret_name);

/* Reads the cells; the text is a slice of the row. CORRUPT if the row does not exist. */
bool kw_version_read_row(const kw_row *row, kw_arena *arena, kw_version *version, kw_error *ret_error);
