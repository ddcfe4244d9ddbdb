/* A desk to try verbs at: a policy from text, a store in memory, one call at a time, records as text such as
 * "order_id=A1 ts=5 amount=1.5 followed.bob=7" (values are read by the field's type; a bytes or string value
 * has no spaces).
 */
#pragma once

#include "support/memory_store.h"
#include "verb/verb.h"

#include <glib.h>

typedef struct desk {
    kw_loop *loop;
    kw_store *store;
    kw_memory_control *control;
    kw_store_handle *handle;
    kw_policy *policy;
    kw_keyring *keyring;
    kw_sequences *sequences;
    kw_maker *maker;
    kw_call call; /* its arena lives until desk_clear */
    kw_write_options options;
    /* the last answer */
    bool done;
    const kw_written_record *written;
    const kw_found_record *found;
    size_t count;
    kw_error error; /* of a call as a whole */
    kw_scan_page page;
    bool applied;
    kw_record values;
} desk;

/* An orders table with two paths (hash first; salted by time), one of counters, one whose records are keys
 * only. */
extern const char desk_policy[];

desk *desk_new(const char *policy_text);
/* Over another store, which the desk frees; there is no control then. */
desk *desk_new_over(kw_store *store, const char *policy_text);
void desk_free(desk *self);
/* Forgets the call's memory. */
void desk_clear(desk *self);

const kw_table *desk_table(desk *self, const char *name);
kw_record desk_record(desk *self, const char *table, const char *text);
/* Fields in the table's order, "name=value" each; in the call's arena. */
const char *desk_text(desk *self, const kw_table *table, const kw_record *record);
kw_pick desk_pick(desk *self, const char *table, const char *name);
size_t desk_field(desk *self, const char *table, const char *name);

void desk_wait(desk *self);
/* One record; the result. */
const kw_written_record *desk_put(desk *self, const char *table, const char *record);
/* `columns`: names with spaces between them, NULL: the whole record. */
const kw_written_record *desk_remove(desk *self, const char *table, const char *key, const char *columns);
/* The record as text; "none" when there is none; "CODE: text" for an error. */
const char *desk_get(desk *self, const char *table, const char *key, const char *columns);

/* "table field=value ... [field=a|b] [field=from..to] path=NAME order=asc|desc full limit=N page=N bytes=N
 * columns=a,b filter=F": a scan request from text. from is inclusive, to exclusive. */
kw_scan_request desk_request(desk *self, const char *text);
/* One page of it; error in self->error. */
bool desk_scan(desk *self, const char *text);
bool desk_next(desk *self, kw_bytes cursor);
/* Every row of every page, one line each, and whether a scan was fine. */
char *desk_scan_all(desk *self, const char *text);
/* The rows of the last page, one line each. */
char *desk_page_text(desk *self);

void desk_done(void *user, const kw_written_record *results, size_t count);
void desk_got(void *user, const kw_found_record *found, size_t count);
