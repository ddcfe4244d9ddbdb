/* Policies whose tables and sequences are kept in the catalog (policy.source: store).
 *
 *   file of a gateway ----> own model ---+
 *                                        +--> the model that the gateway serves
 *   text in the catalog --> shared model +
 *
 * A shared text has only the settings tables and sequences. It cannot name files or contain secrets, because
 * callers send it and every gateway serves it. */
#pragma once

#include "config/model.h"

/* Reads a shared text; messages call it `name`. The other settings of the model have their defaults. NULL,
 * with problems, if the text is rejected. */
kw_model *kw_model_read_shared(const char *name, const char *text, size_t size,
                               const kw_component_schema *const *components, size_t components_count,
                               kw_diagnostics *diagnostics);

/* Combines the settings of `own` with the tables and sequences of `shared` (NULL: none). Keeps references to
 * both. If `own` is a combination, uses its own part. NULL, with problems, if a store table of `shared` is
 * the catalog of `own`. */
kw_model *kw_model_share(kw_model *own, kw_model *shared, kw_diagnostics *diagnostics);

/* Return the two parts of a combination, borrowed. For another model: the model itself, and NULL. */
kw_model *kw_model_own(kw_model *model);
kw_model *kw_model_shared(kw_model *model);

/* True if both keep the counters of sequences in the same place. */
bool kw_model_same_counters(const kw_model *a, const kw_model *b);

/* Extracts the text of the settings tables and sequences from the text of a policy file, with their comments.
 * The caller frees it. NULL, with problems, if the lines of these settings cannot be separated from the
 * others. */
char *kw_model_cut_shared(const char *text, size_t size, kw_diagnostics *diagnostics);
