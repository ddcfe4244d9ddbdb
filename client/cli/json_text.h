/* JSON as people's files have it, and its values as the texts that the command line takes.
 *
 * json-glib builds the tree, but it reads more than JSON (comments, octal and hexadecimal numbers, single
 * quotes), stops behind the first value, ends texts at a zero byte, and wraps integers beyond 64 bits. So the
 * text is gone through first: what is not JSON is refused, and so is a zero byte; an integer beyond 64 bits
 * and a number that no double is near to become texts of themselves, which the field's type then judges.
 */
#pragma once

#include <json-glib/json-glib.h>

/* The tree, the caller's; NULL, with an error, when it is none. */
JsonNode *kw_json_read(const char *text, gsize length, GError **error);

/* Writes the tree, which kw_json_read made, as JSON. json-glib's own writer makes 1e+22.0 of 1e22, which is
 * none. */
void kw_json_append(GString *to, JsonNode *node);

/* The caller's; NULL when the node is null, an array or an object. */
char *kw_text_of_json(JsonNode *node);
