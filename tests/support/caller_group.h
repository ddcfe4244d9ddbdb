/* A caller_group of callers of one Thrift server, on one thread: each caller is a connection that sends calls
 * and is handed the answers, in order. For benches (a thread per caller would be the bottleneck) and for
 * tests that need a thousand callers at once.
 *
 *   caller_group_open --> caller_group_start: handlers->start of every caller --> caller_group_run -->
 * handlers->answer ...
 *
 * Not thread safe; several concurrent may run on several threads. What goes wrong on a connection ends the
 * program ("name: what") unless the handlers takes it (`lost`).
 */
#pragma once

#include "base/clock.h"
#include "wire/wire.h"

typedef struct caller_group caller_group;
typedef struct group_caller group_caller;

typedef struct group_server {
    const char *name; /* for messages */
    uint16_t port;    /* of 127.0.0.1 */
    kw_wire_form form;
} group_server;

typedef struct group_answer {
    const kw_wire_method *method;
    uint64_t tag;       /* as group_caller_send was given */
    uint64_t start_ns;  /* kw_clock_mono_ns before the call was sent, ... */
    uint64_t end_ns;    /* ... and when its answer was there */
    const void *result; /* the method's result struct, valid during the callback; NULL: an exception ... */
    kw_bytes text;      /* ... that says this */
} group_answer;

typedef struct group_handlers {
    void (*start)(group_caller *caller, void *user);
    void (*answer)(group_caller *caller, const group_answer *answer, void *user);
    /* The connection ended; `outstanding` calls got no answer, the caller makes no more. */
    void (*lost)(group_caller *caller, size_t outstanding, void *user);
} group_handlers;

/* Connects `callers`, a few at a time as a listen backlog of 50 wants it, within open_ms: those that are
 * not connected then are not there (caller_group_size). Accepted does not mean served. */
caller_group *caller_group_open(const group_server *where, unsigned callers, int open_ms,
                                const group_handlers *handlers, void *user);
unsigned caller_group_size(const caller_group *all);
/* Closes every connection, whatever is outstanding. */
void caller_group_close(caller_group *all);

/* Calls the handlers's start for each caller. */
void caller_group_start(caller_group *all);
/* Until nothing is outstanding (true) or the deadline has passed (false). */
bool caller_group_run(caller_group *all, kw_deadline end);

/* From 0. */
unsigned group_caller_number(const group_caller *caller);
group_caller *caller_group_at(caller_group *all, unsigned number);
/* Calls that this caller waits for. */
size_t group_caller_outstanding(const group_caller *caller);
/* Sends a call; several may be outstanding. args is encoded before it returns. */
void group_caller_send(group_caller *caller, const kw_wire_method *method, const void *args, uint64_t tag);
/* Closes the connection with whatever is outstanding; nothing of this caller comes back. */
void group_caller_disconnect(group_caller *caller);

/* Ends the program: "what: text". */
void caller_group_fail(const char *what, kw_bytes text) __attribute__((noreturn));
