/* Private to libkeyway: tables, keys and plans from the gateway as plain structs. */
#pragma once

#include "keyway.h"

#include "keyway_keyway_types.h"

kw_table_info *kw_table_info_from_thrift(const KeywayTableInfo *thrift);
kw_explanation *kw_explanation_from_thrift(const KeywayExplanation *thrift);
kw_policy_info *kw_policy_info_from_thrift(const KeywayPolicyInfo *thrift);

/* Returns an array of kw_key_piece. */
GPtrArray *kw_key_pieces_from_thrift(const GPtrArray *thrift);

/* Returns an array of kw_table_info. */
GPtrArray *kw_table_infos_from_thrift(const GPtrArray *thrift);

/* A new array of copy(item) for each item; NULL counts as empty. */
GPtrArray *kw_map_array(const GPtrArray *from, gpointer (*copy)(gconstpointer item), GDestroyNotify destroy);
/* Converts a GByteArray to a GBytes; NULL counts as empty. */
gpointer kw_bytes_item(gconstpointer item);
/* The reverse. */
GByteArray *kw_bytes_to_thrift(GBytes *bytes);
/* Returns a NULL-terminated array of copies of the texts. */
char **kw_texts_from_thrift(const GPtrArray *from);

/* Return arrays of kw_problem and of kw_created_table. */
GPtrArray *kw_problems_from_thrift(const GPtrArray *thrift);
GPtrArray *kw_created_tables_from_thrift(const GPtrArray *thrift);
