/* The fixture of the verb tests ("desk"): a policy from text, a store in memory and one call at a time.
 * Records are written as text, for example "order_id=A1 ts=5 amount=1.5 followed.bob=7". Values are parsed by
 * the type of the field; bytes and strings cannot contain spaces. */
#pragma once

#include "reconcile/reconcile.h"
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
    kw_generator *generator;
    kw_call call; /* its arena is reset by desk_clear */
    kw_write_options options;
    /* The last answer. */
    bool done;
    const kw_written_record *written;
    const kw_found_record *found;
    size_t count;
    kw_error error; /* of the call as a whole */
    kw_scan_page page;
    uint64_t undecodable; /* of all pages of desk_scan_all */
    bool applied;
    kw_record values;
} desk;

/* Three tables: orders with two paths (hash first; salted by time), counters, and marks, whose records have
 * only a key. */
extern const char desk_policy[];

desk *desk_new(const char *policy_text);
/* Uses the given store and takes ownership of it; `control` is NULL. */
desk *desk_new_over(kw_store *store, const char *policy_text);
void desk_free(desk *self);
/* Resets the call's arena. */
void desk_clear(desk *self);

const kw_table *desk_table(desk *self, const char *name);
kw_record desk_record(desk *self, const char *table, const char *text);
/* The fields in the table's order, each as "name=value"; in the call's arena. */
const char *desk_text(desk *self, const kw_table *table, const kw_record *record);
kw_pick desk_pick(desk *self, const char *table, const char *name);
size_t desk_field(desk *self, const char *table, const char *name);

void desk_wait(desk *self);
/* Creates the store tables of a table. */
void desk_create(desk *self, const char *table);
/* Puts one record and returns the result. */
const kw_written_record *desk_put(desk *self, const char *table, const char *record);
/* columns: names separated by spaces, or NULL for the whole record. */
const kw_written_record *desk_remove(desk *self, const char *table, const char *key, const char *columns);
/* Returns the record as text, "none" if it does not exist, or "CODE: text" for an error. */
const char *desk_get(desk *self, const char *table, const char *key, const char *columns);

/* Parses a scan request: "table field=value ... [field=a|b] [field=from..to] path=NAME order=asc|desc full
 * limit=N page=N bytes=N columns=a,b filter=F skip wait". `from` is inclusive, `to` exclusive. */
kw_scan_request desk_request(desk *self, const char *text);
/* Reads the first page of the scan. Returns false on an error, which is in self->error. */
bool desk_scan(desk *self, const char *text);
bool desk_next(desk *self, kw_bytes cursor);
/* Reads all pages. Returns the rows, one line each, and a line for the error, if any. */
char *desk_scan_all(desk *self, const char *text);
/* The rows of the last page, one line each. */
char *desk_page_text(desk *self);

void desk_done(void *user, const kw_written_record *results, size_t count);
void desk_got(void *user, const kw_found_record *found, size_t count);
