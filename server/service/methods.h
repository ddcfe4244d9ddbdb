/* Internal to service: one function for each method of keyway.thrift. Every function ends its exchange
 * exactly once, now or later. methods.c contains the table of methods. */
#pragma once

#include "access/access.h"
#include "service/exchange.h"

/* The table and the deadline that the arguments of a call contain. */
typedef struct kw_subject {
    kw_bytes table;      /* empty: it names none */
    int64_t deadline_ms; /* 0: not in the arguments */
} kw_subject;

typedef struct kw_method {
    void (*run)(kw_exchange *exchange);
    bool needs_store; /* fails while the gate is shut */
    bool writes;      /* changes rows or tables of the store, which makes prefetched pages outdated */
    bool atomic;      /* an atomic operation on a record; waits while its table holds such operations */
    bool uses_rows;   /* reads or writes rows of its table, so it waits while the table is held */
    kw_operation operation;
    kw_subject (*subject)(const kw_exchange *exchange); /* NULL: its arguments name no table */
    uint64_t (*cells)(const kw_exchange *exchange);     /* to write; NULL: their number is not the caller's */
    bool changes;          /* has an effect that stays even if the reply cannot be sent */
    bool ignores_deadline; /* is not answered before it is done */
    /* Hint for the caller if the reply is too large. */
    const char *smaller;
    /* Builds the result when the deadline has passed; NULL: the call fails with TIMEOUT. */
    const void *(*late)(kw_exchange *exchange, const kw_error *error);
} kw_method;

/* The subject of an exchange's call; empty for a method without a subject. */
kw_subject kw_subject_of(const kw_exchange *exchange);

/* The subject of an exchange's call; the error of a cursor that cannot be opened. */
bool kw_method_read_subject(const kw_exchange *exchange, kw_subject *ret_subject, kw_error *ret_error);

/* LIMIT if the call would write more than limits.cells cells. Checked before its records are converted. */
bool kw_method_check_cells(const kw_exchange *exchange, kw_error *ret_error);

/* The row of a method by its number (kw_api_method). */
const kw_method *kw_method_of(size_t number);
/* The row of the method that is called. */
const kw_method *kw_exchange_method(const kw_exchange *exchange);

void kw_serve_put(kw_exchange *exchange);
void kw_serve_put_many(kw_exchange *exchange);
void kw_serve_remove(kw_exchange *exchange);
void kw_serve_remove_many(kw_exchange *exchange);
void kw_serve_get(kw_exchange *exchange);
void kw_serve_get_many(kw_exchange *exchange);
void kw_serve_get_versions(kw_exchange *exchange);
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
void kw_serve_decode_key(kw_exchange *exchange);
void kw_serve_policy(kw_exchange *exchange);
void kw_serve_check(kw_exchange *exchange);
void kw_serve_policy_tables(kw_exchange *exchange);
void kw_serve_policy_diff(kw_exchange *exchange);
void kw_serve_advise(kw_exchange *exchange);
void kw_serve_create_table(kw_exchange *exchange);
void kw_serve_forget(kw_exchange *exchange);
void kw_serve_scrub(kw_exchange *exchange);
void kw_serve_verify(kw_exchange *exchange);
void kw_serve_reload(kw_exchange *exchange);
void kw_serve_policy_apply(kw_exchange *exchange);
void kw_serve_policy_history(kw_exchange *exchange);
void kw_serve_policy_version(kw_exchange *exchange);
void kw_serve_policy_in_effect(kw_exchange *exchange);
void kw_serve_export_catalog(kw_exchange *exchange);
void kw_serve_import_catalog(kw_exchange *exchange);
void kw_serve_changes(kw_exchange *exchange);
void kw_serve_order_change(kw_exchange *exchange);
void kw_serve_change_diff(kw_exchange *exchange);
void kw_serve_backup(kw_exchange *exchange);
void kw_serve_stats(kw_exchange *exchange);

const void *kw_late_put_many(kw_exchange *exchange, const kw_error *error);
const void *kw_late_remove_many(kw_exchange *exchange, const kw_error *error);
const void *kw_late_get_many(kw_exchange *exchange, const kw_error *error);
