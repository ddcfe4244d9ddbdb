/* A bed over one or two fakes, in one of the four forms, with the log off. */
#pragma once

#include "bed.h"
#include "support/thrift2_fake.h"

typedef struct fixture {
    thrift2_fake *fakes[2];
    kw_model_server servers[2];
    bed bed;
} fixture;

extern const kw_wire_form fixture_forms[4];

/* Starts the fakes; the bed is opened by fixture_open, so that a test can prepare them. settings are
 * bed_settings for these fakes, with so much patience that no server is taken for silent where the machine
 * stands still. */
kw_model_hbase fixture_init(fixture *on, size_t fakes, kw_wire_form form);
void fixture_open(fixture *on, const kw_model_hbase *settings);
/* The same without the store's own calls, the heartbeat of the clock and the probe of the filters behind it,
 * which come when they like: the store handle takes it that another one does that. */
void fixture_open_quiet(fixture *on, const kw_model_hbase *settings);
/* Both, with the settings as they are, until the store is ready. */
void fixture_start(fixture *on, size_t fakes, kw_wire_form form);
void fixture_stop(fixture *on);

/* A script that treats the first `count` calls of a method in one way and lets the others pass. */
typedef struct fixture_rule {
    kw_hb_method method;
    uint32_t count;
    fake_answer answer;
    const char *io_message; /* instead: a TIOError */
    bool io_can_retry;
} fixture_rule;
void fixture_apply_rule(const fake_call *call, fake_answer *to, void *user);

/* Turns until the first fake has been asked by that method `count` times. */
void fixture_await_calls(fixture *on, kw_hb_method method, uint32_t count);

/* --- what a call must come back with; each clears the answer ------------------------------------ */
void fixture_ok(answer got);
/* And maybe_applied says the same as the outcome. Reads: outcome 0. */
void fixture_failed(answer got, kw_outcome outcome, kw_code code);
void fixture_value(answer got, const char *value);

/* Of table t: put f:q = v, and get. */
answer fixture_put(fixture *on, const char *row, int64_t timestamp, int64_t timeout_ms);
answer fixture_get(fixture *on, const char *row, int64_t timeout_ms);
/* One that nobody answers and whose deadline passes when it has left: TIMEOUT, and the put is UNKNOWN. On a
 * slow machine the first may not leave in time, then another has more. The fake has seen it then. */
void fixture_put_times_out(fixture *on, const char *row, int64_t timestamp, int64_t timeout_ms);
void fixture_get_times_out(fixture *on, const char *row, int64_t timeout_ms);

#define FRAMED_COMPACT fixture_forms[3]
#define BUFFERED_BINARY fixture_forms[0]
#define UNSTAMPED KW_TIMESTAMP_NONE
