/* Integers as text, in each notation that other programs use. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Parses an integer of 64 bits: 12, -12, +12, and numbers with a fraction or exponent whose value is an
 * integer, such as 12.0 and 1.2e1. False: the text is no such number, or out of range. */
bool kw_integer_parse(const char *text, gint64 *ret_number);
