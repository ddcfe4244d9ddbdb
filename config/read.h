/* The engine that reads nodes into structs, as the settings of a section declare.
 *
 * It has no special case for any setting. Problems are added to the diagnostics, and reading continues
 * with the default value, so that one run finds all problems; the result is served only if there was none. */
#pragma once

#include "config/node.h"
#include "config/setting.h"

/* Maximum number of entries in one list of texts. */
#define KW_SETTING_TEXTS_MAX 10000

typedef struct kw_read {
    kw_memory *memory; /* the model's */
    kw_diagnostics *diagnostics;
    const kw_component_schema *const *components;
    size_t components_count;
    GString *place;  /* the current position: "tables.order_events.key[0]" */
    GArray *secrets; /* of kw_secret_span */
} kw_read;

/* A part of the file's text, in characters. */
typedef struct kw_secret_span {
    size_t start, end;
} kw_secret_span;

/* node NULL: every setting has its default. */
void kw_read_section(kw_read *read, const kw_section *section, const kw_node *node, void *into);

/* Key rules are read with the component schemas (read_rule.c). */
void kw_read_rule(kw_read *read, const kw_setting *setting, const kw_node *node, void *into);
/* NULL: there is no component of this name. */
const kw_component_schema *kw_read_find_component(const kw_read *read, const char *name);
/* Reports the required settings that the component lacks. */
void kw_read_missing_settings(kw_read *read, const kw_component_schema *schema,
                              const kw_model_component *component);

/* Enters `name` (or item `index` if name is NULL); leave with the returned length. */
size_t kw_read_enter(kw_read *read, const char *name, size_t index);
void kw_read_leave(kw_read *read, size_t length);

/* Adds a problem whose text begins with the current position: "limits.frame: ...". */
bool kw_read_problem(kw_read *read, kw_mark mark, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Reports "unknown WHAT 'TEXT'", with the most similar name or the known names as the hint. names:
 * NULL-terminated. */
bool kw_read_unknown(kw_read *read, const kw_node *node, const char *what, const char *const *names);

/* The text of a scalar; NULL after a problem. BROKEN nodes give NULL without a problem. */
const char *kw_read_scalar(kw_read *read, const kw_node *node);

/* The scalars of a list; one scalar is a list of one. Every text has setting->least to most bytes. False
 * after a problem. */
bool kw_read_texts(kw_read *read, const kw_setting *setting, const kw_node *node, const char ***ret_texts,
                   kw_mark **ret_marks, size_t *ret_count);

/* The index in choices; -1 after a problem. */
int kw_read_choice(kw_read *read, const kw_node *node, const char *const *choices);

/* True if least <= value <= most; otherwise adds a problem that shows the bounds in the kind's unit. */
bool kw_read_bounds(kw_read *read, const kw_setting *setting, const kw_node *node, int64_t value);
