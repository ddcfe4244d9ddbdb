/* The members of a policy snapshot. Private to this module. */
#pragma once

#include "schema/hazards.h"

#include <stdatomic.h>

struct kw_policy {
    _Atomic int references;
    _Atomic int64_t loaded_at_ms;
    int64_t version;
    kw_model *model;
    GPtrArray *old_models; /* those whose key rules placements use */
    kw_arena *arena;
    kw_table *tables;
    _Atomic int unserved; /* number of tables that are not served */
    size_t tables_count;
    const kw_table **by_name; /* sorted */
    kw_hazards hazards;
    struct kw_rings *rings; /* while the policy is compiled */
};

/* The field before the table's layouts are known: without its column. */
kw_field kw_field_of_model(const kw_model_field *model, kw_arena *arena);

/* True if the table has a hint path, also one that is being added or dropped. */
bool kw_table_has_hints(const kw_table *table);

/* False if kw:w of a table with hint paths can expire too early (writer_ids.c). The table's fields are
 * settled.
 */
bool kw_writer_ids_check(const kw_model *model, const kw_table *table, kw_diagnostics *diagnostics);
