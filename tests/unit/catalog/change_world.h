/* The world that test_change_orders.c explores: two gateways that go through the first versions of a change,
 * on one store whose operations wait until the test releases them.
 *
 *   before the change -> unstamped-old -> held-old -> raised-old -> stamped-old
 *
 * A gateway follows the version that the catalog has, ends its calls under earlier versions ("drains"), and
 * reports. The one that holds the change sets the next place; if it has disappeared, the other one takes
 * over.
 */
#pragma once

#include "changing.h"
#include "orders_time.h"

#include "catalog/catalog_internal.h"
#include "support/stepped_store.h"

#define NODES 2
#define LAST_STEP 4

typedef enum phase { DOWN, IDLE, CHECKING, CHECKED, COMMITTING, COMMITTED, EDITING } phase;

typedef struct world world;

typedef struct node {
    world *in;
    const char *id;
    kw_store_handle *handle;
    kw_catalog *catalog;
    phase phase;
    bool lost, dying, closed;
    bool serves;
    uint64_t served; /* number of the version; 0: the policy before the change */
    uint64_t oldest; /* of the versions that its calls use */
    /* an admission */
    uint64_t target;
    bool steps; /* it sets the version `target` */
    kw_arena *arena;
    kw_change_record base, next;
    kw_change_step step;
    kw_admission *admission;
    unsigned failed_at; /* count of events when the last check failed */
    /* an edit */
    char holder[33]; /* it takes over from this one; "": it does not */
} node;

/* Safeguards to leave out. */
typedef struct omitted {
    bool reports;  /* steps do not wait for the reports of others */
    bool drains;   /* gateways report before their earlier calls have ended */
    bool removal;  /* steps do not remove dead gateways */
    bool versions; /* gateways are admitted with any version */
} omitted;

struct world {
    kw_loop *loop;
    kw_store *memory, *store;
    kw_memory_control *control;
    kw_store_handle *handle; /* of the test itself */
    node nodes[NODES];
    unsigned faults, passes, hasty, stalls; /* counts */
    size_t stalled;                         /* 1 + index of the gateway that stalls; 0: none */
    unsigned events;                        /* after which a check that failed can succeed */
    uint64_t newest;                        /* version in the catalog */
    bool ordered;                           /* an order was acknowledged: its goal must remain */
    bool order_sent;
    kw_arena *arena; /* of `cell`, the text of the catalog's records, and of `record` */
    kw_bytes cell;
    kw_change_record *record;
    GString *trace;
    char *violation; /* the first one; NULL: none */
};

extern omitted omits;
/* Compiles the policies. */
void world_policies_new(void);
void world_policies_free(void);

world *world_new(void);
void world_free(world *in);
void settle_loop(world *in);
void log_step(world *in, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The record of the change as the catalog has it now, until it has another one; NULL: none. */
const kw_change_record *world_record(world *in);
/* Sets `violation` if gateways that answer use versions that are not neighbors, or if the catalog's record
 * lost something. */
void world_check(world *in);

/* --- change_node.c ---------------------------------------------------------------------------------- */

void node_start(node *self);
/* True if callers get answers from it. */
bool node_answers(const node *self);
/* What the gateway does next by itself, other than to drain; NULL: nothing. */
const char *node_act_name(const node *self);
void node_act(node *self);
/* Its earlier calls have not ended, or it has not reported that. */
bool node_must_drain(const node *self);
void node_drain(node *self);
/* True if it holds the change, or can begin it, and serves the newest version. */
bool node_can_step(const node *self);
void node_step(node *self);
/* The operator orders a goal through this gateway. */
void node_order(node *self);
/* kill -9: calls in flight are lost, or applied later. */
void node_crash(node *self, bool late);
