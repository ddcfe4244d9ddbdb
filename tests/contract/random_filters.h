/* Random filters as text, for the rows, columns and values in random_filters.c. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* A filter in HBase's language. hints: it can contain filters that seek within a row. Free it with g_free. */
char *random_filter(GRand *random, bool hints);

/* The filter with a byte or two changed, dropped, doubled or swapped: most are invalid. Free it with g_free.
 */
char *random_damage(GRand *random, const char *filter);

/* Random parts of rows. */
const char *random_row_key(GRand *random, char to[8]);
const char *random_family(GRand *random);
const char *random_qualifier(GRand *random);
const char *random_value(GRand *random);
