/* Inside libkeyway: a kw_record is the generated code's Record, a GHashTable of text to KeywayValue,
 * seen through another type. So a record goes to the wire and comes from it without a copy.
 */
#pragma once

#include "keyway.h"

#include "keyway_keyway_types.h"

static inline GHashTable *
kw_record_table(const kw_record *record)
{
    return (GHashTable *)record;
}

/* Takes the table out of a generated object, whose finalizer would empty it for everybody who holds
 * it; NULL when there is none. */
kw_record *kw_record_take(GHashTable **place);

/* A new reference; exactly one member is set, none for KW_VALUE_NONE. */
KeywayValue *kw_value_to_thrift(kw_value value);
/* Borrows from `value`; NULL is KW_VALUE_NONE. */
kw_value kw_value_from_thrift(const KeywayValue *value);
