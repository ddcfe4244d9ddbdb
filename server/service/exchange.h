/* Inside of the room: one call on its way, from its message to its reply.
 *
 *   begin: head -> method -> arguments -> gate -> the method's function (methods.h)
 *   end:   exactly one of reply, fail
 *
 * Everything of the call lives in its arena, the exchange too.
 */
#pragma once

#include "service/part.h"

typedef struct kw_exchange {
    kw_call call;
    kw_part *part;
    kw_request *request;
    kw_snapshot *snapshot;
    const kw_wire_method *method; /* a row of kw_api_methods */
    const void *args;             /* of the method's C type */
    kw_bytes name;                /* as the caller wrote it */
    int32_t sequence_id;
    bool oneway;
    bool is_active; /* in its part's list of calls that began */
    bool counted;   /* a hold waits for its end */
    uint64_t era;   /* of the fence when it began */
    struct kw_exchange *next_active, *previous_active;
    uint64_t started_ns;
    char request_id[40];
} kw_exchange;

/* The whole life of a message; ends the request at once or later. */
void kw_exchange_begin(kw_part *part, kw_request *request);

/* Begins a call that was held, under the policy that serves now. */
void kw_exchange_resume(kw_exchange *exchange);

/* `result` is the method's result struct (kw_api_..._result). The exchange is gone after it. */
void kw_exchange_reply(kw_exchange *exchange, const void *result);

/* Answers with the method's KeywayError. The exchange is gone after it. */
void kw_exchange_fail(kw_exchange *exchange, const kw_error *error);

const kw_model *kw_exchange_model(const kw_exchange *exchange);

/* Takes the deadline and, where wanted, how to write. options may be NULL. INVALID naming the option. */
bool kw_exchange_take_options(kw_exchange *exchange, const kw_api_Options *options,
                              kw_write_options *ret_write, kw_error *ret_error);
bool kw_exchange_take_deadline(kw_exchange *exchange, bool given, int32_t deadline_ms, kw_error *ret_error);

/* The table with this name; INVALID when the argument is missing, NOT_FOUND with a guess. */
bool kw_exchange_find_table(const kw_exchange *exchange, bool given, kw_bytes name,
                            const kw_table **ret_table, kw_error *ret_error);

#define KW_EXCHANGE_ALLOC(exchange, type) KW_ARENA_NEW((exchange)->call.arena, type)
