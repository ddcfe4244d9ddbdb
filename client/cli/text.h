/* Small services around texts. Returned texts are the caller's. */
#pragma once

#include "keyway.h"

/* Bytes for people: printable ASCII as it is, anything else and the backslash as \xNN; and back.
 * Parsing takes any \xNN, and everything else as it stands. */
char *kw_text_from_bytes(const void *data, gsize size);
GByteArray *kw_text_to_bytes(const char *text);

/* A shortest decimal that reads back as the same double. */
char *kw_text_from_real(double real);

/* The text with control characters as \xNN, so that stored data cannot drive a terminal. */
char *kw_text_for_terminal(const char *text);

/* Columns it takes on a terminal. */
gsize kw_text_width(const char *text);

/* The candidate that was probably meant, or NULL. candidates: NULL-terminated. */
const char *kw_text_nearest(const char *text, const char *const *candidates);

/* Appends the text in double quotes, as JSON wants it. Invalid UTF-8 becomes U+FFFD. */
void kw_text_append_json(GString *to, const char *text);
