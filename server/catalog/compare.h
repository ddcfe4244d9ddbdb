/* May a policy serve a table, given what the catalog says and which store tables hold rows? Pure.
 *
 *   recorded facts + wanted facts + rows found  ->  REFUSED with the difference and the way out
 *                                               ->  the facts that the catalog will keep
 *
 * The rule: rows that were written under the recorded facts must be found, and read right, under the wanted
 * ones. So a path that serves may not be added, moved or changed while the table holds rows, and a column may
 * not get another type. Dropping a path, adding a field and renaming one are allowed at any time.
 */
#pragma once

#include "catalog/facts.h"

typedef enum kw_rows_found { KW_ROWS_NO_TABLE, KW_ROWS_NONE, KW_ROWS_SOME } kw_rows_found;

/* What was found in the store tables that matter. */
typedef struct kw_evidence {
    const char *const *store_tables;
    const kw_rows_found *rows;
    size_t count;
    kw_rows_found others; /* what counts for store tables that are not listed */
} kw_evidence;

kw_rows_found kw_evidence_find(const kw_evidence *evidence, const char *store_table);

typedef struct kw_facts_change {
    kw_facts *merged; /* what the catalog says once the policy serves */
    bool changed;     /* merged is not what was recorded */
    bool exclusive;   /* gateways that serve by the old and by the new facts would disagree about rows */
    const char *renamed_from; /* the recorded table whose facts go on under a new name; NULL: none */
} kw_facts_change;

/* recorded: NULL when the catalog does not know the table. Its name differs from the wanted one's where the
 * table was renamed. REFUSED names table, path or field, old and new, and what to do. */
bool kw_facts_compare(const kw_facts *recorded, const kw_facts *wanted, const kw_evidence *evidence,
                      kw_arena *arena, kw_facts_change *ret_change, kw_error *ret_error);

/* True if `wanted` is the recorded table under another name: the same paths, placements and marker. */
bool kw_facts_is_renamed(const kw_facts *recorded, const kw_facts *wanted);

/* True if the recorded facts have the path with the same layout, key rule and store table. */
bool kw_facts_has_path(const kw_facts *recorded, const kw_path_facts *wanted);

/* REFUSED if a store table of `wanted` belongs to `other`, a different table of the catalog. */
bool kw_facts_check_owner(const kw_facts *other, const kw_facts *wanted, kw_error *ret_error);

/* The store tables of all placements that are not absent, appended to `to` (of const char *). */
void kw_facts_list_store_tables(const kw_facts *facts, GPtrArray *to);
