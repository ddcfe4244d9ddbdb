/* Gateways on one store in memory, each with a catalog of its own, all on one loop. Time stands still unless
 * a test moves it. */
#pragma once

#include "catalog/catalog.h"
#include "catalog/forget.h"
#include "support/memory_store.h"

#include <glib.h>

#define CATALOG "keyway_catalog"

typedef struct town {
    kw_loop *loop;
    kw_store *store;
    kw_memory_control *control;
    kw_door *door; /* of the tests themselves */
} town;

typedef struct gateway {
    town *town;
    kw_door *door;
    kw_catalog *catalog;
    unsigned lost;
    /* the last answer */
    bool done;
    kw_error error;
    kw_admission *admission;
    char **emptied;
} gateway;

town *town_new(void);
void town_free(town *self);
/* Real time for timers passes; the catalogs' clocks move by so much. */
void town_pass_ms(uint64_t ms);
/* The store's clock alone is put back or forward. */
void town_move_wall_ms(int64_t ms);

gateway *gateway_new(town *in, const char *id, bool shared);
/* In an orderly way: its registration goes. */
void gateway_stop(gateway *self);
/* As kill -9 does: its registration stays. */
void gateway_die(gateway *self);
void gateway_wait(gateway *self);

/* Starts the check alone. */
void gateway_begin(gateway *self, kw_policy *policy);
/* Checks; the admission stays in hand. KW_OK or the code. */
kw_code gateway_check(gateway *self, kw_policy *policy);
/* Commits what was checked, and serves it or abandons it. */
kw_code gateway_commit(gateway *self);
/* Both. */
kw_code gateway_admit(gateway *self, kw_policy *policy);
kw_code gateway_forget(gateway *self, const kw_policy *served, const char *table, const char *path,
                       bool drop_rows);
bool gateway_is_open(const gateway *self);
/* The text of the last error has this part. */
void gateway_assert_text(const gateway *self, const char *part);

/* A row in a store table, which is created when it is missing. */
void town_put(town *self, const char *store_table, const char *row);
/* The facts of a table as the catalog has them now, as JSON; caller frees. "": none. */
char *town_facts(town *self, const char *table);
size_t town_registrations(town *self);
