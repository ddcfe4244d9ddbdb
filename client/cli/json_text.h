/* JSON as in users' files, and its values as texts in the form of the command line.
 *
 * json-glib builds the tree, but it accepts more than JSON (comments, octal and hexadecimal numbers, single
 * quotes), stops after the first value, ends texts at a zero byte, and wraps integers beyond 64 bits. So the
 * text is checked first: anything that is not JSON is rejected, and so is a zero byte. Integers beyond 64
 * bits, numbers that no double can approximate, and -0 become texts, which the field's type then accepts or
 * rejects.
 */
#pragma once

#include <json-glib/json-glib.h>

/* Returns the tree, owned by the caller; NULL with an error if the text is not JSON, and NULL without an
 * error if the text is empty or blank. */
JsonNode *kw_json_read(const char *text, gsize length, GError **error);

/* Appends a tree from kw_json_read as JSON. json-glib's own writer prints 1e22 as 1e+22.0, which is not
 * JSON. */
void kw_json_append(GString *to, JsonNode *node);

/* Returns the value as text, which the caller frees; NULL if the node is null, an array or an object. */
char *kw_text_of_json(JsonNode *node);
