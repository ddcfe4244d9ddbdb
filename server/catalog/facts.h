/* Facts: what determines whether rows written under one policy are decoded correctly under another.
 *
 * The catalog keeps one kw_facts for each table: its fields with type, unit, encoding and column, the marker
 * cell, and each path's placements (layout, key rule, store table, state). The same struct is built from a
 * policy's table, so that the two can be compared (compare.h). Plain data: everything lives in one arena.
 */
#pragma once

#include "schema/policy.h"

#include <glib.h>

/* Which of its table's records a placement holds. */
typedef enum kw_placement_state {
    KW_PLACEMENT_ABSENT,   /* none; as if it were not listed */
    KW_PLACEMENT_FILLING,  /* not every record, while a key rule changes or the path is being added. Also used
                              while the path is being dropped. Scans do not read it */
    KW_PLACEMENT_COMPLETE, /* every record */
    KW_PLACEMENT_RETIRED,  /* old rows; neither written nor read */
    KW_PLACEMENT_FORGETTING /* retired, and its rows are being dropped */
} kw_placement_state;

typedef struct kw_placement_facts {
    uint32_t layout;
    const char *fingerprint; /* of the key rule, 64 hex digits */
    const char *rule;        /* its description, one component per line; "" if unknown */
    const char *store_table; /* "ns:name" or "name", never "default:name" */
    kw_placement_state state;
    bool verified; /* its rows were compared with the primary path's, or it had no rows when the catalog
                      recorded it */
    int64_t checked_rows;  /* a sample of so many rows was checked when the catalog recorded the placement; 0:
                              none was */
    int64_t checked_at_ms; /* when, by the gateway's clock */
    int64_t retired_by; /* started_ms of the change that retired it, in a store with several writers; 0: none
                           did */
} kw_placement_facts;

typedef struct kw_path_facts {
    const char *name;
    bool association; /* maps records to row keys; holds no records */
    bool unique;      /* with hints: no two records have the same values of the key's fields */
    bool hints;       /* leads to the primary path by fields that can change; holds no records */
    kw_placement_facts *placements;
    size_t placements_count;
} kw_path_facts;

typedef struct kw_field_facts {
    const char *name;
    const char *type;      /* "int", "timestamp ms", "map of string", ... */
    const char *encoding;  /* of the cell; "" if the field has no column */
    const char *family;    /* "" if the field has no column */
    const char *qualifier; /* as text with \xNN; for a map the prefix */
    bool map;
    bool key;     /* used by a key rule */
    bool counter; /* can be incremented; for a map: its entries */
    bool removed; /* the policy no longer has it; its cells can still exist */
} kw_field_facts;

typedef struct kw_facts {
    const char *table;
    const char *marker; /* "family:qualifier=value always" or without "always" */
    const char *order;  /* "store" or "stamp"; "" in an entry of a release without the setting */
    bool order_given;   /* the policy names it; not stored in the catalog */
    bool atomics; /* increments and conditional writes leave a control cell; with order "stamp" all writes */
    bool changing_atomics; /* a change allows or forbids them (kw_change_record.atomics); `atomics` has the
                              value from before the change */
    int atomics_given;     /* what the policy says: -1: nothing, 0, 1; not stored in the catalog */
    kw_field_facts *fields;
    size_t fields_count;
    kw_path_facts *paths; /* [0] is the primary path */
    size_t paths_count;
} kw_facts;

/* The facts of a policy's table. All placements are verified. They are COMPLETE, except those that a change
 * fills, and those of paths that are being dropped. Paths that are being dropped follow the others. */
kw_facts *kw_facts_of_table(const kw_table *table, kw_arena *arena);

/* Converts to and from JSON. CORRUPT, with the beginning of the text, if it is not JSON, or if required
 * members are absent or malformed. */
kw_bytes kw_facts_print(const kw_facts *facts, kw_arena *arena);
bool kw_facts_parse(kw_bytes text, kw_arena *arena, kw_facts **ret_facts, kw_error *ret_error);

/* "absent", "filling", "complete", "retired", "forgetting". */
const char *kw_placement_state_name(kw_placement_state state);

/* NULL if there is none. */
const kw_path_facts *kw_facts_find_path(const kw_facts *facts, const char *name);
const kw_field_facts *kw_facts_find_field(const kw_facts *facts, const char *name);
/* True if the placement is in use, possibly only in other versions of a change: COMPLETE or FILLING. */
bool kw_placement_facts_is_live(const kw_placement_facts *placement);
/* The first live placement; NULL if the path has none. */
const kw_placement_facts *kw_path_facts_serving(const kw_path_facts *path);
/* A path has two live placements while its key rule changes. */
size_t kw_path_facts_count_live(const kw_path_facts *path);
/* True if the path has two live placements, or one that is FILLING. */
bool kw_path_facts_is_changing(const kw_path_facts *path);
/* The live placement with this one's layout, key rule and store table; NULL if there is none. */
const kw_placement_facts *kw_path_facts_find_live(const kw_path_facts *path,
                                                  const kw_placement_facts *placement);

/* Appends the store tables of all placements that are not absent to `to` (of const char *). */
void kw_facts_list_store_tables(const kw_facts *facts, GPtrArray *to);

/* "d:status", "d:followed.*"; "the row key alone" for a field without a column. */
const char *kw_field_facts_column(const kw_field_facts *field, kw_arena *arena);

/* A digest of what two gateways must have in common to serve the table at the same time: paths, live
 * placements, marker and counters and, with order: store, whether atomic operations are allowed. Other fields
 * are not included, because the catalog merges those of several policies; neither is the place of a change,
 * which gateways report (changes.h). The digest is a SHA-256 as 64 hex digits, in the arena. If the policy
 * names an order, a space and the order follow. If it says whether atomic operations are allowed, " atomics"
 * or " no-atomics" follows. */
const char *kw_facts_digest(const kw_facts *facts, kw_arena *arena);

/* True if another gateway serves the table in the same way as this one.
 *
 *   theirs     the digest of the other gateway
 *   wanted     the facts of this gateway's policy, or another form of them that is accepted during a change
 *   recorded   the catalog's previous facts; NULL: none
 *   merged     the facts that the catalog has once this gateway's policy is admitted
 *
 * A gateway whose policy names no order uses the catalog's, or the default one. The same applies to atomic
 * operations with order: stamp. While a change allows or forbids atomic operations, what the other policy
 * says about them is ignored. */
bool kw_facts_agree(const char *theirs, const kw_facts *wanted, const kw_facts *recorded,
                    const kw_facts *merged, kw_arena *arena);
