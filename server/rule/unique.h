/* Determines which generated numbers and ids make the keys of records unique. Private to this module.
 *
 * Values set by a caller identify a record: two puts with the same values write one record. Generated values
 * exist to make every put a record of its own. They do so only if the key preserves the parts in which they
 * differ:
 *
 *   uuid, objectid, snowflake, a sequence      always different
 *   a sequence per period, e.g. per minute     different within the period, which the key must contain
 *   a sequence that wraps                      different for some time: the key must contain a time, and no
 *                                              number may occur twice within what the key stores as one time
 */
#pragma once

#include "rule/compile.h"

typedef enum kw_unique {
    KW_UNIQUE_NOT,         /* not generated, generated from the time (now), or not in the key */
    KW_UNIQUE_ALWAYS,      /* no two records of the key have the same value */
    KW_UNIQUE_A_WHILE,     /* values repeat when a range of numbers is used up */
    KW_UNIQUE_LOST_PERIOD, /* values repeat with each period, which the key does not contain */
    KW_UNIQUE_LOST_RANGE   /* values repeat when a range of numbers is used up, and the key's time does not
                              distinguish them */
} kw_unique;

/* 1992-01-01 in UTC seconds. Rules are rejected because of clock changes after this time; for earlier times,
 * single records whose key is ambiguous are rejected. */
#define KW_CLOCKS_FROM INT64_C(694224000)

/* For a field in a key. ever: considers all times; otherwise those from KW_CLOCKS_FROM on. The arena is for
 * time zones. */
kw_unique kw_unique_of(const kw_layout *layout, size_t field, bool ever, kw_arena *arena);

/* The zone of a sequence's periods. */
const char *kw_unique_zone(const kw_model_generate *how);

/* True if some generated value distinguishes any two records of this key. */
bool kw_unique_any(const kw_layout *layout, bool ever, kw_arena *arena);
