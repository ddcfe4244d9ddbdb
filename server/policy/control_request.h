/* A request of another thread to the main thread, for example an Admin call. It is the first member of a
 * struct that has a copy of the command, and later the result. The struct is in an arena of its own.
 *
 *   caller's loop: kw_control_request_new, _send
 *     -> main loop: kind->run, at once or as a job -> ... -> kw_control_request_finish
 *     -> caller's loop: kind->reply -> the arena is freed
 *
 * When draining begins, all callers are answered with an error. Queued requests, and those that wait, end.
 * Those in the middle of a step continue without a caller. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "policy/jobs.h"

#include <stdatomic.h>

typedef struct kw_control_request kw_control_request;

/* Each group has a maximum number of requests that have not ended. */
typedef enum kw_request_group {
    KW_REQUESTS_APPLY,    /* each can hold a text and a compiled policy */
    KW_REQUESTS_READ,     /* two texts */
    KW_REQUESTS_TRANSFER, /* copies of a page of the catalog */
    KW_REQUESTS_CHANGE,
    KW_REQUESTS_FORGET,
    KW_REQUESTS_OTHER, /* without a maximum */
    KW_REQUEST_GROUPS
} kw_request_group;

typedef struct kw_control_request_kind {
    kw_request_group group;
    bool is_job; /* changes the policy or the catalog: runs as a job, which ends with the request */
    /* Main thread. Carries out the request, which then must be finished. */
    void (*run)(kw_control_request *request);
    /* Caller's loop. With an error, the request can still run: use only what was set before it was sent. */
    void (*reply)(kw_control_request *request, const kw_error *error);
    /* Main thread: draining has begun. Finishes the request if it waits, for example for calls of earlier
     * policies. Can be NULL. */
    void (*stop)(kw_control_request *request);
    /* Frees what is not in the arena. Can be NULL. */
    void (*clear)(kw_control_request *request);
} kw_control_request_kind;

struct kw_control_request {
    kw_task task; /* posts the request to the main loop, and back */
    kw_job job;
    const kw_control_request_kind *kind;
    struct kw_control *control;
    kw_control_request *next_open;
    kw_arena *arena;
    kw_loop *loop; /* the caller's; NULL: there is no caller, or it was answered */
    void *user;    /* the caller's */
    kw_error error;
    _Atomic unsigned references; /* the request itself, and its reply */
};

/* Allocates a zeroed struct of `size` bytes that begins with a request. loop NULL: no caller waits. Any
 * thread.
 */
void *kw_control_request_new(size_t size, const kw_control_request_kind *kind, struct kw_control *control,
                             kw_loop *loop, void *user);
/* A copy of the text in the arena; NULL stays NULL. */
const char *kw_control_request_text(const kw_control_request *request, const char *text);

/* Any thread. Answers with BUSY if there are too many requests of the group. */
void kw_control_request_send(kw_control_request *request);
/* The same for a request of the main thread itself; never BUSY. Can run it at once. */
void kw_control_request_begin(kw_control_request *request);
/* Main thread. Answers the caller, and frees the request. */
void kw_control_request_finish(kw_control_request *request, const kw_error *error);

/* Call it on the main thread when draining has begun. */
void kw_control_requests_stop(struct kw_control *control);
