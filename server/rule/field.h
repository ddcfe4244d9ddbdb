/* The fields of a table: what a key rule and the cells of a row need to know of them. */
#pragma once

#include "base/bytes.h"
#include "config/model.h"
#include "rule/record.h"

typedef struct kw_field kw_field;
struct kw_field {
    const char *name;
    kw_field_type type;
    kw_time_unit unit;
    bool identity;       /* feeds the primary key: needed to name one record */
    bool stored;         /* has a column */
    bool in_primary_key; /* can be decoded from the primary row key */
    kw_bytes family;     /* when stored */
    kw_bytes qualifier;
    kw_cell_form form;
    bool counter;     /* may be incremented; of a map its entries */
    size_t max_bytes; /* 0: none */
    const kw_model_field *model;
    /* Of a map: its values as a field of their own, with the map's name. A map's columns are those that begin
     * with its qualifier and are longer; what is behind it is an entry's name. */
    const kw_field *entry;
};

/* All fields of a table. Records over it have one slot per field, in this order. */
typedef struct kw_field_set {
    const char *name; /* of the table, for messages */
    const kw_field *fields;
    size_t fields_count;
} kw_field_set;

/* The longest name or value, in bytes, for which similar ones are searched. */
#define KW_GUESS_MAX 200

/* Index of the field, or -1. */
int kw_field_set_find(const kw_field_set *set, kw_bytes name);

/* "did you mean" for an unknown name; NULL when no name is similar. */
const char *kw_field_set_nearest(const kw_field_set *set, kw_bytes name);

/* A record with every slot absent. */
kw_record kw_record_over(const kw_field_set *set, kw_arena *arena);
