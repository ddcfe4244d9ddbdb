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
 * bed_settings for these fakes. */
kw_model_hbase fixture_init(fixture *on, size_t fakes, kw_wire_form form);
void fixture_open(fixture *on, const kw_model_hbase *settings);
/* Both, with the settings as they are, until the store is ready. */
void fixture_start(fixture *on, size_t fakes, kw_wire_form form);
void fixture_stop(fixture *on);

/* A script that treats the first `count` calls of a method in one way and lets the others pass. */
typedef struct treat {
    kw_hb_method method;
    uint32_t count;
    fake_answer answer;
    const char *io_message; /* instead: a TIOError */
    bool io_can_retry;
} treat;
void fixture_treat(const fake_call *call, fake_answer *to, void *user);
