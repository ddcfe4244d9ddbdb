/* Which tables of a policy are served (kw_table_why_not_served), and what the catalog
 * says about their paths.
 *
 * A table that cannot be served does not keep the others from service: it is left out (kw_catalog_check) when
 * the gateway begins to serve, unless strict_start is set. The gateway tries again every few seconds, and at
 * each reload. A reload or a new policy version is refused if it would end the service of a table, or if a
 * table that it changes cannot be served. Unchanged tables that are not served before can remain so. */
#pragma once

#include "policy/control.h"

/* How soon the gateway tries again to serve tables that it does not serve. */
#define KW_TABLES_RETRY_MS 5000

/* For each table of the policy: true if the policy can be put into service without it. `begins`: the gateway
 * does not serve yet, or lost its registration. In the arena. */
const bool *kw_table_states_optional(const kw_control *control, const kw_policy *policy, bool begins,
                                     kw_arena *arena);

/* Sets for each table whether it is served, and for those that are the states of its paths, its order of
 * writes and whether atomic operations are allowed. Call it after the commit. */
void kw_table_states_set(kw_policy *policy, const kw_admission *admission);

/* Logs what has changed for the policy in service, and replaces what /readyz and the metrics show. Call it
 * when a policy begins to serve, and when the state of one of its tables has changed. */
void kw_table_states_publish(kw_control *control);

/* Calls add for each table that is not served, with its reason. Any thread. */
void kw_table_states_list(kw_control *control, void (*add)(void *list, const char *text), void *list);
/* The same for paths with rows that were not verified, and for store tables that differ from the policy. */
void kw_table_states_list_warnings(kw_control *control, void (*add)(void *list, const char *text),
                                   void *list);
