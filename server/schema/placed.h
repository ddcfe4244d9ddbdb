/* Placements that differ from the policy's text, while a policy is compiled. Private to this module. */
#pragma once

#include "schema/paths.h"

/* Adds a problem for each change under way whose table the model lacks, whose path it lacks, or, if the path
 * is being dropped, whose path it has. */
bool kw_placings_check(const kw_placings *placings, const kw_model *model, kw_diagnostics *diagnostics);

/* The placing that applies to a path of the text; NULL: none. */
const kw_placing *kw_placings_find(const kw_placings *placings, const char *table, const kw_model_path *text);

/* The path of the text with the placing's layout number and store table. In the arena. */
const kw_model_path *kw_placing_model(const kw_placing *placing, const kw_model_path *text, kw_arena *arena);

/* Compiles the placement of the old key rule, with its role. False after at least one problem. */
bool kw_placed_old(kw_policy *policy, const kw_placing *placing, const kw_path *path,
                   kw_placement *ret_placement, kw_diagnostics *diagnostics);

/* Compiles a path that is being dropped, with its placement. False after at least one problem. */
bool kw_placed_dropped(kw_policy *policy, const kw_placing *placing, const kw_table *table, kw_path *ret_path,
                       kw_placement *ret_placement, kw_diagnostics *diagnostics);

/* Adds a problem unless both placements of a path can be written together: [0] under the text's key rule, [1]
 * under the old one. */
bool kw_placed_check(const kw_placement *placements, kw_diagnostics *diagnostics);
