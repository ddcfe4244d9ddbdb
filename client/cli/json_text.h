/* Values of JSON as the texts that the command line takes. */
#pragma once

#include <json-glib/json-glib.h>

/* The caller's; NULL when the node is null, an array or an object. */
char *kw_text_of_json(JsonNode *node);
