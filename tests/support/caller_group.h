/* Many callers of one Thrift server on one thread. Each caller is a connection that sends calls and receives
 * the replies in order. For benchmarks (a thread per caller would limit them) and for tests that need a
 * thousand callers.
 *
 *   caller_group_open --> caller_group_start: handlers->start for every caller
 *                     --> caller_group_run:   handlers->answer for every reply
 *
 * Not thread safe; each thread can have its own group. An error on a connection ends the program ("name:
 * error") unless the handlers have a `lost` function.
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
    uint64_t tag;       /* the one passed to group_caller_send */
    uint64_t start_ns;  /* kw_clock_mono_ns before the call was sent */
    uint64_t end_ns;    /* and when the reply was complete */
    const void *result; /* the method's result struct, valid during the callback; NULL after an exception */
    kw_bytes text;      /* the exception's message */
} group_answer;

typedef struct group_handlers {
    void (*start)(group_caller *caller, void *user);
    void (*answer)(group_caller *caller, const group_answer *answer, void *user);
    /* The connection is closed; `outstanding` calls got no reply. The caller sends no more calls. */
    void (*lost)(group_caller *caller, size_t outstanding, void *user);
} group_handlers;

/* Connects `callers` within open_ms, a few at a time, because a listen backlog can be as short as 50. Callers
 * not connected by then are missing in caller_group_size. An accepted connection need not be served yet. */
caller_group *caller_group_open(const group_server *where, unsigned callers, int open_ms,
                                const group_handlers *handlers, void *user);
unsigned caller_group_size(const caller_group *all);
/* Closes every connection, even with calls outstanding. */
void caller_group_close(caller_group *all);

/* Calls the start handler for each caller. */
void caller_group_start(caller_group *all);
/* Runs until no call is outstanding (true) or the deadline has passed (false). */
bool caller_group_run(caller_group *all, kw_deadline end);

/* Counted from 0. */
unsigned group_caller_number(const group_caller *caller);
group_caller *caller_group_at(caller_group *all, unsigned number);
/* Number of this caller's calls without a reply. */
size_t group_caller_outstanding(const group_caller *caller);
/* Sends a call; several can be outstanding. args is encoded before the function returns. */
void group_caller_send(group_caller *caller, const kw_wire_method *method, const void *args, uint64_t tag);
/* Closes the connection, even with calls outstanding. Their handlers are not called. */
void group_caller_disconnect(group_caller *caller);

/* Ends the program with the message "what: text". */
void caller_group_fail(const char *what, kw_bytes text) __attribute__((noreturn));
