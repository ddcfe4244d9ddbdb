/* Linearizability while it happens (Wing and Gong, "Testing and Verifying Concurrent Objects", 1993; Lowe's
 * just-in-time linearization, 2017): the set of all ways in which the operations so far may have taken
 * effect.
 *
 *   monitor_begin     an operation is under way: it may take effect at any moment from now on
 *   monitor_end       it was answered so: ways in which it cannot have been answered so are dropped
 *   monitor_failed    it was answered "certainly not applied"
 *   (never ended)     its outcome is unknown: it takes effect at some later moment, or never
 *
 * When no way is left, the history is wrong. A record has three fields; a monitor watches some of them. An
 * operation that a monitor need not see as one atomic step is begun as several.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FIELDS 3
#define MONITOR_OPS 6
#define MONITOR_WAYS 24

/* What an operation does to a record, in one step. Values are 0 (absent) to 15. */
typedef struct spec_op {
    uint8_t writes;         /* bits: fields that are set to values[] */
    uint8_t values[FIELDS]; /* 0 removes */
    uint8_t conditional;    /* only if field `on` has the value `equals`; the result says whether */
    uint8_t on;
    uint8_t equals;
    uint8_t increments; /* bits: 1 is added to these fields; the result is their values then */
    uint8_t reads;      /* bits: the result is their values */
    uint8_t view;       /* seen only by monitors of this view; 0: by all */
} spec_op;

/* The operations under way; several monitors may watch the same ones. */
typedef struct spec_ops {
    spec_op ops[MONITOR_OPS];
    uint8_t used; /* bits */
} spec_ops;

/* One way: 16 bits of state and, for each operation, whether it has taken effect and with which result. */
typedef unsigned __int128 monitor_way;

typedef struct monitor {
    monitor_way ways[MONITOR_WAYS]; /* sorted */
    uint8_t count;
    uint8_t fields; /* bits: those it watches */
    uint8_t view;   /* one of several ways to read the record */
    uint8_t padding[13];
} monitor;

void monitor_init(monitor *of, uint8_t fields, uint8_t view);

/* A free number for an operation; -1: none. */
int spec_begin(spec_ops *all, spec_op op);

/* `result`: 4 bits for each field (of reads and increments), or 1 and 0 (of conditions). False: wrong. Call
 * it for every monitor, then spec_end. */
bool monitor_end(monitor *of, const spec_ops *all, int number, uint16_t result);
bool monitor_failed(monitor *of, const spec_ops *all, int number);
void spec_end(spec_ops *all, int number);

/* Could a read of everything give these values now? */
bool monitor_could_read(const monitor *of, const spec_ops *all, uint16_t values);
