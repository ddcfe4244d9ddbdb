/* See clean.h. */
#include "hint/clean.h"

#include <glib.h>

#define DAY_S (24 * 60 * 60)

int64_t
kw_hint_lag_ms(kw_write_order order, int64_t max_clock_skew_ms, int64_t window_ms, int64_t late_ms)
{
    if (order == KW_WRITE_ORDER_STORE)
        return max_clock_skew_ms;
    g_assert(late_ms != KW_HINT_NO_TIME);
    return max_clock_skew_ms + window_ms + late_ms;
}

int64_t
kw_hint_grace_ms(const kw_hint_limits *limits)
{
    if (limits->late_ms == KW_HINT_NO_TIME)
        return KW_HINT_NO_TIME;
    return limits->window_ms + limits->late_ms + limits->clock_difference_ms;
}

bool
kw_hint_is_old(int64_t hint_ms, int64_t earliest_ms, const kw_hint_limits *limits)
{
    int64_t grace_ms = kw_hint_grace_ms(limits);
    return grace_ms != KW_HINT_NO_TIME && earliest_ms != KW_HINT_NO_TIME && earliest_ms > hint_ms + grace_ms;
}

bool
kw_hint_can_be_cleaned(const kw_hint_facts *facts, const kw_hint_limits *limits)
{
    if (!kw_hint_is_old(facts->hint_ms, facts->earliest_ms, limits) || facts->has_tuple)
        return false;
    return facts->newest_ms == KW_HINT_NO_TIME ||
           facts->newest_ms < facts->earliest_ms - limits->keep_ms - limits->lag_ms;
}

int64_t
kw_hint_ttl_s(const int64_t *ttls_s, unsigned count, bool keeps_versions)
{
    int64_t longest_s = 0;
    for (unsigned i = 0; i < count; i++) {
        if (ttls_s[i] == 0)
            return 0;
        longest_s = ttls_s[i] > longest_s ? ttls_s[i] : longest_s;
    }
    return keeps_versions || count == 0 ? 0 : longest_s + DAY_S;
}
