/* The fields of a table, as key rules and the cells of a row need them. */
#pragma once

#include "base/bytes.h"
#include "config/model.h"
#include "rule/record.h"

typedef struct kw_field kw_field;
struct kw_field {
    const char *name;
    kw_field_type type;
    kw_time_unit unit;
    bool identity;       /* part of the primary key: needed to identify one record */
    bool stored;         /* has a column */
    bool in_primary_key; /* can be decoded from the primary row key */
    kw_bytes family;     /* if stored */
    kw_bytes qualifier;
    kw_cell_form form;
    bool counter;     /* can be incremented; for a map: its entries */
    size_t max_bytes; /* 0: no limit */
    const kw_model_field *model;
    /* Of a map: its values as a field of their own, with the map's name. A map's columns are those that begin
     * with its qualifier and are longer; the rest is the entry's name. */
    const kw_field *entry;
};

/* All fields of a table. Its records have one slot per field, in this order. */
typedef struct kw_field_set {
    const char *name; /* of the table, for messages */
    const kw_field *fields;
    size_t fields_count;
} kw_field_set;

/* Longest name or value, in bytes, for which similar ones are searched. */
#define KW_GUESS_MAX 200

/* Index of the field, or -1. */
int kw_field_set_find(const kw_field_set *set, kw_bytes name);

/* A similar name to suggest for an unknown one; NULL if there is none. */
const char *kw_field_set_nearest(const kw_field_set *set, kw_bytes name);

/* A record with every slot absent. */
kw_record kw_record_over(const kw_field_set *set, kw_arena *arena);
