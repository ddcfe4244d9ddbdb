/* Decides whether a policy may serve a table, given the catalog's facts and the store tables with rows. Pure.
 *
 *   recorded facts + wanted facts + rows found  ->  REFUSED with the difference and the remedy
 *                                               ->  the facts that the catalog will keep
 *
 * The rule: rows written under the recorded facts must be found, and decoded correctly, under the wanted
 * ones. So while the table holds rows, a path in service must not be added, moved or changed, and a column
 * must not change its type. Only the steps of a change (changes.h) move or add a path. Dropping a path,
 * adding a field and renaming a field are always allowed.
 *
 * A path over fields that can change (server/hint/README.md) is stricter, because earlier records have no
 * hints. While the table has rows, it is added only by the steps of a change; it is not changed, and not
 * adopted from rows that the catalog does not know. With several writers, it is dropped only by the steps of
 * a change, too, and the other paths of the table get no step of a change.
 */
#pragma once

#include "catalog/changes.h"
#include "catalog/facts.h"

typedef enum kw_rows_found { KW_ROWS_NO_TABLE, KW_ROWS_NONE, KW_ROWS_SOME } kw_rows_found;

/* Whether rows were found in the relevant store tables. */
typedef struct kw_evidence {
    const char *const *store_tables;
    const kw_rows_found *rows;
    const kw_error *const
        *errors; /* one for each store table; NULL: it could be read. Without it: all could */
    size_t count;
    bool one_writer;      /* no other process uses the store */
    kw_rows_found others; /* assumed for store tables that are not listed */
} kw_evidence;

kw_rows_found kw_evidence_find(const kw_evidence *evidence, const char *store_table);
/* Why the store table could not be read; NULL: it could. */
const kw_error *kw_evidence_error(const kw_evidence *evidence, const char *store_table);

typedef struct kw_facts_change {
    kw_facts *merged; /* the catalog's facts once the policy serves */
    bool changed;     /* merged differs from recorded */
    bool exclusive;   /* gateways with the old and with the new facts must not serve at the same time */
    const char *renamed_from; /* the recorded table whose facts continue under a new name; NULL: none */
} kw_facts_change;

/* recorded: the catalog's facts of the table; they have another name if the table was renamed; NULL if the
 * catalog does not contain the table. step: the step of a change that leads to this policy, or NULL;
 * step->base has the catalog's records. The text of REFUSED names the table, the path or field, the old and
 * the new value, and what to do. UNAVAILABLE: the policy belongs to another version of a change; load it
 * again. */
bool kw_facts_compare(const kw_facts *recorded, const kw_facts *wanted, const kw_evidence *evidence,
                      const kw_change_step *step, kw_arena *arena, kw_facts_change *ret_change,
                      kw_error *ret_error);

/* True if `wanted` is the recorded table under another name: the same paths, placements and marker. */
bool kw_facts_is_renamed(const kw_facts *recorded, const kw_facts *wanted);

/* The first path over fields that can change that is served; NULL: no such path. `facts` can be NULL. */
const kw_path_facts *kw_facts_find_hints(const kw_facts *facts);

/* True if the recorded facts have the path, and each placement of `wanted` is one of its live placements (the
 * same layout, key rule and store table). The recorded path can have another one. */
bool kw_facts_has_path(const kw_facts *recorded, const kw_path_facts *wanted);

/* REFUSED if a store table of `wanted` belongs to `other`, which is another table of the catalog. */
bool kw_facts_check_owner(const kw_facts *other, const kw_facts *wanted, kw_error *ret_error);
