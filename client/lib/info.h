/* Inside libkeyway: what the gateway tells about tables, keys and plans, as plain structs. */
#pragma once

#include "keyway.h"

#include "keyway_keyway_types.h"

kw_table_info *kw_table_info_from_thrift(const KeywayTableInfo *thrift);
kw_explanation *kw_explanation_from_thrift(const KeywayExplanation *thrift);
kw_policy_info *kw_policy_info_from_thrift(const KeywayPolicyInfo *thrift);

/* Of kw_table_info. */
GPtrArray *kw_table_infos_from_thrift(const GPtrArray *thrift);

/* A new array of make(item) for each item; NULL counts as empty. */
GPtrArray *kw_map_array(const GPtrArray *from, gpointer (*make)(gconstpointer item), GDestroyNotify destroy);
/* Of a GByteArray, a GBytes; NULL counts as empty. */
gpointer kw_bytes_item(gconstpointer item);
/* NULL-terminated copies. */
char **kw_texts_from_thrift(const GPtrArray *from);

/* Of kw_problem, of kw_created_table. */
GPtrArray *kw_problems_from_thrift(const GPtrArray *thrift);
GPtrArray *kw_created_tables_from_thrift(const GPtrArray *thrift);
