/* Gateways on one store in memory, each with its own catalog, all on one loop. Time passes only when a
 * test advances it. */
#pragma once

#include "catalog/catalog.h"
#include "catalog/forget.h"
#include "support/memory_store.h"

#include "rule/policies.h"

#include <glib.h>

#define CATALOG "keyway_catalog"

#define BASE                                                                                                 \
    "    fields:\n"                                                                                          \
    "      id: {type: string, max_bytes: 20}\n"                                                              \
    "      ts: {type: timestamp, unit: ms}\n"                                                                \
    "      n: int\n"                                                                                         \
    "    key: [{field: id}, {field: ts}]\n"
#define BY_TS "    paths: {by_ts: {key: [{field: ts}, {field: id}]}}\n"
#define STRING_N                                                                                             \
    "    fields:\n"                                                                                          \
    "      id: {type: string, max_bytes: 20}\n"                                                              \
    "      ts: {type: timestamp, unit: ms}\n"                                                                \
    "      n: string\n"                                                                                      \
    "    key: [{field: id}, {field: ts}]\n"
#define MORE                                                                                                 \
    "    fields:\n"                                                                                          \
    "      id: {type: string, max_bytes: 20}\n"                                                              \
    "      ts: {type: timestamp, unit: ms}\n"                                                                \
    "      n: int\n"                                                                                         \
    "      more: bool\n"                                                                                     \
    "    key: [{field: id}, {field: ts}]\n"

typedef struct town {
    kw_loop *loop;
    kw_store *store;
    kw_memory_control *control;
    kw_store_handle *handle; /* of the tests themselves */
} town;

typedef struct gateway {
    town *town;
    kw_store_handle *handle;
    kw_catalog *catalog;
    unsigned lost;
    /* the last reply */
    bool done;
    kw_error error;
    kw_admission *admission;
    bool committing;
    char **emptied;
} gateway;

town *town_new(void);
void town_free(town *self);
/* Real time for timers passes; the catalogs' clocks advance by this time. */
void town_pass_ms(uint64_t ms);
/* Sets only the store's clock forward or back. */
void town_move_wall_ms(int64_t ms);

gateway *gateway_new(town *in, const char *id, bool shared);
/* Stops the gateway in an orderly way: its registration is removed. */
void gateway_stop(gateway *self);
/* Stops the gateway as kill -9 does: its registration remains. */
void gateway_die(gateway *self);
/* Closes the catalog and the store handle only. */
void gateway_close(gateway *self);
void gateway_free(gateway *self);
void gateway_wait(gateway *self);

/* Records that an operation completed, and its error; has the type of several completions. */
void gateway_ended(void *user, const kw_error *error);
/* Only starts the check. */
void gateway_begin(gateway *self, kw_policy *policy);
/* The same, with tables that can be left out. */
void gateway_begin_with(gateway *self, kw_policy *policy, const bool *optional);
/* Checks, and keeps the admission. Returns KW_OK or the error's code. */
kw_code gateway_check(gateway *self, kw_policy *policy);
/* Commits the checked admission, and serves or abandons it. */
kw_code gateway_commit(gateway *self);
/* Checks and commits. */
kw_code gateway_admit(gateway *self, kw_policy *policy);
kw_code gateway_forget(gateway *self, const kw_policy *served, const char *table, const char *path,
                       bool drop_rows);
bool gateway_is_open(const gateway *self);
/* Asserts that the text of the last error contains this part. */
void gateway_assert_text(const gateway *self, const char *part);

/* Writes a row to a store table, which is created if it is missing. */
void town_put(town *self, const char *store_table, const char *row);
/* The facts of a table as the catalog has them now, as JSON; caller frees. "": none. */
char *town_facts(town *self, const char *table);
/* Asserts that the facts of table "t" contain this part, or that they do not contain it (there = false). */
void town_assert_facts(town *self, const char *part, bool there);
/* True if the catalog records that Keyway created the store table. */
bool town_was_created(town *self, const char *store_table);
size_t town_registrations(town *self);
void town_remove_registrations(town *self);
/* Overwrites a cell of the only registration. */
void town_set_registration(town *self, const char *qualifier, const char *value);
