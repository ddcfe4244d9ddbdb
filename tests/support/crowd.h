/* A crowd of callers of one Thrift server, on one thread: each caller is a connection that sends calls and is
 * handed the answers, in order. For benches (a thread per caller would be the bottleneck) and for tests that
 * need a thousand callers at once.
 *
 *   crowd_open --> crowd_start: player->start of every caller --> crowd_run --> player->answer ...
 *
 * Not thread safe; several crowds may run on several threads. What goes wrong on a connection ends the
 * program ("name: what") unless the player takes it (`lost`).
 */
#pragma once

#include "base/clock.h"
#include "wire/wire.h"

typedef struct crowd crowd;
typedef struct crowd_caller crowd_caller;

typedef struct crowd_place {
    const char *name; /* for messages */
    uint16_t port;    /* of 127.0.0.1 */
    kw_wire_form form;
} crowd_place;

typedef struct crowd_answer {
    const kw_wire_method *method;
    uint64_t tag;       /* as crowd_call was given */
    uint64_t start_ns;  /* kw_clock_mono_ns before the call was sent, ... */
    uint64_t end_ns;    /* ... and when its answer was there */
    const void *result; /* the method's result struct, valid during the callback; NULL: an exception ... */
    kw_bytes text;      /* ... that says this */
} crowd_answer;

typedef struct crowd_player {
    void (*start)(crowd_caller *caller, void *user);
    void (*answer)(crowd_caller *caller, const crowd_answer *answer, void *user);
    /* The connection ended; `outstanding` calls got no answer, the caller makes no more. */
    void (*lost)(crowd_caller *caller, size_t outstanding, void *user);
} crowd_player;

/* Connects `callers`, a few at a time as a listen backlog of 50 wants it, within open_ms: those that are
 * not connected then are not there (crowd_size). Accepted does not mean served. */
crowd *crowd_open(const crowd_place *where, unsigned callers, int open_ms, const crowd_player *player,
                  void *user);
unsigned crowd_size(const crowd *all);
/* Closes every connection, whatever is outstanding. */
void crowd_close(crowd *all);

/* Calls the player's start for each caller. */
void crowd_start(crowd *all);
/* Until nothing is outstanding (true) or the deadline has passed (false). */
bool crowd_run(crowd *all, kw_deadline end);

/* From 0. */
unsigned crowd_number(const crowd_caller *caller);
crowd_caller *crowd_caller_at(crowd *all, unsigned number);
/* Calls that this caller waits for. */
size_t crowd_outstanding(const crowd_caller *caller);
/* Sends a call; several may be outstanding. args is encoded before it returns. */
void crowd_call(crowd_caller *caller, const kw_wire_method *method, const void *args, uint64_t tag);
/* Closes the connection with whatever is outstanding; nothing of this caller comes back. */
void crowd_hang_up(crowd_caller *caller);

/* Ends the program: "what: text". */
void crowd_die(const char *what, kw_bytes text) __attribute__((noreturn));
