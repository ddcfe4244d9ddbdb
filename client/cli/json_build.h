/* Members of JSON objects, for commands whose result is one object instead of rows. */
#pragma once

#include <json-glib/json-glib.h>
#include <stdbool.h>

/* text NULL: no member. */
void kw_json_add_text(JsonBuilder *to, const char *name, const char *text);
void kw_json_add_number(JsonBuilder *to, const char *name, gint64 number);
void kw_json_add_real(JsonBuilder *to, const char *name, double real);
void kw_json_add_flag(JsonBuilder *to, const char *name, bool flag);
void kw_json_add_texts(JsonBuilder *to, const char *name, char *const *texts);

/* Begins a member that is an array; json_builder_end_array ends it. */
void kw_json_begin_array(JsonBuilder *to, const char *name);

/* Prints the result as one line. False: standard output cannot be written. */
bool kw_json_print(JsonBuilder *from);
