/* Reads a policy (YAML, libyaml) into a kw_model.
 *
 * One typed table of settings is reader, checker and documentation. Unknown keys, duplicate keys, anchors,
 * aliases and tags are errors; size (1 MiB), depth (16) and number of nodes (100,000) are limited. All
 * problems are collected before reading stops. */
#pragma once

#include "config/model.h"

/* components: the components that key rules can contain (kw_rule_schemas); borrowed during the call only.
 * Returns NULL, and adds at least one problem to diagnostics, if the text is rejected. */
kw_model *kw_model_read_text(const char *file, const char *text, size_t size,
                             const kw_component_schema *const *components, size_t components_count,
                             kw_diagnostics *diagnostics);

/* The same from a file. */
kw_model *kw_model_read_file(const char *file, const kw_component_schema *const *components,
                             size_t components_count, kw_diagnostics *diagnostics);

/* The same two for checks that report further problems: the model of a rejected text has defaults instead of
 * invalid settings, and tables with problems lack the fields with problems, and the paths whose rules have
 * problems or name such a field. It cannot be served. NULL if nothing of the text can be used, for example
 * because it is not YAML. */
kw_model *kw_model_check_text(const char *file, const char *text, size_t size,
                              const kw_component_schema *const *components, size_t components_count,
                              kw_diagnostics *diagnostics);
kw_model *kw_model_check_file(const char *file, const kw_component_schema *const *components,
                              size_t components_count, kw_diagnostics *diagnostics);

/* The policy of a gateway that is started without a file: embedded store, loopback, an example table. */
kw_model *kw_model_built_in(const kw_component_schema *const *components, size_t components_count);

/* The built-in policy's YAML text (static). */
const char *kw_model_built_in_text(void);

/* The text with secrets (cursor keys, the password for Redis) replaced by "(secret)". Caller frees with
 * g_free. */
char *kw_model_text_without_secrets(const kw_model *model);

/* Documentation from the same table of settings: a text like a man page, and a JSON Schema. Caller frees. */
char *kw_schema_reference(const kw_component_schema *const *components, size_t components_count);
char *kw_schema_json(const kw_component_schema *const *components, size_t components_count);
/* The same as the settings part of a manual page (mdoc). Caller frees. */
char *kw_schema_mdoc(const kw_component_schema *const *components, size_t components_count);
