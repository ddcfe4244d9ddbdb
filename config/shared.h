/* Policies whose tables and sequences are kept in the catalog (policy.source: store).
 *
 *   file of a gateway ----> own model ---+
 *                                        +--> the model that the gateway serves
 *   text in the catalog --> shared model +
 *
 * A shared text has the settings tables and sequences, and nothing else. It names no files and contains no
 * secrets, because callers send it, and every gateway serves it. */
#pragma once

#include "config/model.h"

/* Reads a shared text; `name` is for messages. NULL, with problems, if it is rejected. The other settings of
 * the model have their defaults. */
kw_model *kw_model_read_shared(const char *name, const char *text, size_t size,
                               const kw_component_schema *const *components, size_t components_count,
                               kw_diagnostics *diagnostics);

/* The settings of `own`, with the tables and sequences of `shared` (NULL: none). Keeps references to both. If
 * `own` is such a combination itself, its own part is used. NULL, with problems, if they do not fit. */
kw_model *kw_model_share(kw_model *own, kw_model *shared, kw_diagnostics *diagnostics);

/* The two parts of a combination; otherwise the model itself, and NULL. Borrowed. */
kw_model *kw_model_own(kw_model *model);
kw_model *kw_model_shared(kw_model *model);

/* True if both count sequence numbers at the same place. */
bool kw_model_same_counters(const kw_model *a, const kw_model *b);

/* The text of the settings tables and sequences of a policy file, with their comments. Caller frees. NULL,
 * with problems, if they cannot be cut out. */
char *kw_model_cut_shared(const char *text, size_t size, kw_diagnostics *diagnostics);
