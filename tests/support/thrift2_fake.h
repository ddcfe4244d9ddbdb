/* A Thrift2 server that fails on purpose, in threads of the test's own process.
 *
 * It keeps rows of one cell each in one table (any name), answers puts, deletes, gets and scans as
 * HBase's Thrift2 does, numbers its scanners, and counts everything. A script sees every call first and
 * may answer otherwise: late, never, cut off, out of step, with an exception, or by closing the
 * connection. It knows the store's own heartbeat table and answers that by itself.
 *
 * Listens on 127.0.0.1. All functions may be called from any thread; a script runs on a connection's
 * thread, one at a time.
 */
#pragma once

#include "thrift/hbase2_wire.h"

#include <openssl/ssl.h>

typedef struct thrift2_fake thrift2_fake;

typedef struct fake_call {
    kw_hb_method method;
    const void *args;    /* kw_hb_THBaseService_<method>_args */
    uint32_t nth;        /* call of this method, from 1, heartbeats and pings not counted */
    uint32_t connection; /* its number, from 1 */
    kw_arena *arena;     /* lives until the answer was sent */
} fake_call;

typedef enum fake_kind {
    FAKE_RESULT = 0, /* result, encoded as it must be */
    FAKE_EXCEPTION,  /* a TApplicationException */
    FAKE_SILENCE,    /* no answer, the connection stays */
    FAKE_CLOSE       /* the connection is closed */
} fake_kind;

typedef struct fake_answer {
    fake_kind kind;
    const void *result; /* NULL: what the rows say */
    kw_wire_exception_type exception;
    const char *text;
    int delay_ms;    /* before it is sent */
    int gate;        /* it waits until thrift2_fake_open_gates says this number or a higher one; 0: no gate */
    bool do_nothing; /* the rows stay as they are; result must be given, or way not RESULT */
    int32_t sequence_shift; /* added to the sequence id */
    const char *name;       /* of another method */
    size_t cut;             /* only as many bytes are sent, then the connection is closed */
    bool twice;             /* the answer is sent two times */
    uint32_t frame_bytes;   /* framed: this length instead of the real one */
} fake_answer;

/* Fills *answer, which is all zero at first. */
typedef void (*fake_script)(const fake_call *call, fake_answer *answer, void *user);

/* port 0: any free one. tls may be NULL. */
thrift2_fake *thrift2_fake_start(kw_wire_form form, uint16_t port, SSL_CTX *tls);
uint16_t thrift2_fake_port(const thrift2_fake *fake);
void thrift2_fake_stop(thrift2_fake *fake);

void thrift2_fake_set_script(thrift2_fake *fake, fake_script script, void *user);

/* Opens the gates up to this one, closes those above; closed at first. What happens while a call is under way
 * needs no time limit then, on however slow a machine. Stopping opens all. */
void thrift2_fake_open_gates(thrift2_fake *fake, int gate);
/* Connections are accepted, and nothing they send is read: a server at its thread limit. */
void thrift2_fake_set_no_reads(thrift2_fake *fake, bool deaf);
/* Nothing is answered any more, pings neither: a stopped process. */
void thrift2_fake_set_no_replies(thrift2_fake *fake, bool mute);
/* Scanners are forgotten as after their 60 s; connections stay. */
void thrift2_fake_expire_scanners(thrift2_fake *fake);
/* Closes every connection. */
void thrift2_fake_close_connections(thrift2_fake *fake);
/* As if the process had been started again: connections closed, scanners forgotten, ids from 0. */
void thrift2_fake_restart(thrift2_fake *fake);
/* Refuses connections until it is opened again, on the same port (which nobody else can get meanwhile). */
void thrift2_fake_stop_listening(thrift2_fake *fake);
void thrift2_fake_listen(thrift2_fake *fake);

/* What it has seen; heartbeats and pings are not calls. */
uint32_t thrift2_fake_calls(thrift2_fake *fake, kw_hb_method method);
/* Rows in the calls of the method: putMultiple of 10 counts 10. items / calls is the size of a batch. */
uint32_t thrift2_fake_items(thrift2_fake *fake, kw_hb_method method);
/* Calls of all methods. */
uint32_t thrift2_fake_all_calls(thrift2_fake *fake);
/* Calls and items begin at 0 again (so does fake_call.nth). */
void thrift2_fake_reset_calls(thrift2_fake *fake);
uint32_t thrift2_fake_connections(thrift2_fake *fake);      /* accepted so far */
uint32_t thrift2_fake_open_connections(thrift2_fake *fake); /* open now */
uint32_t thrift2_fake_scanners(thrift2_fake *fake);         /* open now */
uint32_t thrift2_fake_pings(thrift2_fake *fake);

/* Its rows. */
void thrift2_fake_set_row(thrift2_fake *fake, const char *key, const char *value);
/* How often the row was written, 0: never. */
uint32_t thrift2_fake_writes(thrift2_fake *fake, const char *key);
/* The regions of every table are those between the keys (none: one region); they do not touch the rows,
 * so that they can be wrong. */
void thrift2_fake_set_boundaries(thrift2_fake *fake, const char *const *keys, size_t count);
/* The same for keys that are no text. */
void thrift2_fake_set_boundary_bytes(thrift2_fake *fake, const kw_bytes *keys, size_t count);
/* Its clock minus ours. */
void thrift2_fake_set_clock(thrift2_fake *fake, int64_t offset_ms);

/* For scripts: the usual answers. */
const void *fake_io_error(const fake_call *call, const char *message, bool can_retry);
