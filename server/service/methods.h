/* Inside of the room: the methods of keyway.thrift, one function each. Every function ends its
 * exchange exactly once, now or later. The table in methods.c says which is which. */
#pragma once

#include "service/exchange.h"

/* What a call is about, as its arguments say. */
typedef struct kw_subject {
    kw_bytes table;      /* whose rows it reads or writes; empty: the arguments name none */
    int64_t deadline_ms; /* 0: the arguments give none */
} kw_subject;

typedef struct kw_method {
    void (*run)(kw_exchange *exchange);
    bool needs_store; /* waits behind the gate */
    bool writes;      /* changes the store: its answer makes pages that were read ahead old */
    kw_subject (*subject)(const kw_exchange *exchange); /* NULL: it reads and writes no rows */
    bool changes;   /* something: what it has done stays done when it cannot be answered */
    bool unhurried; /* is answered when it is done, however long that takes */
    /* What a caller can do when the reply is too large. */
    const char *smaller;
    /* The result when the deadline passed; NULL: the error is the answer. */
    const void *(*late)(kw_exchange *exchange, const kw_error *error);
} kw_method;

/* By kw_api_method. */
const kw_method *kw_method_of(size_t number);

void kw_serve_put(kw_exchange *exchange);
void kw_serve_put_many(kw_exchange *exchange);
void kw_serve_remove(kw_exchange *exchange);
void kw_serve_remove_many(kw_exchange *exchange);
void kw_serve_get(kw_exchange *exchange);
void kw_serve_get_many(kw_exchange *exchange);
void kw_serve_increment(kw_exchange *exchange);
void kw_serve_put_if(kw_exchange *exchange);
void kw_serve_compare_and_put(kw_exchange *exchange);
void kw_serve_scan(kw_exchange *exchange);
void kw_serve_next_page(kw_exchange *exchange);
void kw_serve_latest(kw_exchange *exchange);
void kw_serve_allocate(kw_exchange *exchange);
void kw_serve_describe(kw_exchange *exchange);
void kw_serve_tables(kw_exchange *exchange);
void kw_serve_explain(kw_exchange *exchange);
void kw_serve_explain_put(kw_exchange *exchange);
void kw_serve_policy(kw_exchange *exchange);
void kw_serve_check(kw_exchange *exchange);
void kw_serve_policy_tables(kw_exchange *exchange);
void kw_serve_policy_diff(kw_exchange *exchange);
void kw_serve_advise(kw_exchange *exchange);
void kw_serve_create_table(kw_exchange *exchange);
void kw_serve_forget(kw_exchange *exchange);
void kw_serve_scrub(kw_exchange *exchange);
void kw_serve_reload(kw_exchange *exchange);
void kw_serve_stats(kw_exchange *exchange);

const void *kw_late_put_many(kw_exchange *exchange, const kw_error *error);
const void *kw_late_remove_many(kw_exchange *exchange, const kw_error *error);
const void *kw_late_get_many(kw_exchange *exchange, const kw_error *error);
