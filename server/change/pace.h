/* How fast rows are copied and compared while callers use the gateway. Pure.
 *
 *   slice, while callers use this or another gateway --> a pause of several times its duration
 *   working window -> p99 of the callers' calls --> much more than in the last rest: longer pauses
 *                                              \-> otherwise: shorter ones
 *   rest: a short window without slices, from time to time, measures the latencies without the work
 */
#pragma once

#include "base/metrics.h"

#include <stdbool.h>

typedef struct kw_change_pace {
    kw_histogram seen;  /* latencies of all calls, when the window began */
    uint64_t window_ns; /* when the window began; 0: none did */
    bool resting;
    unsigned windows;         /* working windows since the last rest */
    uint64_t quiet_us;        /* p99 of the last rest with enough calls; 0: unknown */
    uint64_t pause_ns;        /* between slices */
    bool has_callers;         /* in the last window or the present one */
    bool others_have_callers; /* set before a slice: callers use other gateways */
    unsigned pauses;          /* after a slice, at least this many times its duration */
} kw_change_pace;

/* cores: of the machine, which slices share with callers and often with the store. */
void kw_change_pace_init(kw_change_pace *pace, unsigned cores);

/* True if callers use this or another gateway. */
bool kw_change_pace_has_any_callers(const kw_change_pace *pace);

/* True if callers have used this gateway (for a few calls at least) since the present window began. latency:
 * as below. */
bool kw_change_pace_sees_callers(const kw_change_pace *pace, const kw_histogram *latency);

/* Call it after each slice. slice_ns: the duration of the slice. latency: of all calls of callers since the
 * start of the gateway. Returns when the next slice can start; 0: at once. */
uint64_t kw_change_pace_next(kw_change_pace *pace, const kw_histogram *latency, uint64_t slice_ns,
                             uint64_t now_ns);

/* The same for a change whose operator has set the share of the time that its slices take, in percent. Call
 * it after each slice, in place of kw_change_pace_next: it only measures whether there are callers. */
void kw_change_pace_note(kw_change_pace *pace, const kw_histogram *latency, uint64_t now_ns);
/* How long such a change pauses after a slice. Its slices do not depend on the latencies of callers, but it
 * does not pause without callers. */
uint64_t kw_change_pace_pause_of_share(const kw_change_pace *pace, uint64_t share_percent, uint64_t slice_ns);

/* A guess before anything was measured: the rows per second of a task beside callers, if a slice has `rows`
 * and takes slice_ns. */
uint64_t kw_change_pace_guess(const kw_change_pace *pace, uint64_t rows, uint64_t slice_ns);
