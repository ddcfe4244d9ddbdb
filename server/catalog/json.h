/* JSON that the catalog holds: read with bounds, since others can write there too. */
#pragma once

#include "base/arena.h"

#include <json-glib/json-glib.h>

/* The object that the text is, owned by the parser; NULL if it is no JSON object, or nests deeper than what
 * Keyway writes: json-glib reads nested values by recursion. */
JsonObject *kw_catalog_json_object(JsonParser *parser, kw_bytes text);
