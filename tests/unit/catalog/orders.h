/* The world that test_orders.c explores: two gateways on one store whose operations wait until the test
 * releases them.
 */
#pragma once

#include "orders_time.h"

#include "catalog/catalog.h"
#include "support/memory_store.h"
#include "support/stepped_store.h"

#include <glib.h>

#define CATALOG "keyway_catalog"
#define NODES 2

/* --- the world -------------------------------------------------------------------------------------- */

typedef enum action_kind { END, START, RELOAD, STOP, FORGET, APPLY } action_kind;

typedef struct action {
    action_kind kind;
    kw_policy *const *policy;
    const char *table, *path; /* FORGET */
} action;

typedef enum phase { DOWN, IDLE, CHECKING, CHECKED, COMMITTING, COMMITTED, FORGETTING, STOPPING } phase;

typedef struct world world;

typedef struct node {
    world *in;
    const char *id;
    const action *next;
    kw_policy *const *again; /* the policy to serve after a crash and restart */
    kw_store_handle *handle;
    kw_catalog *catalog;
    phase phase;
    kw_policy *serving, *target;
    kw_admission *admission;
    bool gate_open;
    bool holds;
    bool lost;
    bool dying;
    unsigned tries;
    /* plans with versions */
    bool applies;           /* the target is to become the next version */
    int64_t expected;       /* the version that must be current */
    int64_t not_followed;   /* the version that was refused */
    kw_version_draft draft; /* its text names the policy */
    char text[24];
    bool closed;
    unsigned refused;
} node;

typedef struct plan {
    const char *name;
    const action actions[NODES][6];
    kw_policy *const *again[NODES];
    bool starts_served; /* each first action completes before the schedule begins */
    unsigned faults;
    bool versioned; /* the catalog keeps the policy */
} plan;

struct world {
    const plan *plan;
    kw_loop *loop;
    kw_store *memory, *store;
    kw_memory_control *control;
    kw_store_handle *handle; /* of the tests themselves */
    node nodes[NODES];
    unsigned rows;
    unsigned faults, passes;
    int64_t version;  /* the newest one seen */
    char ids[16][33]; /* of the versions seen */
    GString *trace;
    bool quiet; /* no checks during the setup */
};

void log_step(world *in, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Prints the steps so far, and fails the test. */
void violation(world *in, const char *format, ...) G_GNUC_PRINTF(2, 3);
void settle_loop(world *in);

/* --- orders_node.c: a gateway, as server/gateway does it -------------------------------------------- */

void node_start(node *self);
void node_stop(node *self);
void node_check(node *self);
void node_forget(node *self, const char *table, const char *path);
/* The next action that the gateway takes on its own; NULL: none. */
const char *node_act_name(const node *self);
void node_act(node *self);
/* kill -9: calls in flight are lost, or applied later. */
void node_crash(node *self, bool late);

/* --- orders_check.c: the invariants ----------------------------------------------------------------- */

/* The index-th table whose calls the gateway answers; NULL: there are no more. */
const kw_table *node_answers(const node *self, size_t index);
/* The version that the catalog now has. */
kw_version_name world_version(world *in);
/* The policy of that version; NULL: there is none. */
kw_policy *world_policy(world *in);
/* Puts a row in each table whose calls the gateway answers, by all paths. */
void node_put_row(node *self);
/* The facts of a table that the catalog now has; NULL: none. */
kw_facts *world_facts(world *in, const char *table, kw_arena *arena);
void world_check(world *in);
