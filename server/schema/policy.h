/* The policy snapshot: every table with its compiled layouts, immutable and reference counted.
 *
 * Compiled from a kw_model; replaced as a whole at reload. Read-only for every module and thread.
 */
#pragma once

#include "base/error.h"
#include "base/ordering.h"
#include "config/model.h"
#include "rule/field.h"
#include "rule/layout.h"
#include "rule/record.h"

/* The part of a record that a call addresses: a field, or one entry of a map. */
typedef struct kw_pick {
    size_t field;
    kw_bytes entry; /* its name; empty: the whole field */
} kw_pick;

/* What a change that is under way does with a table. */
typedef enum kw_table_change {
    KW_TABLE_UNCHANGED,
    KW_TABLE_MOVES,         /* a path gets another key rule, and has two placements */
    KW_TABLE_ADDS,          /* paths are added: rows are written to them, and copied */
    KW_TABLE_DROPS,         /* paths are dropped: only writes use their placements (kw_path_is_dropped) */
    KW_TABLE_TURNS_ATOMICS, /* atomic operations become allowed or forbidden; all writes leave control cells
                               (store/control.h) */
} kw_table_change;

typedef struct kw_table kw_table;
typedef struct kw_path kw_path;

/* What operations do with the rows of a placement. */
typedef struct kw_role {
    uint8_t put;    /* 1: puts write these rows first, 2: after those with 1, and so on; 0: they do not */
    uint8_t remove; /* the same for removals */
    bool get;       /* gets read these rows. If they read both placements of a path, the newest of each cell
                       counts, and is written to the placement that lacks it (kw_get.other) */
    bool scan;      /* scans read these rows; one placement of a path at a time */
} kw_role;

/* What the rows of a placement hold. */
typedef enum kw_content {
    KW_CONTENT_RECORDS,  /* each row is a record; roles say what operations do with it */
    KW_CONTENT_LOCATORS, /* each row has the row keys of a record in the placements whose rule chooses a
                            bucket at each put: an association (path/association.h) */
    KW_CONTENT_HINTS     /* a row key has fields that can change, and says that the record has or had these
                            values; the record is in the primary path (server/hint/README.md). The rows of a
                            unique path are claims */
} kw_content;

/* Which records a placement holds: all, or those with one value of a field. Every placement holds all at
 * present. */
typedef struct kw_scope {
    const kw_field *field; /* NULL: all records */
    kw_value value;
} kw_scope;

/* One copy of a path's rows: one layout in one store table. A path has one; while its key rule changes, it
 * has one for the old rule and one for the new rule. */
typedef struct kw_placement {
    const kw_path *path;
    size_t number; /* index in the table's placements */
    const kw_layout *layout;
    kw_bytes store_table; /* "ns:name" or "name" */
    kw_content content;   /* that of the path */
    kw_scope scope;
    kw_role role;
    const size_t *tuple; /* with HINTS: numbers of the fields in its key that are not in the identity */
    size_t tuple_count;
    bool complete; /* has every acknowledged write, so that scans and earlier cursors can read it */
} kw_placement;

/* Maximum number of fields that can change in the keys of all paths of a table. */
#define KW_TUPLE_FIELDS_MAX 64
#define KW_IN_NO_TUPLE UINT8_MAX

struct kw_path {
    const kw_table *table;
    const char *name;
    kw_content content;
    bool
        unique; /* with HINTS: the key is the tuple; a row is a claim, and names the one record that has it */
    const kw_placement *placements; /* [0] is the one that the policy describes */
    size_t placements_count;
    kw_bytes store_table;    /* of placements[0] */
    const kw_layout *layout; /* of placements[0] */
    const kw_model_path *model;
    struct kw_path_progress *progress; /* beside the snapshot: schema/progress.h */
};

struct kw_table {
    const char *name;
    size_t number; /* index in the policy */
    const kw_field *fields;
    size_t fields_count;
    const kw_field_set *field_set; /* the same fields, as key rules use them */
    const kw_path *paths;          /* [0] is the primary path */
    size_t paths_count;
    size_t queried_paths_count; /* these come first: queries can use them */
    size_t hint_paths_count;    /* with KW_CONTENT_HINTS; among the queried ones, never the first */
    const uint64_t *tuples;     /* of the placements with hints that puts write: a bit for each field */
    size_t tuples_count;
    const uint8_t *tuple_bits; /* by field: the number of its bit in `tuples`; KW_IN_NO_TUPLE: it has none */
    uint64_t unique_fields;    /* those of the tuples of unique paths */
    const kw_placement *locators; /* of the association; NULL: the table has none */
    const kw_placement
        *placements; /* of all paths, in their order; then those of paths that are being dropped */
    size_t placements_count;
    kw_table_change change;            /* that is under way */
    const kw_regime *regime_of_change; /* applies whatever policy and catalog say; NULL: no change sets one */
    kw_ordering ordering; /* of placements with records; those with locators are not subject to it */
    bool chosen;          /* some path's rows do not follow from the record: see kw_layout_choice */
    kw_bytes default_family;
    kw_bytes marker_family; /* of the cell that shows that a record exists */
    kw_bytes marker_qualifier;
    kw_bytes marker_value;
    bool marks_all;     /* true: every put writes it; false: only a put without a stored value */
    int64_t lifetime_s; /* a record that is not put again has expired completely after this time; 0: it does
                           not expire */
    const kw_model_table *model;
    const size_t *generated; /* fields that the gateway generates if a put has no value */
    size_t generated_count;
    struct kw_table_progress *progress; /* beside the snapshot: schema/progress.h */
};

/* The layout number and the store table of a key rule. */
typedef struct kw_placed_rule {
    uint32_t layout;
    const char *store_table;
} kw_placed_rule;

/* Where the rows of a path are, if the policy's text says something else, because the path got another key
 * rule while it was served. Everything must live until kw_policy_new_placed returns, except the models, which
 * the policy references. */
typedef struct kw_placing {
    const char *table;
    const char *path;
    kw_placed_rule given;    /* the placing applies only if the text has this layout number and store table */
    kw_placed_rule now;      /* of the text's key rule; of a path that is dropped: of its own */
    kw_table_change change;  /* that is under way; the rest is only used with one */
    const kw_regime *regime; /* of the table; NULL: the change sets none */
    kw_model *old_model;     /* MOVES: has the path with its old key rule, `old`. DROPS: has the path */
    kw_placed_rule old;
    kw_role role;       /* of the rows of `now` */
    kw_role old_role;   /* MOVES: of those of `old`. ADDS and DROPS: of the primary path */
    bool both_complete; /* both have every acknowledged write: cursors of either are accepted */
} kw_placing;

/* The path as the policy's text has it: with the layout number and store table that the text names, which a
 * placing can replace. */
const kw_model_path *kw_path_text(const kw_path *path);

/* False if the key of the placement has a field that can change, and the record lacks it: then it has no row
 * there. */
bool kw_placement_has_record(const kw_placement *placement, const kw_record *record);

/* The names of the fields in its tuple, for example "created, status"; in the arena. */
const char *kw_placement_tuple_names(const kw_placement *placement, kw_arena *arena);

/* True if the path was added to a table with rows and does not have all of them yet: no query can read it. */
bool kw_path_is_filling(const kw_path *path);
/* True if the path is being dropped: the policy no longer has it, so it is not among the paths of its table,
 * but its placement is among those of the table, because writes reach it until no gateway reads the path. */
bool kw_path_is_dropped(const kw_path *path);
/* True while a change of the path is under way: it has two placements, or is being filled. */
bool kw_path_is_changing(const kw_path *path);
/* True if the row keys of the placement hold all identity fields. Otherwise a row without visible cells does
 * not show which record it belongs to. */
bool kw_placement_names_records(const kw_placement *placement);

/* The placement of a path that scans read. The path must not be one that is being filled. */
const kw_placement *kw_path_scanned(const kw_path *path);

typedef struct kw_policy kw_policy;

/* A problem of a whole rule, for example that two records can share a row key: an error for everything that
 * checks a policy. A policy with hazards nevertheless compiles, so that a gateway that starts can serve its
 * other tables (policy/hazards.h). */
typedef struct kw_hazard {
    const kw_table *table;
    const kw_path *path; /* whose layout has it; NULL: the whole table */
    kw_mark mark;
    const char *text; /* what is wrong */
    const char *hint; /* what to do */
} kw_hazard;

/* Compiles every rule. Problems (an unknown field, a rule under which two records could share a key, a
 * secondary path with other fields than the primary key, ...) are added to diagnostics with their positions,
 * and NULL is returned; also if diagnostics has problems already. Keeps a reference to the model. */
kw_policy *kw_policy_new(kw_model *model, kw_diagnostics *diagnostics);
/* The same for paths whose placements differ from the text. A path whose key rule is being changed gets two
 * placements: [0] under the text's key rule, [1] under the old one. Adds a problem for such a path if the
 * model does not have it, if it is the association, if the two rules do not identify the same records, if one
 * of them chooses buckets at each put, if they have the same store table or layout number, or if the fields
 * of the model give the old rule other row keys. Adds a problem if the model does not have a path that is
 * being added, or the path of a change of atomics, or has a path that is being dropped. Any other placing is
 * ignored if the model does not have its path. */
kw_policy *kw_policy_new_placed(kw_model *model, const kw_placing *placings, size_t count,
                                kw_diagnostics *diagnostics);
/* The same for a policy that is only checked, whose model can lack tables (kw_model_check_file): adds the
 * problems of all tables, and an error for each hazard. */
kw_policy *kw_policy_check(kw_model *model, kw_diagnostics *diagnostics);

/* In the order of the tables. */
size_t kw_policy_hazards_count(const kw_policy *policy);
const kw_hazard *kw_policy_hazard(const kw_policy *policy, size_t index);
/* Adds an error for each hazard. True if there are none. */
bool kw_policy_refuse_hazards(const kw_policy *policy, kw_diagnostics *diagnostics);

/* Adds warnings about rules that are correct but likely to cause trouble: buckets that sequential ids rarely
 * reach, keys that begin with the time, rows without an order, ... Hashes at most 409,600 values for each
 * component with buckets. */
void kw_policy_warn(const kw_policy *policy, kw_diagnostics *diagnostics);

kw_policy *kw_policy_ref(kw_policy *policy);
void kw_policy_unref(kw_policy *policy);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_policy, kw_policy_unref)

/* True if there is more than one reference. */
bool kw_policy_is_shared(const kw_policy *policy);

kw_model *kw_policy_model(const kw_policy *policy);
/* The version in the catalog; 0: the policy comes from a file, or the catalog has none yet. Set it before
 * other threads use the policy. */
int64_t kw_policy_version(const kw_policy *policy);
void kw_policy_set_version(kw_policy *policy, int64_t version);
int64_t kw_policy_loaded_at_ms(const kw_policy *policy);
void kw_policy_set_loaded_at_ms(kw_policy *policy, int64_t wall_ms);

/* --- circular calendars; paths.c --- */

/* Row keys of a circular calendar repeat. */
typedef struct kw_cycle {
    const char *calendar; /* the component, as text */
    int64_t period_s;
    int64_t ttl_most_s; /* of cells that must be gone when their row keys are used again; below 1: none is
                           short enough */
} kw_cycle;
/* False if the row keys do not repeat. */
bool kw_layout_cycle(const kw_layout *layout, const kw_model_table *model, kw_cycle *ret_cycle);
/* True if the cells of a family with these settings are gone when their row keys are used again. ttl_s 0:
 * they do not expire. */
bool kw_cycle_expires(const kw_cycle *cycle, int64_t ttl_s, int64_t min_versions);

/* The settings of a column family that the policy names; NULL: it names none with this name. */
const kw_model_family *kw_table_find_family(const kw_table *table, kw_bytes name);

/* The order of the policy, or its default: store for one path with records, stamp for several. */
kw_write_order kw_table_default_order(const kw_table *table);
/* True while rows of the table move to another key rule, or paths are added or dropped. */
bool kw_table_changes_rows(const kw_table *table);
/* Sets the order of writes that admission determined from the policy and the catalog, and whether atomic
 * operations are allowed. The order is ignored while a change sets the regime. Called before the table is in
 * service; for a table in service, the values must be those that it has. */
void kw_policy_set_order(kw_policy *policy, size_t table, kw_write_order order, bool atomics);

size_t kw_policy_table_count(const kw_policy *policy);
const kw_table *kw_policy_table(const kw_policy *policy, size_t index);
/* NULL if there is none. */
const kw_table *kw_policy_find_table(const kw_policy *policy, kw_bytes name);
/* A similar name to suggest for an unknown one, among those of the tables that `shown` accepts; NULL if
 * no name is similar. */
const char *kw_policy_nearest_table(const kw_policy *policy, kw_bytes name,
                                    bool (*shown)(const kw_table *table, const void *user), const void *user);

/* Index of the field, or -1. */
int kw_table_find_field(const kw_table *table, kw_bytes name);
const char *kw_table_nearest_field(const kw_table *table, kw_bytes name);
/* Index of the path, or -1. */
int kw_table_find_path(const kw_table *table, kw_bytes name);
/* The same for paths that queries can use: not for the association. */
int kw_table_find_queried_path(const kw_table *table, kw_bytes name);

/* The field stored in this column, or the map with an entry in it; -1: none. */
int kw_table_find_column(const kw_table *table, kw_bytes family, kw_bytes qualifier);

/* --- maps; map.c --- */

/* True if this column belongs to the map. */
bool kw_field_has_column(const kw_field *map, kw_bytes family, kw_bytes qualifier);

/* Parses "status" or "followed.bob": a field, or an entry of a map after a dot. False if there is no such
 * field. */
bool kw_table_find_pick(const kw_table *table, kw_bytes name, kw_pick *ret_pick);
/* The field that defines how the pick's values are read and written: the field itself, or a map's entry. */
const kw_field *kw_pick_field(const kw_table *table, kw_pick pick);
/* The qualifier of the pick's column; for a whole map its prefix. */
kw_bytes kw_pick_qualifier(const kw_table *table, kw_pick pick, kw_arena *arena);
/* "followed.bob", for messages; truncated if long. */
const char *kw_pick_text(const kw_table *table, kw_pick pick, kw_arena *arena);

/* Sorts the entries of a map; false with the name if one occurs twice. */
bool kw_entries_sort(kw_entry *entries, size_t count, kw_bytes *ret_twice);

/* --- records --- */

/* A record with every slot absent. */
kw_record kw_record_new(const kw_table *table, kw_arena *arena);

/* True if the value has the field's type and at most max_bytes, fits the field's column (which can have 4
 * bytes), is one of the declared values, and for a string is valid UTF-8; of a map, all entries are checked.
 * Otherwise INVALID naming table, field and reason. An int field accepts NUMBER, a double field also a
 * NUMBER. */
bool kw_table_check_value(const kw_table *table, size_t field, kw_value value, kw_error *ret_error);
/* The same check for a pick; for an entry also checks its name. */
bool kw_table_check_pick(const kw_table *table, kw_pick pick, kw_value value, kw_error *ret_error);

/* Encodes and decodes the cell value of a stored field (kw_cell_form). A double in a 4-byte form becomes the
 * nearest float. CORRUPT if the bytes cannot be that type. */
kw_bytes kw_field_encode_cell(const kw_field *field, kw_value value, kw_arena *arena);
bool kw_field_decode_cell(const kw_table *table, const kw_field *field, kw_bytes cell, kw_arena *arena,
                          kw_value *ret_value, kw_error *ret_error);

/* Qualifier of the marker cell if the policy names none: a record without stored values gets it in the
 * default family, so that its row exists (Phoenix writes "_0" for the same reason). It is empty. */
#define KW_MARKER_QUALIFIER KW_BYTES_NONE
