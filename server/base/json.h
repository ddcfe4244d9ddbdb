/* Reads JSON that other programs can have written, with limits. */
#pragma once

#include "base/arena.h"

#include <json-glib/json-glib.h>

/* Parses a JSON object, owned by the parser. NULL if the text is not a JSON object, has comments, or is
 * nested deeper than what Keyway writes: json-glib reads nested values by recursion. */
JsonObject *kw_json_object(JsonParser *parser, kw_bytes text);
/* The same for an array. */
JsonArray *kw_json_array(JsonParser *parser, kw_bytes text);

/* The member's text, in the arena; "" if the member is absent or not a text. */
const char *kw_json_text(JsonObject *from, const char *member, kw_arena *arena);
