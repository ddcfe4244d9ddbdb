/* HBase's RegionSplitter algorithms (org.apache.hadoop.hbase.util.RegionSplitter): HexStringSplit,
 * UniformSplit, DecimalStringSplit. Returns regions - 1 sorted keys in the arena. INVALID for an unknown
 * name (the text lists the known ones), and if regions is not 2 to 65,536. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

bool kw_splits_by_algorithm(const char *algorithm, uint32_t regions, kw_arena *arena, kw_bytes **ret_keys,
                            size_t *ret_count, kw_error *ret_error);

/* HBase's Bytes.toBytesBinary form: text with \xNN escapes -> bytes. INVALID for an invalid escape. */
bool kw_bytes_from_binary_text(const char *text, kw_arena *arena, kw_bytes *ret_bytes, kw_error *ret_error);
/* The reverse (Bytes.toStringBinary): printable ASCII except backslash unchanged, other bytes as \xNN. */
char *kw_bytes_to_binary_text(kw_bytes bytes, kw_arena *arena);
