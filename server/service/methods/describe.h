/* Internal to service: describes a table of the policy for callers. */
#pragma once

#include "service/exchange.h"

void kw_describe_table(const kw_table *table, kw_arena *arena, kw_api_TableInfo *ret_info);
