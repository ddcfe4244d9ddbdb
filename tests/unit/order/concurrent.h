/* Two gateways and callers that write, read, copy and sweep a few records at the same time. What the callers
 * see is judged at the end: each field of each record must be linearizable. Calls are held, lost, given up
 * and applied late, and compactions drop delete markers.
 *
 * If gateways give timestamps, those of two gateways never are equal: writes with equal timestamps that run
 * at the same time are exempt from what is promised.
 */
#pragma once

#include "order_bed.h"

#define RECORDS 24
#define CALLERS 3 /* per record */
#define OPS 8     /* per caller */
#define FIELDS 2  /* a, b */
#define GATEWAYS 2
#define SKEW_HERE_MS 4
#define DEADLINE_MS 400

/* What the calls under one version do. */
typedef struct form {
    kw_write_order order;
    bool two;      /* writes go to both placements */
    bool new_last; /* the one that is written last */
    bool both;     /* gets read both; otherwise the one that is written last */
    bool copies;   /* the copier runs: from the old placement to the new one */
    bool passes;   /* a pass runs, in both directions */
    bool sweeps;   /* gone cells are swept from the old placement */
    bool atomics;  /* conditional writes and increments, too */
    bool paths;    /* with `two`: both placements have all rows for good, and gets read either */
} form;

typedef struct town town;

town *town_new(form one, form other, uint32_t seed, double trouble);
/* Fails the test if a field of a record is not linearizable. */
void town_judge(town *in, uint32_t seed);
void town_free(town *in);

/* Every caller executes OPS operations, each under one of the two forms. */
void town_run(town *in, form one, form other);
/* Calls that were given up are applied now or never, and all timestamps that were given pass. */
void town_grace(town *in);
/* Without trouble: the copy, pass or sweep of every record. */
void town_work(town *in, form how);
/* Without trouble: a get of every record. */
void town_get(town *in, form how);
