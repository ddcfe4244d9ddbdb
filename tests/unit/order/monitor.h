/* Checks linearizability during the execution (Wing and Gong, "Testing and Verifying Concurrent Objects",
 * 1993; Lowe's just-in-time linearization, 2017). A monitor keeps the set of all possible linearizations of
 * the operations so far.
 *
 *   spec_begin       an operation has started: it can take effect at any moment from now on
 *   monitor_end      it was answered: linearizations with another result are dropped
 *   monitor_failed   it was answered "certainly not applied"
 *   (never ended)    its outcome is unknown: it takes effect later or never
 *
 * If no linearization is left, the history is wrong. A record has three fields; a monitor watches some of
 * them. An operation that a monitor need not see as one atomic step is started as several.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FIELDS 3
#define MONITOR_OPS 6
#define MONITOR_STATES_MAX 24

/* The effect of an operation on a record, in one step. Values are 0 (absent) to 15. */
typedef struct spec_op {
    uint8_t writes;         /* bits: the fields set to values[] */
    uint8_t values[FIELDS]; /* 0 removes */
    uint8_t conditional;    /* only if field `on` has the value `equals`; the result says if it has */
    uint8_t on;
    uint8_t equals;
    uint8_t increments; /* bits: adds 1 to these fields; the result is their new values */
    uint8_t reads;      /* bits: the result is their values */
    uint8_t matches;    /* bits: the result is 1 if these fields have the values in values[], else 0 */
    uint8_t view;       /* only monitors of this view see it; 0: all do */
} spec_op;

/* The operations in progress; several monitors can watch them. */
typedef struct spec_ops {
    spec_op ops[MONITOR_OPS];
    uint8_t used; /* bits */
} spec_ops;

/* A linearization: 16 bits of state and, for each operation, whether it has taken effect and its result. */
typedef unsigned __int128 linearization;

typedef struct monitor {
    linearization linearizations[MONITOR_STATES_MAX]; /* sorted */
    uint8_t count;
    uint8_t fields; /* bits: the watched fields */
    uint8_t view;   /* which of several copies of the record is watched */
    uint8_t padding[13];
} monitor;

void monitor_init(monitor *of, uint8_t fields, uint8_t view);

/* Starts an operation and returns its number; -1: there are too many. */
int spec_begin(spec_ops *all, spec_op op);

/* `result`: 4 bits for each field (of reads and increments), or 1 and 0 (of conditions and matches). False:
 * the history is wrong. Call it for every monitor, then spec_end. */
bool monitor_end(monitor *of, const spec_ops *all, int number, uint16_t result);
bool monitor_failed(monitor *of, const spec_ops *all, int number);
void spec_end(spec_ops *all, int number);

/* True if a read of everything can return these values now. */
bool monitor_could_read(const monitor *of, const spec_ops *all, uint16_t values);
