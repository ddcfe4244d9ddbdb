/* The table that the bench prints: a row for each measure, with what it must reach. */
#pragma once

#include <stdbool.h>

typedef enum bound { AT_LEAST, AT_MOST, NO_BOUND } bound;

typedef struct table_row {
    const char *measure;
    const char *first;
    const char *second;
    double value; /* what is judged */
    const char *unit;
    bound bound;
    double must, aim;
} table_row;

/* The two ways that are compared. */
void table_begin(const char *first, const char *second);
void table_add(const table_row *row);
/* Every row so far reached what it must. */
bool table_met(void);
