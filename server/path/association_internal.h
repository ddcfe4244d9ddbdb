/* Private to the association: a record that was looked up, for association.c and association_forget.c. */
#pragma once

#include "path/association.h"

/* Most conditional writes of one call in flight. */
#define KW_ASSOCIATION_WRITES_MAX 32

typedef struct kw_association_lookups kw_association_lookups;

struct kw_association_lookup {
    kw_association_lookups *all;
    const kw_record *record;
    kw_association_entry *entry;
    kw_bytes *keys;      /* by number of the placement; empty: no choice, or not known yet */
    kw_bytes *defaults;  /* default keys; empty: not computed yet */
    bool *held;          /* true if the association holds the key */
    int64_t *written_ms; /* timestamps of the association's cells */
    kw_bytes row;        /* row key in the association */
    unsigned tries;
    kw_get get;
    kw_write write;
    kw_check check;
};

/* The column of a placement. A new layout has other row keys, so it has its own column. */
kw_bytes kw_association_qualifier(const kw_placement *placement, kw_arena *arena);

/* Computes defaults[number], unless it is known. */
bool kw_association_default_key(kw_association_lookup *lookup, size_t number, kw_error *ret_error);
