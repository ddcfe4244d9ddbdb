/* Several gateways of one process, on one loop, over one store: the values that each generates for
 * records, one step at a time. Records are texts such as "id=5 ts=1000"; generated values are returned in
 * the same form. */
#pragma once

#include "sequence/sequence.h"
#include "support/fault_store.h"
#include "support/memory_store.h"

#include <glib.h>

#define BED_GATEWAYS 4
#define BED_PATIENCE_MS 60000 /* deadline of operations that must succeed */

typedef struct bed_gateway {
    struct bed *bed;
    kw_store_handle *handle;
    kw_sequences *sequences;
    kw_generator *generator;
} bed_gateway;

typedef struct bed {
    kw_loop *loop;
    kw_store *store; /* the fault store, over one in memory */
    kw_store *inner; /* in memory; NULL over another one */
    kw_memory_control *control;
    kw_fault_plan plan;
    kw_policy *policy;
    const kw_table *table; /* the first */
    kw_arena *arena;
    bed_gateway gateways[BED_GATEWAYS];
    kw_error error; /* of the last step */
} bed;

/* A policy with one table t with these fields ("seq: {type: int, generate: {kind: sequence}}", one per
 * line, without indentation), and `more` settings before the tables. Gateways are opened one by one. A
 * sequence can have small blocks: "kind: sequence, block: 10" is not a setting, but the bed changes the
 * model. */
bed *bed_new(const char *more, const char *fields);
bed *bed_new_over(kw_store *inner, const char *more, const char *fields);
void bed_free(bed *self);

/* Opens the gateway and prepares the policy; stores an error in bed->error. */
bool bed_open(bed *self, size_t gateway);
/* Closes the gateway in an orderly way: releases its leases. */
void bed_close(bed *self, size_t gateway);

/* The values generated for the record; after an error "CODE: text". In the bed's arena. */
const char *bed_fill(bed *self, size_t gateway, const char *record);
/* The number generated for `field`; fails the test on an error. */
int64_t bed_number(bed *self, size_t gateway, const char *record, const char *field);
/* "first+count", or "CODE: text". */
const char *bed_allocate(bed *self, size_t gateway, const char *field, int64_t count, const char *scope);

/* Replaces the policy of every gateway. */
void bed_reload(bed *self, const char *more, const char *fields);

/* Parses the fields of a record; returns one slot per field of the table. */
kw_value *bed_record(bed *self, const char *text);
const char *bed_text(bed *self, const kw_value *values);

/* Writes directly to the store through the first gateway's store handle; must succeed. */
void bed_write(bed *self, const kw_write *write);

void bed_run_until(bed *self, const bool *flag);

/* Of worker numbers, for gateways that are opened later. */
extern int64_t bed_lease_ms;

/* The injected clocks. */
extern int64_t bed_wall_ms;
extern uint64_t bed_mono_ns;
void bed_inject_clock(void);
/* Advances both clocks. */
void bed_pass_ms(int64_t ms);
/* Also advances the timers of the loop, which otherwise follow the real clock: timers that are due by then
 * fire when the loop runs. */
void bed_pass_all_ms(bed *self, int64_t ms);
