/* The policy snapshot: every table with its compiled layouts, immutable and reference counted.
 *
 * Made from a kw_model; swapped whole at reload. Read-only from every room and thread.
 */
#pragma once

#include "base/ordering.h"
#include "config/model.h"
#include "rule/field.h"
#include "rule/layout.h"
#include "rule/record.h"

/* What of a record a call means: a field, or one entry of a map. */
typedef struct kw_pick {
    size_t field;
    kw_bytes entry; /* its name; empty: the whole field */
} kw_pick;

typedef struct kw_table kw_table;

typedef struct kw_path {
    const kw_table *table;
    const char *name;
    kw_bytes store_table;    /* "ns:name" or "name" */
    const kw_layout *layout; /* the one that writes go to */
    const kw_model_path *model;
    /* What the catalog says that it holds, "complete"; NULL: nobody asked the catalog. The main thread sets
     * these two while others read them. */
    _Atomic(const char *) state;
    _Atomic bool verified; /* its rows were compared with the primary path's, or written under the catalog */
} kw_path;

struct kw_table {
    const char *name;
    size_t number; /* index in the policy */
    const kw_field *fields;
    size_t fields_count;
    const kw_field_set *field_set; /* the same fields, as key rules see them */
    const kw_path *paths; /* [0] is the primary path; the association stands behind the paths_count-th */
    size_t paths_count;
    size_t stores_count;        /* paths with the association: each has a store table */
    const kw_path *association; /* its rows tell where each record's rows are; NULL: none */
    kw_ordering ordering;       /* of the rows that hold records; the association's are not ordered by it */
    bool chosen;                /* some path's rows do not follow from the record: see kw_layout_choice */
    kw_bytes default_family;
    kw_bytes marker_family; /* of the cell that shows that a record exists */
    kw_bytes marker_qualifier;
    kw_bytes marker_value;
    bool marks_all;     /* every put writes it; else only one without a stored value */
    int64_t lifetime_s; /* after which nothing is left of a record that was not put again; 0: it stays */
    const kw_model_table *model;
    const size_t *generated; /* fields that the gateway makes when a put has none */
    size_t generated_count;
};

typedef struct kw_policy kw_policy;

/* A rule that this version refuses in new layouts, such as one under which two records can share a row key,
 * though rows can exist that were written under it. A policy with hazards compiles: whoever serves it decides
 * by the layouts that the store's catalog has; everyone else reports hazards as errors. */
typedef struct kw_hazard {
    const kw_table *table;
    const kw_path *path; /* whose layout it is about; NULL: the whole table */
    kw_mark mark;
    const char *text; /* what is wrong */
    const char *hint; /* what to do */
} kw_hazard;

/* Compiles every rule; problems (unknown field, a rule in which two records could share a key, a
 * secondary path whose fields are not those of the primary key, ...) go to diagnostics with their
 * places, and NULL is returned. Keeps a reference on the model. */
kw_policy *kw_policy_new(kw_model *model, kw_diagnostics *diagnostics);
/* In the order of the tables. */
size_t kw_policy_hazards_count(const kw_policy *policy);
const kw_hazard *kw_policy_hazard(const kw_policy *policy, size_t index);
/* Adds an error for each hazard. True when there is none. */
bool kw_policy_refuse_hazards(const kw_policy *policy, kw_diagnostics *diagnostics);

/* Adds warnings about rules that are correct, but likely to be regretted: buckets that few ids in sequence
 * reach, keys that begin with the time, rows that are in no order, ... Hashes some hundred thousand values.
 */
void kw_policy_warn(const kw_policy *policy, kw_diagnostics *diagnostics);

kw_policy *kw_policy_ref(kw_policy *policy);
void kw_policy_unref(kw_policy *policy);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_policy, kw_policy_unref)

kw_model *kw_policy_model(const kw_policy *policy);
int64_t kw_policy_loaded_at_ms(const kw_policy *policy);
void kw_policy_set_loaded_at_ms(kw_policy *policy, int64_t wall_ms);

/* state is a constant text. */
void kw_policy_set_path_state(kw_policy *policy, size_t table, size_t path, const char *state, bool verified);

/* What the policy says, or its default: store for one path, stamp for several. */
kw_write_order kw_table_default_order(const kw_table *table);
/* The order that the catalog has, where the policy names none. A policy in service already has it. */
void kw_policy_set_order(kw_policy *policy, size_t table, kw_write_order order);

size_t kw_policy_table_count(const kw_policy *policy);
const kw_table *kw_policy_table(const kw_policy *policy, size_t index);
/* NULL when there is none. */
const kw_table *kw_policy_find_table(const kw_policy *policy, kw_bytes name);
/* "did you mean" for an unknown name, NULL when none is near. */
const char *kw_policy_nearest_table(const kw_policy *policy, kw_bytes name);

/* Index of the field, or -1. */
int kw_table_find_field(const kw_table *table, kw_bytes name);
const char *kw_table_nearest_field(const kw_table *table, kw_bytes name);
/* Index of the path, or -1; the association is none. */
int kw_table_find_path(const kw_table *table, kw_bytes name);
/* The same, the association among them. */
int kw_table_find_store(const kw_table *table, kw_bytes name);

/* The field stored in this column, or one of whose entries is, or -1. */
int kw_table_find_column(const kw_table *table, kw_bytes family, kw_bytes qualifier);

/* --- maps; map.c --- */

/* Is it a column of this map? */
bool kw_field_has_column(const kw_field *map, kw_bytes family, kw_bytes qualifier);

/* "status", "followed.bob": a field, or an entry of a map behind a dot. False: there is none. */
bool kw_table_find_pick(const kw_table *table, kw_bytes name, kw_pick *ret_pick);
/* What the pick's values are read and written as: the field itself, or a map's entry. */
const kw_field *kw_pick_field(const kw_table *table, kw_pick pick);
/* Of its column; without an entry a map's prefix. */
kw_bytes kw_pick_qualifier(const kw_table *table, kw_pick pick, kw_arena *arena);
/* "followed.bob", for messages; cut where it is long. */
const char *kw_pick_text(const kw_table *table, kw_pick pick, kw_arena *arena);

/* Puts the entries of a map in order; false and the name when one is there twice. */
bool kw_entries_sort(kw_entry *entries, size_t count, kw_bytes *ret_twice);

/* --- records --- */

/* A record with every slot absent. */
kw_record kw_record_new(const kw_table *table, kw_arena *arena);

/* Is this value of the field's type, within max_bytes, one of the declared values, valid UTF-8 for a
 * string? INVALID naming table, field and reason. An int field takes NUMBER, a double also a NUMBER. */
bool kw_table_check_value(const kw_table *table, size_t field, kw_value value, kw_error *ret_error);
/* The same of what a pick means: of an entry its name, too. */
bool kw_table_check_pick(const kw_table *table, kw_pick pick, kw_value value, kw_error *ret_error);

/* Cell value of a stored field (kw_cell_form), and back. A double in a form of 4 bytes becomes the nearest
 * float. CORRUPT when the bytes cannot be that type. */
kw_bytes kw_field_encode_cell(const kw_field *field, kw_value value, kw_arena *arena);
bool kw_field_decode_cell(const kw_table *table, const kw_field *field, kw_bytes cell, kw_arena *arena,
                          kw_value *ret_value, kw_error *ret_error);

/* Qualifier of the marker cell when the policy names none: a record without any stored value gets it in the
 * default family, so that its row exists (Phoenix writes "_0" for the same reason): the empty qualifier. */
#define KW_MARKER_QUALIFIER KW_BYTES_NONE
