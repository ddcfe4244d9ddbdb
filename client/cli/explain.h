/* Prints keys and plans. */
#pragma once

#include "cli/json_build.h"
#include "keyway.h"

#include <stdio.h>

/* Prints them as text for people. */
void kw_explanation_print(const kw_explanation *explanation, FILE *to);

/* Prints the components of a key, an array of kw_key_piece, one per line. */
void kw_key_pieces_print(const GPtrArray *pieces, FILE *to);

/* Prints them as one JSON object. False: standard output cannot be written. */
bool kw_explanation_print_json(const kw_explanation *explanation);

/* Adds a member: an array with an object for each component of a key. */
void kw_key_pieces_add_json(JsonBuilder *to, const char *name, const GPtrArray *pieces);
