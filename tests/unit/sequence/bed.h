/* Several gateways of one process, on one loop, over one store: what each makes for records, one step at a
 * time. Records are texts such as "id=5 ts=1000"; what was made comes back in the same form. */
#pragma once

#include "sequence/sequence.h"
#include "support/fault_store.h"
#include "support/memory_store.h"

#include <glib.h>

#define BED_GATEWAYS 4
#define BED_PATIENCE_MS 60000 /* deadline of what is to succeed */

typedef struct bed_gateway {
    struct bed *bed;
    kw_store_handle *handle;
    kw_sequences *sequences;
    kw_maker *maker;
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

/* A policy with one table t of these fields ("seq: {type: int, generate: sequence}", one a line, without
 * indentation), and `more` settings before the tables. Gateways are opened one by one. */
bed *bed_new(const char *more, const char *fields);
bed *bed_new_over(kw_store *inner, const char *more, const char *fields);
void bed_free(bed *self);

/* Opens it and prepares the policy; the error in bed->error. */
bool bed_open(bed *self, size_t gateway);
/* An orderly end: gives leases back. */
void bed_close(bed *self, size_t gateway);

/* What was made for the record; on an error "CODE: text". In the bed's arena. */
const char *bed_fill(bed *self, size_t gateway, const char *record);
/* The number that was made for `field`; ends the test on an error. */
int64_t bed_number(bed *self, size_t gateway, const char *record, const char *field);
/* "first+count", or "CODE: text". */
const char *bed_allocate(bed *self, size_t gateway, const char *field, int64_t count, const char *scope);

/* Another policy in place of the present one, for every gateway. */
void bed_reload(bed *self, const char *more, const char *fields);

/* Fields of a record as text; `values` slots. */
kw_value *bed_record(bed *self, const char *text);
const char *bed_text(bed *self, const kw_value *values);

/* Straight into the store; must succeed. Through the first gateway's store handle. */
void bed_write(bed *self, const kw_write *write);

void bed_turn_until(bed *self, const bool *flag);

/* The injected clock. */
extern int64_t bed_wall_ms;
extern uint64_t bed_mono_ns;
void bed_inject_clock(void);
/* Both go on. */
void bed_pass_ms(int64_t ms);
/* The timers of the loop, too, which otherwise go by real time: those that are due by then fire when it runs.
 */
void bed_pass_all_ms(bed *self, int64_t ms);
