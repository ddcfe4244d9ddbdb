/* What callers did and were told: one operation each, and a file of them.
 *
 * A record has four fields: two texts and two counters. A text's value is a number that no other write of the
 * history uses; a counter's is what it is. Times are of one monotonic clock.
 *
 *   begin          end       OK:      it took effect at one moment in between
 *     |--put a=7----|        FAILED:  never
 *                            UNKNOWN: at some moment after begin, or never; end is OPERATION_NEVER
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define OPERATION_FIELDS 4
#define OPERATION_NEVER UINT64_MAX
#define OPERATION_ABSENT INT64_MIN /* the value of a field that is not there */

typedef enum operation_kind {
    OPERATION_PUT,       /* fields = values */
    OPERATION_REMOVE,    /* fields; all of them: the record */
    OPERATION_GET,       /* fields: values were read */
    OPERATION_PUT_IF,    /* fields = values if field `on` is `expected`; applied says whether */
    OPERATION_INCREMENT, /* fields += values; results were told */
    OPERATION_ROW,       /* a row of a scan: values were read; `scan` says of which */
    OPERATION_SCAN,      /* a whole scan: `scan`; rows are its count */
    OPERATION_NUMBER,    /* the gateway made the number values[0] */
    OPERATION_KINDS
} operation_kind;

typedef enum operation_outcome { OPERATION_OK, OPERATION_FAILED, OPERATION_UNKNOWN } operation_outcome;

typedef struct operation {
    uint32_t caller;
    uint32_t record;
    uint32_t view; /* reads: 0 the record itself, 1 a further path */
    uint32_t scan;
    operation_kind kind;
    operation_outcome outcome;
    uint8_t fields; /* bits */
    uint8_t on;
    bool applied; /* of a condition: it was met; of a get of all fields: there is such a record */
    bool last;    /* read when nothing was under way any more */
    int64_t expected;
    int64_t values[OPERATION_FIELDS];
    int64_t results[OPERATION_FIELDS];
    uint64_t begin_ns;
    uint64_t end_ns;
} operation;

/* An array of operation. */
typedef GArray operations;

operations *operations_new(void);
static inline operation *
operation_at(const operations *all, guint index)
{
    return &g_array_index(all, operation, index);
}

/* One line each, for people as well. */
void operations_save(const operations *all, const char *file);
operations *operations_load(const char *file); /* ends the program when the file is not one of these */
char *operation_text(const operation *of);     /* g_free */
