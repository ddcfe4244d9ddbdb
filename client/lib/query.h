/* Private to libkeyway: a kw_query is the generated code's Query under another type name. */
#pragma once

#include "keyway.h"

#include "keyway_keyway_types.h"

static inline KeywayQuery *
kw_query_thrift(const kw_query *query)
{
    return (KeywayQuery *)query;
}
