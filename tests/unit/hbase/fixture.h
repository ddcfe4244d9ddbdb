/* A test bed with one or two fakes, in one of the four forms, with the log off. */
#pragma once

#include "bed.h"
#include "support/thrift2_fake.h"

typedef struct fixture {
    thrift2_fake *fakes[2];
    kw_model_server servers[2];
    bed bed;
} fixture;

extern const kw_wire_form fixture_forms[4];

/* Starts the fakes, in a form that the store knows already. fixture_open opens the bed, so that a test can
 * prepare the fakes in between. Returns bed_settings for these fakes. on->bed.tuning has a long
 * connect_timeout, so that no server counts as silent on a stalled machine. */
kw_model_hbase fixture_init(fixture *on, size_t fakes, kw_wire_form form);
void fixture_open(fixture *on, const kw_model_hbase *settings);
/* The same, but without the store's own calls (the heartbeats of the clock and the probe of FuzzyRowFilter),
 * which come at any time: the store handle assumes that another one sends them. */
void fixture_open_quiet(fixture *on, const kw_model_hbase *settings);
/* fixture_init and fixture_open with the default settings. Returns when the store is ready. */
void fixture_start(fixture *on, size_t fakes, kw_wire_form form);
void fixture_stop(fixture *on);

/* A script with one rule: the first `count` calls of a method get this answer. */
typedef struct fixture_rule {
    kw_hb_method method;
    uint32_t count;
    fake_answer answer;
    const char *io_message; /* instead: a TIOError */
    bool io_can_retry;
} fixture_rule;
void fixture_apply_rule(const fake_call *call, fake_answer *to, void *user);

/* Waits until the first fake has received `count` calls of the method. */
void fixture_await_calls(fixture *on, kw_hb_method method, uint32_t count);

/* --- checks of results; each clears the answer ------------------------------------------------ */
void fixture_ok(answer got);
/* Checks that maybe_applied agrees with the outcome. Reads: outcome 0. */
void fixture_failed(answer got, kw_outcome outcome, kw_code code);
void fixture_value(answer got, const char *value);

/* Operations on table t: put f:q = v, and get. */
answer fixture_put(fixture *on, const char *row, int64_t timestamp, int64_t timeout_ms);
answer fixture_get(fixture *on, const char *row, int64_t timeout_ms);
/* An operation that is sent, not answered, and times out: TIMEOUT; the put is UNKNOWN. If a slow machine does
 * not send it in time, it is repeated with a longer timeout. The fake has received it afterwards. */
void fixture_put_times_out(fixture *on, const char *row, int64_t timestamp, int64_t timeout_ms);
void fixture_get_times_out(fixture *on, const char *row, int64_t timeout_ms);

#define FRAMED_COMPACT fixture_forms[3]
#define BUFFERED_BINARY fixture_forms[0]
#define UNSTAMPED KW_TIMESTAMP_NONE
