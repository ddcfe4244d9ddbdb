/* A simulated Thrift2 server that can inject failures, in threads of the test's own process.
 *
 * It stores rows of one cell each in one table (any name), answers puts, deletes, gets and scans like HBase's
 * Thrift2, numbers its scanners, and counts all calls. A script sees every call first and can change the
 * answer: late, never, truncated, out of step, an exception, or a closed connection. Heartbeats of the
 * store's clock are answered without the script.
 *
 * Listens on 127.0.0.1. All functions can be called on any thread. Scripts run on the threads of the
 * connections, one at a time.
 */
#pragma once

#include "thrift/hbase2_wire.h"

#include <openssl/ssl.h>

typedef struct thrift2_fake thrift2_fake;

typedef struct fake_call {
    kw_hb_method method;
    const void *args;    /* kw_hb_THBaseService_<method>_args */
    uint32_t nth;        /* counts the calls of this method from 1, without heartbeats and pings */
    uint32_t connection; /* its number, from 1 */
    kw_arena *arena;     /* valid until the answer is sent */
} fake_call;

typedef enum fake_kind {
    FAKE_RESULT = 0, /* `result` */
    FAKE_EXCEPTION,  /* a TApplicationException */
    FAKE_SILENCE,    /* no answer; the connection stays open */
    FAKE_CLOSE       /* close the connection */
} fake_kind;

typedef struct fake_answer {
    fake_kind kind;
    const void *result; /* NULL: computed from the rows */
    kw_wire_exception_type exception;
    const char *text;
    int delay_ms;           /* before the answer is sent */
    int gate;               /* the answer waits until thrift2_fake_open_gates opens this gate; 0: no gate */
    bool do_nothing;        /* do not change the rows; `result` must be set, or kind must not be RESULT */
    int32_t sequence_shift; /* added to the sequence id */
    const char *name;       /* NULL, or the name of another method */
    size_t cut;             /* if set, only this many bytes are sent, then the connection is closed */
    bool twice;             /* send the answer twice */
    uint32_t frame_bytes;   /* framed: sent instead of the real length */
} fake_answer;

/* Changes *answer, which is zeroed. */
typedef void (*fake_script)(const fake_call *call, fake_answer *answer, void *user);

/* port 0: any free port. tls can be NULL. */
thrift2_fake *thrift2_fake_start(kw_wire_form form, uint16_t port, SSL_CTX *tls);
uint16_t thrift2_fake_port(const thrift2_fake *fake);
void thrift2_fake_stop(thrift2_fake *fake);

void thrift2_fake_set_script(thrift2_fake *fake, fake_script script, void *user);

/* Opens the gates with numbers up to `gate` and closes those above. At first all are closed; stopping opens
 * all. With gates, a test controls when a call is answered without time limits. */
void thrift2_fake_open_gates(thrift2_fake *fake, int gate);
/* If set, connections are accepted but nothing is read from them, like a server at its thread limit. */
void thrift2_fake_set_no_reads(thrift2_fake *fake, bool deaf);
/* If set, no call and no ping is answered, like a stopped process. */
void thrift2_fake_set_no_replies(thrift2_fake *fake, bool mute);
/* Forgets all scanners, as after 60 s without use; connections stay open. */
void thrift2_fake_expire_scanners(thrift2_fake *fake);
/* Closes every connection. */
void thrift2_fake_close_connections(thrift2_fake *fake);
/* Simulates a restart of the process: connections are closed, scanners forgotten, and ids start at 0. */
void thrift2_fake_restart(thrift2_fake *fake);
/* Rejects connections until thrift2_fake_listen is called. The port stays reserved. */
void thrift2_fake_stop_listening(thrift2_fake *fake);
void thrift2_fake_listen(thrift2_fake *fake);

/* Counts. Heartbeats and pings are not calls. */
uint32_t thrift2_fake_calls(thrift2_fake *fake, kw_hb_method method);
/* The rows in the calls of the method: a putMultiple of 10 counts 10. items / calls is the average size of a
 * batch. */
uint32_t thrift2_fake_items(thrift2_fake *fake, kw_hb_method method);
/* Calls of all methods. */
uint32_t thrift2_fake_all_calls(thrift2_fake *fake);
/* Sets the counts of calls and items, and so fake_call.nth, to 0. */
void thrift2_fake_reset_calls(thrift2_fake *fake);
uint32_t thrift2_fake_connections(thrift2_fake *fake);      /* accepted so far */
uint32_t thrift2_fake_open_connections(thrift2_fake *fake); /* open now */
uint32_t thrift2_fake_scanners(thrift2_fake *fake);         /* open now */
uint32_t thrift2_fake_pings(thrift2_fake *fake);

/* The rows. */
void thrift2_fake_set_row(thrift2_fake *fake, const char *key, const char *value);
/* How often the row was written. */
uint32_t thrift2_fake_writes(thrift2_fake *fake, const char *key);
/* Sets the region boundaries of every table (none: one region). They do not affect the rows, so they can be
 * wrong. */
void thrift2_fake_set_boundaries(thrift2_fake *fake, const char *const *keys, size_t count);
/* The same for keys that are not text. */
void thrift2_fake_set_boundary_bytes(thrift2_fake *fake, const kw_bytes *keys, size_t count);
/* Sets the difference between the fake's clock and ours. */
void thrift2_fake_set_clock(thrift2_fake *fake, int64_t offset_ms);

/* Until thrift2_fake_tell_true_times, the replies to heartbeats report this timestamp, or the true one plus a
 * difference. The timestamps of the rows stay true. */
void thrift2_fake_report_time(thrift2_fake *fake, int64_t timestamp_ms);
void thrift2_fake_shift_times(thrift2_fake *fake, int64_t by_ms);
void thrift2_fake_tell_true_times(thrift2_fake *fake);

/* For scripts: a TIOError as the result. */
const void *fake_io_error(const fake_call *call, const char *message, bool can_retry);
