/* What callers did and which results they got: operations, and files of them.
 *
 * A record has four fields: two texts and two counters. The value of a text is a number that no other write
 * of the history uses. Times are of one monotonic clock.
 *
 *   begin          end       OK:      it took effect at one moment in between
 *     |--put a=7----|        FAILED:  never
 *                            UNKNOWN: at some moment after begin, or never; end is OPERATION_NEVER
 *
 * In a table with hint paths, each text has a *side*, even or odd, in a field of its own. Sets of sides are
 * bits; a bit is 1 if the side is odd. The hint paths have these fields in their keys:
 *
 *   1  the side of the first text      3  the first text
 *   2  the sides of both texts         4  both texts
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define OPERATION_FIELDS 4
#define OPERATION_NEVER UINT64_MAX
#define OPERATION_ABSENT INT64_MIN    /* the value of a field that does not exist */
#define OPERATION_ANY (INT64_MIN + 1) /* a value that is not known */

typedef enum operation_kind {
    OPERATION_PUT,       /* fields = values */
    OPERATION_REMOVE,    /* fields; with all fields, the record */
    OPERATION_GET,       /* fields: values were read */
    OPERATION_PUT_IF,    /* fields = values if field `on` is `expected`; see `applied` */
    OPERATION_INCREMENT, /* fields += values; returns results */
    OPERATION_ROW,  /* a row of the scan with number `scan`: values were read; results[0] is the number of its
                       page. Of a hint path: it was read between begin and end */
    OPERATION_SCAN, /* the whole scan with number `scan`; values[0] is its row count, results[0] the number
                       of pages */
    OPERATION_NUMBER,  /* the gateway generated the number values[0] */
    OPERATION_VERSION, /* a version in the read with number `scan`, the newest first: values; its timestamp is
                          results[0] */
    OPERATION_FIND,    /* a read by the hint path `view` with the record and all sides of the path bound: the
                          sides are `expected`, the texts `results`; applied: the record was found; values were
                          read */
    OPERATION_VERSIONS, /* the whole read with number `scan`: values are those of the newest version,
                           results[0] is the number of versions */
    OPERATION_KINDS
} operation_kind;

typedef enum operation_outcome { OPERATION_OK, OPERATION_FAILED, OPERATION_UNKNOWN } operation_outcome;

typedef struct operation {
    uint32_t caller;
    uint32_t record;
    uint32_t view; /* of reads: 0 the primary path, 1 a second path; of finds, scans and their rows: 0 the
                      primary path, or the number of the hint path */
    uint32_t scan;
    operation_kind kind;
    operation_outcome outcome;
    uint8_t fields; /* bits */
    uint8_t on;   /* put_if: a field; find, and scan of a hint path: the texts whose sides are bound, bits */
    bool applied; /* put_if: the condition was met; get of all fields: the record exists; scan: only records
                     whose first text is even were asked for; find: the record was found */
    bool last;    /* a read after all other operations had ended */
    int64_t expected; /* put_if: a value; find, and scan of a hint path: the bound sides */
    int64_t values[OPERATION_FIELDS];
    int64_t results[OPERATION_FIELDS];
    uint64_t begin_ns;
    uint64_t end_ns;
} operation;

/* The texts that the key of a hint path has, or whose sides it has; bits. */
static inline uint8_t
operation_path_fields(uint32_t view)
{
    return view % 2 ? 1 : 3;
}

/* True if the hint path has texts in its key, not their sides. */
static inline bool
operation_is_of_texts(uint32_t view)
{
    return view > 2;
}

/* The side of a text with this value: 0 or 1. */
static inline unsigned
operation_side(int64_t value)
{
    return (unsigned)(value & 1);
}

/* An array of operation. */
typedef GArray operations;

operations *operations_new(void);
static inline operation *
operation_at(const operations *all, guint index)
{
    return &g_array_index(all, operation, index);
}

/* One line per operation, readable for people too. */
void operations_save(const operations *all, const char *file);
operations *operations_load(const char *file); /* ends the program if the file is invalid */
char *operation_text(const operation *of);     /* g_free */
