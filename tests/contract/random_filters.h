/* Random filters as text, over the rows, columns and values that random_filters.c also names. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* A text of HBase's filter language; hints: filters that seek within a row may be part of it. To be freed. */
char *random_filter(GRand *random, bool hints);

/* The same with a byte or two changed, dropped, doubled or swapped: most are malformed. To be freed. */
char *random_damage(GRand *random, const char *filter);

/* What rows are made of. */
const char *random_row_key(GRand *random, char to[8]);
const char *random_family(GRand *random);
const char *random_qualifier(GRand *random);
const char *random_value(GRand *random);
