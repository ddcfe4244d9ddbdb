/* Functions for texts. The caller frees returned texts. */
#pragma once

#include "keyway.h"

/* Bytes for people: printable ASCII unchanged, other bytes and the backslash as \xNN; and back. Parsing
 * accepts any \xNN, and everything else unchanged; a \x without two hexadecimal digits returns NULL. */
char *kw_text_from_bytes(const void *data, gsize size);
GByteArray *kw_text_to_bytes(const char *text);
/* The same for the bytes of a row key; NULL with an error. */
GBytes *kw_text_to_key(const char *text, GError **error);

/* The same for GBytes (NULL: empty text), and as hex digits. */
char *kw_text_of_bytes(GBytes *bytes);
char *kw_hex_of_bytes(GBytes *bytes);

/* A decimal of at most 17 digits that parses to the same double; or NaN, Infinity, -Infinity, -0.0. */
char *kw_text_from_real(double real);

/* "12 s", "3 min" or "5 h", rounded up. */
char *kw_text_of_duration(gint64 ms);

/* False for characters that control a terminal or reorder the text around them: C0, DEL, C1, line and
 * paragraph separators, and the controls of bidirectional text. */
bool kw_text_is_plain(gunichar character);

/* Appends the character or, if it is not plain, its code or UTF-8 bytes as \xNN. */
void kw_text_append_plain(GString *to, gunichar character);

/* The text with kw_text_append_plain for each character, so that stored data cannot control a terminal. */
char *kw_text_for_terminal(const char *text);

/* Width on a terminal, in columns. */
gsize kw_text_width(const char *text);

/* The most similar candidate, or NULL. candidates: NULL-terminated. */
const char *kw_text_nearest(const char *text, const char *const *candidates);

/* Appends the text in double quotes, escaped for JSON. Invalid UTF-8 becomes U+FFFD. */
void kw_text_append_json(GString *to, const char *text);
