/* The paths of a table and their placements, while a policy is compiled. Private to this module. */
#pragma once

#include "schema/policy_internal.h"

typedef struct kw_placings {
    const kw_placing *items;
    size_t count;
} kw_placings;

/* Compiles the paths of a table whose fields are known. `paths` has space for all paths of the model. False
 * after at least one problem, or if the model of the table is incomplete; then paths without problems have a
 * layout, but possibly no placements. */
bool kw_paths_compile(kw_policy *policy, kw_table *table, kw_path *paths, const kw_placings *placings,
                      kw_diagnostics *diagnostics);
