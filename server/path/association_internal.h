/* Private to association.c and association_forget.c: the lookup of one record. */
#pragma once

#include "path/association.h"

/* Maximum number of conditional writes of one call in flight. */
#define KW_ASSOCIATION_WRITES_MAX 32

/* The lookups of one call. */
typedef struct kw_association_group kw_association_group;

struct kw_association_lookup {
    kw_association_group *group;
    const kw_record *record;
    kw_association_entry *entry;
    kw_bytes *keys;      /* by placement number; empty: it chooses no bucket, or the key is not known yet */
    kw_bytes *defaults;  /* default keys by placement number; empty: not computed yet */
    bool *has_cell;      /* by placement number: the association has a cell with the key */
    int64_t *written_ms; /* by placement number: timestamp of the association's cell */
    kw_bytes row;        /* row key in the association */
    unsigned tries;      /* writes that were not applied, or whose outcome is unknown */
    kw_get get;
    kw_write write;
    kw_check check;
};

/* Returns the qualifier of the column that holds the key of a placement. Layouts have different row keys, so
 * each one has its own column. */
kw_bytes kw_association_qualifier(const kw_placement *placement, kw_arena *arena);

/* Computes defaults[number] unless it has been computed. */
bool kw_association_default_key(kw_association_lookup *lookup, size_t number, kw_error *ret_error);
