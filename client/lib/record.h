/* Private to libkeyway: a kw_record is the generated code's Record, a GHashTable of text to KeywayValue,
 * under another type name. So records are sent and received without a copy.
 */
#pragma once

#include "keyway.h"

#include "keyway_keyway_types.h"

static inline GHashTable *
kw_record_table(const kw_record *record)
{
    return (GHashTable *)record;
}

/* Steals the table from a generated object, whose finalizer would clear it for all owners; NULL if no table
 * is there. */
kw_record *kw_record_steal(GHashTable **place);

/* A new reference; exactly one member is set, none for KW_VALUE_NONE. */
KeywayValue *kw_value_to_thrift(kw_value value);
/* Borrows from `value`; NULL becomes KW_VALUE_NONE. */
kw_value kw_value_from_thrift(const KeywayValue *value);
