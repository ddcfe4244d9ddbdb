/* Writes settings of tables into the text of a policy, and keeps its comments and form. */
#pragma once

#include <stddef.h>

typedef struct kw_table_setting {
    const char *table;
    const char *path; /* "primary": the setting of the table itself */
    const char *name;
    const char *value; /* as in YAML */
} kw_table_setting;

/* Returns a copy of the text in which each setting has its value: replaces the value in the text, or adds the
 * setting as the first one of its table or path. The text must be a valid policy, with each table and path.
 * The caller frees the copy, and reads it again to make sure that it has the settings: values in an unusual
 * form of YAML can be written wrongly. NULL if a place was not found. */
char *kw_text_with_settings(const char *text, size_t size, const kw_table_setting *settings, size_t count);
