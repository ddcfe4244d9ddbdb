/* Visits everything that a policy can contain, for the texts generated from the settings.
 *
 * schema.c visits the settings and describes them; schema_text.c and schema_mdoc.c format the result. The
 * JSON Schema needs the types themselves, so schema_json.c visits the settings on its own.
 */
#pragma once

#include "config/setting.h"

typedef struct kw_schema_line {
    const char *name;     /* "frame" */
    const char *type;     /* "size, 4KiB to 1GiB" */
    const char *fallback; /* "default: 16MiB", "required" or "" */
    const char *about;
} kw_schema_line;

typedef struct kw_schema_writer {
    /* place: "" for the file itself, "limits", "tables.NAME.fields.NAME", "- hash" */
    void (*section)(GString *out, const char *place, const char *about);
    void (*setting)(GString *out, const kw_schema_line *line);
    void (*section_end)(GString *out);
} kw_schema_writer;

void kw_schema_walk(const kw_schema_writer *writer, GString *out,
                    const kw_component_schema *const *components, size_t components_count);
