/* Which numbers and ids that the gateway makes tell the records of a key apart. Inside of the module.
 *
 * A caller's own values name a record: two puts with the same ones are one record. Values that the gateway
 * makes are there so that every put is a record of its own, and they keep that promise only while the key
 * does not lose what makes them different:
 *
 *   uuid, objectid, snowflake, a sequence      different for ever
 *   a sequence per minute (say)                different within the minute, which the key must tell
 *   a sequence that wraps                      different for a while: the key must hold a time, and no number
 * may come twice in what the key sees as one time
 */
#pragma once

#include "rule/compile.h"

typedef enum kw_unique {
    KW_UNIQUE_NOT,         /* not made by the gateway, or not in the key */
    KW_UNIQUE_ALWAYS,      /* no two records of the key have the same value */
    KW_UNIQUE_A_WHILE,     /* it comes again when a range of numbers is used up */
    KW_UNIQUE_LOST_PERIOD, /* it comes again with each period, which the key does not tell */
    KW_UNIQUE_LOST_RANGE   /* it comes again when a range of numbers is used up, whatever the key's time is */
} kw_unique;

/* 1992-01-01 in UTC seconds. Rules are refused for what clocks did from then on; a record of an earlier time
 * that its key cannot tell from another is refused by itself. */
#define KW_CLOCKS_FROM INT64_C(694224000)

/* Of a field in a key. ever: at all times; else from KW_CLOCKS_FROM on. The arena is for time zones. */
kw_unique kw_unique_of(const kw_layout *layout, size_t field, bool ever, kw_arena *arena);

/* The zone of a sequence's periods. */
const char *kw_unique_zone(const kw_model_generate *how);

/* Does some value that the gateway makes tell any two records of this key apart? */
bool kw_unique_any(const kw_layout *layout, bool ever, kw_arena *arena);
