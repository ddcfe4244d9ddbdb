/* Inside of the room: one call on its way, from its message to its reply.
 *
 *   begin: head -> method -> room in memory -> arguments -> gate -> the method's function (methods.h)
 *   end:   exactly one of reply, fail
 *
 * A call whose deadline passes is answered by its alarm, whatever it waits for; the exchange then lives on
 * until the method's function ends it, and what that says is not sent. Everything of the call lives in its
 * arena, the exchange too.
 */
#pragma once

#include "base/alarm.h"
#include "service/worker.h"

typedef struct kw_line kw_line;

typedef struct kw_exchange {
    kw_call call;
    kw_service_worker *worker;
    kw_request *request;
    kw_account *account; /* the connection's; a reference */
    kw_snapshot *snapshot;
    const kw_wire_method *method; /* a row of kw_api_methods */
    const void *args;             /* of the method's C type */
    kw_bytes name;                /* as the caller wrote it */
    int32_t sequence_id;
    bool oneway;
    bool is_active; /* in its part's list of calls that began */
    bool counted;   /* a hold waits for its end */
    bool held;      /* waits in a hold */
    uint64_t era;   /* of the fence when it began */
    struct kw_exchange *next_active, *previous_active;
    bool late; /* was answered when its deadline passed */
    kw_alarm alarm;
    GList link;    /* in the queue where it waits */
    kw_line *line; /* that it has entered; line.c's, and so the next three */
    bool line_waits;
    bool large;
    void (*line_start)(struct kw_exchange *exchange);
    void *prepared; /* the method's, for its start */
    uint64_t started_ns;
    char request_id[40];
} kw_exchange;

/* The whole life of a message; ends the request at once or later. */
void kw_exchange_begin(kw_service_worker *worker, kw_request *request);

/* Begins a call that was held, under the policy that serves now. */
void kw_exchange_resume(kw_exchange *exchange);

/* The alarm of an exchange: its deadline has passed. */
void kw_exchange_rang(kw_alarm *alarm);

/* `result` is the method's result struct (kw_api_..._result). One that is larger than a reply may be is
 * answered with LIMIT instead. The exchange is gone after it. */
void kw_exchange_reply(kw_exchange *exchange, const void *result);

/* Answers with the method's KeywayError. The exchange is gone after it. */
void kw_exchange_fail(kw_exchange *exchange, const kw_error *error);

/* The method's result with this error; in the call's arena. */
const void *kw_exchange_failure(kw_exchange *exchange, const kw_error *error);

const kw_model *kw_exchange_model(const kw_exchange *exchange);

/* Takes the deadline and, where wanted, how to write. options may be NULL. INVALID naming the option. */
bool kw_exchange_take_options(kw_exchange *exchange, const kw_api_Options *options,
                              kw_write_options *ret_write, kw_error *ret_error);
/* The deadline that the call itself gives, in milliseconds from its arrival; INVALID unless positive. */
bool kw_exchange_take_deadline(kw_exchange *exchange, bool given, int32_t deadline_ms, kw_error *ret_error);

/* Counts from the arrival of the call, and sets its alarm. */
void kw_exchange_set_deadline(kw_exchange *exchange, int64_t timeout_ms);

/* The table with this name; INVALID when the argument is missing, NOT_FOUND with a guess. */
bool kw_exchange_find_table(const kw_exchange *exchange, bool given, kw_bytes name,
                            const kw_table **ret_table, kw_error *ret_error);

#define KW_EXCHANGE_ALLOC(exchange, type) KW_ARENA_NEW((exchange)->call.arena, type)
