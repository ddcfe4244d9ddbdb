/* Functions for texts. The caller frees returned texts. */
#pragma once

#include "keyway.h"

/* Bytes for people: printable ASCII unchanged, other bytes and the backslash as \xNN; and back. Parsing
 * accepts any \xNN, and everything else unchanged. */
char *kw_text_from_bytes(const void *data, gsize size);
GByteArray *kw_text_to_bytes(const char *text);

/* The shortest decimal that parses to the same double. */
char *kw_text_from_real(double real);

/* The text with control characters as \xNN, so that stored data cannot control a terminal. */
char *kw_text_for_terminal(const char *text);

/* Width on a terminal, in columns. */
gsize kw_text_width(const char *text);

/* The most similar candidate, or NULL. candidates: NULL-terminated. */
const char *kw_text_nearest(const char *text, const char *const *candidates);

/* Appends the text in double quotes, escaped for JSON. Invalid UTF-8 becomes U+FFFD. */
void kw_text_append_json(GString *to, const char *text);
