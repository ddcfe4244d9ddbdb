/* Decides whether a timestamp that a server reports can be the store's time now. One wrong timestamp must not
 * become the store's time: tables with order: stamp would write it, and wait for it.
 *
 *   no clock can have it (before 1970, after the year 2223)       never trusted
 *   within a minute of the last trusted one, or of our own clock  trusted
 *   other                                                         trusted once timestamps like it were reported for
 *                                                                 ten seconds without a break
 *
 * So a clock that is set, or that is always far from ours, is trusted after ten seconds. What a server
 * reports for a shorter time changes nothing. A timestamp that is not trusted is ignored, as if the server
 * had not answered, which is always safe (known_time.h). Pure; not thread safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define KW_PLAUSIBLE_NEAR_MS 60000
#define KW_PLAUSIBLE_AFTER_MS 10000
#define KW_PLAUSIBLE_MAX_MS INT64_C(8000000000000)

/* Times are differences between the store's clock and our monotonic clock. All zero: nothing is trusted yet.
 */
typedef struct kw_plausible {
    bool trusts, doubts;
    int64_t trusted_ms;
    int64_t newest_stamp_ms; /* the greatest timestamp that was trusted */
    int64_t doubted_ms;      /* the last one that was not trusted */
    int64_t doubted_at_ms;   /* when the first one like it was reported, by our monotonic clock */
} kw_plausible;

/* True if a clock can have this timestamp. */
bool kw_plausible_is_time(int64_t stamp_ms);

/* True if the timestamp, which was reported at mono_ms and wall_ms, is trusted. */
bool kw_plausible_judge(kw_plausible *self, int64_t stamp_ms, int64_t mono_ms, int64_t wall_ms);
