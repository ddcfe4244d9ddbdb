/* Tuples: what a write of a record means for its hint paths (README.md). Pure.
 *
 *   fields of a path that are not in the identity   ^ its tuple
 *   fields that a put gives                         ^ the put is full, partial or outside for the path
 */
#pragma once

#include "base/ordering.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fields of a record; bits. Only fields that are in the tuple of a path have a number. */
typedef uint64_t kw_hint_fields;

typedef enum kw_hint_part {
    KW_HINT_OUTSIDE, /* no field of the tuple */
    KW_HINT_PARTIAL, /* some of them */
    KW_HINT_FULL     /* all of them */
} kw_hint_part;

typedef struct kw_hint_put {
    /* PARTIAL: for at least one path. FULL: for every path that it touches. OUTSIDE: of all paths. */
    kw_hint_part part;
    /* The fields of all paths that it touches. A path that shares a field with one of them counts as touched,
     * too: a partial put writes the shared field, and the cells of each tuple must have one timestamp. */
    kw_hint_fields touched;
} kw_hint_put;

kw_hint_part kw_hint_part_of(kw_hint_fields tuple, kw_hint_fields given);
/* tuples: those of all hint paths of the table. */
kw_hint_put kw_hint_put_of(const kw_hint_fields *tuples, size_t count, kw_hint_fields given);

/* What the mutation of a partial put does with a field. */
typedef enum kw_hint_mutation {
    KW_HINT_LEAVE,
    KW_HINT_WRITE_GIVEN,
    KW_HINT_WRITE_SEEN, /* the value that was read */
    KW_HINT_WRITE_GONE  /* removes it up to kw_hint_gone_until, with a gone cell */
} kw_hint_mutation;

/* seen: the fields that the row had. */
kw_hint_mutation kw_hint_mutation_of(kw_hint_put put, unsigned field, kw_hint_fields given,
                                     kw_hint_fields seen, kw_write_order order);
/* Of a field that is absent. A full put with the same stamp must show whole: one with a lower stamp must not
 * show at all. */
int64_t kw_hint_gone_until(int64_t stamp_ms);

/* True if a write needs the hint of the tuple that it leaves. seen: the fields that the row had (a full put
 * has read nothing: 0). changed: the given fields whose values differ from those that were read. expires: the
 * hints of the path have a TTL: then a tuple that is written again needs a new hint, which expires later. */
bool kw_hint_is_needed(kw_hint_fields tuple, kw_hint_fields seen, kw_hint_fields given,
                       kw_hint_fields changed, bool expires);
